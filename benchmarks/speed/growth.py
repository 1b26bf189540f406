"""Goal 8: how time grows with rows, nonzeros, steps and classes."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from ..out_of_core import rows as sparse_rows
from .clock import exponent, interleave
from .goals import Line, Settings

#: Points of every curve.
POINTS = 5
#: Where curves are kept for the plot.
CURVES = Path("out/speed_growth.json")


def fit(X: Any, y: np.ndarray, steps: int | None = None, classes: tuple[int, ...] = (0, 1)) -> Any:
    """A fit by the default recipe at its own number of steps; or by gradients with a given one."""
    from dpsparse import SparseClassifier, recipes

    def way() -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            recipe = recipes.Auto() if steps is None else recipes.DualAveraging(steps=steps)
            SparseClassifier(epsilon=2.0, delta=1e-5, row_norm=1.0, classes=classes, recipe=recipe, random_state=0).fit(
                X, y
            )

    return way


def growth(settings: Settings) -> list[Line]:
    """Exponents over at least five points; ten classes against two."""
    unit = 10_000 if settings.quick else 40_000
    sizes = [2**i for i in range(POINTS)]
    large = sparse_rows(unit * sizes[-1], 20_000, 40, 0)
    longer = [sparse_rows(unit // 2, 20_000, 40 * s, 1) for s in sizes]  # columns that are drawn twice count once
    nonzeros = [round(X.nnz / X.shape[0], 1) for X, _ in longer]
    curves: dict[str, tuple[list[float], list[Any]]] = {
        "rows": ([unit * s for s in sizes], [fit(large[0][: unit * s], large[1][: unit * s]) for s in sizes]),
        "nonzeros a row": (nonzeros, [fit(*rows) for rows in longer]),
        "steps": ([40.0 * s for s in sizes], [fit(large[0][:unit], large[1][:unit], 40 * s) for s in sizes]),
    }
    lines, kept = [], {}
    for name, (places, ways) in curves.items():
        found = interleave({str(i): way for i, way in enumerate(ways)}, max(2, settings.repeats // 2))
        seconds = [found[str(i)].processor for i in range(POINTS)]
        slope, error = exponent([float(p) for p in places], seconds)
        kept[name] = {"size": places, "seconds": seconds}
        note = f"standard error {error:.2f}; {places[0]:g} to {places[-1]:g}"
        lines.append(
            Line(
                goal=8,
                what=f"exponent of time in {name} of sparse rows",
                value=slope,
                unit="",
                least=0.9,
                most=1.1,
                note=note,
            )
        )
    CURVES.parent.mkdir(exist_ok=True)
    CURVES.write_text(json.dumps(kept))
    X, y = large[0][: 2 * unit], large[1][: 2 * unit]
    ten = (y * 5 + np.random.default_rng(0).integers(0, 5, y.size)).astype(np.int64)
    many = fit(X, ten, classes=tuple(range(10)))
    found = interleave({"two": fit(X, y), "ten": many}, max(2, settings.repeats // 2))
    ratio = found["ten"].processor / found["two"].processor
    return [*lines, Line(goal=8, what="ten classes / two", value=ratio, unit="x", most=4.0)]
