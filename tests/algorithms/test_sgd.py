"""Stochastic gradient descent, step by step."""

from __future__ import annotations

import numpy as np

from dpsparse.algorithms.sgd import SGD
from dpsparse.algorithms.steps import PacedSteps
from dpsparse.core.facts import Clip, Facts, Penalty
from dpsparse.core.plan import EveryRow, PoissonRows
from truth.scripted import ScriptedOracle

FACTS = Facts(n_rows=10, n_features=3)


def test_a_schedule_of_samples_is_one_ask_for_each_rate():
    rows = (PoissonRows(0.1), PoissonRows(0.1), EveryRow())
    loop = SGD(step_sizes=(1.0, 1.0, 1.0), clip=Clip(1.0), rows=rows, sparsity=3)
    script = {"gradient": [[-1.0, 0.0, 0.0], [0.0, -2.0, 0.0]], "gradient-2": [[0.0, 0.0, -3.0]]}
    oracle = ScriptedOracle.of(loop, FACTS, script)
    np.testing.assert_allclose(loop.run(oracle), [1.0, 2.0, 3.0])
    assert [name for name, _ in oracle.asked] == ["gradient", "gradient", "gradient-2"]
    assert [a.share for a in loop.plan(FACTS, None).asks] == [2 / 3, 1 / 3]


def test_thresholds_come_after_every_step_or_at_the_end():
    answers = {"gradient": [[-1.0, -0.9, 0.0], [0.0, -0.9, 0.0]]}
    for thresholds, result in ((True, [1.0, 0.0, 0.0]), (False, [0.0, 1.8, 0.0])):
        loop = SGD(step_sizes=(1.0, 1.0), clip=Clip(1.0), rows=EveryRow(), sparsity=1, thresholds=thresholds)
        np.testing.assert_allclose(loop.run(ScriptedOracle.of(loop, FACTS, answers)), result)


def test_the_penalty_is_met_by_its_proximal_map():
    penalty = Penalty(kind="l1", alpha=0.25)
    loop = SGD(step_sizes=(2.0,), clip=Clip(1.0), rows=EveryRow(), sparsity=3, penalty=penalty)
    oracle = ScriptedOracle.of(loop, FACTS, {"gradient": [[-1.0, -0.2, 0.5]]})
    np.testing.assert_allclose(loop.run(oracle), [1.5, 0.0, -0.5])


def test_a_step_that_answers_prove_too_long_is_taken_back():
    """Curvature 4 and no noise: a step of 1 runs past the minimum, and the loop goes back to a quarter of the way, where it lies."""
    target = np.array([1.0, -2.0, 0.5])
    script = {"gradient": [lambda question: 4.0 * (question.w - target)] * 4}
    loop = SGD(step_sizes=(1.0,) * 4, clip=Clip(1e-9), rows=EveryRow(), sparsity=3, step_rule=PacedSteps(1.0))
    np.testing.assert_allclose(loop.run(ScriptedOracle.of(loop, FACTS, script)), target, atol=1e-6)
    noisy = ScriptedOracle.of(loop, FACTS, script, noise=1e3)
    np.testing.assert_allclose(
        loop.run(noisy), (1 - 81) * target, atol=1e-9, err_msg="nothing is proven: (1 - 4)^4 = 81"
    )


def test_a_long_step_takes_the_mean_of_the_turns_that_pay_for_it():
    """Steps of 3 in pieces of 1: three answers at one point, whose mean is walked along."""
    answers = [[-1.0, 0.0, 0.0], [-2.0, 0.0, 0.0], [-3.0, 0.0, 0.0]] + [[0.0, 0.0, 0.0]] * 7
    loop = SGD(
        step_sizes=(1.0,) * 10, clip=Clip(1e-9), rows=EveryRow(), sparsity=3, step_rule=PacedSteps(3.0, group=1.0)
    )
    oracle = ScriptedOracle.of(loop, FACTS, {"gradient": answers}, noise=1e3)
    np.testing.assert_allclose(loop.run(oracle), [6.0, 0.0, 0.0])
    points = [question.w[0] for _, question in oracle.asked]
    assert points[:4] == [0.0, 0.0, 0.0, 6.0]


def test_without_thresholds_the_largest_stay_after_a_part_of_the_turns():
    answers = {"gradient": [[-1.0, -0.9, 0.0], [0.0, -0.9, 0.0]]}
    loop = SGD(step_sizes=(1.0, 1.0), clip=Clip(1.0), rows=EveryRow(), sparsity=1, thresholds=False, settled=0.5)
    np.testing.assert_allclose(loop.run(ScriptedOracle.of(loop, FACTS, answers)), [1.0, 0.0, 0.0])
