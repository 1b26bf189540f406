"""Targets of the models of a fit: one vector for each.

The only thing learned from them is the set of classes, if none was declared.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..core import DataError
from ..core.facts import Vector
from ..rows.records import center_targets, code_classes, suppress_messages
from .request import FitRequest, models_of

#: No labels, such as NaN, which does not equal itself.
INFINITE = (float("inf"), float("-inf"))


@dataclass(frozen=True, eq=False, repr=False)
class Targets:
    """Private targets, and what is public about them.

    Attributes
    ----------
    coded : array
        Classes coded 0, 1, ..., or centred outcomes; NaN for a class that is not known and for what
        is no number. What scores compare with.
    classes : array or None
        Public: declared, or assumed to be.
    assumptions : tuple of str
        What a guarantee depends on: that classes are public, where they were not declared; that nothing
        looked at the rows before.
    """

    coded: Vector
    classes: NDArray[np.generic] | None
    assumptions: tuple[str, ...]

    @property
    def models(self) -> int:
        """How many models one versus the rest takes."""
        return models_of(self.classes)

    def vectors(self, models: int) -> tuple[Vector, ...]:
        """For each of several models: 1 and 0 for its class and the others, NaN for a class that is not known.

        For one: all codes, or outcomes.
        """
        if self.classes is None or models == 1:
            return (self.coded,)
        known = np.isfinite(self.coded)
        return tuple(np.where(known, self.coded == code, np.nan) for code in range(self.classes.size))

    def take(self, which: NDArray[np.intp] | slice) -> Targets:
        """Those of some of the rows."""
        return replace(self, coded=self.coded[which])


def read_targets(request: FitRequest, y: NDArray[np.generic]) -> Targets:
    """Code the targets as the models take them.

    Silent about every value, but for the classes, where they are to be learned.
    """
    if not request.classifies:
        return Targets(center_targets(y, request.target_center), None, ())
    classes, assumptions = request.classes, tuple[str, ...]()
    if classes is None:
        classes = learn_classes(y)
        assumptions = (f"the label set {classes.tolist()} is treated as public",)
    return Targets(code_classes(y, classes.tolist()), classes, assumptions)


def learn_classes(y: NDArray[np.generic]) -> NDArray[np.generic]:
    """The set of labels, treated as public; missing and infinite ones are left out."""
    with suppress_messages():
        numeric = y.dtype.kind in "biuf" and not np.ma.isMaskedArray(y)
        present = y[np.isfinite(y) if numeric else np.array([_present(label) for label in y.tolist()], dtype=bool)]
        try:
            classes = np.unique(present)
        except Exception:  # its message would name types or values
            raise DataError("Unknown label type: labels of several types. Declare classes=[...].") from None
    if classes.size < 2:
        raise DataError(
            "y holds one class only, and a classifier needs at least 2 classes. If the data may "
            "hold a single class, declare classes=[...]."
        )
    return classes


def _present(label: object) -> bool:
    try:
        return label is not None and bool(label == label) and label not in INFINITE  # noqa: PLR0124
    except Exception:  # whatever cannot be compared is no label
        return False
