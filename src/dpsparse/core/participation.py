"""Participation in the local model: each person speaks once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .codec import form
from .errors import PrivacyError

#: What is said first wherever labels alone are protected.
PUBLIC_FEATURES = "features are treated as public: only labels are protected"

RANDOMISERS = ("best", "duchi", "two-point", "piecewise")


@form("kind")
@dataclass(frozen=True)
class OncePerPerson:
    r"""People are dealt into as many groups as an ask has turns, without a look at their records.

    Each answers one turn.

    Guarantee
    ---------
    Every person randomises their own answer before it leaves the device, so each report is
    protected by itself. Groups are disjoint and public, hence one person's record touches one
    report, and the turns cost as much as the dearest of them: the largest, not the sum. An ask that
    is repeated for several models is answered once for each of them. Where only labels are private
    and each model distinguishes one class from the rest, exchanging one person's class changes the label in
    two models at most (a label of no class is zero in all of them), so two reports count, however
    many models there are.

    Parameters
    ----------
    reports : int
        How many reports one person gives in all: the number of models.
    labels : bool
        Only the label of a person is private; features are public.
    randomiser : {"best", "duchi", "two-point", "piecewise"}
        Which pure randomiser answers: the one of the least variance, or one by its name.
    seed : int
        Public seed of the deal.
    """

    reports: int = 1
    labels: bool = False
    randomiser: str = "best"
    seed: int = 0

    def __post_init__(self) -> None:
        if self.reports < 1:
            raise PrivacyError(f"a person gives at least one report, got {self.reports!r}.")
        if self.randomiser not in RANDOMISERS:
            raise PrivacyError(f"randomiser must be one of {', '.join(RANDOMISERS)}, got {self.randomiser!r}.")

    @property
    def counted(self) -> int:
        """How many of a person's reports a change of the record can move."""
        return min(self.reports, 2) if self.labels else self.reports

    def deal(self, people: int, turns: int) -> NDArray[np.intp]:
        """The turn at which each person answers.

        Groups of equal size, but for one person, in an order drawn in public.
        """
        if not 1 <= turns <= people:
            raise PrivacyError(
                f"{turns} turns need at least as many people, since each speaks once; there are "
                f"{people}. Use fewer steps."
            )
        turn = np.empty(people, dtype=np.intp)
        turn[np.random.default_rng(self.seed).permutation(people)] = np.arange(people) % turns
        return turn

    def __str__(self) -> str:
        what = "label, each once" if self.labels else "person once"
        return f"every {what}" if self.reports == 1 else f"every {what} for each of {self.reports} models"
