"""What all studies of the papers share: which cells there are, how one is run, and which of a paper's orderings are tested."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

import numpy as np

from dpsparse.core import PrivacyError
from dpsparse.report.bench import Cell, Results, Scale, ScaledStudy, StudyClaim

from .cases import CASES, Ask, case_of, present
from .files import to_bring
from .methods import EXACT, METHODS
from .scores import scores

#: Draws of the noise for each synthetic dataset at most; their mean is one run, so that standard errors count datasets.
NOISES = 3
#: The baseline without noise of papers 000 and 001.
NEAR = f"IGHT{EXACT}"


@dataclass(frozen=True, kw_only=True)
class Part:
    """Sets of data on which the same methods are run at the same budgets.

    Parameters
    ----------
    sets, methods : tuple of str
        Names in `cases.CASES` and `methods.METHODS`.
    epsilons : tuple of float
    seeds : int
        Runs of a method, and of every point of its grid.
    noises : int
        Draws of the noise within one run; one at the points of a grid.
    quick : int
        Seeds of the quick scale, of which a grid has the first; 0 leaves the part out.
    quick_epsilons, quick_sets, quick_points
        What of it the quick scale runs: all, where empty. Of a grid every so many points.
    """

    sets: tuple[str, ...]
    methods: tuple[str, ...]
    epsilons: tuple[float, ...]
    seeds: int = 10
    noises: int = 1
    quick: int = 2
    quick_epsilons: tuple[float, ...] = ()
    quick_sets: tuple[str, ...] = ()
    quick_points: int = 3

    def cells(self, scale: Scale) -> list[Cell]:
        """Seeds outside, so that a run that was stopped has all methods on the first of them."""
        quick = scale == "quick"
        sets = (self.quick_sets or self.sets) if quick else self.sets
        epsilons = (self.quick_epsilons or self.epsilons) if quick else self.epsilons
        seeds = min(self.quick, self.seeds) if quick else self.seeds
        found = []
        for seed in range(seeds):
            for data in filter(present, sets):
                for name in self.methods:
                    method = METHODS[name]
                    grid = method.grid(data)
                    if quick and grid and seed > 0:
                        continue
                    places = range(1, len(grid) + 1, self.quick_points if quick else 1) if grid else (0,)
                    budgets = epsilons if method.noise else (math.inf,)
                    found += [Cell(data, name, e, seed, float(at)) for e in budgets for at in places]
        return found


@dataclass(frozen=True, kw_only=True)
class PaperStudy:
    """One figure or table.

    Parameters
    ----------
    name, title : str
        Name on the command line, and what is compared.
    paper, where : str
        Number of the paper, and what is reproduced.
    parts : tuple of Part
    metric : str
        What the paper shows; smaller is better.
    delta : float or None
        None: 1/n^2.
    pairs : tuple of (better, worse)
        The paper's orderings, tested at every epsilon on every set that has both methods.
    close : tuple of str
        Methods that the paper finds close to IGHT without noise: an error that differs by less than half of IGHT's.
    claims_of : str
        The figure at which the claims about these runs stand, if not here.
    notes : tuple of str
        What differs from the paper and what was cut, in sentences.
    shared : str or None
        Name of the journal, where several studies look at the same runs.
    keep_path : bool
        Whether curves are measured along the path.
    """

    name: str
    title: str
    paper: str
    where: str
    parts: tuple[Part, ...]
    metric: str
    delta: float | None
    pairs: tuple[tuple[str, str], ...] = ()
    close: tuple[str, ...] = ()
    claims_of: str = ""
    notes: tuple[str, ...] = ()
    shared: str | None = None
    keep_path: bool = False
    scale: Scale = "full"

    def missing(self) -> Sequence[str]:
        """Files that the data folder lacks, one line for each."""
        sets = dict.fromkeys(data for part in self.parts for data in part.sets)
        return to_bring(file for data in sets if not present(data) and (file := CASES[data][0]))

    @property
    def runs(self) -> str:
        """Journal."""
        return self.shared or self.name

    def at_scale(self, scale: Scale) -> Self:
        """The same study at another scale."""
        return replace(self, scale=scale)

    def cells(self) -> Sequence[Cell]:
        """All runs of the scale."""
        return list(dict.fromkeys(cell for part in self.parts for cell in part.cells(self.scale)))

    def run(self, cell: Cell) -> dict[str, float]:
        """Fit on the data of the seed, as often as there are draws of the noise, and average.

        A grid point that is refused, since no noise could make it private, is not a number. `seconds` is the time of one fit, `cost` that of the whole run with its data and scores: both of the processor.
        """
        begin = time.process_time()
        case, method = case_of(cell.data, cell.seed), METHODS[cell.method]
        delta = 1 / case.rows**2 if self.delta is None else self.delta
        part = next(part for part in self.parts if cell.data in part.sets and cell.method in part.methods)
        found = []
        grid = method.grid(cell.data)
        at = grid.point(round(cell.at)) if grid else {}
        for draw in range(part.noises if method.noise and not grid else 1):
            ask = Ask(cell.epsilon, delta, cell.seed * NOISES + draw, at, self.keep_path and not grid)
            start = time.process_time()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    model = method.fit(case, ask)
                except PrivacyError:
                    if not grid:
                        raise
                    return {self.metric: math.nan, "cost": time.process_time() - begin}
            found.append({**scores(case, model), "seconds": time.process_time() - start})
        mean = {name: float(np.mean([one[name] for one in found])) for name in found[0]}
        return mean | {"cost": time.process_time() - begin}

    def claims(self) -> Sequence[StudyClaim]:
        """The paper's orderings, at every budget at which both methods are run."""
        budgets: dict[tuple[str, str], list[float]] = {}
        for part in self.parts:
            for data in part.sets:
                for name in part.methods:
                    budgets.setdefault((data, name), []).extend(part.epsilons)
        sets = dict.fromkeys(data for data, _ in budgets)
        near = [
            StudyClaim(name, NEAR, data, e, self.metric, at=None, worse_epsilon=math.inf, on_par=0.5, unit=NEAR)
            for data in sets
            for name in self.close
            for e in dict.fromkeys(budgets.get((data, name), ()))
        ]
        return near + [
            StudyClaim(better, worse, data, epsilon, self.metric, at=None)
            for data in sets
            for better, worse in self.pairs
            for epsilon in dict.fromkeys(budgets.get((data, better), ()))
            if epsilon in budgets.get((data, worse), ())
        ]

    def lead(self, results: Results) -> Iterator[str]:
        """A table that stands before the claims: none."""
        yield from ()

    @property
    def figures(self) -> tuple[str, ...]:
        """Ends of the names of the files that `draw` writes."""
        return ("", "-support") if self.metric == "relative error" else ("",)

    def draw(self, results: Results, path: Path) -> None:
        """Errors against epsilon: the paper's numbers, ours with its noise, and honest ones; precision and recall where there is a truth."""
        from dpsparse.plots import figure, save, support_recovery

        from .beside import panels

        save(figure(panels(self, results)), path)
        if "-support" in self.figures:
            methods = list(dict.fromkeys(m for part in self.parts for m in part.methods if m != "zero"))
            limited = [name for name in methods if "dense model" not in name]
            save(support_recovery(results, methods=limited), path.with_name(f"{path.stem}-support{path.suffix}"))


@dataclass(frozen=True)
class FirstSeeds:
    """The runs of a study at its first seeds, for the same journal."""

    study: ScaledStudy
    count: int

    @property
    def name(self) -> str:
        """That of the study."""
        return self.study.name

    @property
    def runs(self) -> str:
        """Its journal."""
        return self.study.runs

    def cells(self) -> Sequence[Cell]:
        """Its runs at these seeds."""
        return [cell for cell in self.study.cells() if cell.seed < self.count]

    def run(self, cell: Cell) -> dict[str, float]:
        """One of them."""
        return self.study.run(cell)
