r"""Auditing by one fit with many canaries.

Each of m canaries is decided by a coin of its own; the model is fitted once; an auditor who sees
the model guesses some of the coins. Under differential privacy not many guesses can be right
[SNJ23]_.

Guarantee
---------
Let :math:`S` be m independent fair coins, such that turning one of them makes a neighbouring
dataset, and let the fit be :math:`(\epsilon, \delta)`-DP. If at most r coins are guessed, all
others being abstained from, then for every v

.. math:: P[\text{at least } v \text{ right}] \le f(v) + 2m\delta \max_{1 \le i \le v} \frac{f(v-i) - f(v)}{i},
          \qquad f(v) = P\Bigl[\mathrm{Bin}\bigl(r, \tfrac{e^\epsilon}{1+e^\epsilon}\bigr) \ge v\Bigr]

([SNJ23]_, Theorem 5.2 and Corollary 5.4; it was checked against the number printed in their
Appendix D). `epsilon` is the largest one that this rejects, so it exceeds the true one with
probability at most one minus `confidence`. The theorem is stated for coins that include or exclude
a record: **add-remove**. Its proof uses of a coin only that the laws of the output for its two
sides are :math:`(\epsilon, \delta)`-close whatever the other coins are. Under **replace-one** a
coin therefore chooses which of two records is present, and the same bound holds; including or
excluding would change the public number of rows. The number of guesses is fixed beforehand:
choosing it by the scores is allowed, choosing it by the number of right guesses is not.

The bound is rarely tight: a few hundred guesses prove at most about :math:`\log r` less a constant,
and only if they are nearly all right.

References
----------
.. [SNJ23] Steinke, Nasr and Jagielski, NeurIPS 2023: Privacy auditing with one (1) training run.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from scipy.special import bdtrc

from ..core import PrivacyError, checks
from ..core.curves import largest
from ..core.facts import Vector
from ..core.plain import Printed
from ..estimators.linear import SparseLinear
from ..fitting import FitRequest, Matrix
from ..io.scikit import clone
from ..oracles import RecordingOracle
from ..rows import read_bounds
from .lower_bounds import binomial_probability
from .result import NOTHING_FOUND, VIOLATED
from .runs import receipts, record_fits, support_of


@dataclass(frozen=True)
class OneRun(Printed):
    """What one fit with many canaries proved.

    Attributes
    ----------
    epsilon, delta : float
        The fit is not (less than `epsilon`, `delta`)-DP.
    claimed : float
        Epsilon of its statement at that delta.
    canaries, guesses, correct : int
        Coins, those that were guessed, and those that were guessed right.
    confidence : float
    adjacency : str
    """

    also: ClassVar[tuple[str, ...]] = ("verdict", "violated")

    epsilon: float
    delta: float
    claimed: float
    canaries: int
    guesses: int
    correct: int
    confidence: float
    adjacency: str

    @property
    def violated(self) -> bool:
        """Whether more was proved than is claimed."""
        return self.epsilon > self.claimed

    @property
    def verdict(self) -> str:
        """In two or three words."""
        return VIOLATED if self.violated else NOTHING_FOUND

    def __str__(self) -> str:
        return (
            f"{self.correct} of {self.guesses} guesses right ({self.canaries} canaries, {self.adjacency}): epsilon >= "
            f"{self.epsilon:.4g} at delta {self.delta:.3g} with confidence {self.confidence:g}; claimed "
            f"{self.claimed:.4g}. Verdict: {self.verdict}."
        )


def one_run_p_value(canaries: int, guesses: int, correct: int, epsilon: float, delta: float) -> float:
    """At most this is the probability of this number of right guesses, if the fit is (epsilon, delta)-DP."""
    if not 0 <= correct <= guesses <= canaries:
        raise ValueError(f"expected 0 <= correct <= guesses <= canaries, got {correct}, {guesses} and {canaries}.")
    q = 1 / (1 + math.exp(-epsilon))
    tail = float(bdtrc(correct - 1, guesses, q))
    if delta == 0 or correct == 0:
        return tail
    below = np.cumsum(binomial_probability(np.arange(correct - 1, -1, -1), guesses, q))
    steepest = float(np.max(below / np.arange(1, correct + 1)))
    return min(1.0, tail + 2 * canaries * delta * steepest)


def one_run_epsilon(canaries: int, guesses: int, correct: int, delta: float, confidence: float = 0.95) -> float:
    """The largest epsilon that this number of right guesses rejects.

    Examples
    --------
    >>> from dpsparse.audit import one_run_epsilon
    >>> round(one_run_epsilon(1000, 100, 75, 1e-4), 3)
    0.673
    """

    def rejected(epsilon: float) -> bool:
        return one_run_p_value(canaries, guesses, correct, epsilon, delta) <= 1 - confidence

    return largest(rejected, 0.0, 64.0, steps=60) if rejected(0.0) else 0.0


def one_run(
    estimator: SparseLinear,
    X: Matrix,
    y: ArrayLike,
    *,
    canaries: int = 200,
    guesses: int | None = None,
    access: str = "model",
    confidence: float = 0.95,
    seed: int | None = None,
) -> OneRun:
    """Fit once with many canary rows among the others, and guess their coins from the result.

    Canaries are rows of random corners of the feature bounds. Under replace-one a coin chooses the
    target of each: one end of the target's range or the other; the fitted data has `canaries` rows
    more than X. Under add-remove a coin decides whether the row is there; declare `n_rows` on the
    estimator as for any other fit.

    Parameters
    ----------
    estimator : SparseRegressor or SparseClassifier
        Classifiers need two declared classes.
    X, y
        The real rows. **This is a fit like any other, on real data**: it costs its budget if its
        outcome is shown to anyone, and its model, bent by canaries, is thrown away.
    canaries : int
        m: more prove more, and disturb more.
    guesses : int, optional
        r; default a third of the canaries: those whose scores are the most extreme. Chosen
        beforehand.
    access : {"model", "answers"}
        Whether guesses come from the model alone, or from everything that the oracle said, which
        the guarantee covers too.
    confidence : float
    seed : int, optional
        Of the coins and canaries; the noise of the fit is the estimator's.

    Returns
    -------
    OneRun

    Examples
    --------
    >>> import numpy as np
    >>> from dpsparse import SparseRegressor, audit
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (300, 40))
    >>> model = SparseRegressor(epsilon=1.0, feature_bound=1.0, target_bound=1.0)
    >>> audit.one_run(model, X, X[:, 0], canaries=60, seed=0).verdict
    'no violation found'
    """
    guesses = max(1, canaries // 3) if guesses is None else guesses
    if canaries < 1 or not 1 <= guesses <= canaries:
        raise ValueError(f"expected 1 <= guesses <= canaries, got {guesses!r} and {canaries!r}.")
    checks.one_of(access, "access", ("model", "answers"))
    rng = np.random.default_rng(seed)
    model = clone(estimator)
    request = model.request()
    low, high = _ends(request)
    rows = _corners(request, X.shape[1], canaries, rng)
    coins = rng.random(canaries) < 0.5
    replace = model.adjacency == "replace-one"
    if replace:
        if model.n_rows is not None:
            model.set_params(n_rows=X.shape[0] + canaries)
        extra, targets = rows, np.where(coins, high, low)
    else:
        extra, targets = rows[coins], np.full(int(coins.sum()), high)
    together = (
        sp.vstack([sp.csr_matrix(X), sp.csr_matrix(extra)], format="csr") if sp.issparse(X) else np.vstack([X, extra])
    )
    with record_fits() as seen:
        model.fit(together, np.concatenate([np.asarray(y), targets.astype(np.asarray(y).dtype)]))
    if not model.statement_.priced:
        raise PrivacyError("this recipe guarantees no privacy, so there is nothing to audit.")
    towards = np.ravel(model.coef_) if access == "model" else _pull(seen[0].oracle, X.shape[1])
    scores = _shares(rows, towards)
    scores = scores - (0.0 if replace else np.median(scores))
    guessed = np.argsort(-np.abs(scores), kind="stable")[:guesses]
    correct = int(np.count_nonzero((scores[guessed] > 0) == coins[guessed]))
    delta = model.statement_.delta
    return OneRun(
        epsilon=one_run_epsilon(canaries, guesses, correct, delta, confidence),
        delta=delta,
        claimed=model.statement_.epsilon,
        canaries=canaries,
        guesses=guesses,
        correct=correct,
        confidence=confidence,
        adjacency=str(model.adjacency),
    )


def _ends(request: FitRequest) -> NDArray[np.generic]:
    """The two most different targets."""
    if not request.classifies:
        return request.target_center + request.target_bound * np.array([-1.0, 1.0])
    if request.classes is None or request.classes.size != 2:
        raise ValueError("canaries of a classifier need its two classes: declare classes=(a, b).")
    return request.classes


def _corners(request: FitRequest, n_features: int, canaries: int, rng: np.random.Generator) -> Vector:
    """Random corners of the feature bounds, scaled to the row norm."""
    lower, upper, norm = read_bounds(request.feature_bound, request.row_norm, n_features)
    rows = np.where(rng.random((canaries, n_features)) < 0.5, lower, upper)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows * np.minimum(1.0, norm / np.maximum(lengths, 1e-300)))


def _shares(rows: Vector, towards: Vector) -> Vector:
    """How much of each canary is in a direction: a canary with a high target pulls the model along its row.

    Ridge regression on the canaries' rows, since they are not orthogonal and would be taken for one another.
    """
    products = rows @ rows.T
    ridge = np.trace(products) / rows.shape[0] * min(1.0, rows.shape[0] / (2 * rows.shape[1]))
    return np.asarray(np.linalg.solve(products + ridge * np.eye(rows.shape[0]), rows @ towards))


def _pull(oracle: RecordingOracle, n_features: int) -> Vector:
    """Where the rows pull the model: minus the sum of all gradient answers, each with the weight of its strength."""
    total = np.zeros(n_features)
    for question, (_, _, answer), drawn in zip(oracle.questions, oracle.tape, receipts(oracle), strict=True):
        values = np.ravel(answer)
        support = support_of(question)
        if values.dtype.kind != "f" or type(question).__name__ not in ("Gradient", "WeightedGradient"):
            continue
        places = np.arange(values.size) if support is None else support
        kept = places < n_features
        total[places[kept]] -= (drawn.sensitivity / drawn.scale) ** 2 * values[kept]
    return total
