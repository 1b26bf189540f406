"""Each loop, on exact answers, takes the steps of its paper's algorithm: written out here once more, in plain numpy.

Nothing of the package is used on the papers' side. Entries are multiples of 1/64, which the lattice of rows holds exactly.
"""

from __future__ import annotations

import numpy as np
import pytest

from builders import Rows
from dpsparse.algorithms.cd import RandomCD
from dpsparse.algorithms.coordinates import ColumnSquares
from dpsparse.algorithms.dual_averaging import Averaging, DualAveraging
from dpsparse.algorithms.federated import FedHT
from dpsparse.algorithms.frank_wolfe import FrankWolfe
from dpsparse.algorithms.gcd import GreedyCD
from dpsparse.algorithms.iht import IHT, PeeledIHT
from dpsparse.algorithms.scsg import SCSG
from dpsparse.algorithms.sgd import SGD
from dpsparse.core.facts import Clip, Facts, Penalty, Target
from dpsparse.core.plan import EveryRow, Noise
from dpsparse.losses import Logistic, Squared
from dpsparse.oracles import ExactOracle
from dpsparse.queries.kinds import Path

N, D, S = 300, 12, 4
WIDE = Clip(1e3)
ETA = 0.8


def data(task: str) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(5)
    X = np.round(rng.uniform(-1, 1, (N, D)) * 64) / 64
    score = X[:, :S] @ np.array([1.0, -0.8, 0.6, 0.5])
    if task == "classes":
        return X, (rng.random(N) < sigmoid(3 * score)).astype(float)
    return X, np.clip(score + 0.1 * rng.standard_normal(N), -4, 4)


def sigmoid(z: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-z))


def mean_function(task: str):
    return sigmoid if task == "classes" else lambda z: z


def gradient(task: str, w: np.ndarray) -> np.ndarray:
    X, y = data(task)
    return X.T @ (mean_function(task)(X @ w) - y) / N


def keep(w: np.ndarray, s: int) -> np.ndarray:
    out, order = np.zeros_like(w), sorted(range(w.size), key=lambda j: -abs(w[j]))
    for j in order[:s]:
        out[j] = w[j]
    return out


def released(solver, task: str, **options) -> list[np.ndarray]:
    """The iterates of a solver on exact answers."""
    X, y = data(task)
    loss = Logistic() if task == "classes" else Squared()
    target = Target(kind="classes") if task == "classes" else Target(bound=4.0)
    facts = Facts(
        n_rows=N,
        n_features=D,
        lower=-1.0,
        upper=1.0,
        row_norm=float(np.sqrt(D)),
        target=target,
        loss=loss.name,
        slope_bound=loss.slope_bound,
        curvature=loss.curvature,
        **options,
    )
    path = Path()
    oracle = ExactOracle(Rows(X, y, facts), loss, solver.plan(facts, None), np.random.default_rng(0))
    solver.run(oracle, path)
    return path.iterates


def agree(found: list[np.ndarray], wanted: list[np.ndarray]) -> None:
    assert len(found) == len(wanted)
    for step, (one, two) in enumerate(zip(found, wanted, strict=True)):
        np.testing.assert_allclose(one, two, atol=1e-8, err_msg=f"iterate {step + 1}")
    assert np.abs(wanted[-1] - wanted[0]).max() > 0.01, "a loop that stands still shows nothing"


# ------------------------------------------------------------------------------------------------ thresholds


def iht(task: str, steps: int, *, ridge: float = 0.0, radius: float | None = None) -> list[np.ndarray]:
    """Wang and Gu 2019, Algorithm 1 (Wang and Xu 2019, Algorithm 3, with a ball): w = H_s(w - eta (grad + lambda w))."""
    w, iterates = np.zeros(D), []
    for _ in range(steps):
        w = keep(w - ETA * (gradient(task, w) + ridge * w), S)
        if radius is not None and np.sqrt(w @ w) > radius:
            w = w * radius / np.sqrt(w @ w)
        iterates.append(w)
    return iterates


