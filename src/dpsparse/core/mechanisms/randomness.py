"""Where noise comes from: AES in counter mode, keyed by the operating system, with a fresh key for every release.

Numbers that nobody chose and everybody may know, such as the lengths of epochs that a recipe draws when it plans.

A run that is resumed must plan what it planned before, so it draws them again from a key that it
has kept: see `repeatable`.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np
from randomgen import AESCounter

from .. import checks


def keyed_generator(key: int) -> np.random.Generator:
    """AES-128 in counter mode under a key of 128 bits."""
    return np.random.Generator(AESCounter(key=key))  # type: ignore[arg-type]


class Randomness:
    """A source of generators for protecting noise.

    Parameters
    ----------
    seed : int or None
        None: cryptographic randomness. A seed makes the noise reproducible and the fit *not private*; it is for tests.

    Guarantee
    ---------
    Without a seed every generator is AES-128 in counter mode under a key that `os.urandom` made for it alone, so that
    one release reveals nothing about the randomness of another. With a seed `secure` is False, and statements say so.
    """

    def __init__(self, seed: object = None) -> None:
        self.secure = seed is None
        self._children: np.random.SeedSequence | None = None
        if isinstance(seed, np.random.RandomState):
            seed = int(seed.randint(0, 2**31 - 1))
        elif isinstance(seed, np.random.Generator):
            seed = int(seed.integers(0, 2**63 - 1))
        if seed is not None:
            if not checks.is_whole(seed) or seed < 0:
                raise checks.refusal("random_state", "None, a non-negative integer or a numpy generator", seed)
            self._children = np.random.SeedSequence(int(seed))

    def generator(self) -> np.random.Generator:
        """A generator for one release."""
        child = self._child()
        if child is not None:
            return np.random.Generator(np.random.PCG64(child))
        return keyed_generator(self.key())

    def key(self) -> int:
        """A fresh key of 128 bits, for draws that are made row by row, wherever the rows are."""
        child = self._child()
        fresh = os.urandom(16) if child is None else child.generate_state(4).tobytes()
        return int.from_bytes(fresh, "little")

    @property
    def seed(self) -> int | None:
        """The seed; None for cryptographic randomness."""
        return None if self._children is None else int(self._children.entropy)  # type: ignore[arg-type]

    @property
    def made(self) -> int:
        """Generators and keys that were made of a seed so far; 0 without a seed."""
        return 0 if self._children is None else self._children.n_children_spawned

    def skip_to(self, made: int) -> None:
        """Pass over what an earlier process made of the same seed; nothing without a seed."""
        if self._children is not None and made > self.made:
            self._children.spawn(made - self.made)

    def _child(self) -> np.random.SeedSequence | None:
        """A seed of its own for one release, where there is a seed."""
        return None if self._children is None else self._children.spawn(1)[0]

    def __repr__(self) -> str:
        return "Randomness(secure)" if self.secure else "Randomness(seeded: not private)"

    def __reduce__(self) -> Any:
        raise TypeError("randomness is not copied or stored: the same noise must never protect two releases.")


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
