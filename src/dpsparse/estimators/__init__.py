"""The scikit-learn face."""

from .classifier import SparseClassifier
from .model_file import load
from .regressor import SparseRegressor

__all__ = ["SparseClassifier", "SparseRegressor", "load"]
