"""Deviance, slope and shift see what error and AUC cannot: whether probabilities are what they say."""

import numpy as np
import pytest
from sklearn.metrics import log_loss, roc_auc_score

from dpsparse.report.bench.own import class_scores, number_scores

RNG = np.random.default_rng(0)
Z = RNG.normal(-0.5, 1.2, 40_000)
Y = (RNG.random(Z.size) < 1 / (1 + np.exp(-Z))).astype(int)


def of(log_odds):
    p = 1 / (1 + np.exp(-log_odds))
    return class_scores(np.column_stack([1 - p, p]), Y)


def test_true_probabilities_have_slope_one_and_no_shift():
    found = of(Z)
    assert found["slope"] == pytest.approx(1, abs=0.04)
    assert found["shift"] == pytest.approx(0, abs=0.015)
    p = 1 / (1 + np.exp(-Z))
    assert found["auc"] == pytest.approx(roc_auc_score(Y, p))
    assert found["deviance"] == pytest.approx(log_loss(Y, p) / log_loss(Y, np.full(Y.size, Y.mean())))


def test_doubled_log_odds_have_half_the_slope_and_a_worse_deviance_at_the_same_auc():
    right, extreme = of(Z), of(2 * Z)
    assert extreme["auc"] == pytest.approx(right["auc"])
    assert extreme["slope"] == pytest.approx(right["slope"] / 2, rel=1e-6)
    assert extreme["deviance"] > right["deviance"] + 0.05


def test_a_shift_is_that_of_the_mean_probability():
    p = 1 / (1 + np.exp(-(Z - 1)))
    assert of(Z - 1)["shift"] == pytest.approx(p.mean() - Y.mean())
    assert of(Z - 1)["shift"] < -0.1


def test_a_constant_has_deviance_one_and_no_slope():
    share = Y.mean()
    found = of(np.full(Y.size, np.log(share / (1 - share))))
    assert found["deviance"] == pytest.approx(1)
    assert found["auc"] == 0.5
    assert "slope" not in found
    constant = number_scores(np.full(Z.size, Z.mean()), Z)
    assert constant["deviance"] == pytest.approx(1)
    assert "slope" not in constant


def test_three_classes_are_pooled():
    scores = RNG.standard_normal((20_000, 3))
    p = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    truth = (p.cumsum(axis=1) < RNG.random((20_000, 1))).sum(axis=1)
    right = class_scores(p, truth)
    assert right["slope"] == pytest.approx(1, abs=0.05)
    assert abs(right["shift"]) < 0.02
    sharp = p**3 / (p**3).sum(axis=1, keepdims=True)
    assert class_scores(sharp, truth)["slope"] < 0.6


def test_certain_and_wrong_is_finite_and_one_class_says_nothing():
    found = class_scores(np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([1, 0]))
    assert np.isfinite(found["deviance"])
    assert found["slope"] < 0
    assert class_scores(np.array([[0.4, 0.6]] * 3), np.array([1, 1, 1])) == {}
    assert number_scores(np.array([0.4, 0.6]), np.ones(2)) == {}


def test_numbers_have_a_slope_and_a_shift():
    truth = RNG.standard_normal(5000)
    found = number_scores(2 * truth + 1, truth)
    assert found["slope"] == pytest.approx(0.5)
    assert found["shift"] == pytest.approx((truth.mean() + 1) / truth.std())
    assert number_scores(truth, truth)["deviance"] == 0
