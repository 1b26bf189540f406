"""Fitted models as scikit-learn pipelines, for the tools that take those: joblib, MLflow, skl2onnx.

The pipeline predicts what the model predicts. It is a published model and nothing more: it has no
budget and no statement, and it refuses to be fitted, because that would read data without privacy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin, TransformerMixin
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import LabelBinarizer

from ..core.errors import PrivacyError
from ..core.facts import Vector
from ..fitting.request import read_loss
from ..io.dictionary import TableEncoder
from ..io.onnx_steps import MISSING_PACKAGES, Node, OnnxStep, as_double, operators
from ..queries.losses import KnownLink, Loss, Poisson, mean_of
from ..rows import refuse_missing
from ..rows.margins import served
from ..rows.records import AT_PREDICTION
from ..rows.row_bounds import RowBounds
from ..rows.shapes import Basis
from .input_checks import read_source

if TYPE_CHECKING:
    from .classifier import SparseClassifier
    from .regressor import SparseRegressor

REFUSAL = (
    "this pipeline is a published model that to_sklearn() made: fitting it would read the data "
    "without privacy. Fit the dpsparse estimator again, and export that."
)
#: Operators of ONNX that compute in single precision whatever their input is.
SINGLE_PRECISION = {"LinearClassifier", "LinearRegressor", "Normalizer"}


@dataclass(eq=False, repr=False)
class RowClipper(OnnxStep, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Clip rows to the public bounds of a fit, as the fitted model does before it predicts.

    Parameters
    ----------
    bounds : RowBounds or None
        None: rows stay as they are.
    basis : Basis or None
        The public map of a model with shapes, which is applied first.
    """

    bounds: RowBounds | None
    basis: Basis | None = None

    def fit(self, X: object, y: object = None) -> NoReturn:
        """Refuses: the pipeline around it is not private."""
        raise PrivacyError(REFUSAL)

    def transform(self, X: object) -> NDArray[np.float64] | sp.csr_matrix:
        """Clipped rows, dense or sparse as they came. Refuses missing values."""
        source = read_source(self, X, reset=False)
        refuse_missing(source, np.zeros(0), AT_PREDICTION)
        parts = list(served(source.expanded(self.basis), self.bounds))
        return sp.vstack(parts, format="csr") if sp.issparse(parts[0]) else np.concatenate(parts)

    def onnx_width(self) -> int:
        """As many columns as come in."""
        return int(self.n_features_in_)

    def onnx_graph(self, inputs: list[Node], opset: int) -> Node:
        """Entries within their bounds, then rows within their norm."""
        if self.basis is not None:
            raise TypeError("models with shapes are not exported to ONNX. Use to_sklearn(), or fit lines.")
        ops, at, x = operators(), {"op_version": opset}, as_double(inputs[0], opset)
        if self.bounds is None:
            return x
        lower, upper = (np.atleast_1d(np.asarray(v, dtype=float)) for v in (self.bounds.lower, self.bounds.upper))
        x = ops.OnnxMin(ops.OnnxMax(x, lower, **at), upper, **at)
        if self.bounds.row_norm is None:
            return x
        scaled = ops.OnnxDiv(x, np.atleast_1d(np.asarray(self.bounds.scale, dtype=float)), **at)
        squares = ops.OnnxReduceSum(ops.OnnxMul(scaled, scaled, **at), np.array([1]), keepdims=1, **at)
        norm = np.array([self.bounds.row_norm])
        return ops.OnnxMul(x, ops.OnnxDiv(norm, ops.OnnxMax(ops.OnnxSqrt(squares, **at), norm, **at), **at), **at)

    def __sklearn_is_fitted__(self) -> bool:
        return True


