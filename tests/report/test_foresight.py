"""Hopeless fits are warned of before anything is spent, and say so in their statements."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from dpsparse import PrivateSearch, PublicScaler, SparseClassifier, SparseRegressor, audit, make_private_pipeline
from dpsparse.core import HopelessFitWarning
from dpsparse.ledger import Ledger
from dpsparse.tables import Column, Dictionary, TableEncoder

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


@pytest.mark.parametrize("rate", [None, 0.02])
def test_encoded_rows_bring_the_base_rate_of_their_dictionary_to_the_warning(rate):
    pd = pytest.importorskip("pandas")
    columns = [Column(name=name, kind="number", bounds=(-1, 1)) for name in "abc"]
    target = Column(name="ill", role="target", kind="boolean", base_rate=rate)
    encoder = TableEncoder(Dictionary((*columns, target)))
    rows = RNG.uniform(-1, 1, (120, 3))
    table = pd.DataFrame(rows, columns=list("abc"))
    y = rows[:, 0] > 0
    own = SparseClassifier(classes=[False, True])
    piped = make_private_pipeline(encoder, SparseClassifier(classes=[False, True]))
    for made, X in ((own, encoder.fit_transform(table)), (piped, table)):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always", HopelessFitWarning)
            made.fit(X, y)
        assert [one.category for one in seen] == [HopelessFitWarning] * (rate is not None)
    # many classes have no single rarer one: the declared share is left out
    many = SparseClassifier(classes=[0, 1, 2], feature_bound=encoder.output_bounds()).plan(2000, 3)
    assert many.error.constant == pytest.approx(2 / 3)
