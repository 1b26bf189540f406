"""Greedy coordinate descent, step by step."""

from __future__ import annotations

import numpy as np

from dpsparse.algorithms.coordinates import ColumnSquares
from dpsparse.algorithms.gcd import GreedyCD
from dpsparse.core.facts import Facts, Penalty
from truth.scripted import ScriptedOracle

SQUARES = ColumnSquares(bounds=np.array([1.0, 4.0, 1.0]), guess=np.array([1.0, 4.0, 1.0]))


def loop(steps: int, squares: ColumnSquares = SQUARES, **options) -> GreedyCD:
    return GreedyCD(rule="gs-r", steps=steps, step_size=1.0, residual=0.5, squares=squares, **options)


def test_only_the_chosen_coordinate_moves_by_its_own_curvature():
    facts = Facts(n_rows=10, n_features=3)
    oracle = ScriptedOracle.of(loop(3), facts, {"select": [[1], [0], [1]], "values": [[-4.0], [2.0], [2.0]]})
    np.testing.assert_allclose(loop(3).run(oracle), [-2.0, 0.5, 0.0])
    assert [list(q.support) for q in oracle.questions("values")] == [[1], [0], [1]]
    np.testing.assert_allclose(oracle.questions("values")[1].w, [0.0, 1.0, 0.0])


def test_once_enough_are_nonzero_the_others_are_no_candidates():
    facts = Facts(n_rows=10, n_features=3, sparsity=1)
    oracle = ScriptedOracle.of(loop(2), facts, {"select": [[2], [2]], "values": [[-1.0], [0.0]]})
    loop(2).run(oracle)
    first, second = oracle.questions("select")
    assert first.excluded is None
    assert list(second.excluded) == [0, 1]


def test_an_l1_penalty_is_met_by_its_proximal_map():
    facts = Facts(n_rows=10, n_features=3, penalty=Penalty(kind="l1", alpha=0.5))
    oracle = ScriptedOracle.of(loop(2), facts, {"select": [[0], [2]], "values": [[-2.0], [0.4]]})
    np.testing.assert_allclose(loop(2).run(oracle), [1.5, 0.0, 0.0])


def test_private_squares_are_held_between_their_noise_and_their_bounds():
    squares = ColumnSquares(bounds=SQUARES.bounds, guess=SQUARES.guess, share=0.1)
    facts = Facts(n_rows=10, n_features=3)
    script = {"squares": [[-1.0, 9.0, 0.5]], "select": [[0], [1], [2]], "values": [[-1.0], [-1.0], [-1.0]]}
    oracle = ScriptedOracle.of(loop(3, squares), facts, script, noise=0.1)
    np.testing.assert_allclose(loop(3, squares).run(oracle), [5.0, 0.25, 2.0])
    np.testing.assert_allclose(oracle.questions("values")[0].clip.columns, 0.5 * np.sqrt([0.2, 4.0, 0.5]))
