"""The reference for ordinary tables: one private default in plain numpy, which the product is compared with.

Declared widths as scales; private means; noise-aware whitening; a descent in phases with clips that are asked for; on wide
tables a race between a dense and a sparse pilot; a slope that draws back to the constant where noise dominates. What is asked
follows from public facts alone (`plan`), with one branch of equal price, the race. Replace-one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.tables.descent import Constants, Descent, Outcome, cut, lengths
from benchmarks.tables.peers import scaled, unscaled
from benchmarks.tables.purse import LOW, Purse
from benchmarks.tables.scores import Linear
from benchmarks.tables.sets import Array, Table


@dataclass(frozen=True)
class Plan:
    """Shares of the budget, from public facts. `route`: constant, dense, race or sparse.

    `start` is the share of the first question, `question` that of each other one; 0 where public guesses take their place.
    """

    route: str
    start: float
    question: float
    means: float
    gram: float
    slope: float
    gradients: float
    phases: tuple[float, ...]
    columns: int
    keep: int | None


def plan(n: int, d: int, mu: float, linear: bool, sparsity: int | None, k: Constants) -> Plan:
    """What will be asked of n rows and d columns."""
    level = n * mu
    kappa = level / (2 * d)
    wide = kappa < k.race_kappa and d >= k.race_columns
    given = sparsity is not None and sparsity < d
    affordable = int(0.1 * level / math.log(max(d, 3)))
    lean = level < k.few_records
    phases = (1.0,) if not linear else (0.4, 0.6) if lean else k.phases
    route = "dense"
    if wide and not given and affordable >= (8 if kappa >= 0.5 else 4):
        route = "race"
    if wide and sparsity is not None and sparsity <= d // 4:
        route = "sparse"
    columns = min(max(affordable, 2), 40, d // 3, sparsity if given and sparsity else d)
    gram = route == "dense" and not lean and 2 * d**1.5 / (level * math.sqrt(k.gram)) < 8
    slope = linear and kappa < 10 and not lean
    asks = 2 + gram + (not lean) + linear * (slope + len(phases)) + given * (2 + linear)
    if route != "dense":
        asks = 13 if linear else 7
    questions = min(0.3, max(k.questions, asks * (k.least_level / level) ** 2))
    means = 0.0 if lean else k.means
    if level * math.sqrt(questions / asks) < (k.hopeless if linear else k.class_hopeless):
        if linear:
            return Plan("constant", 1.0, 0, 0, 0, 0, 0, (), 0, None)
        return Plan("dense", 0.05, 0, 0, 0, 0, 0.95, phases, columns, sparsity if given else None)
    for_slope = min(0.1, max(k.slope, (40 / level) ** 2)) if slope else 0.0
    for_gram = k.gram if gram else 0.0
    rest = 1 - questions - means - for_gram - for_slope
    share, keep = questions / asks, sparsity if given else None
    return Plan(route, share, share, means, for_gram, for_slope, rest, phases, columns, keep)


def fit(
    table: Table,
    epsilon: float,
    delta: float,
    rng: np.random.Generator,
    k: Constants | None = None,
) -> Linear:
    """A model whose note says what was chosen and what was spent."""
    k = k or Constants()
    purse = Purse.of(epsilon, delta, rng)
    X, middle, half = scaled(table)
    n, d = X.shape
    linear = table.kind == "regression"
    p = plan(n, d, purse.mu, linear, table.sparsity, k)
    if n * purse.mu < k.few_records:
        k = replace(k, middle=LOW)
    X = X.astype(np.float32) if n * d > 2e6 else X
    y = np.clip(table.y - table.center, -table.bound, table.bound) if linear else table.y
    if p.route == "constant":
        level = purse.quantile(y, 0.5, np.linspace(-table.bound, table.bound, 121), 1.0)
        return Linear(np.zeros(d), level + table.center, "constant")
    target = Outcome(y, linear, _start(y, linear, table.bound, purse, p, k), table.bound)
    mean = np.zeros(d, X.dtype)
    if p.means:
        size = lengths(X)
        length = purse.length(size, math.sqrt(d), p.question, k.middle)
        noisy, sd = purse.add_noise(cut(X, size, length).mean(0), 2 * length / n, p.means)
        shrink = max(0.0, 1 - d * sd**2 / max(float(noisy @ noisy), 1e-30))
        mean = np.clip(shrink * noisy, -1, 1).astype(X.dtype)
        X = X - mean
    longest = math.sqrt(d) + float(np.linalg.norm(mean))
    run = _Run(X, target, longest, purse, k, p)
    descent, chosen = run.dense() if p.route == "dense" else run.race()
    c, b = descent.model()
    a = slope(descent, p, purse) if p.slope else 1.0
    full = np.zeros(d)
    full[chosen] = a * c
    intercept = target.start + a * (b - target.start) - float(mean @ full)
    note = f"{p.route} {run.winner} slope {a:.2f} spent {purse.epsilon(delta):.4f}"
    return unscaled(full, intercept + (table.center if linear else 0.0), middle, half, note)


def _start(y: Array, linear: bool, bound: float, purse: Purse, p: Plan, k: Constants) -> float:
    """The median, or half the log-odds of the noisy class share: between rare classes and a clip, the middle is best."""
    if linear:
        fine = len(y) * purse.mu * math.sqrt(p.start) >= 25
        return purse.quantile(y, 0.5, np.linspace(-bound, bound, 401 if fine else 121), p.start)
    total, _ = purse.add_noise(np.array(float(np.sum(y))), 1.0, p.start)
    share = min(0.98, max(0.02, float(total) / len(y)))
    return k.class_start * math.log(share / (1 - share))


@dataclass
class _Run:
    """The dense route, and the race of two pilots."""

    X: Array
    target: Outcome
    longest: float
    purse: Purse
    k: Constants
    p: Plan
    winner: str = "dense"

    def _descent(self, columns: list[int] | None, gram: float) -> Descent:
        X = self.X if columns is None else self.X[:, columns]
        longest = self.longest if columns is None else min(self.longest, 2 * math.sqrt(len(columns)))
        return Descent(X, self.target, longest, self.purse, self.k, self.p.question, gram)

    def _rest(self) -> float:
        """All that is left for the last phase, but the slope and the questions still to come."""
        asks = (1 + (self.p.slope > 0)) * self.target.linear
        return self.purse.left - self.p.slope - self.p.question * asks

    def dense(self) -> tuple[Descent, slice | list[int]]:
        """All columns; with a sparsity the largest of a first part again, alone."""
        p = self.p
        descent, chosen = self._descent(None, p.gram), slice(None)
        for share in p.phases[:-1] if self.target.linear or p.keep is None else (0.4,):
            descent.phase(share * p.gradients)
        if p.keep is None:
            return descent.phase(self._rest()), chosen
        few = sorted(int(j) for j in np.argsort(-np.abs(descent.model()[0]))[: p.keep])
        return self._descent(few, 0.1 * p.gradients).phase(self._rest()), few

    def race(self) -> tuple[Descent, slice | list[int]]:
        """A dense and a sparse pilot; the better one on clipped losses goes on. A given sparsity: the sparse one alone."""
        p, purse, linear, g = self.p, self.purse, self.target.linear, self.p.gradients
        d = self.X.shape[1]
        pilot = self._descent(None, 0.0).phase(0.15 * g, 1.0) if p.route == "race" else None
        length = pilot.length if pilot else purse.length(lengths(self.X), self.longest, p.question, self.k.middle)
        entry = self.k.entry_clip * length / 1.2 / math.sqrt(d)
        start = np.full(len(self.X), self.target.start)
        first = max(1, p.columns // 2)
        few = self._select(start, [], first, entry, (0.08 if pilot else 0.15) * g)
        sparse = self._descent(few, 0.15 * 0.05 * g).phase(0.85 * 0.05 * g)
        if pilot and self._dense_wins(pilot, sparse):
            if linear:
                pilot.phase(0.25 * g)
            return pilot.phase(self._rest()), slice(None)
        self.winner = "sparse"
        if p.columns > first:
            few = self._select(sparse.margin(), few, p.columns - first, entry, 0.17 * g)
        sparse = self._descent(few, 0.15 * 0.12 * g).phase(0.85 * 0.12 * g)
        return sparse.phase(self._rest()), few

    def _select(self, z: Array, few: list[int], count: int, entry: float, share: float) -> list[int]:
        """Columns with the largest noisy |correlation| of clipped entries with clipped residuals."""
        target, p = self.target, self.p
        r, clip = -target.residual(z), 0.5
        if target.linear:
            grid = np.geomspace(target.bound / 1000, 2 * target.bound, 50)
            clip = 1.2 * self.purse.quantile(np.abs(r), 0.6, grid, p.question)
        short = np.clip(self.X, -entry, entry)
        score = np.abs(short.T @ np.clip(r, -clip, clip).astype(short.dtype)).astype(float) / (2 * entry * clip)
        score[few] = -1e30
        return few + [int(j) for j in self.purse.largest(score, share, count)]

    def _dense_wins(self, dense: Descent, sparse: Descent) -> bool:
        """One selection of two; the dense pilot gets a public advance, since it still has far to go."""
        y, n = self.target.y, len(self.X)

        def loss(z: Array) -> float:
            if self.target.linear:
                assert dense.clip is not None
                return float(np.minimum((z - y) ** 2 / dense.clip**2, 1).sum())
            return float(np.minimum(np.logaddexp(0, z) - y * z, 2.0).sum() / 2)

        score = np.array([self.k.dense_offset * n - loss(dense.margin()), -loss(sparse.margin())])
        return int(self.purse.largest(score, 0.03 * self.p.gradients)[0]) == 0


def slope(descent: Descent, p: Plan, purse: Purse) -> float:
    """Regression of the target on the score in two private dimensions: 1 unless clearly below, 0 when the score is noise."""
    target, clip, steps, skipped = descent.target, descent.clip, 30, 8
    assert clip is not None
    z, n = descent.margin() - target.start, len(target.y)
    unit = 1.2 * purse.quantile(np.abs(z), 0.7, np.geomspace(1e-3, 1e2, 50) * clip, p.question)
    F = np.column_stack([np.clip(z / unit, -4, 4), np.full(n, 0.7)])
    size, mu = lengths(F), purse.level(p.slope) / math.sqrt(steps)
    theta, mean = np.array([unit, 0.0]), np.zeros(2)
    for t in range(steps):
        r = target.residual(F @ theta + target.start)
        r = r * np.minimum(1, clip / np.maximum(np.abs(r) * size, 1e-12))
        theta = theta - 0.5 * (F.T @ r / n + 2 * clip / (n * mu) * purse.rng.standard_normal(2))
        mean += theta / (steps - skipped) * (t >= skipped)
    a = float(mean[0]) / unit
    sd = 1.2 * 2 * clip / (n * mu * math.sqrt(steps)) / 0.45 / unit
    return 1.0 if a >= 1 - 2 * sd else max(0.0, a) * max(0.0, 1 - (sd / max(abs(a), 1e-12)) ** 2)
