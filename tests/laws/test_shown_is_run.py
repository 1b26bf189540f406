"""The law *shown = run*: what `plan` shows of a shape is what the statement of a fit of that shape says.

Compared is everything that is public before a row is read: every query with its kind of noise, how
often it is asked and drawn, on which part of the rows, and its cost, which is sensitivity over scale;
the price in every language; and the notes. Where answers choose branches of a plan, the branch that
they chose has to be among those that were shown, with the same numbers.
"""

from __future__ import annotations

import itertools
import json
from collections import defaultdict
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from click.testing import CliRunner

from dpsparse import (
    Budget,
    NoisyCount,
    PrivateBounds,
    PrivateScaler,
    PrivateSearch,
    PublicScaler,
    RowNormalizer,
    SparseClassifier,
    SparseRegressor,
    make_private_pipeline,
    recipes,
)
from dpsparse.cli import main
from dpsparse.core import Statement
from dpsparse.federated import SiteData, fit_shared
from dpsparse.readers import convert
from dpsparse.recipes import DPSCSGHT
from dpsparse.tables import Column, Dictionary, TableEncoder
from truth.recipes import Doubtful

pytestmark = pytest.mark.filterwarnings("ignore::dpsparse.core.HopelessFitWarning")

EVERY = sorted(recipes.REGISTRY)
PRIVATE = [name for name in EVERY if recipes.get(name).private]
#: In the local model whoever collects reports sees who reports: neighbours are those of replace-one.
LOCAL = {"label_ldp_iht", "label_ldp_lasso", "ldp_iht", "ldp_moment"}
TASKS = ("regression", "two classes", "three classes")
#: Rows of a box, and rows that are bounded by a norm alone, as texts are; stored dense and sparse.
KINDS = ("dense box", "dense norm", "sparse box", "sparse norm")
ROWS, COLUMNS = 120, 30


# ------------------------------------------------------------------------------------------------ what is compared


def differences(asks, models, statement_asks):
    """In words, how the answers of a statement differ from every way in which a plan could have been run; empty: they do not."""
    ran = gathered(
        (a.name, a.draws, a.noise, a.cost_name, a.part, [a.cost] * a.times, a.rate, a.offset) for a in statement_asks
    )
    found = []
    for way in ways(asks, models):
        shown = gathered((a.name, a.draws, a.noise, a.cost_name, a.part, costs(a), a.rate, a.offset) for a in way)
        found.append(
            [
                f"{k}: shown {shown.get(k)}, run {ran.get(k)}"
                for k in {*shown, *ran}
                if not alike(shown.get(k), ran.get(k))
            ]
        )
    return min(found, key=len)


def costs(ask):
    """The cost of each turn; infinite where there is no noise, as statements have it."""
    if isinstance(ask.cost, tuple):
        return list(ask.cost)
    return [np.inf if ask.cost is None else ask.cost] * ask.times


def gathered(answers):
    """Costs, rates and offsets of single answers by what they are called."""
    found = defaultdict(list)
    for *what, turns, rate, offset in answers:
        found[tuple(what)] += [(cost, rate, offset) for cost in turns]
    return {what: sorted(rows) for what, rows in found.items()}


def alike(shown, ran):
    return (
        shown is not None and ran is not None and len(shown) == len(ran) and np.allclose(shown, ran, rtol=1e-9, atol=0)
    )


def ways(asks, models):
    """Every way in which a plan can be run: for each model, and each part of the rows, one branch at every choice."""
    parts = []
    for part in dict.fromkeys(ask.part for ask in asks):
        mine = [ask for ask in asks if ask.part == part]
        ends = {ask.branch for ask in mine}
        ends = [end for end in ends if not any(other[: len(end)] == end != other for other in ends)]
        parts.append([[ask for ask in mine if end[: len(ask.branch)] == ask.branch] for end in ends])
    one = [list(itertools.chain(*chosen)) for chosen in itertools.product(*parts)]
    return [list(itertools.chain(*chosen)) for chosen in itertools.combinations_with_replacement(one, models)]


def check_notes(shown, said):
    """All notes that were shown are in the statement, together and in their order; none of the others could have been shown."""
    start = said.index(shown[0]) if shown else 0
    assert said[start : start + len(shown)] == tuple(shown)
    rest = said[:start] + said[start + len(shown) :]
    assert not any("picked" in note or "the planner" in note for note in rest)


