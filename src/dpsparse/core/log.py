"""Structured messages of the package: one event with public facts, for the standard `logging`.

Nothing is shown unless an application, or ``dpsparse --log-level``, asks for it. An event holds
what a statement would: names, budgets, public numbers. It never holds a value of X or y, nor
anything that was computed from one without noise.

`printable` writes text that comes from elsewhere, such as names of columns, so that a terminal may print it.
"""

from __future__ import annotations

import json
import logging
import unicodedata

from .plain import to_json

#: The one logger of the package.
LOGGER = logging.getLogger("dpsparse")
LOGGER.addHandler(logging.NullHandler())


def log_event(name: str, **public: object) -> None:
    """Tell of an event, at level INFO; the record carries the facts as `facts`.

    Parameters
    ----------
    name : str
    **public
        Facts that could be printed on a poster.
    """
    if LOGGER.isEnabledFor(logging.INFO):
        LOGGER.info(name, extra={"facts": to_json(public)})


class JsonLines(logging.Formatter):
    """Events as lines of JSON: time, level, event, and the facts."""

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        facts = getattr(record, "facts", {})
        head = {"time": self.formatTime(record), "level": record.levelname.lower(), "event": record.getMessage()}
        return json.dumps({**head, **facts}, allow_nan=False)


#: Controls, formats (with those that turn the direction of a line), surrogates, and separators of lines and paragraphs.
UNSAFE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
#: Controls that a page of text is made of.
PLAIN = frozenset("\n\t")


def printable(text: str) -> str:
    """The text with every character that could steer a terminal written as its escape, such as ``\\x1b``."""
    if text.isascii() and text.replace("\n", "").replace("\t", "").isprintable():
        return text
    return "".join(c if c in PLAIN or unicodedata.category(c) not in UNSAFE else _escape(c) for c in text)


def _escape(character: str) -> str:
    return (
        character.encode("ascii", "backslashreplace").decode() if ord(character) > 127 else f"\\x{ord(character):02x}"
    )
