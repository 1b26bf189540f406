"""Habits that leak are named at the time, in words that say what they cost so far and what to use; statements say it too."""

import math
import pickle
import re
import warnings

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

from dpsparse import Ledger, PrivateSearch, RowNormalizer, SparseClassifier, make_private_pipeline
from dpsparse.cli import main
from dpsparse.core import RepeatedFitWarning
from dpsparse.core.curves import ORDERS, gaussian_epsilon, renyi_epsilon
from dpsparse.estimators.repeated_fits import FitCost, total_cost
from dpsparse.report import report_of_file

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
def test_each_of_them_is_said_with_its_running_total(name):
    texts = said(HABITS[name])
    counts = [int(re.search(r"(\d+) fits so far", text)[1]) for text in texts]
    assert counts == ([2, 4, 5] if name == "grid search" else [2])
    for word in ("GridSearchCV", "PrivateSearch", "private_score", "ledger="):
        assert word in texts[0]
    if name not in ("private pipeline", "grid search"):
        assert f"2 fits so far cost about epsilon = {two_fits():.4g} at delta" in texts[0]


def two_fits(epsilon=2.0, delta=1e-6):
    """Two fits of the automatic recipe together: the sum of their rho or of their mu^2, whichever says less; not 2 epsilon."""
    plan = model(epsilon=epsilon, delta=delta).plan(400, 4)
    found = renyi_epsilon(2 * plan.rho * ORDERS, 2 * delta), gaussian_epsilon(math.sqrt(2) * plan.mu, 2 * delta)
    assert epsilon < min(found) < 1.8 * epsilon
    return min(found)


# ------------------------------------------------------------------------------------------------ statements of clones


def searched(**arguments):
    """A grid search over six settings, epsilon among them, on five folds: 31 fits."""
    grid = {"epsilon": [1.0, 2.0], "sparsity": [1, 2, 3]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RepeatedFitWarning)
        return GridSearchCV(model(random_state=None, **arguments), grid, cv=5).fit(X, Y)


def test_the_best_of_a_grid_search_says_how_many_fits_were_made_and_claims_nothing(tmp_path):
    best = searched().best_estimator_
    statement = best.statement_
    assert not statement.private
    assert statement.priced
    assert statement.epsilon == pytest.approx(best.epsilon)
    [void] = [c for c in statement.caveats if "fits of this estimator" in c]
    assert void.startswith("31 fits of this estimator were made in this process on data of this shape")
    total = float(re.search(r"epsilon = ([0-9.]+)", void)[1])
    # 15 folds at epsilon 1, 15 at 2, and the last fit: above one fit, below plain addition
    costs = [FitCost(e, 1e-6, e * e / 40, math.inf) for e in [1.0] * 15 + [2.0] * 15 + [best.epsilon]]
    assert 3 * best.epsilon < total < sum(cost.epsilon for cost in costs) + 0.1
    assert total_cost(costs)[0] < sum(cost.epsilon for cost in costs)
    assert "WITHOUT privacy" in str(statement)
    best.save(tmp_path / "best.json")
    page = report_of_file(tmp_path / "best.json")
    assert page.verdict.light == "no"
    assert any("31 fits" in check.said for check in page.verdict.reasons)
    assert (
        CliRunner().invoke(main, ["report", str(tmp_path / "best.json"), "--out", str(tmp_path / "r.html")]).exit_code
        == 7
    )


def test_one_fit_and_fits_with_a_ledger_are_not_voided(tmp_path):
    """The control: a clone that is fitted once, and a whole search whose fits a ledger counts."""
    assert clone(model(random_state=None)).fit(X, Y).statement_.private
    book = Ledger(f"sqlite:///{tmp_path / 'b.db'}")
    book.create("trial", epsilon=60.0, delta=1e-4)
    counted = searched(ledger=book, dataset="trial").best_estimator_
    assert counted.statement_.private
    assert not any("fits of this estimator" in c for c in counted.statement_.caveats)
    assert len(book.entries("trial")) == 31
    base = model(random_state=None, feature_bound=None)
    pipe = make_private_pipeline(RowNormalizer(), base, ledger=book, dataset="trial")
    for _ in range(2):
        assert clone(pipe).fit(X, Y).statement_.private


def test_a_private_pipeline_without_a_ledger_is_voided_with_its_model():
    pipe = make_private_pipeline(RowNormalizer(), model(random_state=None, feature_bound=None))
    clone(pipe).fit(X, Y)
    with pytest.warns(RepeatedFitWarning):
        statement = clone(pipe).fit(X, Y).statement_
    assert not statement.private
    assert any(c.startswith("2 fits of this estimator") for c in statement.caveats)


def test_a_fit_on_all_rows_counts_the_folds_before_it_and_other_data_does_not_count():
    base = model(random_state=None)
    first = clone(base).fit(X[:400], Y[:400]).statement_
    whole = clone(base).fit(X, Y).statement_
    assert (first.private, whole.private) == (True, True), "two sizes, each once: nothing says that they share rows"
    with pytest.warns(RepeatedFitWarning, match="3 fits so far"):
        again = clone(base).fit(X[:401], Y[:401]).statement_
    assert not again.private
    with warnings.catch_warnings():
        warnings.simplefilter("error", RepeatedFitWarning)
        other = clone(base).fit(X[:, :3], Y).statement_
    assert other.private, "other features"


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
