"""DP-FedGD-HT: private gradient hard thresholding across sites."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..algorithms.federated import FedHT
from ..core.budget import Budget
from ..core.facts import Facts
from .private_rounds import PrivateRounds


@dataclass(frozen=True, kw_only=True)
class DPFedGDHT(PrivateRounds):
    r"""Private gradient hard thresholding across sites (DP-FedGD-HT [L22]_).

    It is `DPFedSGDHT` with every row of a site in every step.

    .. math:: w_{t+1} = H_\tau\Bigl(\textstyle\sum_i p_i\,w^i_{t,K}\Bigr), \qquad
              w^i_{t,k+1} = H_s\Bigl(w^i_{t,k} - \eta\bigl(
              \tfrac{1}{n_i}\textstyle\sum_j \mathrm{clip}_C\,g_j + \text{noise}\bigr)\Bigr)

    In an ordinary fit this is the federation of one site, which holds all rows;
    ``dpsparse.federated`` runs it across sites.

    Parameters
    ----------
    rounds, local_steps, step_size, clip, sparsity
        As in `DPFedSGDHT`.

    Guarantee
    ---------
    Rounds times K Gaussian answers about every row of a site, composed exactly; each site prices
    all of them before it starts.

    Deviations
    ----------
    As in `DPFedSGDHT`. At equal steps this has the least noise in a mean gradient; where the paper
    finds it behind its stochastic form, that is due to the formulas of its noise.

    References
    ----------
    .. [L22] Liang, Tong, Ding, Pan and Bi, Stochastic privacy-preserving methods for nonconvex
       sparse learning, section 6.4.
    """

    name: ClassVar[str] = "dp_fedgd_ht"

    def solver(self, facts: Facts, budget: Budget) -> FedHT:
        """The loop for these facts and this budget."""
        return self.loop(facts, budget, None, every_row=True)
