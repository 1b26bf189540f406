"""A whole fit: try user code on synthetic rows, pay, run on private rows, and state what was guaranteed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..core.facts import Vector
from ..core.log import log_event
from ..core.mechanisms import Randomness
from ..rows.hosts.base import check_units
from ..rows.hosts.memory import give_back
from ..rows.records import Records
from .counts import checked_columns
from .prepare import FitPlan, refuse_unguarded
from .progress import progress_bar, turns_of
from .run import FitResult, run
from .session import READING_TURNS, OpenOracle, Payer, Rows, place_of, session, warn_if_seeded
from .statement import SIMULATED, charged_to, draft_fit
from .targets import OWN_TERMS, refuse_class_weight, terms_notes
from .trial import trial_run


def fit(
    prepared: FitPlan,
    X: Rows,
    targets: Sequence[Vector],
    assumptions: Sequence[str] = (),
    notes: Sequence[str] = (),
    *,
    payers: Sequence[Payer] | None = None,
    opener: OpenOracle | None = None,
    stacklevel: int = 5,
) -> FitResult:
    """Pay for what was planned, run it on private rows, and state what was guaranteed.

    Parameters
    ----------
    prepared : FitPlan
    X : Records, array or CSR matrix
        Private rows.
    targets : sequence of arrays
        One vector for each model; private.
    assumptions : sequence of str
        What the guarantee depends on beside the recipe's own.
    notes : sequence of str
        Further notes of the statement.
    payers : sequence of Payer, optional
        Each pays the whole bill; default: the request, which the statement then cites.
    opener : OpenOracle, optional
        Who opens the oracles; default: as in `run`.
    stacklevel : int
        Frames between the user's line and the warning about a seed.

    Guarantee
    ---------
    That of `session`. Whatever can fail without a row has failed before anything is paid: libraries,
    prices, names, the draft of the statement; a recipe that is not ours was tried on synthetic rows.
    """
    request, name = prepared.request, prepared.recipe.name
    X = Records.of(X).expanded(request.basis)
    check_units(X, prepared.facts)
    if request.ledger is not None:
        refuse_unguarded(prepared.plan, name)
    checked_columns(request.check_cells, X)
    refuse_class_weight(request)
    trial_run(prepared)
    randomness = Randomness(request.random_state)
    if prepared.recipe.private:
        warn_if_seeded(randomness, "fit", stacklevel=stacklevel)
    said = (*assumptions, SIMULATED) if prepared.plan.local else tuple(assumptions)
    said = (*said, OWN_TERMS) if prepared.facts.has_terms else said
    draft = draft_fit(prepared, said, (*notes, *terms_notes(request)), secure=randomness.secure)
    reading = 0 if place_of(prepared, X) == "memory" else READING_TURNS
    bar = None
    if request.verbose:
        bar = progress_bar(name, (turns_of(prepared.plan) + reading) * prepared.models)
    public = {"recipe": name, "n_rows": prepared.facts.n_rows, "n_features": prepared.facts.n_features}
    log_event("fit planned", **public, epsilon=draft.epsilon, delta=draft.delta, dataset=request.dataset)
    payers = (request,) if payers is None else payers
    paying = session(
        *payers,
        bill=prepared.bill,
        label=name,
        delta=prepared.delta,
        resume=request.resume,
        randomness=randomness,
        bar=bar,
    )
    with paying as opened:
        fitted = run(prepared, X, targets, opened, draft=draft, opener=opener)
    give_back(prepared.facts)
    # cited once more, now that the ledger has noted the end
    stated = charged_to(fitted.statement, opened.payment)
    log_event("fit done", **public, answers=sum(ask.times for ask in stated.asks), ledger=stated.ledger)
    return replace(fitted, statement=stated)
