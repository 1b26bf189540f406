r"""DPSL-KT as printed: the recipe ``dpsl_kt_published``. **Do not use: its privacy theorem is false.** Use ``dpsl_kt``.

.. math:: \tilde y = \tilde X\,\mathrm{IGHT}(S) + N(0, \sigma^2 I), \qquad \sigma^2 = \frac{8m\tilde\beta s\gamma^2\log(2.5/\delta)}{n^2\epsilon^2\lambda^2}

Wang and Gu, AAAI 2020, Theorem 4.3, and Corollary 4.7 with the curvature :math:`\mu` of the private data in place of
:math:`\lambda`. The proof uses the first-order condition of a minimum over a convex set; sparse vectors are not one. With
records (e_1, 1) and (e_2, 1) in a tie, one record decides which coordinate the teacher keeps, whatever n.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dpsparse import recipes
from dpsparse.audit import event
from dpsparse.facts import Vector
from dpsparse.hosts import MemoryHost
from dpsparse.losses import Squared
from dpsparse.mechanisms import Randomness
from dpsparse.oracles import CentralOracle, RecordingOracle
from dpsparse.statistics import published_labels

from .exhibit import AT_LEAST, EXACT, Epsilon, Exhibit, Figure, Promise
from .laws import epsilon_of, gaussian_epsilon
from .ours import estimator, first_choice

PAPER = "Wang and Gu, AAAI 2020"
FEATURES = 20
CLAIMED = Promise(1.0, 1e-5)
#: Fields of the recipe in all exhibits.
TEACHER = {"gamma": 1.0, "auxiliary_rows": 200, "teacher_steps": 12, "steps": 20}


def tie(n: int, first: int) -> tuple[Vector, Vector]:
    """`first` records (e_1, 1), the others (e_2, 1)."""
    X = np.zeros((n, FEATURES))
    X[:first, 0] = 1.0
    X[first:, 1] = 1.0
    return X, np.ones(n)


def exact_mu(recipe: Any, n: int) -> float:
    """Mu of the released labels: the distance of the two teachers' labels over the noise on the oracle's receipt."""
    prepared = estimator(recipe, CLAIMED, accept=("kt-published",))._prepare(n, FEATURES, sparse=False, models=1)
    labels, scale = [], 1.0
    for side in (1, -1):
        host = MemoryHost(*tie(n, (n + side) // 2), prepared.facts)
        oracle = RecordingOracle(CentralOracle(host, Squared(), prepared.priced, Randomness(0)))
        prepared.solver.run(oracle)
        [question] = oracle.questions
        labels.append(published_labels(host.shards, Squared(), question).values)
        scale = oracle.receipts[0].scale
    return float(np.linalg.norm(labels[0] - labels[1])) / scale


def supports(recipe: Any, n: int, side: int, runs: int) -> int:
    """How often a fit keeps coordinate 1 and no other."""
    prepared = estimator(recipe, CLAIMED, accept=("kt-published",))._prepare(n, FEATURES, sparse=False, models=1)
    host = MemoryHost(*tie(n, (n + side) // 2), prepared.facts)
    randomness = Randomness(11 + side)
    found = (prepared.solver.run(CentralOracle(host, Squared(), prepared.priced, randomness)) for _ in range(runs))
    return sum(np.array_equal(np.flatnonzero(w), [0]) for w in found)


def seen_epsilon(recipe: Any, n: int, runs: int) -> Epsilon:
    """What the chosen coordinate proves about epsilon."""
    counts = [supports(recipe, n, side, runs) for side in (1, -1)]
    bound = event(counts[0], runs, counts[1], runs, delta=CLAIMED.delta)
    return Epsilon(bound.epsilon, AT_LEAST, f"coordinate 1 alone in {counts[0]} and {counts[1]} of {runs} runs")


def _ours(n: int) -> Epsilon:
    """The support that our recipe chooses on the same records: what the published support is compared with."""
    prepared = estimator(recipes.DPSLKT(mechanism="peel"), CLAIMED)._prepare(n, FEATURES, sparse=False, models=1)
    worlds = [tie(n, (n + side) // 2) for side in (1, -1)]
    law = first_choice(prepared.solver.run, worlds, prepared.facts, Squared(), prepared.priced)
    return Epsilon(epsilon_of(*law, CLAIMED.delta), EXACT, "exact law of the support that ours chooses")


def exhibits(runs: int, rng: np.random.Generator) -> list[Exhibit]:
    """Theorem 4.3 at three sizes, and Corollary 4.7."""
    often = max(50, runs // 40)
    found = []
    for n, figure in ((101, 5.4), (1001, 120.5), (10_001, 7559.0)):
        recipe = recipes.DPSLKTPublished(ridge=0.1, **TEACHER)
        true = gaussian_epsilon(exact_mu(recipe, n), CLAIMED.delta)
        found.append(
            Exhibit(
                name="DPSL-KT",
                paper=PAPER,
                theorem="Theorem 4.3",
                setting=f"n = {n}, lambda = 0.1, s = 1",
                claimed=CLAIMED,
                noise="N(0, 8 m beta s gamma^2 log(2.5/delta)/(n epsilon lambda)^2) on labels",
                true=Epsilon(true, EXACT, "Gaussian curve at the distance of the two teachers' labels"),
                seen=seen_epsilon(recipe, n, often) if n == 1001 else None,
                ours=_ours(n),
                finding="Replacing one record exchanges the teacher's support: it jumps by sqrt(2)/(1 + 2 lambda) for any n, "
                "while the noise falls as 1/n.",
                figures=(Figure("exact epsilon", figure, true, 0.2),),  # both depend on 200 public rows that were drawn
            )
        )
    recipe = recipes.DPSLKTPublished(ridge=0.0, strong_convexity=500 / 1001, **TEACHER)
    mu, by_hand = exact_mu(recipe, 1001), math.sqrt(2) * math.sqrt(1 / 8 / math.log(2.5 / CLAIMED.delta)) * 500
    found.append(
        Exhibit(
            name="DPSL-KT, no ridge",
            paper=PAPER,
            theorem="Corollary 4.7",
            setting="n = 1001, lambda = 0, mu = 500/1001, s = 1",
            claimed=CLAIMED,
            noise="the same with mu of the private data for lambda",
            true=Epsilon(
                gaussian_epsilon(mu, CLAIMED.delta), EXACT, "Gaussian curve at the distance of the two teachers' labels"
            ),
            seen=seen_epsilon(recipe, 1001, often),
            ours=_ours(1001),
            finding="The same gap; and the noise is set by the smallest sparse eigenvalue of the private data, which is itself a "
            "secret, its failure counted in delta as if the data were random.",
            figures=(Figure("mu by hand, sqrt(2) (n epsilon mu)/sqrt(8 log(2.5/delta))", by_hand, mu, 0.1),),
        )
    )
    return found
