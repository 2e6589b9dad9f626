"""All entries that can be built ahead, by name: those of the package and of modules that define stages of their own."""

ENTRIES = {}
