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
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from ..accounting import PricedPlan
from ..core import Ask, Budget, Noise, Plan, Receipt
from ..core.facts import Facts, Vector
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
from ..queries.losses import Loss
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


class Job(Protocol):
    """Some runs in one world. Everything in it can be sent to another process."""

    @property
    def runs(self) -> int:
        """How many."""
        ...

    def run(self) -> Vector:
        """One line of numbers for each run."""
        ...


@dataclass(frozen=True, eq=False)
class AskRuns:
    """One query, asked again and again through the real oracle, each time for a price of its own."""

    question: Query
    ask: Ask
    strength: float
    facts: Facts
    loss: Loss
    budget: Budget
    X: Vector
    y: Vector
    runs: int
    seed: int | None = None

    def run(self) -> Vector:
        """Answers, one to a line."""
        host, randomness = MemoryHost(self.X, self.y, self.facts), Randomness(self.seed)
        if self.ask.noise.local:  # a person speaks once: every run is another protocol
            once = priced_alone(self.ask, self.strength, self.budget, 1)
            oracles: Iterable[Oracle] = (make_oracle(host, self.loss, once, randomness) for _ in range(self.runs))
        else:
            priced = priced_alone(self.ask, self.strength, self.budget, self.runs)
            oracles = itertools.repeat(make_oracle(host, self.loss, priced, randomness), self.runs)
        found = [np.ravel(oracle.answer(self.question, self.ask.name)) for oracle in oracles]
        return np.asarray(found, dtype=float)


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


@dataclass
class Progress:
    """What the caller hears while it waits: an estimate in seconds, then the part that is done."""

    on_estimate: Callable[[float], None] | None = None
    on_part: Callable[[float], None] | None = None
    total: int = 0
    done: int = field(default=0)

    def started(self, seconds: float) -> None:
        """Tell the estimate."""
        if self.on_estimate is not None:
            self.on_estimate(seconds)

    def advanced(self, runs: int) -> None:
        """Tell how far it is."""
        self.done += runs
        if self.on_part is not None:
            self.on_part(self.done / max(self.total, 1))


def chunks(job: AskRuns | FitRuns, runs: int, seeds: Iterator[int | None]) -> list[AskRuns | FitRuns]:
    """The same job in parts, each with a seed of its own."""
    sizes = [CHUNK] * (runs // CHUNK) + ([runs % CHUNK] if runs % CHUNK else [])
    return [replace(job, runs=size, seed=next(seeds)) for size in sizes]


def seeds(seed: int | None) -> Iterator[int | None]:
    """Independent seeds, or none: then every run draws from the operating system, as in real life."""
    if seed is None:
        while True:
            yield None
    sequence = np.random.SeedSequence(seed)
    while True:
        yield int(sequence.spawn(1)[0].generate_state(1)[0])


def seconds_of(job: AskRuns | FitRuns, runs: int) -> float:
    """About how long that many runs of a job will take."""
    start = time.perf_counter()
    replace(job, runs=3).run()
    return (time.perf_counter() - start) * runs / 3


def carry_out(jobs: Sequence[Job], processes: int, progress: Progress) -> list[Vector]:
    """Run all jobs and return what they found, in order."""
    if processes == 1:
        found = []
        for job in jobs:
            found.append(job.run())
            progress.advanced(job.runs)
        return found
    try:
        pickle.dumps(jobs)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise TypeError(
            f"what is audited cannot be sent to other processes ({error}). Define it in a module, or use processes=1."
        ) from None
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=context) as pool:
        waiting = {pool.submit(_run, job): index for index, job in enumerate(jobs)}
        results = [np.zeros(0)] * len(jobs)
        for future in as_completed(waiting):
            index = waiting[future]
            results[index] = future.result()
            progress.advanced(jobs[index].runs)
    return results


def _run(job: Job) -> Vector:
    return job.run()
