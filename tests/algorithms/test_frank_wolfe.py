"""Frank-Wolfe, step by step."""

from __future__ import annotations

import numpy as np

from dpsparse.algorithms.frank_wolfe import FrankWolfe
from dpsparse.core.facts import Clip, Facts
from truth.scripted import ScriptedOracle


def test_steps_go_to_signed_vertices_and_stay_in_the_ball():
    facts = Facts(n_rows=10, n_features=3)
    loop = FrankWolfe(steps=3, radius=2.0, clip=Clip(1.0), sparsity=3)
    oracle = ScriptedOracle.of(loop, facts, {"vertex": [[1], [3], [1]]})  # e_2, -e_1, e_2
    found = loop.run(oracle)
    np.testing.assert_allclose(found, [-2 * 2 / 3 * 0.5, 2 * (1 / 3 * 0.5 + 0.5), 0.0])
    assert np.abs(found).sum() <= 2.0 + 1e-12
    np.testing.assert_allclose(oracle.questions("vertex")[1].of.w, [0.0, 2.0, 0.0])


def test_the_result_has_no_more_coefficients_than_allowed_beside_the_intercept():
    facts = Facts(n_rows=10, n_features=3, intercept=1.0)
    loop = FrankWolfe(steps=3, radius=1.0, clip=Clip(1.0), sparsity=1)
    found = loop.run(ScriptedOracle.of(loop, facts, {"vertex": [[0], [7], [1]]}))  # e_1, minus the intercept, e_2
    assert list(np.flatnonzero(found)) == [1, 3]
    assert found[3] < 0
