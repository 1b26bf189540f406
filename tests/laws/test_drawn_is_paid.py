"""The law *drawn = paid*: a statement is made of exactly the answers that the plan paid for.

Receipts are lost, doubled, renamed or changed while a fit runs, one way at a time and at the first,
a middle or the last of them; no statement may then be made.
"""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest

from dpsparse import SparseClassifier, SparseRegressor, recipes
from dpsparse.accounting import price
from dpsparse.core import Ask, Budget, Noise, Plan, PoissonRows, PrivacyError
from dpsparse.core.statement import Receipt
from dpsparse.fitting.drawn import Drawn, summaries_of
from dpsparse.oracles.gate import ChargedOracle
from truth.sites import estimator, join, serve

pytestmark = pytest.mark.filterwarnings("ignore::dpsparse.core.HopelessFitWarning", "ignore::UserWarning")

PRIVATE = sorted(name for name in recipes.REGISTRY if recipes.get(name).private)
RNG = np.random.default_rng(5)
X = RNG.uniform(-1, 1, (120, 8))
Y = np.clip(X[:, 0] - X[:, 1], -2, 2)

FAULTS = {
    "missing": lambda all, i: [*all[:i], *all[i + 1 :]],
    "doubled": lambda all, i: [*all, all[i]],
    "of another ask": lambda all, i: [*all[:i], replace(all[i], ask="another"), *all[i + 1 :]],
    "with less noise": lambda all, i: [*all[:i], replace(all[i], scale=all[i].scale * (1 - 1e-12)), *all[i + 1 :]],
    "of a larger sum": lambda all, i: [*all[:i], replace(all[i], sensitivity=all[i].sensitivity * 1.01), *all[i + 1 :]],
    "without noise": lambda all, i: [*all[:i], replace(all[i], scale=0.0), *all[i + 1 :]],
    "of another mechanism": lambda all, i: [*all[:i], replace(all[i], noise=other(all[i].noise)), *all[i + 1 :]],
    "of more draws": lambda all, i: [*all[:i], replace(all[i], draws=all[i].draws + 1), *all[i + 1 :]],
    "of more rows": lambda all, i: [*all[:i], replace(all[i], rate=all[i].rate * 1.5), *all[i + 1 :]],
    "of another offset": lambda all, i: [*all[:i], replace(all[i], offset=all[i].offset + 0.1), *all[i + 1 :]],
}


def other(noise: Noise) -> Noise:
    return Noise.LAPLACE if noise is not Noise.LAPLACE else Noise.GAUSSIAN


def model(name, task="regression", **options):
    given = {"epsilon": 2.0, "delta": 1e-5, "feature_bound": 1.0, "random_state": 0, "sparsity": 2, **options}
    given |= {"recipe": name, "accept": recipes.get(name).needs}
    if task == "regression":
        return SparseRegressor(target_bound=2.0, **given).fit(X, Y)
    return SparseClassifier(classes=range(3), **given).fit(X, np.digitize(Y, [-0.3, 0.3]))


def refused(found) -> bool:
    try:
        summaries_of(found)
    except PrivacyError as error:
        return "No statement is made" in str(error)
    return False


def captured(monkeypatch, fit):
    """What the oracles of a fit had drawn when its statement was made."""
    kept: list[Drawn] = []
    with monkeypatch.context() as patched:
        patched.setattr(
            sys.modules["dpsparse.fitting.run"], "complete", lambda draft, found, payment: kept.extend(found) or draft
        )
        fit()
    return kept


