"""Bad calls of the local model: refused in words, before rows are read."""

import numpy as np
import pytest

from dpsparse import SparseClassifier, SparseRegressor
from dpsparse.losses import Huber
from dpsparse.recipes import LDPIHT, LabelLDPIHT
from dpsparse.rows.hosts import MemoryHost

rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, (60, 5))
y = X[:, 0]
GOOD = {"epsilon": 1.0, "feature_bound": 1.0, "target_bound": 1.0}


@pytest.fixture(autouse=True)
def rows_must_not_be_read(monkeypatch):
    def touched(*_, **__):
        raise AssertionError("rows were read before the refusal")

    monkeypatch.setattr(MemoryHost, "__init__", touched)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"recipe": "ldp_iht", "adjacency": "add-remove", "n_rows": 60},
            "the collector of reports sees who reports.*Use adjacency='replace-one'",
        ),
        ({"recipe": "label_ldp_iht", "adjacency": "add-remove", "n_rows": 60}, "Use adjacency='replace-one'"),
        ({"recipe": "ldp_iht", "epsilon": 1e-12, "sparsity": 2}, "finite epsilon of at least 1e-09"),
        ({"recipe": "label_ldp_iht", "epsilon": 1e-12, "sparsity": 2}, "finite epsilon of at least 1e-09"),
        ({"recipe": "ldp_moment"}, r"accepted by name: accept=\('known-design',\)"),
        (
            {"recipe": "label_ldp_iht", "loss": Huber()},
            "slope is linear in the target up to target_bound = 1, and that of 'huber' is not. Use squared",
        ),
        ({"recipe": LDPIHT(mechanism="gaussian"), "delta": 0.0}, "Choose delta > 0"),
        ({"recipe": LabelLDPIHT(mechanism="gaussian"), "delta": 0.0}, "Choose delta > 0"),
        ({"recipe": LDPIHT(mechanism="gaussian"), "noise": "exact"}, "not made on devices; use noise='lattice'"),
        ({"recipe": "ldp_iht", "penalty": "l1", "alpha": 0.1}, "cannot take penalty 'l1'"),
        ({"recipe": "label_ldp_lasso", "alpha": 0.1}, "cannot take penalty 'l2'; it takes l1, elasticnet"),
        ({"recipe": "ldp_iht", "epsilon": 1e-12}, "a local randomiser needs a finite epsilon of at least"),
    ],
)
def test_a_bad_argument_is_refused_before_rows_are_read(options, message):
    with pytest.raises(ValueError, match=message):
        SparseRegressor(**{**GOOD, **options}).fit(X, y)


def test_classes_are_refused_alike():
    with pytest.raises(ValueError, match="Use adjacency='replace-one'"):
        SparseClassifier(recipe="ldp_iht", feature_bound=1.0, adjacency="add-remove", n_rows=60).fit(X, y > 0)


def test_more_steps_than_people_are_refused():
    with pytest.raises(ValueError, match=r"61 steps need at least as many people"):
        SparseRegressor(**GOOD, recipe=LDPIHT(steps=61)).fit(X, y)


def test_more_features_than_a_report_holds_are_refused_when_the_fit_is_planned():
    model = SparseRegressor(recipe="ldp_iht", sparsity=2, row_norm=1.0, **GOOD)
    with pytest.raises(ValueError, match="PrivUnit takes vectors of 2 to 2097151 entries"):
        model.plan(n_rows=10, n_features=2**21)
