r"""Figure 3 of paper 004: the sparse CNN on MNIST across ten sites, accuracy by round, with honest noise.

Ten sites with two digits each (sorted and partitioned), 6,000 images a site, K = 10 local steps, :math:`\tau` = 10,000 nonzero parameters of 44,426. FedSGD-HT without privacy,
DP-FedSGD-HT on Poisson batches, DP-FedGD-HT on all rows of a site, at :math:`\epsilon` per site and :math:`\delta = 10^{-5}`, replace-one. All rounds times K answers are priced
together before the first. A run that was stopped goes on where it was: the server has its state and every site its memory on the disk, as in a real federation.

    python -m benchmarks.federated_mnist --data mnist.npz --only fedsgd_ht --seeds 1      (needs the extra torch)
    python -m benchmarks.federated_mnist --data mnist.npz --short                         (minutes: shows that it runs)
    python -m benchmarks.federated_mnist --page                                           (page and figure from what is kept)
    python -m benchmarks.federated_steps                                                  (how step sizes were chosen, on other digits)
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from dpsparse.accounting import price
from dpsparse.accounting.pld import sampled_epsilon
from dpsparse.core import Adjacency, Ask, Budget, EveryRow, Noise, Plan, PoissonRows, PrivacyError
from dpsparse.io.datasets.public import Digits, load_mnist

from .federated_mnist_page import FEW, KEPT, write_page

SITES = tuple(f"site {k}" for k in range(10))
DELTA = 1e-5
ROWS = 6000
#: Earlier sketches looked at the first test images: accuracy is that on the others.
SEEN = 1500


@dataclass(frozen=True)
class Setup:
    """One curve."""

    algorithm: str
    epsilon: float | None
    rounds: int
    batch: float
    step_size: float
    clip: float = 1.0
    local_steps: int = 10
    sparsity: int = 10_000
    rows: int = ROWS

    @property
    def rate(self) -> float:
        """Part of a site's rows in a batch."""
        return min(1.0, self.batch / self.rows)

    def name(self, seed: int) -> str:
        """Of its folder."""
        budget = "" if self.epsilon is None else f"-{self.epsilon:g}"
        return f"{self.algorithm}{budget}-{self.rounds}-{seed}"


EPSILONS = (6.0, 4.0)
#: Batches and rounds by what a processor can do; step sizes by `federated_steps`. DP-FedGD-HT stands beside DP-FedSGD-HT of as many rounds, each with the price of these.
SETUPS = (
    Setup("fedsgd_ht", None, rounds=150, batch=32, step_size=0.07),
    *(Setup("dp_fedsgd_ht", epsilon, rounds=40, batch=120, step_size=1.0) for epsilon in EPSILONS),
    *(Setup("dp_fedsgd_ht", epsilon, rounds=FEW, batch=120, step_size=2.0) for epsilon in EPSILONS),
    *(Setup("dp_fedgd_ht", epsilon, rounds=FEW, batch=math.inf, step_size=2.0) for epsilon in EPSILONS),
)


def centred(digits: Digits) -> Digits:
    """Pixels within [-1, 1]: a public change of units."""
    return digits._replace(X=2 * digits.X - 1, X_test=2 * digits.X_test - 1)


def partition(y: np.ndarray, site: int, rows: int, seed: int) -> np.ndarray:
    """Rows of a site: sorted by digit, cut into twenty parts, two parts each; some of them where fewer rows are asked for."""
    parts = np.array_split(np.argsort(y, kind="stable"), 20)
    own = np.concatenate([parts[site], parts[site + 10]])
    return np.random.default_rng([seed, site]).permutation(own)[:rows]


def curve(setup: Setup, digits: Digits, seed: int, folder: Path, keep: Any, most: int) -> None:
    """Run what is left of one curve, at most so many rounds of it; `keep` is told the accuracy after every round."""
    from dpsparse.federated import Grid
    from dpsparse.neural import NetworkServer, NetworkSite, paper_cnn, sparse_start

    private = setup.epsilon is not None
    network = sparse_start(paper_cnn(seed), setup.sparsity, seed)
    state = folder / "server.json"
    folder.mkdir(parents=True, exist_ok=True)
    server = NetworkServer.open(
        state,
        network,
        sites=SITES,
        rounds=setup.rounds,
        local_steps=setup.local_steps,
        step_size=setup.step_size,
        clip=setup.clip,
        sparsity=setup.sparsity,
        rate=setup.rate,
        classes=10,
        private=private,
        radius=1e3 if private else None,
        least_sites=len(SITES),
    )
    sites = []
    for number, name in enumerate(SITES):
        own = partition(digits.y, number, setup.rows, seed)
        sites.append(
            NetworkSite(
                network,
                digits.X[own],
                digits.y[own],
                server.protocol,
                name=name,
                epsilon=setup.epsilon,
                delta=DELTA,
                memory=folder / f"site-{number}",
                trust="nobody" if private else "server",
            )
        )
    grid = Grid(server, sites)
    while not server.finished and server.round < most:
        started = time.process_time()
        grid.step()
        if grid.refused:
            raise PrivacyError(f"a report was refused: {grid.refused[-1]}")
        found = server.model().score(digits.X_test[SEEN:], digits.y_test[SEEN:])
        keep(server.round, found, time.process_time() - started)
        print(f"{setup.name(seed)} round {server.round}: {found:.4f}", flush=True)
        for number in range(len(SITES)):
            for report in (folder / f"site-{number}").glob("*.report"):
                report.unlink()


