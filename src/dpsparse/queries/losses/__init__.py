"""Losses of a margin and a target.

A new loss is one file and one line in `LOSSES`: model files, laws, proofs and the test of foreign
losses read this list.
"""

from __future__ import annotations

import numpy as np

from ...core.facts import Vector
from .base import Loss, classes_of, joint_of, mean_of, target_of
from .custom import Custom
from .huber import Huber
from .link import KnownLink
from .logistic import Logistic
from .poisson import Poisson
from .rowwise import Blockwise, guard, refuse_mixing, user_defined
from .softmax import Softmax
from .squared import Squared
from .storage import loss_names, named_loss, restored_loss, stored_loss
from .survival import Survival


def _log_cosh(margin: Vector, y: Vector) -> Vector:
    """A loss as a user would write one."""
    return np.asarray(np.logaddexp(margin - y, y - margin) - np.log(2.0))


def _log_cosh_slope(margin: Vector, y: Vector) -> Vector:
    return np.asarray(np.tanh(margin - y))


#: Every loss of the package, with the instances that the laws check.
LOSSES: tuple[Loss, ...] = (
    Squared(),
    Logistic(),
    Huber(threshold=1.0),
    Huber(threshold=0.25),
    Poisson(),
    Poisson(margin_bound=1.0),
    KnownLink("sigmoid"),
    KnownLink("tanh"),
    Custom(derivative=_log_cosh_slope, curvature=1.0, slope_bound=1.0, integral=_log_cosh, name="log-cosh"),
)

#: Losses with a margin for each class, with the instances that the laws check. They stand behind
#: those above, and users do not name them.
JOINT: tuple[Softmax, ...] = (Softmax(3), Softmax(20))

#: Losses of estimators of their own. Their curvature is a typical one, so that no minimiser depends on it.
OF_ESTIMATORS: tuple[Survival, ...] = (Survival(),)


def proven(loss: Loss) -> bool:
    """Whether a loss is one of ours, by its exact type, and says that it is convex.

    Its minimiser has a stability proof.

    Examples
    --------
    >>> proven(Logistic()), proven(KnownLink("tanh"))
    (True, False)
    """
    return any(type(loss) is type(own) and own.convex for own in LOSSES)  # type: ignore[attr-defined]


__all__ = [
    "JOINT",
    "LOSSES",
    "OF_ESTIMATORS",
    "Blockwise",
    "Custom",
    "Huber",
    "KnownLink",
    "Logistic",
    "Loss",
    "Poisson",
    "Softmax",
    "Squared",
    "Survival",
    "classes_of",
    "guard",
    "joint_of",
    "loss_names",
    "mean_of",
    "named_loss",
    "proven",
    "refuse_mixing",
    "restored_loss",
    "stored_loss",
    "target_of",
    "user_defined",
]
