r"""The central oracle: a trusted curator holds the rows and answers with noise.

Each answer is told in five lines: charge; take the exact integer sum of clipped row gradients; know how far neighbours
can move it; add noise of the priced multiple of that; divide by the public number of rows.

Guarantee
---------
Let :math:`\kappa` be 2 for replace-one and 1 for add-remove, and let one row contribute at most ``clip.norm`` in l2 norm
and ``clip.largest_entry`` in any entry. Then between neighbours the sum moves by at most :math:`D_2 = \kappa\,C_2` and
:math:`D_\infty = \kappa\,C_\infty`, and

* ``gradient``: :math:`D_2` on the sum;
* ``gradient_at`` k coordinates: :math:`\min(\sqrt{k}\,D_\infty, D_2)`;
* ``select`` by a score that is L-Lipschitz in each coordinate of the sum: a single score moves by at most
  :math:`L D_\infty`, so the difference of two scores moves by at most
  :math:`R = \min(2 L D_\infty, \sqrt2\,L D_2)` (:math:`|a| + |b| \le \sqrt2\,\|(a,b)\|_2`).

Before Gaussian or Laplace noise the fine integer sum is rounded to a coarser lattice of step
:math:`h \le C_2 2^{-20}`, so that a bin holds many floats of the sampler. Rounding moves each coordinate by at most h/2,
so two sums that differed by :math:`\Delta` differ by at most :math:`\Delta + h` per coordinate afterwards: the l2
sensitivities above grow by :math:`h\sqrt{m}` for an answer of m coordinates. That term is part of the stated
sensitivity. Selections release an index only and use the fine sum.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data.rows import SUM_UNITS, PrivateRows
from ..facts import Clip, Facts, Vector
from ..losses import Loss
from ..mechanisms import (
    Randomness,
    discrete_gaussian,
    gumbel_top_k,
    lattice_gaussian,
    lattice_laplace,
    permute_and_flip,
)
from ..oracle import Indices, Score
from ..privacy.errors import PrivacyError
from ..privacy.plan import Ask, Noise, Plan, PoissonRows
from ..privacy.pricing import PricedPlan
from ..privacy.statement import Answer
from .scores import lipschitz, score_of
from .till import Till

#: Steps of the released lattice per clip norm.
RELEASE_UNITS = 2.0**20
#: Fine units in one step of the released lattice.
COARSE = int(SUM_UNITS / RELEASE_UNITS)


class CentralOracle:
    """Rows, loss, priced plan and randomness; its public methods are noisy answers.

    Parameters
    ----------
    rows : PrivateRows
    loss : Loss
    priced : PricedPlan
    randomness : Randomness
    on_charge : callable, optional
        Told the name of every ask that is charged (for progress bars).
    """

    def __init__(
        self,
        rows: PrivateRows,
        loss: Loss,
        priced: PricedPlan,
        randomness: Randomness,
        on_charge: Callable[[str], None] | None = None,
    ) -> None:
        self.facts: Facts = rows.facts
        self.priced = priced
        self.plan: Plan = priced.plan
        self.passes = 0.0
        self.till = Till(priced.plan, on_charge)
        self._rows = rows
        self._loss = loss
        self._randomness = randomness
        self._last: tuple[Vector, Clip, NDArray[np.int64]] | None = None

    # ---------------------------------------------------------------------------------------------- public noise

    def scale(self, ask: str, turn: int, clip: Clip) -> float:
        """Noise of an answer in the units of a mean gradient (with unit step, for a selection)."""
        cost = self.priced.cost(ask, turn)
        kappa = self.priced.kappa
        share = cost.rate * self.facts.n_rows
        if cost.noise is Noise.GUMBEL:
            return _range(kappa, clip) / cost.strength / share
        if cost.noise is Noise.PERMUTE_AND_FLIP:
            return 2 * kappa * clip.largest_entry / cost.strength / share
        if cost.noise is Noise.LAPLACE:
            return kappa * clip.largest_entry / cost.strength / share
        return kappa * clip.norm / cost.strength / share

    # ---------------------------------------------------------------------------------------------- doors

    def gradient(self, w: Vector, *, clip: Clip, ask: str = "gradient") -> Vector:
        """Mean gradient at `w`, all coordinates."""
        paid, turn = self.till.charge(ask)
        total = self._sum(paid, w, clip)
        sensitivity = self.priced.kappa * clip.norm
        return self._release(paid, turn, total, clip, sensitivity)

    def gradient_at(self, w: Vector, support: Indices, *, clip: Clip, ask: str = "values") -> Vector:
        """Mean gradient at `w` on some coordinates, in the order of `support`."""
        paid, turn = self.till.charge(ask)
        total = self._sum(paid, w, clip)[support]
        kappa = self.priced.kappa
        sensitivity = min(math.sqrt(len(support)) * kappa * clip.largest_entry, kappa * clip.norm)
        if paid.noise is Noise.LAPLACE:  # l1 sensitivity of len(support) coordinates
            sensitivity = min(len(support) * kappa * clip.largest_entry, math.sqrt(len(support)) * kappa * clip.norm)
        return self._release(paid, turn, total, clip, sensitivity)

    def select(
        self, w: Vector, count: int, *, score: Score, clip: Clip, ask: str = "select", excluded: Indices | None = None
    ) -> Indices:
        """The `count` coordinates with the largest noisy scores, best first; never the intercept."""
        paid, turn = self.till.charge(ask)
        if count != paid.draws:
            raise PrivacyError(f"ask {ask!r} was priced for {paid.draws} selections a turn, not {count}.")
        total = self._sum(paid, w, clip)[: self.facts.n_features]
        share = self._share(paid)
        mean = total.astype(np.float64) * (clip.norm / SUM_UNITS / share)
        scores = score_of(score, mean)
        candidates = np.setdiff1d(np.arange(scores.size), np.empty(0, np.intp) if excluded is None else excluded)
        cost = self.priced.cost(ask, turn)
        if paid.noise is Noise.GUMBEL:
            sensitivity = lipschitz(score) * _range(self.priced.kappa, clip) / share
            scale = sensitivity / cost.strength
            best = gumbel_top_k(scores[candidates], count, scale, self._randomness)
        elif paid.noise is Noise.PERMUTE_AND_FLIP and count == 1:
            sensitivity = 2 * lipschitz(score) * self.priced.kappa * clip.largest_entry / share
            scale = sensitivity / cost.strength
            best = np.array([permute_and_flip(scores[candidates], scale, self._randomness)])
        else:
            raise PrivacyError(f"ask {ask!r} cannot select with {str(paid.noise)!r} noise.")
        self.till.receipt(Answer(ask, paid.noise, count, cost.rate, sensitivity, scale))
        return candidates[best]

    # ---------------------------------------------------------------------------------------------- inside

    def _share(self, ask: Ask) -> float:
        """Expected number of rows that answer: public, unlike the number that did."""
        return self.facts.n_rows * (ask.rows.rate if isinstance(ask.rows, PoissonRows) else 1.0)

    def _sum(self, ask: Ask, w: Vector, clip: Clip) -> NDArray[np.int64]:
        """Exact integer sum of clipped gradients; asked twice at one place, it is read once."""
        if isinstance(ask.rows, PoissonRows):
            chosen = self._rows.sample(ask.rows.rate, self._randomness.generator())
            self.passes += ask.rows.rate
            return self._rows.clipped_gradient_sum(self._loss, w, clip, chosen)
        if self._last is not None and self._last[1] == clip and np.array_equal(self._last[0], w):
            return self._last[2]
        self.passes += 1.0
        total = self._rows.clipped_gradient_sum(self._loss, w, clip)
        self._last = (w.copy(), clip, total)
        return total

    def _release(self, ask: Ask, turn: int, total: NDArray[np.int64], clip: Clip, sensitivity: float) -> Vector:
        """Round to the released lattice, add the priced noise, divide by what is public."""
        unit = clip.norm / RELEASE_UNITS
        coarse = (total + COARSE // 2) // COARSE
        cost = self.priced.cost(ask.name, turn)
        sensitivity += unit * (len(total) if ask.noise is Noise.LAPLACE else math.sqrt(len(total)))
        scale = sensitivity / cost.strength
        noisy = self._add(ask.noise, coarse, scale / unit)
        self.till.receipt(Answer(ask.name, ask.noise, 1, cost.rate, sensitivity, scale))
        return noisy * (unit / self._share(ask))

    def _add(self, noise: Noise, total: NDArray[np.int64], scale: float) -> Vector:
        if noise is Noise.GAUSSIAN:
            return lattice_gaussian(total, scale, self._randomness)
        if noise is Noise.DISCRETE_GAUSSIAN:
            return discrete_gaussian(total, scale)
        if noise is Noise.LAPLACE:
            return lattice_laplace(total, scale, self._randomness)
        raise PrivacyError(f"{str(noise)!r} noise cannot protect a vector.")

    def __repr__(self) -> str:
        return f"CentralOracle({self.plan!r})"

    def __reduce__(self) -> Any:
        raise TypeError("an oracle holds rows and is not copied or stored.")


def _range(kappa: int, clip: Clip) -> float:
    """R: how far the difference of two coordinates of the sum can move between neighbours."""
    return min(2 * kappa * clip.largest_entry, math.sqrt(2) * kappa * clip.norm)
