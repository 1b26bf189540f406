"""The points that paper 002 publishes as chosen (Table 4), with their neighbours in its Table 2, and the recipes at such points.

Its clips are in units that its text does not give. The printed loop takes them as they stand and times powers of ten; ours are in units of
a typical gradient.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dpsparse import recipes

from .cases import Ask, Case
from .grids import Axis, Grid

#: Data: passes, clip, step of DP-GCD, DP-CD and DP-SGD.
TABLE_4 = {
    "california": ((4, 51.8, 1.0), (5, 20.2, 1.0), (20, 12.6, 2.15e-5)),
    "square": ((2, 1.46e4, 2.15), (0.01, 9.10e3, 10.0), (0.01, 4.94, 1e-4)),
    "meltingpoint (for mtp)": ((7, 20.2, 0.464), (3, 20.2, 0.0215), (20, 12.6, 2.15e-5)),
    "madelon-l1": ((1, 7.91, 2.15), (0.1, 7.91, 2.15), (10, 6.87e-3, 1.0)),
    "log1": ((10, 3.09, 2.15), (10, 0.184, 1.0), (20, 0.184, 4.64e-4)),
    "log2": ((20, 1.93, 0.464), (1, 0.754, 2.15), (20, 0.184, 4.64e-4)),
    "madelon-l2": ((10, 7.91, 1.0), (10, 1.21, 0.1), (20, 0.184, 1e-4)),
    "dorothea": ((2, 12.6, 2.15), (3, 0.045, 4.64), (0.001, 1e-4, 1e-6)),
}
#: Its values (Table 2).
PASSES = (0.001, 0.01, 0.1, 1, 2, 3, 5, 10, 20)
GCD_PASSES = (1, 2, 4, 7, 10, 15, 20)
STEPS = (0.01, 0.0215, 0.0464, 0.1, 0.215, 0.464, 1.0, 2.15, 4.64, 10.0)
#: More steps of DP-CD than this are not run.
MOST_STEPS = 5500
#: Columns of the problems.
COLUMNS = {"california": 8, "square": 1000, "meltingpoint (for mtp)": 202, "madelon-l1": 500, "madelon-l2": 500}
COLUMNS |= {"log1": 100, "log2": 100, "dorothea": 88119}


#: How many neighbours in the paper's lists are taken below and above the published passes and steps, and which powers of ten times the
#: published clip, where the best point of one neighbour on each side stood at an end: of the printed loop, and of the honest ones.
WIDER: dict[str, dict[str, tuple[int, int]]] = {
    "log1": {"clip": (-2, 1)},
    "log2": {"passes": (2, 1), "clip": (-2, 1), "step": (1, 2)},
    "madelon-l1": {"clip": (-2, 1), "step": (2, 1)},
    "madelon-l2": {"clip": (-2, 1)},
    "meltingpoint (for mtp)": {"passes": (1, 3), "clip": (-1, 2), "step": (1, 3)},
}
WIDER_GCD: dict[str, dict[str, tuple[int, int]]] = {
    "california": {"passes": (1, 2), "step": (1, 2)},
    "dorothea": {"step": (2, 1)},
    "log2": {"passes": (2, 1)},
    "madelon-l1": {"passes": (1, 3), "step": (1, 2)},
    "meltingpoint (for mtp)": {"passes": (1, 3), "step": (1, 3)},
}
WIDER_CD: dict[str, dict[str, tuple[int, int]]] = {
    "california": {"passes": (1, 2)},
    "meltingpoint (for mtp)": {"passes": (1, 3)},
}
WIDER_SGD: dict[str, dict[str, tuple[int, int]]] = {
    "california": {"clip": (-2, 0)},
    "madelon-l2": {"clip": (-2, 0), "step": (0, 4)},
    "meltingpoint (for mtp)": {"clip": (-2, 1), "step": (0, 4)},
}
#: Clips of ours, in units of a typical gradient.
CLIPS = {
    "california": (0.3, 1.0, 3.0, 10.0),
    "meltingpoint (for mtp)": (0.3, 1.0, 3.0, 10.0),
    "log1": (0.03, 0.1, 0.3, 1.0),
}


def near(values: tuple[float, ...], chosen: float, span: tuple[int, int] = (1, 1), most: float = math.inf) -> Axis:
    """A value of the paper's list with its neighbours; the ends of the list are the paper's. Values above `most` are left out."""
    place = values.index(chosen)
    kept = tuple(value for value in values[max(0, place - span[0]) : place + span[1] + 1] if value <= most)
    cut = kept[-1] < values[-1] and values[values.index(kept[-1]) + 1] > most
    return Axis(kept, "paper" if kept[0] == values[0] else "", "paper" if kept[-1] == values[-1] else "time" * cut)


def powers(chosen: float, span: tuple[int, int]) -> Axis:
    """Powers of ten times a value."""
    return Axis(tuple(chosen * 10.0**power if power else chosen for power in range(span[0], span[1] + 1)))


def _around(data: str, published: tuple[float, float, float]) -> Grid:
    passes, clip, step = published
    wider = WIDER.get(data, {})
    axes = {
        "passes": near(GCD_PASSES, passes, wider.get("passes", (1, 1))),
        "clip": powers(clip, wider.get("clip", (-3, 0))),
        "step": near(STEPS, step, wider.get("step", (1, 1))),
    }
    return Grid(axes, "002, Table 2", {"passes": passes, "clip": clip, "step": step})


PRINTED_GCD = {data: _around(data, gcd) for data, (gcd, _, _) in TABLE_4.items()}


def _greedy(data: str, published: tuple[float, float, float]) -> Grid:
    passes, _, step = published
    wider = WIDER_GCD.get(data, {})
    axes = {
        "passes": near(GCD_PASSES, passes, wider.get("passes", (1, 1))),
        "clip": Axis(CLIPS.get(data, (0.1, 0.3, 1.0))),
        "step": near(STEPS, step, wider.get("step", (1, 1))),
    }
    return Grid(axes, "002, Table 2", {"passes": passes, "step": step})


GCD = {data: _greedy(data, gcd) for data, (gcd, _, _) in TABLE_4.items()}


def _coordinates(data: str, published: tuple[float, float, float]) -> Grid:
    passes, _, step = published
    clips = Axis(CLIPS.get(data, (0.1, 0.3, 1.0)))
    if data == "dorothea":  # 3 passes are 264,000 steps
        return Grid({"passes": Axis((0.001, 0.01), "paper", "time"), "clip": clips, "step": Axis((1.0,))})
    span = WIDER_CD.get(data, {}).get("passes", (1, 1))
    axes = {
        "passes": near(PASSES, passes, span, MOST_STEPS / COLUMNS[data]),
        "clip": clips,
        "step": Axis((step,)),
    }
    return Grid(axes, "002, Table 2", {"passes": passes, "step": step})


CD = {data: _coordinates(data, cd) for data, (_, cd, _) in TABLE_4.items()}


def _batches(data: str, published: tuple[float, float, float]) -> Grid:
    passes, clip, step = published
    wider = WIDER_SGD.get(data, {})
    axes = {
        "passes": Axis((passes,)),
        "clip": powers(clip, wider.get("clip", (-1, 1))),
        "step": powers(step, wider.get("step", (-1, 2))),
    }
    return Grid(axes, "002, Table 2", {"passes": passes, "clip": clip, "step": step})


#: On dorothea the published step is 1e-6, one step in all: a model of zeros.
SGD = {data: _batches(data, sgd) for data, (_, _, sgd) in TABLE_4.items()}


def unit_of_slopes(case: Case) -> float:
    """Norm of a typical gradient, from the declared bounds."""
    largest = float(np.max(np.abs(np.array(case.bounds["feature_bound"]))))
    norm = min(case.bounds.get("row_norm", math.inf), largest * math.sqrt(case.X.shape[1]))
    return float(case.bounds.get("target_bound", 3.0) / 3 * norm)


def gcd(case: Case, ask: Ask) -> Any:
    """DP-GCD at a point."""
    clip = ask.at["clip"] * unit_of_slopes(case)
    return recipes.DPGCD(steps=int(ask.at["passes"]), clip=clip, step_size=ask.at["step"])


def cd(case: Case, ask: Ask) -> Any:
    """DP-CD at a point."""
    steps = max(1, round(ask.at["passes"] * case.X.shape[1]))
    clip = ask.at["clip"] * unit_of_slopes(case)
    return recipes.DPCD(steps=steps, clip=clip, step_size=ask.at["step"], order_seed=ask.seed)
