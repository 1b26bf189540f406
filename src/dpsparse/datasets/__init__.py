"""Loaders and simulators. Not trusted: nothing here is private."""