def check(plan, statement: Statement):
    """The whole law for a plan and the statement of a fit. Baselines stop when they have converged, so they may ask less."""
    if plan.epsilon is None:
        assert {a.name for a in statement.asks} <= {a.name for a in plan.asks}
        assert sum(a.times for a in statement.asks) <= plan.models * sum(a.times for a in plan.asks)
        assert {a.noise for a in (*statement.asks, *plan.asks)} == {"none"}
    else:
        assert differences(plan.asks, plan.models, statement.asks) == []
    check_notes(plan.notes, statement.notes)
    price = {name: getattr(statement, name) for name in ("epsilon", "delta", "rho", "mu")}
    if plan.epsilon is None:
        assert not statement.priced
    else:
        assert {name: getattr(plan, name) for name in price} == price
    for name in ("recipe", "accountant", "adjacency", "unit", "n_rows"):
        assert getattr(plan, name) == getattr(statement, name)
    assert set(statement.caveats) <= set(plan.warnings)
    assert ("sparse rows" if plan.sparse else "dense rows") in str(plan).splitlines()[0]
    assert len(json.loads(json.dumps(plan.to_dict()))["asks"]) == len(plan.asks)


# ------------------------------------------------------------------------------------------------ rows


def rows(kind: str, task: str, n: int = ROWS, d: int = COLUMNS, seed: int = 7):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, d)) * (rng.random((n, d)) < 0.3)
    if kind.endswith("norm"):
        X /= np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-9)
    y = 3 * (X[:, 0] - X[:, 1]) + 0.1 * rng.standard_normal(n)
    y = {"regression": y, "two classes": (y > 0).astype(int), "three classes": np.digitize(y, [-0.3, 0.3])}[task]
    return (sp.csr_matrix(X) if kind.startswith("sparse") else X), y


def model(task: str, kind: str = "dense box", **options):
    bounds = {"row_norm": 1.0} if kind.endswith("norm") else {"feature_bound": 1.0}
    name = options.get("recipe", "auto")
    needs = recipes.get(name).needs if isinstance(name, str) else ()
    given = {"epsilon": 3.0, "delta": 1e-5, "accept": needs, "random_state": 0, **bounds, **options}
    if task == "regression":
        return SparseRegressor(target_bound=2.0, **given)
    return SparseClassifier(classes=range(2 if task == "two classes" else 3), **given)


def law(made, X, y, sparse=None):
    plan = made.plan(*X.shape, sparse=sp.issparse(X) if sparse is None else sparse)
    check(plan, made.fit(X, y).statement_)


# ------------------------------------------------------------------------------------------------ every recipe


#: Baselines, which promise nothing, are tried on fewer kinds of rows.
RECIPES = [
    (name, kind, task)
    for name, kind, task in itertools.product(EVERY, KINDS, TASKS)
    if name in PRIVATE or (task != "three classes" and kind in ("dense box", "sparse norm"))
]


@pytest.mark.parametrize(("name", "kind", "task"), RECIPES)
def test_a_recipe_runs_the_plan_that_is_shown(name, kind, task):
    law(model(task, kind, recipe=name, sparsity=3), *rows(kind, task))


@pytest.mark.parametrize("task", ["regression", "three classes"])
@pytest.mark.parametrize("kind", ["dense box", "sparse norm"])
@pytest.mark.parametrize("name", sorted(set(PRIVATE) - LOCAL))
def test_so_it_does_under_add_remove(name, kind, task):
    law(model(task, kind, recipe=name, sparsity=3, adjacency="add-remove", n_rows=ROWS), *rows(kind, task))


# ------------------------------------------------------------------------------------------------ every option

