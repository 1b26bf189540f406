"""Shared ground of the tests: slow truths live in `truth`, next to this file."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

sys.path.insert(0, str(Path(__file__).parent))

settings.register_profile(
    "fixed", derandomize=True, deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("fixed")


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
