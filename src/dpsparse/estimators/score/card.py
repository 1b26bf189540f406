"""What a private evaluation found: scores with intervals, a calibration curve, and one statement."""

from __future__ import annotations

import html
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from ...core import Statement
from ...core.plain import Printed


@dataclass(frozen=True)
class Score(Printed):
    """One metric on all rows, or on those of one group.

    Attributes
    ----------
    metric : str
    group : str or None
        None: all rows.
    value : float
        NaN where there were too few rows to tell it from noise.
    low, high : float
        Ends of the interval, which contains the noise of privacy and the error of sampling.
    noise, sampling : float
        Standard deviations of the two.
    """

    metric: str
    group: str | None
    value: float
    low: float
    high: float
    noise: float
    sampling: float

    def __str__(self) -> str:
        where = "" if self.group is None else f" [{self.group}]"
        if math.isnan(self.value):
            return f"{self.metric}{where}: too few rows to tell from the noise"
        return f"{self.metric}{where}: {self.value:.4g} ({self.low:.4g} to {self.high:.4g})"


@dataclass(frozen=True)
class CurvePoint(Printed):
    """One bin of a calibration curve.

    Attributes
    ----------
    group : str or None
    lower, upper : float
        Ends of the bin of predicted probabilities.
    predicted : float
        Mean predicted probability in it.
    observed : float
        Part of the rows in it that are of the second class.
    low, high : float
        Interval of `observed`.
    rows : float
        Noisy number of rows in it.
    """

    group: str | None
    lower: float
    upper: float
    predicted: float
    observed: float
    low: float
    high: float
    rows: float

    def __str__(self) -> str:
        where = "" if self.group is None else f" [{self.group}]"
        head = f"calibration{where}, predicted {self.lower:.3g} to {self.upper:.3g}"
        if math.isnan(self.observed):
            return f"{head}: too few rows to tell from the noise"
        return f"{head}: mean {self.predicted:.3g}, observed {self.observed:.3g} ({self.low:.3g} to {self.high:.3g})"


@dataclass(frozen=True, eq=False)
class ScoreCard(Printed):
    """Scores of a model on private rows, released under one guarantee.

    ``card["accuracy"]`` is the score of all rows, ``card["accuracy", "F"]`` that of a group.

    Attributes
    ----------
    scores : tuple of Score
    curve : tuple of CurvePoint
        Empty unless ``"calibration"`` was asked for.
    confidence : float
        Of all intervals, each by itself.
    statement : Statement
        What was guaranteed to the people in these rows.
    """

    shown: ClassVar[tuple[str, ...]] = ("confidence", "scores", "calibration=curve", "statement")

    scores: tuple[Score, ...]
    curve: tuple[CurvePoint, ...]
    confidence: float
    statement: Statement

    def __getitem__(self, key: str | tuple[str, str | None]) -> Score:
        metric, group = (key, None) if isinstance(key, str) else key
        for score in self.scores:
            if (score.metric, score.group) == (metric, group):
                return score
        raise KeyError(key)

    def __iter__(self) -> Iterator[Score]:
        return iter(self.scores)

    def __str__(self) -> str:
        head = f"scores with {100 * self.confidence:.3g} % intervals, of privacy noise and sampling together"
        return "\n".join([head, *(f"  {line}" for line in (*self.scores, *self.curve)), str(self.statement)])

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{html.escape(s.metric)}</td><td>{html.escape('all' if s.group is None else s.group)}</td>"
            f"<td>{s.value:.4g}</td><td>{s.low:.4g} to {s.high:.4g}</td></tr>"
            for s in self.scores
        )
        points = "".join(f"<li>{html.escape(str(point))}</li>" for point in self.curve)
        head = f"<tr><th>metric</th><th>rows</th><th>value</th><th>{100 * self.confidence:.3g} % interval</th></tr>"
        return f"<div><table>{head}{rows}</table><ul>{points}</ul>{self.statement._repr_html_()}</div>"
