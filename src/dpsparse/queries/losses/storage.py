"""Losses by name and as plain values.

`named_loss` reads a name such as ``huber:threshold=0.5``; `stored_loss` and `restored_loss` serve model files.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, NoReturn

from ...core.facts import Vector
from .. import losses
from .base import Loss, mean_of


@dataclass(frozen=True)
class Unstored:
    """Stands for a loss that was given as functions, which a file cannot hold. Give the loss again to use it."""

    name: str
    classes: bool = False
    linked: bool = False
    slope_bound: float = float("inf")
    curvature: float = 1.0

    @property
    def mean(self) -> Callable[[Vector], Vector] | None:
        """Refuses where the loss had a link."""
        return self._refuse if self.linked else None

    def value(self, margin: Vector, y: Vector) -> Vector:
        """Refuses."""
        self._refuse()

    def slope(self, margin: Vector, y: Vector) -> Vector:
        """Refuses."""
        self._refuse()

    def _refuse(self, *_: object) -> NoReturn:
        raise ValueError(
            f"the loss {self.name!r} was given as functions, which a model file does not hold. Set "
            "model.loss to it again."
        )


def stored_loss(loss: Loss) -> dict[str, Any]:
    """A loss as plain values: its class and the fields that differ from the defaults."""
    kind = type(loss).__name__
    if any(type(loss) is type(own) for own in (*losses.LOSSES, *losses.OF_ESTIMATORS)):
        changed = {
            f.name: getattr(loss, f.name)
            for f in fields(loss)  # type: ignore[arg-type]
            if getattr(loss, f.name) != f.default
        }
        if all(isinstance(v, str | int | float | bool) for v in changed.values()):
            return {"loss": kind, **changed}
    return {"loss": "Unstored", "name": loss.name, "classes": loss.classes, "linked": mean_of(loss) is not None}


def restored_loss(values: dict[str, Any]) -> Loss:
    """The inverse of `stored_loss`."""
    values = dict(values)
    kind = values.pop("loss")
    if kind == "Unstored":
        return Unstored(**values)
    kinds = {type(own).__name__: type(own) for own in (*losses.LOSSES, *losses.OF_ESTIMATORS)}
    return kinds[kind](**values)


#: What scikit-learn calls some of them.
OTHER_NAMES = {"squared_error": "squared", "log_loss": "logistic"}


def loss_names() -> dict[str, type[Loss]]:
    """Names and classes of the losses of this package that need no function."""
    return {type(own).__name__.lower(): type(own) for own in losses.LOSSES if type(own) is not losses.Custom}


def named_loss(text: str) -> Loss:
    """The loss of a name such as ``poisson``, ``huber`` or ``huber:threshold=0.5``.

    Raises
    ------
    ValueError
        If there is no such loss or setting; the message lists what there is.

    Examples
    --------
    >>> named_loss("huber:threshold=0.5")
    Huber(threshold=0.5)
    >>> named_loss("squared_error")
    Squared()
    """
    name, _, settings = text.strip().partition(":")
    known = loss_names()
    kind = known.get(OTHER_NAMES.get(name.lower(), name.lower()))
    if kind is None:
        close = difflib.get_close_matches(name.lower(), known, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise ValueError(f"loss must be one of {', '.join(known)}, got {name!r}.{hint}")
    taken = {field.name: field for field in fields(kind)}  # type: ignore[arg-type]
    chosen: dict[str, float | str] = {}
    for part in filter(None, settings.split(",")):
        key, _, value = (piece.strip() for piece in part.partition("="))
        if key not in taken:
            raise ValueError(f"the loss {name!r} has no setting {key!r}; it has {', '.join(taken) or 'none'}.")
        try:
            chosen[key] = float(value)
        except ValueError:
            if not isinstance(taken[key].default, str):
                raise ValueError(f"the setting {key!r} of the loss {name!r} must be a number, got {value!r}.") from None
            chosen[key] = value
    return kind(**chosen)