#: Options that change what is asked, and the tasks for which they are.
OPTIONS = {
    "few coefficients or many, by answers": ({}, TASKS),
    "exact noise": ({"noise": "exact"}, TASKS),
    "a count of what is clipped": ({"check_bounds": 0.02}, TASKS),
    "no intercept": ({"fit_intercept": False}, TASKS),
    "an l1 penalty": ({"penalty": "l1", "alpha": 0.01}, TASKS),
    "an l2 penalty": ({"alpha": 0.1}, TASKS),
    "public column means": ({"feature_center": 0.1}, TASKS),
    "a public start": ({"start": np.linspace(-1, 1, 70)}, TASKS),
    "zCDP": ({"budget": Budget.zcdp(0.2), "delta": None}, TASKS),
    "the default delta": ({"delta": None}, TASKS),
    "a hopeless budget": ({"epsilon": 0.01}, TASKS),
    "a weak guarantee": ({"epsilon": 40.0}, TASKS),
    "bounds of each column": ({"feature_bound": np.linspace(1, 50, 70)}, TASKS),
    "empty records": ({"on_missing": "empty"}, ("regression", "two classes")),
    "intervals": ({"intervals": "split", "sparsity": 4}, ("regression", "two classes")),
    "robust intervals": ({"intervals": "split", "interval_target": "robust", "sparsity": 4}, ("regression",)),
    # a seed at which coordinates are selected: where none is, no interval is asked for
    "intervals and a count": (
        {"intervals": "split", "sparsity": 4, "check_bounds": 0.05, "random_state": 1},
        ("two classes",),
    ),
    "intervals, add-remove": (
        {"intervals": "split", "sparsity": 4, "adjacency": "add-remove", "n_rows": 900},
        ("regression",),
    ),
    "perturbed objectives": ({"recipe": "two_stage", "sparsity": 4}, TASKS),
    "a recipe of others without a proof": ({"recipe": Doubtful(), "accept": ("unproven",)}, TASKS),
}
CASES = [(name, task) for name, (_, tasks) in OPTIONS.items() for task in tasks]


@pytest.mark.parametrize("kind", ["dense box", "sparse norm"])
@pytest.mark.parametrize(("name", "task"), CASES)
def test_a_fit_with_this_option_runs_the_plan_that_is_shown(name, task, kind):
    options = dict(OPTIONS[name][0])
    if options.get("noise") == "exact":
        options["random_state"] = None
    law(model(task, kind, **options), *rows(kind, task, 900, 70))


def test_a_number_of_turns_that_every_fit_draws_anew_is_shown_with_its_law():
    made = model("regression", recipe=DPSCSGHT(option="I"), sparsity=3)
    X, y = rows("dense box", "regression")
    plan, said = made.plan(*X.shape), made.fit(X, y).statement_
    [drawn] = [ask for ask in plan.asks if ask.law]
    assert "geometric numbers" in drawn.law
    assert all(a.cost == pytest.approx(drawn.cost) for a in said.asks if a.name == drawn.name)
    fixed = [ask for ask in plan.asks if not ask.law]
    assert differences(fixed, 1, [a for a in said.asks if a.name != drawn.name]) == []


@pytest.mark.parametrize(
    "store", [sp.csr_matrix, sp.csc_matrix, sp.coo_matrix, sp.csr_array, pd.DataFrame, np.float32, list]
)
def test_a_fit_runs_the_plan_of_its_kind_of_rows_however_they_are_stored(store):
    X, y = rows("dense norm", "two classes")
    kept = X.astype(np.float32) if store is np.float32 else X.tolist() if store is list else store(X)
    made = model("two classes", "dense norm", recipe="dual_averaging")
    check(made.plan(*X.shape, sparse=sp.issparse(kept)), made.fit(kept, y).statement_)


# ------------------------------------------------------------------------------------------------ dictionaries and files


def dictionary(levels: int) -> Dictionary:
    """Two numbers, and a category of this many values: with many the encoded rows are sparse."""
    return Dictionary(
        [
            Column(name="age", kind="number", bounds=(0, 100), gap_is_feature=True),
            Column(name="town", kind="category", categories=[f"t{i}" for i in range(levels)]),
            Column(name="pressure", kind="number", bounds=(80, 200)),
            Column(name="cost", kind="number", bounds=(-2, 2), role="target"),
        ]
    )


def table(levels: int, n: int = 400) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    age, pressure = rng.uniform(0, 100, n), rng.uniform(80, 200, n)
    towns = [f"t{i}" for i in rng.integers(0, levels, n)]
    return pd.DataFrame({"age": age, "town": towns, "pressure": pressure, "cost": age / 50 - 1})


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"check_cells": 0.05},
        {"check_cells": 0.05, "check_bounds": 0.02, "adjacency": "add-remove", "n_rows": 400},
        {"check_cells": 0.05, "intervals": "split", "sparsity": 2},
    ],
    ids=["plain", "cells", "two counts", "intervals"],
)
@pytest.mark.parametrize("levels", [2, 40], ids=["dense", "sparse"])
def test_a_fit_of_encoded_rows_runs_the_plan_that_their_dictionary_gives(levels, options):
    encoder = TableEncoder(dictionary(levels))
    made = SparseRegressor(epsilon=3.0, delta=1e-6, target_bound=2.0, random_state=0, **options)
    known = SparseRegressor(**made.get_params() | {"feature_bound": encoder})
    assert encoder.output_sparse() is (levels == 40)
    plan = known.plan(400, encoder.output_bounds().lower.size, sparse=encoder.output_sparse())
    given = table(levels)
    check(plan, made.fit(encoder.fit_transform(given), given["cost"]).statement_)
    assert ("cells not understood" in {ask.name for ask in plan.asks}) is ("check_cells" in options)


