"""Losses of a margin and a target; the registry that the laws run over."""

from .base import Loss
from .huber import Huber
from .logistic import Logistic
from .squared import Squared

#: Losses that the laws check, one instance each.
LOSSES: tuple[Loss, ...] = (Squared(), Logistic(), Huber(threshold=1.0), Huber(threshold=0.25))

__all__ = ["LOSSES", "Huber", "Logistic", "Loss", "Squared"]
