"""Private sparse classification."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, log_expit, log_softmax, logsumexp, softmax

from ..fitting import FitRequest, FitResult
from ..io.scikit import ClassifierMixin
from .arguments import explain_arguments
from .input_checks import our_tags
from .linear import SparseLinear

if TYPE_CHECKING:
    from sklearn.utils import Tags


@explain_arguments
@dataclass(eq=False, repr=False)
class SparseClassifier(ClassifierMixin, SparseLinear):  # type: ignore[misc]
    """Sparse logistic classification under differential privacy.

    For more than two classes, recipes that have a multinomial form (``dual_averaging``, and
    ``auto`` where it picks it) fit one multinomial model with the logistic loss and the whole
    budget. Other recipes and losses fit one model for each class against the rest, and one budget
    covers all of them, in equal parts. `sparsity` is a number of features: a multinomial model
    keeps or drops a feature for all classes together; one versus the rest, each model has this
    number of features of its own.

    Eight arguments matter first: `epsilon`, `delta`, `row_norm`, `feature_bound`, `classes`,
    `sparsity`, `recipe` and `ledger`. All arguments,
    in five groups:

    - **budget**: `epsilon`, `delta`, `budget`, `adjacency`, `unit`, `n_rows`, and a durable one:
      `ledger`, `dataset`, `label`, `run_id`, `resume`;
    - **public facts**: `row_norm`, `feature_bound`, `feature_center`,
      `classes`, `weight_bound`, `offset_bound`, `on_missing`, `check_bounds`,
      `check_cells`;
    - **model**: `sparsity`, `loss`, `class_weight`, `class_shares`, `shapes`, `groups`,
      `penalty`, `alpha`, `l1_ratio`, `box`, `fit_intercept`, `start`;
    - **algorithm**: `recipe`, `noise`, `accept`, `intervals`, `keep_path`;
    - **running**: `memory_limit`, `random_state`, `verbose`.

    Parameters
    ----------
    epsilon, delta, budget, sparsity, row_norm, feature_bound, feature_center, recipe, penalty, \
alpha, l1_ratio, box, adjacency, n_rows, fit_intercept, start, keep_path, noise, ledger, dataset, \
label, run_id, resume, accept, on_missing, check_bounds, check_cells, intervals, unit, shapes, groups, \
weight_bound, offset_bound, memory_limit, random_state, verbose
        As in `SparseRegressor`.
    loss : Loss, str or None
        None: logistic loss, which is also ``"logistic"``.
    classes : array or None
        The possible classes. None: taken from y, and listed in the statement as an assumption.
        If given, no label is ever refused: records of any other class, or of none, are empty.
    class_weight : dict, "balanced" or None
        ``{class: a}``: factor of the loss of each class's records, 1 for those that are not named, as
        public as a bound; only ratios matter. ``"balanced"``: one over the declared `class_shares`.
    class_shares : dict or None
        ``{class: share}``: public shares of the classes, for ``class_weight="balanced"``.

    Attributes
    ----------
    coef_ : array of shape (1, n_features) or (n_classes, n_features)
    intercept_ : array of shape (1,) or (n_classes,)
    multinomial_ : bool
        Whether the classes are one multinomial model.
    classes_, support_, statement_, path_, intervals_, covariance_
        As usual; `support_` holds the features that any class uses.

    Examples
    --------
    >>> import numpy as np
    >>> from dpsparse import SparseClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (5000, 20))
    >>> y = (3 * X[:, 0] - 3 * X[:, 3] + rng.logistic(size=5000) > 0).astype(int)
    >>> clf = SparseClassifier(epsilon=2.0, sparsity=2, feature_bound=1.0).fit(X, y)
    >>> [int(j) for j in clf.support_]
    [0, 3]
    """

    _: KW_ONLY
    classes: ArrayLike | None = None
    class_weight: Mapping[Any, float] | str | None = None
    class_shares: Mapping[Any, float] | None = None

    def request(self) -> FitRequest:
        """The arguments as one frozen, checked record, without reading data.

        This is what `dpsparse.fitting` prepares and runs.
        """
        return FitRequest.read(self.get_params(deep=False), classifies=True)

    def keep(self, fitted: FitResult, classes: NDArray[np.generic] | None = None) -> Self:
        """Take over what a fit learned; `classes` are those of its models."""
        self.classes_ = np.asarray(classes)
        self.coef_ = np.vstack([coef for coef, _ in fitted.models])
        self.intercept_ = np.array([intercept for _, intercept in fitted.models])
        self.support_ = np.flatnonzero(np.any(self.coef_ != 0, axis=0))
        self.multinomial_ = fitted.joint
        return self._keep(fitted)

    def predict_interval(self, X: object, level: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
        """Ends of an interval for the probability of the second class, for each row.

        The lower ends come first. Needs ``intervals="split"``.
        """
        low, high = self._ends(X, level)
        return expit(low), expit(high)

    def odds_ratio(self, column: str | int, value: float, other: float, *, level: float = 0.95) -> tuple[float, ...]:
        """The odds of the second class at `value` of a column over those at `other`, all else the same.

        With intervals, its ends come behind it. Of many classes, the ratios of the margins of each.
        """
        return tuple(math.exp(found) for found in self.contrast(column, value, other, level=level))

    def decision_function(self, X: object, *, offset: object = None, exposure: object = None) -> np.ndarray:
        """Margins: positive for the second class, or one column per class.

        With the `offset`, or the logarithm of the `exposure`, of each row.
        """
        margins = self._margins(X)
        margins = margins + self._offsets(offset, exposure, margins.shape[0])[:, None]
        return margins.ravel() if self.classes_.size == 2 else margins

    def predict(self, X: object, *, offset: object = None, exposure: object = None) -> np.ndarray:
        """Predicted classes."""
        margins = self.decision_function(X, offset=offset, exposure=exposure)
        best = (margins > 0).astype(int) if margins.ndim == 1 else np.argmax(margins, axis=1)
        return np.asarray(self.classes_[best])

    def predict_proba(self, X: object, *, offset: object = None, exposure: object = None) -> np.ndarray:
        """Class probabilities.

        They are the softmax of the margins of a multinomial model, or the probabilities of models
        of one class versus the rest, normalised to sum to one.
        """
        margins = self.decision_function(X, offset=offset, exposure=exposure)
        if margins.ndim == 1:
            positive = expit(margins)
            return np.column_stack([1 - positive, positive])
        if self.multinomial_:
            return np.asarray(softmax(margins, axis=1))
        p = expit(margins)
        return np.asarray(p / np.maximum(p.sum(axis=1, keepdims=True), np.finfo(float).tiny))

    def predict_log_proba(self, X: object, *, offset: object = None, exposure: object = None) -> np.ndarray:
        """Logarithms of the class probabilities, exact also where a probability rounds to 0 or 1."""
        margins = self.decision_function(X, offset=offset, exposure=exposure)
        if margins.ndim == 1:
            return np.column_stack([log_expit(-margins), log_expit(margins)])
        if self.multinomial_:
            return np.asarray(log_softmax(margins, axis=1))
        each = log_expit(margins)
        return np.asarray(each - logsumexp(each, axis=1, keepdims=True))

    def __sklearn_tags__(self) -> Tags:
        return our_tags(super().__sklearn_tags__())
