"""Fits, and what is wrong with them."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from benchmarks.defaults.cases import CASES, TWINS, Case


@dataclass(frozen=True)
class Line:
    """One recipe on one data set: errors by epsilon and seed, its twin, and the standard errors of what is compared.

    `rises` are errors at an epsilon less those at the one before; `gap` is the error at the largest less the twin's.
    """

    data: str
    rows: int
    columns: int
    recipe: str
    constant: float
    epsilons: tuple[float, ...]
    errors: tuple[tuple[float, ...], ...]
    rise_errors: tuple[float, ...]
    twin: str | None
    twin_error: float | None
    gap_error: float
    seconds: float

    @property
    def means(self) -> list[float]:
        """One for each epsilon."""
        return [float(np.mean(e)) for e in self.errors]

    @property
    def wrong(self) -> list[str]:
        """Missed goals: by more than two standard errors."""
        if not np.isfinite(self.means[0]):
            return []
        found = []
        for epsilon, errors in zip(self.epsilons, self.errors, strict=True):
            if epsilon >= 4 and np.mean(errors) > self.constant + 2 * spread(errors):
                found.append(f"above the constant at {epsilon:g}")
        for (low, high), error, epsilon in zip(pairwise(self.means), self.rise_errors, self.epsilons[1:], strict=True):
            if high > low + 2 * error + 1e-12:
                found.append(f"rises at {epsilon:g}")
        if self.twin_error is not None and self.means[-1] > 1.01 * self.twin_error + 2 * self.gap_error:
            found.append(f"{self.means[-1] / self.twin_error - 1:.0%} above {self.twin}")
        return found

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types, rounded."""
        return {k: rounded(v) for k, v in asdict(self).items()}


def rounded(value: Any) -> Any:
    """Four digits are enough for a page."""
    if isinstance(value, tuple | list):
        return [rounded(v) for v in value]
    return float(f"{value:.4g}") if isinstance(value, float) else value


def line_of(found: dict[str, Any]) -> Line:
    """A line from its JSON form."""
    listed = {k: tuple(found[k]) for k in ("epsilons", "rise_errors")}
    return Line(**{**found, **listed, "errors": tuple(tuple(e) for e in found["errors"])})


def spread(values: Sequence[float]) -> float:
    """Standard error of a mean."""
    return float(np.std(values, ddof=1) / math.sqrt(len(values))) if len(values) > 1 else 0.0


def difference(these: list[np.ndarray], those: list[np.ndarray]) -> float:
    """Standard error of a difference of means over seeds and test rows: the rows are the same for both."""
    rows = np.mean(these, axis=0) - np.mean(those, axis=0)
    noise = math.hypot(*(spread([float(np.mean(v)) for v in side]) for side in (these, those)))
    return math.hypot(spread(list(rows)), noise)


def fit(case: Case, recipe: str, epsilon: float, seed: int) -> np.ndarray:
    """What a model loses on each test row; not a number where the recipe cannot take the loss."""
    from dpsparse import SparseClassifier, SparseRegressor

    estimator = SparseRegressor if case.task == "regression" else SparseClassifier
    options = {**case.declared, **case.options}
    model = estimator(epsilon=epsilon, delta=1e-6, recipe=recipe, random_state=seed, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return case.judge(model.fit(case.X, case.y))
        except ValueError as refused:
            if "loss" in str(refused):
                return np.array([math.nan])
            raise


class Bench:
    """One data set, and its twins, which are fitted once."""

    def __init__(self, name: str, rows: int | None = None) -> None:
        make, most = CASES[name]
        self.name, self.case = name, make(min(rows or most, most))
        self._twins: dict[str, np.ndarray] = {}

    def line(self, recipe: str, epsilons: Sequence[float], seeds: Sequence[int]) -> Line:
        """Fit a recipe at every epsilon with every seed."""
        start = time.perf_counter()
        twin = TWINS[recipe]
        if twin is not None and twin not in self._twins:
            self._twins[twin] = fit(self.case, twin, 1.0, 0)
        errors = [[fit(self.case, recipe, e, seed) for seed in seeds] for e in epsilons]
        beside = None if twin is None else self._twins[twin]
        return Line(
            data=self.name,
            rows=self.case.X.shape[0],
            columns=self.case.X.shape[1],
            recipe=recipe,
            constant=self.case.constant,
            epsilons=tuple(epsilons),
            errors=tuple(tuple(float(np.mean(v)) for v in at) for at in errors),
            rise_errors=tuple(difference(high, low) for low, high in pairwise(errors)),
            twin=twin,
            twin_error=None if beside is None else float(np.mean(beside)),
            gap_error=0.0 if beside is None else difference(errors[-1], [beside]),
            seconds=time.perf_counter() - start,
        )
