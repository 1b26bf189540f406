"""Sparse models on sensitive, high-dimensional data under differential privacy.

>>> from dpsparse import SparseClassifier, SparseRegressor, recipes, audit
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

#: Public names and where they live; imported when first used, so that ``import dpsparse`` is quick.
_NAMES = {
    "NoisyCount": "estimators.steps",
    "PrivateBounds": "estimators.steps",
    "PrivateScaler": "estimators.steps",
    "PrivateSearch": "estimators.search",
    "PublicScaler": "estimators.steps",
    "make_private_pipeline": "estimators.steps",
    "private_score": "estimators.score",
    "RowNormalizer": "estimators.steps",
    "SparseClassifier": "estimators",
    "SparseRegressor": "estimators",
    "SparseSurvival": "estimators.survival",
    "load": "estimators.files",
    "Budget": "core",
    "Ledger": "ledger",
    "Statement": "core",
}
_ROOMS = (
    "audit",
    "federated",
    "local",
    "losses",
    "recipes",
    "tables",
)


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        return getattr(importlib.import_module(f".{_NAMES[name]}", __name__), name)
    if name in _ROOMS:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module 'dpsparse' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*_NAMES, *_ROOMS, "__version__"])


__all__ = [
    "Budget",
    "Ledger",
    "NoisyCount",
    "PrivateBounds",
    "PrivateScaler",
    "PrivateSearch",
    "PublicScaler",
    "RowNormalizer",
    "SparseClassifier",
    "SparseRegressor",
    "SparseSurvival",
    "Statement",
    "audit",
    "federated",
    "load",
    "local",
    "losses",
    "make_private_pipeline",
    "private_score",
    "recipes",
    "tables",
]
