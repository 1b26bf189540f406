"""Loaders and simulators. Not trusted: nothing here is private."""

from .public import Dataset, chest_xray, covertype, data_folder, e2006, folds, halves, mnist, of_gcd, rcv1, sample

__all__ = [
    "Dataset",
    "chest_xray",
    "covertype",
    "data_folder",
    "e2006",
    "folds",
    "halves",
    "mnist",
    "of_gcd",
    "rcv1",
    "sample",
]
