r"""Sums over some of the parts of rows that stand apart, each of which is added exactly once.

Guarantee
---------
A partial sum names the parts that it holds. `add_up` adds two of them only if they share no part. A
copy of what is there already (a task that an engine ran twice, a straggler) is left out, and
whatever cannot be distinguished is refused. So the sum over all parts is the same in every order, for
every tree and after any number of copies. Integers are added as two words (`Total`) and sent
without loss.

A part is also named by a seal: a keyed digest of its rows. A part that is made again, because the
machine that held it was lost, must have the same one; otherwise its record could have been counted
elsewhere before, and the sum is refused.

A partial sum also says which process made it and with which release. `add_up` and `value_of` take
sums of their own release alone, so all processes between the rows and the driver, also those that
only add, run what the driver runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...core.errors import DataError
from ...core.release import UNKNOWN, Origin
from ...queries.sensitivity import Integers
from ..narrow import narrow
from .base import WORD, Total

#: A sum is sent as places and values where at most this part of it is not zero: a place takes 4
#: bytes and a value up to 8.
SPARSE_BELOW = 0.5

#: Sums up to this are added in 64 bits: no partial sum of theirs is larger.
SHORT = (1 << 63) - 1

OVERLAP = (
    "parts of the rows came back in sums that cannot be distinguished. Nothing was released for this "
    "query; run the fit again."
)
CHANGED = (
    "rows on the cluster are not what they were when they were first read. Fits need a source that "
    "gives the same rows in the same order "
    "whenever a part of it is read again: write the rows to files, or sort them, before the fit."
)


@dataclass(frozen=True, eq=False, repr=False)
class PartialSum:
    """The exact sum over some parts: **private**.

    Attributes
    ----------
    parts : mapping of int to bytes
        Numbers of the parts, and their seals.
    size : int
        Length of the sum.
    words : tuple of arrays
        The sum itself, or its high and low words where 64 bits do not hold it; without zeros if `places` is given.
    places : array or None
    origin : Origin
        The process that made this sum, of rows or of other sums.
    """

    parts: Mapping[int, bytes]
    size: int
    words: tuple[NDArray[np.signedinteger], ...]
    places: NDArray[np.int32] | None
    origin: Origin = UNKNOWN

    @classmethod
    def of_part(cls, number: int, seal: bytes, sums: Iterable[Integers]) -> PartialSum:
        """What the rows of one part add, which may be some shards."""
        total = Total(0)
        for integers in sums:
            total.add(integers)
        return cls.of_total({number: seal}, total)

    @classmethod
    def of_total(cls, parts: Mapping[int, bytes], total: Total) -> PartialSum:
        """An exact sum of any size."""
        if total.only is not None:
            return cls.of_words(parts, total.only)
        high, low = total.words
        limit = 1 << (63 - WORD)
        short = bool(np.all((high >= -limit) & (high < limit)))
        return cls.of_words(parts, *((np.asarray((high << WORD) + low),) if short else (high, low)))

    @classmethod
    def of_words(cls, parts: Mapping[int, bytes], *words: Integers) -> PartialSum:
        """A sum of 64 bits, or its two words, in few bytes."""
        used = words[0] != 0 if len(words) == 1 else (words[0] != 0) | (words[1] != 0)
        places = None
        if np.count_nonzero(used) <= SPARSE_BELOW * used.size:
            places = np.flatnonzero(used).astype(np.int32)
            words = tuple(word[places] for word in words)
        return cls(parts, used.size, tuple(narrow(word) for word in words), places, Origin.here())

    def add_to(self, total: Total) -> None:
        """Add this sum to another."""
        words = [word.astype(np.int64) for word in self.words]
        if self.places is not None:
            whole = [np.zeros(self.size, dtype=np.int64) for _ in words]
            for found, word in zip(whole, words, strict=True):
                found[self.places] = word
            words = whole
        if len(words) == 1:
            total.add(words[0])
        else:
            total.add_words(words[0], words[1])

    @property
    def bound(self) -> int:
        """No number of the sum is larger than this; more than 64 bits hold, where they do not hold the sum."""
        [word, *more] = self.words
        return 1 << 64 if more else max(int(word.max(initial=0)), -int(word.min(initial=0)))

    @property
    def sent_bytes(self) -> int:
        """How much a message of this sum takes, about."""
        return sum(word.nbytes for word in self.words) + (0 if self.places is None else self.places.nbytes)

    def __repr__(self) -> str:
        return f"PartialSum({len(self.parts)} parts)"


def add_up(partials: Iterable[PartialSum]) -> PartialSum:
    """The sum over all parts of some partial sums, each part once."""
    held: dict[int, bytes] = {}
    taken = list[PartialSum]()
    for partial in sorted(partials, key=lambda one: -len(one.parts)):
        refuse_other_release(partial.origin)
        known = [number for number in partial.parts if number in held]
        if any(held[number] != partial.parts[number] for number in known):
            raise DataError(CHANGED)
        if known and len(known) < len(partial.parts):
            raise DataError(OVERLAP)
        if not known:
            held.update(partial.parts)
            taken.append(partial)
    if sum(partial.bound for partial in taken) <= SHORT:
        return PartialSum.of_words(held, _short_sum(taken))
    total = Total(0)
    for partial in taken:
        partial.add_to(total)
    return PartialSum.of_total(held, total)


def refuse_other_release(origin: Origin) -> None:
    """Refuse what another release computed, or the same one on other libraries; names both processes and releases."""
    difference = origin.difference()
    if difference:
        raise DataError(difference)


def _short_sum(partials: Sequence[PartialSum]) -> Integers:
    """The sum of sums that 64 bits hold together."""
    total = np.zeros(partials[0].size, dtype=np.int64)
    for partial in partials:
        [word] = partial.words
        if partial.places is None:
            total += word
        else:
            total[partial.places] += word  # each place once
    return total


def value_of(partial: PartialSum, seals: Mapping[int, bytes], largest: int) -> Integers:
    """The exact sum over all parts, clamped.

    Refuses one that lacks a part, holds one that changed, or was made by another release.

    Parameters
    ----------
    partial : PartialSum
    seals : mapping of int to bytes
        All parts, as they were first read.
    largest : int
        Where totals are clamped.
    """
    refuse_other_release(partial.origin)
    if partial.parts.keys() != seals.keys():
        raise DataError(OVERLAP)
    if any(seals[number] != seal for number, seal in partial.parts.items()):
        raise DataError(CHANGED)
    total = Total(largest)
    partial.add_to(total)
    return total.value()
