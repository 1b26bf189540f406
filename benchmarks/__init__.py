"""Comparisons and reproductions; not part of the package."""
