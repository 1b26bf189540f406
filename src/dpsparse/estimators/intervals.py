"""Confidence intervals of the selected coefficients: released numbers, and what follows from them for free."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, Annotated, Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from ..core import Statement, checks
from ..core.codec import Count, Limits, Record, form
from ..core.facts import Vector
from ..core.plain import Json
from . import interval_words

if TYPE_CHECKING:
    import pandas as pd

    from ..fitting import InferenceResult

TARGETS = ("mean", "robust")
#: What the constant is called.
INTERCEPT = "(intercept)"
#: Rate of false discoveries among rejected coefficients.
FALSE_DISCOVERIES = 0.10
#: Draws for the quantile of the largest of several normal numbers, and their seed: nothing private depends on them.
DRAWS, SEED = 40_000, 0


@dataclass(frozen=True)
class Interval:
    """One coefficient. `rejected`: called nonzero at a false discovery rate of 10 %; the intercept is never."""

    feature: str | int
    estimate: float
    standard_error: float
    low: float
    high: float
    p: float
    rejected: bool
    flag: str


def _check(found: Intervals) -> Intervals:
    """Refuse what does not belong together."""
    size = len(found.features)
    fits = found.flag in interval_words.FLAGS and found.target in TARGETS and found.estimate.shape == (size,)
    if not fits or (size and found.covariance.shape != (size, size)) or size - len(found.columns) not in (0, 1):
        raise ValueError("intervals must be of features and at most one intercept.")
    return replace(found, covariance=found.covariance.reshape(size, size))


@form(later=(("unit",),), made=_check)
@dataclass(frozen=True, eq=False, repr=False)
class Intervals(Record, Sequence[Interval]):
    """Intervals of the selected coefficients and of the intercept, which comes last. All of it may be published.

    Attributes
    ----------
    features : tuple of str or int
        Names, or numbers of columns; last ``(intercept)``, where there is one.
    estimate, covariance : arrays
    level : float
    flag : {"good", "clipped", "wide", "too many"}
        ``wide`` and ``too many``: the noise leaves valid intervals of little use. ``clipped``: so
        many residuals or rows were clipped that the intervals may be about another line than that
        of the mean.
    target : {"mean", "robust"}
    clip, kept : float
        Where residuals were clipped, and the part of them that was not.
    beyond : float
        Part of rows that weigh less since they lie far out in the selected features, at most.
    n_rows : int
        Expected rows, or units, of the part that was asked.
    classes : bool
        Whether coefficients are log-odds.
    asked : int or None
        The sparsity that was asked for, where fewer coefficients were allowed.
    columns : tuple of int
        Columns of the features.
    critical : float or None
        Standard errors to each side; None: of one interval at a time.
    unit : str
        The word for a unit that may have several rows, such as patient; empty: each row is a record.
    """

    features: tuple[str | int, ...]
    estimate: Vector
    covariance: Vector
    flag: str
    target: str
    clip: Annotated[float, Limits(0)]
    kept: Annotated[float, Limits(0, 1)]
    n_rows: Count
    classes: bool
    columns: tuple[Count, ...]
    beyond: Annotated[float, Limits(0, 1)] = 0.2
    asked: Count | None = None
    level: Annotated[float, Limits(0, 1, ends=False)] = 0.95
    critical: Annotated[float, Limits(0, ends=False)] | None = None
    unit: str = ""

    @classmethod
    def of(
        cls, found: InferenceResult, names: Sequence[str] | None, *, center: float, classes: bool, unit: str = ""
    ) -> Self:
        """From what a fit inferred; `center` is that of the target."""
        columns = tuple(int(j) for j in found.support)
        features: tuple[str | int, ...] = columns if names is None else tuple(str(names[j]) for j in columns)
        estimate = found.estimate.copy()
        if found.intercept:
            features, estimate[-1] = (*features, INTERCEPT), estimate[-1] + center
        return cls(
            features=features,
            estimate=estimate,
            covariance=found.covariance,
            flag=found.flag,
            target=found.target,
            clip=found.clip,
            kept=found.kept,
            n_rows=found.n_rows,
            classes=classes,
            columns=columns,
            beyond=found.beyond,
            asked=found.asked,
            unit=unit,
        )

    # ---------------------------------------------------------------------------------------------- numbers

    @property
    def standard_error(self) -> Vector:
        """Of each coefficient: sampling and privacy noise together."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def p(self) -> Vector:
        """Two-sided p-values of zero."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(2 * ndtr(-np.abs(self.estimate / self.standard_error)))

    @property
    def rejected(self) -> NDArray[np.bool_]:
        """Features called nonzero with at most 10 % false ones expected among them (Benjamini and Hochberg)."""
        found = np.zeros(len(self), dtype=bool)
        found[: len(self.columns)] = step_up(self.p[: len(self.columns)], FALSE_DISCOVERIES)
        return found

    @property
    def half_width(self) -> Vector:
        """To each side of an estimate."""
        return (-ndtri((1 - self.level) / 2) if self.critical is None else self.critical) * self.standard_error

    def at(self, level: float) -> Self:
        """The intervals at another level, one at a time."""
        return replace(self, level=checks.fraction(level, "level"), critical=None)

    def named(self, names: Sequence[str]) -> Self:
        """The same with names for features, given those of all columns."""
        rest = self.features[len(self.columns) :]
        return replace(self, features=(*(str(names[j]) for j in self.columns), *rest))

    def simultaneous(self, level: float = 0.95) -> Self:
        """Bands that hold for all coefficients together with this probability.

        The number of standard errors is the quantile of the largest of normal numbers with the
        released correlations, by simulation.
        """
        level = checks.fraction(level, "level")
        root = _root(self.covariance / np.outer(self.standard_error, self.standard_error))
        draws = np.random.default_rng(SEED).standard_normal((DRAWS, len(self))) @ root.T
        return replace(self, level=level, critical=float(np.quantile(np.abs(draws).max(axis=1), level)))

    def of_rows(self, X: Any, level: float) -> tuple[Vector, Vector]:
        """Ends of intervals of margins x'b, for each row of a matrix of all features."""
        chosen = X[:, list(self.columns)]
        rows = np.asarray(chosen.todense() if hasattr(chosen, "todense") else chosen, dtype=float)
        rows = np.column_stack([rows, np.ones((rows.shape[0], len(self) - len(self.columns)))])
        middle = rows @ self.estimate
        quantile = -ndtri((1 - checks.fraction(level, "level")) / 2)
        off = quantile * np.sqrt(np.einsum("ij,jk,ik->i", rows, self.covariance, rows))
        return middle - off, middle + off

    # ---------------------------------------------------------------------------------------------- as a table

    def __len__(self) -> int:
        return len(self.features)

    def __getitem__(self, place: Any) -> Any:
        return tuple(self)[place]

    def __iter__(self) -> Iterator[Interval]:
        numbers = (
            self.estimate,
            self.standard_error,
            self.estimate - self.half_width,
            self.estimate + self.half_width,
            self.p,
        )
        told = zip(self.features, *(column.tolist() for column in numbers), self.rejected.tolist(), strict=True)
        for feature, estimate, error, low, high, p, rejected in told:
            yield Interval(feature, estimate, error, low, high, p, rejected, self.flag)

    def records(self) -> list[dict[str, Json]]:
        """A dictionary for each coefficient, by the names of `Interval`."""
        return [asdict(row) for row in self]

    def to_frame(self) -> pd.DataFrame:
        """A pandas data frame with a row for each coefficient."""
        import pandas as pd

        return pd.DataFrame(self.records(), columns=[f.name for f in fields(Interval)])

    def summary(self, statement: Statement | None = None) -> str:
        """A table, and in words what it means."""
        return interval_words.summary(self, statement)

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        return f"<Intervals of {len(self.columns)} features at {self.level:.0%}, {self.flag}>"

    def _repr_html_(self) -> str:
        return interval_words.interval_page(self)


def step_up(p: Vector, rate: float) -> NDArray[np.bool_]:
    """Which of some p-values Benjamini and Hochberg's procedure rejects at a rate of false discoveries.

    Examples
    --------
    >>> step_up(np.array([0.01, 0.5, 0.06]), 0.1).tolist()
    [True, False, True]
    """
    order = np.argsort(p, kind="stable")
    below = np.flatnonzero(p[order] <= rate * np.arange(1, p.size + 1) / max(p.size, 1))
    rejected = np.zeros(p.size, dtype=bool)
    rejected[order[: below[-1] + 1 if below.size else 0]] = True
    return rejected


def _root(matrix: Vector) -> Vector:
    """A root of a covariance, whose smallest eigenvalues may be rounded below zero."""
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))
