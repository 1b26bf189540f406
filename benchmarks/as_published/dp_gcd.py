r"""The choice of a coordinate in DP-GCD as printed. **Do not use: it costs more than it claims.** Use the recipe ``dp_gcd``.

.. math:: j = \arg\max_k \frac{|\nabla_k f(w) + \chi_k|}{\sqrt{M_k}}, \qquad \chi_k \sim \mathrm{Lap}\Bigl(\frac{2L_k}{n\epsilon'}\Bigr)

Mangold, Bellet, Salmon and Tommasi, 2023, Algorithm 1 and Theorem 4.2, which counts one choice as epsilon'-DP. Report-noisy-max is
that with equal noise on scores that one record moves the same way. Here each score has noise of its own scale, and one
record can lower all rivals at once: of k rivals with large noise, each gives a factor of up to exp(epsilon').
"""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from dpsparse import recipes
from dpsparse.accounting import price
from dpsparse.audit import event
from dpsparse.core import Budget
from dpsparse.core.facts import Clip, Facts, Target, Vector
from dpsparse.losses import Logistic
from dpsparse.queries.kinds import Greedy

from .exhibit import AT_LEAST, EXACT, Epsilon, Exhibit, Figure, Promise
from .laws import epsilon_of
from .ours import choice_law


def equation_2(epsilon: float, delta: float, steps: int) -> float:
    """Epsilon' for which sqrt(4 T log(1/delta)) e + 2 T e (exp(e) - 1) is epsilon: 2T answers by advanced composition."""
    root = math.sqrt(4 * steps * math.log(1 / delta))
    return float(brentq(lambda e: root * e + 2 * steps * e * math.expm1(e) - epsilon, 1e-12, 10.0, xtol=1e-15))


def theorem_4_2(epsilon: float, delta: float, steps: int) -> float:
    """Epsilon' = epsilon / (4 sqrt(T log(1/delta))): the closed form."""
    return epsilon / (4 * math.sqrt(steps * math.log(1 / delta)))


def choices(
    gradient: Vector, scale: Vector, smoothness: Vector, runs: int, rng: np.random.Generator, block: int = 200_000
) -> Vector:
    """How often each coordinate is chosen by the printed rule."""
    counts = np.zeros(gradient.size, dtype=int)
    for start in range(0, runs, block):
        noise = rng.laplace(0.0, 1.0, (min(block, runs - start), gradient.size)) * scale
        best = np.argmax(np.abs(gradient + noise) / np.sqrt(smoothness), axis=1)
        counts += np.bincount(best, minlength=gradient.size)
    return counts


def chance(gradient: Vector, scale: Vector, smoothness: Vector, which: int = 0) -> float:
    """Exact probability that the printed rule chooses a coordinate: an integral over its noisy score."""
    root = np.sqrt(smoothness)
    g, b = np.abs(gradient) / root, scale / root  # folding does not see signs
    knots = np.concatenate([[0.0], *(m + s * np.linspace(-45, 45, 181) for m, s in zip(g, b, strict=True))])
    knots = np.unique(knots[knots >= 0])
    nodes, weights = np.polynomial.legendre.leggauss(12)
    half = np.diff(knots)[:, None] / 2
    at = (knots[:-1, None] + half * (1 + nodes)).ravel()
    value = (half * weights).ravel() * _folded_density(at, g[which], b[which])
    for k in range(g.size):
        if k != which:
            value = value * _folded(at, g[k], b[k])
    return float(value.sum())


def laplace_cdf(x: Vector) -> Vector:
    """Distribution function of standard Laplace noise."""
    return np.where(x < 0, 0.5 * np.exp(np.minimum(x, 0.0)), 1 - 0.5 * np.exp(-np.maximum(x, 0.0)))


def _folded(a: Vector, mean: float, scale: float) -> Vector:
    """P(|mean + Lap(scale)| <= a)."""
    return laplace_cdf((a - mean) / scale) - laplace_cdf((-a - mean) / scale)


