"""DP-FedSGD-HT: private stochastic gradient hard thresholding across sites."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..algorithms.federated import FedHT
from ..core.budget import Budget
from ..core.facts import Facts
from .defaults.schedules import check_batch
from .private_rounds import PrivateRounds


@dataclass(frozen=True, kw_only=True)
class DPFedSGDHT(PrivateRounds):
    r"""Private stochastic gradient hard thresholding across sites (DP-FedSGD-HT [L22]_).

    .. math:: w_{t+1} = H_\tau\Bigl(\textstyle\sum_i p_i\,w^i_{t,K}\Bigr), \qquad
              w^i_{t,k+1} = H_s\Bigl(w^i_{t,k} - \eta\bigl(\tfrac{1}{qn_i}
              \textstyle\sum_{j \in B} \mathrm{clip}_C\,g_j + \text{noise}\bigr)\Bigr)

    In an ordinary fit this is the federation of one site, which holds all rows;
    ``dpsparse.federated`` runs it across sites.

    Parameters
    ----------
    rounds : int or None
        How often models are exchanged; None: as many as make the number of steps of `DPSGDHT`.
    local_steps : int
        K, the steps that a site makes in a round; default 10, as in the paper.
    step_size, clip
        As in `DPSGDHT`.
    batch_size : float or None
        Expected rows of a batch; None: a rate at which sampling costs little.
    sparsity : int or None
        Coefficients kept, by sites and by the server; None: what the estimator asks for, or
        :math:`n\mu/10`.

    Guarantee
    ---------
    Rounds times K Gaussian answers on Poisson samples of the rows of a site, record norm C,
    composed by their privacy loss distributions: each site prices all of them before it starts, and
    its guarantee holds whatever the server and the other sites do. Averages and thresholds are
    post-processing.

    Deviations
    ----------
    The paper's noise is that of a moments accountant for one local run, not for rounds times K
    answers; here all are composed. Its weights are shares of rows, which reveal how many rows a
    site has; ours are public numbers. We sample by coins, clip, and divide by the public
    :math:`qn_i`, never by the size of a batch; the average has a fixed divisor, so that a site that
    drops out changes nothing.

    References
    ----------
    .. [L22] Liang, Tong, Ding, Pan and Bi, Stochastic privacy-preserving methods for nonconvex
       sparse learning, section 6.4.
    """

    name: ClassVar[str] = "dp_fedsgd_ht"

    batch_size: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_batch(self.batch_size, "batch_size")

    def solver(self, facts: Facts, budget: Budget) -> FedHT:
        """The loop for these facts and this budget; the class docstring says what None in a parameter means."""
        return self.loop(facts, budget, self.batch_size, every_row=False)
