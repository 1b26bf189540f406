"""What a comparison consists of."""

from __future__ import annotations

import difflib
import importlib
import pkgutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, Self

from ...core import DataError

if TYPE_CHECKING:
    from .results import Results

Scale = Literal["quick", "full"]
#: End of the name of a method that is run at several grid points; of these the best is shown.
GRID = ", best of grid"
#: Stands in the name of a metric between what is measured and where on a curve: "objective @ 10".
ON_CURVE = " @ "


@dataclass(frozen=True, order=True)
class Cell:
    """One run of a study. Seeds fix the data, the split and the noise, so cells with one seed are paired.

    Parameters
    ----------
    data : str
        Name of the data.
    method : str
        Name of the method.
    epsilon : float
        Budget; infinity for a method without noise.
    seed : int
    at : float
        Where on another axis the run stands (a number of rows, a grid point); 0 without such an axis.
    """

    data: str
    method: str
    epsilon: float
    seed: int
    at: float = 0.0


@dataclass(frozen=True)
class StudyClaim:
    """A statement that a study decides: `better` has the smaller error than `worse` on this data at this epsilon.

    Parameters
    ----------
    better, worse : str
        Names of two methods; one and the same where other data or another epsilon is compared.
    data, epsilon, metric
        Where they are compared.
    at : float or None
        Place on the other axis. None: for each method the grid point with the smallest mean error, as papers choose it.
    worse_data, worse_epsilon, worse_at
        Where `worse` stands, if elsewhere.
    on_par : float or None
        The statement is that errors differ by less than this part of the error of the method `unit`.
    unit : str
        Method that errors are measured by in statements of the kind "on par".
    """

    better: str
    worse: str
    data: str
    epsilon: float
    metric: str
    at: float | None = 0.0
    worse_data: str | None = None
    worse_epsilon: float | None = None
    worse_at: float | None = None
    on_par: float | None = None
    unit: str = "zero"

    @property
    def sides(self) -> tuple[tuple[str, str, float, float | None], tuple[str, str, float, float | None]]:
        """Data, method, epsilon and place of both."""
        worse = (
            self.data if self.worse_data is None else self.worse_data,
            self.worse,
            self.epsilon if self.worse_epsilon is None else self.worse_epsilon,
            self.at if self.worse_at is None else self.worse_at,
        )
        return (self.data, self.better, self.epsilon, self.at), worse

    def __str__(self) -> str:
        here, there = self.sides
        word = "better than" if self.on_par is None else "on par with"
        places = [
            f"{data}, epsilon {epsilon:g}{f', at {at:g}' if at else ''}" for data, _, epsilon, at in (here, there)
        ]
        if here[0] == there[0] and here[2:] == there[2:]:
            return f"{self.better} {word} {self.worse} ({places[0]}, {self.metric})"
        return f"{self.better} ({places[0]}) {word} {self.worse} ({places[1]}), {self.metric}"


class Study(Protocol):
    """Cells, and how one of them is run. A study goes to other processes, so it holds plain values and no rows."""

    @property
    def name(self) -> str:
        """Its name on the command line; results of one name belong together."""
        ...

    @property
    def title(self) -> str:
        """What it compares, in a sentence."""
        ...

    def cells(self) -> Sequence[Cell]:
        """All runs, in the order in which they are done."""
        ...

    def run(self, cell: Cell) -> dict[str, float]:
        """Errors of one run by their names; smaller is better."""
        ...

    def claims(self) -> Sequence[StudyClaim]:
        """What the results decide."""
        ...


class ScaledStudy(Study, Protocol):
    """A study of the source tree, which can be run in part.

    The runs of the quick scale are among those of the full one.
    """

    @property
    def runs(self) -> str:
        """Name of the journal. Studies that look at the same runs in other ways share it."""
        ...

    @property
    def scale(self) -> Scale:
        """How much of it `cells` lists."""
        ...

    def at_scale(self, scale: Scale) -> Self:
        """The same study at another scale."""
        ...

    def missing(self) -> Sequence[str]:
        """Files that it needs and does not find: name, shape, checksum and origin, one line for each."""
        ...

    def draw(self, results: Results, path: Path) -> None:
        """Draw its figure as SVG."""
        ...


#: Where the studies of the papers stand, one module each with an object `STUDY`.
PACKAGE = Path("benchmarks", "papers")


def studies() -> dict[str, ScaledStudy]:
    """Studies by name; none outside a source tree."""
    root = next((base for base in (Path.cwd(), Path(__file__).resolve().parents[4]) if (base / PACKAGE).is_dir()), None)
    if root is None:
        return {}
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    package = importlib.import_module(".".join(PACKAGE.parts))
    found: dict[str, ScaledStudy] = {}
    for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        study = getattr(importlib.import_module(module.name), "STUDY", None)
        if study is not None:
            found[study.name] = study
    return found


def find_study(name: str) -> ScaledStudy:
    """A study by its name."""
    known = studies()
    if name in known:
        return known[name]
    if not known:
        raise DataError(
            "the studies of the papers stand in benchmarks/papers of the source tree. Run this in a clone of it, or "
            "compare recipes on a file with --recipe and --data."
        )
    close = difflib.get_close_matches(name, known, n=1)
    raise DataError(
        f"there is no study {name!r}.{f' Did you mean {close[0]!r}?' if close else ''} See dpsparse bench --list."
    )
