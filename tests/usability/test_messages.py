"""Bad calls and what they say: a clear message, before any budget is spent."""

import re

import numpy as np
import pytest
import scipy.sparse as sp

import dpsparse
from dpsparse import Budget, SparseClassifier, SparseRegressor, recipes
from dpsparse.queries import losses
from dpsparse.rows.hosts import MemoryHost

rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, (60, 5))
y = X[:, 0]
labels = (y > 0).astype(int)
GOOD = {"epsilon": 1.0, "feature_bound": 1.0, "target_bound": 1.0}


@pytest.fixture(autouse=True)
def rows_must_not_be_read(monkeypatch):
    """Every refusal below comes before rows are handed over."""

    def touched(*_, **__):
        raise AssertionError("rows were read before the refusal")

    monkeypatch.setattr(MemoryHost, "__init__", touched)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"feature_bound": None}, "no bound on the features"),
        ({"target_bound": None}, "no bound on the target"),
        ({"target_bound": -1.0}, "target_bound must be one positive finite number"),
        ({"target_bound": float("nan")}, "target_bound must be one positive finite number"),
        ({"row_norm": 0.0}, "row_norm must be one positive finite number"),
        ({"row_norm": "wide"}, "row_norm must be one positive finite number"),
        ({"feature_bound": (1.0, -1.0)}, "lo < hi"),
        ({"feature_bound": [1.0, 2.0]}, "one entry per feature"),
        ({"feature_bound": float("inf")}, "must be finite"),
        ({"feature_bound": (0.0, 1.0, 2.0)}, r"\(lo, hi\)"),
        ({"feature_center": [0.0]}, "feature_center must be a number or have one entry per feature"),
        ({"epsilon": 0.0}, "epsilon must be a positive finite number"),
        ({"epsilon": -1.0}, "epsilon must be a positive finite number"),
        ({"epsilon": float("nan")}, "epsilon must be a positive finite number"),
        ({"epsilon": float("inf")}, "recipe='ight'"),
        ({"epsilon": "one"}, "epsilon must be a positive number"),
        ({"delta": 1.0}, "delta must lie in"),
        ({"delta": -1e-9}, "delta must lie in"),
        ({"delta": float("nan")}, "delta must lie in"),
        ({"delta": 0.0, "recipe": recipes.DPIGHT(mechanism="dense")}, "delta = 0 needs a plan of pure mechanisms"),
        ({"budget": 0.1}, "Budget.zcdp"),
        ({"budget": Budget.zcdp(0.1, "add-remove")}, "adjacency"),
        ({"recipe": "magic"}, "unknown recipe 'magic'. Choose one of"),
        ({"recipe": 3}, "recipe must be a name"),
        ({"adjacency": "neighbour"}, "adjacency must be one of"),
        ({"adjacency": "add-remove"}, "n_rows must be declared"),
        ({"n_rows": 61}, "another number of rows"),
        ({"sparsity": 0}, "sparsity must be a positive integer"),
        ({"sparsity": 2.5}, "sparsity must be a positive integer"),
        ({"penalty": "l3"}, "penalty must be one of"),
        ({"alpha": -1.0}, "alpha must be a non-negative number"),
        ({"penalty": "box"}, "penalty='box' needs box=b"),
        ({"penalty": "l1", "alpha": 0.1, "recipe": "dp_ight"}, "cannot take penalty 'l1'"),
        ({"start": [1.0]}, "start must hold 5 finite numbers"),
        ({"noise": "loud"}, "noise must be 'lattice' or 'exact'"),
        ({"noise": "exact", "random_state": 0}, "cannot be seeded"),
        ({"random_state": -3}, "random_state must be None"),
        ({"target_center": "mean"}, "target_center must be a finite number"),
    ],
)
def test_a_bad_argument_is_refused_before_rows_are_read(options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        SparseRegressor(**{**GOOD, **options}).fit(X, y)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: recipes.DPIGHT(steps=0), "steps must be a positive integer"),
        (lambda: recipes.DPIGHT(step_size=-1.0), "step_size must be a positive number"),
        (lambda: recipes.DPIGHT(clip=float("nan")), "clip must be a positive number"),
        (lambda: recipes.DPIGHT(mechanism="loud"), "mechanism must be"),
        (lambda: recipes.get("nothing"), "unknown recipe"),
        (lambda: losses.Huber(threshold=0.0), "threshold must be positive"),
        (lambda: Budget.zcdp(-1.0), "rho must be a positive finite number"),
        (lambda: Budget.gdp(float("nan")), "mu must be a positive finite number"),
    ],
)
def test_bad_pieces_are_refused_when_they_are_made(build, message):
    with pytest.raises(ValueError, match=message):
        build()


