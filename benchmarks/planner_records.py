"""Fits on the planner's calibration population: what was declared, and what came out. Writes out/planner_records.json.

``python -m benchmarks.planner_records`` takes about 20 minutes on one core; ``--few 20 --text 20 --wide 20`` is a quick look.
Besides drawn data sets there are real ones that no published figure of ours is about.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import settings
from benchmarks.planner_population import draw, public
from benchmarks.settings import Setting, held_out_error, relative_error

#: Data sets drawn for the same public facts.
REPEATS = {"wide": 2, "few": 1, "text": 1}
#: Recipes that each family is fitted with.
RECIPES = {"wide": ("select_polish",), "few": ("tables", "dual_averaging"), "text": ("auto",)}


def drawn(family: str, count: int, names: Sequence[str] = (), most: float = math.inf) -> Iterator[dict[str, Any]]:
    """Fits on drawn data, with these recipes or those of the family; data sets with more entries than `most` are left out."""
    for i in range(count):
        rng = np.random.default_rng([i, len(family)])
        given = public(family, rng)
        if given.n * given.d > most:
            continue
        for repeat, recipe in itertools.product(range(REPEATS[family]), names or RECIPES[family]):
            made = draw(given, rng)
            setting = made.setting
            options = {"epsilon": given.epsilon, "delta": given.delta, "fit_intercept": given.intercept}
            model = settings.fit(setting, recipe=recipe, random_state=i + repeat, **options)
            assert setting.test is not None
            floor = attainable(setting) if made.floor is None else made.floor
            yield asdict(given) | {
                "sparse": model.fitted_sparse,
                "bounds": setting.bounds,
                "recipe": model.statement_.recipe,
                "signal": 1 - floor / made.constant,
                "correlated": made.correlated,
                "floor": floor,
                "constant": made.constant,
                "relative": None if setting.truth is None else relative_error(model, setting),
                "error": held_out_error(model, setting),
            }


def attainable(setting: Setting) -> float:
    """Test error of ridge or logistic regression without privacy."""
    from sklearn.linear_model import LogisticRegression, RidgeCV

    if setting.task == "regression":
        return held_out_error(RidgeCV(np.logspace(-3, 3, 13)).fit(setting.X, setting.y), setting)
    models = [LogisticRegression(C=c, max_iter=200) for c in (0.1, 3, 30)]
    return min(held_out_error(m.fit(setting.X, setting.y), setting) for m in models)


def _part(make: Callable[[], Setting], rows: int) -> Callable[[], Setting]:
    def made() -> Setting:
        whole = make()
        few = np.random.default_rng(5).permutation(whole.X.shape[0])[:rows]
        return replace(whole, X=whole.X[few], y=whole.y[few])

    return made


def _sparse(name: str) -> Setting:
    (X, y), _ = settings.parts_of(name)
    train, test = settings.split_rows(X.astype(float).tocsr(), (y > 0).astype(int))
    return Setting(*train, {"row_norm": 4.0}, "classification", None, test=test)


def _restaurants() -> Setting:
    (X, y), _ = settings.parts_of("we8there")
    train, test = settings.split_rows(settings.unit_rows(X), y.astype(float))
    bounds = {"row_norm": 1.0, "target_bound": 2.0, "target_center": 3.0}
    return Setting(*train, bounds, "regression", None, test=test)


#: Real data sets: name: (maker, sparsities).
REAL: dict[str, tuple[Callable[[], Setting], tuple[int | None, ...]]] = {
    "basehock": (settings.basehock, (None, 500)),
    "rcv1_sample": (lambda: settings.unit_text("rcv1_sample"), (None, 500)),
    "hockey": (_part(lambda: _sparse("hockey"), 8000), (None,)),
    "w8a": (_part(lambda: _sparse("w8a"), 16_000), (None,)),
    "we8there": (_restaurants, (None,)),
    "meltingpoint": (lambda: settings.table("meltingpoint"), (None,)),
    "madelon": (lambda: settings.table("madelon"), (None,)),
    "mnist": (lambda: settings.digits(rows=3000), (None,)),
    "pneumonia_mnist": (lambda: settings.digits("pneumonia_mnist", rows=2500), (None,)),
}


def real() -> Iterator[dict[str, Any]]:
    """Fits on real data, by dual averaging."""
    for name, (make, sparsities) in REAL.items():
        setting = make()
        assert setting.test is not None
        floor, y = attainable(setting), setting.test[1]
        constant = 1.0 if setting.task == "regression" else float(min(y.mean(), 1 - y.mean()))
        n, d = setting.X.shape
        for sparsity in sparsities:
            for epsilon in (0.5, 1.0, 2.0, 4.0, 8.0):
                options = {"epsilon": epsilon, "delta": 1e-5, "fit_intercept": True, "sparsity": sparsity}
                model = settings.fit(setting, recipe="dual_averaging", random_state=1, **options)
                yield {
                    "family": name,
                    "task": setting.task,
                    "n": n,
                    "d": d,
                    "sparsity": sparsity,
                    "epsilon": epsilon,
                    "delta": 1e-5,
                    "intercept": True,
                    "sparse": model.fitted_sparse,
                    "bounds": setting.bounds,
                    "recipe": "dual_averaging",
                    "signal": 1 - floor / constant,
                    "correlated": True,
                    "floor": floor,
                    "constant": constant,
                    "relative": None,
                    "error": held_out_error(model, setting),
                }


def main() -> None:
    """Run and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for family, count in (("few", 200), ("text", 150), ("wide", 240)):
        parser.add_argument(f"--{family}", type=int, default=count)
    parser.add_argument("--no-real", action="store_true")
    parser.add_argument("--recipes", nargs="*", default=(), help="of few columns; none: tables and dual_averaging")
    parser.add_argument("--most", type=float, default=math.inf, help="entries of a data set of few columns")
    parser.add_argument("--out", type=Path, default=Path("out/planner_records.json"))
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    given.out.parent.mkdir(exist_ok=True)
    records: list[dict[str, Any]] = []
    sources = [
        drawn("few", given.sparse_signal, given.recipes, given.most),
        drawn("text", given.text),
        drawn("wide", given.wide),
    ]
    if not given.no_real and settings.data_folder() is not None:
        sources.insert(0, real())
    for source in sources:
        for record in source:
            records.append(record)
            if len(records) % 20 == 0:
                given.out.write_text(json.dumps(records))
                print(len(records), flush=True)
    given.out.write_text(json.dumps(records))


if __name__ == "__main__":
    main()
