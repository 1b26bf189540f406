"""Fit the planner's formulas to out/planner_records.json and write src/dpsparse/report/planner/calibration.json.

``python -m benchmarks.planner_records`` makes the records. Constants minimise the mean absolute difference of log-odds;
the spread of what is left gives the bands.
"""

from __future__ import annotations

import argparse
import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize

import dpsparse
from dpsparse import SparseClassifier, SparseRegressor
from dpsparse.algorithms.constants import PLANNER
from dpsparse.fitting import FitRequest, Shape, plan_fit
from dpsparse.report.planner import Forecast
from dpsparse.report.planner.formulas import KNOTS, LEVELS, Case, both_odds, intercept_noise, main_odds

#: Constants of each kind with a start for the search; others are fixed.
STARTS: dict[str, dict[str, float]] = {
    "select_polish regression": {"a": 0.5, "p": 4.0, "b": 0.3, "c": 0.0, "z": 0.2},
    "select_polish classes": {"a": -0.5, "p": 3.0, "b": 0.5, "c": 0.0, "z": 0.2},
    "dual_averaging regression": {"a": 2.0, "p": 0.8, "b": 0.0, "c": 0.5},
    "dual_averaging classes": {"a": 1.5, "p": 0.8, "b": 0.0, "c": 0.5},
    "dual_averaging documents": {"a": 3.0, "p": 0.8, "c": 0.5},
    "tables regression": {"a": 1.0, "p": 1.8, "b": 0.0, "c": 0.3, "w": 0.0},
    "tables classes": {"a": 1.0, "p": 1.5, "b": 0.0, "c": 0.3, "w": 0.0},
}
FIXED = {"b": -60.0, "c": 0.0, "z": 0.0, "r": 0.0, "e": 0.0, "f": 1.0, "w": 0.0}
#: Parts beyond these cannot be told from 0 and 1 by 2000 test rows.
RELATIVE, EXCESS = (1e-3, 0.98), (0.01, 0.97)


def usable(path: Path) -> list[dict[str, Any]]:
    """Records of data where the best model is better than a constant: by 15 %, in ordinary tables by 3 %."""
    found = json.loads(path.read_text())
    return [r for r in found if r["floor"] < (0.97 if r["recipe"] == "tables" else 0.85) * r["constant"]]


def planned(record: dict[str, Any]) -> tuple[FitRequest, Shape]:
    """What the planner is asked about a record: what was declared, and the shape of the rows."""
    make = SparseRegressor if record["task"] == "regression" else SparseClassifier
    bounds = {k: tuple(v) if isinstance(v, list) else v for k, v in record["bounds"].items()}
    given = {name: record[name] for name in ("recipe", "epsilon", "delta", "sparsity")}
    request = make(fit_intercept=record["intercept"], **given, **bounds, **record.get("settings", {})).request()
    return request, request.planned_shape(record["n"], record["d"], sparse=record["sparse"])


def case(record: dict[str, Any]) -> Case:
    """What the planner would see of a record, if it knew the share of the rarer class and how narrow columns are."""
    request, shape = planned(record)
    found = Forecast.of(plan_fit(request, shape), shape).case()
    assert found is not None
    rate = min(0.5, record["constant"]) if found.classes else 0.5
    return replace(found, base_rate=rate, scale=record.get("scale") or 1.0)


def log_odds(value: float, within: tuple[float, float]) -> float:
    """Logarithm of the odds of a part, cut where it cannot be measured."""
    held = min(max(value, within[0]), within[1])
    return math.log(held / (1 - held))


def cut(odds: float, within: tuple[float, float]) -> float:
    """Predicted odds, cut in the same way."""
    return log_odds(odds / (1 + odds), within)


