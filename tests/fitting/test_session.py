"""The session: who pays, when rows are opened, and what is refunded."""

import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier

import numpy as np
import pytest

from dpsparse import Ledger
from dpsparse.accounting import PlanCost, price
from dpsparse.accounting.costs.unit import UnitCost
from dpsparse.core import Ask, Budget, BudgetExceededError, Noise, NotPricedError, Plan, PrivacyError, SplitRule
from dpsparse.core.facts import Facts
from dpsparse.core.mechanisms import Randomness
from dpsparse.fitting import session as module
from dpsparse.fitting.session import PaidBy, session
from dpsparse.losses import Squared
from dpsparse.oracles.gate import Gate
from dpsparse.rows import Records

PRICED = price(Plan(asks=(Ask(name="count", question="Count", noise=Noise.GAUSSIAN),)), Budget.approx(1.0, 1e-6))
FACTS = Facts(n_rows=1, n_features=1)
ROWS = Records(np.zeros((5, 1)))


@pytest.fixture
def ledger(tmp_path):
    made = Ledger(f"sqlite:///{tmp_path}/budget.db")
    for name in ("one", "two"):
        made.create(name, 1.1, 1e-5)
    return made


def opened(*payers, **more):
    return session(*payers, bill=PlanCost.of(PRICED), label="a count", delta=1e-6, randomness=Randomness(), **more)


def asked(within):
    with within.open(ROWS, np.zeros(5), FACTS, Squared(), PRICED) as oracle:
        return oracle.count(ask="count")


def statuses(ledger, *names):
    return [[entry.status for entry in ledger.entries(name)] for name in names or ("one", "two")]


def test_rows_are_opened_after_the_reservation_and_answered_after_the_start(ledger, monkeypatch):
    seen = []
    ordinary = module.open_host
    monkeypatch.setattr(module, "open_host", lambda *given: (seen.append(statuses(ledger, "one")), ordinary(*given))[1])
    with opened(PaidBy(ledger, "one")) as within:
        asked(within)
        assert statuses(ledger, "one") == [["started"]]
    assert seen == [[["reserved"]]]
    assert statuses(ledger, "one") == [["done"]]
    [entry] = ledger.entries("one")
    assert within.payment.record == ledger.cite("one", entry.number)


@pytest.mark.parametrize(("nested", "status"), [(False, "refunded"), (True, "started")])
def test_what_fails_before_an_answer_is_refunded_unless_parts_may_have_answered(ledger, nested, status):
    with pytest.raises(ZeroDivisionError), opened(PaidBy(ledger, "one"), nested=nested):
        raise ZeroDivisionError
    assert statuses(ledger, "one") == [[status]]


def test_what_fails_after_an_answer_counts_and_says_so(ledger):
    with pytest.raises(ZeroDivisionError) as fault, opened(PaidBy(ledger, "one")) as within:
        assert 1 / (0 * asked(within))
    assert "counts: an answer was asked for" in "".join(fault.value.__notes__)
    assert statuses(ledger, "one") == [["started"]]


def test_every_payer_reserves_the_whole_and_all_are_refunded_when_one_cannot(ledger):
    payers = PaidBy(ledger, "one"), PaidBy(ledger, "two")
    with opened(*payers) as within:
        for payment in within.payments:
            payment.start()
    assert statuses(ledger) == [["done"], ["done"]]
    assert within.payment.record is None  # each payer has an entry of its own
    ledger.create("three", 1.1, 1e-5)
    with pytest.raises(BudgetExceededError), opened(PaidBy(ledger, "three"), PaidBy(ledger, "two")):
        pytest.fail("rows were opened")
    assert statuses(ledger, "three") == [["refunded"]]


@pytest.mark.parametrize("nested", [False, True])
def test_messages_are_suppressed_by_the_session_that_opens_rows(nested):
    with warnings.catch_warnings(record=True) as said, opened(PaidBy(None, None), nested=nested):
        warnings.simplefilter("always") if nested else None
        warnings.warn("something about a row", stacklevel=1)
    assert len(said) == nested


def test_a_label_of_the_payer_goes_before_the_name_of_what_is_run(ledger):
    for label in (None, "study 7"):
        with opened(PaidBy(ledger, "one" if label is None else "two", label)):
            pass
    assert [ledger.entries(name)[0].label for name in ("one", "two")] == ["a count", "study 7"]


