"""The one refusal of this room, and suggestions for misspelt words."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

from ...core.errors import DataError


class DictionaryError(DataError):
    """A dictionary that cannot be used, or a table that does not fit it.

    Attributes
    ----------
    problems : tuple of str
        Everything that is wrong, one line each. They speak of the dictionary and of column names, never of cells.
    """

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(self.problems))


def suggestion(word: object, known: Sequence[str]) -> str:
    """``Did you mean ...?`` for a word that is close to a known one; otherwise the empty text."""
    close = difflib.get_close_matches(str(word), known, n=1)
    if not close:
        lowered = {name.lower(): name for name in known}
        close = [lowered[str(word).lower()]] if str(word).lower() in lowered else []
    return f" Did you mean {close[0]!r}?" if close else ""
