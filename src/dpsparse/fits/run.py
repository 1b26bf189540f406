"""Running what was prepared: reserve, hand over the rows, let the solver ask, and state what was promised."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Protocol

from ..data.source import silence
from ..facts import Vector
from ..ledger import Payment, paying
from ..log import event
from ..mechanisms import Randomness
from ..oracle import Path
from ..privacy import Answer, PrivacyError, Statement
from .clipping import ask_clipped, clipping_notes
from .oracle import Opened, Rows, Watcher, open_oracle
from .prepare import Prepared, refuse_unguarded
from .progress import ProgressBar, turns_of
from .seed import warn_if_seeded
from .statement import SIMULATED, charged_to, complete, draft_fit


class OpenOracle(Protocol):
    """Who makes the oracle of one model, from what was prepared and from rows."""

    def __call__(
        self, prepared: Prepared, X: Rows, y: Vector, randomness: Randomness, payment: Payment, watcher: Watcher
    ) -> Opened:
        """An oracle over the rows."""
        ...


@dataclass(frozen=True, eq=False)
class Fitted:
    """What a fit learned.

    Attributes
    ----------
    models : tuple of (coefficients, intercept)
        One pair for each model, in the units of the user; without the centre of the target.
    statement : Statement
    paths : tuple of Path
        Released iterates of each model; empty unless they were kept.
    """

    models: tuple[tuple[Vector, float], ...]
    statement: Statement
    paths: tuple[Path, ...] = ()


_opener: ContextVar[OpenOracle] = ContextVar("dpsparse_open_oracle", default=open_oracle)


@contextmanager
def substitute_oracles(opener: OpenOracle) -> Iterator[None]:
    """Let fits inside this block get their oracles from another function: for audits and laws, which record and replay.

    It holds for this thread and context only, whichever way the fit is called: by an estimator, by a user's own subclass, in a
    pipeline or in a search. Call `open_oracle` inside `opener` for the ordinary oracle.
    """
    before = _opener.set(opener)
    try:
        yield
    finally:
        _opener.reset(before)


def substituted() -> bool:
    """Whether fits get their oracles from elsewhere here: then they are part of an audit, and nothing is released."""
    return _opener.get() is not open_oracle


def fit(
    prepared: Prepared,
    X: Rows,
    targets: Sequence[Vector],
    assumptions: Sequence[str] = (),
    notes: Sequence[str] = (),
) -> Fitted:
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

    Guarantee
    ---------
    The whole cost is durable in the ledger before a row is handed over, and the ledger's start before the first answer is
    computed. Whatever can fail without a row has failed before: libraries, prices, names, the draft of the statement. While
    rows are read no warning passes, since it could depend on one.
    """
    request = prepared.request
    randomness = Randomness(request.random_state)
    if prepared.recipe.private:
        warn_if_seeded(randomness, "fit", stacklevel=5)
    if request.ledger is not None:
        refuse_unguarded(prepared.plan, prepared.recipe.name)
    said = (*assumptions, SIMULATED) if prepared.plan.local else tuple(assumptions)
    draft = draft_fit(prepared, said, notes, secure=randomness.secure)
    name = prepared.recipe.name
    bar = ProgressBar(name, turns_of(prepared.plan) * prepared.models, visible=request.verbose)
    public = {"recipe": name, "n_rows": prepared.facts.n_rows, "n_features": prepared.facts.n_features}
    event("fit planned", **public, epsilon=draft.epsilon, delta=draft.delta, dataset=request.dataset)
    with (
        paying(
            request.ledger,
            request.dataset,
            prepared.bill,
            label=name if request.label is None else request.label,
            run_id=request.run_id,
            delta=prepared.delta,
        ) as payment,
        bar as watcher,
        silence(),
    ):
        fitted = run(prepared, X, targets, payment, watcher, draft=draft, randomness=randomness)
    # cited once more, now that the ledger has noted the end
    stated = charged_to(fitted.statement, payment)
    event("fit done", **public, answers=sum(ask.times for ask in stated.asks), ledger=stated.ledger)
    return replace(fitted, statement=stated)


def run(
    prepared: Prepared,
    X: Rows,
    targets: Sequence[Vector],
    payment: Payment,
    watcher: Watcher,
    *,
    draft: Statement,
    randomness: Randomness,
    open_oracle: OpenOracle | None = None,
) -> Fitted:
    """Run a prepared fit that is paid for: one solver for each vector of targets, each with an oracle of its own.

    Parameters
    ----------
    prepared, X, targets
        As in `fit`.
    payment : Payment
        Started before the first answer.
    watcher : function of a name
        Told of every charge.
    draft : Statement
    randomness : Randomness
    open_oracle : OpenOracle, optional
        Who makes the oracles; default: ours, or what `substitute_oracles` put in their place.
    """
    opener = _opener.get() if open_oracle is None else open_oracle
    models: list[tuple[Vector, float]] = []
    answers: list[Answer] = []
    paths: list[Path] = []
    clipped = []
    for y in targets:
        opened = opener(prepared, X, y, randomness, payment, watcher)
        path = Path() if prepared.request.keep_path else None
        if prepared.request.check_bounds is not None:
            clipped.append(ask_clipped(opened.oracle))
        w = prepared.solver.run(opened.oracle, path)
        if opened.oracle.unused:
            raise PrivacyError(
                f"the solver left priced asks unused: {opened.oracle.unused}. A plan must ask for what it prices."
            )
        answers.extend(opened.oracle.receipts)
        models.append(coefficients_of(w, opened.shift, opened.height))
        paths.extend([] if path is None else [path])
    notes = clipping_notes(clipped, classes=prepared.request.classifies)
    said = replace(draft, notes=(*notes, *draft.notes))
    return Fitted(tuple(models), complete(said, answers, payment), tuple(paths))


def coefficients_of(w: Vector, shift: Vector, height: float) -> tuple[Vector, float]:
    """Coefficients of the features as the user knows them, and the intercept: public shift and height undone.

    Parameters
    ----------
    w : array
        What a solver found: one coefficient for each feature and, if `height` is not zero, one for the constant column.
    shift : array of shape (n_features,)
        What was subtracted from every row.
    height : float
        Of the constant column; 0 for none.
    """
    coef = w[: shift.size] + 0.0
    constant = height * float(w[-1]) if height else 0.0
    return coef, constant - float(shift @ coef)
