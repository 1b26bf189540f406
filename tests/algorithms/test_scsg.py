"""Snapshots and inner steps, step by step."""

from __future__ import annotations

import numpy as np
import pytest

from dpsparse.algorithms.scsg import LEAST_CHANGE, SCSG, change_bound
from dpsparse.core.facts import Clip, Facts
from truth.scripted import ScriptedOracle

FACTS = Facts(n_rows=10, n_features=2)


def test_an_inner_step_follows_the_snapshot_and_the_change_since_then():
    loop = SCSG(sparsity=2, epochs=2, inner=2.0, step_size=0.5, clip=Clip(1.0))
    script = {
        "snapshot": [[-1.0, 0.0], [0.0, -1.0]],
        "change": [[0.0, 0.0], [1.0, 0.0], [0.0, 0.0], [0.0, 0.5]],
    }
    oracle = ScriptedOracle.of(loop, FACTS, script)
    np.testing.assert_allclose(loop.run(oracle), [0.5, 0.75])
    anchors = [list(q.anchor) for q in oracle.questions("change")]
    assert anchors == [[0.0, 0.0], [0.0, 0.0], [0.5, 0.0], [0.5, 0.0]]
    assert [name for name, _ in oracle.asked] == ["snapshot", "change", "change"] * 2


def test_ridge_shrinks_and_the_threshold_acts_after_every_inner_step():
    loop = SCSG(sparsity=1, epochs=1, inner=2.0, step_size=1.0, clip=Clip(1.0), ridge=0.5)
    script = {"snapshot": [[-1.0, 0.9]], "change": [[0.0, 0.0], [1.0, -0.9]]}
    np.testing.assert_allclose(loop.run(ScriptedOracle.of(loop, FACTS, script)), [0.5, 0.0])


def test_random_lengths_are_drawn_by_their_public_seed_and_kept_to():
    loop = SCSG(sparsity=2, epochs=4, inner=3.0, step_size=0.1, clip=Clip(1.0), length_seed=5)
    lengths = loop.plan(FACTS, None).public["lengths"]
    assert lengths == loop.plan(FACTS, None).public["lengths"]
    script = {"snapshot": [[0.0, 0.0]] * 4, "change": [[0.0, 0.0]] * sum(lengths)}
    oracle = ScriptedOracle.of(loop, FACTS, script)
    loop.run(oracle)
    expected = [name for length in lengths for name in ["snapshot"] + ["change"] * length]
    assert [name for name, _ in oracle.asked] == expected


def test_a_change_is_bounded_by_what_the_two_points_allow():
    facts = Facts(n_rows=10, n_features=2, row_norm=1.0, curvature=2.0)
    here, anchor = np.array([0.3, 0.0]), np.zeros(2)
    assert change_bound(here, anchor, Clip(10.0), facts) == pytest.approx(2.0 * 1.0 * 0.3)
    assert change_bound(here, anchor, Clip(0.1), facts) == pytest.approx(0.2)
    assert change_bound(here, anchor, Clip(0.1), facts, largest=0.5) == pytest.approx(0.05)
    assert change_bound(anchor, anchor, Clip(10.0), facts) == 10.0 * LEAST_CHANGE
