"""Exit codes, and which refusal leads to which."""

from __future__ import annotations

import errno
from typing import Any

import click

BAD_INPUT = 2
BUDGET_REFUSED = 3
NOT_WRITTEN = 4

#: Reasons of the operating system that mean: no room, or no right to write.
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG)


class Refusal(click.ClickException):
    """A message for standard error, and the exit code that goes with it."""

    def __init__(self, message: str, exit_code: int = BAD_INPUT) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class Commands(click.Group):
    """A group whose commands refuse in a sentence instead of a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command."""
        from ..privacy.errors import BudgetError

        try:
            return super().invoke(ctx)
        except BudgetError as error:
            raise Refusal(_first_line(error), BUDGET_REFUSED) from None
        except (ValueError, TypeError, ImportError) as error:
            raise Refusal(_first_line(error)) from None
        except MemoryError:
            raise Refusal("there is not enough memory for this data. Use fewer rows or columns.") from None
        except OSError as error:
            if error.errno == errno.EPIPE:
                raise  # the reader of a pipe has gone: click knows what to do
            raise Refusal(_first_line(error), NOT_WRITTEN if error.errno in _NO_ROOM else BAD_INPUT) from None


def _first_line(error: Exception) -> str:
    """What an error says, without the advice that libraries print below it."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]