def test_losses_must_fit_the_task():
    with pytest.raises(TypeError, match="regression loss"):
        SparseRegressor(loss=losses.Logistic(), **GOOD).fit(X, y)
    with pytest.raises(TypeError, match="classification loss"):
        SparseClassifier(loss=losses.Squared(), feature_bound=1.0).fit(X, labels)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_non_finite_values_are_refused_without_naming_a_row(bad):
    broken = X.copy()
    broken[17, 2] = bad
    for A in (broken, sp.csr_matrix(broken)):
        with pytest.raises(ValueError, match=r"NaN|infinity") as caught:
            SparseRegressor(**GOOD).fit(A, y)
        assert "17" not in str(caught.value)
    target = y.copy()
    target[17] = bad
    with pytest.raises(ValueError, match=r"NaN|infinity") as caught:
        SparseRegressor(**GOOD).fit(X, target)
    assert "17" not in str(caught.value)


def test_wrong_shapes_and_types_are_refused():
    model = SparseRegressor(**GOOD)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(X, y[:-1])
    with pytest.raises(ValueError, match="2D array"):
        model.fit(X[0], y)
    with pytest.raises(ValueError, match="0 sample"):
        model.fit(X[:0], y[:0])
    with pytest.raises(ValueError, match="no number"):
        model.fit(np.full((60, 5), "wide"), y)
    with pytest.raises(ValueError, match="Complex"):
        model.fit(X.astype(complex), y)


def test_one_class_is_refused_with_a_way_out():
    with pytest.raises(ValueError, match=r"declare classes=\[...\]"):
        SparseClassifier(feature_bound=1.0).fit(X, np.ones(60))
    with pytest.raises(ValueError, match="at least two different labels"):
        SparseClassifier(feature_bound=1.0, classes=[1]).fit(X, labels)


def test_sparse_rows_need_bounds_that_hold_zero(monkeypatch):
    monkeypatch.undo()
    with pytest.raises(ValueError, match="must contain zero"):
        SparseRegressor(epsilon=1.0, feature_bound=(1.0, 2.0), target_bound=1.0).fit(sp.csr_matrix(X), y)


@pytest.mark.parametrize(
    ("bad", "error", "message"),
    [
        (
            {"ledger": "sqlite:///missing.db", "dataset": "d"},
            ValueError,
            "there is no ledger at missing.db. Make one with",
        ),
        ({"ledger": "sqlite:///missing.db"}, ValueError, "ledger and dataset belong together: give both, or neither."),
        ({"dataset": "d"}, ValueError, "ledger and dataset belong together: give both, or neither."),
        (
            {"ledger": "missing.db", "dataset": "d"},
            ValueError,
            "is not the address of a ledger. Write sqlite:///budget.db",
        ),
        ({"ledger": 7, "dataset": "d"}, TypeError, "ledger must be a dpsparse Ledger or its address, got int."),
    ],
)
def test_a_ledger_that_cannot_be_charged_is_refused(bad, error, message):
    with pytest.raises(error, match=re.escape(message)):
        SparseRegressor(**bad, **GOOD).fit(X, y)


def test_predict_refuses_missing_values_and_wrong_widths(monkeypatch):
    monkeypatch.undo()
    model = SparseRegressor(**GOOD).fit(X, y)
    with pytest.raises(ValueError, match="NaN"):
        model.predict(np.full((2, 5), np.nan))
    with pytest.raises(ValueError, match="5 features"):
        model.predict(X[:, :4])
    with pytest.raises(Exception, match="not fitted"):
        SparseRegressor(**GOOD).predict(X)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\x80\x04garbage", "not valid JSON"),
        (b"{}", "not a dpsparse model"),
        (b'{"format": "dpsparse-model", "version": 99}', "reads versions 1 and 2"),
        (b'{"format": "dpsparse-model", "version": 1, "class": "SparseRegressor"}', "damaged"),
    ],
)
def test_damaged_model_files_are_refused(tmp_path, content, message):
    path = tmp_path / "model.json"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message):
        dpsparse.load(path)
    with pytest.raises(FileNotFoundError):
        dpsparse.load(tmp_path / "absent.json")


def test_a_plan_needs_a_shape_of_whole_numbers():
    with pytest.raises(ValueError, match="n_rows must be a positive integer"):
        SparseRegressor(**GOOD).plan(n_rows=0, n_features=5)
    with pytest.raises(ValueError, match="n_features must be a positive integer"):
        SparseRegressor(**GOOD).plan(n_rows=10, n_features=2.5)
