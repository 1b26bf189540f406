"""Shared ground of the tests: slow truths live in `truth`, next to this file; noise follows from the name of a test's file."""

from __future__ import annotations

import hashlib
import os
import random
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

sys.path.insert(0, str(Path(__file__).parent))
os.environ["DPSPARSE_PRICES"] = os.environ["DPSPARSE_CHECKPOINTS"] = "off"  # tests neither read nor write in a home

settings.register_profile(
    "fixed", derandomize=True, deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("fixed")


class FixedEntropy:
    """Stands in for the operating system where keys of noise are drawn: a fit without a seed still gives a test one outcome.

    Every draw is another one, and a forked process draws others than its parent. A test that replaces `os.urandom` is served by
    its replacement. Programs that a test starts draw from the operating system.
    """

    def __init__(self) -> None:
        self._system, self._process = os.urandom, os.getpid()
        self.restart("")

    def restart(self, name: str) -> None:
        """Begin the draws of a test anew."""
        self._name, self._count = name, 0

    def urandom(self, size: int) -> bytes:
        """Bytes that follow from the test's file, their number and, after a fork, the process."""
        if os.urandom is not self._system:
            return os.urandom(size)
        self._count += 1
        forked = os.getpid() - self._process
        return hashlib.shake_128(f"{self._name}/{self._count}/{forked}".encode()).digest(size)

    def randbits(self, bits: int) -> int:
        """An integer of so many bits."""
        return int.from_bytes(self.urandom(bits // 8 + 1), "little") >> (8 - bits % 8)

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)


ENTROPY = FixedEntropy()


def pytest_configure() -> None:
    from dpsparse.core.mechanisms import randomness

    vars(randomness)["os"] = ENTROPY
    vars(randomness)["secrets"] = ENTROPY


def pytest_runtest_setup(item: pytest.Item) -> None:
    ENTROPY.restart(item.path.name)


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--order SEED``: files, and the tests of each file, in an order that the seed gives (``make test-order``)."""
    parser.addoption(
        "--order", type=int, default=None, metavar="SEED", help="run files and their tests in a random order"
    )


def pytest_report_header(config: pytest.Config) -> str | None:
    """Say how to repeat the order."""
    seed = config.getoption("order")
    return None if seed is None else f"order: repeat it with make test-order ORDER={seed}"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put files, and the tests of each file, in another order. Files stay together, for what their tests share."""
    seed = config.getoption("order")
    if seed is None:
        return
    files: dict[str, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(str(item.path), []).append(item)
    chance, order = random.Random(seed), sorted(files)
    chance.shuffle(order)
    for file in order:
        chance.shuffle(files[file])
    items[:] = [item for file in order for item in files[file]]
