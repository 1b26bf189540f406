"""People who speak once: what it costs, and what is refused."""

import numpy as np
import pytest

from dpsparse.accounting import price
from dpsparse.core import Ask, Budget, BudgetError, Noise, OncePerPerson, Plan, PrivacyError
from dpsparse.core.curves import gaussian_mu


def plan(times: int = 5, noise: Noise = Noise.LOCAL, **options) -> Plan:
    return Plan(asks=(Ask(name="gradient", noise=noise, times=times, rows=OncePerPerson(**options)),))


@pytest.mark.parametrize("times", [1, 2, 50])
@pytest.mark.parametrize("delta", [0.0, 1e-6, 0.3])
def test_turns_of_disjoint_people_cost_the_dearest_of_them_and_stay_pure(times, delta):
    priced = price(plan(times), Budget.approx(2.0, delta))
    assert priced.cost("gradient", times - 1).strength == pytest.approx(2.0)
    assert priced.cost("gradient", times - 1).strength <= 2.0
    assert priced.epsilon(0.0) == priced.epsilon(1e-3) == pytest.approx(2.0)


def test_a_gaussian_report_has_the_whole_mu_in_every_turn():
    priced = price(plan(7, Noise.LOCAL_GAUSSIAN), Budget.approx(1.0, 1e-6))
    assert priced.cost("gradient", 6).strength == pytest.approx(gaussian_mu(1.0, 1e-6))
    assert priced.mu == pytest.approx(gaussian_mu(1.0, 1e-6))


def test_gaussian_reports_need_a_delta():
    with pytest.raises(BudgetError, match="delta = 0"):
        price(plan(3, Noise.LOCAL_GAUSSIAN), Budget.approx(1.0, 0.0))


def test_several_models_add_up_and_two_asks_too():
    priced = price(plan(4).repeated(3), Budget.approx(3.0, 0.0))
    assert priced.cost("gradient", 11).strength == pytest.approx(1.0)
    asks = tuple(Ask(name=n, noise=Noise.LOCAL, rows=OncePerPerson()) for n in "ab")
    both = price(Plan(asks=asks), Budget.approx(3.0, 0.0))
    assert both.cost("a").strength + both.cost("b").strength == pytest.approx(3.0)


@pytest.mark.parametrize(("models", "each"), [(1, 2.0), (2, 1.0), (3, 1.0), (10, 1.0)])
def test_a_change_of_class_moves_the_labels_of_two_models_at_most(models, each):
    priced = price(plan(1, labels=True).repeated(models), Budget.approx(2.0, 0.0))
    assert priced.cost("gradient", models - 1).strength == pytest.approx(each)


@pytest.mark.parametrize("models", [3, 4])
def test_the_exact_loss_of_one_against_the_rest_labels_is_the_price(models):
    """Every pair of classes, and a label of no class, by enumeration of all reports."""
    epsilon = 1.3
    each = price(plan(1, labels=True).repeated(models), Budget.approx(epsilon, 0.0)).cost("gradient").strength
    keep = np.exp(each) / (1 + np.exp(each))
    reports = (np.arange(2**models)[:, None] >> np.arange(models)) & 1
    truths = [*np.eye(models, dtype=int), np.zeros(models, dtype=int)]
    laws = [np.prod(np.where(reports == t, keep, 1 - keep), axis=1) for t in truths]
    worst = max(np.max(np.log(a / b)) for a in laws for b in laws)
    assert worst == pytest.approx(epsilon)
    assert worst <= epsilon * (1 + 1e-9)


@pytest.mark.parametrize("budget", [Budget.zcdp(0.5), Budget.gdp(1.0)])
def test_other_budgets_are_kept_too(budget):
    priced = price(plan(6), budget)
    assert (priced.rho if budget.rho else priced.mu) <= (budget.rho or budget.mu)


def test_taking_part_is_not_hidden_in_the_local_model():
    with pytest.raises(BudgetError, match=r"who reports.*replace-one"):
        price(plan(), Budget.approx(1.0, 0.0, "add-remove"))


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Ask(name="g", noise=Noise.GAUSSIAN, rows=OncePerPerson()), "do not go together"),
        (lambda: Ask(name="g", noise=Noise.LOCAL), "do not go together"),
        (
            lambda: Ask(name="g", noise=Noise.LOCAL, times=2, schedule=(1.0, 2.0), rows=OncePerPerson()),
            "no draws, no schedule",
        ),
        (lambda: Ask(name="g", noise=Noise.LOCAL, draws=2, rows=OncePerPerson()), "no draws, no schedule"),
        (lambda: plan(3, labels=True), "one turn for each model, not in 3"),
        (lambda: plan(1, labels=True, reports=2), "one turn for each model, not in 1"),
        (lambda: OncePerPerson(reports=0), "at least one report"),
        (lambda: OncePerPerson(randomiser="loud"), "randomiser must be one of"),
        (lambda: OncePerPerson().deal(3, 4), "Use fewer steps"),
    ],
)
def test_what_makes_no_sense_is_refused(build, message):
    with pytest.raises(PrivacyError, match=message):
        build()


@pytest.mark.parametrize(("people", "turns"), [(10, 3), (10, 10), (1000, 7)])
def test_everybody_is_dealt_one_turn_in_groups_of_equal_size(people, turns):
    turn = OncePerPerson().deal(people, turns)
    sizes = np.bincount(turn, minlength=turns)
    assert turn.size == people
    assert sizes.max() - sizes.min() <= 1
    assert np.array_equal(turn, OncePerPerson().deal(people, turns)), "public, and the same again"
    if people > turns > 1:
        assert not np.array_equal(turn, OncePerPerson(seed=1).deal(people, turns))
