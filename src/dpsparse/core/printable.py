"""Texts as a terminal may print them: names that come from elsewhere, such as those of columns, and counts."""

from __future__ import annotations

import unicodedata

#: Controls, formats (with those that turn the direction of a line), surrogates, and separators of lines and paragraphs.
UNSAFE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
#: Controls that a page of text is made of.
PLAIN = frozenset("\n\t")


def printable(text: str) -> str:
    """The text with every character that could steer a terminal written as its escape, such as ``\\x1b``."""
    if text.isascii() and text.replace("\n", "").replace("\t", "").isprintable():
        return text
    return "".join(c if c in PLAIN or unicodedata.category(c) not in UNSAFE else _escape(c) for c in text)


def count_of(number: int, noun: str, several: str | None = None) -> str:
    """A number with its noun, which is in the singular after 1 only.

    >>> count_of(1, "row"), count_of(2, "row"), count_of(0, "entry", "entries")
    ('1 row', '2 rows', '0 entries')
    """
    return f"{number} {noun if number == 1 else several or f'{noun}s'}"


def _escape(character: str) -> str:
    return (
        character.encode("ascii", "backslashreplace").decode() if ord(character) > 127 else f"\\x{ord(character):02x}"
    )
