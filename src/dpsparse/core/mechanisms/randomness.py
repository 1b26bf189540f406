"""Where noise comes from: AES in counter mode, whose key and places the operating system draws."""

from __future__ import annotations

import os
import threading
from typing import Any, NoReturn

import numpy as np
from randomgen import AESCounter

from .. import checks


def keyed_generator(key: int) -> np.random.Generator:
    """AES-128 in counter mode under a key of 128 bits."""
    return np.random.Generator(AESCounter(key=key))  # type: ignore[arg-type]


class _Keystream(threading.local):
    """AES-128 in counter mode under a key of its own for each thread, read from random places on."""

    def __init__(self) -> None:
        self._bits = AESCounter(key=int.from_bytes(os.urandom(16), "little"))  # type: ignore[arg-type]
        self._generator = np.random.Generator(self._bits)
        self._state: dict[str, Any] = self._bits.state

    def moved(self) -> np.random.Generator:
        """The generator, at a place that the operating system draws: a multiple of four blocks, made at once."""
        low, high = np.frombuffer(os.urandom(16), dtype="<u8")
        place = np.array([low & ~np.uint64(3), high] * 4, dtype=np.uint64)
        place[::2] += np.arange(4, dtype=np.uint64)
        self._state["s"]["counter"] = place
        self._bits.state = self._state
        return self._generator


class Randomness:
    """A source of generators for protecting noise.

    Parameters
    ----------
    seed : int or None
        None: cryptographic randomness. A seed makes the noise reproducible and the fit *not private*; it is for tests.

    Guarantee
    ---------
    Without a seed every generator is AES-128 in counter mode under a key that `os.urandom` made for this source and
    thread, and begins at a place of its keystream that `os.urandom` drew for it alone: a key for each
    would take ten times as long. No block of the keystream is used twice, but with a chance of at most
    :math:`R^2 2^{L-128}` for R releases of :math:`2^L` blocks each: two places are nearer than that with a chance of
    :math:`2^{L+1-128}`. For a million releases of :math:`2^{37}` numbers that is below :math:`2^{-51}`. AES is a
    permutation that nobody can tell from a random one. Its blocks differ from independent random bits in that none
    comes twice, which q blocks show with a chance of at most :math:`q^2/2^{129}`: :math:`2^{-64}` for ten thousand
    releases of a million numbers. So one release reveals nothing about the randomness of another. Places are drawn
    anew for each release, and not counted on, so that a process which was forked does not repeat its parent's noise.
    Threads share no generator. With a seed `secure` is False, and statements say so.
    """

    def __init__(self, seed: object = None) -> None:
        self.secure = seed is None
        self._children: np.random.SeedSequence | None = None
        self._keystream = _Keystream() if seed is None else None
        if isinstance(seed, np.random.RandomState):
            seed = int(seed.randint(0, 2**31 - 1))
        elif isinstance(seed, np.random.Generator):
            seed = int(seed.integers(0, 2**63 - 1))
        if seed is not None:
            if not checks.is_whole(seed) or seed < 0:
                raise checks.refusal("random_state", "None, a non-negative integer or a numpy generator", seed)
            self._children = np.random.SeedSequence(int(seed))

    def generator(self) -> np.random.Generator:
        """A generator for one release; the next call in this thread moves it to another place."""
        if self._keystream is not None:
            return self._keystream.moved()
        return np.random.Generator(np.random.PCG64(self._child()))

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

    def __reduce__(self) -> NoReturn:
        raise TypeError("randomness is not copied or stored: the same noise must never protect two releases.")
