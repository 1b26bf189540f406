"""Step lengths, clips, momentum and the intercept's gain, from released answers."""

import math

import numpy as np
import pytest

from dpsparse.algorithms.constants import STEPS
from dpsparse.algorithms.steps import Gradients, PacedSteps, Turn, coordinate_steps, intercept_gain
from dpsparse.core.budget import Budget
from dpsparse.core.facts import Clip, Facts, Target
from dpsparse.core.plan import EveryRow
from dpsparse.recipes.defaults.schedules import default_turns, quiet_noise
from truth.scripted import ScriptedOracle

BENDS = np.array([1.0, 0.01])
START = np.array([1.0, 1.0])


def descend(rule, turns, deviation=0.0):
    """A loop on an exact parabola, whose answers are said to have noise of this deviation; the clips that it used."""
    oracle = ScriptedOracle(
        Facts(n_rows=10, n_features=2), {"gradient": [lambda query: BENDS * query.w] * turns}, noise=deviation
    )
    turn = Turn(rule.longest, "gradient", EveryRow())
    steps = rule.start(Gradients(oracle=oracle, clip=Clip(1.0), turns=[turn] * turns, thresholded=False))
    w, seen = START.copy(), []
    while steps.left:
        at, g, eta = steps.next(w)
        w = at - eta * g
        seen.append(steps.clip.norm)
    return w, seen


def test_momentum_goes_further_where_noise_is_no_concern():
    plain, _ = descend(PacedSteps(1.0), 60)
    ahead, _ = descend(PacedSteps(1.0, low_noise=1.0), 60)
    assert plain[1] == pytest.approx(0.99**60, rel=0.05)
    assert abs(ahead[1]) < 0.3 * plain[1]


def test_noise_that_is_a_concern_leaves_plain_steps_and_the_clip_alone():
    loud = PacedSteps(1.0, low_noise=1e-6, widest=8.0)
    walked, clips = descend(loud, 60, deviation=1e-3)
    assert walked == pytest.approx(descend(PacedSteps(1.0), 60, deviation=1e-3)[0])
    assert set(clips) == {1.0}


def test_the_clip_doubles_up_to_its_widest_where_noise_is_far_from_a_concern():
    _, clips = descend(PacedSteps(1.0, low_noise=1.0, widest=6.0), 30, deviation=1e-6)
    assert clips == sorted(clips)
    assert set(clips) == {1.0, 2.0, 4.0, 6.0}


def test_the_clip_stops_where_its_noise_would_near_a_concern():
    deviation = 1e-3
    quiet = STEPS.widened * (2.5 * deviation) ** 2  # twice as wide is calm, four times is not
    _, clips = descend(PacedSteps(1.0, low_noise=quiet, widest=8.0), 30, deviation=deviation)
    assert max(clips) == 2.0


def test_a_wider_clip_is_wider_in_every_bound():
    assert Clip(1.0, 0.5, 2.0).times(3.0) == Clip(3.0, 1.5, 6.0)
    assert Clip(1.0, columns=np.array([1.0, 2.0])).times(2.0) == Clip(2.0, columns=np.array([2.0, 4.0]))


def facts(**changes):
    known = {"n_rows": 5000, "n_features": 20, "row_norm": 2.0, "target": Target(bound=3.0), "intercept": 0.5}
    return Facts(**known | changes)


def test_the_intercept_takes_the_shrunken_mean_of_what_it_was_told():
    known, rng = facts(), np.random.default_rng(0)
    longest = 1 / (known.curvature * known.intercept**2)
    truth, noise, w, told = 1.4, 0.3, 0.0, []
    for turn in range(1, 9):
        at = known.curvature * known.intercept**2 * (w - truth) + noise * rng.standard_normal()
        told.append(w - longest * at)
        w -= coordinate_steps(1e-9, known, intercept_gain(turn, 1, noise, known))[-1] * at
    part = (noise / (known.curvature * known.intercept * known.target.margin)) ** 2
    assert w == pytest.approx(sum(told) / (8 + part), rel=1e-6)


def test_without_an_intercept_there_is_no_gain():
    assert intercept_gain(1, 1, 0.1, facts(intercept=0.0)) == 0.0


def test_steps_of_features_are_not_lengthened():
    steps = coordinate_steps(1e-6, facts(), 0.5)
    assert np.all(steps[:-1] == 1e-6)
    assert steps[-1] == pytest.approx(0.5 / (facts().curvature * 0.25))


def test_turns_grow_only_where_noise_is_no_concern():
    assert default_turns(facts(), Budget.approx(1.0, 1e-6), 20) == 200
    assert default_turns(facts(), Budget.approx(1e4, 1e-6), 20) == 1000
    many = facts(n_rows=10**7)  # 2e8 entries a turn: time is a concern
    assert default_turns(many, Budget.approx(1e4, 1e-6), 20) == 30


def test_quiet_noise_is_a_twentieth_of_a_typical_margin():
    known = facts()
    sigma_squared_eta = quiet_noise(known, 4)
    assert math.sqrt(4 * sigma_squared_eta / (2 * known.curvature)) == pytest.approx(STEPS.quiet * known.target.margin)


def confirmed(last, deviation):
    """Where 30 turns end whose answers point downhill until the last, which is `last`; the points and the questions."""
    script = {"gradient": [np.array([-1.0, 0.0])] * 29 + [np.array([last, 0.0])]}
    oracle = ScriptedOracle(Facts(n_rows=10, n_features=2), script, noise=deviation)
    turns = [Turn(1.0, "gradient", EveryRow())] * 30
    steps = PacedSteps(1.0).start(Gradients(oracle=oracle, clip=Clip(1.0), turns=turns, confirmed=True))
    points = [np.zeros(2)]
    while steps.left:
        at, g, eta = steps.next(points[-1])
        points.append(at - eta * g)
    return points, steps.confirm(points[-1]), len(oracle.asked)


def test_a_last_step_that_is_proven_too_long_is_taken_back_to_the_minimum_of_a_parabola():
    points, end, asked = confirmed(3.0, 0.1)
    assert asked == 30
    assert end == pytest.approx(points[-2] + (points[-1] - points[-2]) / 4)


@pytest.mark.parametrize("last", [-1.0, 0.29])
def test_a_last_step_that_noise_may_excuse_is_kept(last):
    points, end, asked = confirmed(last, 0.1)
    assert asked == 30
    assert end is points[-1]
