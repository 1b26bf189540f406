"""Losses by their names, with settings behind a colon."""

from __future__ import annotations

import difflib
from dataclasses import fields

from .. import losses
from .base import Loss

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
