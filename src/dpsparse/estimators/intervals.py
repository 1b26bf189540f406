"""Confidence intervals of the selected coefficients: released numbers, and what follows from them for free."""

from __future__ import annotations

import html
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

if TYPE_CHECKING:
    import pandas as pd

    from ..fitting.parts import InferenceResult


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
    fits = found.flag in FLAGS and found.target in TARGETS and found.estimate.shape == (size,)
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
        kept = ("covariance", "flag", "target", "clip", "kept", "n_rows", "beyond", "asked")
        same = {name: getattr(found, name) for name in kept}
        return cls(**same, features=features, estimate=estimate, classes=classes, columns=columns, unit=unit)

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
        return summary_of(self, statement)

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        return f"<Intervals of {len(self.columns)} features at {self.level:.0%}, {self.flag}>"

    def _repr_html_(self) -> str:
        return interval_page(self)


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


# ------------------------------------------------------------------------------------------------ in words

#: What the flag says to a person.
FLAGS = {
    "good": "The noise leaves useful intervals.",
    "clipped": "Enough residuals or rows were clipped that these intervals may be about another "
    "line than that of the mean: compare with a model on a log scale or with transformed features, "
    "or bring more rows or budget.",
    "wide": "The noise of the Gram matrix is near its smallest eigenvalue: intervals are valid and "
    "wide. Ask for fewer coefficients, or bring more rows.",
    "too many": "There are too many coefficients for this noise: intervals are valid and of little "
    "use. Ask for fewer coefficients, or bring more rows or budget.",
}
NONE = "No feature was selected, so there is nothing to give an interval for."


def summary_of(intervals: Intervals, statement: Statement | None) -> str:
    """The table, and what it means."""
    if not intervals.columns:
        return NONE
    width = max(len(str(name)) for name in intervals.features) + 2
    low, high = (1 - intervals.level) / 2, (1 + intervals.level) / 2
    head = (
        f"{'':<{width}}{'coef':>11}{'std err':>11}{'z':>9}{'P>|z|':>9}{f'[{low:.4g}':>12}{f'{high:.4g}]':>12}  FDR 10%"
    )
    line = "-" * len(head)
    rows = []
    for row in intervals:
        z = row.estimate / row.standard_error if row.standard_error else 0.0
        mark = "  nonzero" if row.rejected else ""
        rows.append(
            f"{row.feature!s:<{width}}{row.estimate:>11.4g}{row.standard_error:>11.4g}{z:>9.2f}{row.p:>9.3f}"
            f"{row.low:>12.4g}{row.high:>12.4g}{mark}"
        )
    title = _title(intervals, statement)
    return "\n".join([*title, line, head, line, *rows, line, *meaning(intervals)])


def _title(intervals: Intervals, statement: Statement | None) -> list[str]:
    kind = "logistic regression" if intervals.classes else "linear regression"
    said = "" if statement is None else f", ({statement.epsilon:.4g}, {statement.delta:.3g})-DP, {statement.adjacency}"
    caveats = [] if statement is None else [f"CAVEAT: {c}." for c in statement.caveats]
    bands = "" if intervals.critical is None else f"; bands for all together, {intervals.critical:.3g} standard errors"
    facts = (
        f"{_counted(intervals)}: about {intervals.n_rows}   intervals: {intervals.level:.4g}   flag: {intervals.flag}"
    )
    facts += "" if intervals.classes else f"   target: {intervals.target}   residuals clipped at: {intervals.clip:.4g}"
    return [*caveats, f"Private {kind} on {len(intervals.columns)} selected features{said}{bands}", facts]


def meaning(intervals: Intervals) -> list[str]:
    """What the intervals are about, what they depend on, and what was clipped; sentences."""
    if not intervals.columns:
        return [NONE]
    what = "log-odds" if intervals.classes else "coefficient"
    said = [
        f"Each {what} is that of the best {'logistic' if intervals.classes else 'linear'} model on "
        "the selected features: its effect given the other selected features.",
        f"Selection and intervals used different {_counted(intervals)}, about {intervals.n_rows} of them for the "
        "intervals; standard errors hold sampling and privacy noise.",
        _independent(intervals.unit),
        "Rows that lie far out in the selected features weigh less, at most "
        f"{100 * intervals.beyond:.2g} % of them: where the truth is not linear, the line is that of the others.",
    ]
    if not intervals.classes:
        said.append(
            f"Residuals were clipped at {intervals.clip:.4g}; about "
            f"{100 * (1 - intervals.kept):.2g} % were beyond. {_target(intervals.target)}"
        )
    if intervals.asked is not None:
        said.append(
            f"{intervals.asked} coefficients were asked for, and at most {len(intervals.columns)} "
            "are given: more could not be told from noise."
        )
    return [*said, FLAGS[intervals.flag]]


def _counted(intervals: Intervals) -> str:
    """What samples are counted in: rows, or ids of units that may have several."""
    return f"{intervals.unit} ids" if intervals.unit else "rows"


def _independent(unit: str) -> str:
    """What has to be independent, and what need not be."""
    if not unit:
        return "They hold for independent rows and many of them; errors may have any size from row to row."
    return (
        f"They hold for many ids that are independent of each other; the errors of one {unit}'s rows may have any size "
        "and depend on each other in any way (cluster-robust)."
    )


def _target(target: str) -> str:
    if target == "robust":
        return (
            "The target is a robust line: where errors are skewed and their size depends on the "
            "features it differs from the mean, and these intervals are of the former."
        )
    return (
        "Where errors are strongly skewed and their size depends on the features, clipping moves "
        "the target away from the mean: use a log scale there."
    )


def interval_page(intervals: Intervals) -> str:
    """A little HTML: the table, and what it means."""
    if not intervals.columns:
        return f"<p>{html.escape(NONE)}</p>"
    heads = ("", "coef", "std err", "P&gt;|z|", f"{intervals.level:.0%} interval", "", "FDR 10 %")
    rows = [
        f"<tr><th>{html.escape(str(row.feature))}</th><td>{row.estimate:.4g}</td>"
        f"<td>{row.standard_error:.4g}</td><td>{row.p:.3f}</td>"
        f"<td>{row.low:.4g}</td><td>{row.high:.4g}</td><td>{'nonzero' if row.rejected else ''}</td></tr>"
        for row in intervals
    ]
    said = "".join(f"<p>{html.escape(sentence)}</p>" for sentence in meaning(intervals))
    return f"<div><table><tr>{''.join(f'<th>{head}</th>' for head in heads)}</tr>{''.join(rows)}</table>{said}</div>"
