"""Recording and replaying: the same answers, without rows."""

from __future__ import annotations

import numpy as np
import pytest

from builders import Rows
from dpsparse.accounting import price
from dpsparse.core import Ask, Budget, Noise, NotPricedError, Plan, PrivacyError
from dpsparse.core.facts import Clip
from dpsparse.core.mechanisms import Randomness
from dpsparse.losses import Squared
from dpsparse.oracles import CentralOracle, RecordingOracle, ReplayOracle
from dpsparse.queries.kinds import Gradient, Magnitude
from truth.rows import table

CLIP = Clip(0.5)
ASKED = Gradient(np.zeros(13), CLIP)
PLAN = Plan(
    asks=(
        Ask(name="gradient", noise=Noise.GAUSSIAN, times=2),
        Ask(name="select", noise=Noise.GUMBEL, draws=2),
        Ask(name="values", noise=Noise.GAUSSIAN),
        Ask(name="change", noise=Noise.GAUSSIAN),
        Ask(name="squares", noise=Noise.LAPLACE),
    )
)


def recording() -> RecordingOracle:
    given = table("dense", intercept=0.5)
    rows = Rows(given.X, given.y, given.facts)
    return RecordingOracle(CentralOracle(rows, Squared(), price(PLAN, Budget.zcdp(1.0)), Randomness()))


def program(oracle) -> list[np.ndarray]:
    """Every door once, each question made from earlier answers."""
    w = oracle.facts.first()
    g = oracle.gradient(w, clip=CLIP)
    best = oracle.select(g, 2, score=Magnitude(0.1, w), clip=CLIP)
    values = oracle.gradient_at(w, best, clip=CLIP)
    w[best] = values
    change = oracle.gradient_change(w, g, clip=CLIP, change=0.2)
    return [g, best, values, change, oracle.squares(), oracle.gradient(w, clip=CLIP)]


def same(one: list[np.ndarray], two: list[np.ndarray]) -> bool:
    return all(np.array_equal(a, b) and a.dtype == b.dtype for a, b in zip(one, two, strict=True))


def test_a_replay_repeats_every_answer_without_rows():
    recorder = recording()
    answers = program(recorder)
    assert len(recorder.tape) == len(recorder.questions) == 6
    replay = ReplayOracle(recorder, recorder.tape)
    assert same(program(replay), answers)
    assert not any("rows" in name for name in vars(replay)), "a replay holds no rows"
    assert replay.unused_turns == {}


def test_two_runs_differ_without_a_tape():
    """Control: the noise is fresh in every run."""
    assert not same(program(recording()), program(recording()))


def test_a_recorder_changes_nothing_and_charges_once():
    recorder = recording()
    assert recorder.facts is recorder.inner.facts
    assert recorder.plan is recorder.inner.plan
    program(recorder)
    assert recorder.unused_turns == {}
    assert recorder.passes == recorder.inner.passes > 0
    assert recorder.deviation(ASKED, "gradient", 0) == recorder.inner.deviation(ASKED, "gradient", 0) > 0


def test_public_noise_can_be_read_from_a_replay():
    recorder = recording()
    program(recorder)
    assert ReplayOracle(recorder, recorder.tape).deviation(ASKED, "gradient", 0) == recorder.deviation(
        ASKED, "gradient", 0
    )


def test_another_question_is_noticed():
    recorder = recording()
    program(recorder)
    replay = ReplayOracle(recorder, recorder.tape)
    with pytest.raises(PrivacyError, match="not what the recorded run asked"):
        replay.squares()


def test_the_same_door_under_another_name_is_noticed():
    recorder = recording()
    program(recorder)
    replay = ReplayOracle(recorder, recorder.tape)
    with pytest.raises(PrivacyError, match="not what the recorded run asked"):
        replay.gradient(np.zeros(13), clip=CLIP, ask="values")


def test_a_replay_refuses_what_was_not_priced():
    recorder = recording()
    program(recorder)
    replay = ReplayOracle(recorder, recorder.tape)
    program(replay)
    with pytest.raises(NotPricedError):
        replay.gradient(np.zeros(13), clip=CLIP)
    with pytest.raises(NotPricedError):
        replay.gradient(np.zeros(13), clip=CLIP, ask="loss")


def test_a_tape_that_ends_early_is_noticed():
    recorder = recording()
    program(recorder)
    with pytest.raises(PrivacyError, match="not what the recorded run asked"):
        program(ReplayOracle(recorder, recorder.tape[:3]))


def test_a_tape_can_be_played_twice():
    recorder = recording()
    answers = program(recorder)
    for _ in range(2):
        assert same(program(ReplayOracle(recorder, recorder.tape)), answers)


def test_changing_an_answer_does_not_change_the_tape():
    recorder = recording()
    first = recorder.gradient(np.zeros(13), clip=CLIP)
    kept = first.copy()
    first[:] = 0.0
    assert np.array_equal(recorder.tape[0][2], kept)
    played = ReplayOracle(recorder, recorder.tape).gradient(np.zeros(13), clip=CLIP)
    played[:] = 0.0
    assert np.array_equal(recorder.tape[0][2], kept)


def test_what_was_refused_is_not_on_the_tape():
    recorder = recording()
    with pytest.raises(NotPricedError):
        recorder.gradient(np.zeros(13), clip=CLIP, ask="loss")
    assert recorder.tape == []
    assert recorder.questions == []
