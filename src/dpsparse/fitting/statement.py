"""Where statements are made: of fits, of priced steps, of pipelines, of searches and of servers.

A statement is drafted before anything is paid, so that nothing about it can fail afterwards;
`complete` adds what was drawn.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..accounting import Cost, PlanCost, PricedPlan, cost_of_units
from ..accounting.costs.base import write_cost
from ..accounting.random_stopping import RANDOM_STOPPING, SearchCost
from ..core import AskSummary, Budget, Plan, Statement
from ..core.attacker import weaknesses
from ..core.checks import ROW, unit_phrase
from ..core.curves import gaussian_mu
from ..core.participation import PUBLIC_FEATURES
from ..core.release import versions
from ..core.statement import SEEDED
from ..ledger import Payment
from ..queries.losses import Loss, user_defined
from ..recipes import built_in
from ..rows.records import NOT_COVERED
from .drawn import Drawn, summaries_of
from .prepare import FitPlan

SIMULATED = "the protocol was simulated on one machine, which held the rows"
SCORED = "this guarantee is for the rows that score the model; the rows that trained it have a guarantee of their own"
MADE_ROWS = (
    "whatever prepared these rows (scaling, a vocabulary, a choice of columns, a split) was not computed from them: "
    "each row was made from one record by public rules"
)
DEVICES = "every device randomised its own report as the protocol says"
ONE_ID = (
    "each {unit} has one id, and ids were not computed from other cells; every {unit} has the same weight, however "
    "many rows there are"
)
EXACT = "delta is exactly 0: Laplace noise and selections are drawn from their exact distributions, tails included"
SECRET = (
    "only the best run was published: the guarantee does not cover the number of runs, other runs, or the time that "
    "the search took"
)

#: How many times the mu of Gaussian noise of the same (epsilon, delta) a stated mu may be. A
#: selection of range eta has the Renyi curve of a Gaussian with mu = eta/2, and is dominated by one
#: with mu = 2 Phi^-1(e^(eta/2) / (1 + e^(eta/2))), which is sqrt(pi/2) = 1.2533 times as much for
#: small eta: a plan of selections alone states that, with a margin of one per cent.
LOOSEST_MU = 1.01 * math.sqrt(math.pi / 2)
#: The same for rho beside mu^2/2. Selections and Gaussians add up exactly in zCDP; what their
#: (epsilon, delta) gains on it was at most 3 % up to epsilon 4.
LOOSEST_RHO = 1.1


def plan_caveats(plan: Plan) -> tuple[str, ...]:
    """What weakens or voids the guarantee of a plan, no matter who runs it."""
    public = (PUBLIC_FEATURES,) if plan.labels_only else ()
    return (
        (*public, f"NOT PRIVATE: the privacy of this plan is not proven: {plan.unproven}") if plan.unproven else public
    )


def draft_fit(
    prepared: FitPlan, assumptions: Iterable[str] = (), notes: Iterable[str] = (), *, secure: bool
) -> Statement:
    """What a fit will have guaranteed; no answers yet.

    Parameters
    ----------
    prepared : FitPlan
    assumptions : iterable of str
        What it depends on beside the recipe's own.
    notes : iterable of str
        What is to be said beside why the recipe was picked.
    secure : bool
        False for a fit with a seed.
    """
    priced, recipe, facts = prepared.priced, prepared.recipe, prepared.facts
    proven = priced is not None and not prepared.plan.unproven
    exact = (EXACT,) if priced is not None and prepared.delta == 0 and not prepared.plan.local else ()
    caveats = list(plan_caveats(prepared.plan))
    assumed = [
        *assumptions,
        *recipe.assumptions(facts),
        *of_others(prepared),
        *not_covered(prepared.request.on_missing),
    ]
    assumed += one_id(facts.unit)
    assumed += [] if prepared.inference is None else prepared.inference.assumptions
    adjacency = "replace-one-label" if prepared.plan.labels_only else str(prepared.request.adjacency)
    if priced is None:
        caveats.append("no privacy: this is a baseline for comparison, and its result must not be released")
    else:
        caveats += _seeded("fitted", secure)
        if prepared.models > 1:
            assumed.append(sharing(prepared.plan, prepared.models))
    draft = replace(
        _guaranteed(priced, prepared.delta),
        private=proven and secure,
        priced=proven,
        adjacency=adjacency,
        unit=stated_unit(prepared.plan, prepared.models, facts.unit),
        recipe=recipe.name,
        loss=facts.loss,
        n_rows=facts.n_rows,
        assumptions=tuple(assumed),
        caveats=tuple(caveats),
        notes=(*([prepared.reason] if prepared.reason else []), *_shapes(prepared), *notes, *exact),
        bill=None if prepared.bill is None else write_cost(prepared.bill),
    )
    return draft if priced is None else _weigh(in_other_words(draft, priced.budget))


def _guaranteed(priced: PricedPlan | None, delta: float) -> Statement:
    """What a price guarantees, whatever it pays for; without one, nothing."""
    nothing = Statement(
        private=False,
        priced=False,
        epsilon=math.inf,
        delta=1.0,
        rho=math.inf,
        mu=math.inf,
        adjacency="",
        unit="",
        recipe="",
        loss="no",
        n_rows=0,
        asks=(),
        accountant="none",
        versions=versions(),
    )
    if priced is None:
        return nothing
    made = replace(nothing, priced=True, epsilon=priced.epsilon(delta), delta=delta, rho=priced.rho, mu=priced.mu)
    return replace(made, adjacency=str(priced.budget.relation), accountant=priced.accountant)


def _shapes(prepared: FitPlan) -> tuple[str, ...]:
    """Which columns are curves, a map of each record by public numbers; and how coefficients are counted."""
    basis, found = prepared.request.basis, list[str]()
    if basis is not None:
        found = [f"shapes, by public bounds: {basis}; {basis.width} coefficients for {basis.n_features} columns"]
    if prepared.facts.groups is not None:
        many = f"{prepared.facts.candidates} groups of {prepared.facts.n_features} coefficients"
        found.append(f"{many} are kept or dropped as wholes, and sparsity counts groups")
    return tuple(found)


def one_id(unit: str) -> tuple[str, ...]:
    """What a guarantee to units of several rows depends on."""
    return () if unit == ROW else (ONE_ID.format(unit=unit),)


def stated_unit(plan: Plan, models: int, unit: str = ROW) -> str:
    """The unit of privacy: who, and with how many reports."""
    if not plan.local:
        return unit_phrase(unit)
    who = "one person's label" if plan.labels_only else "one person"
    return f"{who}, {'one report' if models == 1 else f'{models} reports'} (local model)"


def sharing(plan: Plan, models: int) -> str:
    """How one budget covers several models, one for each class."""
    if plan.labels_only:
        return (
            f"a change of class moves two of the {models} one-versus-rest labels, each reported at half of the budget"
        )
    return f"one budget covers all {models} one-versus-rest models, each with an equal part of it"


def in_other_words(said: Statement, asked: Budget | None = None) -> Statement:
    r"""A statement with rho and mu where they say about as much as its epsilon.

    Where they say much less, they are left out (infinite).

    The measure is the Gaussian mechanism that is (epsilon, delta)-DP and no better, with
    :math:`\mu_0 =` `gaussian_mu(epsilon, delta)`: mu stays up to `LOOSEST_MU` :math:`\mu_0`, rho up
    to `LOOSEST_RHO` :math:`\mu_0^2/2`. What a budget `asked` for stays in any case.

    Poisson sampling has neither: all T sampled answers fall on one record with probability
    :math:`q^T`, and then the loss is that of the plan without sampling. So as epsilon and the order
    grow, the least rho and mu that hold everywhere are those without sampling, however small q is.
    """
    same = gaussian_mu(said.epsilon, said.delta) if 0 < said.delta < 1 and math.isfinite(said.epsilon) else 0.0
    rho_asked, mu_asked = (False, False) if asked is None else (asked.rho is not None, asked.mu is not None)
    return replace(
        said,
        rho=said.rho if rho_asked or said.rho <= LOOSEST_RHO * same**2 / 2 else math.inf,
        mu=said.mu if mu_asked or said.mu <= LOOSEST_MU * same else math.inf,
    )


def no_promise(*, recipe: str, loss: str, adjacency: str, unit: str, n_rows: int, caveat: str) -> Statement:
    """A statement about something that was made without noise: it guarantees nothing."""
    said = replace(_guaranteed(None, 1.0), adjacency=adjacency, unit=unit, recipe=recipe, loss=loss, n_rows=n_rows)
    return replace(said, caveats=(caveat,))


def void(statement: Statement, caveat: str) -> Statement:
    """A statement that claims no privacy, with the caveat that says why; what it cost stays in it."""
    return replace(statement, private=False, caveats=(caveat, *statement.caveats))


def of_others(prepared: FitPlan) -> tuple[str, ...]:
    """What a private fit depends on that is not of this package: it was tested on synthetic rows."""
    tested = "was tested on synthetic rows and is not proven"
    found = []
    if prepared.recipe.private and not built_in(prepared.recipe):
        kind = type(prepared.recipe)
        found.append(
            f"the recipe {prepared.recipe.name!r} ({kind.__module__}.{kind.__qualname__}) is not one of dpsparse: "
            f"that its model depends on noisy answers alone {tested}"
        )
    if prepared.recipe.private and user_defined(prepared.loss):
        found.append(
            f"the loss {prepared.loss.name!r} is not one of dpsparse: that it treats each row separately {tested}"
        )
    return tuple(found)


def not_covered(on_missing: str) -> tuple[str, ...]:
    """What a statement says about rows that would be refused."""
    return (NOT_COVERED,) if on_missing == "refuse" else ()


def draft_step(
    priced: PricedPlan, delta: float, what: str, n_rows: int, on_missing: str, *, secure: bool, unit: str = ROW
) -> Statement:
    """What a transformer with one priced query will have guaranteed."""
    draft = replace(
        _guaranteed(priced, delta),
        private=secure,
        unit=unit_phrase(unit),
        recipe=what,
        n_rows=n_rows,
        assumptions=(*not_covered(on_missing), MADE_ROWS, *one_id(unit)),
        caveats=_seeded("made", secure),
        bill=write_cost(cost_of_units(PlanCost.of(priced), unit)),
    )
    return _weigh(in_other_words(draft, priced.budget))


def draft_score(
    priced: PricedPlan,
    delta: float,
    what: str,
    loss: Loss,
    n_rows: int,
    on_missing: str,
    *,
    secure: bool,
    unit: str = ROW,
) -> Statement:
    """What an evaluation of a model will have guaranteed to the people whose rows score it."""
    return replace(
        draft_step(priced, delta, what, n_rows, on_missing, secure=secure, unit=unit),
        loss=loss.name,
        assumptions=(*not_covered(on_missing), MADE_ROWS, SCORED, *one_id(unit)),
    )


def state_pipeline(
    parts: Sequence[Statement],
    epsilon: float,
    accountant: str,
    bill: Cost | None,
    *,
    delta: float,
    free: Sequence[str],
) -> Statement:
    """One statement for all steps of a pipeline.

    Parameters
    ----------
    parts : sequence of Statement
        Of its priced steps, the model last.
    epsilon, accountant, bill
        Of the whole; without a bill it is that of the model, which alone has a price.
    delta : float
    free : sequence of str
        Steps that cost nothing.
    """
    last = parts[-1]
    assumptions = [a for part in parts for a in part.assumptions]
    if free:
        assumptions.append(f"what is done to a row by {', '.join(free)} depends on no other row")
    whole = replace(
        last,
        private=all(part.private for part in parts),
        priced=all(part.priced for part in parts),
        epsilon=epsilon,
        delta=delta,
        rho=math.fsum(part.rho for part in parts),
        mu=math.hypot(*(part.mu for part in parts)),
        recipe=f"pipeline of {', '.join(part.recipe for part in parts)}",
        asks=tuple(ask for part in parts for ask in part.asks),
        accountant=accountant,
        assumptions=_once(assumptions),
        caveats=_once(c for part in parts for c in _strong(part)),
        notes=_once(note for part in parts for note in part.notes),
        bill=last.bill if bill is None else write_cost(bill),
    )
    return _weigh(in_other_words(whole))


def draft_search(
    bill: SearchCost,
    delta: float,
    run_rho: float,
    loss: Loss,
    n_rows: int,
    assumptions: Iterable[str],
    *,
    secure: bool,
    unit: str = ROW,
) -> Statement:
    """What a search will have guaranteed, whichever run is the best; `state_best` adds that run."""
    law = bill.law
    draft = Statement(
        private=secure,
        epsilon=bill.epsilon(delta),
        delta=delta,
        rho=math.inf,
        mu=math.inf,
        adjacency=str(bill.adjacency),
        unit=unit_phrase(unit),
        recipe="private search, no run",
        loss=loss.name,
        n_rows=n_rows,
        asks=(),
        accountant=f"{RANDOM_STOPPING} ({law.name} law, mean {law.mean:.6g}) over privacy profiles and Renyi curves",
        assumptions=_once(assumptions),
        caveats=_seeded("searched", secure),
        notes=(f"each run, whichever candidate it drew, was rho-zCDP with rho = {run_rho:.6g}",),
        versions=versions(),
        bill=write_cost(cost_of_units(bill, unit)),
    )
    return _weigh(draft)


def state_best(draft: Statement, ran: Statement | None, loss: Loss, asks: tuple[AskSummary, ...]) -> Statement:
    """The statement of a search, with what its best run says; None: no run was drawn."""
    if ran is None:
        nothing = "no run was drawn: the model is the public start vector and does not depend on the data"
        said = replace(draft, loss=loss.name, notes=(nothing, *draft.notes))
    else:
        said = replace(
            draft,
            private=draft.private and ran.private,
            priced=draft.priced and ran.priced,
            recipe=f"private search, {ran.recipe}",
            loss=loss.name,
            asks=asks,
            assumptions=(*draft.assumptions, *ran.assumptions),
            caveats=_once((*_strong(ran), *draft.caveats)),
            notes=(*ran.notes, *draft.notes),
        )
    return replace(said, assumptions=_once((*said.assumptions, SECRET)))


def complete(draft: Statement, drawn: Iterable[Drawn], payment: Payment | None = None) -> Statement:
    """A draft with what was drawn, the branches that answers chose, and the entry of the ledger that paid for it.

    Refuses answers that are not those that were paid.
    """
    whole = list(drawn)
    branches = ", ".join(dict.fromkeys(branch for one in whole for branch in one.choices))
    notes = (*draft.notes, *([f"chosen by answers: {branches}"] if branches else []))
    return charged_to(replace(draft, asks=summaries_of(whole), notes=notes), payment)


def with_size(statement: Statement, prepared: FitPlan, used: NDArray[np.bool_]) -> Statement:
    """A statement that says how many features, or groups, a model uses, where nobody asked for a number.

    Public: the coefficients show it.
    """
    if prepared.request.sparsity is not None or prepared.priced is None:
        return statement
    name, groups = prepared.recipe.name, prepared.facts.groups
    what, many = ("features", used.sum()) if groups is None else ("groups", np.unique(groups[used]).size)
    note = (
        f"no limit on the number of coefficients was set: recipe {name} kept {many} of "
        f"{prepared.facts.candidates} {what}"
    )
    return replace(statement, notes=(*statement.notes, note))


def complete_step(draft: Statement, drawn: Drawn, payment: Payment, n_rows: int) -> Statement:
    """The same for a step, on the number of rows that is public once it was answered."""
    counted = replace(complete(draft, [drawn], payment), n_rows=n_rows, caveats=_strong(draft))
    return _weigh(counted)


def charged_to(statement: Statement, payment: Payment | None) -> Statement:
    """A statement with the entry of the ledger that paid for it; names without an address."""
    entry: Mapping[str, object] | None = None if payment is None else payment.record
    return replace(statement, ledger=entry)


def _seeded(what: str, secure: bool) -> tuple[str, ...]:
    return () if secure else (f"{what} {SEEDED}",)


def _weak(said: Statement) -> tuple[str, ...]:
    return weaknesses(said.epsilon, said.delta, said.n_rows, said.mu, said.rho)


def _weigh(said: Statement) -> Statement:
    """A statement with the caveats that its own numbers call for."""
    return replace(said, caveats=_once((*said.caveats, *_weak(said))))


def _strong(said: Statement) -> tuple[str, ...]:
    """Caveats of a part that hold for the whole: all but those about the part's own numbers."""
    return tuple(caveat for caveat in said.caveats if caveat not in _weak(said))


def _once(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(words))
