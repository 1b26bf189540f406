"""Answers before their noise: what a search for canaries looks at."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import ndtri, softmax

from ..accounting import PricedPlan
from ..core import Noise
from ..core.facts import Vector
from ..oracles.local import LocalNoise, person_charge
from ..oracles.noise_info import exact_charge
from ..queries.gradient import contributions
from ..queries.kinds import Gradient, Indices, PerturbedMinimum, Query, RidgeMinimum, Select, SupportVotes
from ..queries.losses import Loss
from ..queries.minimisers import perturbed_minimum, ridge_minimum, ridge_spec, tilted_side
from ..queries.rules import CHOICES, measure
from ..queries.scores import score_sensitivity, scores_of
from ..queries.votes import VOTE_RANGE, votes
from ..rows.hosts import MemoryHost
from ..rows.single_records import private_targets

#: Events rarer than this are of no use to an attack of some thousand runs.
RARE = 0.01
#: Candidates beyond this number of the likeliest ones are not looked at.
MANY = 24


@dataclass(frozen=True, eq=False)
class Response:
    """An answer before its noise: numbers, or scores to choose by; and how far neighbours may move it."""

    values: Vector
    stated: float
    scores: bool
    l1: bool = False

    def moved(self, other: Response) -> float:
        """How far two answers are apart, in units of what is stated."""
        change = self.values - other.values
        if self.scores:
            return float(np.ptp(change)) / self.stated if change.size else 0.0
        return float(np.sum(np.abs(change)) if self.l1 else np.linalg.norm(change)) / self.stated

    def distinguishability(self, other: Response, strength: float) -> float:
        """About the mu at which two answers can be distinguished once they have noise."""
        if not self.scores:
            return self.moved(other) * strength
        here, there = (ndtri(np.clip(_chances(r, strength), RARE, 1 - RARE)) for r in (self, other))
        return float(np.max(np.abs(here - there)))

    def shown(self, other: Response, strength: float) -> float:
        """How clearly some hundred runs show it: as `moved`; or by how much the odds of candidates surely shift."""
        if not self.scores:
            return self.moved(other)
        here, there = _chances(self, strength), _chances(other, strength)
        likely = np.argsort(-(here + there))[:MANY]
        return (
            clearest(400 * here[likely], 400 * there[likely])[0] if np.any(np.abs(here - there) > RARE) else -math.inf
        )


@dataclass(frozen=True, eq=False)
class SyntheticWorld:
    """Rows of a synthetic dataset with the loss and the price of what is asked about them.

    Audits look at it without noise.
    """

    host: MemoryHost
    loss: Loss
    priced: PricedPlan

    @property
    def terms(self) -> LocalNoise:
        """Randomisers, in the local model."""
        return LocalNoise(self.priced, self.host.facts, self.loss.classes)


@lru_cache(maxsize=256)
def _chances(response: Response, strength: float) -> Vector:
    """Chances of all candidates under the exponential mechanism."""
    return np.asarray(softmax(response.values * (strength / response.stated)))


def clearest(here: Vector, there: Vector, sigmas: float = 5.0) -> tuple[float, Indices, Indices]:
    """The two sets of candidates whose odds surely shift most, from counts in two worlds.

    Candidates are sorted by how much likelier they are in the first world; the sets are some of the
    first and some of the last. Returns the shift of the log-odds less some standard errors, and the
    sets.
    """
    order = np.argsort(-(np.log(here + 0.5) - np.log(there + 0.5)), kind="stable")
    first = np.cumsum([here[order], there[order]], axis=1) + 0.5
    last = np.cumsum([here[order[::-1]], there[order[::-1]]], axis=1) + 0.5
    up = (np.log(first[0]) - np.log(first[1]))[:, None] - (np.log(last[0]) - np.log(last[1]))[None, :]
    error = np.sqrt((1 / first).sum(axis=0)[:, None] + (1 / last).sum(axis=0)[None, :])
    sure = up - sigmas * error
    size = order.size
    sure[np.add.outer(np.arange(1, size + 1), np.arange(1, size + 1)) > size] = -math.inf  # sets that overlap
    a, b = np.unravel_index(int(np.argmax(sure)), sure.shape)
    return float(sure[a, b]), order[: a + 1], order[size - b - 1 :]


def respond(question: Query, held: SyntheticWorld, noise: Noise) -> Response:
    """The answer to a query, without noise. In the local model: the answer of the first person."""
    if held.priced.plan.local:
        return _own(question, held)
    host, loss, relation = held.host, held.loss, held.priced.budget.relation
    kind = type(question)
    if kind in CHOICES:
        rule = CHOICES[kind]
        return Response(
            rule.scores(question, host.total(exact_charge(question, host), loss)), rule.spread(question, relation), True
        )
    if isinstance(question, SupportVotes):
        return Response(votes(exact_charge(question, host), host.shards, loss, 0), VOTE_RANGE, scores=True)
    if isinstance(question, PerturbedMinimum):
        untilted = tilted_side(question, loss, host.facts.n_rows, 0.0)
        tilt = np.zeros(question.support.size)
        found = perturbed_minimum(exact_charge(question, host), host.shards, loss, tilt, untilted.tolerance())
        return Response(found, relation.kappa * question.clip.norm / question.ridge, scores=False)
    if isinstance(question, RidgeMinimum):
        _, _, spec = ridge_spec(question, loss, host.facts.n_rows, 1.0)
        found = ridge_minimum(exact_charge(question, host), host.shards, loss, spec.tolerance)
        return Response(found, spec.sensitivity, scores=False)
    if isinstance(question, Select):
        measured, divisor = measure(question.of, host.lattice), host.facts.n_rows
        mean = np.asarray(host.total(exact_charge(question.of, host), loss) * measured.unit / divisor, dtype=float)
        scores = scores_of(question.score, mean, host.facts.free)
        if question.excluded is not None:
            scores = np.delete(scores, question.excluded)
        return Response(
            scores, score_sensitivity(question.score, measured.reach, relation, host.facts.free) / divisor, True
        )
    measured = measure(question, host.lattice)
    l1 = noise is Noise.LAPLACE
    values = np.asarray(host.total(exact_charge(question, host), loss) * measured.unit, dtype=float)
    return Response(values, measured.reach.l1(relation) if l1 else measured.reach.l2(relation), False, l1)


def _own(question: Query, held: SyntheticWorld) -> Response:
    host, stated, charge = held.host, 2 * held.terms.radius(question), person_charge(question, held.terms)
    if not isinstance(question, Gradient):  # labels are all that a local plan asks beside gradients
        return Response(private_targets(charge, host.shards)[:1], stated, scores=False)
    first = np.arange(host.facts.n_rows) == 0
    [own] = contributions(charge, host.shards, held.loss, first)
    return Response(own[0], stated, scores=False)
