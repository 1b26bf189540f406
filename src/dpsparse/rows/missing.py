"""The one refusal that depends on values: a named, public choice of the user, which no guarantee covers."""

from __future__ import annotations

from ..core.errors import MissingValueError
from ..core.facts import Vector
from .records import Records, has_missing

#: What to do with a record that has a cell which is missing, infinite or no number.
CHOICES = ("refuse", "empty")

#: Fixed: it names no row, column, value or number of them.
REFUSAL = (
    "the data holds NaN, inf or a cell that is no number (an argument must be a string of digits "
    "or a number). Fill such cells with a public "
    "constant"
)
#: What else can be done about it.
AT_FIT = ", or set on_missing='empty': their records are then ignored."
AT_PREDICTION = "; nothing can be said about rows with such cells."

#: Said in statements wherever rows may be refused.
NOT_COVERED = (
    "nobody learns whether a fit was refused because of missing values: a refusal reveals that there are some, and the "
    "guarantee does not cover that (on_missing='empty' never refuses)"
)


def refuse_missing(source: Records, targets: Vector, advice: str = AT_FIT) -> None:
    """Refuse rows with a cell or target that is no finite number; always in the same words.

    Parameters
    ----------
    source : Records
    targets : array
        Empty where they are not looked at.
    advice : str
        How the message ends.
    """
    if has_missing(source, targets):
        raise MissingValueError(REFUSAL + advice)
