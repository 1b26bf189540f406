"""A guarantee as a picture: the most that an attacker can learn.

`axes_at` opens the axes that this picture and others of the package are drawn on. Needs the extra `plots`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..core.attacker import in_percent, least_missed

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@contextmanager
def axes_at(where: str | PathLike[str] | Axes | None) -> Iterator[Axes]:
    """Axes to draw on; a file is written at the end, and its ending says in which format."""
    try:
        from matplotlib.axes import Axes
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError("plots need matplotlib, which is not installed. Run: pip install 'dpsparse[plots]'") from None
    if where is None:
        from matplotlib import pyplot

        yield pyplot.gca()
    elif isinstance(where, Axes):
        yield where
    elif isinstance(where, str | Path):
        figure = Figure(figsize=(6.4, 4.0), layout="constrained")
        yield figure.subplots()
        figure.savefig(where)
    else:
        raise TypeError(f"plot needs a file name or matplotlib axes, got {type(where).__name__}.")


if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..core.statement import Statement

#: Points of the curve.
POINTS = 201


def plot_promise(statement: Statement, where: str | PathLike[str] | Axes | None) -> Axes:
    """Draw the largest part of true accusations against the part of wrong ones; caveats stand in the title, in red.

    Parameters
    ----------
    statement : Statement
    where : path, matplotlib Axes or None
        None: the current axes of pyplot.
    """
    wrong = np.linspace(0.0, 1.0, POINTS)
    missed = np.zeros_like(wrong)
    if statement.private:
        missed = least_missed(wrong, statement.epsilon, statement.delta, statement.mu)
    with axes_at(where) as axes:
        axes.plot(wrong, 1 - missed, label="this guarantee" if statement.private else "no guarantee")
        axes.plot([0, 1], [0, 1], color="grey", linestyle="--", label="a coin flip")
        axes.set(xlim=(0, 1), ylim=(0, 1.01), xlabel="false positive rate", ylabel="true positive rate, at most")
        if statement.private:
            said = (
                f"epsilon {statement.epsilon:.4g}, delta {statement.delta:.2g}: "
                f"right in at most {in_percent(statement.attacker_success)}"
            )
            axes.set_title(said, fontsize=10)
        else:
            axes.set_title("NO GUARANTEE: " + "; ".join(statement.caveats)[:120], color="#b00020", fontsize=9)
        axes.legend(frameon=False)
        return axes
