"""Does the planner's 90 % band hold what fits really reach? On settings that its formulas were not fitted to.

``python -m benchmarks.planner_coverage`` prints band and measured mean for every setting and budget, and the part that is covered; measured are the
runs of ``python -m benchmarks.papers --only guide-bands``, kept in benchmarks/results. ``--own``: the part of single fits of records of
`benchmarks.planner_records` (``--records``): of the calibration itself, or of others. ``--bands``: put the bands of the present planner beside the kept runs.
"""

from __future__ import annotations

import argparse
import json
import math
import warnings
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks import many_classes, planner_calibration, settings
from benchmarks.flagship_dense import design
from benchmarks.settings import Setting, held_out_error, relative_error, synthetic
from dpsparse import SparseClassifier, SparseRegressor
from dpsparse.report.bench import Results
from dpsparse.report.bench.results import mean_and_error
from dpsparse.report.planner import Assumptions, ErrorBand, summarise

RESULTS = Path(__file__).parent / "results" / "guide-bands.parquet"


@dataclass(frozen=True)
class Checked:
    """A setting with the band that is compared, budgets, and what the planner is told besides the bounds.

    `file` is the data file that it needs; `free`: with an intercept.
    """

    make: Callable[[int], Setting]
    band: str
    delta: float
    epsilons: tuple[float, ...]
    file: str | None = None
    free: bool = True
    known: dict[str, float] = field(default_factory=dict)

    def declared(self, setting: Setting) -> dict[str, Any]:
        """Arguments of the estimator."""
        return {"sparsity": setting.sparsity, "fit_intercept": self.free, **setting.bounds}

    def foreseen(self, setting: Setting, epsilon: float) -> ErrorBand:
        """The band for the shape, the bounds and the budget."""
        kind = SparseRegressor if setting.task == "regression" else SparseClassifier
        many = {"classes": sorted(set(np.asarray(setting.y).tolist()))} if setting.task == "classification" else {}
        planned = kind(epsilon=epsilon, delta=self.delta, **self.declared(setting), **many)
        plan = planned.plan(*setting.X.shape, sparse=sp.issparse(setting.X), **self.known)
        band: ErrorBand = getattr(plan.error, self.band)
        return band

    def measure(self, epsilon: float, seed: int) -> dict[str, float]:
        """One fit of `auto`: its error, and the band."""
        setting = self.make(seed)
        kind = SparseRegressor if setting.task == "regression" else SparseClassifier
        model = kind(epsilon=epsilon, delta=self.delta, random_state=seed, **self.declared(setting))
        model.fit(setting.X, setting.y)
        value = relative_error(model, setting) if self.band == "coefficients" else held_out_error(model, setting)
        band = self.foreseen(setting, epsilon)
        return {"measured": value, "low": band.low, "high": band.high}


def _paper(name: str, epsilons: tuple[float, ...]) -> Checked:
    return Checked(lambda seed: synthetic(name, seed), "coefficients", 0.01, epsilons, free=False)


def _design(name: str) -> Checked:
    return Checked(lambda seed: design(name, seed), "coefficients", 1e-5, (1.0, 2.0, 4.0))


def _text(make: Callable[[], Setting], epsilons: tuple[float, ...], file: str, **known: float) -> Checked:
    return Checked(lambda seed: make(), "test", 1e-5, epsilons, file, known=known)


def _whole(make: Callable[[], Setting]) -> Callable[[], Setting]:
    return lambda: replace(make(), sparsity=None)


_ALL, _FEW, _FIVE = (1.0, 2.0, 4.0, 10.0), (1.0, 2.0, 4.0), (0.5, 1.0, 2.0, 4.0, 8.0)
SETTINGS: dict[str, Checked] = {
    "000-lin (i)": _paper("000-lin-i", _ALL),
    "000-lin (ii)": _paper("000-lin-ii", _ALL),
    "000-log (i)": _paper("000-log-i", _ALL),
    "000-log (ii)": _paper("000-log-ii", _ALL),
    "001-lin (800)": _paper("001-lin-i", (0.8, 2.0, 5.0)),
    "genotypes": _design("geno"),
    "equicorrelated": _design("equi"),
    "AR(.5)": _design("ar"),
    "t3 noise": _design("t3"),
    "outcome mean 20": _design("mean20"),
    "news20": _text(_whole(settings.news20), _FIVE, "news20"),
    "news20 s=500": _text(settings.news20, _FIVE, "news20"),
    "imdb": _text(_whole(settings.imdb), (1.0,), "imdb"),
    "reuters_moneyfx": _text(_whole(lambda: settings.unit_text("reuters_moneyfx")), _FIVE[:4], "reuters_moneyfx"),
    "reuters_moneyfx, rarer class known": _text(
        _whole(lambda: settings.unit_text("reuters_moneyfx")), _FIVE[:4], "reuters_moneyfx", base_rate=0.054
    ),
    "california": _text(lambda: settings.table("california"), (0.1, 1.0, 4.0), "california"),
    "covtype": _text(lambda: settings.table("covtype", rows=60_000), (0.1, 1.0, 4.0), "covtype"),
    "a9a": _text(settings.a9a, (0.1, 1.0, 4.0), "a9a"),
    "news20, 20 classes": _text(many_classes.CASES["news20"].make, _FEW, "news20"),
    "mnist, 10 classes": _text(many_classes.CASES["mnist 12k"].make, _FEW, "mnist"),
}
#: Families of records that are drawn, or named in tables; others are real data.
FAMILIES = ("few", "text", "wide", "table", "README's patients", "persons", "curves")
#: Told more than the others, so not counted with them.
TOLD = ("reuters_moneyfx, rarer class known",)


