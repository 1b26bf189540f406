"""What the studies behind docs/choose.md and docs/planner.md share. Their numbers go into blocks of these pages, not onto pages of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from dpsparse.report.bench import Cell, Results, Scale, StudyClaim

from .files import there, to_bring
from .study import PaperStudy


@dataclass(frozen=True, kw_only=True)
class GuideStudy(PaperStudy):
    """Recipes on data, as in the studies of the papers."""

    paper: str = "guide"
    where: str = "docs/choose.md"

    @property
    def figures(self) -> tuple[str, ...]:
        """None in the documentation."""
        return ()


@dataclass(frozen=True, kw_only=True)
class Measures:
    """Runs that are not a recipe on a case: what is run is said by `run` of a subclass.

    Parameters
    ----------
    name, title : str
    places : tuple of (data, method, epsilons)
        What is run at every seed.
    seeds, quick : int
        Seeds at both scales.
    quick_places : tuple of (data, method, epsilons)
        What the quick scale runs; all where empty.
    """

    name: str
    title: str
    places: tuple[tuple[str, str, tuple[float, ...]], ...]
    metric: str
    seeds: int = 10
    quick: int = 1
    quick_places: tuple[tuple[str, str, tuple[float, ...]], ...] = ()
    scale: Scale = "full"
    figures: tuple[str, ...] = ()

    @property
    def runs(self) -> str:
        """Journal."""
        return self.name

    def at_scale(self, scale: Scale) -> Self:
        """The same at another scale."""
        return replace(self, scale=scale)

    def file(self, data: str) -> str | None:
        """The file that it needs, if any."""
        raise NotImplementedError

    def present(self, data: str) -> bool:
        """Whether that is there."""
        return there(self.file(data))

    def missing(self) -> Sequence[str]:
        """Files that the data folder lacks, one line for each."""
        files = (self.file(data) for data, _, _ in self.places)
        return to_bring(file for file in files if file is not None and not there(file))

    def run(self, cell: Cell) -> dict[str, float]:
        """One run."""
        raise NotImplementedError

    def cells(self) -> Sequence[Cell]:
        """Seeds outside."""
        quick = self.scale == "quick"
        return [
            Cell(data, method, epsilon, seed)
            for seed in range(self.quick if quick else self.seeds)
            for data, method, epsilons in ((self.quick_places or self.places) if quick else self.places)
            if self.present(data)
            for epsilon in epsilons
        ]

    def claims(self) -> Sequence[StudyClaim]:
        """None: the guides say numbers, not orderings."""
        return []

    def draw(self, results: Results, path: Path) -> None:
        """The metric against epsilon."""
        from dpsparse.plots import errors_by_epsilon, save

        save(errors_by_epsilon(results, self.metric), path)
