"""Hopeless fits are warned of before anything is spent, and say so in their statements."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from dpsparse import PrivateSearch, PublicScaler, SparseClassifier, SparseRegressor, audit, make_private_pipeline
from dpsparse.core import HopelessFitWarning
from dpsparse.ledger import Ledger

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (20, 30))
Y = np.clip(X[:, 0], -1, 1)


def model(**options) -> SparseRegressor:
    return SparseRegressor(feature_bound=1.0, target_bound=1.0, **options)


def test_a_hopeless_fit_warns_once_and_notes_it():
    with pytest.warns(HopelessFitWarning, match="Noise hides the signal: (with )?20 rows") as seen:
        said = model().fit(X, Y).statement_
    assert len(seen) == 1
    assert seen[0].filename == __file__
    assert any(n.startswith("the planner called this fit hopeless: Noise hides") for n in said.notes)
    assert "hopeless" in said.details()


def test_a_classifier_and_a_pipeline_warn_too():
    with pytest.warns(HopelessFitWarning):
        SparseClassifier(feature_bound=1.0).fit(X, Y > 0)
    with pytest.warns(HopelessFitWarning):
        make_private_pipeline(PublicScaler(feature_bound=1.0), model()).fit(X, Y)


def test_the_warning_comes_before_the_payment(tmp_path):
    book = Ledger(f"sqlite:///{tmp_path / 'book.db'}")
    book.create("d", epsilon=1.0, delta=1e-5)
    with warnings.catch_warnings():
        warnings.simplefilter("error", HopelessFitWarning)
        with pytest.raises(HopelessFitWarning):
            model(ledger=book, dataset="d").fit(X, Y)
    assert book.entries("d") == ()


def test_useful_fits_other_recipes_audits_and_runs_of_a_search_do_not_warn():
    many = RNG.uniform(-1, 1, (20_000, 5))
    with warnings.catch_warnings():
        warnings.simplefilter("error", HopelessFitWarning)
        said = model(sparsity=1).fit(many, np.clip(many[:, 0], -1, 1)).statement_
        assert not any("hopeless" in note for note in said.notes)
        model(recipe="dp_cd").fit(X, Y)  # no formula is calibrated
        model(recipe="ight").fit(X, Y)  # no privacy
        audit.sensitivity_trace(model(recipe="dual_averaging"), X, Y)
        PrivateSearch(model(), {"sparsity": [1]}, mean_runs=1.5, score_bound=1.0).fit(X, Y)
