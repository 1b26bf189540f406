"""Habits that leak are named at the time, once, in words that say what they cost and what to use."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

from dpsparse import Ledger, PrivateSearch, RowNormalizer, SparseClassifier, make_private_pipeline
from dpsparse.privacy import RepeatedFitWarning

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (600, 4))
Y = (X[:, 0] + 0.2 * RNG.standard_normal(600) > 0).astype(int)


def model(**arguments):
    return SparseClassifier(**{"epsilon": 2.0, "feature_bound": 1.0, "random_state": 0, **arguments})


def said(action):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        action()
    return [str(w.message) for w in found if issubclass(w.category, RepeatedFitWarning)]


HABITS = {
    "cross_val_score": lambda: cross_val_score(model(), X, Y, cv=3),
    "grid search": lambda: GridSearchCV(model(), {"sparsity": [1, 2]}, cv=2).fit(X, Y),
    "calibration": lambda: CalibratedClassifierCV(model(), cv=3).fit(X, Y),
    "pipeline": lambda: cross_val_score(make_pipeline(RowNormalizer(), model()), X, Y, cv=3),
    "private pipeline": lambda: cross_val_score(
        make_private_pipeline(RowNormalizer(), model(feature_bound=None)), X, Y, cv=3
    ),
}


@pytest.mark.parametrize("name", HABITS)
def test_each_of_them_is_said_once(name):
    [text] = said(HABITS[name])
    for word in ("GridSearchCV", "PrivateSearch", "private_score", "ledger="):
        assert word in text
    if name != "private pipeline":
        assert "its own epsilon = 2: 2 of them cost about 4" in text


def test_what_is_counted_or_single_or_no_release_is_not_said(tmp_path):
    assert said(lambda: model().fit(X, Y)) == []
    assert said(lambda: clone(model()).fit(X, Y)) == []
    assert said(lambda: cross_val_score(model(recipe="lasso"), X, Y, cv=3)) == []
    ledger = Ledger(f"sqlite:///{tmp_path / 'b.db'}")
    ledger.create("trial", epsilon=50.0, delta=1e-4)
    assert said(lambda: cross_val_score(model(ledger=ledger, dataset="trial"), X, Y, cv=3)) == []
    base = model(random_state=None)
    assert said(lambda: PrivateSearch(base, {"sparsity": [1, 2]}, epsilon=4.0, random_state=1).fit(X, Y)) == []

    def other_shapes():
        clone(base).fit(X, Y)
        clone(base).fit(X[:300], Y[:300])

    assert said(other_shapes) == []


def test_under_add_remove_it_follows_the_declared_number_and_not_the_rows():
    base = model(adjacency="add-remove", n_rows=500)

    def fits():
        clone(base).fit(X, Y)
        clone(base).fit(X[:300], Y[:300])

    assert len(said(fits)) == 1


def test_families_survive_pickles():
    base = model()
    first = clone(base)
    again = pickle.loads(pickle.dumps(first.fit(X, Y)))
    assert len(said(lambda: clone(again).fit(X, Y))) == 1
