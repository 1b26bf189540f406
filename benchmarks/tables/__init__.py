"""Ordinary tables: how much of the attainable improvement a private default loses; python -m benchmarks.tables --help."""