def covered(results: Results, name: str) -> list[tuple[float, float, float, float, bool]]:
    """Epsilon, measured mean, ends of the band, and whether it is inside, for every budget of a setting."""
    found = []
    for epsilon in SETTINGS[name].epsilons:
        value, low, high = (
            mean_and_error(results.values(name, "auto", epsilon, what).values())[0]
            for what in ("measured", "low", "high")
        )
        if math.isfinite(value):
            found.append((epsilon, value, low, high, low <= value <= high))
    return found


def check(results: Results) -> tuple[int, int]:
    """Print every band; how many held the measured mean, of how many."""
    held = count = 0
    for name in SETTINGS:
        cells = covered(results, name)
        if not cells:
            continue
        if name not in TOLD:
            held, count = held + sum(cell[-1] for cell in cells), count + len(cells)
        words = [
            f"{e:g}: {v:.3g} in {low:.3g}..{high:.3g}{'' if inside else ' NO'}" for e, v, low, high, inside in cells
        ]
        print(f"{name:16s} " + " | ".join(words), flush=True)
    print(f"covered {held} of {count}")
    return held, count


def with_present_bands(results: Results) -> Results:
    """The same runs with the bands of the present planner, which sees shapes and no fit; settings without their data keep theirs."""
    errors = dict(results.errors)
    for name, checked in SETTINGS.items():
        mine = [cell for cell in errors if cell.data == name]
        try:
            setting = checked.make(0)
        except FileNotFoundError:
            continue
        for cell in mine:
            band = checked.foreseen(setting, cell.epsilon)
            errors[cell] = {**errors[cell], "low": band.low, "high": band.high}
    return replace(results, errors=errors)


def told_for(record: dict[str, Any]) -> dict[str, Assumptions]:
    """What a user may know of a record besides its public facts: nothing, the share of classes, the signal too."""
    rate = {"base_rate": min(0.5, record["constant"])} if record["task"] == "classification" else {}
    signal = min(max(record["signal"], 0.02), 0.99)
    return {"nothing": Assumptions(), "classes": Assumptions(**rate), "signal": Assumptions(signal=signal, **rate)}


def own(records: list[dict[str, Any]]) -> dict[tuple[str, str, str], list[tuple[bool, float]]]:
    """Print which part of the fits of records lies in their bands, by what the planner is told; returns each fit."""
    seen: dict[tuple[str, str, str], list[tuple[bool, float]]] = defaultdict(list)
    for record in records:
        case = planner_calibration.case(record)
        kind = f"{case.kind}, {record['family'] if record['family'] in FAMILIES else 'real'}"
        request, shape = planner_calibration.planned(record)
        for knows, assumed in told_for(record).items():
            error = summarise(request, shape, assumed).error
            assert error is not None
            seen[kind, "test", knows].append((record["error"] in error.test, error.test.high / error.test.low))
            band = error.coefficients
            if band is not None and record["relative"] is not None:
                seen[kind, "coefficients", knows].append((record["relative"] in band, band.high / band.low))
    for (kind, what, knows), found in sorted(seen.items()):
        held, widths = zip(*found, strict=True)
        print(
            f"{kind:42s} {what:12s} told {knows:8s} {np.mean(held):.2f} of {len(found)}, "
            f"median width {np.median(widths):.1f}",
            flush=True,
        )
    return dict(seen)


def main() -> None:
    """Print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--own", action="store_true")
    parser.add_argument("--records", type=Path, nargs="+", default=[Path("out/planner_records.json")])
    parser.add_argument("--bands", action="store_true")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    if given.bands:
        with_present_bands(Results.read(RESULTS)).write(RESULTS)
    if given.own:
        own([record for path in given.records for record in json.loads(path.read_text())])
        return
    check(Results.read(RESULTS))


if __name__ == "__main__":
    main()