@pytest.mark.parametrize("task", ["numbers", "classes"])
@pytest.mark.parametrize("options", [{}, {"ridge": 0.05}, {"radius": 0.6}, {"ridge": 0.05, "radius": 0.6}])
def test_iht_is_algorithm_1_of_wang_and_gu(task, options):
    loop = IHT(sparsity=S, step_sizes=(ETA,) * 15, clip=WIDE, noise=Noise.NONE, **options)
    agree(released(loop, task), iht(task, 15, **options))


@pytest.mark.parametrize("task", ["numbers", "classes"])
def test_peeling_without_noise_is_hard_thresholding(task):
    """The s coordinates that are selected without noise are those that the threshold keeps."""
    options = {"ridge": 0.05, "radius": 0.6}
    loop = PeeledIHT(
        sparsity=S,
        step_sizes=(ETA,) * 15,
        clip=WIDE,
        selection_noise=Noise.NONE,
        noise=Noise.NONE,
        **options,
    )
    agree(released(loop, task), iht(task, 15, **options))


@pytest.mark.parametrize("task", ["numbers", "classes"])
def test_sgd_on_all_rows_is_algorithm_1_of_liang_and_others(task):
    loop = SGD(sparsity=S, step_sizes=(ETA,) * 15, clip=WIDE, rows=EveryRow(), noise=Noise.NONE)
    agree(released(loop, task), iht(task, 15))


def test_sgd_with_a_proximal_map_and_one_threshold_at_the_end():
    """ISTA: w = soft(w - eta grad, eta lambda)."""
    w, iterates = np.zeros(D), []
    for _ in range(15):
        v = w - ETA * gradient("numbers", w)
        w = np.sign(v) * np.maximum(np.abs(v) - ETA * 0.02, 0)
        iterates.append(w)
    loop = SGD(
        sparsity=S,
        step_sizes=(ETA,) * 15,
        clip=WIDE,
        rows=EveryRow(),
        thresholds=False,
        penalty=Penalty(kind="l1", alpha=0.02),
        noise=Noise.NONE,
    )
    agree(released(loop, "numbers"), iterates)


@pytest.mark.parametrize("task", ["numbers", "classes"])
def test_rounds_of_one_site_are_local_steps_and_a_threshold(task):
    local = SGD(sparsity=S, step_sizes=(ETA,) * 5, clip=WIDE, rows=EveryRow(), noise=Noise.NONE)
    agree(released(FedHT(local=local, rounds=3, sparsity=S), task), iht(task, 15))


@pytest.mark.parametrize("task", ["numbers", "classes"])
@pytest.mark.parametrize("ridge", [0.0, 0.05])
def test_scsg_is_algorithm_2_of_liang_and_others(task, ridge):
    """An epoch: mu = grad(snapshot); then w = H_s(w - eta (grad(w) - grad(snapshot) + mu)), on the same rows."""
    w, iterates = np.zeros(D), []
    for _ in range(4):
        snapshot, mu = w, gradient(task, w)
        for _ in range(3):
            w = keep(w - ETA * (gradient(task, w) - gradient(task, snapshot) + mu + ridge * w), S)
            iterates.append(w)
    loop = SCSG(sparsity=S, epochs=4, inner=3.0, step_size=ETA, clip=WIDE, ridge=ridge, noise=Noise.NONE)
    agree(released(loop, task), iterates)


# ------------------------------------------------------------------------------------------------ coordinates


def soft(v: float, by: float) -> float:
    return float(np.sign(v) * max(abs(v) - by, 0.0))


def coordinate_descent(task: str, order, kind: str, alpha: float) -> list[np.ndarray]:
    """Mangold and others 2022, Algorithm 1: w_j = prox(w_j - gamma/H_j grad_j), with H_j = M_j, or M_j + lambda."""
    bend = (0.25 if task == "classes" else 1.0) + (alpha if kind == "l2" else 0.0)
    w, iterates = np.zeros(D), []
    for j in order:
        g = gradient(task, w)[j] + (alpha * w[j] if kind == "l2" else 0.0)
        w = w.copy()
        w[j] = soft(w[j] - g / bend, alpha / bend) if kind == "l1" else w[j] - g / bend
        iterates.append(w)
    return iterates


def columns() -> ColumnSquares:
    return ColumnSquares(bounds=np.ones(D), guess=np.ones(D))