class Kind:
    """The records of one kind and the search for its constants."""

    def __init__(self, name: str, records: list[dict[str, Any]]) -> None:
        self.name = name
        self.polish = name.startswith("select_polish")
        self.records = records
        self.cases = [case(r) for r in records]
        self.signals = [min(max(r["signal"], 0.02), 0.99) for r in records]
        self.squares = [None if r["relative"] is None else r["relative"] ** 2 for r in records]
        self.lost = [
            None if intercept_noise(c) > 0.1 else (r["error"] - r["floor"]) / (r["constant"] - r["floor"])
            for r, c in zip(records, self.cases, strict=True)
        ]
        self.relative = self._odds(self.squares, RELATIVE)
        self.excess = self._odds(self.lost, EXCESS)

    def _odds(self, values: list[float | None], within: tuple[float, float]) -> list[float | None]:
        """Log-odds of errors; None for fits that asked for the constant alone, which the planner knows beforehand."""
        both = zip(values, self.cases, strict=True)
        return [None if v is None or c.constant_only else log_odds(v, within) for v, c in both]

    def search(self, rare: float) -> dict[str, Any]:
        """Constants of the main formula, then of the other error, then the spread of what is left."""
        names = list(STARTS[self.name])
        goal = self.relative if self.polish else self.excess
        within = RELATIVE if self.polish else EXCESS

        def loss(values: np.ndarray) -> float:
            k = FIXED | dict(zip(names, map(float, values), strict=True))
            gaps = [
                cut(main_odds(c, g, k), within) - y
                for c, g, y in zip(self.cases, self.signals, goal, strict=True)
                if y is not None and c.base_rate >= 0.1
            ]
            return float(np.mean(np.sqrt(0.05 + np.square(gaps)))) + 0.002 * float(np.sum(values**2))

        found = self._minimum(loss, np.array(list(STARTS[self.name].values())))
        k = FIXED | dict(zip(names, found, strict=True))
        k["r"] = rare or self._rare(k)
        other = self.excess if self.polish else self.relative
        if any(y is not None for y in other):
            k |= self._other(k, other)
        spread = {what: self._spread(k, what) for what in ("excess", "coefficients")}
        return {"constants": {n: round(v, 4) for n, v in k.items()}, "spread": spread, "records": len(self.records)}

    def _rare(self, k: dict[str, float]) -> float:
        """How odds rise with 0.5 over the part of the rarer class, from records where it is really rare."""
        found = [
            (y - math.log(main_odds(c, g, k))) / math.log(0.5 / c.base_rate)
            for c, g, y in zip(self.cases, self.signals, self.excess, strict=True)
            if y is not None and c.base_rate < 0.1
        ]
        return float(np.median(found))

    def _other(self, k: dict[str, float], goal: list[float | None]) -> dict[str, float]:
        names = ["e", "f"]
        within = EXCESS if self.polish else RELATIVE
        which = 0 if self.polish else 1

        def loss(values: np.ndarray) -> float:
            all_of = k | dict(zip(names, map(float, values), strict=True))
            gaps = [
                cut(both_odds(c, g, all_of)[which], within) - y
                for c, g, y in zip(self.cases, self.signals, goal, strict=True)
                if y is not None
            ]
            return float(np.mean(np.sqrt(0.05 + np.square(gaps)))) + 0.002 * float(np.sum(values**2))

        return dict(zip(names, self._minimum(loss, np.array([0.0, 1.0])), strict=True))

    @staticmethod
    def _minimum(loss: Any, start: np.ndarray) -> list[float]:
        options = {"maxiter": 4000, "maxfev": 4000, "xatol": 1e-4, "fatol": 1e-6}
        runs = [minimize(loss, start * f, method="Nelder-Mead", options=options) for f in (1.0, 0.6, 1.5)]
        return [float(v) for v in min(runs, key=lambda r: r.fun).x]

    def _spread(self, k: dict[str, float], what: str) -> dict[str, Any] | None:
        """Quantiles of what is left around the knots (of at most a third of the records, at least thirty), and at the worst."""
        which = 0 if what == "excess" else 1
        goal, within, value = (
            (self.excess, EXCESS, self.lost) if what == "excess" else (self.relative, RELATIVE, self.squares)
        )
        # bands hold for users who do not know how narrow their columns are
        blind = [replace(c, scale=PLANNER.typical_scale) for c in self.cases]
        odds = [math.log(both_odds(c, g, k)[which]) for c, g in zip(blind, self.signals, strict=True)]
        rows = [(o, y) for o, y in zip(odds, goal, strict=True) if y is not None]
        if len(rows) < 60:
            return None
        predicted, measured = np.array(rows, dtype=float).T
        left = measured - np.clip(predicted, log_odds(0, within), log_odds(1, within))
        shifts = []
        for knot in KNOTS:
            order = np.argsort(np.abs(predicted - knot))
            inside = int(np.sum(np.abs(predicted - knot) < 2.5))
            near = order[: max(30, min(inside, len(rows) // 3))]
            shifts.append(_quantiles(left[near]))
        # what hard cases, at least thirty, and fits of the constant alone come to
        least = min(0.0, float(np.sort(predicted)[-30]))
        every = zip(self.cases, odds, self.signals, value, strict=True)
        hard = np.array([(g, v) for c, o, g, v in every if v is not None and (c.constant_only or o >= least)])
        if what == "excess":
            return {"shifts": shifts, "over": _quantiles(np.maximum(hard[:, 0] * (hard[:, 1] - 1), 0.0))}
        return {"shifts": shifts, "worst": _quantiles(np.clip(hard[:, 1], 1.0, 4.0))}


def _quantiles(values: np.ndarray) -> list[float]:
    return [round(float(q), 3) for q in np.quantile(values, LEVELS)]


def main() -> None:
    """Fit and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=Path, nargs="+", default=[Path("out/planner_records.json")])
    home = Path(dpsparse.__file__).parent / "report/planner" / "calibration.json"
    parser.add_argument("--out", type=Path, default=home)
    given = parser.parse_args()
    by_kind: dict[str, list[dict[str, Any]]] = {}
    for record in (one for path in given.records for one in usable(path)):
        by_kind.setdefault(case(record).kind, []).append(record)
    text = "dual_averaging documents"  # has the records with a rare class, which the others borrow from
    kinds: dict[str, Any] = json.loads(home.read_text())["kinds"]  # kinds without records stay as they are
    if text in by_kind:
        kinds[text] = Kind(text, by_kind[text]).search(0.0)
    rare = kinds[text]["constants"]["r"]
    kinds |= {name: Kind(name, by_kind[name]).search(rare) for name in STARTS if name != text and name in by_kind}
    for name, found in kinds.items():
        print(name, json.dumps(found, indent=None))
    given.out.write_text(json.dumps({"levels": LEVELS, "kinds": kinds}, indent=1) + "\n")


if __name__ == "__main__":
    main()
