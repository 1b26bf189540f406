"""Laws of whole fits, over every central recipe: parts and storage. Each has a control that it must notice."""

from __future__ import annotations

import warnings
from contextlib import closing, contextmanager, nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from dpsparse import SparseClassifier, SparseRegressor, recipes
from dpsparse.core import PrivacyError
from dpsparse.fitting import open_oracle, rescaled_rows, with_oracles
from dpsparse.queries.rules import partial_sum
from dpsparse.rows import support_rows
from dpsparse.rows.hosts import DiskHost, MemoryHost, disk, memory
from dpsparse.rows.hosts.memory_budget import MemoryBudget
from dpsparse.rows.records import Records
from dpsparse.rows.support_rows import restrict
from loopback import spread

#: In the local model people answer for themselves: there are no parts, and neighbours are those of replace-one.
LOCAL = {"label_ldp_iht", "label_ldp_lasso", "ldp_iht", "ldp_moment"}
#: Statistics look at the rows themselves.
GATHERING = {"dpsl_kt", "two_stage"}
CENTRAL = sorted(n for n, cls in recipes.REGISTRY.items() if cls.private and n not in LOCAL)
BOTH = [(n, a) for n in CENTRAL for a in ("replace-one", "add-remove")]
N, D = 60, 8
#: Of few rows tables gives a constant, which hides everything; with so much budget it does not.
EPSILON = {"tables": 200.0, "select_polish": 200.0, "dual_averaging": 200.0}


def whole_numbers() -> tuple[np.ndarray, np.ndarray]:
    """Rows of 0 and 1, half of them zero, which every storage holds; classes."""
    rng = np.random.default_rng(11)
    X = rng.integers(0, 2, (N, D)).astype(float)
    return X, ((X[:, 0] - X[:, 1] + 0.5 * rng.standard_normal(N)) > 0).astype(int)