@dataclass(eq=False, repr=False)
class ClippedRegressor(OnnxStep, RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """A linear regression whose predictions stay within a public range, behind a link where the loss has one.

    Parameters
    ----------
    regressor : LinearRegression
        With its coefficients.
    low, high : float
        The range of the target; infinite for a model that keeps none.
    loss : Loss
        Its `mean` is the link.
    center : float
        Public centre of the target, added behind a link.
    """

    regressor: LinearRegression
    low: float
    high: float
    loss: Loss
    center: float = 0.0

    def fit(self, X: object, y: object = None) -> NoReturn:
        """Refuses: the pipeline around it is not private."""
        raise PrivacyError(REFUSAL)

    def predict(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Predicted targets."""
        margins, mean = self.regressor.predict(X), mean_of(self.loss)
        predicted = margins if mean is None else np.asarray(mean(margins)) + self.center
        return np.clip(predicted, self.low, self.high)

    def onnx_width(self) -> int:
        """One prediction."""
        return 1

    def onnx_graph(self, inputs: list[Node], opset: int) -> Node:
        """The margin, its link, and the range."""
        ops, at = operators(), {"op_version": opset}
        x = as_double(inputs[0], opset)
        coef, intercept = self.regressor.coef_.reshape(-1, 1), np.array([float(self.regressor.intercept_)])
        found = ops.OnnxAdd(ops.OnnxMatMul(x, coef, **at), intercept, **at)
        if mean_of(self.loss) is not None:
            found = ops.OnnxAdd(self._link(ops, found, at), np.array([self.center]), **at)
        return ops.OnnxMin(ops.OnnxMax(found, np.array([self.low]), **at), np.array([self.high]), **at)

    def _link(self, ops: Node, margin: Node, at: dict[str, int]) -> Node:
        if type(self.loss) is Poisson:
            return ops.OnnxExp(ops.OnnxMin(margin, np.array([self.loss.margin_bound]), **at), **at)
        known = {"sigmoid": ops.OnnxSigmoid, "tanh": ops.OnnxTanh}
        if type(self.loss) is not KnownLink or self.loss.f not in known:
            raise TypeError(f"the link of the loss {self.loss.name!r} is a Python function, which ONNX cannot hold.")
        return known[self.loss.f](margin, **at)

    def __sklearn_is_fitted__(self) -> bool:
        return True


def to_sklearn(fitted: BaseEstimator) -> Pipeline:
    """A fitted estimator, private pipeline or private search as a plain scikit-learn pipeline."""
    from .linear import SparseLinear

    held = vars(fitted)
    if "best_estimator_" in held:
        return to_sklearn(held["best_estimator_"])
    if isinstance(fitted, SparseLinear) and fitted.offset_bound is not None:
        raise TypeError("a model with offsets takes them when it predicts, which a scikit-learn pipeline cannot.")
    if not isinstance(fitted, SparseLinear):
        if "steps" not in held:
            raise TypeError(f"{type(fitted).__name__} predicts curves, for which scikit-learn has no model.")
        *steps, (_, model) = fitted.steps
        return Pipeline([*steps, *to_sklearn(model).steps])
    clip, last = (
        RowClipper(fitted.fitted_bounds, fitted.basis_),
        _classifier(fitted) if "classes_" in held else _regressor(fitted),
    )
    clip.n_features_in_ = fitted.n_features_in_
    steps = [("clip", clip), ("model", last)]
    if "dictionary_" in held:
        encoder = TableEncoder(fitted.dictionary_)
        encoder.fit({column.name: [] for column in fitted.dictionary_.features})
        steps = [("encode", encoder), *steps]
    elif "feature_names_in_" in held:
        clip.feature_names_in_ = fitted.feature_names_in_
    return Pipeline(steps)


def to_onnx(fitted: BaseEstimator) -> Node:
    """The same as an ONNX graph of doubles, with the names and types of its inputs."""
    try:
        from skl2onnx import convert_sklearn
        from skl2onnx.common.data_types import DoubleTensorType
    except ImportError:
        raise ImportError(MISSING_PACKAGES) from None
    pipeline = to_sklearn(fitted)
    first = pipeline.steps[0][1]
    if isinstance(first, TableEncoder):
        types = first.onnx_types()
    else:
        types = [("X", DoubleTensorType([None, int(first.n_features_in_)]))]
    options = {"zipmap": False} if "classes_" in vars(pipeline.steps[-1][1]) else None
    return convert_sklearn(pipeline, initial_types=types, options=options, black_op=SINGLE_PRECISION)


def _logistic(coef: Vector, intercept: Vector, classes: ArrayLike) -> LogisticRegression:
    made = LogisticRegression()
    made.coef_, made.intercept_, made.classes_ = coef, intercept, np.asarray(classes)
    made.n_features_in_, made.n_iter_ = coef.shape[1], np.zeros(1, dtype=np.int32)
    return made


def _classifier(model: SparseClassifier) -> LogisticRegression | OneVsRestClassifier:
    coef, intercept, classes = np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_), model.classes_
    if classes.size == 2 or model.multinomial_:
        return _logistic(coef, intercept, classes)
    made = OneVsRestClassifier(LogisticRegression())
    made.estimators_ = [_logistic(c[None], b[None], [0, 1]) for c, b in zip(coef, intercept, strict=True)]
    made.label_binarizer_ = LabelBinarizer(sparse_output=True).fit(classes)
    made.n_features_in_ = coef.shape[1]
    if not isinstance(getattr(OneVsRestClassifier, "classes_", None), property):  # an attribute in newer releases
        made.classes_ = classes
    return made


def _regressor(model: SparseRegressor) -> ClippedRegressor:
    linear = LinearRegression()
    linear.coef_, linear.intercept_, linear.n_features_in_ = model.coef_, np.float64(model.intercept_), model.coef_.size
    bound, center = model._target_range() if model.fitted_bounds is not None else (np.inf, model._target_range()[1])
    made = ClippedRegressor(linear, center - bound, center + bound, read_loss(model.loss, classes=False), center)
    made.n_features_in_ = model.coef_.size
    return made
