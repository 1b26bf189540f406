"""Exit codes, and which refusal leads to which."""

from __future__ import annotations

import errno
from typing import Any

import click

#: Reasons of the operating system that mean: no room, or no right to write.
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG)


class Refusal(click.ClickException):
    """A bad argument, or data or a model that cannot be used: one or two sentences on standard error, exit code 2."""

    exit_code = 2


class BudgetRefusal(Refusal):
    """The privacy budget was refused: exit code 3."""

    exit_code = 3


class NotWritten(Refusal):
    """The output could not be written: exit code 4."""

    exit_code = 4


class NotVerified(Refusal):
    """A ledger does not verify: exit code 5."""

    exit_code = 5


class Violated(Refusal):
    """An audit refuted a promise: exit code 6."""

    exit_code = 6


class Commands(click.Group):
    """A group whose commands refuse in a sentence instead of a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command."""
        from ..privacy.errors import BudgetError, LedgerNotWrittenError, LedgerTamperedError

        try:
            return super().invoke(ctx)
        except BudgetError as error:
            raise BudgetRefusal(_first_line(error)) from None
        except LedgerTamperedError as error:
            raise NotVerified(_first_line(error)) from None
        except LedgerNotWrittenError as error:
            raise NotWritten(_first_line(error)) from None
        except (ValueError, TypeError) as error:
            raise Refusal(_first_line(error)) from None
        except ImportError as error:
            if error.name is not None:
                raise  # a broken installation; ours say which extra to install, and name no module
            raise Refusal(_first_line(error)) from None
        except MemoryError:
            raise Refusal("there is not enough memory for this data. Use fewer rows or columns.") from None
        except OverflowError:
            raise Refusal(
                "a bound or the budget is too large or too small to compute with. Choose a usual one."
            ) from None
        except OSError as error:
            if error.errno == errno.EPIPE:
                raise  # the reader of a pipe has gone: click knows what to do
            if error.errno in _NO_ROOM:
                raise NotWritten(f"the output could not be written: {error.strerror}. Free some space.") from None
            raise Refusal(_first_line(error)) from None


def _first_line(error: Exception) -> str:
    """What an error says, without the advice that libraries print below it, and with the notes that were added to it."""
    said = (str(error).strip() or type(error).__name__).splitlines()[0]
    return "\n".join([said, *vars(error).get("__notes__", [])])
