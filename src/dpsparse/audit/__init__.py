"""Audits and laws."""
