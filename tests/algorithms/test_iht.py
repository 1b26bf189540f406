"""Iterative hard thresholding, step by step."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dpsparse.algorithms.iht import IHT, PeeledIHT
from dpsparse.algorithms.steps import SecantSteps
from dpsparse.core.facts import Clip, Facts
from dpsparse.queries.kinds import Magnitude, Path
from truth.scripted import ScriptedOracle

FACTS = Facts(n_rows=10, n_features=4)
FREE = Facts(n_rows=10, n_features=3, intercept=1.0)
STEEP = Facts(n_rows=10, n_features=3, intercept=1.0, curvature=4.0)


def test_each_step_follows_the_answer_and_keeps_the_largest():
    loop = IHT(sparsity=1, step_sizes=(1.0, 0.5), clip=Clip(2.0))
    oracle = ScriptedOracle.of(loop, FACTS, {"gradient": [[-1.0, 0.5, 0.2, 0.0], [0.0, -4.0, 0.0, 0.0]]})
    np.testing.assert_array_equal(loop.run(oracle), [0.0, 2.0, 0.0, 0.0])
    first, second = oracle.questions("gradient")
    np.testing.assert_array_equal(first.w, np.zeros(4))
    np.testing.assert_array_equal(second.w, [1.0, 0.0, 0.0, 0.0])
    assert first.clip == Clip(2.0)


def test_ridge_radius_and_the_step_of_the_intercept():
    loop = IHT(sparsity=3, step_sizes=(1.0, 1.0), clip=Clip(1.0), ridge=0.5, radius=2.0)
    answers = {"gradient": [[-1.0, 0.0, 0.0, -2.0], [0.0, 0.0, 0.0, 0.0]]}
    found = loop.run(ScriptedOracle.of(loop, STEEP, answers))
    np.testing.assert_allclose(found, [0.5, 0.0, 0.0, 0.5], err_msg="only the coefficient shrinks")
    plain = replace(loop, intercept_cap=False, radius=None)
    np.testing.assert_allclose(plain.run(ScriptedOracle.of(plain, STEEP, answers)), [0.5, 0.0, 0.0, 2.0])
    far = {"gradient": [[-30.0, 40.0, 0.0, 0.0], [0.0] * 4]}
    loop = IHT(sparsity=3, step_sizes=(1.0, 1.0), clip=Clip(1.0), radius=2.0)
    np.testing.assert_allclose(loop.run(ScriptedOracle.of(loop, FREE, far)), [1.2, -1.6, 0.0, 0.0])


def test_a_secant_takes_one_over_the_curvature_that_it_sees():
    curvature = 4.0
    target = np.array([1.0, -2.0, 0.0, 0.0])
    loop = IHT(sparsity=4, step_sizes=(0.1,) * 3, clip=Clip(1.0), step_rule=SecantSteps())
    script = {"gradient": [lambda question: curvature * (question.w - target)] * 3}
    np.testing.assert_allclose(loop.run(ScriptedOracle.of(loop, FACTS, script)), target, atol=1e-12)


def test_peeling_asks_for_the_values_of_what_was_chosen_and_of_the_intercept():
    loop = PeeledIHT(sparsity=2, step_sizes=(0.5, 0.5), clip=Clip(1.0, 0.5))
    script = {"select": [[2, 0], [1, 2]], "values": [[-1.0, -3.0, -2.0], [-1.0, 0.0, 0.0]]}
    oracle = ScriptedOracle.of(loop, FREE, script)
    np.testing.assert_allclose(loop.run(oracle), [0.0, 0.5, 0.5, 1.0])
    assert [list(q.support) for q in oracle.questions("values")] == [[2, 0, 3], [1, 2, 3]]
    score = oracle.questions("select")[1].score
    assert isinstance(score, Magnitude)


@pytest.mark.parametrize("loop", [IHT, PeeledIHT])
def test_the_path_holds_every_iterate(loop):
    made = loop(sparsity=1, step_sizes=(1.0, 1.0), clip=Clip(1.0))
    script = {"gradient": [[-1.0, 0, 0, 0]] * 2} if loop is IHT else {"select": [[0]] * 2, "values": [[-1.0]] * 2}
    path = Path()
    w = made.run(ScriptedOracle.of(made, FACTS, script), path)
    np.testing.assert_array_equal(path.iterates[-1], w)
    assert len(path.iterates) == 2
