"""A progress bar, in a terminal or in a notebook: it shows public facts only, and nothing that depends on a row."""

from __future__ import annotations

import html
import sys
from typing import Any, Protocol

from ..core import Plan, PrivacyError

#: A bar is drawn anew when it has moved by this part, so that a long fit does not fill the notebook's file.
STEP = 0.01


def turns_of(plan: Plan) -> int:
    """Turns of a plan, along its longest branch and in all of its parts."""
    own = sum(ask.times for ask in plan.asks) + sum(turns_of(part) for part in plan.parts)
    return own + max((turns_of(branch) for _, branch in plan.branches), default=0)


class ProgressBar(Protocol):
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


def progress_bar(title: str, total: int | None) -> ProgressBar:
    """A bar that counts charges while a fit runs; it shows only that it runs, where even their number is secret.

    Made before anything is paid, so that a missing library is refused first. In a notebook it is a
    line of HTML, which needs no widgets; elsewhere it is drawn by rich.

    Parameters
    ----------
    title : str
    total : int or None
        Charges to come; None: they are not counted.
    """
    return NotebookBar(title, total) if in_notebook() else TerminalBar(title, total)


def in_notebook() -> bool:
    """Whether this is a notebook: IPython with a kernel, which shows HTML. Nothing is imported to find out."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None


class NotebookBar:
    """Shows how many charges of a fit were made.

    Parameters
    ----------
    title : str
    total : int or None
        Charges to come; None: they are not counted, and the bar only shows that something runs.
    """

    def __init__(self, title: str, total: int | None) -> None:
        self._title, self._total = title, total
        self._done, self._drawn, self._ended = 0, 0, False
        self._place: Any = None

    def start(self) -> None:
        """Show it."""
        from IPython.display import display

        self._place = display(self, display_id=True)

    def advance(self, name: str) -> None:
        """Count one charge, and tell its name."""
        if self._total is None:
            return
        self._title, self._done = name, self._done + 1
        if self._done - self._drawn >= STEP * self._total:
            self._draw()

    def stop(self) -> None:
        """Draw the last state; it stays in the notebook."""
        self._ended = True
        self._draw()

    def _draw(self) -> None:
        self._drawn = self._done
        if self._place is not None:
            self._place.update(self)

    def _repr_html_(self) -> str:
        name = html.escape(self._title)
        if self._total is None:
            moving = "done" if self._ended else f'<progress aria-label="{name}"></progress>'
            return f"<div>{name}: {moving}</div>"
        bar = f'<progress aria-label="{name}" value="{min(self._done, self._total)}" max="{self._total}"></progress>'
        return f"<div>{bar} {self._done} of {self._total}: {name}</div>"

    def __repr__(self) -> str:
        if self._total is None:
            return f"{self._title}: {'done' if self._ended else 'running'}"
        return f"{self._title}: {self._done} of {self._total}"
