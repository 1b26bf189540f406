"""The target of a dictionary: what is predicted, and its public facts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .column import Column
from .dictionary import Dictionary
from .formats import DictionaryError
from .frames import Table
from .rules import CellReader, Flags

#: Stands for a label that is missing or was not declared. It is longer than a label can be, so it equals no label.
NO_LABEL = "-" * 201
TRUTHS: tuple[str, ...] = ("false", "true")


@dataclass(frozen=True)
class Target:
    """How a target is read.

    Guarantee
    ---------
    One cell at a time, by public constants; nothing is said about a cell. A label that is missing
    or was not declared becomes `NO_LABEL`, which is no class, so that its record is ignored.
    A number that is missing becomes the declared `fill`, or the middle of the bounds.

    Examples
    --------
    >>> target = Target(Column(name="event", role="target", kind="category", categories=["no", "yes"]))
    >>> target.settings
    {'classes': ['no', 'yes']}
    """

    column: Column

    @classmethod
    def of(cls, dictionary: Dictionary) -> Target:
        """The target of a dictionary; refused where it has none."""
        if dictionary.target is None:
            raise DictionaryError(["the dictionary names no target. Give one column the role target."])
        return cls(dictionary.target)

    @property
    def task(self) -> str:
        """``regression`` for numbers, otherwise ``classification``."""
        return "regression" if self.column.kind == "number" else "classification"

    @property
    def settings(self) -> Mapping[str, object]:
        """Arguments of an estimator that follow from the dictionary."""
        if self.task == "classification":
            return {"classes": list(TRUTHS if self.column.kind == "boolean" else self.column.labels)}
        middle, half = self.column.middle_and_half
        return {"target_bound": half, "target_center": middle}

    def read(self, X: object) -> NDArray[np.float64] | NDArray[np.str_]:
        """Targets of the rows of a table: numbers in their own unit, or labels as text."""
        return self.read_checked(X)[0]

    def read_checked(self, X: object) -> tuple[NDArray[np.float64] | NDArray[np.str_], Flags]:
        """The same, and which cells were not understood: **private**."""
        cells, reader = Table(X, [self.column.name]).cells(self.column.name), CellReader(self.column)
        if self.column.kind == "category":
            places, unread = reader.places(cells)
            classes = self.column.labels
        else:
            values, unread = reader.values(cells)
            if self.task == "regression":
                lower, upper = self.column.limits
                middle, _ = self.column.middle_and_half
                filled = middle if self.column.fill is None else self.column.value(self.column.fill)
                return np.where(np.isnan(values), filled, np.clip(values, lower, upper)), unread
            places, classes = np.where(np.isnan(values), -1, np.nan_to_num(values)).astype(np.intp), TRUTHS
        width = f"<U{len(NO_LABEL)}"  # the same type, whatever the labels are
        return np.array([*classes, NO_LABEL], dtype=width)[np.where(places < 0, len(classes), places)], unread
