"""Run what is missing of a study, in processes."""

from __future__ import annotations

import multiprocessing
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from itertools import groupby
from pathlib import Path

from .results import Journal, Results
from .study import Cell, Study

#: Threads of the numerical libraries in a process of its own: one, since there is a process for each core.
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
#: Cells that one process runs before it hands in their results: as many are lost at most where it is killed.
TOGETHER = 40


def run_study(
    study: Study,
    journal: str | os.PathLike[str],
    *,
    processes: int = 1,
    prepare: Sequence[Path] = (),
    tell: Callable[[int, int], None] | None = None,
) -> Results:
    """Run the cells of a study that are not in the journal yet.

    Parameters
    ----------
    study : Study
    journal : path
        Where results are kept as they come; a run that was killed goes on from it.
    processes : int
        How many cells run at a time, each in a process with one thread. 1: all in this process.
    prepare : sequence of Path
        Python files that every process runs first: they register recipes.
    tell : callable, or None
        Told how many cells are done, and how many there are.

    Returns
    -------
    Results
        Those of all cells of the study. Results of other cells in the journal are left out.
    """
    kept = Journal(Path(journal), getattr(study, "runs", study.name))
    done = kept.read()
    cells = list(study.cells())
    left = [cell for cell in cells if cell not in done]
    before = len(cells) - len(left)
    for number, (cell, errors) in enumerate(_each(study, left, processes, tuple(prepare)), start=1):
        kept.add(cell, errors)
        done[cell] = errors
        if tell is not None:
            tell(before + number, len(cells))
    return Results(study.name, {cell: done[cell] for cell in cells}, scale=getattr(study, "scale", "full"))


def _each(
    study: Study, cells: Sequence[Cell], processes: int, prepare: tuple[Path, ...]
) -> Iterator[tuple[Cell, dict[str, float]]]:
    """Runs in the order in which they end."""
    if processes == 1:
        _set_up(prepare)
        for cell in cells:
            yield cell, _run(study, cell)
        return
    kept = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(ONE_THREAD)  # children take them over when they start
    try:
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(processes, context, initializer=_set_up, initargs=(prepare,)) as pool:
            runs = [pool.submit(_run_all, study, group) for group in _groups(cells, processes)]
            try:
                for run in as_completed(runs):
                    yield from run.result()
            finally:
                pool.shutdown(cancel_futures=True)  # a caller that stops early does not wait for the rest
    finally:
        for name, value in kept.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _groups(cells: Sequence[Cell], processes: int) -> Iterator[list[Cell]]:
    """Cells on the same data with the same seed, which stand one after the other.

    A process that has made the data runs several of them.
    """
    most = max(1, min(TOGETHER, len(cells) // (4 * processes)))
    for _, same in groupby(cells, key=lambda cell: (cell.data, cell.seed)):
        together = list(same)
        yield from (together[start : start + most] for start in range(0, len(together), most))


def _run_all(study: Study, cells: Sequence[Cell]) -> list[tuple[Cell, dict[str, float]]]:
    return [(cell, _run(study, cell)) for cell in cells]


def _set_up(files: tuple[Path, ...]) -> None:
    from .own import register_file

    for file in files:
        register_file(file)


def _run(study: Study, cell: Cell) -> dict[str, float]:
    from ...core.errors import HopelessFitWarning, NonPrivateRandomnessWarning, RepeatedFitWarning

    with warnings.catch_warnings():
        for kind in (NonPrivateRandomnessWarning, HopelessFitWarning, RepeatedFitWarning):
            warnings.simplefilter("ignore", kind)
        return study.run(cell)
