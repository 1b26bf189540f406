"""How a sum leaves the room: measured once, rounded exactly, with noise that may be drawn aside."""

from __future__ import annotations

import numpy as np
import pytest

from builders import oracle_of
from dpsparse.core.budget import Budget
from dpsparse.core.facts import Clip, Facts
from dpsparse.core.plan import Ask, Noise, PoissonRows
from dpsparse.losses import Logistic
from dpsparse.oracles import central
from dpsparse.queries.centred import away, away_by_pieces
from dpsparse.queries.kinds import Gradient, WeightedGradient
from dpsparse.queries.rules import SumSpecCache, measure
from dpsparse.queries.sensitivity import Sensitivity, SumSpec
from dpsparse.rows.hosts import MemoryHost


def host(n: int = 50, d: int = 7) -> MemoryHost:
    rng = np.random.default_rng(3)
    X = rng.uniform(-1, 1, (n, d))
    facts = Facts(n_rows=n, n_features=d, lower=-1.0, upper=1.0, row_norm=2.0, intercept=0.5, target_bound=1.0)
    return MemoryHost(X, (X[:, 0] > 0).astype(float), facts)


def counted(coarse) -> SumSpec:
    size = np.size(coarse)
    return SumSpec(Sensitivity(1.0, np.ones(size)), 1.0, 1.0, coarse)


@pytest.mark.parametrize("size", [2**20, 2**52, 2**53, 2**62 - 2**58])
def test_sums_are_rounded_to_the_nearest_step_as_integers_are(size):
    rng = np.random.default_rng(size % 1009)
    coarse = np.r_[1, 2, 3, 7, 2**16, 2**16 + 1, rng.integers(1, 2**17, 500)]
    near = (size // coarse - 1) * coarse
    for edge in (-1, 0, 1):
        for sign in (-1, 1):
            total = sign * (near + coarse // 2 + edge)
            expected = [(int(t) + int(k) // 2) // int(k) for t, k in zip(total, coarse, strict=True)]
            assert counted(coarse).rounded(total).tolist() == expected
    assert counted(4).rounded(np.array([2, -2, 5, -7])).tolist() == [1, 0, 1, -2]


def measured(measures, question, how):
    """What is kept of a query, or else made now and kept."""
    known = measures.known(question)
    return measures.keep(question, how(question)) if known is None else known[1]


def test_a_question_is_measured_once_for_all_its_turns():
    asked = []
    lattice = host().lattice

    def watched(question):
        asked.append(question)
        return measure(question, lattice)

    measures = SumSpecCache()
    first = measured(measures, WeightedGradient(np.zeros(8), np.ones(8), 0.5), watched)
    assert measured(measures, WeightedGradient(np.ones(8), np.ones(8), 0.5), watched) is first
    assert len(asked) == 1


@pytest.mark.parametrize("change", ["weights", "in place", "norm", "support", "question"])
def test_what_changes_a_measure_is_measured_anew(change):
    lattice = host().lattice
    measures, weights = SumSpecCache(), np.ones(8)

    def counted(question):
        return measure(question, lattice)

    before = measured(measures, WeightedGradient(np.zeros(8), weights, 0.5), counted)
    asked = {
        "weights": WeightedGradient(np.zeros(8), np.full(8, 2.0), 0.5),
        "in place": WeightedGradient(np.zeros(8), weights, 0.5),
        "norm": WeightedGradient(np.zeros(8), weights, 0.25),
        "support": WeightedGradient(np.zeros(8), weights[:3], 0.5, np.array([0, 2, 4])),
        "question": Gradient(np.zeros(8), Clip(0.5)),
    }[change]
    if change == "in place":
        weights[3] = 9.0
    found, expected = measured(measures, asked, counted), measure(asked, lattice)
    assert found is not before
    assert np.array_equal(found.step, expected.step)
    assert found.reach.norm == expected.reach.norm


@pytest.mark.parametrize("sampled", [False, True], ids=["all rows", "a sample"])
def test_noise_that_is_drawn_aside_is_the_noise_that_would_be_drawn(sampled, monkeypatch):
    rows = PoissonRows(0.5) if sampled else None
    answers = []
    for threads, least in (("1", 1), ("2", 1), ("2", 10**9)):
        monkeypatch.setenv("DPSPARSE_THREADS", threads)
        monkeypatch.setattr(central, "DRAWN_ASIDE", least)
        ask = Ask(name="ask", noise=Noise.GAUSSIAN, times=3, **({} if rows is None else {"rows": rows}))
        oracle = oracle_of(host(), Logistic(), ask, budget=Budget(1.0, 1e-5))
        answers.append([oracle.answer(Gradient(np.zeros(8), Clip(0.5)), "ask").tobytes() for _ in range(3)])
        assert len(set(answers[-1])) == 3
    assert answers[0] == answers[1] == answers[2]


def test_a_sum_that_fails_while_noise_is_drawn_says_why(monkeypatch):
    monkeypatch.setenv("DPSPARSE_THREADS", "2")
    monkeypatch.setattr(central, "DRAWN_ASIDE", 1)
    oracle = oracle_of(host(), Logistic())
    monkeypatch.setattr(MemoryHost, "total", lambda *_: (_ for _ in ()).throw(MemoryError("full")))
    with pytest.raises(MemoryError, match="full"):
        oracle.answer(Gradient(np.zeros(8), Clip(0.5)), "ask")


def test_centred_rows_are_the_same_in_pieces(monkeypatch):
    monkeypatch.setattr("dpsparse.queries.centred.LEAST_ROWS", 16)
    monkeypatch.setattr("dpsparse.queries.centred.PIECE_ENTRIES", 1)
    shard, support = host(n=70).shards[0], np.array([5, 0, 3])
    centre = np.array([0.1, -0.3, 0.7])
    whole, norms, _ = next(away(support, centre, shard))
    pieces = list(away_by_pieces(support, centre, shard))
    assert len(pieces) == 5
    assert np.ascontiguousarray(whole).tobytes() == np.concatenate([x for x, _ in pieces]).tobytes()
    assert norms.tobytes() == np.concatenate([length for _, length in pieces]).tobytes()
