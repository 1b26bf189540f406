"""The odometer holds against whoever stops when it suits them; the smallest total that would have sufficed does not."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from dpsparse import Ledger
from dpsparse.accounting import PlanCost, price
from dpsparse.accounting import odometer as module
from dpsparse.accounting.odometer import FIRST, GAUSSIAN, RATIO, RENYI, SLACK, WEIGHTS, Spent, levels, odometer
from dpsparse.accounting.random_stopping import SearchCost, law_of
from dpsparse.core import Ask, Budget, Noise, Plan
from dpsparse.core.curves import ORDERS, gaussian_epsilon, gaussian_renyi
from truth.ledgers import bill

TOTAL, DELTA, MU, ENTRIES = 3.0, 0.05, 0.35, 12


def gaussian(count: int, mu: float = MU, **more: object) -> Spent:
    """What so many Gaussian entries cost."""
    fields: dict[str, object] = {
        "count": count,
        "first": lambda delta: gaussian_epsilon(mu, delta),
        "mu_squared": count * mu * mu,
        "slack": 0.0,
        "renyi": count * gaussian_renyi(mu),
        "pure": math.inf,
    }
    return Spent(**{**fields, **more})  # type: ignore[arg-type]


def realised_delta(readings: list[float], mu: float = MU) -> float:
    r"""The largest :math:`E_P(1 - e^{E - L})_+` that an analyst reaches who may stop after any entry.

    L is the loss of Gaussian entries, a walk of steps N(mu^2/2, mu^2) under P, on a grid; the best time to stop is found backwards. The grid only
    lowers the result, since losses are rounded down.
    """
    step = 0.01
    loss = np.arange(-6.0, 12.0, step)
    move = np.arange(-8 * mu, 8 * mu + mu * mu, step)
    weight = np.exp(-((move - mu * mu / 2) ** 2) / (2 * mu * mu))
    weight /= weight.sum()
    shift = np.round(move / step).astype(int)
    value = np.zeros_like(loss)
    for reading in reversed(readings):
        value = np.maximum(value, np.maximum(0.0, -np.expm1(reading - loss)))
        before = np.zeros_like(loss)
        for places, part in zip(shift, weight, strict=True):
            moved = np.clip(np.arange(loss.size) + places, 0, loss.size - 1)
            before += part * value[moved]
        value = before
    return float(value[np.searchsorted(loss, 0.0) - 1])


def test_whoever_stops_at_a_high_loss_breaks_the_used_capacity_and_not_the_odometer():
    used = [gaussian_epsilon(MU * math.sqrt(k), DELTA) for k in range(1, ENTRIES + 1)]
    read = [odometer(TOTAL, DELTA, gaussian(k)) for k in range(1, ENTRIES + 1)]
    assert realised_delta(used) > 2 * DELTA  # the control: the analyst is a strong one
    assert realised_delta(read) < DELTA


def test_a_reading_is_not_far_above_the_used_capacity():
    for count in (1, 4, 12):
        read = odometer(3.0, 1e-6, gaussian(count, 0.2))
        assert (
            gaussian_epsilon(0.2 * math.sqrt(count), 1e-6) < read < 1.5 * gaussian_epsilon(0.2 * math.sqrt(count), 1e-6)
        )


@pytest.mark.slow
def test_readings_grow_with_what_was_taken():
    read = [odometer(3.0, 1e-6, gaussian(k, 0.2)) for k in range(20)]
    assert read[0] == 0
    assert read == sorted(read)


def test_the_parts_of_delta_add_up_to_at_most_one():
    assert pytest.approx(1.0, abs=1e-12) == FIRST + GAUSSIAN + RENYI
    assert FIRST + GAUSSIAN + RENYI <= 1 + 1e-12
    far = sum(1 / (1 + abs(k)) ** 2 for k in range(-(10**6), 10**6 + 1))
    assert far < WEIGHTS < far + 3e-6
    assert sum(delta for _, delta in levels(1.0, 1e-6)) <= 1e-6
    found = list(levels(1.0, 1e-6))
    assert [b / a for (a, _), (b, _) in itertools.pairwise(found)] == pytest.approx([RATIO] * (len(found) - 1))


def test_every_level_keeps_its_own_promise():
    """What a Gaussian or Renyi level lets through is within its epsilon at its delta, slack included."""
    for epsilon, delta in list(levels(1.0, 1e-5))[::10]:
        low, high = 0.0, 50.0
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if module._gaussian_fits(epsilon, delta, gaussian(1, middle)) else (low, middle)
        assert gaussian_epsilon(low, (1 - SLACK) * delta) <= epsilon * (1 + 1e-9)
        assert not module._gaussian_fits(epsilon, delta, gaussian(1, low, slack=1.01 * SLACK * delta))
        assert module._gaussian_fits(epsilon, delta, gaussian(1, low, slack=0.99 * SLACK * delta))
        low, high = 0.0, 50.0
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if module._renyi_fits(epsilon, delta, gaussian(1, middle)) else (low, middle)
        assert gaussian_epsilon(low, delta) <= epsilon


def test_a_renyi_level_has_one_order():
    """An order that is chosen afterwards would be a choice by the outcome."""
    curve = np.full_like(ORDERS, math.inf)
    curve[-1] = 0.0
    for epsilon, delta in levels(1.0, 1e-5):
        assert not module._renyi_fits(epsilon, delta, gaussian(2, renyi=curve))


def test_one_entry_is_read_at_its_own_price_with_its_part_of_delta():
    taken = gaussian(1, mu_squared=math.inf, renyi=np.full_like(ORDERS, math.inf))
    assert odometer(1.0, 1e-6, taken) == gaussian_epsilon(MU, FIRST * 1e-6)
    several = gaussian(2, mu_squared=math.inf, renyi=np.full_like(ORDERS, math.inf))
    assert odometer(1.0, 1e-6, several) == math.inf


def test_pure_entries_add_up():
    assert odometer(1.0, 0.0, gaussian(3, pure=0.75)) == 0.75
    assert odometer(1.0, 1e-6, gaussian(3, 2.0, pure=0.75)) == 0.75


# ------------------------------------------------------------------------------------------------ in a ledger


@pytest.fixture
def ledger(tmp_path):
    made = Ledger(f"sqlite:///{tmp_path}/budget.db")
    made.create("trial", 3.0, 1e-6)
    return made


def test_a_ledger_reads_its_odometer(ledger):
    assert (ledger.odometer("trial").epsilon, ledger.odometer("trial").delta) == (0.0, 0.0)
    for count in range(1, 5):
        ledger.reserve("trial", bill(0.5))
        read = ledger.odometer("trial")
        assert read.delta == 1e-6
        assert ledger.spent("trial").epsilon < read.epsilon < 1.6 * ledger.spent("trial").epsilon, count
    before = ledger.odometer("trial")
    ledger.reserve("trial", bill(0.5)).refund()
    assert ledger.odometer("trial") == before


@pytest.mark.slow
def test_searches_are_read_by_their_divergences(ledger):
    for _ in range(2):
        ledger.reserve("trial", SearchCost(bill(0.5), law_of("logarithmic", 10)))
    assert ledger.describe("trial").kind == "renyi"
    assert ledger.spent("trial").epsilon < ledger.odometer("trial").epsilon < 1.6 * ledger.spent("trial").epsilon


def test_pure_ledgers_read_what_was_used(ledger):
    ledger.create("pure", 1.0, 0.0)
    asks = (Ask(name="value", noise=Noise.LAPLACE, times=2),)
    ledger.reserve("pure", PlanCost.of(price(Plan(asks=asks), Budget.approx(0.4, 0.0, "replace-one"))))
    assert ledger.odometer("pure").epsilon == pytest.approx(ledger.spent("pure").epsilon, rel=1e-6)
