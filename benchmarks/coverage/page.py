"""The page of coverage tables, from the records of fits."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.coverage.cells import Cell, cells
from benchmarks.coverage.store import Store

PAGE = Path(__file__).resolve().parents[2] / "docs" / "intervals_benchmark.md"
HEAD = """# Coverage of intervals

Made by `python -m benchmarks.coverage` and `python -m benchmarks.coverage.tables` from `benchmarks/results/coverage.parquet`; the page {doc}`intervals` describes the intervals. Every fit has its own data,
coins and noise, from seeds that were not used for any choice. Numbers are pooled over all selected coefficients of all fits of a cell, with standard errors over fits in brackets:

- **95 %** (and 90 %, 99 %): share of intervals that contain their target. Goal: between .935 and .985 if the flag is good, and at least .935 otherwise; **good** is the share of fits with that flag,
  and *95 % if good* their coverage;
- **nulls**: share of selected coefficients with a target of zero that are called nonzero at 5 %, and how many there were. Goal: at most .065. **FDR**: false discoveries at a nominal 10 %;
- **width**: median half-width relative to a robust non-private interval on as many rows as the second part has, and the allowed ratio; **moments**: relative to intervals from noisy second moments of
  features and target at the same budget; **forecast**: relative to the planner's forecast, given the size of residuals and features (goal: within 30 % if the flag is good);
- **bands**: share of fits whose simultaneous 95 % bands contain all targets; **surface**: share of 95 % intervals of `predict_interval` that contain the mean.

A setting with fewer than 400 fits allows no conclusion yet.
"""
GROUPS = {
    "mean": "Numbers, target mean (the default)",
    "robust": "Numbers, target robust",
    "logistic": "Two classes",
    "stress": "Stress",
    "wide": "Many features, many effects",
    "add-remove": "Add-remove",
    "small": "Few rows",
    "panel": "Several rows of a person",
    "control": "Without a split: must fail",
}
#: What is said before the table of a group.
ABOUT = {
    "panel": "Panels of 4000 persons with 1 to 9 rows each and random intercepts, which make three quarters of the errors' "
    "variance; for classes of the law for which the model of one row stays logistic (Wang and Louis 2003), so that its "
    "coefficients are known. *own columns*: features stay the same in all rows of a person; *half own*: half of them do. "
    "Widths are relative to a non-private interval that is robust by person. Where rows are *taken for independent*, the "
    "fit has no ids: its intervals must fail."
}
TABLES = """
## Real tables

