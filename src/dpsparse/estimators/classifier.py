"""Private sparse classification."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.special import expit
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets

from ..facts import Vector
from ..losses import Logistic, Loss
from .linear import SparseLinear
from .refusals import refuse_fit_arguments


class SparseClassifier(ClassifierMixin, SparseLinear):
    """Sparse logistic classification under differential privacy.

    More than two classes are fitted one versus the rest; one budget covers all models, in equal parts.

    Parameters
    ----------
    epsilon, delta, budget, sparsity, row_norm, feature_bound, feature_center, recipe, penalty, alpha, l1_ratio, box, \
adjacency, n_rows, fit_intercept, start, keep_path, noise, ledger, dataset, label, run_id, accept, random_state, verbose
        As in `SparseRegressor`.
    loss : Loss or None
        None: logistic loss.
    classes : array or None
        The possible classes. None: taken from y, and listed in the statement as an assumption. Records of any other class
        count as empty.

    Attributes
    ----------
    coef_ : array of shape (1, n_features) or (n_classes, n_features)
    intercept_ : array of shape (1,) or (n_classes,)
    classes_, support_, statement_, path_
        As usual; `support_` holds the features that any model uses.

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

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float | None = None,
        *,
        budget: Any = None,
        sparsity: int | None = None,
        row_norm: float | None = None,
        feature_bound: Any = None,
        feature_center: Any = None,
        recipe: Any = "auto",
        loss: Loss | None = None,
        penalty: str = "l2",
        alpha: float = 0.0,
        l1_ratio: float = 0.5,
        box: float | None = None,
        adjacency: str = "replace-one",
        n_rows: int | None = None,
        classes: Any = None,
        fit_intercept: bool = True,
        start: Any = None,
        keep_path: bool = False,
        noise: str = "lattice",
        ledger: Any = None,
        dataset: str | None = None,
        label: str | None = None,
        run_id: str | None = None,
        accept: tuple[str, ...] = (),
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.budget = budget
        self.sparsity = sparsity
        self.row_norm = row_norm
        self.feature_bound = feature_bound
        self.feature_center = feature_center
        self.recipe = recipe
        self.loss = loss
        self.penalty = penalty
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.box = box
        self.adjacency = adjacency
        self.n_rows = n_rows
        self.classes = classes
        self.fit_intercept = fit_intercept
        self.start = start
        self.keep_path = keep_path
        self.noise = noise
        self.ledger = ledger
        self.dataset = dataset
        self.label = label
        self.run_id = run_id
        self.accept = accept
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, **unsupported: Any) -> Self:
        """Fit on private rows. Arguments are checked and the plan is priced before a row is used."""
        refuse_fit_arguments(unsupported)
        X, y = self._checked(X, y)
        check_classification_targets(y)
        classes, assumptions = self._classes(y)
        positives = classes[1:] if classes.size == 2 else classes
        known = np.isin(y, classes)
        targets: list[Vector] = [np.where(known, y == c, np.nan).astype(float) for c in positives]
        fitted = self._fit_models(X, targets, assumptions)
        del X, y, targets, known
        self._keep(fitted, classes)
        return self

    def _keep(self, fitted: list[tuple[Vector, float]], classes: Any) -> None:
        """Fitted attributes from coefficients and intercepts, one pair for each model."""
        self.classes_ = np.asarray(classes)
        self.coef_ = np.vstack([coef for coef, _ in fitted])
        self.intercept_ = np.array([intercept for _, intercept in fitted])
        self.support_ = np.flatnonzero(np.any(self.coef_ != 0, axis=0))

    def _classes(self, y: Any) -> tuple[np.ndarray, tuple[str, ...]]:
        if self.classes is not None:
            classes = np.unique(np.asarray(self.classes))
            if classes.ndim != 1 or classes.size < 2:
                raise ValueError("classes must hold at least two different labels.")
            return classes, ()
        classes = np.unique(y)
        if classes.size < 2:
            raise ValueError(
                "y holds one class only, and a classifier needs at least 2 classes. If the data may hold a single class, declare classes=[...]."
            )
        return classes, (
            f"the label set {[c.item() if hasattr(c, 'item') else c for c in classes]} is treated as public",
        )

    def decision_function(self, X: Any) -> np.ndarray:
        """Margins: positive for the second class, or one column per class."""
        margins = np.asarray(self._margins(X))
        return margins.ravel() if self.classes_.size == 2 else margins

    def predict(self, X: Any) -> np.ndarray:
        """Predicted classes."""
        margins = self.decision_function(X)
        return self.classes_[(margins > 0).astype(int) if margins.ndim == 1 else np.argmax(margins, axis=1)]  # type: ignore[no-any-return]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Class probabilities; one-versus-rest probabilities are normalised to sum to one."""
        margins = self.decision_function(X)
        if margins.ndim == 1:
            positive = expit(margins)
            return np.column_stack([1 - positive, positive])
        p = expit(margins)
        return p / np.maximum(p.sum(axis=1, keepdims=True), np.finfo(float).tiny)  # type: ignore[no-any-return]

    def _loss(self) -> Loss:
        loss = Logistic() if self.loss is None else self.loss
        if not isinstance(loss, Loss) or not loss.classes:
            raise TypeError(
                f"loss must be a classification loss object such as dpsparse.losses.Logistic(), got {self.loss!r}."
            )
        return loss

    def _target_bound(self) -> float:
        return 1.0

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.non_deterministic = True
        tags.classifier_tags.poor_score = True
        return tags
