r"""Which of many candidates can be among the best: their first random bits tell.

The noise of a candidate is a monotone function of one uniform number W (`lazy`). Of W the first
eight bits, a byte, are drawn for everybody. Take a level c and a part t/256. Anyone who has a score of
at most c and a byte outside the t extreme ones has noise of at most z, the noise at the edge of
that part; so a noisy score of at most :math:`L = c + b z`. If `count` others are surely above L,
nobody else is among the best, and further bits are drawn for those others alone: some thousands of
a million.

Guarantee
---------
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
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from .lazy import MARGIN, WORD, Exponentials, Floats, random_words

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


class Law(Protocol):
    """Noise of unit scale as a function of an exponential number."""

    def estimates(self, numbers: Exponentials) -> tuple[Floats, Floats]:
        """Noise, and how far it may be from that."""
        ...

    def extreme(self, first: Bytes, part: int) -> NDArray[np.bool_]:
        """Whose first bits are among the `part` of 2**FIRST with the largest noise."""
        ...

    def edge(self, part: int) -> float:
        """What the noise of all others is below."""
        ...

    def above(self, level: Floats) -> Floats:
        """Chance of noise above a level, roughly."""
        ...


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
    for _ in range(16):
        middle = (low + high) / 2
        enough = float(law.above((middle - sample) / scale).sum()) >= wanted
        low, high = (middle, high) if enough else (low, middle)
    costs = [(part / 2**FIRST + float(np.mean(sample > low - scale * law.edge(part))), part) for part in PARTS]
    cost, part = min(costs)
    return (low - scale * law.edge(part), part) if cost < 0.25 else None
