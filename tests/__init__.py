"""The tests; a package by name, so that no other package called tests can stand in its place."""
