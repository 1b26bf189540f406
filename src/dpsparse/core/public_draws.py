"""Numbers that nobody chose and everybody may know, such as the lengths of epochs that a recipe draws when it plans.

A run that is resumed must plan what it planned before, so it draws them again from a key that it
has kept: see `repeatable`.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np

#: Bits of one number.
BITS = 63

_next: ContextVar[Callable[[], int] | None] = ContextVar("dpsparse_public_draws", default=None)


def public_number() -> int:
    """A number of `BITS` bits: from the operating system, or the next one of a `repeatable` block."""
    drawn = _next.get()
    return secrets.randbits(BITS) if drawn is None else drawn()


@contextmanager
def repeatable(key: bytes | None) -> Iterator[None]:
    """Let `public_number` give the same numbers in every block with this key; None changes nothing."""
    if key is None:
        yield
        return
    generator = np.random.default_rng(int.from_bytes(key, "little"))
    before = _next.set(lambda: int(generator.integers(2**BITS)))
    try:
        yield
    finally:
        _next.reset(before)
