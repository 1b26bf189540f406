r"""Stochastically controlled stochastic gradients with hard thresholding, private when its oracle is.

.. math:: w \leftarrow H_s\bigl(w - \eta\,(\tilde\mu + \tilde\Delta(w, \tilde w))\bigr)

Each epoch asks for one gradient :math:`\tilde\mu` at a snapshot :math:`\tilde w`, on many rows, and then takes some inner
steps on few rows. An inner step asks only for the *change* :math:`\tilde\Delta(w, \tilde w)` of the gradient since the
snapshot, and a change is small: between clipped gradients of one row of norm at most :math:`K`, entries at most
:math:`B_\infty` and a loss with second derivative at most :math:`\beta_0` it is at most

.. math:: C_\Delta = \min\bigl(2C,\; \beta_0 K^2 \|w - \tilde w\|_2,\; \beta_0 K B_\infty \|w - \tilde w\|_1\bigr).

Both points are released, so this bound is public, and noise is scaled to it; it removes nothing. It is kept above
:math:`2^{-20} C`, so that a step at the snapshot itself is protected too. Snapshots on a sample: DP-SCSG-HT [L22]_; on every
row: DP-SVRG-HT; on the exact oracle: SCSG-HT [LTZB20]_ and SVRG-HT [LZALH16]_.

References
----------
.. [L22] Liang et al., 2022, Algorithm 2.
.. [LTZB20] Liang, Tong, Zhu and Bi, AAAI 2020.
.. [LZALH16] Li, Zhao, Arora, Liu and Haupt, ICML 2016.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..facts import Clip, Facts, Vector
from ..ops import hard_threshold
from ..oracle import GradientChange, Oracle, Path
from ..privacy.budget import Budget
from ..privacy.plan import Ask, EveryRow, Noise, Participation, Plan, RandomTimes
from .iht import without_intercept
from .steps import DOUBT, Pace, Stride, answer_spread, coordinate_steps, follow, intercept_gain, sampled_curvature

#: A change is never bounded below this part of the clip.
LEAST_CHANGE = 2.0**-20


@dataclass(frozen=True, kw_only=True)
class SCSG:
    r"""Snapshots and inner steps, each thresholded.

    Parameters
    ----------
    sparsity : int
        Nonzero coefficients kept after every step.
    epochs : int
        Snapshots J.
    inner : float
        Inner steps of an epoch, or their mean where they are random.
    length_seed : int or None
        None: every epoch has ``floor(inner)`` steps (option II of the paper). A number: the lengths are drawn from the
        geometric law of this mean (option I) when the plan is made, by this public seed.
    lengths_known : bool
        Whether somebody could know the lengths before they were drawn, as with a seed that was given. Then the price is that of
        these lengths; otherwise it is that of the law, whatever was drawn.
    step_size : float
        Step along the noisy gradient.
    clip : Clip
        How much one row may contribute to a gradient.
    snapshot_rows, inner_rows : EveryRow or PoissonRows
        Which rows answer for a snapshot, and for an inner step.
    change_clip : float
        Largest change of a row's gradient, in clips; 2: whatever the clip allows.
    snapshot_share : float
        Part of the budget that pays for the snapshots.
    ridge : float
        Weight of the l2 penalty.
    secant : bool
        Take `step_size` only at the start, and then 1 over the curvature that changes since the snapshot show, as `IHT`
        does; for exact answers.
    pace : Pace or None
        Step lengths from released answers. `step_size` then says how much of the path an inner step of one epoch pays for; longer
        steps take the mean over several epochs: of their snapshots at one point, and of so many changes for each inner step.
    noise : Noise
        ``Noise.NONE`` for the non-private twin.
    """

    sparsity: int
    epochs: int
    inner: float
    step_size: float
    clip: Clip
    snapshot_rows: Participation = EveryRow()
    inner_rows: Participation = EveryRow()
    length_seed: int | None = None
    lengths_known: bool = False
    change_clip: float = 2.0
    snapshot_share: float = 0.5
    ridge: float = 0.0
    secant: bool = False
    pace: Pace | None = None
    noise: Noise = Noise.GAUSSIAN

    def plan(self, facts: Facts, budget: Budget) -> Plan:
        """One gradient for each snapshot, one change for each inner step; the lengths of the epochs are public."""
        law = None if self.length_seed is None else RandomTimes(self.epochs, self.inner)
        if law is None:
            lengths: tuple[int, ...] = (max(1, int(self.inner)),) * self.epochs
        else:
            lengths = law.draw(np.random.default_rng(self.length_seed))
        if self.lengths_known:
            law = None
        snapshot = Ask(
            name="snapshot",
            question="Gradient",
            noise=self.noise,
            times=self.epochs,
            rows=self.snapshot_rows,
            share=self.snapshot_share,
        )
        change = Ask(
            name="change",
            question="GradientChange",
            noise=self.noise,
            times=sum(lengths) or int(law is None),
            rows=self.inner_rows,
            share=1.0 - self.snapshot_share,
            law=law,
        )
        return Plan(asks=(snapshot, change) if sum(lengths) or law else (snapshot,), public={"lengths": lengths})

    def run(self, oracle: Oracle, path: Path | None = None) -> Vector:
        """Return the last iterate; everything here is post-processing."""
        facts = oracle.facts
        w = facts.first()
        curvature, thresholds, epoch = 0.0, 0, 0
        lengths = oracle.plan.public["lengths"]
        stride = None if self.pace is None else self.pace.start(len(lengths))

        clip, free = self.clip, False

        def ask(at: Vector, epoch: int) -> Vector:
            return oracle.gradient(at, clip=clip, ask="snapshot")

        while epoch < len(lengths):
            before, step, gain = epoch, self.step_size, 0.0
            if stride is not None:
                clip = stride.clip(self.clip, answer_spread(oracle, "snapshot", self.clip, self.snapshot_rows))
                spread = answer_spread(oracle, "snapshot", clip, self.snapshot_rows)
                free = self._free(oracle, stride, clip, spread)
                anchor, centre, step = stride.walk(w, ask, spread, step, plain=True)
                w, epoch = anchor, len(lengths) - stride.left
                both = math.hypot(
                    spread, self._change_spread(oracle, clip, 2.0 if free else self._largest_change(stride, facts))
                )
                gain = intercept_gain(epoch, epoch - before, both, facts)
            else:
                anchor, centre, epoch = w, ask(w, epoch), epoch + 1
            groups = shared(sum(lengths[before:epoch]), epoch - before)
            for turns in groups:
                bound = change_bound(w, anchor, clip, facts, 2.0 if free else self._largest_change(stride, facts))
                question = GradientChange(w, anchor, clip, bound)
                change = np.mean([oracle.answer(question, "change") for _ in range(turns)], axis=0)
                if self.secant:
                    curvature = follow(curvature, sampled_curvature(change, w, anchor, self.sparsity))
                    step = 1.0 / curvature if curvature > 0 else step
                elif stride is not None:
                    doubt = DOUBT * oracle.deviation(question, "change", 0) / math.sqrt(turns)
                    stride.see(change, w - anchor, doubt)
                    step = stride.hold(step)
                g = centre + change + self.ridge * without_intercept(w, facts.free)
                w = hard_threshold(w - coordinate_steps(step, facts, gain / len(groups)) * g, self.sparsity, facts.free)
                thresholds += 1
                if path is not None:
                    path.add(w, oracle, thresholds)
        return w

    def _free(self, oracle: Oracle, stride: Stride, clip: Clip, spread: float) -> bool:
        """Whether noise, that of snapshots and of changes together, is no concern even where no change is held back."""
        return stride.calm(math.hypot(spread, self._change_spread(oracle, clip, 2.0)))

    def _change_spread(self, oracle: Oracle, clip: Clip, largest: float) -> float:
        """Noise of a change of at most so many clips; none where no epoch has a turn."""
        if not any(ask.name == "change" for ask in oracle.plan.asks):
            return 0.0
        w = oracle.facts.first()
        return oracle.deviation(GradientChange(w, w, clip, largest * clip.norm), "change", 0)

    def _largest_change(self, stride: Stride | None, facts: Facts) -> float:
        """Of a row's gradient, in clips: `change_clip`, and more by the root of the curvature that was proven."""
        if stride is None:
            return self.change_clip
        part = stride.proven * facts.n_features / (facts.curvature * facts.norm_bound**2)
        return min(2.0, self.change_clip * math.sqrt(max(1.0, part)))


def shared(turns: int, many: int) -> list[int]:
    """So many turns in groups of at least `many`, or in one group if there are fewer; none without turns."""
    groups = max(turns // many, 1)
    return [turns // groups + (i < turns % groups) for i in range(groups)] if turns else []


def change_bound(w: Vector, anchor: Vector, clip: Clip, facts: Facts, largest: float = 2.0) -> float:
    """How far the clipped gradient of one row can move between two points; public, as they are.

    At most `largest` clips: 2 is no limit, less than 2 holds back rows that move more.
    """
    moved = w - anchor
    near = min(facts.norm_bound * float(np.linalg.norm(moved)), facts.entry_bound * float(np.abs(moved).sum()))
    bound = facts.curvature * facts.norm_bound * near if near > 0 else 0.0
    return min(largest * clip.norm, max(bound, LEAST_CHANGE * clip.norm))
