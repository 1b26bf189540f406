r"""Knowledge transfer: a private teacher, public rows, and a student that never meets the private ones.

.. math:: \tilde y = \tilde X\theta_{teacher} \;(+\;\text{noise}), \qquad
          w_{t+1} = H_s\bigl(w_t - \tfrac\eta m\tilde X^\top(\tilde X w_t - \tilde y)\bigr)

The teacher is stable, on a privately chosen support; that of DPSL-KT as printed [WG20]_ is not. The
student solves least squares on margins also after a logistic teacher: its labels are the teacher's
log-odds :math:`\langle\tilde x, \theta\rangle`, so its coefficients are log-odds too.

References
----------
.. [WG20] Wang and Gu, AAAI 2020, Algorithm 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.budget import Budget
from ..core.facts import Clip, Facts, Vector
from ..core.plan import Ask, Noise, Plan
from ..ops import hard_threshold
from ..queries.kinds import Indices, Oracle, Path, RidgeMinimum
from .screening import Screening

#: Draws rows: a generator, the number of rows and of columns; returns the rows.
Law = Callable[[np.random.Generator, int, int], Vector]


def _normal(generator: np.random.Generator, rows: int, columns: int) -> Vector:
    return np.asarray(generator.standard_normal((rows, columns)))


def _uniform(generator: np.random.Generator, rows: int, columns: int) -> Vector:
    return np.asarray(generator.uniform(-1.0, 1.0, (rows, columns)))


#: Laws of the entries of public rows, by name.
LAWS: dict[str, Law] = {"normal": _normal, "uniform": _uniform}


@dataclass(frozen=True, kw_only=True)
class Auxiliary:
    """Public rows for the student.

    Parameters
    ----------
    rows : int
        How many; ignored where a matrix is given.
    bound : float
        Drawn rows are clipped to this norm.
    seed : int
        Public seed of the rows that are drawn.
    matrix : array or sparse matrix of shape (m, n_features), or None
        Public rows in the units of the private ones; None: rows are drawn.
    law : function
        Of a generator, a number of rows and of columns: draws the rows.
    entry : float or None
        Entries that are drawn are clipped to this; None: they are not.
    """

    rows: int
    bound: float
    seed: int = 0
    matrix: Any = None
    law: Law = _normal
    entry: float | None = None

    @classmethod
    def of(
        cls, given: Any, facts: Facts, *, rows: int, bound: float, seed: int, entry: float | None = None
    ) -> Auxiliary:
        """Rows that were given or that will be drawn."""
        law = LAWS.get("normal" if given is None else given) if given is None or isinstance(given, str) else None
        law = given if callable(given) else law
        if law is not None:
            return cls(rows=rows, bound=bound, seed=seed, law=law, entry=entry)
        if isinstance(given, str):
            raise ValueError(f"{given}: a model file does not hold it. Give the recipe with its matrix again to fit.")
        if given.shape[1] != facts.n_features:
            raise ValueError(f"the auxiliary matrix must have {facts.n_features} columns, got shape {given.shape}.")
        return cls(rows=rows, bound=bound, seed=seed, matrix=given)

    @property
    def count(self) -> int:
        """Number of public rows."""
        return self.rows if self.matrix is None else int(self.matrix.shape[0])

    def design(self, facts: Facts, support: Indices) -> Vector:
        """The public rows on the coordinates of `support`, shifted like the private ones, with the intercept column."""
        features = support[support < facts.n_features]
        if self.matrix is None:
            x = np.array(self.law(np.random.default_rng(self.seed), self.rows, features.size), dtype=float)  # public
            if x.shape != (self.rows, features.size) or not np.all(np.isfinite(x)):
                raise ValueError(
                    f"auxiliary rows must be finite and of shape {(self.rows, features.size)}, got {x.shape}."
                )
            if self.entry is not None:
                x = np.clip(x, -self.entry, self.entry)
            if np.isfinite(self.bound):
                x *= (self.bound / np.maximum(np.linalg.norm(x, axis=1), self.bound))[:, None]
        else:
            picked = self.matrix[:, features]
            dense = picked.toarray() if hasattr(picked, "toarray") else np.asarray(picked, dtype=float)
            ones = np.ones(facts.n_features)
            x = dense / (facts.scale * ones)[features] - (facts.shift * ones)[features]
        return np.column_stack([x, np.full((x.shape[0], support.size - features.size), facts.intercept)])


@dataclass(frozen=True, kw_only=True)
class KnowledgeTransfer:
    """Knowledge transfer from a ridge teacher on a chosen support.

    Parameters
    ----------
    screening : Screening
        Chooses the columns on which the teacher learns.
    sparsity : int
        Nonzero coefficients of the student, or of a teacher that is released; no more than columns were chosen.
    clip : Clip
        Bound on one row's gradient.
    row_norm : float
        Rows are scaled down to this norm on the support.
    ridge : float
        Regularisation of the sum; the intercept is regularised too, as the proof needs.
    auxiliary : Auxiliary
        The public rows.
    release : {"theta", "labels"}
        What gets noise: the teacher, or its labels.
    steps : int
        Steps of the student.
    noise : Noise
        ``Noise.NONE`` for the non-private baseline.
    """

    screening: Screening
    sparsity: int
    clip: Clip
    row_norm: float
    ridge: float
    auxiliary: Auxiliary
    release: str = "theta"
    steps: int = 50
    noise: Noise = Noise.GAUSSIAN

    def plan(self, facts: Facts, budget: Budget) -> Plan:
        """The choice of a support and one release."""
        teacher = Ask(name="teacher", question="RidgeMinimum", noise=self.noise, share=1.0 - self.screening.share)
        return Plan(asks=(*self.screening.asks(facts), teacher))

    def run(self, oracle: Oracle, path: Path | None = None) -> Vector:
        """Return the student."""
        facts = oracle.facts
        support = self.screening.support(oracle)
        design = self.auxiliary.design(facts, support) if self.release == "labels" else None
        question = RidgeMinimum(support, self.clip, self.row_norm, self.ridge, design)
        told = oracle.estimate(question, ask="teacher")
        w = np.zeros(facts.dimension)
        # a released teacher labels without noise, and is the student that fits its labels
        w[support] = told if design is None else student(design, told, self.sparsity, facts.free, self.steps)
        w = hard_threshold(w, self.sparsity, facts.free, facts.groups)
        if path is not None:
            path.add(w, oracle, thresholds=self.steps)
        return w


def student(design: Vector, labels: Vector, sparsity: int, free: int, steps: int) -> Vector:
    """Iterative hard thresholding of least squares on public rows, with 1 over the design's curvature as its step."""
    rows = design.shape[0]
    largest = _largest_eigenvalue(design)
    w = np.zeros(design.shape[1])
    for _ in range(steps):
        g = design.T @ (design @ w - labels) / rows
        w = hard_threshold(w - g / max(largest / rows, 1e-300), sparsity, free)
    return w


def _largest_eigenvalue(design: Vector) -> float:
    """The largest eigenvalue of design' design by power iterations from a fixed start, times 1.1 to be above it."""
    v = np.ones(design.shape[1]) + np.arange(design.shape[1]) / max(design.shape[1], 1)
    size = 0.0
    for _ in range(30):
        v = design.T @ (design @ (v / max(float(np.linalg.norm(v)), 1e-300)))
        size = float(np.linalg.norm(v))
    return 1.1 * size
