r"""What a place for rows must offer, and how the parts of an answer are added up.

Guarantee
---------
`Total` adds the 64-bit integers of any number of parts, up to :math:`2^{30}` of them, exactly: a
number is kept as a high and a low word of 32 bits each. The exact sum is then clamped to
:math:`\pm` `Lattice.largest_total`. Clamping is 1-Lipschitz in every coordinate, so no two sums of
neighbours come further apart, in any coordinate or norm, than they were: every stated sensitivity holds
whatever the true number of rows is. Integers add up to the same sum in every order.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from ...core.errors import PrivacyError
from ...core.facts import Facts
from ...queries.charge import Charge
from ...queries.losses import Loss
from ...queries.sensitivity import Integers
from ..lattice import Lattice
from ..records import Records
from ..shard import Shard

#: Bits of a low word.
WORD = 32
MASK = (1 << WORD) - 1


class Host(Protocol):
    """A place where shards live."""

    @property
    def facts(self) -> Facts:
        """What is public about the rows."""
        ...

    @property
    def lattice(self) -> Lattice:
        """Units and bounds: public."""
        ...

    @property
    def shards(self) -> tuple[Shard, ...] | None:
        """The rows themselves, for statistics: **private**. None where they cannot be brought together."""
        ...

    def total(self, charge: Charge, loss: Loss) -> Integers:
        """Sum of ``partial_sum(charge, shard, loss)`` over all shards: **private**. Uses the charge."""
        ...

    def close(self) -> None:
        """Give back what rows take outside memory; nothing is answered after it."""
        ...


def check_units(source: Records, facts: Facts) -> None:
    """Refuse rows that name units where the facts protect rows, and the other way round."""
    if facts.by_unit is not source.by_units:
        raise PrivacyError("a guarantee for units needs rows that say whose they are, and only such rows have units.")


class Total:
    """A sum of integers that cannot overflow."""

    def __init__(self, largest: int) -> None:
        self._largest = largest
        self._only: Integers | None = None
        self._words: tuple[Integers, Integers] | None = None

    def add(self, part: Integers) -> None:
        """Add the integers of one part."""
        if self._only is None and self._words is None:
            self._only = part
            return
        self.add_words(*_words(part))

    def add_words(self, high: Integers, low: Integers) -> None:
        """Add the words of a sum that was made elsewhere."""
        if self._only is not None and self._words is None:
            self._words = _words(self._only)
        self._words = (high, low) if self._words is None else (self._words[0] + high, self._words[1] + low)

    @property
    def only(self) -> Integers | None:
        """The sum, where it is that of one part, as it came; None otherwise."""
        return self._only if self._words is None else None

    @property
    def words(self) -> tuple[Integers, Integers]:
        """High and low word of the exact sum, not clamped; the low one is within its bits."""
        if self._words is None:
            if self._only is None:
                raise ValueError("a host holds at least one part, if an empty one.")
            return _words(self._only)
        return self._words[0] + (self._words[1] >> WORD), self._words[1] & MASK

    def value(self) -> Integers:
        """The exact sum, clamped."""
        if self._words is None:
            if self._only is None:
                raise ValueError("a host holds at least one part, if an empty one.")
            only = self._only
            if max(only.max(initial=0), -int(only.min(initial=0))) <= self._largest:
                return only
            return np.asarray(np.clip(only, -self._largest, self._largest))
        high, low = self.words
        held = np.clip(high, -(1 << (62 - WORD)) - 1, 1 << (62 - WORD))  # beyond +-2^62 the words tell only the side
        return np.asarray(np.clip((held << WORD) + low, -self._largest, self._largest))


def _words(part: Integers) -> tuple[Integers, Integers]:
    """High and low word of each integer; the low one is not negative."""
    return part >> WORD, part & MASK
