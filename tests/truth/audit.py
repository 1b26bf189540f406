"""Statistical audits: what a sample proves about the privacy or the law of a mechanism."""

from __future__ import annotations

import numpy as np

from dpsparse.audit.lower_bounds import ALARM, SIGMAS, log_odds_shift, two_worlds
from dpsparse.audit.noise import ks_p_value, p_value

__all__ = ["ALARM", "SIGMAS", "Stream", "ks_p_value", "log_odds_shift", "mu_lower", "p_value"]


class Stream:
    """Stands in for `Randomness` where many draws are needed: one seeded generator for all of them."""

    secure = False

    def __init__(self, seed: int) -> None:
        self._generator = np.random.default_rng(seed)

    def generator(self) -> np.random.Generator:
        return self._generator

    def key(self) -> int:
        return int(self._generator.integers(2**63))


def mu_lower(present: np.ndarray, absent: np.ndarray, alarm: float = ALARM) -> float:
    """A lower bound on mu from outputs in two worlds; too high with probability at most `alarm`."""
    return two_worlds(present, absent, confidence=1 - alarm, aim="mu").mu
