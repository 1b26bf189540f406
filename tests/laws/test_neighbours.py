"""Neighbouring pairs drawn afresh, across recipes, storages, bounds and positions: no question of a fit moves beyond what its noise was made for."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from builders import checked
from dpsparse import SparseClassifier, SparseRegressor, recipes
from dpsparse.audit.responses import SyntheticWorld, respond
from dpsparse.audit.runs import receipts, record_fits
from dpsparse.fitting import Shape, plan_fit, read_targets, rescaled_rows
from dpsparse.queries import gradient, losses
from dpsparse.queries.kinds import PerturbedMinimum, SupportVotes
from dpsparse.rows.hosts import MemoryHost

#: Recipes with a trusted curator, with settings under which they ask few and different questions.
RECIPES: dict[str, tuple[Any, ...]] = {
    "auto": ("auto",),
    "dp_ight": (recipes.DPIGHT(steps=3), recipes.DPIGHT(mechanism="dense", steps=3)),
    "dp_gcd": tuple(recipes.DPGCD(rule=rule) for rule in ("gs", "gs-s", "gs-r", "gs-q")),
    "dp_cd": (recipes.DPCD(), recipes.DPCD(curvature="private")),
    "dual_averaging": ("dual_averaging",),
    "lazy_iht": ("lazy_iht",),
    "select_polish": ("select_polish",),
    "two_stage": ("two_stage", recipes.TwoStage(stage1="votes", parts=3)),
    "dpsl_kt": ("dpsl_kt",),
    "dp_sgd": ("dp_sgd",),
    "dp_sgd_ht": ("dp_sgd_ht",),
    "dp_scsg_ht": ("dp_scsg_ht",),
    "dp_svrg_ht": ("dp_svrg_ht",),
    "dp_frank_wolfe": ("dp_frank_wolfe",),
}
#: Questions of one fit that are compared.
QUESTIONS = 12


def csr(X: np.ndarray, *, tidy: bool) -> sp.csr_matrix:
    """Sparse rows; untidy ones have entries in two halves, in any order, and explicit zeros."""
    rows = sp.csr_matrix(X.astype(float))
    if tidy:
        return rows
    i, j = rows.nonzero()
    v = rows.data[rows.data != 0]
    with np.errstate(invalid="ignore"):
        i, j, v = np.r_[i, i, i], np.r_[j, j, j], np.r_[v / 2, v - v / 2, 0 * v]
    order = np.lexsort((-j, i))
    return sp.csr_matrix((v[order], j[order], np.searchsorted(i[order], np.arange(X.shape[0] + 1))), shape=X.shape)


STORAGES = {
    "C": lambda X: np.ascontiguousarray(X, dtype=float),
    "F": lambda X: np.asfortranarray(X, dtype=float),
    "strided": lambda X: np.repeat(X.astype(float), 2, axis=1)[:, ::2],
    "float32": lambda X: X.astype(np.float32),
    "float16": lambda X: X.astype(np.float16),
    "int8": lambda X: np.clip(np.nan_to_num(X), -128, 127).astype(np.int8),
    "uint8": lambda X: np.clip(np.nan_to_num(X), 0, 255).astype(np.uint8),
    "int64": lambda X: np.clip(np.nan_to_num(X), -(2.0**62), 2.0**62).astype(np.int64),
    "bool": lambda X: np.nan_to_num(X) > 0.3,
    "object": lambda X: X.astype(object),
    "frame": lambda X: pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])]),
    "csr": lambda X: csr(X, tidy=True),
    "untidy csr": lambda X: csr(X, tidy=False),
}


def bounds(rng: np.random.Generator, d: int, sparse: bool) -> dict[str, Any]:
    """Declared bounds and centres of several kinds."""
    kind = int(rng.integers(6))
    given: dict[str, Any] = [
        {"feature_bound": 1.0},
        {"row_norm": 0.7},
        {"feature_bound": (0.0, 2.0)},
        {"feature_bound": 10.0 ** rng.uniform(-3, 3, d)},
        {"feature_bound": 3.0, "row_norm": 2.0},
        {"feature_bound": (-rng.uniform(0, 2, d), rng.uniform(0.1, 3, d))},
    ][kind]
    if rng.random() < 0.4:
        given["feature_center"] = rng.uniform(-0.3, 0.3, d) if kind != 3 else 0.0
    if not sparse and rng.random() < 0.15:
        given = {"feature_bound": (np.full(d, 4.0), np.full(d, 5.0))}  # zero is not within
    return given


def record(rng: np.random.Generator, d: int) -> tuple[np.ndarray, float]:
    """A record that somebody might send to break a bound."""
    sign = rng.choice([-1.0, 1.0], d)
    x = [
        sign,
        3e4 * sign,
        1e308 * sign,
        5e-324 * sign,
        np.where(np.arange(d) == rng.integers(d), 1e9, 0.0),
        np.where(np.arange(d) == rng.integers(d), np.nan, sign),
        np.full(d, np.inf),
        rng.normal(size=d),
        np.zeros(d),
        -0.0 * sign,
    ][int(rng.integers(10))]
    return x, float(rng.choice([0.0, 1.0, -1.0, 1e-300, 2.0, -1e12, 1e308, np.nan, np.inf, 0.5]))


def model(rng: np.random.Generator, n: int, d: int, storage: str) -> SparseRegressor | SparseClassifier:
    """Any central recipe with any loss, adjacency and bounds."""
    name = str(rng.choice(list(RECIPES)))
    recipe = RECIPES[name][int(rng.integers(len(RECIPES[name])))]
    shared: dict[str, Any] = {
        "epsilon": 1.0,
        "delta": 1e-5,
        "recipe": recipe,
        "sparsity": int(rng.integers(1, d + 1)),
        "fit_intercept": bool(rng.random() < 0.7),
        "on_missing": "empty",
        "random_state": int(rng.integers(2**31)),
        **bounds(rng, d, "csr" in storage),
    }
    own = np.random.default_rng(shared["random_state"])
    if own.random() < 0.4:
        shared["groups"] = np.array_split(own.permutation(d).tolist(), int(own.integers(1, d)))
    if rng.random() < 0.5:
        shared |= {"adjacency": "add-remove", "n_rows": int(n + rng.integers(-3, 4))}
    if rng.random() < 0.4:
        return SparseClassifier(classes=[0, 1], **shared)
    loss = [None, losses.Huber(threshold=0.4), losses.Poisson(margin_bound=2.0)][int(rng.integers(3))]
    return SparseRegressor(target_bound=float(10.0 ** rng.uniform(-2, 3)), loss=loss, **shared)


def plannable(made: SparseRegressor | SparseClassifier, n: int, d: int, storage: str) -> bool:
    """Whether a recipe takes these arguments: not every recipe takes every loss."""
    try:
        plan_fit(made.request(), Shape(n_rows=n, n_features=d, sparse="csr" in storage))
    except ValueError:
        return False
    return True


def movements(seed: int, neighbours: int) -> Iterator[tuple[str, str, float]]:
    """One fit on fresh rows, then neighbours of them: recipe, question, movement over what its noise was made for."""
    rng = np.random.default_rng([2026, seed])
    n, d = int(rng.integers(4, 50)), int(rng.integers(2, 9))
    storage = str(rng.choice(list(STORAGES)))
    store = STORAGES[storage]
    rows = rng.normal(0, 1, (n, d)) * (rng.random((n, d)) < 0.7)
    if storage in ("int8", "uint8", "int64"):
        rows = np.rint(3 * rows)
    y = rng.normal(size=n)
    fitted = next(made for made in iter(lambda: model(rng, n, d, storage), None) if plannable(made, n, d, storage))
    if isinstance(fitted, SparseClassifier):
        y = (y > 0).astype(float)
    cells = 5 if seed % 3 == 0 else 0
    if cells:
        fitted.set_params(check_cells=0.1)

    def brought(X: np.ndarray) -> Any:
        with np.errstate(all="ignore"):
            return checked(store(X), cells) if cells else store(X)

    with record_fits() as seen, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted.fit(brought(rows), y)
    [recorded] = seen
    prepared, oracle = recorded.prepared, recorded.oracle
    removes = str(prepared.request.adjacency) == "add-remove"

    def held(X: np.ndarray, targets: np.ndarray) -> SyntheticWorld:
        [coded] = read_targets(prepared.request, targets).vectors(prepared.models)
        return SyntheticWorld(
            MemoryHost(rescaled_rows(prepared, brought(X)), coded, prepared.facts), prepared.loss, prepared.of_one_model
        )

    asked = list(zip(oracle.questions, receipts(oracle), strict=True))[:QUESTIONS]
    for _ in range(neighbours):
        place = int(rng.choice([0, n // 2, n - 1, rng.integers(n)]))
        A, b = rows.copy(), y.copy()
        A[place], b[place] = record(rng, d)
        rest = np.arange(n) != place
        here = held(rows[rest], y[rest]) if removes else held(rows, y)
        # parts of votes are dealt by coins of row numbers: without a row the others have the coins that they had,
        # as if they kept their numbers, and so it is compared as an absent record
        absent = held(rows, np.where(rest, y, np.nan)) if removes else here
        there = held(A, b)
        for question, receipt in asked:
            before = absent if isinstance(question, SupportVotes) else here
            one, two = (respond(question, h, receipt.noise) for h in (before, there))
            # the noise of a perturbed objective is made for its gradient, and not for its minimum
            stated = one.stated if isinstance(question, PerturbedMinimum) else receipt.sensitivity
            yield prepared.recipe.name, type(question).__name__, one.moved(two) * one.stated / stated


def largest(fits: range, neighbours: int) -> tuple[int, dict[str, float], dict[str, float]]:
    """How many pairs, and the largest movement by question and by recipe."""
    questions: dict[str, float] = {}
    by_recipe: dict[str, float] = {}
    for seed in fits:
        for recipe, question, moved in movements(seed, neighbours):
            questions[question] = max(questions.get(question, 0.0), moved)
            by_recipe[recipe] = max(by_recipe.get(recipe, 0.0), moved)
    return len(fits) * neighbours, questions, by_recipe


def test_fresh_neighbours_move_no_answer_beyond_what_its_noise_was_made_for():
    pairs, questions, _ = largest(range(10), 3)
    assert pairs == 30
    assert questions["Unread"] > 0.8, "a record that moves most of the bits was among them"
    assert max(questions.values()) <= 1 + 1e-9, questions


@pytest.mark.slow
@pytest.mark.parametrize("block", range(10))
def test_two_thousand_fresh_neighbours_move_no_answer_beyond_what_its_noise_was_made_for(block):
    pairs, questions, by_recipe = largest(range(1000 + 25 * block, 1025 + 25 * block), 8)
    print(f"{pairs} pairs; largest movement by question {questions}; by recipe {by_recipe}")
    assert pairs == 200
    assert len(by_recipe) >= 6
    assert len(questions) >= 5
    assert max(questions.values()) <= 1 + 1e-9, questions


def test_control_a_clip_of_twice_its_norm_moves_an_answer_beyond(monkeypatch):
    ordinary = gradient.factor_cap
    monkeypatch.setattr(gradient, "factor_cap", lambda block, lattice, clip: 2 * ordinary(block, lattice, clip))
    _, questions, _ = largest(range(5), 3)
    assert max(questions.values()) > 1.2


def test_control_an_intercept_that_grows_with_the_rows_moves_an_answer_beyond(monkeypatch):
    ordinary = MemoryHost.__init__

    def grown(self, X, y, facts, **more):
        ordinary(self, X, y + np.nan_to_num(np.mean(np.nan_to_num(y, posinf=0, neginf=0))), facts, **more)

    monkeypatch.setattr(MemoryHost, "__init__", grown)
    assert any(moved > 1 + 1e-9 for seed in range(12) for _, _, moved in movements(seed, 4))
