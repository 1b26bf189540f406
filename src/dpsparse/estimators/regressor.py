"""Private sparse regression."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin

from ..data.bounds import read_target_bound
from ..facts import Vector
from ..losses import Loss, Squared, mean_of
from .linear import SparseLinear, _is_number
from .refusals import refuse_fit_arguments


class SparseRegressor(RegressorMixin, SparseLinear):
    """Sparse linear regression under differential privacy.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy budget.
    delta : float or None, default=None
        None: ``min(1e-6, 1/(10 n))``. 0 only where every mechanism of the plan is pure.
    budget : Budget or None
        ``Budget.zcdp(rho)`` or ``Budget.gdp(mu)`` instead of epsilon and delta.
    sparsity : int or None
        At most this many nonzero coefficients; None: the recipe decides.
    row_norm, feature_bound : float, array or (lo, hi)
        Public bounds on the features; at least one is required. Data is clipped to them.
    feature_center : float or array, optional
        Public column means, where known.
    target_bound : float
        Required. The target is clipped to ``[-b, b]`` after `target_center` is subtracted.
    target_center : float, default=0
        Public centre of the target.
    recipe : str or recipe, default="auto"
        A name from ``dpsparse.recipes.names()``, or a recipe object.
    loss : Loss or None
        None: squared loss.
    penalty, alpha, l1_ratio, box
        Regularisation; added after the noise.
    adjacency : {"replace-one", "add-remove"}
        Which datasets count as neighbours.
    n_rows : int or None
        Public number of rows; required under add-remove.
    fit_intercept : bool, default=True
    start : array or None
        Public start vector.
    keep_path : bool, default=False
        Keep the released iterates in ``path_``.
    noise : {"lattice", "exact"}
        ``exact`` draws discrete Gaussians through OpenDP: slower, no floating-point caveat.
    ledger, dataset
        A durable budget shared by many fits.
    label, run_id : str or None
        For the ledger, both public: what the entry is called (default: the recipe), and which run it pays for: a retry with the same run_id does
        not pay twice.
    accept : tuple of str
        Names of assumptions that the user accepts.
    random_state : int or None
        None: cryptographic randomness. A seed is for tests: the fit is then not private.
    verbose : bool
        Show a progress bar.

    Attributes
    ----------
    coef_ : array of shape (n_features,)
    intercept_ : float
    support_ : array of int
        Features with nonzero coefficients.
    statement_ : Statement
        What was promised.
    path_ : Path
        Released iterates, if `keep_path`.

    Examples
    --------
    >>> import numpy as np
    >>> from dpsparse import SparseRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (5000, 20))
    >>> y = 2 * X[:, 0] - X[:, 3] + 0.1 * rng.standard_normal(5000)
    >>> reg = SparseRegressor(epsilon=2.0, sparsity=2, feature_bound=1.0, target_bound=3.5).fit(X, y)
    >>> [int(j) for j in reg.support_]
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
        target_bound: float | None = None,
        target_center: float = 0.0,
        recipe: Any = "auto",
        loss: Loss | None = None,
        penalty: str = "l2",
        alpha: float = 0.0,
        l1_ratio: float = 0.5,
        box: float | None = None,
        adjacency: str = "replace-one",
        n_rows: int | None = None,
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
        self.target_bound = target_bound
        self.target_center = target_center
        self.recipe = recipe
        self.loss = loss
        self.penalty = penalty
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.box = box
        self.adjacency = adjacency
        self.n_rows = n_rows
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
        """Fit on private rows. Arguments are checked and the plan is priced before a row is used.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (rows, n_features)
        y : array of shape (rows,)
        """
        refuse_fit_arguments(unsupported)
        X, y = self._checked(X, y, y_numeric=True)
        if not _is_number(self.target_center):
            raise ValueError(f"target_center must be a finite number, got {self.target_center!r}.")
        y = np.asarray(y, dtype=float) - self.target_center
        fitted = self._fit_models(X, [y], ())
        del X, y
        self._keep(fitted)
        return self

    def _keep(self, fitted: list[tuple[Vector, float]], classes: Any = None) -> None:
        """Fitted attributes from coefficients and an intercept."""
        [(coef, intercept)] = fitted
        self.coef_ = coef
        # behind a link the centre belongs to the prediction and not to the margin
        self.intercept_ = intercept + (self.target_center if mean_of(self._loss()) is None else 0.0)
        self.support_ = np.flatnonzero(coef)

    def predict(self, X: Any) -> np.ndarray:
        """Predicted targets: margins, or what the loss's link makes of them."""
        margins = np.asarray(self._margins(X)).ravel()
        mean = mean_of(self._loss())
        return margins if mean is None else np.asarray(mean(margins)) + self.target_center

    def _loss(self) -> Loss:
        loss = Squared() if self.loss is None else self.loss
        if not isinstance(loss, Loss) or loss.classes:
            raise TypeError(
                f"loss must be a regression loss object such as dpsparse.losses.Huber(), got {self.loss!r}."
            )
        return loss

    def _target_bound(self) -> float:
        return read_target_bound(self.target_bound)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.non_deterministic = True
        tags.regressor_tags.poor_score = True
        return tags
