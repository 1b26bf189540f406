r"""The proximal choices of DP-GCD as printed. **Do not use: GS-q has no noise, GS-s and GS-r use theirs twice.** Use ``dp_gcd``.

.. math:: j = \arg\max_k \min_\alpha \nabla_k f(w)\alpha + \tfrac{M_k}2\alpha^2 + \psi_k(w_k+\alpha) - \psi_k(w_k) \qquad\text{(GS-q)}

Mangold, Bellet, Salmon and Tommasi, 2023, Algorithm 2 and the rules of Appendix C ("the same privacy guarantees hold"). GS-q as printed
holds the exact gradient: its choice is deterministic. (It also maximises a quantity that is never positive, so it takes the
*worst* coordinate.) GS-s and GS-r are printed with the noise :math:`\eta_k` that the update of line 4 adds too: with one draw the value
is released with the very noise that made it the largest. Without a penalty both rules are
:math:`|\nabla_k f + \eta_k|/\sqrt{M_k}`, so what is released is the index and value of the largest noisy entry.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import brentq

from dpsparse import recipes
from dpsparse.accounting import price
from dpsparse.audit import event
from dpsparse.core import Budget
from dpsparse.core.facts import Clip, Facts, Vector
from dpsparse.losses import Squared
from dpsparse.queries.kinds import Greedy

from .dp_gcd import PAPER, equation_2, laplace_cdf
from .exhibit import AT_LEAST, EXACT, Epsilon, Exhibit, Promise
from .laws import epsilon_of, gaussian_epsilon
from .ours import choice_law


def gs_q(gradient: Vector, smoothness: Vector) -> int:
    """The printed rule for psi = 0, where the minimum over alpha is -g^2/(2M)."""
    return int(np.argmax(-(gradient**2) / (2 * smoothness)))


def shared_draw_epsilon(size: int, epsilon_step: float, delta: float) -> float:
    """Exact epsilon at `delta` of releasing the largest of `size` Laplace-noisy values when one record moves all of them.

    The largest has density p f(v) F(v)^(p-1). Both directions, by the distribution function where the ratio of densities
    crosses exp(epsilon): the ratio falls along the line, so each event is a half-line.
    """

    def log_density(v: Vector, moved: float) -> Vector:
        x = v - moved
        return -np.abs(x) + (size - 1) * _log_laplace(x)

    grid = np.linspace(-40.0, 60.0, 100_001)

    def delta_at(epsilon: float) -> float:
        found = []
        for here, there in ((0.0, epsilon_step), (epsilon_step, 0.0)):
            over = np.flatnonzero(log_density(grid, here) - log_density(grid, there) > epsilon)
            if over.size == 0:
                found.append(0.0)
                continue
            ends = grid[[over[0], over[-1]]]
            mass = [float(np.diff(laplace_cdf(ends - m) ** size)[0]) for m in (here, there)]
            found.append(mass[0] - math.exp(epsilon) * mass[1])
        return max(found)

    return float(brentq(lambda e: delta_at(e) - delta, 0.0, min(size * epsilon_step, 30.0)))


def _log_laplace(x: Vector) -> Vector:
    """Log of the distribution function."""
    return np.where(x < 0, np.minimum(x, 0.0) - math.log(2), np.log1p(-0.5 * np.exp(-np.maximum(x, 0.0))))


# ------------------------------------------------------------------------------------------------ exhibits

CLAIMED = Promise(1.0, 1e-6)
N = 1001


def exhibits(runs: int, rng: np.random.Generator) -> list[Exhibit]:
    """The rule without noise, and the rules that use theirs twice."""
    return [_no_noise(runs), _shared_draw()]


def _tie(side: int) -> tuple[Vector, Vector]:
    """Records e_1 and e_2 with target 1, one more of the first or of the second."""
    first = (N + side) // 2
    X = np.zeros((N, 2))
    X[:first, 0] = 1.0
    X[first:, 1] = 1.0
    return X, np.ones(N)


def _no_noise(runs: int) -> Exhibit:
    chosen = [gs_q(-(X.T @ y) / N, np.ones(2)) for X, y in (_tie(1), _tie(-1))]
    hits = [runs * (j == 1) for j in chosen]
    seen = event(hits[0], runs, hits[1], runs, delta=CLAIMED.delta)
    facts = Facts(n_rows=N, n_features=2)
    score = Greedy("gs-q", np.ones(2), np.zeros(2), facts.penalty)
    law = choice_law((_tie(1), _tie(-1)), facts, Squared(), score=score, clip=Clip(math.sqrt(2), 1.0), claimed=CLAIMED)
    return Exhibit(
        name="DP-GCD, GS-q",
        paper=PAPER,
        theorem="Appendix C, rule GS-q",
        setting=f"n = {N}, two columns in a tie",
        claimed=CLAIMED,
        noise="none",
        true=Epsilon(
            math.inf if chosen[0] != chosen[1] else 0.0, EXACT, "a deterministic choice that one record turns"
        ),
        seen=Epsilon(seen.epsilon, AT_LEAST, f"{hits[0]} and {hits[1]} of {runs} runs"),
        ours=Epsilon(epsilon_of(*law, CLAIMED.delta), EXACT, "exact law of our gs-q choice on the same records"),
        defect="assumption or reading",
        finding="The rule is printed with the exact gradient. It also takes the largest of numbers that are never positive: the "
        "coordinate that promises least.",
    )


def _shared_draw() -> Exhibit:
    size = 100
    step = equation_2(CLAIMED.epsilon, CLAIMED.delta, 1)
    budget = Budget.approx(CLAIMED.epsilon, CLAIMED.delta, "replace-one")
    facts = Facts(n_rows=N, n_features=size)
    solver = recipes.DPGCD(steps=1, mechanism="gaussian", curvature="bounds").solver(facts, budget)
    value = price(solver.plan(facts, budget), budget).cost("values").strength
    return Exhibit(
        name="DP-GCD, GS-s and GS-r",
        paper=PAPER,
        theorem="Appendix C, Algorithm 2",
        setting=f"T = 1, {size} equal columns that one record moves together",
        claimed=CLAIMED,
        noise="Laplace of 2 L_j/(n epsilon'), one draw for choice and value",
        true=Epsilon(
            shared_draw_epsilon(size, step, CLAIMED.delta), AT_LEAST, "exact law of the released value in two worlds"
        ),
        ours=Epsilon(
            gaussian_epsilon(value, CLAIMED.delta),
            EXACT,
            "our choice tells nothing about this record, our value has noise of its own",
        ),
        defect="assumption or reading",
        finding="The released value is the largest of all noisy ones. Where one record moves all of them, its low values tell "
        "about all: up to p epsilon' instead of 2 epsilon'.",
    )
