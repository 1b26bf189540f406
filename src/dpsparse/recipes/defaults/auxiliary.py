"""Public rows for knowledge transfer, and the paper's constants."""

from __future__ import annotations

import math
from typing import Any

#: Public rows are at most this many entries.
LARGEST_DESIGN = 2**24


def check_auxiliary(given: Any, release: str, rows: int | None) -> None:
    """Refuse what stands for no rows, and rows that nobody would use.

    The words that stand for a matrix in a model file are let through, for predictions.
    """
    matrix = len(getattr(given, "shape", ())) == 2
    if given is not None and not isinstance(given, str) and not callable(given) and not matrix:
        raise TypeError(
            "auxiliary must be a public matrix of shape (m, n_features), 'normal', 'uniform', a "
            "function of a generator and a shape, "
            "or None for rows that are drawn."
        )
    if release == "theta" and (given is not None or rows is not None):
        raise ValueError(
            "auxiliary rows are used with release='labels' only: with release='theta' the teacher "
            "itself is released, and no public "
            "row is looked at. Give release='labels', or leave the rows out."
        )


def auxiliary_rows(n_rows: int, columns: int) -> int:
    """As many as private rows, within memory."""
    return max(1, min(n_rows, LARGEST_DESIGN // max(columns, 1)))


def theory(
    n_rows: int,
    n_features: int,
    epsilon: float,
    delta: float,
    true_sparsity: int,
    entry_bound: float,
    classification: bool,
    ridge_constant: float,
    gamma_constant: float,
) -> tuple[float, float, float]:
    r"""The values :math:`\lambda`, s and :math:`\gamma` of Wang and Gu, AAAI 2020.

    They come from Theorem 4.5, Lemma B.2, and Corollaries 4.9 and 4.13.
    """
    steepness = entry_bound if classification else math.sqrt(true_sparsity) * entry_bound**2
    gamma = gamma_constant * steepness
    spread = math.sqrt(true_sparsity * math.log(max(n_features, 2)) * math.log(1 / delta))
    ridge = math.sqrt(ridge_constant * gamma * spread / (n_rows * epsilon))
    kappa = (3 * true_sparsity * entry_bound**2 + ridge) / ridge
    return ridge, (4 * kappa**2 + 1) * true_sparsity, gamma
