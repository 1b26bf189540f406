"""Where a picture is drawn: on the current axes of pyplot, on given ones, or in a file. Needs the extra `plots`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

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