@pytest.mark.parametrize("task", ["numbers", "classes"])
@pytest.mark.parametrize("kind", ["l1", "l2"])
def test_cd_is_algorithm_1_of_mangold_and_others(task, kind):
    loop = RandomCD(steps=30, step_size=1.0, residual=1e3, squares=columns(), order="uniform", noise=Noise.NONE)
    order = loop.plan(Facts(n_rows=N, n_features=D), None).public["order"]
    found = released(loop, task, penalty=Penalty(kind=kind, alpha=0.02))
    agree(found, coordinate_descent(task, order, kind, 0.02))


def greedy_scores(rule: str, g: np.ndarray, w: np.ndarray, bend: float, alpha: float) -> np.ndarray:
    """Mangold and others 2023, section 3, and Nutini and others 2015: how much a step along each coordinate promises."""
    moved = np.array([soft(w[j] - g[j] / bend, alpha / bend) - w[j] for j in range(D)])
    if rule == "gs":
        return np.abs(g) / np.sqrt(bend)
    if rule == "gs-s":
        outside = np.maximum(np.abs(g) - alpha, 0)
        return np.where(w != 0, np.abs(g + alpha * np.sign(w)), outside) / np.sqrt(bend)
    if rule == "gs-r":
        return np.sqrt(bend) * np.abs(moved)
    return -(g * moved + bend / 2 * moved**2 + alpha * np.abs(w + moved) - alpha * np.abs(w))


@pytest.mark.parametrize("task", ["numbers", "classes"])
@pytest.mark.parametrize("rule", ["gs", "gs-s", "gs-r", "gs-q"])
def test_greedy_cd_is_algorithm_2_of_mangold_and_others(task, rule):
    bend, order, w = 0.25 if task == "classes" else 1.0, [], np.zeros(D)
    for _ in range(15):
        order.append(int(np.argmax(greedy_scores(rule, gradient(task, w), w, bend, 0.02))))
        w = coordinate_descent(task, order, "l1", 0.02)[-1]
    loop = GreedyCD(
        rule=rule,
        steps=15,
        step_size=1.0,
        residual=1e3,
        squares=columns(),
        selection_noise=Noise.NONE,
        noise=Noise.NONE,
    )
    found = released(loop, task, penalty=Penalty(kind="l1", alpha=0.02))
    agree(found, coordinate_descent(task, order, "l1", 0.02))
    assert len(set(order)) > 2


# ------------------------------------------------------------------------------------------------ others


@pytest.mark.parametrize("task", ["numbers", "classes"])
def test_frank_wolfe_is_algorithm_2_of_talwar_and_others(task):
    w, iterates = np.zeros(D), []
    for t in range(20):
        g, vertex = gradient(task, w), np.zeros(D)
        j = int(np.argmax(np.abs(g)))
        vertex[j] = -3.0 * np.sign(g[j])
        w = w + 2 / (t + 2) * (vertex - w)
        iterates.append(w)
    loop = FrankWolfe(steps=20, radius=3.0, clip=Clip(1e3, 1e3), sparsity=D, noise=Noise.NONE)
    agree(released(loop, task), iterates)


@pytest.mark.parametrize("task", ["numbers", "classes"])
@pytest.mark.parametrize("alpha", [0.0, 0.05])
def test_dual_averaging_is_algorithm_1_of_xiao(task, alpha):
    """w minimises <sum eta g, w> + lambda T |w|_1 + |w|^2/2, with T the sum of steps; steps fall linearly; with momentum."""
    sizes = 0.6 * 10 / 5.5 * (1 - np.arange(10) / 10)
    w, v, z, length, iterates = np.zeros(D), np.zeros(D), np.zeros(D), 0.0, []
    for eta in sizes:
        v = 0.5 * v + 0.5 * gradient(task, w)
        z, length = z - eta * v, length + eta
        w = np.sign(z) * np.maximum(np.abs(z) - alpha * length, 0)
        iterates.append(w)
    loop = Averaging(steps=10, length=6.0, clip=1e3, share=1.0, momentum=0.5)
    solver = DualAveraging(loop=loop, column_weight=1.0, intercept_weight=1.0, noise=Noise.NONE)
    agree(released(solver, task, penalty=Penalty(kind="l1", alpha=alpha)), iterates)