def command(*arguments, code=0):
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exit_code == code, result.stderr
    return json.loads(result.stdout)


def check_commands(plan_arguments, fit_arguments, sparse):
    """The law for ``dpsparse plan`` and ``dpsparse fit``."""
    shown = command("plan", *plan_arguments, "--json")
    said = Statement.from_dict(command("fit", *fit_arguments, "--json", code=7)["statement"])
    asks = [Shown(ask) for ask in shown["asks"]]
    assert shown["sparse"] is sparse
    assert differences(asks, shown["models"], said.asks) == []
    check_notes(tuple(shown["notes"]), said.notes)
    assert (shown["recipe"], shown["epsilon"]) == (said.recipe, said.epsilon)
    return {ask.name for ask in asks}


class Shown:
    """A query as it stands in JSON."""

    def __init__(self, ask):
        vars(self).update(ask | {"branch": tuple(ask["branch"])})
        self.cost = tuple(ask["cost"]) if isinstance(ask["cost"], list) else ask["cost"]


@pytest.mark.parametrize("more", [[], ["--check-cells", 0], ["--check-cells", 0.1, "--intervals", "--sparsity", 2]])
@pytest.mark.parametrize("levels", [2, 40], ids=["dense", "sparse"])
def test_the_command_fit_with_a_dictionary_runs_the_plan_that_the_command_plan_shows(levels, more, tmp_path):
    dictionary(levels).write(tmp_path / "d.yaml")
    table(levels).to_csv(tmp_path / "t.csv", index=False)
    options = ["--dictionary", tmp_path / "d.yaml", "--epsilon", 2, *more]
    fit = [tmp_path / "t.csv", *options, "--seed", 0, "--out", tmp_path / "m.json"]
    names = check_commands([*options, "--n-rows", 400], fit, sparse=levels == 40)
    assert ("cells not understood" in names) is (more != ["--check-cells", 0])


def written(folder, kind: str, ending: str):
    """A file of rows with two classes."""
    X, y = rows(kind, "two classes")
    path = folder / f"rows{ending}"
    dense = X.toarray() if sp.issparse(X) else X
    if ending == ".svmlight":
        lines = [
            f"{t} " + " ".join(f"{j + 1}:{v!r}" for j, v in enumerate(r.tolist()) if v)
            for r, t in zip(dense, y, strict=True)
        ]
        path.write_text("\n".join(lines) + "\n")
    elif ending == ".npz" and sp.issparse(X):
        np.savez(path, data=X.data, indices=X.indices, indptr=X.indptr, shape=X.shape, y=y)
    elif ending == ".npz":
        np.savez(path, X=X, y=y)
    elif ending == ".parquet" and sp.issparse(X):
        lists = {"indices": np.split(X.indices, X.indptr[1:-1]), "values": np.split(X.data, X.indptr[1:-1])}
        pd.DataFrame({**{k: [v.tolist() for v in held] for k, held in lists.items()}, "y": y}).to_parquet(path)
    elif ending == ".dpsrows":
        convert(written(folder, kind, ".npz"), path)
    else:
        frame = pd.DataFrame(dense, columns=[f"x{j}" for j in range(dense.shape[1])]).assign(y=y)
        (frame.to_csv if ending == ".csv" else frame.to_parquet)(path, index=False)
    return path


@pytest.mark.parametrize(
    ("kind", "ending"),
    [
        ("sparse norm", ".svmlight"),
        ("sparse norm", ".npz"),
        ("sparse norm", ".parquet"),
        ("sparse norm", ".dpsrows"),
        ("dense norm", ".npz"),
        ("dense norm", ".parquet"),
        ("dense norm", ".dpsrows"),
        ("dense norm", ".csv"),
    ],
)
def test_a_kind_of_file_tells_the_command_plan_which_rows_will_be_fitted(kind, ending, tmp_path):
    if ending == ".parquet":
        pytest.importorskip("pyarrow")
    path = written(tmp_path, kind, ending)
    options = ["--task", "classification", "--row-norm", 1, "--classes", "0,1", "--recipe", "dual_averaging"]
    shape = ["--n-rows", ROWS, "--n-features", COLUMNS]
    target = ["--target", "y"] if ending in (".csv", ".parquet") else []
    fit = [path, *target, "--n-features", COLUMNS, *options, "--seed", 0, "--out", tmp_path / "m.json"]
    check_commands([path, *shape, *options], fit, sparse=kind.startswith("sparse"))
    if kind.startswith("sparse"):
        check_commands(["--sparse", *shape, *options], fit, sparse=True)


