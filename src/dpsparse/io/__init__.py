"""Reading: files as records, data dictionaries, public data sets.

Nothing here is trusted beyond the rows that it gives.
"""
