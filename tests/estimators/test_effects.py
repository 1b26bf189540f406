"""Results in the units of a table: contrasts with a reference, odds ratios and their intervals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dpsparse import SparseClassifier, SparseRegressor
from dpsparse.estimators.intervals import NONE, meaning
from dpsparse.estimators.summary import summary
from dpsparse.tables import Column, Dictionary, TableEncoder

RNG = np.random.default_rng(3)
N = 4000
SITE, AGE, SMOKES = RNG.choice(["a", "b", "c"], N), RNG.uniform(20, 80, N), RNG.integers(0, 2, N)
TABLE = {"age": AGE, "site": SITE, "smokes": SMOKES}
MARGIN = 0.05 * (AGE - 50) + np.where(SITE == "b", 1.5, np.where(SITE == "c", -1.0, 0.0)) + 0.8 * SMOKES


def codebook(reference=None):
    return Dictionary(
        [
            Column(name="age", kind="number", bounds=(20, 80), unit="year"),
            Column(name="site", kind="category", categories=["a", "b", "c"], reference=reference),
            Column(name="smokes", kind="boolean"),
        ]
    )


def fitted(reference=None, regression=False, intervals=None):
    book = codebook(reference)
    rows = TableEncoder(book).fit_transform(TABLE)
    shared = {"epsilon": 20.0, "delta": 1e-6, "random_state": 0, "intervals": intervals}
    if regression:
        model = SparseRegressor(**shared, target_bound=5.0).fit(rows, MARGIN + RNG.normal(size=N) * 0.1)
    else:
        model = SparseClassifier(**shared).fit(rows, RNG.uniform(size=N) < 1 / (1 + np.exp(-MARGIN)))
    model.dictionary_ = book
    return model


def by_name(model):
    return {(effect.column, effect.level): effect for effect in model.effects()}


@pytest.mark.parametrize("reference", [None, "c"])
@pytest.mark.parametrize("regression", [False, True])
def test_effects_are_differences_of_predictions(reference, regression):
    model = fitted(reference, regression)
    found, base = by_name(model), reference or "a"

    def margin(**row):
        encoder = TableEncoder(codebook()).fit(TABLE)
        return (np.asarray(encoder.transform({k: [v] for k, v in row.items()})) @ np.ravel(model.coef_))[0] + np.ravel(
            model.intercept_
        )[0]

    one = {"age": 50, "site": base, "smokes": 0}
    assert found["age", ""].coefficient == pytest.approx(margin(**{**one, "age": 51}) - margin(**one))
    assert found["smokes", "true"].coefficient == pytest.approx(margin(**{**one, "smokes": 1}) - margin(**one))
    for site in sorted({"a", "b", "c"} - {base}):
        effect = found["site", site]
        assert effect.reference == base
        assert effect.coefficient == pytest.approx(margin(**{**one, "site": site}) - margin(**one))
        assert effect.odds_ratio == (None if regression else pytest.approx(np.exp(effect.coefficient)))
    assert ("site", base) not in found
    zero = found["(intercept)", ""].coefficient + 50 * found["age", ""].coefficient
    assert zero == pytest.approx(margin(**one))


@pytest.fixture(scope="module")
def with_intervals():
    """A model whose intervals are of age, site a, site b and the intercept, with a covariance that is not diagonal."""
    model = fitted(intervals="split")
    half = np.random.default_rng(0).normal(size=(4, 4))
    model.intervals_ = replace(
        model.intervals_,
        features=("age", "site=a", "site=b", "(intercept)"),
        columns=(0, 1, 2),
        estimate=np.array([1.5, -0.2, 1.1, 0.3]),
        covariance=half @ half.T / 50,
    )
    return model


def test_intervals_are_those_of_the_contrast(with_intervals):
    model = with_intervals
    found, held = by_name(model), model.intervals_
    effect = found["site", "b"]
    variance = held.covariance[1, 1] + held.covariance[2, 2] - 2 * held.covariance[1, 2]
    assert effect.coefficient == pytest.approx(1.3)
    assert effect.high - effect.low == pytest.approx(2 * 1.959964 * np.sqrt(variance), rel=1e-5)
    assert found["site", "c"].coefficient == pytest.approx(0.2)  # c was not selected: its coefficient is 0
    assert found["age", ""].coefficient == pytest.approx(1.5 / 30)
    assert found["age", ""].high == pytest.approx((1.5 + 1.959964 * np.sqrt(held.covariance[0, 0])) / 30, rel=1e-5)
    assert model.effects(0.99)[0].high > model.effects()[0].high


def test_where_nothing_was_selected_the_intercept_is_that_of_the_model():
    book = codebook()
    rows = TableEncoder(book).fit_transform(TABLE)
    model = SparseClassifier(epsilon=1.0, random_state=0, intervals="split", classes=[False, True])
    model.fit(rows, np.arange(N) % 20 == 0)  # one in twenty, whatever the features are
    model.dictionary_ = book
    assert model.support_.size == 0
    [constant] = model.effects()
    assert constant.coefficient == pytest.approx(float(model.intercept_[0]))
    assert constant.coefficient < -2
    assert (constant.low, constant.high, constant.p) == (None, None, None)
    assert meaning(model.intervals_) == [NONE]


def test_the_table_is_one(with_intervals):
    from dpsparse.cli.show import print_model

    said = print_model(with_intervals)
    assert len([line for line in said.splitlines() if line.startswith("  age ")]) == 1
    assert "site: b vs. a" in said
    assert "odds ratio" in said
    assert "95 % interval" in said
    assert "1.3 " in said


def test_effects_need_a_dictionary_and_are_in_the_summary():
    model = fitted()
    assert [row["column"] for row in summary(model)["in_units"]][-1] == "(intercept)"
    del model.dictionary_
    with pytest.raises(ValueError, match="keeps no data dictionary"):
        model.effects()


def test_a_reference_is_one_of_the_categories(tmp_path):
    wrong = Column(name="s", kind="category", categories=["a", "b"], reference="B")
    assert "reference must be one of the categories" in " ".join(wrong.problems())
    boolean = Column(name="s", kind="boolean", reference="true")
    assert "reference belongs to" in " ".join(boolean.problems())
    for ending in ("yaml", "json", "csv"):
        codebook("b").write(tmp_path / f"book.{ending}")
        assert Dictionary.read(tmp_path / f"book.{ending}") == codebook("b")