How often an interval contains the non-private estimate (least squares or logistic regression, no weights) on **all** rows of the table and the same columns. That estimate shares the rows of the
second part, so without noise a 95 % interval would contain it more than 95 % of the time: the distance to it is $1/\\sqrt2$ of the distance to the truth, and the nominal value is then 99.4 %; if noise
is large, it is 95 %. Tables of at least 2000 training rows; bounds as in `benchmarks/tables/bounds.json`. Flags: share of fits that were good, clipped, wide or too many.
"""


def ratio(top: pd.Series, bottom: pd.Series | float = 1.0) -> tuple[float, float]:
    """A ratio of sums over fits, and its standard error."""
    a = top.to_numpy(float)
    b = np.broadcast_to(np.asarray(bottom, dtype=float), a.shape)
    if not b.sum():
        return math.nan, math.nan
    value = a.sum() / b.sum()
    return float(value), float(np.sqrt(np.sum((a - value * b) ** 2)) / b.sum())


def row(name: str, fits: pd.DataFrame, cell: Cell) -> list[str]:
    """The numbers of a cell."""
    some = fits[fits["m"] > 0]
    good = some[some["flag"] == "good"]
    m, nulls = some["m"], some["nulls"]
    surface = some["surface"].dropna() if "surface" in some else some["m"][:0]
    against = some["against moments"].dropna() if "against moments" in some else some["m"][:0]
    told = good["half-width"] / good.get("forecast", math.nan)
    return [
        name,
        f"{len(fits)}",
        f"{m.mean():.1f}",
        _told(ratio(some["in 0.9"], m)),
        _told(ratio(some["in 0.95"], m)),
        _told(ratio(some["in 0.99"], m)),
        f"{len(good) / max(len(some), 1):.2f}",
        _told(ratio(good["in 0.95"], good["m"])) if len(good) else "",
        _told(ratio(some["nonzero in"], m - nulls)),
        f"{_told(ratio(some['false'], nulls))} of {int(nulls.sum())}",
        _told(ratio(some["fdr"])),
        _told(ratio(some["band"])),
        _told(ratio(surface)) if len(surface) else "",
        _number(some["width"].median()) + ("" if cell.width is None else f" / {cell.width:g}"),
        _number(against.median()) if len(against) else "",
        _number(told.median()) if len(told) else "",
    ]


COLUMNS = (
    "cell",
    "fits",
    "selected",
    "90 %",
    "95 %",
    "99 %",
    "good",
    "95 % if good",
    "nonzero ones",
    "nulls",
    "FDR",
    "bands",
    "surface",
    "width / allowed",
    "moments",
    "forecast",
)
REAL = (
    "table",
    "fits",
    "selected",
    "90 %",
    "95 %",
    "99 %",
    "95 % if good",
    "width",
    "good",
    "clipped",
    "wide",
    "too many",
)


def real_row(name: str, fits: pd.DataFrame) -> list[str]:
    """The numbers of a table."""
    some = fits[fits["m"] > 0]
    good = some[some["flag"] == "good"]
    shares = [f"{(some['flag'] == flag).mean():.2f}" for flag in ("good", "clipped", "wide", "too many")]
    covered = [_told(ratio(some[f"in {level}"], some["m"])) for level in ("0.9", "0.95", "0.99")]
    if_good = _told(ratio(good["in 0.95"], good["m"])) if len(good) else ""
    return [
        name,
        f"{len(fits)}",
        f"{some['m'].mean():.1f}",
        *covered,
        if_good,
        _number(some["width"].median()),
        *shares,
    ]


def _pooled(fits: pd.DataFrame, epsilon: int) -> list[list[str]]:
    """All tables together, and the same by flag."""
    flags = ("good", "clipped", "wide", "too many")
    rows = [real_row(f"**all, epsilon {epsilon}**", fits)]
    return rows + [real_row(f"all called {f}, epsilon {epsilon}", fits[fits["flag"] == f]) for f in flags]


def page(store: Store) -> str:
    """The whole page."""
    lines = [HEAD]
    known = {cell.name: cell for cell in cells()}
    for group, title in GROUPS.items():
        there = [name for name, cell in known.items() if cell.group == group and store.seeds(name)]
        if there:
            rows = [row(_short(name, known[name]), store.records(name), known[name]) for name in there]
            fair = [name for name in there if known[name].verdict == "pass"]
            if len(fair) > 1:
                rows.append(row("**all**", pd.concat([store.records(name) for name in fair]), Cell(group, 0, 0)))
            lines += [f"## {title}", "", *([ABOUT[group], ""] if group in ABOUT else []), *_table(COLUMNS, rows), ""]
    real = [name for name in store.cells() if name.startswith("real: ")]
    if real:
        rows = [real_row(name.removeprefix("real: "), store.records(name)) for name in sorted(real)]
        told = pd.concat([store.records(name) for name in real])
        pooled = [line for e in (1, 4) for line in _pooled(told[told["cell"].str.endswith(f"epsilon={e}")], e)]
        lines += [TABLES, *_table(REAL, rows + pooled), ""]
    return "\n".join(lines)


def write(store: Store) -> None:
    """Write the page into the documentation, and beside it the counts of its fits, with which claims elsewhere are compared."""
    PAGE.write_text(page(store))
    names = [name for name in (cell.name for cell in cells()) if store.seeds(name)]
    told = {}
    for name in names:
        some = store.records(name)[["m", "in 0.95"]].fillna(0)
        told[name] = {"fits": len(some), "intervals": int(some["m"].sum()), "covered": int(some["in 0.95"].sum())}
    PAGE.with_name("coverage.json").write_text(json.dumps(told, indent=1) + "\n")


def _short(name: str, cell: Cell) -> str:
    return name.split(": ", 1)[1] + (" (expected to fail)" if cell.verdict == "fail" else "")


def _table(heads: Sequence[str], rows: list[list[str]]) -> list[str]:
    return [f"| {' | '.join(cells)} |" for cells in (list(heads), ["---"] * len(heads), *rows)]


def _told(value: tuple[float, float]) -> str:
    return "" if math.isnan(value[0]) else f"{value[0]:.3f} ({value[1]:.3f})"


def _number(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.2f}"
