"""How times are taken: ways take turns, each in one order and then in the other, and the least of each counts."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Times:
    """Least seconds of one way: of the processor, of the clock; and what it returned last."""

    processor: float
    clock: float
    told: Any = None


def interleave(ways: Mapping[str, Callable[[], Any]], repeats: int) -> dict[str, Times]:
    """Least times of several ways. A way that measures itself (another process) returns `Times`."""
    best: dict[str, Times] = {}
    names = list(ways)
    for turn in range(repeats):
        for name in names if turn % 2 == 0 else names[::-1]:
            start, clock = time.process_time(), time.perf_counter()
            told = ways[name]()
            now = Times(time.process_time() - start, time.perf_counter() - clock, told)
            now = told if isinstance(told, Times) else now
            known = best.get(name, now)
            best[name] = Times(min(known.processor, now.processor), min(known.clock, now.clock), now.told)
    return best


def read_bandwidth(megabytes: int = 256) -> float:
    """Gigabytes per second of processor time for one thread that reads memory once: a product of a long vector with itself."""
    vector = np.ones(megabytes * 2**20 // 8)
    found = interleave({"read": lambda: float(vector @ vector)}, 9)["read"]
    return vector.nbytes / found.processor / 1e9


def exponent(sizes: list[float], seconds: list[float]) -> tuple[float, float]:
    """The slope of log seconds in log size, and its standard error."""
    x, y = np.log(sizes), np.log(seconds)
    x = x - x.mean()
    slope = float(x @ y / (x @ x))
    rest = y - y.mean() - slope * x
    return slope, float(np.sqrt(rest @ rest / max(len(sizes) - 2, 1) / (x @ x)))