def _folded_density(a: Vector, mean: float, scale: float) -> Vector:
    return (np.exp(-np.abs(a - mean) / scale) + np.exp(-np.abs(a + mean) / scale)) / (2 * scale)


def dense_and_sparse(n: int, rivals: int) -> tuple[tuple[Vector, Vector], Vector]:
    """Logistic regression at w = 0: mean gradients with and without one record, and the smoothness M of the columns.

    One dense column of +-2 and `rivals` columns that one record in a hundred carries; all labels alike. The neighbour has
    one of those records with its signs changed. Entries of a gradient are below 2 wherever w is, so L = 2 for all. The dense
    column leans so far that all scores are equal.
    """
    carriers = n // 100
    sparse = np.zeros(n)
    sparse[:carriers] = 2.0
    other = sparse.copy()
    other[0] = -2.0
    M = np.r_[1.0, np.full(rivals, 0.25 * float(np.mean(sparse**2)))]
    score = 0.5 * sparse.mean() / math.sqrt(M[1])
    plus = round((score * n + n) / 2)
    dense = 0.5 * (2.0 * plus - 2.0 * (n - plus)) / n
    return tuple(np.r_[dense, np.full(rivals, 0.5 * x.mean())] for x in (sparse, other)), M  # type: ignore[return-value]


def one_against_many(gap: float, rivals: int, epsilon_step: float) -> tuple[float, float]:
    """Probabilities of a candidate with negligible noise, in two worlds, for unit sensitivity of its rivals.

    The rivals are ahead by `gap` noise scales, and one record lowers all of them by their sensitivity: closed form.
    """
    return tuple(float(laplace_cdf(np.array(x)) ** rivals) for x in (-gap, epsilon_step - gap))  # type: ignore[return-value]


# ------------------------------------------------------------------------------------------------ exhibits

PAPER = "Mangold et al., AISTATS 2023"
#: Largest entry of a gradient of the logistic loss on entries of 2, over all w.
LIPSCHITZ = 2.0


def exhibits(runs: int, rng: np.random.Generator) -> list[Exhibit]:
    """One choice on data with dense and sparse columns, and one whole step."""
    return [_one_choice(runs, rng), _one_step()]


def _one_choice(runs: int, rng: np.random.Generator) -> Exhibit:
    n, rivals = 20_640, 10
    step = equation_2(1.0, 1 / n**2, 1)
    gradients, M = dense_and_sparse(n, rivals)
    scale = np.full(rivals + 1, 2 * LIPSCHITZ / (n * step))
    p, q = (chance(g, scale, M) for g in gradients)
    draws = 50 * runs
    hits = [int(choices(g, scale, M, draws, rng)[0]) for g in gradients]
    seen = event(hits[1], draws, hits[0], draws)
    claimed = Promise(step, 0.0)
    return Exhibit(
        name="DP-GCD, one choice",
        paper=PAPER,
        theorem="Theorem 4.2, its first step",
        setting="logistic, n = 20640, one dense and ten 1 % dense columns",
        claimed=claimed,
        noise="Laplace of 2 L_j/(n epsilon') inside |.|/sqrt(M_j)",
        true=Epsilon(abs(math.log(q / p)), AT_LEAST, "exact probabilities of the dense column in two worlds"),
        seen=Epsilon(seen.epsilon, AT_LEAST, f"{hits[1]} and {hits[0]} of {draws} choices"),
        ours=_our_choice(n, rivals, M, claimed),
        defect="false theorem",
        finding="Scores with unequal L_j/sqrt(M_j) have unequal noise; one record lowers all rivals at once, and every rival "
        "adds to the loss. Text, with dense and rare columns, is the normal case.",
        figures=(
            Figure("log-ratio over epsilon'", 3.6, abs(math.log(q / p)) / step, 0.01),
            Figure(
                "the same for a dense column that leans half as far",
                4.84,
                _leaning(gradients, M, scale, 0.5) / step,
                0.01,
            ),
            Figure("epsilon'", 0.109, step, 0.005),
        ),
    )


