"""Offsets and weights of records: within sensitivity whatever they are, and nothing where they say nothing."""

from __future__ import annotations

import numpy as np
import pytest

from builders import measured, whole_sum
from dpsparse.core import Adjacency, PrivacyError
from dpsparse.core.facts import Clip, Facts
from dpsparse.queries import gradient as gradient_module
from dpsparse.queries.kinds import Gradient
from dpsparse.queries.losses import Logistic, Poisson, Squared
from dpsparse.queries.rules import SUMS
from dpsparse.rows import slopes as slopes_module
from dpsparse.rows.hosts import DiskHost, MemoryHost
from dpsparse.rows.records import Records
from dpsparse.rows.row_terms import RowTerms
from questions import FACTS, QUESTIONS, D

PLAIN = FACTS.with_(counts_unread=0, counts_clipped=False)
TERMS = PLAIN.with_(offset_bound=(-5.0, 5.0), weight_bound=10.0)
#: Sums in which a loss meets rows.
SLOPES = [
    name for name, q in QUESTIONS.items() if type(q) in SUMS and type(q).__name__ not in ("Unread", "ClippedShare")
]
HOSTILE = [np.nan, np.inf, -np.inf, 1e308, -1e308, 0.0, -3.0, 10.0]


def rows(n: int = 40) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    return rng.normal(0, 0.6, (n, D)), rng.normal(0, 2, n)


def host(X, y, facts, offset, weight, kind=MemoryHost):
    source = Records(X).with_terms(RowTerms(np.asarray(offset, float), np.asarray(weight, float)))
    return kind(source, y, facts) if kind is MemoryHost else kind(source, y, facts, 2**26)


@pytest.mark.parametrize("name", SLOPES)
def test_hostile_offsets_and_weights_stay_within_the_sensitivity(name):
    question, (X, y), rng = QUESTIONS[name], rows(), np.random.default_rng(0)
    offset, weight = rng.uniform(-5, 5, 40), rng.uniform(0, 10, 40)
    found = measured(question, host(X, y, TERMS, offset, weight), Squared())
    before, reach = found.values, found.reach
    norm, entries = reach.l2(Adjacency.REPLACE_ONE), reach.linf(Adjacency.REPLACE_ONE)
    for place in (0, 20, 39):
        for bad in HOSTILE:
            o, w, X2, y2 = offset.copy(), weight.copy(), X.copy(), y.copy()
            o[place], w[place], y2[place] = bad, HOSTILE[-1 - HOSTILE.index(bad)], 1e9
            X2[place] = 50.0
            moved = np.abs(measured(question, host(X2, y2, TERMS, o, w), Squared()).values - before)
            assert np.all(moved <= entries * (1 + 1e-9) + 1e-12), (name, bad)
            assert np.linalg.norm(moved) <= norm * (1 + 1e-9) + 1e-12, (name, bad)


def test_an_offset_that_is_added_behind_the_clip_would_break_the_sensitivity(monkeypatch):
    (X, y), question = rows(), Gradient(np.zeros(D + PLAIN.free), Clip(0.5))
    honest = gradient_module.factors

    def late(block, lattice, slope, clip):
        return honest(block, lattice, slope, clip) + np.round(1e3 * block.terms.offset)

    monkeypatch.setattr(gradient_module, "factors", late)
    zero = np.zeros(40)
    before = measured(question, host(X, y, TERMS, zero, zero + 1), Squared()).values
    far = zero.copy()
    far[5] = 5e6
    wide = TERMS.with_(offset_bound=(-1e7, 1e7))
    after = measured(question, host(X, y, wide, far, zero + 1), Squared()).values
    assert np.linalg.norm(after - before) > 2 * question.clip.norm


@pytest.mark.parametrize("kind", [MemoryHost, DiskHost])
@pytest.mark.parametrize("name", SLOPES)
def test_offset_zero_and_weight_one_change_no_bit(name, kind):
    question, (X, y) = QUESTIONS[name], rows()
    plain = MemoryHost(X, y, PLAIN)
    said = host(X, y, TERMS, np.zeros(40), np.ones(40), kind)
    assert np.array_equal(whole_sum(said, question, Squared()), whole_sum(plain, question, Squared()))


def test_disk_and_memory_agree_with_terms():
    (X, y), rng = rows(), np.random.default_rng(1)
    offset, weight = rng.uniform(-2, 2, 40), rng.uniform(0, 4, 40)
    for name in SLOPES:
        hosts = [host(X, y, TERMS, offset, weight, kind) for kind in (MemoryHost, DiskHost)]
        one, two = (whole_sum(h, QUESTIONS[name], Squared()) for h in hosts)
        assert np.array_equal(one, two), name


@pytest.mark.parametrize("loss", [Squared(), Logistic(), Poisson()])
def test_a_slope_is_the_weight_times_the_slope_at_the_margin_with_the_offset(loss):
    (X, y), rng = rows(), np.random.default_rng(2)
    y = np.abs(np.rint(y)) if not loss.classes else (y > 0).astype(float)
    offset, weight = rng.uniform(-2, 2, 40), rng.uniform(0, 4, 40)
    block = host(X, y, TERMS, offset, weight).shards[0].blocks[0]
    margins = rng.normal(size=40)
    assert np.array_equal(slopes_module.slopes(loss, margins, block), weight * loss.slope(margins + offset, block.y))


def test_records_without_a_finite_offset_or_weight_are_absent():
    X, y = rows()
    offset, weight = np.zeros(40), np.ones(40)
    offset[3], weight[4] = np.nan, np.inf
    block = host(X, y, TERMS, offset, weight).shards[0].blocks[0]
    assert np.flatnonzero(block.present == 0).tolist() == [3, 4]


def test_terms_are_held_within_their_bounds():
    X, y = rows()
    terms = host(X, y, TERMS, np.full(40, 99.0), np.full(40, -1.0)).shards[0].blocks[0].terms
    assert np.all(terms.offset == 5.0)
    assert np.all(terms.weight == 0.0)
    assert "99" not in repr(terms)


def test_rows_without_terms_are_refused_where_facts_have_them_and_the_other_way_round():
    X, y = rows()
    with pytest.raises(PrivacyError, match="exactly where a bound"):
        MemoryHost(X, y, TERMS)
    with pytest.raises(PrivacyError, match="exactly where a bound"):
        host(X, y, PLAIN.with_(weight_bound=2.0), np.zeros(40), np.ones(40))


def test_terms_are_not_stored():
    import pickle

    with pytest.raises(TypeError, match="not copied or stored"):
        pickle.dumps(RowTerms(np.zeros(2)))


def test_facts_know_whether_records_have_terms():
    assert not Facts(n_rows=3, n_features=1).has_terms
    assert Facts(n_rows=3, n_features=1, weight_bound=1.0).has_terms
