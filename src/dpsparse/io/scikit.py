"""scikit-learn's base classes; in a command that needs nothing else of it, classes that stand in for them.

Importing scikit-learn takes longer than most commands compute. `dpsparse.cli.program` is loaded by the
program `dpsparse` alone, and imports scikit-learn before anything else where a command needs it.
"""

from __future__ import annotations

import inspect
import sys
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING or "dpsparse.cli.program" not in sys.modules or "sklearn" in sys.modules:
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, TransformerMixin, clone, is_classifier
else:

    class BaseEstimator:
        """Reads and sets the arguments of the constructor by their names."""

        @classmethod
        def _get_param_names(cls) -> list[str]:
            found = inspect.signature(cls.__init__).parameters.values()
            return sorted(each.name for each in found if each.name != "self" and each.kind is not each.VAR_KEYWORD)

        def get_params(self, deep: bool = True) -> dict[str, Any]:
            """The arguments; none of ours holds an estimator."""
            return {name: getattr(self, name) for name in self._get_param_names()}

        def set_params(self, **params: Any) -> Self:
            """Set arguments by name."""
            unknown = params.keys() - set(self._get_param_names())
            if unknown:
                raise ValueError(f"{type(self).__name__} has no argument {min(unknown)!r}.")
            for name, value in params.items():
                setattr(self, name, value)
            return self

        def __sklearn_clone__(self) -> Self:
            return type(self)(**self.get_params())

    class ClassifierMixin:
        """Nothing that a command needs."""

    class RegressorMixin:
        """Nothing that a command needs."""

    class TransformerMixin:
        """Nothing that a command needs."""

    def clone(estimator: BaseEstimator) -> BaseEstimator:
        """An estimator with the same arguments that has learned nothing."""
        return estimator.__sklearn_clone__()

    def is_classifier(estimator: BaseEstimator) -> bool:
        """Whether an estimator predicts classes."""
        return isinstance(estimator, ClassifierMixin)


def check_is_fitted(estimator: BaseEstimator, attribute: str) -> None:
    """Refuse an estimator without an attribute, in the words of scikit-learn."""
    if attribute not in vars(estimator):
        from sklearn.utils import validation

        validation.check_is_fitted(estimator, attribute)


__all__ = [
    "BaseEstimator",
    "ClassifierMixin",
    "RegressorMixin",
    "TransformerMixin",
    "check_is_fitted",
    "clone",
    "is_classifier",
]
