"""Constants that all mathematics shares."""

MIN_VALUE = 1e-15  # MuJoCo's mjMINVAL: below this a length counts as zero
