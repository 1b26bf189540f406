r"""What a promise means to an attacker: how often they guess right, and which promises are weak.

Two neighbouring datasets are equally likely to an attacker who sees what was released, and knows
all else. With laws P and Q of the release, the best guess is right with probability
:math:`(1 + \mathrm{TV}(P, Q))/2`, where :math:`\mathrm{TV} = \sup_E P(E) - Q(E)`.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

#: Above this epsilon a statement carries a caveat. Under pure epsilon-DP an attacker is then right in up to
#: e^10/(1 + e^10), more than 9,999 of 10,000 cases: the promise alone no longer keeps a secret.
LARGE_EPSILON = 10.0


def attacker_success(epsilon: float, delta: float, mu: float = math.inf, rho: float = math.inf) -> float:
    r"""The largest probability with which an attacker tells two equally likely neighbours apart.

    Parameters
    ----------
    epsilon, delta : float
        A promise in (epsilon, delta)-DP.
    mu, rho : float
        The same release in Gaussian DP and in zCDP; infinite where nothing is proven.

    Guarantee
    ---------
    Each promise bounds TV, and the least bound holds.

    * (epsilon, delta): for every event :math:`P(E) \le e^\epsilon Q(E) + \delta` and, for its
      complement, :math:`1 - Q(E) \le e^\epsilon (1 - P(E)) + \delta`. Their sum is
      :math:`(P(E) - Q(E))(1 + e^\epsilon) \le e^\epsilon - 1 + 2\delta`, so the success is at most
      :math:`(e^\epsilon + \delta)/(e^\epsilon + 1)`; randomised response with a leak of probability
      delta attains it.
    * mu: no easier than N(0,1) against N(mu,1), where TV is :math:`2\Phi(\mu/2) - 1`: success
      :math:`\Phi(\mu/2)`, an equality for Gaussians.
    * rho: the Renyi divergence at order 1 is at most rho, so Pinsker's inequality gives
      :math:`\mathrm{TV} \le \sqrt{\rho/2}`, and that of Bretagnolle and Huber
      :math:`\mathrm{TV} \le \sqrt{1 - e^{-\rho}}`.

    Examples
    --------
    >>> round(attacker_success(1.0, 0.0), 4), round(attacker_success(1.0, 1e-6, mu=0.2367), 4)
    (0.7311, 0.5471)
    """
    approximate = (1 + delta * math.exp(-epsilon)) / (1 + math.exp(-epsilon))
    gaussian = float(ndtr(mu / 2))
    distance = min(math.sqrt(rho / 2), math.sqrt(-math.expm1(-rho)))
    return min(1.0, approximate, gaussian, (1 + distance) / 2)


def least_missed(wrong: NDArray[np.float64], epsilon: float, delta: float, mu: float = math.inf) -> NDArray[np.float64]:
    r"""The least part that an attacker misses, at each part that they accuse wrongly: the trade-off curve of a promise.

    Of those who hold x they accuse a part alpha wrongly, and of those who hold x' they miss a part
    beta.

    Parameters
    ----------
    wrong : array
        alpha.
    epsilon, delta, mu : float
        As in `attacker_success`.

    Guarantee
    ---------
    Each promise bounds beta from below, and the larger bound holds.

    * (epsilon, delta):
      :math:`\beta \ge \max(0,\; 1 - \delta - e^{\epsilon}\alpha,\; e^{-\epsilon}(1 - \delta - \alpha))`,
      which randomised response with a leak of probability delta attains;
    * mu-GDP: :math:`\beta \ge \Phi(\Phi^{-1}(1 - \alpha) - \mu)`, an equality for Gaussians.

    Examples
    --------
    >>> least_missed(np.array([0.0, 0.25, 1.0]), 0.0, 0.0)
    array([1.  , 0.75, 0.  ])
    """
    growth = math.exp(min(epsilon, 700.0))
    bounds = [np.zeros_like(wrong), 1 - delta - growth * wrong, (1 - delta - wrong) / growth]
    if math.isfinite(mu):
        bounds.append(ndtr(ndtri(1 - wrong) - mu))
    return np.asarray(np.max(bounds, axis=0), dtype=float)


def in_percent(probability: float) -> str:
    """A probability in per cent, rounded up to a tenth.

    >>> in_percent(0.54711), in_percent(0.5), in_percent(1.0)
    ('54.8 %', '50 %', '100 %')
    """
    return f"{math.ceil(round(1000 * probability, 6)) / 10:g} %"


def weaknesses(
    epsilon: float, delta: float, n_rows: int, mu: float = math.inf, rho: float = math.inf
) -> tuple[str, ...]:
    """Caveats about a promise that holds and says little: an epsilon above `LARGE_EPSILON`, a delta above 1/n.

    Parameters
    ----------
    epsilon, delta, mu, rho : float
        As in `attacker_success`.
    n_rows : int
        The public number of rows.
    """
    right = (
        "an attacker may guess right about one record in up to "
        f"{in_percent(attacker_success(epsilon, delta, mu, rho))} of cases"
    )
    found = []
    if epsilon > LARGE_EPSILON:
        found.append(f"epsilon = {epsilon:.6g} is above {LARGE_EPSILON:g}, which is a weak guarantee: {right}")
    if delta > 1 / max(1, n_rows):
        found.append(f"delta = {delta:.3g} is above 1/n: it allows the exposure of a whole record, and {right}")
    return tuple(found)
