"""Loops. Each is a public program over an oracle: it cannot see a row."""

from .iht import IHT, PeeledIHT

__all__ = ["IHT", "PeeledIHT"]
