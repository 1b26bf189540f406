"""What a loss must offer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

from ...core.facts import Target, Vector


@runtime_checkable
class Loss(Protocol):
    """A smooth loss of a linear model: a function of the margin ``<x, w>`` and the target.

    The gradient of one row is ``slope(margin, y) * x``, so clipping a row's gradient needs one
    number per row. Privacy bounds come from that clip: a wrong `slope_bound` costs accuracy and not
    privacy. They depend on one thing that the loss must keep: entry i of `slope` and `mean` depends
    on entry i of the arguments alone. Losses of others are tested for it before rows are read
    (`dpsparse.losses.refuse_mixing`).

    A loss may also have ``mean(margin)``, what a margin predicts, ``targets(bound)``, a `Target`,
    where `target_of` would guess wrong. Ours may have ``joint(n_classes)``, the loss of one model
    with a margin for each of many classes.

    Attributes
    ----------
    name : str
        Shown in statements.
    slope_bound : float
        Bound on ``|slope|``; infinite if the slope is unbounded.
    curvature : float
        Bound on the second derivative in the margin.
    classes : bool
        Whether targets are classes, coded 0 and 1.
    """

    @property
    def name(self) -> str:
        """Shown in statements."""
        ...

    @property
    def slope_bound(self) -> float:
        """Bound on ``|slope|``."""
        ...

    @property
    def curvature(self) -> float:
        """Bound on the second derivative."""
        ...

    @property
    def classes(self) -> bool:
        """Whether targets are classes."""
        ...

    def value(self, margin: Vector, y: Vector) -> Vector:
        """The loss of each row."""
        ...

    def slope(self, margin: Vector, y: Vector) -> Vector:
        """Its derivative in the margin, for each row."""
        ...


def mean_of(loss: object) -> Callable[[Vector], Vector] | None:
    """What a margin predicts under this loss, for losses behind a link; None where the margin is the prediction."""
    return getattr(loss, "mean", None)


def joint_of(loss: object, n_classes: int) -> Loss | None:
    """The loss of one model that distinguishes `n_classes` classes, for losses that have such a form.

    None where one versus the rest is all.

    Examples
    --------
    >>> from dpsparse.losses import Logistic
    >>> joint_of(Logistic(), 5)
    Softmax(n_classes=5)
    """
    form: Callable[[int], Loss] | None = getattr(loss, "joint", None)
    return None if form is None or n_classes < 3 else form(n_classes)


def classes_of(loss: object) -> int:
    """How many classes one model of this loss distinguishes by a margin each; 1 where a row has one margin."""
    return int(getattr(loss, "n_classes", 1))


def target_of(loss: Loss, bound: float) -> Target:
    """What a loss says about targets within `bound`.

    This is its own ``targets(bound)``, or else follows from `classes` and from whether it has a
    link.

    Examples
    --------
    >>> from dpsparse.losses import Logistic, Poisson
    >>> target_of(Logistic(), 1.0).kind, target_of(Poisson(), 20.0).kind
    ('classes', 'counts')
    """
    say: Callable[[float], Target] | None = getattr(loss, "targets", None)
    if say is not None:
        return say(bound)
    return Target(kind="classes" if loss.classes else "numbers", bound=bound, linked=mean_of(loss) is not None)
