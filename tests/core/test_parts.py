"""Plans in parts: each row in one, the price of the dearer, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from builders import whole_sum
from dpsparse.accounting import PlanCost, price
from dpsparse.accounting.costs.base import read_cost, write_cost
from dpsparse.core import Adjacency, Ask, Budget, BudgetError, DataError, Noise, Plan, PrivacyError, SplitRule
from dpsparse.core.facts import Facts
from dpsparse.core.plan import read_plan, write_plan
from dpsparse.losses import Squared
from dpsparse.queries.kinds import CentredModel, ColumnMeans, Correlation, Gram, ModalEntry, Quantile, ResidualMean
from dpsparse.rows.hosts import DiskHost, MemoryHost
from dpsparse.rows.sampling import DataSplit
from dpsparse.rows.units import id_text, read_units

SELECTS = Plan(
    asks=(Ask(name="pick", noise=Noise.GUMBEL, draws=5, share=2.0), Ask(name="sum", noise=Noise.GAUSSIAN)),
    order=("pick", "sum"),
)
SUMS = Plan(asks=(Ask(name="moments", noise=Noise.GAUSSIAN, times=2, schedule=(0.25, 0.75)),))


def parted(rule: str = "positions", first: Plan = SELECTS, second: Plan = SUMS) -> Plan:
    return Plan(asks=(), parts=(first, second), coins=SplitRule(rule, 0.5))


@pytest.mark.parametrize("budget", [Budget.approx(1.0, 1e-6), Budget.zcdp(0.1), Budget.gdp(0.5)])
def test_each_part_has_the_whole_budget_and_the_dearer_one_is_the_price(budget):
    priced = price(parted(), budget)
    for part, alone in zip(priced.parts, (SELECTS, SUMS), strict=True):
        own = price(alone, budget)
        for ask in alone.asks:
            assert part.cost(ask.name, 0).rho == pytest.approx(own.cost(ask.name, 0).rho, rel=1e-8)
    assert priced.mu == max(part.mu for part in priced.parts)
    assert priced.rho == max(part.rho for part in priced.parts)
    delta = budget.delta or 1e-6
    assert priced.epsilon(delta) == max(part.epsilon(delta) for part in priced.parts)


def test_the_bill_of_parts_is_their_largest_curve_and_survives_a_file():
    priced = price(parted(), Budget.approx(1.0, 1e-6))
    bill = PlanCost.of(priced)
    each = [PlanCost(part.plan, priced.rho_scale, Adjacency.REPLACE_ONE) for part in priced.parts]
    for epsilon in (0.1, 0.5, 1.0):
        assert bill.delta(epsilon) == max(one.delta(epsilon) for one in each)
    np.testing.assert_array_equal(bill.renyi(), np.maximum(*(one.renyi() for one in each)))
    assert bill.mu() == max(one.mu() for one in each)
    assert bill.epsilon(1e-6) <= 1.0 + 1e-9
    assert read_cost(write_cost(bill)) == bill
    assert math.isinf(bill.pure())


def test_parts_cost_less_than_one_plan_after_the_other():
    bill = PlanCost.of(price(parted(second=SELECTS), Budget.zcdp(0.1)))
    assert bill.renyi()[0] == pytest.approx(PlanCost.of(price(SELECTS, Budget.zcdp(0.1))).renyi()[0], rel=1e-8)


def test_coins_by_position_are_refused_under_add_remove():
    budget = Budget.approx(1.0, 1e-6).under("add-remove")
    with pytest.raises(BudgetError, match="add-remove"):
        price(parted("positions"), budget)
    priced = price(parted("secret"), budget)
    with pytest.raises(BudgetError, match="add-remove"):
        PlanCost(parted("positions"), priced.rho_scale, Adjacency.ADD_REMOVE)


def test_removing_a_row_moves_later_rows_between_parts_where_coins_go_by_position():
    y = np.arange(1000.0)
    parts = DataSplit(0.5, 7)
    with_all, without = parts.targets(y, 0), parts.targets(y[1:], 0)
    moved = np.isfinite(with_all[1:]) != np.isfinite(without)
    assert 400 < moved.sum() < 600  # why such coins must be secret there, and never be used again


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Plan(asks=(), parts=(SELECTS, SUMS)),
        lambda: Plan(asks=SUMS.asks, coins=SplitRule("positions", 0.5)),
        lambda: Plan(asks=SUMS.asks, parts=(SELECTS, SUMS), coins=SplitRule("positions", 0.5)),
        lambda: Plan(asks=(), parts=(SELECTS,), coins=SplitRule("positions", 0.5)),
        lambda: Plan(asks=(), parts=(SELECTS, parted()), coins=SplitRule("positions", 0.5)),
        lambda: parted().repeated(2),
        lambda: SplitRule("hash of the row", 0.5),
        lambda: SplitRule("secret", 1.0),
    ],
)
def test_what_is_no_deal_of_rows_is_refused(wrong):
    with pytest.raises(PrivacyError):
        wrong()


def test_an_unproven_part_makes_the_plan_unproven():
    doubtful = Plan(asks=SUMS.asks, unproven="nobody knows")
    assert parted(second=doubtful).unproven == "nobody knows"


def test_plans_in_parts_are_stored_and_read_and_others_keep_their_version():
    assert read_plan(write_plan(parted("secret"))) == parted("secret")
    assert write_plan(parted())["version"] == 3
    assert write_plan(SUMS)["version"] == 2
    assert "parts" not in write_plan(SUMS)


def test_asks_after_everything_else_follow_every_branch_and_its_order():
    last = (Ask(name="last", noise=Noise.GAUSSIAN),)
    whole = Plan(asks=(Ask(name="first", noise=Noise.GUMBEL),), branches=(("a", SELECTS), ("b", SUMS))).then(last)
    assert whole.branch("a").order == ("pick", "sum", "last")
    assert whole.branch("b").asks[-1] == last[0]
    assert whole.branch("b").order == ()


def test_every_row_is_in_exactly_one_part():
    y = np.random.default_rng(0).normal(size=10_000)
    parts = DataSplit(0.3, 12345)
    one, two = parts.targets(y, 0), parts.targets(y, 1)
    np.testing.assert_array_equal(np.isfinite(one), ~np.isfinite(two))
    assert abs(np.isfinite(one).mean() - 0.3) < 0.025  # five standard deviations
    np.testing.assert_array_equal(np.where(np.isfinite(one), one, two), y)


@pytest.mark.parametrize("host", ["memory", "disk"])
def test_to_a_part_the_rows_of_the_other_are_absent_in_every_answer(host):
    rng = np.random.default_rng(1)
    X, y = rng.uniform(-1, 1, (400, 6)), rng.normal(size=400)
    facts = Facts(n_rows=200, n_features=6, lower=-1.0, upper=1.0, row_norm=3.0, intercept=1.0, target_bound=2.0)
    model = CentredModel(np.array([0, 3]), np.array([0.1, 0.0]), np.array([0.5, -0.5]), 0.2)
    questions = (
        Correlation(model, 0.5, 0.3),
        ResidualMean(model, 0.5),
        ColumnMeans(np.array([1, 2]), 0.7),
        Gram(np.array([0, 3]), np.zeros(2), 0.8),
        Quantile("slopes", model, 0.5, np.geomspace(0.01, 3, 20)),
        Quantile("rows", model, 0.5, np.geomspace(0.01, 3, 20)),
        Quantile("targets", model, 0.5, np.linspace(-2, 2, 20)),
        ModalEntry(0.5, np.geomspace(0.01, 1, 10)),
    )
    for part in (0, 1):
        mine = DataSplit(0.5, 3).targets(y, part)
        kept = np.isfinite(mine)
        alone = MemoryHost(X[kept], y[kept], facts)
        rows = MemoryHost(X, mine, facts) if host == "memory" else DiskHost(X, mine, facts, 2**26)
        for question in questions:
            np.testing.assert_array_equal(whole_sum(rows, question, Squared()), whole_sum(alone, question, Squared()))
        rows.close()


# ------------------------------------------------------------------------------------------------ units


def test_all_rows_of_a_unit_are_in_one_part_and_units_in_either():
    units = read_units(np.repeat(np.arange(3000), 3).astype(str), 9000)
    one = np.isfinite(DataSplit(0.3, 99, units).targets(np.zeros(9000), 0)).reshape(3000, 3)
    np.testing.assert_array_equal(one.any(axis=1), one.all(axis=1))
    assert abs(one[:, 0].mean() - 0.3) < 0.043  # five standard deviations
    two = np.isfinite(DataSplit(0.3, 99, units).targets(np.zeros(9000), 1)).reshape(3000, 3)
    np.testing.assert_array_equal(one, ~two)


def test_rows_that_come_or_go_leave_the_coins_of_all_other_units_as_they_are():
    units = read_units(np.arange(1000).astype(str), 1000)
    parts, without = DataSplit(0.5, 7, units), DataSplit(0.5, 7, units.take(slice(1, None)))
    moved = np.isfinite(parts.targets(np.zeros(1000), 0)[1:]) != np.isfinite(without.targets(np.zeros(999), 0))
    assert not moved.any()
    order = np.random.default_rng(0).permutation(1000)
    shuffled = DataSplit(0.5, 7, units.take(order)).targets(np.zeros(1000), 0)
    np.testing.assert_array_equal(np.isfinite(shuffled), np.isfinite(parts.targets(np.zeros(1000), 0))[order])


def test_coins_of_units_depend_on_the_key():
    units = read_units(np.arange(1000).astype(str), 1000)
    one, two = (np.isfinite(DataSplit(0.5, key, units).targets(np.zeros(1000), 0)) for key in (1, 2))
    assert 400 < (one != two).sum() < 600


def test_coins_by_units_are_allowed_under_both_adjacencies():
    for relation in Adjacency:
        assert SplitRule.under(relation, 0.5, units=True) == SplitRule("units", 0.5)
        price(parted("units"), Budget.approx(1.0, 1e-6).under(str(relation)))
    assert "all rows of a unit are in one part" in str(SplitRule("units", 0.5))
    assert read_plan(write_plan(parted("units"))) == parted("units")


def test_ids_are_read_as_text_and_there_is_one_for_each_row():
    np.testing.assert_array_equal(read_units([7, 7, 8], 3).digests, read_units(np.array(["7", "7", "8"]), 3).digests)
    gap = read_units(pd.Series([7, 7, None, 9]), 4)  # a column of whole numbers with a gap is one of floats
    assert gap.known.tolist() == [True, True, False, True]
    assert gap.count == 2
    assert [id_text(i) for i in (7.5, 1e300, 2.0**53 + 2)] == ["7.5", str(int(1e300)), str(2**53 + 2)]
    assert [id_text(i) for i in (np.inf, np.nan, "7.0")] == ["inf", "", "7"]
    with pytest.raises(DataError, match="at least one row"):
        read_units([None, ""], 2)
    for wrong in ([1, 2], 5, None, [[1], [2], [3]]):
        with pytest.raises(DataError, match="one id for each row"):
            read_units(wrong, 3)


class Wordless:
    """An id that has no text."""

    def __str__(self):
        raise ValueError("secret 17")


@pytest.mark.parametrize("wordless", [Wordless(), 10**5000], ids=["an object", "a number of 5000 digits"])
def test_an_id_without_a_text_is_none_and_nothing_is_said_of_it(wordless):
    assert read_units([wordless, "b", wordless], 3).known.tolist() == [False, True, False]
