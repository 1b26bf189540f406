"""Noise with as many bits as a decision needs: exact laws by enumeration, far tails, near ties. Nothing here is left to chance."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

import numpy as np
import pytest

from dpsparse.core.mechanisms import gumbel_top_k, laplace, lattice_laplace, lazy, permute_and_flip
from truth import lattice

mpmath = pytest.importorskip("mpmath")


class MoreBits(Exception):
    """A script has ended; so many words are asked for."""


class Script:
    """Stands in for `Randomness` and its generator: its words are given."""

    def __init__(self, words: Sequence[int], endless: int | None = None) -> None:
        self.words = list(words)
        self.asked = 0
        self._endless = endless

    def generator(self) -> Script:
        return self

    def integers(self, low: int, high: int, size: int, dtype: type, endpoint: bool) -> np.ndarray:
        assert (low, high, dtype, endpoint) == (0, 2**lazy.WORD - 1, np.uint64, True)
        first, self.asked = self.asked, self.asked + size
        while len(self.words) < self.asked:
            if self._endless is None:
                raise MoreBits(size)
            self.words.append(self._endless)
        return np.array(self.words[first : self.asked], dtype=np.uint64)


def outcomes(draw: Callable[[Script], int], bits: int, words: int) -> Iterator[tuple[int, Fraction]]:
    """Every outcome of a sampler that is decided by so many words of so few bits, and its probability."""
    open_ends: list[tuple[int, ...]] = [()]
    while open_ends:
        script = open_ends.pop()
        source = Script(script)
        try:
            yield draw(source), Fraction(1, 2 ** (bits * len(script)))
        except MoreBits as more:
            if source.asked <= words:
                new = range(2**bits)
                for number in range(len(new) ** more.args[0]):
                    added = tuple(number // len(new) ** i % len(new) for i in range(more.args[0]))
                    open_ends.append((*script, *added))


def decided(draw: Callable[[Script], int], bits: int, words: int) -> dict[int, Fraction]:
    law: dict[int, Fraction] = {}
    for outcome, probability in outcomes(draw, bits, words):
        law[outcome] = law.get(outcome, Fraction(0)) + probability
    return law


def agree(found: dict[int, Fraction], exact: Callable[[int], float], undecided: float) -> None:
    """What is decided is below the exact law, for every outcome, and little is left."""
    assert 1 - float(sum(found.values())) < undecided
    assert max(float(p) - exact(k) for k, p in found.items()) < 1e-12


@pytest.fixture
def short_words(monkeypatch):
    """Words of a few bits, so that all of them can be tried."""

    def shorten(bits: int) -> None:
        monkeypatch.setattr(lazy, "WORD", bits)
        monkeypatch.setattr(laplace, "WORD", bits)

    return shorten


# ------------------------------------------------------------------------------------------------ exact laws


@pytest.mark.parametrize("gap", [pytest.param(0.0, marks=pytest.mark.slow), 1.3])
def test_a_selection_has_exactly_the_odds_of_the_exponential_mechanism(short_words, gap):
    short_words(2)
    scores, scale = np.array([0.4 + gap, 0.4]), 0.8
    law = decided(lambda source: int(gumbel_top_k(scores, 1, scale, source)[0]), 2, 6)
    agree(law, lambda k: lattice.exponential_mechanism(scores, scale)[k], 0.06)


@pytest.mark.parametrize("gap", [pytest.param(0.0, marks=pytest.mark.slow), 1.3])
def test_permute_and_flip_has_exactly_the_odds_of_its_definition(short_words, gap):
    short_words(2)
    scores, scale = np.array([0.4, 0.4 + gap]), 0.8
    law = decided(lambda source: permute_and_flip(scores, scale, source), 2, 6)
    agree(law, lambda k: lattice.permute_and_flip(scores, scale)[k], 0.06)


@pytest.mark.slow
def test_pairs_have_exactly_the_odds_of_peeling(short_words):
    short_words(2)
    scores, scale = np.array([1.0, 0.2, -0.5]), 0.9
    pairs = lattice.peeling(scores, scale).ravel()
    law = decided(lambda source: int(gumbel_top_k(scores, 2, scale, source) @ [3, 1]), 2, 7)
    agree(law, lambda k: pairs[k], 0.35)
    assert len(law) == 6


@pytest.mark.parametrize("scale", [0.4, 1.0, 3.7])
def test_rounded_laplace_noise_has_exactly_its_law(short_words, scale):
    short_words(5)

    def exact(k: int) -> float:
        return -math.expm1(-0.5 / scale) if k == 0 else math.sinh(0.5 / scale) * math.exp(-abs(k) / scale)

    law = decided(lambda source: int(lattice_laplace(np.zeros(1, dtype=np.int64), scale, source)[0]), 5, 3)
    agree(law, exact, 0.01)
    assert law[1] == law[-1], "both signs"


def test_control_a_float_sampler_has_holes_and_this_one_has_none(short_words):
    """Six bits a uniform: what 53 bits do at a distance of 40 scales shows at a distance of 7."""
    short_words(6)
    near, far = np.array([6.0, 0.0]), np.array([7.5, 0.0])  # neighbours: the range moves by 1.5

    def floats(scores: np.ndarray) -> set[int]:
        uniform = (np.arange(64) + 0.5) / 64
        noise = -np.log(-np.log(uniform))
        return set(np.argmax(scores[:, None, None] + np.stack(np.meshgrid(noise, noise)), axis=0).ravel().tolist())

    assert floats(near) == {0, 1}
    assert floats(far) == {0}, "an outcome that rules one neighbour out: epsilon is infinite"
    for scores in (near, far):  # the first bits decide nothing, and further ones do
        assert gumbel_top_k(scores, 1, 1.0, Script([8, 0] * 4))[0] == 1


# ------------------------------------------------------------------------------------------------ tails and ties


def test_a_candidate_that_trails_by_a_hundred_scales_can_win_and_by_numpys_floats_cannot():
    scores = np.array([100.0, 0.0])
    won = Script([2**63, 0, *[2**63, 0] * 4])
    assert gumbel_top_k(scores, 1, 1.0, won)[0] == 1, "its uniform begins with hundreds of zeros"
    assert won.asked > 4
    lost = Script([2**63, 2**20])
    assert gumbel_top_k(scores, 1, 1.0, lost)[0] == 0
    assert lost.asked == 2, "clear at once"
    assert -math.log(-math.log(1 - 2.0**-53)) + math.log(-math.log(2.0**-53)) < 41, "control: how far floats reach"


def test_exponential_noise_beyond_36_scales_is_drawn():
    top = 2**64 - 1
    assert permute_and_flip(np.array([100.0, 0.0]), 1.0, Script([0, top, 0, top, 0, top, 0, top])) == 1
    noise = lattice_laplace(np.zeros(1, dtype=np.int64), 1.0, Script([top, top, 5, 5]))[0]
    with mpmath.workdps(100):  # 63 ones, then 64: beyond 2^-127, as far as the bits that follow say
        assert noise == int(mpmath.floor(0.5 + 127 * mpmath.log(2) - mpmath.log(1 - mpmath.mpf(5) / 2**64)))
    assert lattice_laplace(np.zeros(1, dtype=np.int64), 1.0, Script([0, top, 5, 5]))[0] == -noise


def noisy(score: float, scale: float, words: Sequence[int], transform: Callable) -> object:
    """Score plus noise, with 100 digits."""
    bits = sum(word << (64 * i) for i, word in enumerate(reversed(words)))
    uniform = (mpmath.mpf(bits) + 0.5) / mpmath.mpf(2) ** (64 * len(words))
    return mpmath.mpf(score) + mpmath.mpf(scale) * transform(-mpmath.log(1 - uniform))


@pytest.mark.parametrize("kind", ["gumbel", "permute-and-flip"])
def test_near_ties_are_decided_by_further_bits_as_real_numbers_would_be(kind):
    """Scores are chosen so that floats cannot tell: the winner is that of 100 digits and of all the bits."""
    rng = np.random.default_rng(4)
    transform = (lambda e: -mpmath.log(e)) if kind == "gumbel" else (lambda e: e)
    select = (
        (lambda s, r: int(gumbel_top_k(s, 1, 0.7, r)[0]))
        if kind == "gumbel"
        else (lambda s, r: permute_and_flip(s, 0.7, r))
    )
    doubtful, winners = 0, set()
    with mpmath.workdps(100):
        for _ in range(40):
            first, second = (int(w) for w in rng.integers(0, 2**64, 2, dtype=np.uint64))
            gap = float(noisy(0, 0.7, [first, 2**63], transform) - noisy(0, 0.7, [second, 2**63], transform))
            source = Script([first, second, *(int(w) for w in rng.integers(0, 2**64, 8, dtype=np.uint64))])
            scores = np.array([0.0, gap])
            winner = select(scores, source)
            doubtful += source.asked > 2
            if source.asked > 2:
                own = [noisy(s, 0.7, [source.words[j], source.words[2 + j]], transform) for j, s in enumerate(scores)]
                assert winner == int(own[1] > own[0])
                winners.add(winner)
    assert doubtful == 40
    assert winners == {0, 1}


def test_rounding_at_a_half_is_decided_by_further_bits():
    """The size is 3.5 to within floats; both neighbours come out, as 100 digits say."""
    found = set()
    with mpmath.workdps(100):
        word = int(mpmath.floor((1 - mpmath.exp(-mpmath.mpf(3.5))) * 2**63)) + 2**63
        for further in (0, 2**62, 2**63, 3 * 2**62, 2**64 - 1):
            source = Script([word, further, 7])
            noise = int(lattice_laplace(np.zeros(1, dtype=np.int64), 1.0, source)[0])
            uniform = (mpmath.mpf(((word - 2**63) << 64) + further) + 0.5) / mpmath.mpf(2) ** 127
            assert noise == int(mpmath.floor(-mpmath.log(1 - uniform) + 0.5))
            assert source.asked >= 2
            found.add(noise)
    assert found == {3, 4}


# ------------------------------------------------------------------------------------------------ intervals


@pytest.mark.parametrize("bits", [6, 63, 64])
def test_floats_are_within_their_radius_of_every_number_that_the_bits_allow(bits):
    rng = np.random.default_rng(bits)
    top = 2**bits - 1
    words = sorted(
        {0, 1, 2, 3, 31, 32, top // 2, top // 2 + 1, top - 3, top - 2, top - 1, top}
        | {int(rng.integers(top, dtype=np.uint64)) for _ in range(200)}
    )
    words = [w for w in words if 0 <= w <= top]
    estimate, radius = lazy.Exponentials(np.array(words, dtype=np.uint64), bits, rng).estimates()
    assert np.isinf(radius[[0, -1]]).all()
    with mpmath.workdps(60):
        for word, e, r in zip(words[1:-1], estimate[1:-1], radius[1:-1], strict=True):
            ends = [-mpmath.log(1 - mpmath.mpf(n) / mpmath.mpf(2) ** bits) for n in (word, word + 1)]
            assert (
                mpmath.mpf(float(e)) - mpmath.mpf(float(r))
                < ends[0]
                < ends[1]
                < mpmath.mpf(float(e)) + mpmath.mpf(float(r))
            )


def test_further_digits_are_bounds_from_both_sides_and_lose_little():
    rng = np.random.default_rng(3)
    words = rng.integers(0, 2**64, 40, dtype=np.uint64)
    words[:2] = 0, 2**64 - 1
    for which in range(40):
        source = Script([int(w) for w in rng.integers(0, 2**64, 3, dtype=np.uint64)])
        numbers = lazy.Exponentials(words, 64, source)
        for more in (1, 2, 3):
            with lazy.localcontext(numbers.digits(more)):
                low, high = numbers.bounds(which, more)
            known = int(words[which]) << (64 * more) | sum(
                w << (64 * (more - 1 - i)) for i, w in enumerate(source.words[:more])
            )
            with mpmath.workdps(200):
                ends = [-mpmath.log(1 - mpmath.mpf(n) / mpmath.mpf(2) ** (64 + 64 * more)) for n in (known, known + 1)]
                assert mpmath.mpf(str(low)) <= ends[0] < ends[1] <= mpmath.mpf(str(high))
                width = mpmath.mpf(str(high)) - mpmath.mpf(str(low))
                assert width / (ends[1] - ends[0]) - 1 < 1e-18


def test_the_margins_hold_the_roundings_they_were_derived_from():
    """37 units are needed for an exponential number and 35 for a score: half of 64 would not do."""
    assert lazy.MARGIN >= 37 * 2.0**-53
    assert lazy.GUARD >= 20 + 2
