"""003, Figure 1: labels alone private, relative error against the number of people for dimensions, sparsities and budgets."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dpsparse.report.bench import Results, StudyClaim
from dpsparse.report.bench.study import GRID

from .curves import by_rows
from .methods import EXACT, OFF, PRINTED
from .study import PaperStudy, Part

PEOPLE, METHOD = (5_000, 20_000, 80_000), "Label-LDP-IHT"
METHODS = ("zero", f"IGHT{EXACT}", METHOD, f"{METHOD}, dense model", f"{METHOD}{GRID}")
LOOPS = tuple(f"{name}{kind}{GRID}" for kind in (PRINTED, OFF) for name in (METHOD, f"{METHOD} (no unit ball, T = 60)"))
PLACES = ((50, 10), (800, 10), (200, 5), (200, 20))


def named(n: int, p: int, s: int) -> str:
    """Name of a case."""
    return f"n {n}, p {p}, s {s}"


@dataclass(frozen=True, kw_only=True)
class People(PaperStudy):
    """The paper's claims: the error falls with people and epsilon, and hardly changes with p."""

    def claims(self) -> Sequence[StudyClaim]:
        """Of our default, and with the printed noise; "hardly changes" is a difference within 5 % of the norm of the coefficients."""
        few, many = named(PEOPLE[0], 200, 10), named(PEOPLE[-1], 200, 10)
        found = []
        for name in (METHOD, *LOOPS[:2]):
            found += [
                StudyClaim(name, name, many, 1.0, self.metric, at=None, worse_data=few),
                StudyClaim(name, name, many, 4.0, self.metric, at=None, worse_epsilon=0.5),
                *(
                    StudyClaim(
                        name,
                        name,
                        named(n, 800, 10),
                        1.0,
                        self.metric,
                        at=None,
                        worse_data=named(n, 50, 10),
                        on_par=0.05,
                    )
                    for n in PEOPLE
                ),
                StudyClaim(
                    name,
                    name,
                    named(PEOPLE[-1], 200, 5),
                    1.0,
                    self.metric,
                    at=None,
                    worse_data=named(PEOPLE[-1], 200, 20),
                ),
            ]
        return found

    @property
    def figures(self) -> tuple[str, ...]:
        """Honest noise, and the printed noise without the ball."""
        return ("", "-printed")

    def draw(self, results: Results, path: Path) -> None:
        """Three panels: p, s and epsilon."""
        by_rows(results, METHOD, self.metric, path, p=200, s=10, epsilon=1.0)
        second = path.with_name(f"{path.stem}-printed{path.suffix}")
        by_rows(results, LOOPS[1], self.metric, second, p=200, s=10, epsilon=1.0)


STUDY = People(
    name="003-figure-1",
    title="Label-LDP-IHT: relative error against people, for dimensions, sparsities and budgets",
    paper="003",
    where="Figure 1 (a) to (c)",
    parts=(
        Part(
            sets=tuple(named(n, 200, 10) for n in PEOPLE),
            methods=METHODS,
            epsilons=(0.5, 1.0, 2.0, 4.0),
            seeds=10,
            quick_epsilons=(1.0,),
            quick_sets=tuple(named(n, 200, 10) for n in PEOPLE[:2]),
            quick_points=2,
        ),
        Part(
            sets=tuple(named(n, p, s) for n in PEOPLE for p, s in PLACES),
            methods=METHODS,
            epsilons=(1.0,),
            seeds=10,
            quick_sets=tuple(named(PEOPLE[0], p, s) for p, s in PLACES),
            quick_points=2,
        ),
        Part(
            sets=tuple(named(n, 200, 10) for n in PEOPLE),
            methods=LOOPS,
            epsilons=(0.5, 1.0, 2.0, 4.0),
            seeds=5,
            quick=0,
        ),
        Part(
            sets=tuple(named(n, p, s) for n in PEOPLE for p, s in PLACES),
            methods=LOOPS,
            epsilons=(1.0,),
            seeds=5,
            quick=0,
        ),
    ),
    metric="relative error",
    delta=1e-3,
    notes=(
        "The paper's axes are not in its text: people, dimensions, sparsities and budgets are ours, as far as two cores reach.",
        "Ours randomises labels by pure epsilon; delta = 0.001 is that of the printed noise alone. Best of grid: the paper's steps 0.2 and 0.1 with "
        "T = ceil(log(n/p)).",
        "As printed: the noise of Theorem 5, a normal start, and the sign of the update that descends (the printed one runs the other way). The unit ball of the printed algorithm cannot hold ten coefficients of U(0, 1), "
        "whose norm is about 1.7, and ceil(log(n/p)) steps end early; the same noise is also shown without the ball after 60 steps.",
    ),
)