# ------------------------------------------------------------------------------------------------ pipelines and searches


def check_pipeline(pipe, X, y, n_features=None, sparse=None, models=1):
    """The law for a private pipeline; of a model behind steps that learn its bounds, only the budget is fixed before."""
    sparse = sp.issparse(X) if sparse is None else sparse
    plan, said = pipe.plan(len(y), n_features or X.shape[1], sparse=sparse), pipe.fit(X, y).statement_
    *steps, last = plan.shares
    for name in steps:
        mine = [
            replace(ask, name=ask.name.removeprefix(f"{name}: "))
            for ask in said.asks
            if ask.name.startswith(f"{name}: ")
        ]
        assert differences(plan.asks[name], 1, mine) == []
    if not plan.learned:
        assert differences(plan.asks[last], models, said.asks) == []
        check_notes(plan.notes, said.notes)
    assert (plan.epsilon, plan.delta, str(plan.adjacency)) == (pytest.approx(said.epsilon), said.delta, said.adjacency)
    shown = json.loads(json.dumps(plan.to_dict()))
    assert [len(step["asks"]) for step in shown["steps"]] == [len(plan.asks[name]) for name in plan.shares]
    return plan


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_pipeline_of_free_steps_runs_the_plan_that_is_shown(kind, task):
    X, y = rows(kind, task)
    made = model(task, kind)
    for step in (RowNormalizer(), PublicScaler(feature_bound=1.0)):
        check_pipeline(make_private_pipeline(step, made, epsilon=2.0, delta=1e-6), X, y)


@pytest.mark.parametrize("share", [None, 0.05], ids=["plain", "cells"])
@pytest.mark.parametrize("levels", [2, 40], ids=["dense", "sparse"])
def test_a_pipeline_knows_how_a_dictionary_encodes_rows(levels, share):
    given = table(levels)
    made = SparseRegressor(target_bound=2.0, random_state=0, check_cells=share)
    pipe = make_private_pipeline(TableEncoder(dictionary(levels)), made, epsilon=2.0, delta=1e-6)
    check_pipeline(pipe, given.drop(columns="cost"), given["cost"].to_numpy(), n_features=3, sparse=False)


def test_bounds_that_count_cells_ask_what_is_shown():
    given = table(2, 2000)
    learned = PrivateBounds(feature_bound=1.0, check_cells=0.1, random_state=0)
    made = SparseRegressor(target_bound=2.0, random_state=0)
    pipe = make_private_pipeline(TableEncoder(dictionary(2)), learned, made, epsilon=4.0, delta=1e-6)
    plan = check_pipeline(pipe, given.drop(columns="cost"), given["cost"].to_numpy(), n_features=5, sparse=False)
    assert plan.asks["privatebounds"][0].name == "cells not understood"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("step", [PrivateScaler, PrivateBounds])
def test_a_step_with_a_price_asks_what_is_shown(step, kind):
    X, y = rows(kind, "regression", 2000, 12)
    learned = step(feature_bound=1.0, random_state=0)
    pipe = make_private_pipeline(learned, SparseRegressor(target_bound=2.0, random_state=0), epsilon=4.0, delta=1e-6)
    plan = check_pipeline(pipe, X, y)
    assert plan.learned == (step.__name__.lower(),)
    assert "will release; its budget does not" in str(plan)


def test_a_noisy_count_asks_what_is_shown():
    X, y = rows("dense box", "regression", 2000, 12)
    made = SparseRegressor(target_bound=2.0, feature_bound=1.0, random_state=0)
    pipe = make_private_pipeline(NoisyCount(random_state=0), made, epsilon=4.0, delta=1e-6, adjacency="add-remove")
    assert check_pipeline(pipe, X, y).learned == ("noisycount",)


