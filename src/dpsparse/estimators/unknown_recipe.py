"""A recipe that this installation does not have: a model of it predicts, and is not fitted again."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, NoReturn

from ..facts import Facts
from ..privacy.budget import Budget
from ..privacy.errors import PrivacyError


@dataclass(frozen=True, kw_only=True)
class UnknownRecipe:
    """Stands in a loaded model for the recipe that fitted it.

    Parameters
    ----------
    stored : dict
        The recipe's name and settings, as the file has them; they are written again when the model is saved.
    """

    name: ClassVar[str] = "unknown"
    private: ClassVar[bool] = True
    penalties: ClassVar[tuple[str, ...]] = ("l2", "l1", "elasticnet", "box")
    needs: ClassVar[tuple[str, ...]] = ()

    stored: dict[str, Any] = field(default_factory=dict)

    def view(self, facts: Facts) -> Facts:
        """Refuses."""
        self._refuse()

    def solver(self, facts: Facts, budget: Budget | None) -> Any:
        """Refuses."""
        self._refuse()

    def assumptions(self, facts: Facts) -> tuple[str, ...]:
        """Refuses."""
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise PrivacyError(
            f"this model was fitted by the recipe {self.stored.get('recipe')!r}, which is not installed here with these settings: it "
            "predicts, and cannot be fitted again. Set recipe= to one of dpsparse.recipes.names(), or to the recipe itself."
        )