@pytest.mark.parametrize("task", ["regression", "three classes"])
@pytest.mark.parametrize("name", PRIVATE)
def test_no_statement_is_made_of_other_answers(name, task, monkeypatch):
    whole = captured(monkeypatch, lambda: model(name, task))
    assert summaries_of(whole)  # as they were drawn they are stated
    for at, one in enumerate(whole):
        many = len(one.receipts)
        for what, change in FAULTS.items():
            for place in {0, many // 2, many - 1}:
                wrong = [*whole[:at], replace(one, receipts=change(list(one.receipts), place)), *whole[at + 1 :]]
                assert refused(wrong), f"a receipt {what}, at {place}"


def test_a_fit_whose_receipts_are_lost_has_no_statement(monkeypatch):
    real = Drawn.checked
    monkeypatch.setattr(Drawn, "checked", lambda own: real(replace(own, receipts=own.receipts[1:])))
    with pytest.raises(PrivacyError, match="No statement is made; the payment counts"):
        model("dp_ight")


def test_parts_of_a_fit_with_intervals_are_compared_one_by_one(monkeypatch):
    parts = captured(monkeypatch, lambda: model("auto", intervals="split", epsilon=8.0))
    assert [one.part for one in parts] == ["first", "second"]
    first, second = parts
    assert {ask.part for ask in summaries_of(parts)} == {"first", "second"}
    with pytest.raises(PrivacyError, match="No statement is made"):
        summaries_of([first, replace(second, paid=first.paid)])


def test_what_answers_left_unasked_is_allowed_where_nothing_was_left_to_ask_and_no_more_noise_is_needed_elsewhere():
    plan = Plan(asks=(Ask(name="g", noise=Noise.GAUSSIAN, times=3, schedule=(1.0, 2.0, 4.0)),))
    paid = price(plan, Budget.approx(1.0, 1e-6), store=None)
    each = [Receipt("g", Noise.GAUSSIAN, 1, 1.0, paid.cost("g", turn).strength, 1.0) for turn in range(3)]
    assert summaries_of([Drawn(each, paid)])
    for some in (each[:2], each[1:], each[::2], []):
        assert len(summaries_of([Drawn(some, paid, ended=True)])) == len(some)
        with pytest.raises(PrivacyError, match="3 answers of a kind"):
            summaries_of([Drawn(some, paid)])
    with pytest.raises(PrivacyError, match="less noise"):
        summaries_of([Drawn([each[2], each[2]], paid, ended=True)])


def test_exact_answers_may_stop_early_and_are_no_more_than_were_planned():
    plan = Plan(asks=(Ask(name="g", noise=Noise.NONE, times=3, rows=PoissonRows(0.1)),))
    one = Receipt("g", Noise.NONE, 1, 0.1, 0.0, 0.0)
    assert summaries_of([Drawn([one], plan)])
    for wrong in ([one] * 4, [replace(one, rate=0.2)], [replace(one, ask="h")]):
        with pytest.raises(PrivacyError, match="No statement is made"):
            summaries_of([Drawn(wrong, plan)])


def test_branches_that_answers_chose_are_compared_and_no_other():
    ask = Ask(name="g", noise=Noise.GAUSSIAN)
    branches = tuple((name, Plan(asks=(replace(ask, name=name, times=k),))) for name, k in (("few", 1), ("many", 3)))
    paid = price(Plan(asks=(ask,), branches=branches), Budget.approx(1.0, 1e-6), store=None)
    first = Receipt("g", Noise.GAUSSIAN, 1, 1.0, paid.cost("g").strength, 1.0)
    few = replace(first, ask="few", sensitivity=paid.branch("few").cost("few").strength)
    assert summaries_of([Drawn([first, few], paid, ("few",))])
    for choices, answers in (((), [first, few]), (("many",), [first, few]), (("few",), [first])):
        with pytest.raises(PrivacyError, match="No statement is made"):
            summaries_of([Drawn(answers, paid, choices)])


@pytest.mark.parametrize("fault", ["missing", "with less noise"])
def test_a_site_sends_no_change_that_was_drawn_with_other_noise_than_it_pays_for(fault, monkeypatch):
    server = serve(("a",), estimator(recipes.DPFedGDHT(rounds=2, local_steps=3, step_size=0.5, clip=1.0)))
    site = join(server, "a")
    server.enrol(site.certificate())
    monkeypatch.setattr(
        ChargedOracle, "receipts", property(lambda o: FAULTS[fault](o.gate.receipts, 0) if o.gate.receipts else [])
    )
    with pytest.raises(PrivacyError, match="No statement is made"):
        site.answer(server.task())
