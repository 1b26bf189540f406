"""Audit A1 for dual averaging: a canary against its opposite, end to end, at 5 standard errors."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from builders import Rows
from dpsparse.accounting import price
from dpsparse.algorithms.dual_averaging import Averaging, DualAveraging
from dpsparse.core import Budget
from dpsparse.core.facts import Facts
from dpsparse.losses import Softmax, Squared
from dpsparse.oracles import CentralOracle
from truth import audit

RUNS = 800
LOOP = DualAveraging(
    loop=Averaging(steps=2, length=1.0, clip=0.5, share=1.0, momentum=0.0), column_weight=0.3, intercept_weight=1.0
)


def projections(y: float, wrong: float, seed: int) -> np.ndarray:
    """Where the canary moved the first coefficient, over many runs; `wrong` shrinks the noise."""
    facts = Facts(n_rows=2, n_features=2, target_bound=9.0)
    rows = Rows(np.array([[1.0, 0.0], [0.0, 0.0]]), np.array([y, 0.0]), facts)
    priced = price(LOOP.plan(facts, Budget.gdp(1.0)), Budget.gdp(1.0))
    priced = replace(priced, rho_scale=priced.rho_scale / wrong**2)
    stream = audit.Stream(seed)
    return np.array([LOOP.run(CentralOracle(rows, Squared(), priced, stream))[0] for _ in range(RUNS)])


def distance(wrong: float) -> tuple[float, float]:
    """Estimated mu between the two worlds, and its standard error."""
    one, two = projections(9.0, wrong, 1), projections(-9.0, wrong, 2)
    mu = abs(one.mean() - two.mean()) / math.sqrt((one.var() + two.var()) / 2)
    return mu, math.sqrt(2 / RUNS + mu**2 / (4 * RUNS))


def test_audit_a_canary_is_not_told_from_its_opposite_better_than_priced():
    """Without momentum the path is a sufficient statistic of all answers, so the whole budget of 1 shows, and no more."""
    mu, error = distance(1.0)
    assert abs(mu - 1.0) < audit.SIGMAS * error


def test_control_the_audit_catches_half_of_the_noise():
    mu, error = distance(0.5)
    assert mu - 1.0 > audit.SIGMAS * error


# ------------------------------------------------------------------------------------------------ many classes


def joint_projections(sign: float, wrong: float, seed: int) -> np.ndarray:
    """Where a row or its mirror image moved the coefficients of three classes, along the direction in which they differ."""
    loss = Softmax(3)
    facts = Facts(n_rows=2, n_features=2, target=loss.targets(1.0))
    rows = Rows(np.array([[sign, 0.0], [0.0, 0.0]]), np.array([1.0, 0.0]), facts)
    loop = replace(LOOP, loop=replace(LOOP.loop, steps=1, clip=0.2))
    priced = price(loop.plan(facts, Budget.gdp(1.0)), Budget.gdp(1.0))
    priced = replace(priced, rho_scale=priced.rho_scale / wrong**2)
    stream = audit.Stream(seed)
    along = np.array([1.0, -2.0, 1.0]) / math.sqrt(6)  # the slope of class 1 where nothing is known
    return np.array([loop.run(CentralOracle(rows, loss, priced, stream))[0] @ along for _ in range(RUNS)])


def joint_distance(wrong: float) -> tuple[float, float]:
    one, two = joint_projections(1.0, wrong, 3), joint_projections(-1.0, wrong, 4)
    mu = abs(one.mean() - two.mean()) / math.sqrt((one.var() + two.var()) / 2)
    return mu, math.sqrt(2 / RUNS + mu**2 / (4 * RUNS))


def test_audit_a_row_of_many_classes_is_told_from_its_mirror_image_as_well_as_priced_and_no_better():
    """One price covers the matrix of all classes: the clip acts, and two rows differ by twice its norm."""
    mu, error = joint_distance(1.0)
    assert abs(mu - 1.0) < audit.SIGMAS * error


def test_control_the_audit_of_many_classes_catches_half_of_the_noise():
    mu, error = joint_distance(0.5)
    assert mu - 1.0 > audit.SIGMAS * error
