r"""Parts: rows are dealt to plans that see no row in common, and the dearest of the plans is the price of all.

Guarantee
---------
Fix the coins that deal the rows. Let a first mechanism read part A, and let a second one read part
B and everything that the first released. One record differs.

* It is in A: the second sees the same rows in both worlds, so that its answer is a randomised
  function of what the first released.
* It is in B: the first has the same law in both worlds; given what it released, the second is as
  private as its own plan says, whatever that was, since all branches are priced. Hockey-stick
  divergences of the pair are means of those of the second over what the first released, and Renyi
  divergences at most their largest value.

So at every epsilon the pair's delta is at most the larger of the two, and likewise Renyi
divergences, mu and pure epsilons. This needs that the record is in the same part in both worlds,
and that all other records are:

* **replace-one**: coins belong to positions, and the exchanged record keeps its position. They may
  be known. A coin that depends on the content of a record would move it to the other part, where it
  would be seen once more.
* **add-remove**: removing a record moves all later ones by a position, so coins that are known by
  position are refused. Fresh secret coins, independent and all of one law, are allowed: the
  released law is a mean over coins, and independent coins can be thought of as tied to the records;
  then every record that stays keeps its coin. Sizes of parts are private: sums are divided by
  public expectations.
* **both**: a keyed hash of the id of a record's unit (a person, a household), where ids are no part
  of a record's content: a record that is exchanged keeps its id, and one that stays keeps it. All
  rows of a unit are then in one part. A person with k rows has the price of k rows in one part, and
  not that of some of them in each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from .adjacency import Adjacency
from .errors import BudgetError, PrivacyError

#: How coins are tossed.
CoinRule = Literal["positions", "secret", "units"]
#: How a statement says it.
HOW: dict[CoinRule, str] = {
    "positions": "by its position",
    "secret": "in secret, afresh for this release",
    "units": "by a keyed hash of the id of its unit, so that all rows of a unit are in one part,",
}


@dataclass(frozen=True)
class SplitRule:
    """How rows are dealt to two parts.

    Each row to the first with probability `first`, independently of the others and of its content.

    Parameters
    ----------
    rule : {"positions", "secret", "units"}
        ``positions``: a coin for each position; may be known. ``secret``: tossed afresh for one
        release, never shown and never kept. ``units``: a keyed hash of the id of the row's unit.
    first : float
        Probability of the first part.

    Examples
    --------
    >>> SplitRule("secret", 0.5).expected(1001)
    (500, 501)
    """

    rule: CoinRule
    first: float

    def __post_init__(self) -> None:
        if self.rule not in get_args(CoinRule):
            raise PrivacyError(f"coins are tossed by 'positions', in 'secret' or by 'units', got {self.rule!r}.")
        if not 0 < self.first < 1:
            raise PrivacyError(f"the first part must have a probability strictly between 0 and 1, got {self.first!r}.")

    @classmethod
    def under(cls, relation: Adjacency, first: float, *, units: bool = False) -> SplitRule:
        """The coins that an adjacency allows: by units, where these are known."""
        if units:
            return cls("units", first)
        return cls("positions" if relation is Adjacency.REPLACE_ONE else "secret", first)

    def check(self, relation: Adjacency) -> None:
        """Refuse coins under which a neighbour could be in both parts."""
        if relation is Adjacency.ADD_REMOVE and self.rule == "positions":
            raise BudgetError(
                "under add-remove a record that goes moves all later ones to other positions, so "
                "coins by position would move them to the "
                "other part. Use SplitRule('secret', ...)."
            )

    def expected(self, n_rows: int) -> tuple[int, int]:
        """Expected sizes of the parts, in whole rows: public, unlike the sizes that they have under add-remove."""
        one = min(max(round(self.first * n_rows), 1), max(n_rows - 1, 1))
        return one, max(n_rows - one, 1)

    def __str__(self) -> str:
        how = HOW[self.rule]
        return (
            f"each row is in exactly one part, the first with probability {self.first:g}, by a "
            f"coin that is tossed {how} and does not depend on its content"
        )
