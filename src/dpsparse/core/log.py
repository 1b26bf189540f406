"""Structured messages of the package: one event with public facts, for the standard `logging`.

Nothing is shown unless an application, or ``dpsparse --log-level``, asks for it. An event holds
what a statement would: names, budgets, public numbers. It never holds a value of X or y, nor
anything that was computed from one without noise.
"""

from __future__ import annotations

import json
import logging

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
