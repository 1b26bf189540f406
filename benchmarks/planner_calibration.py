"""Fit the planner's formulas to out/planner_records.json and write src/dpsparse/report/planner/calibration.json.

``python -m benchmarks.planner_records`` makes the records. Constants minimise the mean absolute difference of log-odds;
the spread of what is left, with the signal known and with the convention in its place, gives the bands.
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
from scipy.stats import norm

import dpsparse
from benchmarks.prepared import declared_facts
from dpsparse import SparseClassifier, SparseRegressor
from dpsparse.algorithms.constants import PLANNER
from dpsparse.core import Budget
from dpsparse.report.planner.assumptions import Assumptions, counts
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


#: True coefficients of wide rows where the population declares no sparsity.
UNDECLARED = 10


def usable(path: Path) -> list[dict[str, Any]]:
    """Records of data where the best model is better than a constant: by 15 %, in ordinary tables by 3 %."""
    found = json.loads(path.read_text())
    return [r for r in found if r["floor"] < (0.97 if r["recipe"] == "tables" else 0.85) * r["constant"]]


def estimator(record: dict[str, Any]) -> Any:
    """An estimator with what a record declares."""
    make = SparseRegressor if record["task"] == "regression" else SparseClassifier
    bounds = {k: tuple(v) if isinstance(v, list) else v for k, v in record["bounds"].items()}
    return make(sparsity=record["sparsity"], fit_intercept=record["intercept"], **bounds)


def case(record: dict[str, Any]) -> tuple[Case, tuple[float, float, float]]:
    """What the planner would see of a record, and the signals of its convention."""
    facts = declared_facts(estimator(record), record["n"], record["d"], sparse=record["sparse"])
    budget = Budget.approx(record["epsilon"], record["delta"])
    classes = record["task"] == "classification"
    seen = Case(
        algorithm=record["recipe"],
        classes=classes,
        documents=facts.documents,
        counts=counts(facts),
        free=record["intercept"],
        n_rows=record["n"],
        n_features=record["d"],
        coefficients=record["sparsity"] or UNDECLARED,
        rho=budget.as_rho(),
        mu=budget.as_mu(),
        base_rate=min(0.5, record["constant"]) if classes else 0.5,
        scale=record.get("scale") or 1.0,
    )
    return seen, Assumptions().signals(facts)


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
        self.cases = [case(r)[0] for r in records]
        self.conventions = [case(r)[1] for r in records]
        self.signals = [min(max(r["signal"], 0.02), 0.99) for r in records]
        self.squares = [None if r["relative"] is None else r["relative"] ** 2 for r in records]
        self.lost = [
            None if intercept_noise(c) > 0.1 else (r["error"] - r["floor"]) / (r["constant"] - r["floor"])
            for r, c in zip(records, self.cases, strict=True)
        ]
        self.relative = [None if v is None else log_odds(v, RELATIVE) for v in self.squares]
        self.excess = [None if v is None else log_odds(v, EXCESS) for v in self.lost]

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
        spread = {
            f"{what} {known}": self._spread(k, what, known)
            for what in ("excess", "coefficients")
            for known in ("signal", "convention")
            if not (self.name.startswith("tables") and known == "convention")
        }
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

    def _spread(self, k: dict[str, float], what: str, known: str) -> dict[str, Any] | None:
        """Quantiles of what is left around the knots (of at most a third of the records, at least thirty), and at the worst."""
        which = 0 if what == "excess" else 1
        goal, within, value = (
            (self.excess, EXCESS, self.lost) if what == "excess" else (self.relative, RELATIVE, self.squares)
        )
        # bands hold for users who do not know how narrow their columns are
        blind = [replace(c, scale=PLANNER.typical_scale) for c in self.cases]
        rows = [
            (math.log(both_odds(c, g, k)[which]), y, v, i)
            for i, (c, g, y, v) in enumerate(zip(blind, self.signals, goal, value, strict=True))
            if y is not None
        ]
        if len(rows) < 60:
            return None
        predicted, measured, values, index = np.array(rows, dtype=float).T
        left = measured - np.clip(predicted, log_odds(0, within), log_odds(1, within))
        shifts = []
        for knot in KNOTS:
            order = np.argsort(np.abs(predicted - knot))
            inside = int(np.sum(np.abs(predicted - knot) < 2.5))
            near = order[: max(30, min(inside, len(rows) // 3))]
            moves = np.zeros((near.size, 1))
            if known == "convention":
                moves = np.array([self._moves(k, which, int(index[i])) for i in near])
            shifts.append(_quantiles(left[near][:, None] + moves))
        # dual averaging is seldom lost altogether in the population: its worst is that of the harder cases, at least 1
        least, beyond = (0.9, 4.0) if self.polish else (1.0, 1.0)
        if self.name.startswith("tables") and what == "excess":
            signals = np.array([self.signals[int(i)] for i in index])
            over = np.maximum(signals * (values - 1), 0.0)[predicted > 0]
            return {"shifts": shifts, "over": _quantiles(over)}
        lost = np.clip(values[predicted > beyond], least, 4.0)
        return {"shifts": shifts, "worst": _quantiles(lost) if lost.size >= 15 else [1.0] * len(LEVELS)}

    def _moves(self, k: dict[str, float], which: int, i: int) -> list[float]:
        """What signals within the convention's range, nine of ten inside, do to log-odds."""
        typical, weak, strong = self.conventions[i]
        centre = math.log(1 / typical - 1)
        found = []
        for z in norm.ppf(np.linspace(0.05, 0.95, 19)):
            end = math.log(1 / (weak if z > 0 else strong) - 1)
            signal = 1 / (1 + math.exp(centre + abs(z) / norm.ppf(0.95) * (end - centre)))
            found.append(math.log(both_odds(self.cases[i], signal, k)[which]))
        return list(np.array(found) - math.log(both_odds(self.cases[i], typical, k)[which]))


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
        by_kind.setdefault(case(record)[0].kind, []).append(record)
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