@pytest.mark.parametrize("holdout", [None, 0.25])
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("kind", ["dense box", "sparse norm"])
def test_the_best_run_of_a_search_asks_what_was_shown_of_its_candidate(kind, task, holdout):
    X, y = rows(kind, task, 400)
    space = {"recipe": ["auto", "dual_averaging", "dp_ight"], "sparsity": [2, 4]}
    search = PrivateSearch(model(task, kind), space, epsilon=4.0, delta=1e-5, holdout=holdout, random_state=1)
    plan = search.plan(*X.shape, sparse=sp.issparse(X))
    found = search.fit(X, y)
    said = found.statement_
    [run] = [run for run in plan.runs if run.parameters == found.best_params_]
    models = 1 if task != "three classes" or run.recipe == "dual_averaging" else 3
    assert differences(run.asks, models, [ask for ask in said.asks if ask.name != "score"]) == []
    assert differences(plan.score_asks, 1, [ask for ask in said.asks if ask.name == "score"]) == []
    check_notes(run.notes, said.notes)
    assert (plan.epsilon, plan.delta, f"private search, {run.recipe}") == (said.epsilon, said.delta, said.recipe)
    assert plan.to_dict() == found.plan_.to_dict()
    assert len(json.loads(json.dumps(plan.to_dict()))["runs"]) == 6


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("kind", ["dense box", "sparse norm"])
def test_sites_that_share_the_noise_are_asked_what_is_shown(kind, task):
    X, y = rows(kind, task, 400)
    made = model(task, kind, recipe="dual_averaging")
    plan = made.plan(*X.shape, sparse=sp.issparse(X))
    halves = [SiteData("a", X[:150], y[:150]), SiteData("b", X[150:], y[150:])]
    assert differences(plan.asks, plan.models, fit_shared(made, halves, honest=2).statement_.asks) == []


# ------------------------------------------------------------------------------------------------ what is expected


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n", "d"), [(60, 30), (900, 30), (900, 70), (5000, 70), (900, 1200)])
def test_the_expected_error_is_that_of_the_recipe_that_is_shown(n, d, kind, task):
    plan = model(task, kind).plan(n, d, sparse=kind.startswith("sparse"))
    case = plan.outlook.case()
    assert case.algorithm == plan.recipe
    assert case.documents is (kind == "sparse norm")
    assert case.raced is any("few coefficients" in ask.branch for ask in plan.asks)
    assert plan.outlook.case(n_rows=n, epsilon=3.0) == case


# ------------------------------------------------------------------------------------------------ negative controls


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("name", ["auto", "dual_averaging"])
def test_a_plan_for_rows_of_the_other_kind_is_told_apart(name, task):
    X, y = rows("sparse norm", task, 400, 80)
    made = model(task, "sparse norm", recipe=name)
    wrong, right, said = made.plan(400, 80), made.plan(400, 80, sparse=True), made.fit(X, y).statement_
    assert differences(wrong.asks, wrong.models, said.asks)
    assert differences(right.asks, right.models, said.asks) == []


CHANGES = {
    "a query less": lambda asks: asks[1:],
    "a turn more": lambda asks: (replace(asks[0], times=asks[0].times + 1), *asks[1:]),
    "another draw": lambda asks: (replace(asks[0], draws=2), *asks[1:]),
    "another noise": lambda asks: (replace(asks[0], noise="laplace"), *asks[1:]),
    "less noise": lambda asks: (replace(asks[0], cost=asks[0].cost * 1.000001), *asks[1:]),
    "a sample": lambda asks: (replace(asks[0], rate=0.5), *asks[1:]),
    "another name": lambda asks: (replace(asks[0], name="size"), *asks[1:]),
    "no branches": lambda asks: tuple(ask for ask in asks if not ask.branch),
    "branches one deep": lambda asks: tuple(ask for ask in asks if len(ask.branch) < 2),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_plan_that_shows_something_else_is_told_apart(change):
    X, y = rows("dense box", "regression", 900, 70)
    made = model("regression")
    plan, said = made.plan(*X.shape), made.fit(X, y).statement_
    assert plan.recipe == "tables"
    assert {len(ask.branch) for ask in plan.asks} == {0, 1, 2, 3}
    assert differences(plan.asks, 1, said.asks) == []
    assert differences(CHANGES[change](plan.asks), 1, said.asks)


def test_notes_that_were_not_shown_are_told_apart():
    X, y = rows("dense box", "regression", 900, 70)
    made = model("regression", epsilon=0.01)
    plan, said = made.plan(*X.shape), made.fit(X, y).statement_
    assert any("hopeless" in note for note in plan.notes)
    for notes in (plan.notes[:1], plan.notes[1:], ()):
        with pytest.raises(AssertionError):
            check_notes(notes, said.notes)
