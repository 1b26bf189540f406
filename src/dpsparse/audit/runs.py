"""Many independent runs on one of two neighbouring datasets, in this process or in others.

A run asks one query (`AskRuns`) or fits a whole model (`FitRuns`); `record_fits` records what the oracles of fits were
asked and what they answered.
"""

from __future__ import annotations

import itertools
import multiprocessing
import pickle
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np

from ..accounting import PricedPlan
from ..core import Ask, Budget, Noise, Plan, Receipt
from ..core.facts import Vector
from ..core.mechanisms import Randomness
from ..fitting import FitPlan, with_oracles, wrapped
from ..io.scikit import clone
from ..oracles import RecordingOracle, make_oracle
from ..queries.kinds import (
    CentredGradient,
    ColumnMeans,
    Gradient,
    Indices,
    Oracle,
    PerturbedMinimum,
    Query,
    RidgeMinimum,
    WeightedGradient,
)
from ..rows.hosts import MemoryHost
from .subject import Subject


@dataclass(frozen=True, eq=False)
class Recorded:
    """The oracle of one model of a fit, with everything it was asked and said; and what was prepared for it."""

    prepared: FitPlan
    oracle: RecordingOracle


@contextmanager
def record_fits() -> Iterator[list[Recorded]]:
    """Record the oracles of all fits inside this block, in the order in which they are opened."""
    seen: list[Recorded] = []

    def record(prepared: FitPlan, oracle: Oracle) -> Oracle:
        seen.append(Recorded(prepared, RecordingOracle(oracle)))
        return seen[-1].oracle

    with with_oracles(wrapped(record)):
        yield seen


#: Runs of one job at most, so that work is shared out evenly and progress shows.
CHUNK = 250


@dataclass(frozen=True, eq=False)
class AskRuns:
    """One query, asked again and again through the real oracle, each time for a price of its own."""

    subject: Subject
    question: Query
    ask: Ask
    X: Vector
    y: Vector
    runs: int
    seed: int | None = None

    def run(self) -> Vector:
        """Answers, one to a line."""
        subject, strength, loss = self.subject, strength_of(self.ask), self.subject.loss
        host, randomness = MemoryHost(self.X, self.y, subject.single_answer_facts), Randomness(self.seed)
        if self.ask.noise.local:  # a person speaks once: every run is another protocol
            once = priced_alone(self.ask, strength, subject.priced.budget, 1)
            oracles: Iterable[Oracle] = (make_oracle(host, loss, once, randomness) for _ in range(self.runs))
        else:
            priced = priced_alone(self.ask, strength, subject.priced.budget, self.runs)
            oracles = itertools.repeat(make_oracle(host, loss, priced, randomness), self.runs)
        found = [np.ravel(oracle.answer(self.question, self.ask.name)) for oracle in oracles]
        return np.asarray(found, dtype=float)


def strength_of(ask: Ask) -> float:
    r"""Mu, eta or epsilon of one answer that is attacked alone.

    Constants do not depend on it, so it is chosen for power: N runs know mu to a relative
    :math:`\sqrt{2p(1-p)}/(\varphi(\mu/2)\,\mu\sqrt N)` with :math:`p = \Phi(\mu/2)`: 1.9 of a root
    of N at 1, 1.1 at 2, 0.9 at 3. Beyond 2 a gross error is no longer seen sooner, since it shows
    in rare events only. Likewise 5/2 for the range of a selection. Where rows are sampled the
    canary must show when it was drawn.
    """
    if ask.rate < 1:
        return 4.0
    return 2.5 if ask.noise is Noise.GUMBEL else 2.0


def priced_alone(ask: Ask, strength: float, budget: Budget, times: int) -> PricedPlan:
    """A plan of one ask, each draw of which has the given mu, eta or epsilon."""
    rho = strength**2 / (8 if ask.noise is Noise.GUMBEL else 2)
    alone = replace(ask, times=times, share=1.0, schedule=None, law=None)
    return PricedPlan(plan=Plan(asks=(alone,)), budget=budget, rho_scale=rho / alone.weights()[0], accountant="given")


