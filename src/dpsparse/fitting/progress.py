"""A progress bar: public facts only, and nothing at all that depends on a row."""

from __future__ import annotations

from types import TracebackType
from typing import Protocol

from ..core import Plan, PrivacyError
from ..oracles import ProgressCallback
from .notebook_bar import NotebookBar, in_notebook


def turns_of(plan: Plan) -> int:
    """Turns of a plan, along its longest branch and in all of its parts."""
    own = sum(ask.times for ask in plan.asks) + sum(turns_of(part) for part in plan.parts)
    return own + max((turns_of(branch) for _, branch in plan.branches), default=0)


class Bar(Protocol):
    """Something that can be looked at while it moves."""

    def start(self) -> None:
        """Show it."""
        ...

    def advance(self, name: str) -> None:
        """Count one charge, and tell its name."""
        ...

    def stop(self) -> None:
        """Let go of the screen."""
        ...


class TerminalBar:
    """A bar of the library rich. `total` None: charges are not counted, and the bar only shows that something runs."""

    def __init__(self, title: str, total: int | None) -> None:
        try:
            from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
        except ImportError:
            raise PrivacyError("verbose=True needs the package rich. Install it, or leave verbose=False.") from None
        self._counts = total is not None
        self._bar = Progress() if self._counts else Progress(TextColumn(title), BarColumn(), TimeElapsedColumn())
        self._task = self._bar.add_task(title, total=total)

    def start(self) -> None:
        """Show it."""
        self._bar.start()

    def advance(self, name: str) -> None:
        """Count one charge, and tell its name."""
        if self._counts:
            self._bar.update(self._task, advance=1, description=name)

    def stop(self) -> None:
        """Let go of the screen."""
        self._bar.stop()


class ProgressBar:
    """Counts charges while a fit runs; shows that it runs, where even their number is secret.

    Made before anything is paid, so that a missing library is refused first. In a notebook it is a line of HTML, which needs no
    widgets; elsewhere it is drawn by rich.

    Parameters
    ----------
    title : str
    total : int or None
        Charges to come; None: they are not counted.
    visible : bool
        False: nothing is shown.
    """

    def __init__(self, title: str, total: int | None, *, visible: bool) -> None:
        kind = NotebookBar if in_notebook() else TerminalBar
        self._bar: Bar | None = kind(title, total) if visible else None

    def __enter__(self) -> ProgressCallback:
        if self._bar is not None:
            self._bar.start()
        return self._charged

    def _charged(self, name: str) -> None:
        if self._bar is not None:
            self._bar.advance(name)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
