"""Exit codes, and which refusal leads to which."""

from __future__ import annotations

import errno
import importlib
import json

import click

#: Reasons of the operating system that pass: no space.
NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class Refusal(click.ClickException):
    """A bad argument, or data or a model that cannot be used: one or two sentences on standard error, exit code 2."""

    exit_code = 2

    def format_message(self) -> str:
        """The message, with characters of names escaped that could steer a terminal."""
        from ..core.printable import printable

        return printable(super().format_message())


class BudgetRefusal(Refusal):
    """The privacy budget was refused: exit code 3."""

    exit_code = 3


class NotWritten(Refusal):
    """No space for the output, or a server that does not answer: the command may succeed later. Exit code 4."""

    exit_code = 4


class NotVerified(Refusal):
    """A ledger does not verify: exit code 5."""

    exit_code = 5


class Violated(Refusal):
    """An audit refuted a guarantee: exit code 6."""

    exit_code = 6


class NoPromise(Refusal):
    """What was fitted, scored, audited or shown carries no guarantee, as its caveats say: exit code 7.

    The reason is a seed, a plan without a proof, or a baseline.
    """

    exit_code = 7


#: Where a context keeps whether JSON was asked for, and whether it was printed.
_WANTED, _PRINTED = "dpsparse.json.wanted", "dpsparse.json.printed"


def note_json() -> None:
    """Remember that this command has printed its JSON object: an error then prints no second one."""
    ctx = click.get_current_context(silent=True)
    if ctx is not None:
        ctx.meta[_PRINTED] = True


class Commands(click.Group):
    """A group whose commands refuse in a sentence instead of a traceback; with ``--json``, in an object as well.

    Parameters
    ----------
    later : tuple of str
        Commands that are imported when they are asked for, each from the module of its name.
    """

    def __init__(self, *arguments: object, later: tuple[str, ...] = (), **settings: object) -> None:
        super().__init__(*arguments, **settings)  # type: ignore[arg-type]
        self.later = later

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of all commands."""
        return sorted(self.later)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """The command of a name."""
        return getattr(importlib.import_module(f".{name}", __package__), name) if name in self.later else None

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Remember whether JSON was asked for, before an argument can be refused."""
        ctx.meta.setdefault(_WANTED, "--json" in args)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        """Run a command."""
        try:
            return super().invoke(ctx)
        except (click.ClickException, MemoryError, OverflowError, ValueError, TypeError, ImportError, OSError) as error:
            refusal = refusal_of(error)
            if refusal is None:
                raise
        if ctx.parent is None and ctx.meta.get(_WANTED) and not ctx.meta.get(_PRINTED):
            click.echo(json.dumps({"error": _error(refusal)}, indent=2))
        raise refusal


def refusal_of(error: Exception) -> click.ClickException | None:
    """What a command says where an error left it; None for an error that is passed on as it is."""
    if isinstance(error, click.ClickException):
        return error
    from ..core.errors import BudgetError, LedgerTamperedError, RetryLaterError

    number = getattr(error, "errno", None)
    if number == errno.EPIPE:
        return None  # the reader of a pipe has gone: click knows what to do
    if isinstance(error, ImportError) and error.name is not None:
        return None  # a broken installation; ours say which extra to install, and name no module
    full = f"the output could not be written: {getattr(error, 'strerror', '')}. Free some space."
    kinds: tuple[tuple[type[Exception], type[Refusal], str], ...] = (
        (BudgetError, BudgetRefusal, ""),
        (LedgerTamperedError, NotVerified, ""),
        (RetryLaterError, NotWritten if getattr(error, "passes", False) else Refusal, ""),
        (MemoryError, Refusal, NO_MEMORY),
        (OverflowError, Refusal, OVERFLOW),
        (OSError, NotWritten if number in NO_SPACE else Refusal, full if number in NO_SPACE else ""),
        (Exception, Refusal, ""),
    )
    return next(kind(words or _first_line(error)) for of, kind, words in kinds if isinstance(error, of))


NO_MEMORY = "there is not enough memory for this data. Give --memory-limit, or use fewer rows or columns."
OVERFLOW = "a bound or the budget is too large or too small to compute with. Choose a usual one."


def _error(error: click.ClickException) -> dict[str, str | int]:
    """An error as plain values: what standard error says in words."""
    kind = type(error).__name__ if isinstance(error, Refusal) else "Refusal"
    return {"kind": kind, "message": error.format_message(), "exit_code": error.exit_code}


def _first_line(error: Exception) -> str:
    """The message of an error, without the advice that libraries print below it.

    Notes that were added to the error follow. An error that lists several problems is said whole.
    """
    said = (str(error).strip() or type(error).__name__).splitlines()
    return "\n".join([*(said if hasattr(error, "problems") else said[:1]), *vars(error).get("__notes__", [])])
