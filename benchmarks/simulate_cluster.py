"""How long a fit takes on a cluster that is not here: from step costs that are measured on this machine, and a plan that is priced for the real shape.

``python -m benchmarks.simulate_cluster --rows 100000000 --features 10000000 --nonzeros 50 --workers 64 --page docs/clusters.md``

A turn of a plan that is a vector costs: a question to the workers, a pass of each worker over its rows, a tree of sums over workers, noise for each
coordinate and the solver's own arithmetic on the driver. A turn that is a number costs the pass and a round trip. What is measured: nanoseconds for each
nonzero of a gradient on rows that are in memory and on rows on a disk; for each coordinate to build a sum, to add up partial sums, to draw noise, and
to take a dozen passes of vector arithmetic. What is assumed: the network (``--gigabits``), a round trip, cores as quick as this one.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dpsparse import SparseClassifier
from dpsparse.core import Plan
from dpsparse.core.facts import Clip
from dpsparse.core.mechanisms import Randomness, lattice_gaussian
from dpsparse.core.plan import PoissonRows
from dpsparse.fitting import plan_fit
from dpsparse.losses import Logistic
from dpsparse.oracles.noise_info import exact_charge
from dpsparse.queries.kinds import Gradient
from dpsparse.readers import open_rows
from dpsparse.rows.hosts import DiskHost, MemoryHost
from dpsparse.rows.hosts.memory_budget import KEPT, PER_COORDINATE, PER_ROW
from dpsparse.rows.hosts.partial import PartialSum, add_up

from .out_of_core import make
from .scale_cluster import facts_of

#: Questions with an answer for every coordinate.
VECTORS = {"Gradient", "WeightedGradient", "JointGradient", "GradientChange", "MeanAbsolute", "MeanSquares", "Select"}
FAN_IN = 8


@dataclass(frozen=True)
class Costs:
    """Seconds of one core, on this machine."""

    nonzero_memory: float
    nonzero_disk: float
    coordinate_sum: float
    coordinate_add: float
    coordinate_noise: float
    coordinate_solver: float


def seconds(work: Callable[[], object], count: int = 3) -> float:
    """Least processor time of some calls."""
    found = []
    for _ in range(count):
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return min(found)


def measure(rows: int, features: int, wide: int) -> Costs:
    """Step costs, at sizes that fit this machine."""
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "rows.dpsrows")
        make(path, rows, features, 50)
        opened = open_rows(path)
        facts, y = facts_of(rows, features), opened.targets("numbers")
        assert y is not None
        per_entry = []
        for host in (MemoryHost(opened, y, facts), DiskHost(opened, y, facts, 10**8)):
            questions = iter([Gradient(0.1 * rng.standard_normal(facts.dimension), Clip(1.0)) for _ in range(4)])
            host.total(exact_charge(next(questions), host), Logistic())
            took = seconds(lambda h=host, q=questions: h.total(exact_charge(next(q), h), Logistic()))  # type: ignore[misc]
            per_entry.append(took / opened.entries)
    sums = [rng.integers(-(2**40), 2**40, wide) for _ in range(2)]
    parts = [PartialSum.of_part(k, b"", [one]) for k, one in enumerate(sums)]
    build = seconds(lambda: PartialSum.of_part(0, b"", [sums[0]]))
    add = seconds(lambda: add_up(parts)) / 2
    noise = seconds(lambda: lattice_gaussian(sums[0], 2.0**30, Randomness(0)))
    solver = seconds(lambda: [np.abs(sums[0]) * 0.5 for _ in range(6)])
    return Costs(*per_entry, build / wide, add / wide, noise / wide, solver / wide)


def turns(plan: Plan) -> list[tuple[str, float, bool, int]]:
    """Name, part of the rows, whether the answer is a vector, and number of turns of each ask, along the longest branch."""
    own = [
        (
            f"{ask.name} ({ask.question})",
            ask.rows.rate if isinstance(ask.rows, PoissonRows) else 1.0,
            ask.question in VECTORS,
            ask.times,
        )
        for ask in plan.asks
    ]
    branches = [turns(branch) for _, branch in plan.branches]
    return own + max(branches, key=lambda found: sum(one[3] for one in found), default=[])


@dataclass(frozen=True)
class Simulated:
    """What a fit takes.

    Attributes
    ----------
    recipe : str
    passes : float
        Over all rows; a turn that asks a sample is a part of one.
    vectors : int
        Turns with an answer for every coordinate.
    step, on_rows : float
        Seconds of one of these at most, and how many of them on rows.
    seconds : float
        Of the whole fit.
    """

    recipe: str
    passes: float
    vectors: int
    step: float
    on_rows: float
    seconds: float

    @property
    def row(self) -> str:
        """A line of the table."""
        cells = (
            f"`{self.recipe}`",
            f"{self.passes:.0f}",
            str(self.vectors),
            f"{self.step:.1f} s, {self.on_rows:.1f} s of it on rows",
            f"{self.seconds / 60:.1f} minutes",
        )
        return f"| {' | '.join(cells)} |"


def simulate(costs: Costs, recipe: str, given: argparse.Namespace) -> Simulated:
    """Add up the turns of a plan."""
    model = SparseClassifier(
        epsilon=given.epsilon, row_norm=1.0, sparsity=given.sparsity, recipe=recipe, classes=(0, 1)
    )
    request = model.request()
    prepared = plan_fit(request, request.shape(given.rows, given.features, sparse=True, models=1))
    entries = given.rows * given.nonzeros / given.workers
    moved = 8 * given.features / (given.gigabits * 1e9 / 8)
    levels = int(np.ceil(np.log(given.workers) / np.log(FAN_IN)))
    d, passes, total, vectors, longest = given.features, 0.0, 0.0, 0, (0.0, 0.0)
    print(f"\n{recipe} ({prepared.recipe.name}):")
    for name, share, vector, count in turns(prepared.plan):
        work = share * entries * (costs.nonzero_disk if given.disk else costs.nonzero_memory)
        step = work + given.trip
        if vector:
            step += d * costs.coordinate_sum + levels * (FAN_IN * moved + FAN_IN * d * costs.coordinate_add)
            step += (2 if "Weighted" in name else 1) * moved  # weights go out with the question
            step += d * (costs.coordinate_noise + costs.coordinate_solver)
            vectors, longest = vectors + count, max(longest, (step, work))
        passes, total = passes + share * count, total + step * count
        print(f"  {count:5d} x {name:45s} {step:8.2f} s each, {work:.2f} s of it on rows")
    print(f"  {passes:.0f} passes over the rows, {total / 3600:.2f} hours", flush=True)
    return Simulated(recipe, passes, vectors, *longest, total)


#: Lines of a page between which its text is made here.
BEGIN, END = "% simulation: made by python -m benchmarks.simulate_cluster --page", "% end of the simulation"


def page(costs: Costs, found: Sequence[Simulated], given: argparse.Namespace) -> str:
    """The text of the page."""
    ns = {name: f"{1e9 * value:.1f}" for name, value in vars(costs).items()}
    rows = given.rows / given.workers
    lines = [
        f"For {given.workers} workers of one core each, {given.nonzeros} stored numbers a row, {given.gigabits:g} Gbit/s, epsilon "
        f"{given.epsilon:g} and {given.sparsity} coefficients, rows {'on the disks' if given.disk else 'in the memory'} of workers:",
        "",
        "| recipe | passes over the rows | queries with an answer for every coordinate | one of them | whole fit |",
        "|---|---|---|---|---|",
        *(one.row for one in sorted(found, key=lambda one: one.seconds)),
        "",
        f"Measured for it, in processor time: {ns['nonzero_memory']} ns for each stored number of a gradient in memory ({ns['nonzero_disk']} ns "
        f"from a disk), and for each coordinate {ns['coordinate_sum']} ns to make a sum, {ns['coordinate_add']} ns to add one, "
        f"{ns['coordinate_noise']} ns of noise and {ns['coordinate_solver']} ns for the solver. The driver needs {driver_bytes(given) / 1e9:.1f} GB, and a worker "
        f"{rows * given.nonzeros * KEPT / 1e9:.1f} GB of rows in memory or {rows * given.nonzeros * 6 / 1e9:.1f} GB on its disk.",
    ]
    return "\n".join(lines)


def driver_bytes(given: argparse.Namespace) -> float:
    """Bytes that a driver needs."""
    return float(given.features * PER_COORDINATE + given.rows * PER_ROW)


def put(path: Path, text: str) -> None:
    """Replace what stands between two lines of a page."""
    before, _, rest = path.read_text().partition(BEGIN + "\n")
    _, end, after = rest.partition(END)
    if not end:
        raise SystemExit(f"{path} has no lines {BEGIN!r} and {END!r}.")
    path.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000_000)
    parser.add_argument("--features", type=int, default=10_000_000)
    parser.add_argument("--nonzeros", type=int, default=50)
    parser.add_argument("--workers", type=int, default=64)
    parser.add_argument("--gigabits", type=float, default=10.0)
    parser.add_argument("--trip", type=float, default=0.02, help="seconds of a round trip")
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--sparsity", type=int, default=100)
    parser.add_argument("--disk", action="store_true", help="rows are on the disks of workers")
    parser.add_argument("--recipes", nargs="*", default=["select_polish", "dual_averaging", "dp_ight", "dp_sgd_ht"])
    parser.add_argument("--page", type=Path, help="write the table into this page, between its two lines")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    costs = measure(200_000, 200_000, 2**21)
    for name, value in vars(costs).items():
        print(f"{name.replace('_', ' '):20s} {1e9 * value:8.2f} ns")
    rows = given.rows / given.workers
    print(
        f"a worker: {rows * given.nonzeros * KEPT / 1e9:.1f} GB of rows in memory, or {rows * given.nonzeros * 6 / 1e9:.1f} GB on its disk"
    )
    print(
        f"the driver: {driver_bytes(given) / 1e9:.1f} GB; a sum is {8 * given.features / 1e6:.0f} MB, and noise for it takes ",
        end="",
    )
    print(f"{given.features * costs.coordinate_noise:.2f} s")
    found = [simulate(costs, recipe, given) for recipe in given.recipes]
    if given.page is not None:
        put(given.page, page(costs, found, given))


if __name__ == "__main__":
    main()
