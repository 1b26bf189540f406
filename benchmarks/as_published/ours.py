"""Our recipes at a published budget, judged in the same way as what was published."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.special import softmax

from dpsparse import SparseClassifier, SparseRegressor
from dpsparse.accounting import PricedPlan, price
from dpsparse.accounting.pld import sampled_epsilon
from dpsparse.audit import recomputed_epsilon
from dpsparse.core import Adjacency, Ask, AskSummary, Budget, Noise, Plan, Statement
from dpsparse.core.facts import Clip, Facts, Vector
from dpsparse.core.mechanisms import Randomness
from dpsparse.losses import Loss
from dpsparse.oracles import CentralOracle, RecordingOracle
from dpsparse.oracles.noise_info import exact_charge
from dpsparse.queries.kinds import Gradient, Oracle, Score, Select
from dpsparse.queries.rules import measure
from dpsparse.queries.scores import scores_of
from dpsparse.rows.hosts import MemoryHost

from .exhibit import EXACT, Epsilon, Promise
from .laws import gaussian_epsilon


@lru_cache(maxsize=64)
def fitted(recipe: Any, claimed: Promise, *, n: int, classes: bool = False) -> Epsilon:
    """Epsilon of a fit on `n` rows, from the noise that its statement lists; dp-accounting must say the same."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (n, 4))
    bounds: dict[str, Any] = {"feature_bound": 1.0} if classes else {"feature_bound": 1.0, "target_bound": 2.0}
    kind = SparseClassifier if classes else SparseRegressor
    y = (X[:, 0] > 0).astype(int) if classes else X[:, 0]
    model = kind(epsilon=claimed.epsilon, delta=claimed.delta, recipe=recipe, **bounds).fit(X, y)
    return stated(model.statement_)


def stated(statement: Statement) -> Epsilon:
    """Epsilon of the Gaussian answers that a statement lists, composed exactly, and a second opinion."""
    statement = replace(statement, asks=_alike(statement.asks))
    if any(a.rate < 1 for a in statement.asks):
        relation = Adjacency(statement.adjacency)
        steps = [(a.rate, relation.kappa / a.cost, a.times) for a in statement.asks]
        value, how = sampled_epsilon(steps, statement.delta, relation), "privacy loss distribution"
    else:
        mu = math.sqrt(sum(a.times * a.cost**2 for a in statement.asks))
        value, how = gaussian_epsilon(mu, statement.delta), "exact Gaussian curve"
    second = recomputed_epsilon(statement)
    if abs(second - value) > 0.02 * value + 1e-3:
        raise RuntimeError(f"the accountants disagree about our own noise: {value:.4g} and {second:.4g}.")
    return Epsilon(value, EXACT, f"noise of a fit, {how}; dp-accounting: {second:.4g}")


def _alike(asks: tuple[AskSummary, ...]) -> tuple[AskSummary, ...]:
    """Answers of equal rate and cost counted together: accountants see no more of them, and are quicker."""
    counted: dict[tuple[str, float, float], AskSummary] = {}
    for ask in asks:
        key = (ask.noise, ask.rate, float(f"{ask.cost:.9g}"))
        known = counted.get(key)
        counted[key] = ask if known is None else replace(known, times=known.times + ask.times)
    return tuple(counted.values())


def choice_law(
    worlds: Any, facts: Facts, loss: Loss, *, score: Score, clip: Clip, claimed: Promise
) -> tuple[Vector, Vector]:
    """Exact probabilities with which our oracle makes one choice, in two worlds, for the whole of a budget."""
    plan = Plan(asks=(Ask(name="select", noise=Noise.GUMBEL),))
    priced = price(plan, Budget.approx(claimed.epsilon, claimed.delta, "replace-one"))
    question = Select(Gradient(np.zeros(facts.dimension), clip), score, 1)

    def ask(oracle: Oracle) -> None:
        oracle.answer(question, "select")

    return first_choice(ask, worlds, facts, loss, priced)


def first_choice(
    run: Callable[[Oracle], Any], worlds: Any, facts: Facts, loss: Loss, priced: PricedPlan
) -> tuple[Vector, Vector]:
    """Exact law of the first choice that a solver asks for, in two worlds.

    The noise scale is the one on the oracle's own receipt, and a Gumbel choice is proportional to exp(score / scale).
    """
    laws = []
    for X, y in worlds:
        host = MemoryHost(X, y, facts)
        oracle = RecordingOracle(CentralOracle(host, loss, priced, Randomness(0)))
        run(oracle)
        question, scale = oracle.questions[0], oracle.receipts[0].scale
        unit = measure(question.of, host.lattice).unit
        values = host.total(exact_charge(question.of, host), loss) * unit / facts.n_rows
        laws.append(softmax(scores_of(question.score, values, facts.free) / scale))
    return laws[0], laws[1]


def estimator(recipe: Any, claimed: Promise, **options: Any) -> SparseRegressor:
    """A regressor for the datasets of the counter-example to DPSL-KT: entries and targets within 1, one coefficient."""
    settings = {"sparsity": 1, "feature_bound": 1.0, "target_bound": 1.0, "fit_intercept": False} | options
    return SparseRegressor(epsilon=claimed.epsilon, delta=claimed.delta, recipe=recipe, **settings)
