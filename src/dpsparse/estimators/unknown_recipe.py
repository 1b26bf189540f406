"""A recipe that this installation does not have: a model of it predicts, and is not fitted again."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, NoReturn

from ..core.budget import Budget
from ..core.errors import PrivacyError
from ..core.facts import Facts
from ..core.plain import Json
from ..queries.kinds import Solver
from ..recipes.base import PrivateRecipe, Recipe


@dataclass(frozen=True, kw_only=True)
class UnknownRecipe(PrivateRecipe):
    """Stands in a loaded model for the recipe that fitted it.

    Parameters
    ----------
    stored : dict
        The recipe's name and settings, as the file has them; they are written again when the model is saved.
    """

    name: ClassVar[str] = "unknown"

    stored: dict[str, Json] = field(default_factory=dict)

    def resolve(self, facts: Facts, budget: Budget) -> tuple[Recipe, str]:
        """Refuses."""
        self._refuse()

    def view(self, facts: Facts) -> Facts:
        """Refuses."""
        self._refuse()

    def solver(self, facts: Facts, budget: Budget) -> Solver:
        """Refuses."""
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise PrivacyError(
            f"this model was fitted by the recipe {self.stored.get('recipe')!r}, which is not installed here with these settings: it "
            "predicts, and cannot be fitted again. Set recipe= to one of dpsparse.recipes.names(), or to the recipe itself."
        )
