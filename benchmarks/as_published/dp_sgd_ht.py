r"""DP-SGD-HT as printed. **Do not use: its noise does not depend on the batch.** Use the recipe ``dp_sgd_ht``.

.. math:: x_{t+1} = H_k\bigl(x_t - \eta(\nabla f_{I_t}(x_t) + u_t)\bigr), \qquad \sigma^2 = \frac{40\,\alpha\,l^2\,T}{n^2\epsilon},
          \qquad \alpha = 1 + \frac{2\log(1/\delta)}\epsilon

Liang et al., 2022, Algorithm 1 and Theorem 4.1. Batches hold exactly b examples, drawn without replacement. The theorem
rests on a lemma about subsampling that needs :math:`\alpha \le \log\frac{1}{\tau(1+\sigma^2/\Delta^2)}` and
:math:`\sigma^2 \ge 1.5\Delta^2` for the rate :math:`\tau = b/n` and the sensitivity :math:`\Delta = 2l/b`: no batch size and no number
of steps of the paper's tables satisfies both.
"""

from __future__ import annotations

import math

import numpy as np

from dpsparse import recipes
from dpsparse.accounting import price
from dpsparse.accounting.pld import sampled_epsilon
from dpsparse.core import Adjacency, Ask, Budget, Noise, Plan, PoissonRows

from .exhibit import AT_LEAST, Epsilon, Exhibit, Figure, Promise
from .ours import fitted

ADD_REMOVE, REPLACE_ONE = Adjacency.ADD_REMOVE, Adjacency.REPLACE_ONE


def order(epsilon: float, delta: float) -> float:
    """Alpha."""
    return 1 + 2 * math.log(1 / delta) / epsilon


def theorem_4_1(n: int, steps: int, lipschitz: float, epsilon: float, delta: float) -> float:
    """Sigma of the noise on a mean gradient of a batch, whatever its size."""
    return lipschitz * math.sqrt(40 * order(epsilon, delta) * steps / epsilon) / n


def satisfied(n: int, batch: int, steps: int, epsilon: float, delta: float) -> bool:
    """Whether the conditions of Theorem 4.1 hold, with l = 1."""
    multiplier = (theorem_4_1(n, steps, 1.0, epsilon, delta) * batch / 2) ** 2  # sigma^2 / Delta^2
    return multiplier >= 1.5 and order(epsilon, delta) <= math.log(n / (batch * (1 + multiplier)))


def largest_batch(n: int, epsilon: float, delta: float) -> float:
    """The batch size above which no number of steps satisfies the conditions: alpha <= -log(2.5 b/n)."""
    return n * math.exp(-order(epsilon, delta)) / 2.5


def poisson_epsilon(n: int, batch: int, steps: int, sigma: float, delta: float, relation: Adjacency) -> float:
    """Epsilon of this noise if each record took part by a coin of its own; l = 1.

    Under replace-one it is also that of the printed batches for one pair of datasets: all other gradients are zero, and one
    record's is l or -l.
    """
    return sampled_epsilon([(batch / n, sigma * batch, steps)], delta, relation)


def printed_epsilon(n: int, batch: int, steps: int, sigma: float, delta: float) -> float:
    """A lower bound on epsilon of the printed mechanism under replace-one: the worse of two pairs of datasets, each exact.

    In the second pair all other gradients are -l, and one record's is l or -l. A batch of fixed size that holds the record
    lacks another one, so its sum moves by 2l: the pair of an added record with half the noise.
    """
    lone = poisson_epsilon(n, batch, steps, sigma, delta, REPLACE_ONE)
    return max(lone, sampled_epsilon([(batch / n, sigma * batch / 2, steps)], delta, ADD_REMOVE))


# ------------------------------------------------------------------------------------------------ exhibits

PAPER = "Liang et al., 2022"
N, DELTA = 20_242, 1e-5  # RCV1, the larger text of the paper


def exhibits(runs: int, rng: np.random.Generator) -> list[Exhibit]:
    """Few steps, where the noise is far too small, and twenty passes, where it is far too large."""
    cases = ((2.0, 20, 5.44, 5.48), (10.0, 20, 160.0, 160.0), (2.0, 3163, 0.22, 0.45))
    return [_exhibit(Promise(epsilon, DELTA), steps, figures) for epsilon, steps, *figures in cases]


def _exhibit(claimed: Promise, steps: int, figures: list[float]) -> Exhibit:
    batch = 128
    sigma = theorem_4_1(N, steps, 1.0, claimed.epsilon, claimed.delta)
    coins = [poisson_epsilon(N, batch, steps, sigma, claimed.delta, relation) for relation in (ADD_REMOVE, REPLACE_ONE)]
    needed = price(
        Plan(asks=(Ask(name="gradient", noise=Noise.GAUSSIAN, times=steps, rows=PoissonRows(batch / N)),)),
        Budget.approx(claimed.epsilon, claimed.delta, "replace-one"),
    )
    multiplier = 2 / needed.cost("gradient").strength
    word = "too small" if multiplier > sigma * batch else "too large"
    return Exhibit(
        name="DP-SGD-HT",
        paper=PAPER,
        theorem="Theorem 4.1",
        setting=f"n = {N}, batches of {batch}, {steps} steps",
        claimed=claimed,
        noise="N(0, 40 alpha l^2 T/(n^2 epsilon)) on a batch's mean",
        true=Epsilon(
            printed_epsilon(N, batch, steps, sigma, claimed.delta),
            AT_LEAST,
            "privacy loss distribution of two explicit datasets",
        ),
        ours=fitted(recipes.DPSGDHT(steps=steps, batch_size=batch, clip=1.0, step_size=0.1), claimed, n=N),
        defect="conditions not met",
        finding=f"The sensitivity of a batch's mean is 2l/b, and b is not in the formula: noise of {sigma * batch:.2g} record norms, "
        f"{word}; coins need {multiplier:.2g}. The theorem's conditions would need b <= {largest_batch(N, claimed.epsilon, DELTA):.3g}.",
        figures=(
            Figure("by coins, add-remove", figures[0], coins[0], 0.06),  # the review's grid is coarse at small epsilon
            Figure("by coins, replace-one", figures[1], coins[1], 0.06),
        ),
    )