def fitted(
    name: str, X: Any, y: Any, adjacency: str = "replace-one", task: str = "regression", bound: Any = (0.0, 1.0)
) -> tuple[bytes, str]:
    """Coefficients and statement of a fit, as they would be stored."""
    options: dict[str, Any] = {
        "epsilon": EPSILON.get(name, 3.0),
        "delta": 1e-5,
        "sparsity": 3,
        "feature_bound": bound,
        "recipe": name,
        "accept": recipes.get(name).needs,
        "adjacency": adjacency,
        "n_rows": N,
        "random_state": 5,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a fixed seed is what these laws are about
        if task == "classification":
            model = SparseClassifier(classes=(0, 1), **options).fit(X, y)
        else:
            model = SparseRegressor(target_bound=1.0, **options).fit(X, y)
    return np.r_[model.coef_.ravel(), np.ravel(model.intercept_)].tobytes(), model.statement_.to_json()


def in_parts(parts: int) -> Any:
    """Oracles whose rows are cut into parts."""

    def opener(prepared, X, y, opened):
        host = MemoryHost(rescaled_rows(prepared, X), y, prepared.facts, parts=parts)
        return nullcontext(opened.oracle(host, prepared.loss, prepared.of_one_model))

    return opener


# ------------------------------------------------------------------------------------------------ parts


@pytest.mark.parametrize(
    ("form", "task"), [(np.asarray, "regression"), (sp.csr_matrix, "classification")], ids=["dense", "sparse"]
)
@pytest.mark.parametrize(("name", "adjacency"), BOTH)
def test_the_parts_of_rows_do_not_show_in_a_fit(name, adjacency, form, task):
    X, y = whole_numbers()
    expected = fitted(name, form(X), y, adjacency, task)
    for parts in (2, 5):
        with with_oracles(in_parts(parts)):
            assert fitted(name, form(X), y, adjacency, task) == expected, parts


class Tight(MemoryBudget):
    """A room for a few entries and rows, whatever the limit."""

    piece_entries = 3 * D
    entries = 7 * D
    shard_rows = 20


@contextmanager
def on_a_disk(prepared, X, y, opened):
    """Oracles whose rows are on a disk."""
    with closing(DiskHost(rescaled_rows(prepared, X), y, prepared.facts, 2**26)) as host:
        yield opened.oracle(host, prepared.loss, prepared.of_one_model)


@pytest.mark.parametrize(
    ("form", "task"), [(np.asarray, "regression"), (sp.csr_matrix, "classification")], ids=["dense", "sparse"]
)
@pytest.mark.parametrize("name", CENTRAL)
def test_rows_on_a_disk_give_the_model_and_statement_of_rows_in_memory(monkeypatch, name, form, task):
    X, y = whole_numbers()
    expected = fitted(name, form(X), y, task=task)
    monkeypatch.setattr(disk, "MemoryBudget", Tight)
    with with_oracles(on_a_disk):
        if name in GATHERING:
            with pytest.raises(PrivacyError, match="needs all rows in one place"):
                fitted(name, form(X), y, task=task)
        else:
            assert fitted(name, form(X), y, task=task) == expected


@pytest.mark.parametrize(
    ("form", "task"), [(np.asarray, "regression"), (sp.csr_matrix, "classification")], ids=["dense", "sparse"]
)
@pytest.mark.parametrize("name", sorted(set(CENTRAL) - GATHERING))
def test_rows_on_a_cluster_give_the_model_and_statement_of_rows_in_memory(name, form, task):
    """Parts that are built again before every question, and sums that come back twice, out of order and in groups."""
    X, y = whole_numbers()
    expected = fitted(name, form(X), y, task=task)
    assert fitted(name, spread(form(X), parts=3, rebuild=True), y, task=task) == expected


@pytest.mark.parametrize("name", CENTRAL)
def test_control_rows_that_do_not_fill_a_part_and_are_lost_are_noticed(name):
    X, y = whole_numbers()
    full = N - N % 7

    def losing(prepared, X, y, *rest):
        return in_parts(7)(prepared, X.take(np.arange(full)), y[:full], *rest)

    with with_oracles(losing):
        found = fitted(name, X, y)
    assert found[0] != fitted(name, X, y)[0]


def forget_less_than(units: int) -> Any:
    """A part of a sum, rounded before it is sent: a saving that whoever adds up parts might make."""

    def rounded(charge, shard, loss):
        return partial_sum(charge, shard, loss) // units * units

    return rounded


def centred(block, lattice, support, norm):
    """Rows on a support, less the mean of their own block: as a part might centre what it holds."""
    rows = restrict(block, lattice, support, norm)
    return replace(rows, x=rows.x - np.asarray(rows.x).mean(axis=0))


@pytest.mark.parametrize("name", CENTRAL)
def test_control_sums_and_rows_that_depend_on_their_part_are_noticed(name, monkeypatch):
    """Sums by `partial_sum`, minimisers by `restrict`: each recipe asks by one of them at least."""
    monkeypatch.setattr(memory, "partial_sum", forget_less_than(2**33))
    monkeypatch.setattr(support_rows, "restrict", centred)
    X, y = whole_numbers()
    found = []
    for parts in (1, 5):
        with with_oracles(in_parts(parts)):
            found.append(fitted(name, X, y)[0])
    assert found[0] != found[1]


@pytest.mark.parametrize("name", ["dpsl_kt", "select_polish", "two_stage"])
def test_control_each_way_by_which_rows_are_read_is_noticed_alone(name, monkeypatch):
    if name == "select_polish":
        monkeypatch.setattr(memory, "partial_sum", forget_less_than(2**33))
    else:
        monkeypatch.setattr(support_rows, "restrict", centred)
    X, y = whole_numbers()
    for task in ("regression", "classification"):
        found = []
        for parts in (1, 5):
            with with_oracles(in_parts(parts)):
                found.append(fitted(name, X, y, task=task)[0])
        assert found[0] != found[1], task


# ------------------------------------------------------------------------------------------------ storage


def stored(X: np.ndarray) -> dict[str, Any]:
    """The same rows in every dense storage."""
    names = [f"c{j}" for j in range(D)]
    kinds = {k: X.astype(k) for k in ("int8", "uint8", "int64", "float32", "float64", "bool")}
    return {
        **kinds,
        "fortran": np.asfortranarray(X),
        "pandas": pd.DataFrame(X.astype("int8"), columns=names),
        "mixed pandas": pd.DataFrame(X, columns=names).astype({"c0": "int8", "c1": "bool", "c2": "Int64"}),
        "polars": pl.DataFrame(X.astype("int16"), schema=names),
    }


def compressed(X: np.ndarray) -> dict[str, Any]:
    """The same rows in every sparse storage."""
    return {
        "csr": sp.csr_matrix(X),
        "csc": sp.csc_matrix(X),
        "coo": sp.coo_matrix(X),
        "csr of int8": sp.csr_matrix(X.astype("int8")),
        "csc of float32": sp.csc_array(X.astype("float32")),
        "coo of int64": sp.coo_array(X.astype("int64")),
    }


TASKS = pytest.mark.parametrize(
    ("task", "adjacency"),
    [("regression", "replace-one"), ("classification", "add-remove")],
    ids=["numbers", "classes, add-remove"],
)
#: Where storages differ most; the others are compared for numbers.
FEW = {"int8", "float64", "mixed pandas", "csr", "coo of int64"}


@TASKS
@pytest.mark.parametrize("name", CENTRAL)
def test_the_storage_of_rows_does_not_show_in_a_fit(name, task, adjacency):
    X, y = whole_numbers()
    for forms in (stored(X), compressed(X)):
        some = {k: given for k, given in forms.items() if task == "regression" or k in FEW}
        found = {kind: fitted(name, given, y, adjacency, task) for kind, given in some.items()}
        first = next(iter(found.values()))
        assert all(result == first for result in found.values()), [k for k, r in found.items() if r != first]


@TASKS
@pytest.mark.parametrize("name", CENTRAL)
def test_dense_and_sparse_rows_are_fitted_alike(name, adjacency, task):
    """Within bounds around zero, where neither is shifted."""
    X, y = whole_numbers()
    dense, sparse = (fitted(name, form(X), y, adjacency, task, bound=1.0) for form in (np.asarray, sp.csr_matrix))
    assert dense == sparse


@pytest.mark.parametrize("name", CENTRAL)
def test_control_rows_that_follow_their_storage_are_noticed(name, monkeypatch):
    ordinary = Records.rows
    monkeypatch.setattr(Records, "rows", lambda self, a, b: ordinary(self, a, b) * (1 - 2 * self.sparse))
    X, y = whole_numbers()
    dense, sparse = (fitted(name, form(X), y, bound=1.0) for form in (np.asarray, sp.csr_matrix))
    assert dense[0] != sparse[0]


def test_the_opener_of_these_laws_is_the_ordinary_one_with_parts():
    """With one part it gives what `open_oracle` gives."""
    X, y = whole_numbers()
    seen = []

    @contextmanager
    def both(prepared, X, y, opened):
        other = replace(opened)  # a session answers its plan once
        with open_oracle(prepared, X, y, opened) as ours, in_parts(1)(prepared, X, y, other) as here:
            seen.append((ours, here))
            yield ours

    with with_oracles(both):
        fitted("dp_ight", X, y)
    [(ours, here)] = seen
    assert type(ours) is type(here)
    assert ours.facts is here.facts
    assert ours.plan is here.plan
