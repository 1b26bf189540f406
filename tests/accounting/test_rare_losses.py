"""Sampled steps with rare large losses, against a contour integral that has no grid."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import brentq

from dpsparse.accounting import pld
from dpsparse.accounting.pairs import Pair, dominating_pairs
from dpsparse.core import Adjacency
from dpsparse.core.curves import gaussian_delta

ADD, REPLACE = Adjacency.ADD_REMOVE, Adjacency.REPLACE_ONE
RATE, NOISE, STEPS, DELTA = 1e-6, 0.5, 100_000, 1e-5


class Contour:
    r"""Exact :math:`\delta(\epsilon) = \frac1{2\pi}\int M(s)^T e^{-s\epsilon} \frac{dt}{s(s+1)}` along :math:`s = c + it`, by quadrature.

    (1 - e^(e - l))_+ is the inverse Laplace transform of e^(-s e)/(s (s + 1)); M(s) = E e^(s l) under P. The rule of equal steps h is off by
    a part of exp(-2 pi c / h).
    """

    def __init__(self, pair: Pair, steps: int, place: float, step: float, nodes: int = 14_000) -> None:
        x, weights = np.polynomial.legendre.leggauss(600)
        reach = 16 * pair.multiplier + 1
        x, weights = reach * x, reach * weights

        def normal(m: float) -> np.ndarray:
            return np.exp(-(((x - m) / pair.multiplier) ** 2) / 2) / pair.multiplier / math.sqrt(2 * math.pi)

        law = (1 - pair.rate) * normal(0) + pair.rate * normal(pair.above)
        loss = np.array([pair.loss(float(v)) for v in x])
        self._s = place + 1j * step * np.arange(nodes)
        self._widths = np.full(nodes, step)
        self._widths[0] = step / 2
        less = np.array([np.sum(weights * law * np.expm1(s * loss)) for s in self._s])  # M - 1, which has all digits
        self._moments = np.exp(steps * np.log1p(less))

    def delta(self, epsilon: float) -> float:
        terms = self._moments * np.exp(-self._s * epsilon) / (self._s * (self._s + 1))
        return float(np.sum(terms.real * self._widths) / math.pi)


@pytest.mark.parametrize("relation", [ADD, REPLACE])
def test_rare_large_losses_cost_no_more_than_four_per_cent_of_epsilon(relation):
    losses = pld.composed_losses([(RATE, NOISE, STEPS)], relation, DELTA)
    pairs = dominating_pairs(RATE, NOISE, relation)
    exact = [Contour(pair, STEPS, 4.0, 0.8) for pair in pairs]
    epsilon = max(brentq(lambda e, c=c: c.delta(e) - DELTA, 1e-4, 0.05) for c in exact)
    bound = max(loss.epsilon(DELTA) for loss in losses)
    assert epsilon <= bound <= 1.04 * epsilon
    assert max(loss.plain.epsilon(DELTA) for loss in losses) > 1.1 * epsilon, "control: one grid for all losses"
    for loss, truth in zip(losses, exact, strict=True):  # a bound at every epsilon, and by its parts alone
        for e in (0.003, 0.01, 0.02):
            assert truth.delta(e) <= loss.parted.delta(e)
            assert loss.delta(e) <= min(loss.parted.delta(e), loss.plain.delta(e))


def test_both_parts_count():
    (loss, _) = pld.composed_losses([(RATE, NOISE, STEPS)], ADD, DELTA)
    fine, rest = loss.parted.fine, loss.parted.rest
    assert fine.mass.sum() + rest.mass.sum() == pytest.approx(1.0, abs=1e-6)
    assert 0 < rest.mass.sum() < pld.RARE
    assert fine.step < loss.plain.step / 32
    assert fine.delta(0.0083) < 0.9 * DELTA, "control: small losses alone are too few"
    assert rest.delta(0.0083) > 0.05 * DELTA


def test_where_losses_are_alike_nothing_is_taken_apart():
    for steps in ([(0.01, 2.0, 1000)], [(1.0, 50.0, 100)], [(0.2, 5.0, 50), (1.0, 40.0, 20)]):
        assert all(loss.parted is None for loss in pld.composed_losses(steps, ADD, 1e-6))
    law = pld.RandomTurns(3, 20.0)
    assert all(loss.parted is None for loss in pld.composed_losses([(1e-6, 0.5, law)], ADD, 1e-6))


def test_the_reference_is_the_closed_form_where_there_is_one():
    (pair, _) = dominating_pairs(1.0, 30.0, ADD)
    contour = Contour(Pair(1.0, 30.0, 1.0, 0.0), 100, 10.0, 0.05, 1200)
    assert pair == Pair(1.0, 30.0, 1.0, 0.0)
    for epsilon in (0.2, 0.6, 1.0):
        assert contour.delta(epsilon) == pytest.approx(gaussian_delta(epsilon, math.sqrt(100) / 30), rel=1e-4)
