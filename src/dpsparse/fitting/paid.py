"""A whole fit: rehearse what is not ours, reserve, run on private rows, and state what was promised."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..core.facts import Vector
from ..core.log import log_event
from ..core.mechanisms import Randomness
from ..ledger import reserve
from ..rows.records import Records, suppress_messages
from .oracle import Rows
from .place import READING_TURNS, reads_first
from .prepare import FitPlan, refuse_unguarded
from .progress import ProgressBar, turns_of
from .run import FitResult, run
from .seed import warn_if_seeded
from .statement import SIMULATED, charged_to, draft_fit
from .trial import trial_run
from .unread import checked_columns


def fit(
    prepared: FitPlan,
    X: Rows,
    targets: Sequence[Vector],
    assumptions: Sequence[str] = (),
    notes: Sequence[str] = (),
    units: NDArray[np.str_] | None = None,
) -> FitResult:
    """Pay for what was prepared, run it on private rows, and state what was promised.

    Parameters
    ----------
    prepared : Prepared
    X : Source, array or CSR matrix
        Private rows.
    targets : sequence of arrays
        One vector for each model; private.
    assumptions : sequence of str
        What the promise rests on beside the recipe's own.
    notes : sequence of str
        What the statement is to say beside.
    units : array of str, optional
        The unit of each row, where the plan deals rows by units.

    Guarantee
    ---------
    The whole cost is durable in the ledger before a row is handed over, and the ledger's start before the first answer is
    computed. Whatever can fail without a row has failed before: libraries, prices, names, the draft of the statement; a recipe that is not ours
    was rehearsed on made-up rows. While rows are read no warning passes, since it could depend on one.
    """
    request = prepared.request
    if request.ledger is not None:
        refuse_unguarded(prepared.plan, prepared.recipe.name)
    checked_columns(request.check_cells, X)
    trial_run(prepared)
    randomness = Randomness(request.random_state)
    if prepared.recipe.private:
        warn_if_seeded(randomness, "fit", stacklevel=5)
    said = (*assumptions, SIMULATED) if prepared.plan.local else tuple(assumptions)
    draft = draft_fit(prepared, said, notes, secure=randomness.secure)
    name = prepared.recipe.name
    reading = READING_TURNS if reads_first(prepared, Records.of(X)) else 0
    bar = ProgressBar(name, (turns_of(prepared.plan) + reading) * prepared.models, visible=request.verbose)
    public = {"recipe": name, "n_rows": prepared.facts.n_rows, "n_features": prepared.facts.n_features}
    log_event("fit planned", **public, epsilon=draft.epsilon, delta=draft.delta, dataset=request.dataset)
    with (
        reserve(
            request.ledger,
            request.dataset,
            prepared.bill,
            label=name if request.label is None else request.label,
            run_id=request.run_id,
            delta=prepared.delta,
            seeded=not randomness.secure,
        ) as payment,
        bar as watcher,
        suppress_messages(),
    ):
        fitted = run(prepared, X, targets, payment, watcher, draft=draft, randomness=randomness, units=units)
    # cited once more, now that the ledger has noted the end
    stated = charged_to(fitted.statement, payment)
    log_event("fit done", **public, answers=sum(ask.times for ask in stated.asks), ledger=stated.ledger)
    return replace(fitted, statement=stated)
