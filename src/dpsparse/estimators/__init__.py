"""The scikit-learn face."""

from .classifier import SparseClassifier
from .regressor import SparseRegressor

__all__ = ["SparseClassifier", "SparseRegressor"]
