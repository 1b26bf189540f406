"""Names of datasets and runs: one spelling for each, and no two that people would take for one another."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

from ..core.errors import LedgerError

#: Longest name, in characters.
LONGEST = 200
#: What the label of an entry ends with whose noise came from a seed. The chain seals it, so that no
#: model file can claim otherwise.
SEEDED_LABEL = "[seed: not private]"


def dataset_name(given: object) -> str:
    """The name of a dataset in its one spelling: composed characters (NFC), nothing before or after it."""
    return _name(given, "a dataset's name")


def run_name(given: object) -> str:
    """The name of a run in its one spelling."""
    return _name(given, "a run_id")


def label_text(given: object) -> str:
    """A label: public, may be empty."""
    return "" if given == "" else _name(given, "a label")


def own_label(given: object) -> str:
    """A label that a user chose: it does not say of itself what only the ledger says."""
    label = label_text(given)
    if is_seeded(label):
        raise LedgerError(f"a label must not end with {SEEDED_LABEL}: that is how the ledger marks noise from a seed.")
    return label


def seeded_label(label: str) -> str:
    """A label that says that the noise came from a seed.

    >>> seeded_label("dp_ight"), seeded_label("")
    ('dp_ight [seed: not private]', '[seed: not private]')
    """
    return f"{label_text(label)[: LONGEST - len(SEEDED_LABEL) - 1].rstrip()} {SEEDED_LABEL}".lstrip()


def is_seeded(label: str) -> bool:
    """Whether a label says that the noise came from a seed."""
    return label.endswith(SEEDED_LABEL)


def refuse_likeness(name: str, known: Iterable[str]) -> None:
    """Refuse a new name that differs from a known one by case, width, spaces, dashes or underscores alone.

    Two budgets for one set of people double what they lose, and names that look alike are how it happens.
    """
    for other in known:
        if _sight(name) == _sight(other):
            raise LedgerError(
                f"dataset {name!r} is too like {other!r}, which is in the ledger: two budgets for the same people "
                f"would double what they lose. Use {other!r} if it is the same data; otherwise choose a name that "
                "cannot be mistaken for it."
            )


def _name(given: object, what: str) -> str:
    wrong = LedgerError(f"{what} must be 1 to {LONGEST} printable characters, and not an address.")
    if not isinstance(given, str) or "://" in given:
        raise wrong
    name = unicodedata.normalize("NFC", given).strip()
    if not name or len(name) > LONGEST or not name.isprintable():
        raise wrong
    return name


def _sight(name: str) -> str:
    """What is seen of a name at a glance.

    No case, no width, and one space for any row of spaces, dashes and underscores.
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    spaced = "".join(" " if c.isspace() or c == "_" or unicodedata.category(c) == "Pd" else c for c in folded)
    return " ".join(spaced.split())
