"""What the planner takes for granted."""

import math

import pytest

from dpsparse.core.facts import Facts, Target
from dpsparse.report.planner import Assumptions
from dpsparse.report.planner.assumptions import coefficients, counts

BOX = Facts(n_rows=1000, n_features=400, lower=-1.0, upper=1.0, row_norm=20.0, sparsity=5)
TEXT = Facts(
    n_rows=1000, n_features=400, lower=-1.0, upper=1.0, row_norm=1.0, target=Target(kind="classes"), loss="logistic"
)


def test_a_known_signal_replaces_the_convention():
    assert Assumptions(signal=0.3).signals(BOX) == (0.3, 0.3, 0.3)


def test_the_convention_spans_weaker_and_stronger_signals():
    typical, weak, strong = Assumptions().signals(BOX)
    assert weak < typical < strong


def test_a_feature_is_uniform_within_its_bounds():
    assert Assumptions().scale(BOX) == pytest.approx(1 / math.sqrt(3))


def test_a_row_norm_leaves_each_feature_its_part():
    assert Assumptions().scale(TEXT) == pytest.approx(1 / 20)


def test_a_given_scale_is_taken():
    assert Assumptions(feature_scale=0.2).scale(BOX) == 0.2


def test_the_constant_predictor_errs_on_the_rarer_class():
    assert Assumptions(base_rate=0.1).constant(TEXT) == 0.1
    assert Assumptions().constant(TEXT) == 0.5
    assert Assumptions().constant(BOX) == 1.0


def test_a_share_that_is_not_declared_may_be_small():
    least, typical = Assumptions().constants(TEXT)
    assert least < typical == 0.5
    assert Assumptions(base_rate=0.1).constants(TEXT) == (0.1, 0.1)
    assert Assumptions().constants(BOX) == (1.0, 1.0)


def test_documents_have_a_convention_of_their_own():
    assert Assumptions().signals(TEXT) != Assumptions().signals(TEXT.with_(sparse=True))


def test_bounds_that_end_at_zero_are_counts():
    assert counts(BOX.with_(lower=0.0))
    assert not counts(BOX)


def test_the_sparsity_counts_from_three_on_and_is_ten_where_none_is_declared():
    assert coefficients(BOX) == 5
    assert coefficients(BOX.with_(sparsity=1)) == 3
    assert coefficients(BOX.with_(sparsity=None)) == 10
    assert coefficients(BOX.with_(sparsity=None, n_features=2)) == 2


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("signal", 1.0, "above 0 and below 1"),
        ("signal", 0, "above 0 and below 1"),
        ("signal", "much", "above 0 and below 1"),
        ("base_rate", 0.6, "above 0 and at most 0.5"),
        ("feature_scale", -1.0, "above 0"),
        ("feature_scale", math.nan, "above 0"),
        ("signal", True, "above 0 and below 1"),
    ],
    ids=["one", "zero", "text", "rate", "scale", "nan", "bool"],
)
def test_nonsense_is_refused_in_words(name, value, said):
    with pytest.raises(ValueError, match=f"{name} must be a number {said}.*Leave it out"):
        Assumptions(**{name: value})
