"""Trial runs: recipes of others run on synthetic rows before private ones come.

Guarantee
---------
A recipe that is not ours is run on synthetic rows, behind `GuardedOracle`, and its answers are
recorded. Then it runs twice more and is given the recorded answers: once on the same rows and once
on others (other moments of the columns, another balance of the targets; another number of rows
where that is private). It is refused, before anything is paid, if it reads what is not public, asks
other than it planned, plans differently the second time, gives other coefficients for the same
answers, or keeps its oracle. What it gives is then a function of answers on these rows. This is a
test and not a proof: code that distinguishes synthetic rows from private ones passes, and so does one that
sends what it sees elsewhere.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from ..core import Adjacency, PrivacyError, PrivacyLeakError, Statement
from ..core.facts import Facts, Vector
from ..core.mechanisms import Randomness
from ..ledger import Payment
from ..oracles import RecordingOracle, ReplayOracle
from ..queries.kinds import Oracle
from ..recipes import built_in
from ..rows.records import Records, suppress_messages
from ..rows.row_terms import RowTerms
from ..rows.units import read_units
from ..rows.unread import CheckedColumns, UnreadCells
from .prepare import FitPlan, plan_again
from .run import FitResult, run
from .session import Matrix, Session, substituted, wrapped
from .statement import draft_fit
from .user_recipes import plan_text

#: Entries of the synthetic rows at most, but for the least number of rows: few, so that the trial run
#: costs about what the recipe's own loop costs.
ENTRIES, FEWEST = 2**15, 6
#: Entries of a synthetic sparse row.
NONZEROS = 8
#: Seed of the synthetic rows and of their noise.
SEED = 20_261

STOPPING = (
    "A loop that stops, or goes on, by what it sees of the data reveals it by the number of its asks: always use the "
    "whole plan, or decide by noisy answers that the plan pays for."
)


def trial_run(prepared: FitPlan) -> None:
    """Run a foreign recipe on synthetic rows and refuse it if what it gives depends on more than the answers.

    Ours pass without a look.

    Parameters
    ----------
    prepared : FitPlan

    Raises
    ------
    PrivacyLeakError
        The message begins with the name of the law: ``plan``, ``violations``, ``asks = plan``,
        ``replay``, ``swap`` or "keeps".
    PrivacyError
        If it fails on synthetic rows.
    """
    if built_in(prepared.recipe) or prepared.priced is None or substituted():  # an audit has laws of its own
        return
    solver, plan = plan_again(prepared)
    if plan_text(plan) != plan_text(prepared.plan):
        raise _refusal(
            prepared, "plan: it plans differently a second time, and may depend on public facts and the budget only."
        )
    trial = replace(prepared, solver=solver)
    draft = draft_fit(prepared, secure=False)
    first, second = synthetic_rows(prepared)
    tape = RecordedRun()
    told = _run(trial, draft, first, tape.record)
    if tape.kept:
        raise _refusal(
            prepared,
            "keeps: the solver keeps its oracle after the run, and with it the rows. Drop it at the end of run().",
        )
    for law, rows in (("replay", first), ("swap", second)):
        if not _same(told, _run(trial, draft, rows, tape.replay, law)):
            raise _refusal(
                prepared,
                f"{law}: the coefficients differ although every answer was the same, so they come from something "
                "else: rows, the time, chance of its own, or an earlier run.",
            )


class RecordedRun:
    """What the first run was answered, and whether somebody keeps an oracle."""

    def __init__(self) -> None:
        self.first: RecordingOracle | None = None
        self.oracle: Callable[[], Oracle | None] = lambda: None

    def record(self, oracle: Oracle) -> Oracle:
        """Keep what is answered."""
        self.first = RecordingOracle(oracle)
        return self.watch(RecordingOracle(self.first))

    def replay(self, oracle: Oracle) -> Oracle:
        """Say it again; the rows are there, and nobody asks them."""
        assert self.first is not None
        return self.watch(ReplayOracle(oracle, self.first.tape, self.first.receipts))

    def watch(self, oracle: Oracle) -> Oracle:
        """Notice whether it is still there afterwards."""
        self.oracle = weakref.ref(oracle)
        return oracle

    @property
    def kept(self) -> bool:
        """Whether the last oracle is still there."""
        if self.oracle() is not None:
            gc.collect()
        return self.oracle() is not None


def synthetic_rows(prepared: FitPlan) -> Iterator[tuple[Records, Vector]]:
    """Two sets of rows within the declared bounds that differ in everything private."""
    facts, labels = prepared.facts, prepared.plan.labels_only
    rng = np.random.default_rng(SEED)
    width = min(facts.n_features, NONZEROS) if facts.sparse else facts.n_features
    n = max(1, min(facts.n_rows, max(FEWEST, ENTRIES // max(width, 1))))
    X = rows_within(facts, n, rng, skew=0.5)
    yield checked(X, facts), targets_within(facts, n, rng, skew=0.3)
    if not labels:
        n += prepared.request.adjacency is Adjacency.ADD_REMOVE
        X = rows_within(facts, n, rng, skew=3.0)
    yield checked(X, facts), targets_within(facts, n, rng, skew=2.0)


def checked(X: Matrix, facts: Facts) -> Records:
    """Synthetic rows of a table with as many columns as the facts say, of which every cell was understood."""
    source, columns = Records(X), facts.counts_unread
    if columns:
        names = tuple(f"column {j}" for j in range(columns))
        public = CheckedColumns(names, np.zeros(facts.n_features, dtype=np.intp), np.zeros(facts.n_features))
        source.unread = UnreadCells.of(public, [np.zeros(source.shape[0], dtype=bool)] * columns)
    n, offsets, top = source.shape[0], facts.offset_bound, facts.weight_bound
    offset = None if offsets is None else np.linspace(*offsets, n)
    source = source.with_terms(RowTerms(offset, None if top is None else np.linspace(0.0, top, n)))
    return source.by_unit(read_units(range(n), n)) if facts.by_unit else source


def rows_within(facts: Facts, n: int, rng: np.random.Generator, skew: float) -> Matrix:
    """Rows between their bounds, in the user's units; a larger `skew` brings entries nearer to the lower ones."""
    d, ones = facts.n_features, np.ones(facts.n_features)
    far = min(facts.row_norm, 1e6)
    low, high = (np.clip(bound * ones, -far, far) for bound in (facts.lower, facts.upper))
    if not facts.sparse:
        return np.asarray((low + (high - low) * rng.random((n, d)) ** skew) * facts.scale)
    count = min(d, NONZEROS)
    columns = np.concatenate([rng.choice(d, count, replace=False) for _ in range(n)])
    values = (low[columns] + (high - low)[columns] * rng.random(n * count) ** skew) * (facts.scale * ones)[columns]
    return sp.csr_matrix((values, columns, np.arange(n + 1) * count), shape=(n, d))