def _leaning(gradients: tuple[Vector, Vector], M: Vector, scale: Vector, part: float) -> float:
    """Log-ratio of the dense column's chances where its gradient is a part of that of the exhibit."""
    dense = np.r_[part, np.ones(M.size - 1)]
    p, q = (chance(g * dense, scale, M) for g in gradients)
    return abs(math.log(q / p))


def _our_choice(n: int, rivals: int, M: Vector, claimed: Promise) -> Epsilon:
    """The same records, all curvatures declared, entries of a gradient within 2."""
    carriers = n // 100
    X = np.zeros((n, rivals + 1))
    X[:carriers, 1:] = 2.0
    lean = round((0.5 * float(np.mean(X[:, 1])) / math.sqrt(M[1]) * n + n) / 2)
    X[:, 0] = np.where(np.arange(n) < n - lean, -2.0, 2.0)
    other = X.copy()
    other[0] = -X[0]
    norm = 2 * math.sqrt(rivals + 1)
    facts = Facts(
        n_rows=n,
        n_features=rivals + 1,
        lower=-2.0,
        upper=2.0,
        row_norm=norm,
        target=Target(kind="classes"),
        loss="logistic",
        curvature=0.25,
    )
    worlds = ((X, np.zeros(n)), (other, np.zeros(n)))
    score = Greedy("gs", M, np.zeros(rivals + 1), facts.penalty)
    law = choice_law(worlds, facts, Logistic(), score=score, clip=Clip(norm, LIPSCHITZ), claimed=claimed)
    return Epsilon(epsilon_of(*law, claimed.delta), EXACT, "exact law of our choice on the same records")


def _one_step() -> Exhibit:
    claimed = Promise(1.0, 1e-6)
    step = equation_2(claimed.epsilon, claimed.delta, 1)
    pairs = [one_against_many(x, k, step) for k in (5, 10, 20, 50) for x in np.linspace(-1.5, 8, 96)]
    true = max(math.log((q - claimed.delta) / p) for p, q in pairs if q > claimed.delta)
    excess = max(q - math.e * p for p, q in pairs)
    small = 1 / 20_640**2
    closed = theorem_4_2(1.0, small, 1)
    pairs = [one_against_many(x, k, closed) for k in (10, 20, 50) for x in np.linspace(-1.5, 8, 96)]
    return Exhibit(
        name="DP-GCD, T = 1",
        paper=PAPER,
        theorem="Theorem 4.2, equation (2)",
        setting="n = 1000, one quiet column against 20 loud ones",
        claimed=claimed,
        noise="Laplace of 2 L_j/(n epsilon')",
        true=Epsilon(true, AT_LEAST, "closed-form probabilities of the quiet column in two worlds"),
        ours=_our_step(claimed),
        defect="false theorem",
        finding="Advanced composition starts from a per-step cost that is false for unequal scales.",
        figures=(
            Figure("delta(1) over the claimed delta", 423.0, excess / claimed.delta, 0.01),
            Figure(
                "the same, closed form of Theorem 4.2, n = 20640",
                71.0,
                max(q - math.e * p for p, q in pairs) / small,
                0.02,
            ),
        ),
    )


def _our_step(claimed: Promise) -> Epsilon:
    """The choice of `dp_gcd` with one step, when one record lowers every score but one by its sensitivity."""
    facts = Facts(n_rows=1000, n_features=21)
    budget = Budget.approx(claimed.epsilon, claimed.delta, "replace-one")
    solver = recipes.DPGCD(steps=1, mechanism="gaussian", curvature="bounds").solver(facts, budget)
    eta = price(solver.plan(facts, budget), budget).cost("select").strength
    found = 0.0
    for x in np.linspace(
        -3, 12, 61
    ):  # the quiet column is ahead of 20 rivals by x, and by x + eta/2 without the record
        p, q = (expit(v - math.log(20)) for v in (x, x + eta / 2))
        found = max(found, epsilon_of(np.array([p, 1 - p]), np.array([q, 1 - q]), claimed.delta))
    return Epsilon(found, EXACT, "exact law of our choice, the worst of 61 gaps")
