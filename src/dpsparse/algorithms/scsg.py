r"""Stochastically controlled stochastic gradients with hard thresholding, private when its oracle is.

.. math:: w \leftarrow H_s\bigl(w - \eta\,(\tilde\mu + \tilde\Delta(w, \tilde w))\bigr)

Each epoch asks for one gradient :math:`\tilde\mu` at a snapshot :math:`\tilde w`, on many rows, and
then takes some inner steps on few rows. An inner step asks only for the *change*
:math:`\tilde\Delta(w, \tilde w)` of the gradient since the snapshot, and a change is small: between
clipped gradients of one row of norm at most :math:`K`, entries at most :math:`B_\infty` and a loss
with second derivative at most :math:`\beta_0` it is at most

.. math:: C_\Delta = \min\bigl(2C,\; \beta_0 K^2 \|w - \tilde w\|_2,\; \beta_0 K B_\infty \|w - \tilde w\|_1\bigr).

Both points are released, so this bound is public, and noise is scaled to it; it removes nothing. It
is kept above :math:`2^{-20} C`, so that a step at the snapshot itself is protected too. Snapshots
on a sample: DP-SCSG-HT [L22]_; on every row: DP-SVRG-HT; on the exact oracle: SCSG-HT [LTZB20]_ and
SVRG-HT [LZALH16]_.

References
----------
.. [L22] Liang et al., 2022, Algorithm 2.
.. [LTZB20] Liang, Tong, Zhu and Bi, AAAI 2020.
.. [LZALH16] Li, Zhao, Arora, Liu and Haupt, ICML 2016.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..core.budget import Budget
from ..core.facts import Clip, Facts, Vector
from ..core.plan import Ask, EveryRow, Noise, Participation, Plan, RandomTurns
from ..ops import hard_threshold
from ..queries.kinds import GradientChange, Oracle, Path
from .constants import STEPS
from .steps import FixedSteps, Gradients, StepRule, Steps, Turn, without_intercept

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
        None: every epoch has ``floor(inner)`` steps (option II of the paper). A number: the lengths
        are drawn from the geometric law of this mean (option I) when the plan is made, by this
        public seed.
    lengths_known : bool
        Whether somebody could know the lengths before they were drawn, as with a seed that was
        given. Then the price is that of these lengths; otherwise it is that of the law, whatever
        was drawn.
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
    step_rule : StepRule
        How long steps are. `step_size` is the length of path that an inner step of one epoch pays
        for; longer steps take the mean over several epochs: of their snapshots at one point, and of
        as many changes for each inner step.
    noise : Noise
        ``Noise.NONE`` for the non-private baseline.
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
    step_rule: StepRule = FixedSteps()
    noise: Noise = Noise.GAUSSIAN

    def plan(self, facts: Facts, budget: Budget) -> Plan:
        """One gradient for each snapshot, one change for each inner step; the lengths of the epochs are public."""
        law = None if self.length_seed is None else RandomTurns(self.epochs, self.inner)
        fixed = (max(1, int(self.inner)),) * self.epochs
        lengths = fixed if law is None else law.draw(np.random.default_rng(self.length_seed))
        law = None if self.lengths_known else law
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
        w, facts = oracle.facts.first(), oracle.facts
        snapshots = [Turn(self.step_size, "snapshot", self.snapshot_rows)] * self.epochs
        epochs = self.step_rule.start(Gradients(oracle=oracle, clip=self.clip, turns=snapshots))
        while epochs.left:
            first = epochs.turn
            w, mean, _ = epochs.next(w)
            inner = InnerSteps(self, epochs, w, oracle.plan.public["lengths"][first : epochs.turn])
            for answers in inner.groups:
                change, eta = inner.next(w, answers)
                g = mean + change + self.ridge * without_intercept(w, facts.free)
                w = hard_threshold(w - eta * g, self.sparsity, facts.free, facts.groups)
                if path is not None:
                    path.add(w, oracle, thresholds=len(path.iterates) + 1)
        return w


class InnerSteps:
    """The inner steps of one epoch, or of several that share their snapshot.

    Parameters
    ----------
    loop : SCSG
    epochs : Steps
        Those of the snapshots, which learn from every change.
    anchor : array
        Where the snapshot was taken.
    lengths : sequence of int
        Inner steps that each of the epochs pays for.
    """

    def __init__(self, loop: SCSG, epochs: Steps, anchor: Vector, lengths: Sequence[int]) -> None:
        self.loop, self.epochs, self.anchor, self.clip = loop, epochs, anchor, epochs.clip
        self.oracle, self.groups = epochs.gradients.oracle, shared(sum(lengths), len(lengths))
        if self.groups:
            noise = epochs.gradients.noise_std(0, self.clip)
            # where noise is harmless even for changes of any size, none is clipped
            self.unclipped = epochs.is_quiet(math.hypot(noise, self._noise_std(2.0)))
            self.gain = epochs.gain(math.hypot(noise, self._noise_std(self._largest()))) / len(self.groups)

    def next(self, w: Vector, answers: int) -> tuple[Vector, Vector]:
        """The mean change of the gradient since the anchor over some answers, and the step along each coordinate."""
        bound = change_bound(w, self.anchor, self.clip, self.oracle.facts, self._largest())
        query = GradientChange(w, self.anchor, self.clip, bound)
        change = np.mean([self.oracle.answer(query, "change") for _ in range(answers)], axis=0)
        doubt = STEPS.doubt * self.oracle.deviation(query, "change", 0) / math.sqrt(answers)
        self.epochs.see(change, w, self.anchor, doubt)
        return change, self.epochs.gradients.sizes(self.epochs.length, self.gain)

    def _noise_std(self, largest: float) -> float:
        """Noise of a change of at most this many clips."""
        query = GradientChange(self.anchor, self.anchor, self.clip, largest * self.clip.norm)
        return self.oracle.deviation(query, "change", 0)

    def _largest(self) -> float:
        """Largest change of a row's gradient in clips: `change_clip`, and more by the root of the proven curvature."""
        if self.unclipped:
            return 2.0
        facts = self.oracle.facts
        part = self.epochs.proven * facts.n_features / (facts.curvature * facts.norm_bound**2)
        return min(2.0, self.loop.change_clip * math.sqrt(max(1.0, part)))


def shared(turns: int, many: int) -> list[int]:
    """A number of turns in groups of at least `many`, or in one group if there are fewer; none without turns."""
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