def targets_within(facts: Facts, n: int, rng: np.random.Generator, skew: float) -> Vector:
    """Targets of the declared kind; a larger `skew` makes small ones likelier."""
    part = rng.random(n) ** skew
    if facts.target.classes:
        return np.rint(part)
    if facts.target.counts:
        return np.floor(part * min(facts.target_bound, 20.0))
    return np.asarray(facts.target_bound * (2 * part - 1))


def _run(
    trial: FitPlan, draft: Statement, rows: tuple[Matrix, Vector], wrap: Callable[[Oracle], Oracle], law: str = ""
) -> FitResult:
    """One run on synthetic rows, as a fit runs it; `law` where it is given the answers of an earlier run."""
    X, y = rows
    try:
        with suppress_messages():
            unpaid = Session((Payment(),), Randomness(SEED), bill=trial.bill)
            return run(trial, X, [y], unpaid, draft=draft, opener=wrapped(lambda _, oracle: wrap(oracle)))
    except PrivacyLeakError as leak:
        raise _refusal(trial, str(leak)) from None
    except PrivacyError as refusal:
        why = (
            f"{law}: with the same answers it asked for something else." if law else "asks = plan: the oracle refused."
        )
        raise _refusal(trial, f"{why} {refusal}{'' if law else ' ' + STOPPING}") from None
    except Exception as error:
        raise PrivacyError(
            f"recipe {trial.recipe.name!r} fails on synthetic rows, before private ones came and before anything was "
            f"paid: {type(error).__name__}: {error}"
        ) from error


def _refusal(prepared: FitPlan, why: str) -> PrivacyLeakError:
    return PrivacyLeakError(f"{why} (Recipe {prepared.recipe.name!r} was run on synthetic rows; nothing was paid.)")


def _same(one: FitResult, two: FitResult) -> bool:
    return all(
        np.array_equal(np.r_[a, b], np.r_[c, d], equal_nan=True)
        for (a, b), (c, d) in zip(one.models, two.models, strict=True)
    )
