"""Private sparse regression."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from ..core.facts import Vector
from ..fitting import FitRequest, FitResult
from ..fitting.request import read_loss
from ..io.scikit import RegressorMixin
from ..queries.losses import mean_of
from .arguments import explain_arguments
from .input_checks import our_tags
from .linear import SparseLinear

if TYPE_CHECKING:
    from sklearn.utils import Tags


@explain_arguments
@dataclass(eq=False, repr=False)
class SparseRegressor(RegressorMixin, SparseLinear):  # type: ignore[misc]
    """Sparse linear regression under differential privacy.

    Eight arguments matter first: `epsilon`, `delta`, `row_norm`, `feature_bound`, `target_bound`,
    `sparsity`, `recipe` and `ledger`. All arguments,
    in five groups:

    - **budget**: `epsilon`, `delta`, `budget`, `adjacency`, `unit`, `n_rows`, and a durable one:
      `ledger`, `dataset`, `label`, `run_id`, `resume`;
    - **public facts**: `row_norm`, `feature_bound`, `feature_center`,
      `target_bound`, `target_center`, `weight_bound`, `offset_bound`, `on_missing`, `check_bounds`,
      `check_cells`;
    - **model**: `sparsity`, `loss`, `shapes`, `groups`, `penalty`, `alpha`, `l1_ratio`, `box`,
      `fit_intercept`, `start`;
    - **algorithm**: `recipe`, `noise`, `accept`, `intervals`, `interval_target`, `keep_path`;
    - **running**: `memory_limit`, `random_state`, `verbose`.

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
        Public bounds on the features; at least one is required. Rows are clipped to them, in the
        fit and wherever the model is applied: coefficients hold for values within the bounds.
    feature_center : float or array, optional
        Public column means, where known.
    target_bound : float
        Required. The target is clipped to ``[-b, b]`` after `target_center` is subtracted.
        Predictions stay within that range.
    target_center : float, default=0
        Public centre of the target.
    recipe : str or recipe, default="auto"
        A name from ``dpsparse.recipes.names()``, or a recipe object.
    loss : Loss, str or None
        None: squared loss. By name: ``"huber"``, ``"huber:threshold=0.5"``, ``"poisson"``,
        ``"knownlink:f=tanh"``; `dpsparse.losses.loss_names` lists them.
    penalty, alpha, l1_ratio, box
        Regularisation; added after the noise. Where columns have bounds of their own, it weighs the
        coefficients of columns in units of their half-widths, as `clip`, `step_size` and `radius`
        of recipes do.
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
        ``exact`` draws discrete Gaussians whose law is exact: no floating-point caveat, some 6 %
        more noise.
    ledger, dataset
        A durable budget shared by many fits.
    label, run_id : str or None
        For the ledger, both public: what the entry is called (default: the recipe), and which run
        it pays for: a retry with the same run_id does not pay twice.
    resume : path or None
        A folder for the released answers of a run with a `run_id`. A fit that was killed goes on
        from them and pays nothing more; one that is done gives its model again. None: nothing is
        kept, and a fit that was killed after its first answer is lost with its budget.
    accept : tuple of str
        Names of assumptions that the user accepts.
    on_missing : {"refuse", "empty"}
        What to do where a cell of X or a target is NaN, infinite or no number. ``refuse``: the fit
        is refused, before anything is spent; the refusal says that there is such a cell, which the
        guarantee does not cover. ``empty``: the record is ignored, silently.
    check_bounds : float or None
        Share of the budget, such as 0.02, for a priced count of entries, rows and targets that were
        clipped; the statement shows it, with advice.
    check_cells : float or None
        Share of the budget, such as 0.02, for a priced count of cells that were not understood, for
        each column of a table that a `dpsparse.tables.TableEncoder` encodes right before. The
        statement shows the shares. A column that is mostly unread is warned of
        (`UnreadCellsWarning`), and one of which (noisily) no cell was understood gets no
        coefficient.
    intervals : {None, "split"}
        ``split``: confidence intervals that hold after selection. A coin for each row decides
        whether it selects and makes the model, or is asked once how sure the coefficients are; each
        part has the whole budget, since no row is in both. See the page on intervals.
    interval_target : {"mean", "robust"}
        ``robust`` clips residuals narrowly: narrower intervals, of another parameter where errors
        are skewed and their size depends on the features.
    unit : str or None
        The word for what has one id, such as ``"patient"``, where ``fit(X, y, units=ids)`` says whose rows are
        whose: the guarantee protects all rows with the same id. None: "person" there, and one row elsewhere.
    shapes : {"line", "smooth", "auto"} or dict
        ``smooth``: the effect of each column of numbers is a curve, made of Legendre polynomials of
        the column within its declared bounds: a public map of one record, without a price. ``auto``:
        where the budget carries the terms, by public facts (see the page on shapes). A dict by
        column name or number says ``line``, ``smooth``, ``monotone`` or ``steps``; the other columns
        are lines. Columns with the bounds [0, 1] are taken for 0/1 columns, which do not bend.
    groups : list of lists of columns, or None
        Columns that are selected, kept and dropped together, by name or number; each group counts once
        in `sparsity`. The terms of a curve are a group in any case.
    weight_bound : float or None
        The largest `sample_weight` of a record, from public knowledge; required where weights are given.
    offset_bound : (float, float) or None
        Between which an `offset` lies, from public knowledge; required where offsets or exposures are
        given. For an exposure, the logarithms of its bounds.
    memory_limit : str, int or None
        How much memory a fit may take beside what the process holds, such as ``"2GB"``. Rows that
        do not fit stay on the disk and are read block by block (see
        `dpsparse.rows.hosts.DiskHost`); the model is the same. None: rows are in memory.
    random_state : int or None
        None: cryptographic randomness. A seed is for tests: the fit is then not private.
    verbose : bool
        Show a progress bar.

    Attributes
    ----------
    coef_ : array of shape (n_features,)
        With shapes, one for each term; `shapes_` has the curves.
    intercept_ : float
    support_ : array of int
        Features with nonzero coefficients.
    statement_ : Statement
        What was guaranteed.
    path_ : Path
        Released iterates, if `keep_path`.
    intervals_, covariance_ : Intervals, array
        If `intervals`: estimates of the selected coefficients that are not shrunken, their
        intervals, and their covariance, the intercept last. `coef_` stays the model of the first
        part, for predictions.

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

    _: KW_ONLY
    target_bound: float | None = None
    target_center: float = 0.0
    interval_target: str = "mean"

    def request(self) -> FitRequest:
        """The arguments as one frozen, checked record: what `dpsparse.fitting` prepares and runs. Reads no data."""
        return FitRequest.read(self.get_params(deep=False), classifies=False)

    def keep(self, fitted: FitResult, classes: NDArray[np.generic] | None = None) -> Self:
        """Take over what a fit learned."""
        [(coef, intercept)] = fitted.models
        self.coef_ = coef
        self._targets = self.target_bound, self.target_center
        # behind a link the centre belongs to the prediction and not to the margin
        self.intercept_ = intercept + (self.target_center if self._mean() is None else 0.0)
        self.support_ = np.flatnonzero(coef)
        return self._keep(fitted, self.target_center)

    def predict_interval(self, X: object, level: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper ends of an interval for the mean of the target given the features, for each row.

        Needs ``intervals="split"``.

        It is about the best linear prediction within the declared range of the target, not about
        one new target, which varies around it.
        """
        low, high = self._ends(X, level)
        return self._within_range(low), self._within_range(high)

    def plain_bounds(self) -> dict[str, Any]:
        """Also those of the target, which a step before the model may have learned."""
        bound, center = self._target_range()
        return {**super().plain_bounds(), "target_bound": bound, "target_center": center}

    def _mean(self) -> Callable[[Vector], Vector] | None:
        """What a margin predicts, for losses behind a link."""
        return mean_of(read_loss(self.loss, classes=False))

    def predict(self, X: object, *, offset: object = None, exposure: object = None) -> np.ndarray:
        """Predicted targets, within the declared range of the target.

        They are the margins, or what the link of the loss makes of the margins. An `offset`, or the
        logarithm of an `exposure`, is added to the margin of its row: without it a model of rates
        predicts those of one unit of exposure.
        """
        margins, mean = self._margins(X).ravel(), self._mean()
        margins = margins + self._offsets(offset, exposure, margins.size)
        _, center = self._target_range()
        return self._within_range(margins if mean is None else np.asarray(mean(margins)) + center)

    def _within_range(self, predicted: Vector) -> Vector:
        """Clip predictions to the range that targets of the fit were clipped to.

        Only models that keep their bounds do so.
        """
        if self.fitted_bounds is None:
            return predicted
        bound, center = self._target_range()
        return np.clip(predicted, center - bound, center + bound)

    def _target_range(self) -> tuple[float, float]:
        """Half-width and centre of the targets of the fit."""
        found: tuple[float, float] = vars(self).get("_targets", (self.target_bound, self.target_center))
        return found

    def __sklearn_tags__(self) -> Tags:
        return our_tags(super().__sklearn_tags__())
