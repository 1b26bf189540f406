r"""Black-box attacks: two worlds, many runs, and what distinguishes them.

For every ask of a plan a pair of neighbouring datasets is built that its query distinguishes as
well as it can (`canaries`). The query is then asked many times in both worlds through the real
oracle, priced alone and generously (constants do not depend on the budget, and large budgets show
small errors soonest). The whole fit is attacked too, through everything that its oracle said and
through the model alone. Every attack ends in a `LowerBound` and its comparison with the whole
claimed curve.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np

from ..core import Ask, EveryRow, Participation, PoissonRows, Receipt
from ..core.checks import whole as whole_number
from ..core.facts import Facts, Vector
from ..core.mechanisms import Randomness
from ..oracles import RecordingOracle, make_oracle
from ..queries.kinds import Query
from ..queries.losses import Loss
from ..rows.hosts import MemoryHost
from .canaries import QUIET, Base, CanarySet, NeighbouringData, bases, directions_of, extreme_records
from .judge import AskAttack, judge_ask, judge_fit
from .lower_bounds import CONFIDENCE
from .result import AuditResult
from .runs import AskRuns, FitRuns, receipts, sample, spoken, strength_of
from .subject import Subject, subject_of

#: Worlds that differ by less than this part of what they show are equally good.
EQUAL = 1e-6
#: Queries of one ask that are tried, spread over its turns.
TRIED = 3


def attack(
    target: object,
    *,
    runs: int = 2000,
    fits: int | None = None,
    epsilon: float = 10.0,
    delta: float = 1e-5,
    n_rows: int | None = None,
    n_features: int | None = None,
    facts: Facts | None = None,
    loss: Loss | None = None,
    processes: int = 1,
    seed: int | None = None,
    confidence: float = CONFIDENCE,
    on_estimate: Callable[[float], None] | None = None,
    on_part: Callable[[float], None] | None = None,
) -> AuditResult:
    """Attack a recipe, an estimator or a solver with canaries, ask by ask and as a whole.

    Parameters
    ----------
    target : str, recipe, estimator or solver
        A recipe or its name is attacked as a regressor with features and target in [-1, 1]; an estimator with its own
        arguments; a solver (`plan`, `run`) with `facts` and `loss`.
    runs : int
        Runs in each world for every ask.
    fits : int, optional
        Whole fits in each world; default half of `runs`, 0 for none.
    epsilon, delta : float
        Privacy at which whole fits are attacked. Constants do not depend on it, and errors show soonest where mu is
        about 2, which is this default.
    n_rows, n_features : int, optional
        Size of the worlds.
    facts, loss
        For a solver.
    processes : int
        Processes to share the work among.
    seed : int, optional
        For tests. Without one every run draws from the operating system, as real fits do.
    confidence : float
        Of every single lower bound.
    on_estimate, on_part : callable, optional
        Told the seconds that it will take, and then the part that is done.

    Returns
    -------
    AuditResult

    Examples
    --------
    >>> from dpsparse import audit
    >>> found = audit.attack("dp_ight", runs=200, fits=0, seed=0)
    >>> found.verdict
    'no violation found'
    """
    for value, what, least in ((runs, "runs", 8), (processes, "processes", 1), (fits or 8, "fits", 8)):
        whole_number(value, what, least=least)
    start = time.perf_counter()
    subject = subject_of(
        target, epsilon=epsilon, delta=delta, n_rows=n_rows, n_features=n_features, facts=facts, loss=loss
    )
    fits = max(8, runs // 2) if fits is None else fits
    attacks, whole, widths = plan_attacks(subject)
    jobs: list[AskRuns | FitRuns] = [
        AskRuns(subject, one.question, one.ask, *one.worlds.data(present), runs)
        for one in attacks
        for present in (True, False)
    ]
    if fits:
        jobs += [FitRuns(subject, *whole.data(present), widths, fits) for present in (True, False)]
    samples = sample(jobs, processes=processes, seed=seed, on_estimate=on_estimate, on_part=on_part)
    checks = [
        judge_ask(subject, one, *samples[2 * i : 2 * i + 2], confidence=confidence, delta=delta)
        for i, one in enumerate(attacks)
    ]
    if fits:
        checks += judge_fit(subject, whole, *samples[-2:], widths=widths, confidence=confidence)
    return AuditResult(
        target=subject.label,
        scope=(
            f"each ask of the plan at mu or epsilon 2 (range 2.5, sampled 4), and whole fits at epsilon {epsilon:g}, "
            f"delta {delta:g}, {subject.relation}, on synthetic datasets of {subject.facts.n_rows} rows and "
            f"{subject.facts.n_features} features; {runs} answers and {fits} fits in each world"
        ),
        checks=tuple(checks),
        runs=runs,
        confidence=confidence,
        seconds=time.perf_counter() - start,
        notes=_left_out(subject, attacks),
    )


# ------------------------------------------------------------------------------------------------ where to attack


def plan_attacks(subject: Subject) -> tuple[list[AskAttack], NeighbouringData, dict[str, int]]:
    """For every ask the query and worlds that show most; worlds for the whole fit.

    How many numbers each ask says.
    """
    best: dict[str, tuple[float, AskAttack]] = {}
    most, whole = -1.0, None
    widths: dict[str, int] = {}
    for base in bases(subject.facts, subject.loss):
        recorded = _recorded(subject, base)
        for name, values in spoken(recorded):
            widths[name] = max(widths.get(name, 0), values.size)
        tried = _tried(recorded, subject)
        directions = [d for question, _, _ in tried for d in directions_of(question)]
        choices = extreme_records(subject.facts, subject.loss, _different(directions))
        zoo = CanarySet(_seen_by(subject, base), choices, subject.single_answer_facts, subject.loss, subject.priced)
        totals: dict[tuple[int, int], float] = dict.fromkeys(zoo.neighbours(), 0.0)
        for question, ask, strength in tried:
            answers = zoo.responses(question, ask.noise)
            # other rows of a sample come and go, which hides the canary unless they contribute nothing
            clear = 0.5 if isinstance(ask.rows, PoissonRows) and base[0] != QUIET else 1.0
            for i, j in totals:
                totals[i, j] += (clear * answers[i].distinguishability(answers[j], strength)) ** 2
                shown = clear * answers[i].shown(answers[j], strength_of(ask))
                if ask.name not in best or shown > best[ask.name][0]:
                    best[ask.name] = shown, AskAttack(question, ask, zoo.worlds(i, j), answers[i], answers[j])
        (i, j), total = max(totals.items(), key=lambda item: item[1])
        if total > most * (1 - EQUAL):  # of equals the later: there the model shows what its answers show
            most, whole = total, NeighbouringData(*base, zoo.worlds(i, j).present, zoo.worlds(i, j).absent)
    assert whole is not None
    return [one for _, one in best.values()], whole, widths


def _seen_by(subject: Subject, base: Base) -> Base:
    """The rows beside the canary that an answer speaks of: in the local model none."""
    _, X, y = base
    return ("one person", X[:0], y[:0]) if subject.plan.local else base


def _recorded(subject: Subject, base: Base) -> RecordingOracle:
    """What a fit of these rows asks; the last row once more, so that there are as many as is public."""
    _, X, y = base
    host = MemoryHost(np.vstack([X, X[-1:]]), np.append(y, y[-1:]), subject.facts)
    oracle = RecordingOracle(make_oracle(host, subject.loss, subject.priced, Randomness(0)))
    subject.solver.run(oracle)
    return oracle


def _tried(recorded: RecordingOracle, subject: Subject) -> list[tuple[Query, Ask, float]]:
    """A few queries of each ask, with the ask as it was answered and the strength of one draw there."""
    by_ask: dict[str, list[tuple[Query, Ask, float]]] = {}
    for question, answer in zip(recorded.questions, receipts(recorded), strict=True):
        ask = Ask(
            name=answer.ask,
            noise=answer.noise,
            draws=answer.draws,
            rows=_participation(subject, answer),
            offset=answer.offset,
        )
        by_ask.setdefault(answer.ask, []).append((question, ask, answer.sensitivity / answer.scale))
    found = []
    for turns in by_ask.values():
        picked = np.unique(np.linspace(0, len(turns) - 1, TRIED).astype(int))
        found += [turns[k] for k in picked]
    return found


def _participation(subject: Subject, answer: Receipt) -> Participation:
    if answer.noise.local:
        return subject.plan[answer.ask].rows
    return PoissonRows(answer.rate) if answer.rate < 1 else EveryRow()


def _different(directions: list[Vector]) -> list[Vector]:
    """Directions whose signs differ, without the zero vector."""
    found = {tuple(np.sign(d)): d for d in directions if np.any(d)}
    return list(found.values())[:4]


def _left_out(subject: Subject, attacks: Sequence[AskAttack]) -> tuple[str, ...]:
    asked = {one.ask.name for one in attacks}
    planned = [a.name for a in subject.plan.asks]
    for _, branch in subject.plan.branches:
        planned += [a.name for a in branch.asks]
    missing = sorted({name for name in planned if name not in asked})
    return (f"branches that these worlds did not take, with asks {', '.join(missing)}",) if missing else ()
