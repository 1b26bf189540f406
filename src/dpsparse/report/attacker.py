"""The most that an attacker can learn from a release, as numbers and pictures.

All of it follows from the trade-off curve of `dpsparse.core.attacker.least_missed`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..core.attacker import in_percent, least_missed
from .pictures import Axis, Canvas, Line, Picture, Point, share

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..core.facts import Vector
    from ..core.statement import Statement

#: False positive rates that can be chosen in the picture.
ACCEPTED = (0.01, 0.05, 0.1, 0.25)
#: What an attacker thinks before they see the release, in the table of posterior beliefs.
PRIORS = (0.001, 0.01, 0.1, 0.5)


@dataclass(frozen=True, eq=False)
class AttackerGain:
    """What can be learned from a release about one record, at most."""

    false_alarms: Vector
    detections: Vector
    success: float
    beliefs: tuple[tuple[float, float], ...]


def tradeoff(statement: Statement, alphas: Vector) -> Vector:
    """The least part that an attacker misses, at each part that they accuse wrongly; 0 where nothing is guaranteed."""
    if not statement.private:
        return np.zeros_like(alphas)
    return least_missed(alphas, statement.epsilon, statement.delta, statement.mu)


def learned(statement: Statement) -> AttackerGain:
    """The picture of a guarantee."""
    alphas = np.concatenate([[0.0], np.geomspace(1e-4, 1e-2, 20)[:-1], np.linspace(1e-2, 1.0, 100)])
    return AttackerGain(
        false_alarms=alphas,
        detections=1 - tradeoff(statement, alphas),
        success=statement.attacker_success,
        beliefs=tuple((prior, belief(prior, statement)) for prior in PRIORS),
    )


def belief(prior: float, statement: Statement) -> float:
    r"""How sure an attacker can be at most, who held something for likely with this probability before.

    Odds are multiplied by at most :math:`e^\epsilon`, but for outcomes whose probability is at most about delta.
    """
    if not statement.private or statement.epsilon > 500:
        return 1.0
    odds = prior / (1 - prior) * math.exp(statement.epsilon)
    return odds / (1 + odds)


def pictures(statement: Statement) -> dict[str, str]:
    """What an attacker can at most learn, drawn: success, trade-off curve, and belief before and after."""
    found = learned(statement)
    success = in_percent(found.success)
    gauge = share(
        f"How often an attacker who knows everything else guesses right, at most: {success}",
        [("coin flip", 0.5, "50 %"), ("with this model", found.success, success)],
        low=0.5,
        low_name="a coin flip",
    )
    bars: list[tuple[str, float, str]] = []
    for prior, after in found.beliefs:
        bars += [
            (f"before: {100 * prior:g} %", prior, f"{100 * prior:g} %"),
            ("after, at most", after, in_percent(after)),
        ]
    odds = share(
        "How sure an attacker can be that something is true of one record, before and after seeing the model, at most",
        bars,
    )
    return {"gauge": gauge, "tradeoff": detection(statement).svg(), "odds": odds}


def detection(statement: Statement) -> Picture:
    """How often an attacker is right at most, against how often they accuse wrongly."""
    found, whom = learned(statement), "about one record" if statement.private else "about everyone"
    name = "the guarantee of this model" if statement.private else "no guarantee"
    return Picture(
        title=f"How often an attacker is right {whom}, at most (true positive rate), against how often they "
        "accuse wrongly (false positive rate)",
        across=Axis("false positive rate", 0.0, 1.0),
        up=Axis("true positive rate, at most", 0.0, 1.0),
        lines=[
            Line(name, found.false_alarms.tolist(), found.detections.tolist()),
            Line("a coin flip", [0.0, 1.0], [0.0, 1.0], dashed=True),
        ],
        points=[_read_off(statement, alpha) for alpha in ACCEPTED],
        choose="False positive rate that the attacker accepts",
        chosen=1,
    )


def plot_promise(statement: Statement, where: Canvas) -> Axes:
    """Draw the largest part of true accusations against the part of wrong ones; caveats stand in the title, in red.

    Parameters
    ----------
    statement : Statement
    where : path, matplotlib Axes or None
        None: the current axes of pyplot.
    """
    heading = "; ".join(statement.caveats)[:120]
    if statement.private:
        success = in_percent(statement.attacker_success)
        heading = f"epsilon {statement.epsilon:.4g}, delta {statement.delta:.2g}: right in at most {success}"
    return detection(statement).draw(where, heading, sound=statement.private)


def _read_off(statement: Statement, alpha: float) -> Point:
    found = 1 - float(tradeoff(statement, np.array([alpha]))[0])
    said = (
        f"An attacker who accuses wrongly in {100 * alpha:g} % of cases "
        f"is right in at most {in_percent(found)} of the others."
    )
    return Point(f"{100 * alpha:g} %", alpha, found, said)


def read_offs(statement: Statement) -> tuple[tuple[float, float], ...]:
    """The same as a table: false positive rates, and the largest true positive rate at each."""
    return tuple((point.x, point.y) for point in (_read_off(statement, alpha) for alpha in ACCEPTED))
