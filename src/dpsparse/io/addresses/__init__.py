"""Modules of `dpsparse.io` that users import as `dpsparse.readers.NAME`."""
