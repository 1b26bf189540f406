"""Products of rows: the only code that walks over stored entries."""
