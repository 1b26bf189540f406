"""The documentation under test: its blocks of code, its examples, its build."""