@dataclass(frozen=True, eq=False)
class FitRuns:
    """Whole fits. Each gives the model, and all answers of the oracle summed by ask.

    An answer is weighted with the square of its strength, as the likelihood ratio of Gaussian noise
    would: later answers of a schedule may be worth less.
    """

    subject: Subject
    X: Vector
    y: Vector
    widths: dict[str, int]
    runs: int
    seed: int | None = None

    def run(self) -> Vector:
        """Features of each fit: first `widths["model"]` numbers of the model, then the answers."""
        if self.subject.own_fit:
            return np.array([self._fitted(seed) for seed in self._seeds()])
        host = MemoryHost(self.X, self.y, self.subject.facts)
        randomness = Randomness(self.seed)
        found = []
        for _ in range(self.runs):
            priced = self.subject.priced
            oracle = RecordingOracle(make_oracle(host, self.subject.loss, priced, randomness))
            w = self.subject.solver.run(oracle)
            found.append(np.concatenate([w, w != 0, self._answers([oracle])]))
        return np.array(found)

    def _seeds(self) -> Iterator[int | None]:
        if self.seed is None:
            yield from [None] * self.runs
        else:
            yield from (int(s) for s in np.random.SeedSequence(self.seed).generate_state(self.runs))

    def _fitted(self, seed: int | None) -> Vector:
        """One fit by the estimator's own method; everything that it learned counts, whatever it is called."""
        import warnings

        from ..core import HopelessFitWarning, NonPrivateRandomnessWarning

        model = clone(self.subject.template).set_params(random_state=seed)
        y = self.y.astype(int) if self.subject.loss.classes else self.y + self.subject.target_center
        with warnings.catch_warnings(), record_fits() as seen:
            warnings.simplefilter("ignore", NonPrivateRandomnessWarning)
            warnings.simplefilter("ignore", HopelessFitWarning)  # worlds are synthetic
            model.fit(self.X, y)
        learned = [
            np.ravel(value).astype(float)
            for name, value in sorted(vars(model).items())
            if name.endswith("_") and _numeric(value) and name != "support_"  # whose length varies
        ]
        numbers = np.concatenate(learned)
        return np.concatenate([numbers, numbers != 0, self._answers([recorded.oracle for recorded in seen])])

    def _answers(self, oracles: Sequence[RecordingOracle]) -> Vector:
        sums = {name: np.zeros(width) for name, width in self.widths.items()}
        for oracle in oracles:
            for (name, values), answer in zip(spoken(oracle), receipts(oracle), strict=True):
                if name in sums:
                    room = sums[name]
                    weight = (answer.sensitivity / answer.scale) ** 2
                    room[: values.size] += weight * values[: room.size]
        return np.concatenate([*sums.values(), np.zeros(0)])


def _numeric(value: object) -> bool:
    return isinstance(value, int | float | np.number | np.ndarray) and np.asarray(value).dtype.kind in "fiu"


def spoken(oracle: RecordingOracle) -> Iterator[tuple[str, Vector]]:
    """Answers of an oracle in the order they were given: numbers in their coordinates, choices as ones in theirs."""
    dimension = oracle.facts.dimension
    for question, (_, ask, answer) in zip(oracle.questions, oracle.tape, strict=True):
        values = np.ravel(answer)
        support = support_of(question)
        if values.dtype.kind in "iu":
            yield ask, np.bincount(values.astype(np.intp), minlength=2 * dimension).astype(float)
        elif support is not None and support.size == values.size:
            placed = np.zeros(dimension)
            placed[support] = values
            yield ask, placed
        else:
            yield ask, values


def support_of(question: Query) -> Indices | None:
    """The coordinates that a query's answer speaks of, if it names them."""
    if isinstance(question, Gradient | WeightedGradient | ColumnMeans | PerturbedMinimum | RidgeMinimum):
        return question.support
    return question.model.support if isinstance(question, CentredGradient) else None


def receipts(oracle: RecordingOracle) -> list[Receipt]:
    """What was drawn for each answer: the first receipt of each (a perturbed minimum also has one for its rounding)."""
    names = {ask for _, ask, _ in oracle.tape}
    return [answer for answer in oracle.receipts if answer.ask in names]


# ------------------------------------------------------------------------------------------------ carrying out


def sample_runs(
    jobs: Sequence[AskRuns | FitRuns],
    *,
    processes: int = 1,
    seed: int | None = None,
    on_estimate: Callable[[float], None] | None = None,
    on_part: Callable[[float], None] | None = None,
) -> list[Vector]:
    """What all runs of each job found, one line for each run.

    All jobs are cut into parts of one list, so that all processes are busy until the end. Every part has a seed of its
    own where there is a `seed`, and else draws from the operating system, as in real life.
    """
    if on_estimate is not None:
        on_estimate(sum(map(_seconds, jobs)) / processes)
    numbers = itertools.repeat(None) if seed is None else _seeds(seed)
    parts = [
        [replace(job, runs=min(CHUNK, job.runs - start), seed=next(numbers)) for start in range(0, job.runs, CHUNK)]
        for job in jobs
    ]
    pieces, done, total = [piece for part in parts for piece in part], 0, sum(job.runs for job in jobs)
    found = [np.zeros(0)] * len(pieces)
    for place, lines in _carry_out(pieces, processes):
        found[place], done = lines, done + pieces[place].runs
        if on_part is not None:
            on_part(done / total)
    results = iter(found)
    return [np.vstack([next(results) for _ in part]) for part in parts]


def _seeds(seed: int) -> Iterator[int]:
    sequence = np.random.SeedSequence(seed)
    while True:
        yield int(sequence.spawn(1)[0].generate_state(1)[0])


def _seconds(job: AskRuns | FitRuns) -> float:
    """About how long all runs of a job will take."""
    start = time.perf_counter()
    replace(job, runs=3).run()
    return (time.perf_counter() - start) * job.runs / 3


def _carry_out(jobs: Sequence[AskRuns | FitRuns], processes: int) -> Iterator[tuple[int, Vector]]:
    """The place of each job and what it found, in the order in which they end."""
    if processes == 1:
        yield from ((place, job.run()) for place, job in enumerate(jobs))
        return
    try:
        pickle.dumps(jobs)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise TypeError(
            f"what is audited cannot be sent to other processes ({error}). Define it in a module, or use processes=1."
        ) from None
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=context) as pool:
        waiting = {pool.submit(_run, job): place for place, job in enumerate(jobs)}
        yield from ((waiting[future], future.result()) for future in as_completed(waiting))


def _run(job: AskRuns | FitRuns) -> Vector:
    return job.run()
