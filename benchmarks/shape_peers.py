"""Curves against DP-EBM on public tables: python -m benchmarks.shape_peers [--splits 1] [--tables ...] > rows.md.

Needs the package interpret-core beside dpsparse. Both get the same bounds of columns and targets, the same epsilon and delta, and
the same held-out records. DP-EBM has its own settings and accounting (Gaussian differential privacy, add or remove one record);
dpsparse has `shapes="auto"` and its defaults (replace one record, which asks for about twice the noise). Prints a row for each table.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np

from .shapes import DELTA, EPSILONS, error, private
from .tables import sets

#: Tables of the page on curves, of both kinds, with 300 to 45,000 records.
# fmt: off
TABLES = (
    "BudgetFood", "BudgetItaly", "Benefits", "Chile", "Computers", "DoctorAUS", "HI", "Hdma", "LaborSupply",
    "Males", "MedExp", "OFP", "PSID", "Participation", "SLID", "Salaries", "Schooling", "Snmesp", "Star",
    "Tobacco", "Treatment", "VietNamH", "Vocab", "Wages", "Workinghours", "flchain", "mdvis", "medpar", "mid",
    "nlschools", "nwtco", "quakes", "rwm5yr", "turnout", "vote92",
)
# fmt: on


def dp_ebm(table: sets.Table, epsilon: float, seed: int) -> float:
    """Held-out error of InterpretML's private boosting machine with declared bounds."""
    from interpret.privacy import DPExplainableBoostingClassifier, DPExplainableBoostingRegressor

    X, Z = (np.clip(x, table.lower, table.upper) for x in (table.X, table.test[0]))
    ends = zip(table.lower, table.upper, strict=True)
    shared = {
        "epsilon": epsilon,
        "delta": DELTA,
        "privacy_bounds": {j: (float(low), float(high)) for j, (low, high) in enumerate(ends)},
        "feature_types": ["continuous"] * X.shape[1],
        "random_state": seed,
    }
    if table.kind != "regression":
        fitted = DPExplainableBoostingClassifier(**shared).fit(X, table.y.astype(int))
        share = np.clip(fitted.predict_proba(Z)[:, 1], 1e-9, 1 - 1e-9)
        return error(np.log(share / (1 - share)), table)
    low, high = table.center - table.bound, table.center + table.bound
    fitted = DPExplainableBoostingRegressor(privacy_target_min=low, privacy_target_max=high, **shared)
    return error(fitted.fit(X, np.clip(table.y, low, high)).predict(Z), table)


def main() -> None:
    """Print one row for each table, and last how often curves have the smaller error."""
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--splits", type=int, default=1)
    reader.add_argument("--tables", nargs="*", default=TABLES)
    given = reader.parse_args()
    print("| table | rows | " + " | ".join(f"auto, {e:g} | DP-EBM, {e:g}" for e in EPSILONS) + " |")
    print("|---" * (2 + 2 * len(EPSILONS)) + "|")
    better = np.zeros(len(EPSILONS), dtype=int)
    for name in given.tables:
        splits = [sets.load(name, split) for split in range(given.splits)]
        cells = []
        for i, epsilon in enumerate(EPSILONS):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                ours = float(np.mean([private(table, epsilon, "auto")[0] for table in splits]))
                theirs = float(np.mean([dp_ebm(table, epsilon, k) for k, table in enumerate(splits)]))
            better[i] += ours < theirs
            cells += [f"{ours:.3f}", f"{theirs:.3f}"]
        print(f"| {name} | {splits[0].shape[0]} | {' | '.join(cells)} |", flush=True)
    for epsilon, count in zip(EPSILONS, better, strict=True):
        print(f"\nepsilon {epsilon:g}: curves have the smaller error on {count} of {len(given.tables)} tables")


if __name__ == "__main__":
    main()
