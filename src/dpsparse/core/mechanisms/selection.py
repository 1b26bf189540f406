r"""Private selection: which candidates have the largest scores. Only indices are released.

Guarantee
---------
Selections have exactly the law that is named, for the scores as the floats that they are: noise is
known to as many digits as it takes to say which candidate wins (`lazy`), and for those that can win
(`Exponentials`). A candidate that trails by any number of scales may win, with its exact probability;
so there is no delta.

Scores enter as their distances from the largest score. A common shift changes no selection, and a
float difference is right to :math:`2^{-53}` of itself. Noise in floats adds few roundings to that:
`MARGIN` times (distance + scale (1 + noise)) is 64 units, of which a product, a sum, a difference
and a logarithm of 32 units need 35; the logarithm of an E within a part x of itself is off by at
most 2x for x up to 1/2.

**Few candidates need all their noise** (`draw_candidates`). The noise of a candidate is a monotone function of
one uniform number W (`lazy`). Of W the first eight bits, a byte, are drawn for everybody. Take a level c and a
part t/256. Anyone who has a score of at most c and a byte outside the t extreme ones has noise of at most z,
the noise at the edge of that part; so a noisy score of at most :math:`L = c + b z`. If `count` others are
surely above L, nobody else is among the best, and further bits are drawn for those others alone: some thousands
of a million.

The selection is the one that the *real* noise of all candidates leads to: bits that are not drawn
cannot change it, and bits that were drawn are kept. So the joint law of the selected indices and of
their order is exactly that of the method that draws all noise, for any scores, ties included; the
level and the part decide about time alone. If fewer than `count` are surely above L, the bits that
are missing are drawn for everybody, after the same first bytes.

**Floats.** L is rounded up: z is a logarithm of a logarithm of the exact number t/256, each right
to 32 units (`lazy`), so that z is off by at most :math:`2\cdot32 + 32|z|` units; the difference,
the product and the sum add three. `MARGIN` times (distance + scale (2 + abs(z))), 64 units each,
covers them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from ..curves import largest
from .lazy import MARGIN, WORD, Bounds, Exponentials, Floats, best, random_words, widened
from .randomness import Randomness

#: Bits that are drawn for everybody.
FIRST = 8
#: Fewer candidates than this get all their noise at once.
LEAST = 2**13
#: Scores that are looked at to choose a level and a part.
SAMPLE = 2048
#: Parts of 2**FIRST that are tried.
PARTS = tuple(2**i for i in range(7))

#: Where, as parts of their number.
PLACES = np.arange(SAMPLE) * ((math.sqrt(5) - 1) / 2) % 1

Bytes = NDArray[np.uint8]


class Gumbel:
    """Noise of unit scale as a function of an exponential number: -log of it, large where that is small."""

    def estimates(self, numbers: Exponentials) -> tuple[Floats, Floats]:
        """Noise, and how far it may be from that."""
        exponential, radius = numbers.estimates()
        with np.errstate(invalid="ignore"):
            part = radius / exponential
        return -np.log(exponential), np.where(part <= 0.5, 2 * part, np.inf)  # an E that may be 0 or without bound

    def extreme(self, first: Bytes, part: int) -> NDArray[np.bool_]:
        """Whose first bits are among the `part` of 2**FIRST with the largest noise."""
        return first < part

    def edge(self, part: int) -> float:
        """What the noise of all others is below."""
        return -math.log(-math.log1p(-part / 2**FIRST))

    def above(self, level: Floats) -> Floats:
        """Chance of noise above a level, roughly."""
        return np.asarray(-np.expm1(-np.exp(np.minimum(-level, 700.0))))

    def bounds(self, low: Decimal, high: Decimal) -> Bounds:
        """Ends of the noise from ends of the exponential number."""
        return _minus_log(high, -1), _minus_log(low, 1)


class Exponential:
    """Noise of unit scale as a function of an exponential number: that number itself."""

    def estimates(self, numbers: Exponentials) -> tuple[Floats, Floats]:
        """Noise, and how far it may be from that."""
        return numbers.estimates()

    def extreme(self, first: Bytes, part: int) -> NDArray[np.bool_]:
        """Whose first bits are among the `part` of 2**FIRST with the largest noise."""
        return np.asarray(first >= 2**FIRST - part)

    def edge(self, part: int) -> float:
        """What the noise of all others is below."""
        return math.log(2**FIRST / part)

    def above(self, level: Floats) -> Floats:
        """Chance of noise above a level, roughly."""
        return np.asarray(np.exp(np.minimum(-level, 0.0)))

    def bounds(self, low: Decimal, high: Decimal) -> Bounds:
        """Ends of the noise from ends of the exponential number."""
        return low, high


Law = Gumbel | Exponential


@dataclass(frozen=True, eq=False)
class Candidates:
    """Those who can be among the best: their indices, their distances from the largest score, and their noise."""

    which: NDArray[np.intp]
    distance: Floats
    numbers: Exponentials
    noisy: Floats
    reach: Floats


def draw_candidates(scores: Floats, count: int, scale: float, law: Law, generator: np.random.Generator) -> Candidates:
    """Noise for anyone who can be among the `count` best."""
    top = float(scores.max())
    chosen = _level(scores, count, scale, law) if scores.size >= LEAST else None
    if chosen is None:
        everybody = Exponentials.draw(scores.size, generator)
        return _candidates(np.arange(scores.size), scores - top, everybody, scale, law)
    level, part = chosen
    first = random_words(-(-scores.size * FIRST // WORD), generator).view(np.uint8)[: scores.size]
    mask = law.extreme(first, part)
    np.logical_or(mask, scores > level, out=mask)
    which = np.flatnonzero(mask)
    words = _longer(first[which], generator)
    found = _candidates(which, scores[which] - top, Exponentials(words, WORD, generator), scale, law)
    distance, edge = level - top, law.edge(part)
    ceiling = distance + scale * edge + MARGIN * (abs(distance) + scale * (2 + abs(edge)))
    if np.count_nonzero(found.noisy - found.reach > ceiling) >= count:
        return found
    rest = np.flatnonzero(~mask)
    every = np.empty(scores.size, dtype=np.uint64)
    every[which], every[rest] = words, _longer(first[rest], generator)
    return _candidates(np.arange(scores.size), scores - top, Exponentials(every, WORD, generator), scale, law)


def _longer(first: Bytes, generator: np.random.Generator) -> NDArray[np.uint64]:
    """Words that begin with given bits."""
    return first.astype(np.uint64) << np.uint64(WORD - FIRST) | random_words(first.size, generator) >> np.uint64(FIRST)


def _candidates(which: NDArray[np.intp], distance: Floats, numbers: Exponentials, scale: float, law: Law) -> Candidates:
    noise, doubt = law.estimates(numbers)
    reach = scale * doubt + MARGIN * (-distance + scale * (1 + np.abs(noise)))
    return Candidates(which, distance, numbers, distance + scale * noise, reach)


def _level(scores: Floats, count: int, scale: float, law: Law) -> tuple[float, int] | None:
    """A level and a part with which few are candidates and more than `count` are above; None where nothing is saved.

    By a sample of the scores, at steps of the golden ratio, so that no period of theirs is that of
    the sample. L is where twice as many as asked for, and eight of the sample, are expected to be
    above it, so that too few are rare.
    """
    sample = scores[(PLACES * scores.size).astype(np.intp)]
    many = scores.size / sample.size
    wanted = (2 * count + 8 * many) / many
    if wanted >= sample.size / 8:
        return None
    low, high = float(sample.min()), float(sample.max()) + scale * (math.log(sample.size) + 1)
    low = largest(lambda level: float(law.above((level - sample) / scale).sum()) >= wanted, low, high, steps=16)
    costs = [(part / 2**FIRST + float(np.mean(sample > low - scale * law.edge(part))), part) for part in PARTS]
    cost, part = min(costs)
    return (low - scale * law.edge(part), part) if cost < 0.25 else None


#: Scores beyond count as this: none is, and what is left after a difference is a number.
LARGEST = 1e300


def _check(scores: NDArray[np.float64], scale: float, count: int) -> NDArray[np.float64]:
    """Refuse what is no selection, by public numbers; scores as numbers whose differences are numbers."""
    if scores.ndim != 1 or not 1 <= count <= scores.size:
        raise ValueError(f"cannot select {count} of {scores.size} candidates.")
    if not (np.isfinite(scale) and scale > 0):
        raise ValueError(f"a noise scale must be positive and finite, got {scale!r}.")
    if scores.min() >= -LARGEST and scores.max() <= LARGEST:  # never so with a NaN
        return scores
    return np.clip(np.nan_to_num(scores), -LARGEST, LARGEST)


def _best(scores: Floats, count: int, scale: float, law: Law, source: Randomness) -> NDArray[np.intp]:
    """The `count` largest scores after noise of a law, best first."""
    drawn = draw_candidates(scores, count, scale, law, source.generator())
    chosen, size, top = scores[drawn.which], Decimal(float(scale)), Decimal(float(scores.max()))

    def bounds(which: int, words: int) -> Bounds:
        ends = law.bounds(*drawn.numbers.bounds(which, words))
        return _noisy(Decimal(float(chosen[which])) - top, size, *ends)

    return drawn.which[best(count, drawn.noisy, drawn.reach, drawn.numbers.digits, bounds)]


def gumbel_top_k(scores: NDArray[np.float64], count: int, scale: float, randomness: Randomness) -> NDArray[np.intp]:
    r"""The `count` largest scores after Gumbel noise, best first: one-shot peeling.

    .. math:: \mathrm{top}_k\; u_j + b\,G_j,\qquad G_j = -\log(-\log U_j)

    Guarantee
    ---------
    For one index this is the exponential mechanism: :math:`P(j) \propto e^{u_j/b}`. If between neighbours the
    *difference* of any two scores moves by at most :math:`R`, each index is :math:`\eta`-bounded range with
    :math:`\eta = R/b`, hence :math:`\eta`-DP and :math:`\eta^2/8`-zCDP. The whole top-k of one noisy vector has the law
    of `count` such selections without replacement, one after the other [DR21]_, so it costs `count` of them. If single
    scores move by at most :math:`\Delta`, then :math:`R \le 2\Delta`: one may rise while another falls.

    References
    ----------
    .. [DR21] Durfee and Rogers, NeurIPS 2019, Lemma 4.2: one-shot Gumbel noise equals sequential peeling.
    """
    return _best(_check(scores, scale, count), count, scale, Gumbel(), randomness)


def permute_and_flip(scores: NDArray[np.float64], scale: float, randomness: Randomness) -> int:
    r"""One index with a large score, by permute-and-flip.

    Guarantee
    ---------
    epsilon-DP with epsilon = 2 * (sensitivity of one score) / `scale`; never worse than the
    exponential mechanism of the same epsilon [MS20]_. It is the argmax after exponential noise of
    this scale, which has the same law [D21]_. It is not of bounded range at that epsilon, so it is
    priced as a pure mechanism.

    References
    ----------
    .. [MS20] McKenna and Sheldon, NeurIPS 2020.
    .. [D21] Ding, Kifer, Steinke, Wang, Xiao, Zhang, 2021: permute-and-flip is report-noisy-max with exponential noise.
    """
    return int(_best(_check(scores, scale, 1), 1, scale, Exponential(), randomness)[0])


def _minus_log(value: Decimal, side: int) -> Decimal:
    """-log(value), moved to a side by more than its rounding."""
    if value.is_infinite():
        return -value
    found = -value.ln()  # of 0: infinite
    return widened(found, found, side)


def _noisy(distance: Decimal, scale: Decimal, low: Decimal, high: Decimal) -> Bounds:
    """Bounds on a score less the largest one plus scale times noise."""
    ends = [(distance + scale * end, abs(distance) + abs(scale * end), side) for end, side in ((low, -1), (high, 1))]
    return widened(*ends[0]), widened(*ends[1])
