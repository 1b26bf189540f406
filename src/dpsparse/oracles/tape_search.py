"""Tapes of the runs of a search."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

from ..core.mechanisms import Randomness
from ..core.regular_files import sync_folder
from .tape import Tape
from .tape_file import Answer, Section, stored_frames, stored_header


class RunTapes:
    """Tapes of the runs of a search: one of the run that is under way, and one of the best so far.

    Guarantee
    ---------
    There are at most two, each as long as one run. A run that is over and was not the best is not
    repeated: the next one replaces its tape. When the search is done, one tape is left: the
    answers of the best run, which the price of the search covers, without its number. Files then
    do not show how many runs there were.

    The record of the end is durable before the other tapes are removed, so that a search that is
    killed between the two repeats no run.
    """

    def __init__(self, whole: Tape) -> None:
        self._whole = whole
        self._now, self._best, self._kept = (whole.path.with_suffix(s) for s in (".run", ".best", ".kept"))

    def is_over(self, number: int) -> bool:
        """Whether a run is over and was not the best; its answers are gone."""
        if self._whole.done:
            return False
        now, best = _run_of(self._now), _run_of(self._best)
        begun = now if now is not None else -1 if best is None else best + 1
        return number < begun and number != best

    @contextmanager
    def open(self, number: int, randomness: Randomness) -> Iterator[Tape]:
        """The tape of a run; a new one takes the place of that of the run before."""
        path = self._best if number == _run_of(self._best) else self._now
        path = self._kept if self._whole.done else path
        header = replace(self._whole.header, run=None if self._whole.done else number, made=randomness.made)
        if path == self._now and _run_of(path) != number:
            part = _unused(path.with_suffix(".part"))
            Tape(part, header, self._whole.key).close()
            os.replace(part, path)
            sync_folder(path.parent)
        with closing(Tape(path, header, self._whole.key)) as tape:
            randomness.skip_to(tape.header.made)
            yield tape

    def keep(self, number: int) -> None:
        """Let the run that is over be the best."""
        if _run_of(self._now) == number:
            os.replace(self._now, self._best)
            sync_folder(self._best.parent)

    def finish(self, candidate: str | None) -> None:
        """End the search: keep the best run without its number, and note its candidate."""
        if not self._whole.done:
            if self._best.exists():
                self._copy_best()
            self._whole.end(candidate)
        for path in (self._now, self._best):
            path.unlink(missing_ok=True)
        sync_folder(self._best.parent)

    def _copy_best(self) -> None:
        header = stored_header(self._best)
        assert header is not None
        with closing(Tape(_unused(self._kept), replace(header, run=None), self._whole.key)) as tape:
            for frame in stored_frames(self._best):
                if isinstance(frame.record, Section | Answer):
                    tape.append(frame.record, frame.data)
            tape.end()


def _unused(path: Path) -> Path:
    """A path at which nothing is left over."""
    path.unlink(missing_ok=True)
    return path


def _run_of(path: Path) -> int | None:
    """Which run of a search a tape holds; None if there is no tape."""
    header = stored_header(path)
    return None if header is None else header.run