def accounts(setup: Setup) -> dict[str, float]:
    """The honest noise multiplier, that of one round's budget, and what the latter really costs over all rounds."""
    if setup.epsilon is None:
        return {}
    steps, budget = setup.rounds * setup.local_steps, Budget.approx(setup.epsilon, DELTA)
    rows = EveryRow() if setup.rate >= 1 else PoissonRows(setup.rate)
    plans = [
        Plan(asks=(Ask(name="gradient", noise=Noise.GAUSSIAN, times=count, rows=rows),))
        for count in (steps, setup.local_steps)
    ]
    # sigma over the norm of one record; replace-one moves two of them
    mine, theirs = (2 / price(plan, budget).cost("gradient").strength for plan in plans)
    real = sampled_epsilon([(setup.rate, theirs, steps)], DELTA, Adjacency.REPLACE_ONE)
    return {"multiplier": mine, "one_round_multiplier": theirs, "one_round_really_costs": real}


class Keeper:
    """Curves in one JSON file, written after every round."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.curves: dict[str, dict[str, Any]] = json.loads(path.read_text()) if path.exists() else {}

    def of(self, setup: Setup, seed: int) -> Any:
        """What `curve` tells."""
        name = setup.name(seed)
        if name not in self.curves:
            said = {k: str(v) if v == math.inf else v for k, v in asdict(setup).items()}
            self.curves[name] = {**said, **accounts(setup), "seed": seed, "accuracy": [], "seconds": []}
        found = self.curves[name]

        def keep(round_: int, accuracy: float, seconds: float) -> None:
            for key, value in (("accuracy", round(accuracy, 4)), ("seconds", round(seconds, 2))):
                found[key] = [*found[key][: round_ - 1], value]
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.write_text(json.dumps(self.curves, indent=1))

        return keep


def main() -> None:
    """Run what is left, and write what was measured."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default="mnist.npz")
    parser.add_argument("--seeds", type=int, nargs="*", default=[0, 1, 2])
    parser.add_argument("--only", nargs="*", help="names of algorithms")
    parser.add_argument("--epsilons", type=float, nargs="*", help="some of them")
    parser.add_argument("--rounds", type=int, nargs="*", help="curves of these numbers of rounds alone")
    parser.add_argument("--stop", type=int, default=10**9, help="stop after this round of a curve; it can go on later")
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--page", action="store_true")
    parser.add_argument("--work", type=Path, default=Path("out/federated_mnist"))
    parser.add_argument("--out", type=Path, default=KEPT)
    given = parser.parse_args()
    if given.page:
        write_page([{**asdict(setup), **accounts(setup)} for setup in SETUPS if setup.epsilon is not None])
        return
    digits, setups = centred(load_mnist(given.data)), SETUPS
    if given.short:
        digits = digits._replace(X_test=digits.X_test[:2500], y_test=digits.y_test[:2500])
        setups = tuple(
            dict.fromkeys(replace(s, rounds=2, local_steps=2, rows=300, batch=min(s.batch, 32)) for s in SETUPS)
        )
        given.seeds, given.out = [0], given.work / "short.json"
    keeper = Keeper(given.out)
    for seed in given.seeds:
        for setup in setups:
            if given.only and setup.algorithm not in given.only:
                continue
            if given.epsilons and setup.epsilon is not None and setup.epsilon not in given.epsilons:
                continue
            if given.rounds and setup.rounds not in given.rounds:
                continue
            folder = given.work / setup.name(seed)
            curve(setup, digits, seed, folder, keeper.of(setup, seed), given.stop)
            if given.short:
                shutil.rmtree(folder)


if __name__ == "__main__":
    main()
