"""Goals 4 and 5: noise, selections, prices, tiny fits, the first fit of a process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import warnings
from typing import Any

import numpy as np

from .clock import interleave
from .goals import Line, Settings

#: A process that imports scikit-learn, then dpsparse, fits once, and tells how long each took.
FIRST_FIT = """
import json, time, warnings
warnings.simplefilter("ignore")
import numpy as np
X = np.random.default_rng(0).standard_normal((500, 200)); X /= np.linalg.norm(X, axis=1, keepdims=True)
y = (X[:, 0] > 0).astype(int)
start = time.process_time()
import sklearn.linear_model
theirs = time.process_time()
from dpsparse import SparseClassifier
imported = time.process_time()
SparseClassifier(epsilon=2.0, delta=1e-5, row_norm=1.0, classes=(0, 1)).fit(X, y)
print(json.dumps({"sklearn": theirs - start, "import": imported - theirs, "fit": time.process_time() - imported}))
"""


def rows(n: int, d: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Dense rows of unit length and classes by ten columns."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)).astype(np.float32)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    margin = X[:, :10].sum(axis=1) * np.sqrt(d)
    return X, (margin + rng.logistic(size=n) > 0).astype(np.int8)


def noise(settings: Settings) -> list[Line]:
    """A million noisy integers, and the best 500 of a million."""
    from dpsparse.core.mechanisms import Randomness, discrete_gaussian, gumbel_top_k, lattice_gaussian

    size = 10**6
    total, plain, source = np.zeros(size, dtype=np.int64), np.random.default_rng(0), Randomness()
    scores = np.abs(plain.standard_normal(size))
    found = interleave(
        {
            "normal": lambda: plain.standard_normal(size),
            "lattice": lambda: lattice_gaussian(total, 2.0**21, source),
            "exact": lambda: discrete_gaussian(total, 2.0**21, source),
            "level": lambda: gumbel_top_k(np.zeros(size), 500, 1.0, source),
            "spread": lambda: gumbel_top_k(scores, 500, 0.3, source),
        },
        4 * settings.repeats,
    )
    seconds = {name: times.processor for name, times in found.items()}
    ratio = {name: value / seconds["normal"] for name, value in seconds.items()}
    return [
        Line(goal=4, what="default noise / numpy's normal", value=ratio["lattice"], unit="x", most=1.25),
        Line(goal=4, what='noise="exact" / numpy\'s normal', value=ratio["exact"], unit="x", most=10),
        Line(goal=4, what="top 500 of a million, level scores", value=1e3 * seconds["level"], unit="ms", most=12),
        Line(goal=4, what="top 500 of a million, spread scores", value=1e3 * seconds["spread"], unit="ms", most=12),
        Line(goal=4, what="numpy's normal, a million", value=1e3 * seconds["normal"], unit="ms"),
    ]


def fixed(settings: Settings) -> list[Line]:
    """Warm tiny fits, the first fit of a process, prices."""
    from dpsparse import SparseClassifier
    from dpsparse.accounting import price, pricing, selections
    from dpsparse.core import Budget
    from dpsparse.core.facts import Facts
    from dpsparse.recipes import SelectPolish

    X, y = rows(500, 200)

    def fit(recipe: str, sparsity: int | None) -> Any:
        def way() -> None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                SparseClassifier(
                    epsilon=2.0,
                    delta=1e-5,
                    row_norm=1.0,
                    classes=(0, 1),
                    recipe=recipe,
                    sparsity=sparsity,
                    random_state=0,
                ).fit(X, y)

        return way

    facts = Facts(n_rows=5000, n_features=2000, row_norm=1.0, lower=-1.0, upper=1.0, loss="logistic", sparsity=10)
    budget = Budget.approx(2.0, 1e-5)
    plan = SelectPolish().solver(facts, budget).plan(facts, budget)

    def cold() -> None:
        pricing.forget_prices()
        selections.forget_selections()
        price(plan, budget, store=None)

    found = interleave(
        {
            "auto": fit("auto", None),
            "select_polish": fit("select_polish", None),
            "cold price": cold,
            "warm price": lambda: price(plan, budget, store=None),
        },
        3 * settings.repeats,
    )
    with tempfile.TemporaryDirectory() as folder:
        given = os.environ | {"DPSPARSE_PRICES": folder}
        runs = [
            json.loads(
                subprocess.run([sys.executable, "-c", FIRST_FIT], env=given, capture_output=True, check=True).stdout
            )
            for _ in range(settings.repeats)
        ]
    first = min(run["import"] + run["fit"] for run in runs)
    theirs = min(run["sklearn"] for run in runs)
    milliseconds = {name: 1e3 * times.processor for name, times in found.items()}
    return [
        Line(goal=5, what="warm fit 500 x 200, auto", value=milliseconds["auto"], unit="ms", most=12),
        Line(goal=5, what="warm fit 500 x 200, select_polish", value=milliseconds["select_polish"], unit="ms", most=12),
        Line(goal=5, what="first fit of a process, besides scikit-learn", value=first, unit="s", most=1.0),
        Line(goal=5, what="importing scikit-learn", value=theirs, unit="s"),
        Line(
            goal=5,
            what="price of select_polish 5000 x 2000, first",
            value=milliseconds["cold price"],
            unit="ms",
            most=150,
        ),
        Line(goal=5, what="the same again", value=milliseconds["warm price"], unit="ms", most=20),
    ]
