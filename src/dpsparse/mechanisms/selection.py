"""Private selection: which candidates have the largest scores. Only indices are released."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .randomness import Randomness


def _check(scores: NDArray[np.float64], scale: float, count: int) -> None:
    if scores.ndim != 1 or not 1 <= count <= scores.size:
        raise ValueError(f"cannot select {count} of {scores.size} candidates.")
    if not (np.isfinite(scale) and scale > 0):
        raise ValueError(f"a noise scale must be positive and finite, got {scale!r}.")


def gumbel_top_k(scores: NDArray[np.float64], count: int, scale: float, randomness: Randomness) -> NDArray[np.intp]:
    r"""The `count` largest scores after Gumbel noise, best first: one-shot peeling.

    .. math:: \mathrm{top}_k\; u_j + b\,G_j,\qquad G_j = -\log(-\log U_j)

    Guarantee
    ---------
    For one index this is the exponential mechanism: :math:`P(j) \propto e^{u_j/b}`. If between neighbours the
    *difference* of any two scores moves by at most :math:`R`, each index is :math:`\eta`-bounded range with
    :math:`\eta = R/b`, hence :math:`\eta`-DP and :math:`\eta^2/8`-zCDP. The whole top-k of one noisy vector has the law
    of `count` such selections without replacement, one after the other [DR21]_, so it costs `count` of them. If single
    scores move by at most :math:`\Delta`, then :math:`R \le 2\Delta`: one may rise while another falls.

    References
    ----------
    .. [DR21] Durfee and Rogers, NeurIPS 2019, Lemma 4.2: one-shot Gumbel noise equals sequential peeling.
    """
    _check(scores, scale, count)
    noisy = scores + scale * randomness.generator().gumbel(0.0, 1.0, scores.shape)
    best = np.argpartition(-noisy, count - 1)[:count]
    return best[np.argsort(-noisy[best])]


def permute_and_flip(scores: NDArray[np.float64], scale: float, randomness: Randomness) -> int:
    r"""One index with a large score, by permute-and-flip.

    Guarantee
    ---------
    epsilon-DP with epsilon = 2 * (sensitivity of one score) / `scale`; never worse than the exponential mechanism of the
    same epsilon [MS20]_. Sampled as the argmax after exponential noise of this scale, which has the same law [D21]_.
    It is not of bounded range at that epsilon, so it is priced as a pure mechanism.

    References
    ----------
    .. [MS20] McKenna and Sheldon, NeurIPS 2020.
    .. [D21] Ding, Kifer, Steinke, Wang, Xiao, Zhang, 2021: permute-and-flip is report-noisy-max with exponential noise.
    """
    _check(scores, scale, 1)
    return int(np.argmax(scores + scale * randomness.generator().exponential(1.0, scores.shape)))
