"""A page for those who choose a budget: move epsilon, rows and coefficients, and see what a fit would be worth.

Everything on it is computed beforehand, on a grid, from public facts: the page holds the grid and a short script, and
asks no server.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from ..algorithms.constants import PLANNER
from ..estimators.linear import SparseLinear
from .page import render
from .planner import PlanSummary

#: Budgets, parts and multiples of the planned rows, and numbers of coefficients that can be chosen.
EPSILONS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
MULTIPLES = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
COEFFICIENTS = (5, 20, 100)
#: Fewest rows that a page shows.
FEWEST = 10


def plan_page(
    model: SparseLinear,
    *,
    n_rows: int,
    n_features: int,
    sparse: bool = False,
    known: Mapping[str, float | None] | None = None,
) -> str:
    """The page as HTML, with everything in it.

    Parameters
    ----------
    model : SparseClassifier or SparseRegressor
        As it would be fitted; its epsilon, the rows and its sparsity are where the page begins.
    n_rows, n_features : int
    sparse : bool
    known : mapping or None
        What is known about the data, as in `plan`: signal, feature_scale, base_rate.

    Raises
    ------
    ValueError
        Where no expected error is known for the recipe and the loss.
    """
    grid = plan_grid(model, n_rows=n_rows, n_features=n_features, sparse=sparse, known=known)
    script = (files(__package__) / "templates" / "plan.js").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    # a data block ends at the first tag that closes it
    held = json.dumps(grid, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    return render("plan.html", {"grid": grid, "data": held, "script": script, "digest": digest})


def plan_grid(
    model: SparseLinear,
    *,
    n_rows: int,
    n_features: int,
    sparse: bool = False,
    known: Mapping[str, float | None] | None = None,
) -> dict[str, Any]:
    """What the page shows, as plain values: for each number of coefficients, of rows, and each epsilon."""
    told = dict(known or {})

    def planned(sparsity: int | None, epsilon: float) -> PlanSummary:
        other = type(model)(**{**model.get_params(deep=False), "sparsity": sparsity, "epsilon": epsilon})
        found: PlanSummary = other.plan(n_rows=n_rows, n_features=n_features, sparse=sparse, **told)
        return found

    here = planned(model.sparsity, model.epsilon)
    if here.error is None or here.outlook is None:
        raise ValueError(
            "there is no expected error to show for this recipe and loss. Use auto, tables, select_polish or "
            "dual_averaging."
        )
    epsilons = sorted({*EPSILONS, float(model.epsilon)})
    rows = sorted({max(FEWEST, round(m * n_rows)) for m in MULTIPLES} | {n_rows})
    counts = _counts(model.sparsity, n_features)
    signals = (None, *PLANNER.several.strengths) if told.get("signal") is None else (None,)
    cells, success = [], []
    for count in counts:
        plan = planned(count, model.epsilon)
        cells.append([[_cells(plan, many, epsilon, signals) for epsilon in epsilons] for many in rows])
        success.append([planned(count, epsilon).attacker_success for epsilon in epsilons])
    classes = here.error.constant < 1
    return {
        "epsilons": epsilons,
        "rows": rows,
        "coefficients": [f"at most {count}" if count else "the recipe decides" for count in counts],
        "signals": ["unknown" if s is None else f"{100 * s:.0f} %" for s in signals] if len(signals) > 1 else [],
        "start": [epsilons.index(float(model.epsilon)), rows.index(n_rows), counts.index(model.sparsity)],
        "cells": cells,
        "success": success,
        "constant": here.error.constant,
        "error": "misclassification rate" if classes else "mean squared error / variance",
        "signal": "Errors of a constant that your features avoid" if classes else "Variance that your features explain",
        "best": "always predicting the most common class" if classes else "predicting a constant",
        "n_features": n_features,
        "kind": "sparse" if sparse else "dense",
        "delta": here.delta,
        "unit": here.unit,
        "assumed": here.assumed(),
        "plan": here.brief().splitlines(),
    }


def _counts(own: int | None, n_features: int) -> list[int | None]:
    found = {count for count in COEFFICIENTS if count < n_features} | ({own} if own is not None else set())
    listed: list[int | None] = [None]
    return listed + sorted(found)


def _cells(plan: PlanSummary, rows: int, epsilon: float, signals: Sequence[float | None]) -> list[Sequence[Any]]:
    """For each signal: low, typical and high error, verdict, and why; no error where no formula is calibrated."""
    assert plan.outlook is not None
    case = plan.outlook.case(rows, epsilon)
    found: list[Sequence[Any]] = []
    for signal in signals:
        here = plan.outlook if signal is None else plan.outlook.with_signal(signal)
        error, (verdict, why) = here.error_in(case), here.verdict_in(case, epsilon)
        band: list[float | None] = [None] * 3
        if error is not None:
            band = [_digits(v) for v in (error.test.low, error.test.typical, error.test.high)]
        found.append([*band, verdict, why])
    return found


def _digits(value: float) -> float:
    """Enough digits for a picture."""
    return float(f"{value:.4g}")