def test_a_fault_after_an_answer_counts_for_every_payer(ledger):
    """Of several payers all have started before an answer is computed: none of them is refunded."""

    def answered_and_broken():
        with opened(PaidBy(ledger, "one"), PaidBy(ledger, "two")) as within:
            asked(within)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        answered_and_broken()
    assert statuses(ledger) == [["started"], ["started"]]


def test_threads_do_not_share_a_turn(monkeypatch):
    """One priced turn, eight threads: one answer, whichever thread asks first."""
    for _ in range(20):
        with opened() as within, within.open(ROWS, np.zeros(5), FACTS, Squared(), PRICED) as oracle:
            gate, meet = oracle.gate, Barrier(8)
            ordinary = type(gate.terms).measure

            def slow(*given, ordinary=ordinary):
                time.sleep(0.002)  # another thread has its chance between looking at the turn and counting it
                return ordinary(*given)

            def ask(_, oracle=oracle, meet=meet):
                meet.wait()
                try:
                    return oracle.count(ask="count")
                except NotPricedError:
                    return None

            with monkeypatch.context() as patch, ThreadPoolExecutor(8) as threads:
                patch.setattr(type(gate.terms), "measure", slow)
                answers = [found for found in threads.map(ask, range(8)) if found is not None]
            assert len(answers) == len(gate.receipts) == 1


@pytest.mark.parametrize("used", [{"count": -1}, {"count": 2}, {"other": 1}])
def test_turns_that_were_used_before_are_turns_of_the_plan(used):
    with opened() as within, within.open(ROWS, np.zeros(5), FACTS, Squared(), PRICED) as oracle:
        terms = oracle.gate.terms
        with pytest.raises(PrivacyError, match="must be turns of the plan"):
            Gate(terms, used=used)


# ------------------------------------------------------------------------------------------------ which plans


def priced(name="count", epsilon=1.0, times=1, **more):
    plan = Plan(asks=(Ask(name=name, question="Count", noise=Noise.GAUSSIAN, times=times, **more),))
    return price(plan, Budget.approx(epsilon, 1e-6))


OTHERS = {
    "another name": priced("counts"),
    "more turns": replace(PRICED, plan=priced(times=2).plan),
    "a larger epsilon": priced(epsilon=2.0),
    "less noise": replace(PRICED, rho_scale=2 * PRICED.rho_scale),
    "another adjacency": replace(PRICED, budget=Budget.approx(1.0, 1e-6, "add-remove")),
    "no noise": Plan(asks=(Ask(name="count", question="Count", noise=Noise.NONE),)),
}


@pytest.mark.parametrize("name", OTHERS)
def test_a_session_answers_the_plan_of_its_bill_and_no_other(name):
    with opened(PaidBy(None, None)) as within, pytest.raises(PrivacyError, match="the plan of its bill"):
        within.oracle(None, Squared(), OTHERS[name])  # type: ignore[arg-type]


def test_a_plan_is_opened_once_for_each_model_of_its_bill():
    for models in (1, 3):
        whole = price(PRICED.plan.repeated(models), Budget.approx(1.0, 1e-6))
        one, bill = replace(whole, plan=PRICED.plan), UnitCost(PlanCost.of(whole), "patient")
        with session(PaidBy(None, None), bill=bill, label="", delta=1e-6, randomness=Randomness()) as within:
            for _ in range(models):
                with within.open(ROWS, np.zeros(5), FACTS, Squared(), one) as oracle:
                    oracle.count(ask="count")
            with pytest.raises(PrivacyError, match="once for each"):
                within.oracle(None, Squared(), one)  # type: ignore[arg-type]


def test_each_part_of_a_plan_is_opened_once():
    parts = priced().plan, priced("other", times=2).plan
    whole = price(Plan(asks=(), parts=parts, coins=SplitRule.under("replace-one", 0.5)), Budget.approx(1.0, 1e-6))
    bill = PlanCost.of(whole)
    assert [bill.runs(part) for part in (*whole.parts, whole, priced("third"))] == [1, 1, 0, 0]


def test_a_session_without_a_bill_answers_baselines_and_unproven_plans_only():
    with session(PaidBy(None, None), bill=None, label="", delta=1e-6, randomness=Randomness()) as within:
        for plan in (OTHERS["no noise"], replace(PRICED, plan=replace(PRICED.plan, unproven="a heuristic"))):
            with within.open(ROWS, np.zeros(5), FACTS, Squared(), plan):
                pass
        with pytest.raises(PrivacyError, match="the plan of its bill"):
            within.oracle(None, Squared(), PRICED)  # type: ignore[arg-type]
