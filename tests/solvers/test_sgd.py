"""Stochastic gradient descent, step by step."""

from __future__ import annotations

import numpy as np

from dpsparse.facts import Clip, Facts, Penalty
from dpsparse.privacy.plan import EveryRow, PoissonRows
from dpsparse.solvers.sgd import SGD
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


def test_a_guard_shortens_steps_to_the_curvature_that_answers_prove():
    """Curvature 4 and no noise: steps of 1 would run away; the second is 1/4 and lands on the minimum."""
    target = np.array([1.0, -2.0, 0.5])
    script = {"gradient": [lambda question: 4.0 * (question.w - target)] * 2}
    loop = SGD(step_sizes=(1.0, 1.0), clip=Clip(1e-9), rows=EveryRow(), sparsity=3, guard=True)
    np.testing.assert_allclose(loop.run(ScriptedOracle.of(loop, FACTS, script)), target, atol=1e-6)
    noisy = ScriptedOracle.of(loop, FACTS, script, noise=1e3)
    np.testing.assert_allclose(loop.run(noisy), -8.0 * target, atol=1e-9, err_msg="nothing is proven: (1 - 4)^2 = 9")
