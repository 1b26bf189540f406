"""Targets of the models of a fit: one vector for each. The only thing learned from them is the set of classes, if none was declared."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..facts import Vector
from .request import FitRequest, models_of


@dataclass(frozen=True, eq=False, repr=False)
class Targets:
    """Private targets, and what is public about them.

    Attributes
    ----------
    vectors : tuple of arrays
        For each model: 1 and 0 for its class and the others, NaN for a class that is not known; or centred outcomes.
    y : array
        As they came.
    classes : array or None
        Public: declared, or assumed to be.
    assumptions : tuple of str
        That the classes are public, where they were not declared.
    """

    vectors: tuple[Vector, ...]
    y: NDArray[np.generic]
    classes: NDArray[np.generic] | None
    assumptions: tuple[str, ...]

    @property
    def models(self) -> int:
        """How many models there are."""
        return len(self.vectors)

    def coded(self) -> Vector:
        """Classes coded 0, 1, ..., NaN for others; or centred outcomes. What scores compare with."""
        if self.classes is None:
            return self.vectors[0]
        code = np.searchsorted(self.classes, self.y).clip(0, self.classes.size - 1)
        return np.where(self.classes[code] == self.y, code, np.nan).astype(float)


def read_targets(request: FitRequest, y: NDArray[np.generic]) -> Targets:
    """Code the targets as the models take them."""
    if not request.classifies:
        return Targets((np.asarray(y, dtype=float) - request.target_center,), y, None, ())
    classes, assumptions = request.classes, tuple[str, ...]()
    if classes is None:
        classes = np.unique(y)
        if classes.size < 2:
            raise ValueError(
                "y holds one class only, and a classifier needs at least 2 classes. If the data may hold a single class, declare classes=[...]."
            )
        assumptions = (f"the label set {classes.tolist()} is treated as public",)
    positives = classes[1:] if models_of(classes) == 1 else classes
    known = np.isin(y, classes)
    vectors = tuple(np.where(known, y == c, np.nan).astype(float) for c in positives)
    return Targets(vectors, y, classes, assumptions)
