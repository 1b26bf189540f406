"""Rows and the oracle of a network: it charges, adds up clipped gradients of a sample, and adds the priced noise.

Guarantee
---------
`RowGradients` bounds what one row adds to the integer sum by 2^20 units of C / 2^20, so neighbours
are at most kappa C apart; noise of the priced multiple of that is added on the lattice of the sum
(`lattice_gaussian`), with randomness of the operating system. Rows are sampled by coins of a fresh
key (`PoissonSample`). The divisor is public: rate times the public number of rows, never the size
of a batch. A turn is charged before a row is looked at.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.functional import cross_entropy, mse_loss

from ...accounting import PricedPlan
from ...core import Ask, DataError, EveryRow, Noise, Plan, PoissonRows
from ...core.facts import Clip, Vector
from ...core.mechanisms import Randomness, lattice_gaussian
from ...core.statement import Receipt
from ...ops import hard_threshold
from ...oracles import Gate, PaymentLike
from ...oracles.client_updates import ClippedMeanNoise
from ...queries.charge import use
from ...queries.kinds import Gradient
from ...rows.records import cell_numbers, center_targets, code_classes, suppress_messages
from .gradients import UNITS, RowGradients
from .layers import Criterion

#: Losses by name: outputs (1, ...) and targets (1,) in, a number out.
LOSSES: dict[str, Criterion] = {
    "cross_entropy": cross_entropy,
    "squared": lambda output, y: 0.5 * mse_loss(output.reshape(-1), y.reshape(-1), reduction="sum"),
}


def gradients_plan(steps: int, rate: float, *, private: bool) -> Plan:
    """One gradient for each step, of rows that take part with probability `rate`."""
    rows = EveryRow() if rate >= 1 else PoissonRows(rate)
    noise = Noise.GAUSSIAN if private else Noise.NONE
    return Plan(asks=(Ask(name="gradient", noise=noise, times=steps, rows=rows),))


def receipt(priced: PricedPlan, clip: float) -> Receipt:
    """What is drawn for one answer: public."""
    return ClippedMeanNoise(priced.plan, priced, clip, 1).receipt("gradient")


@dataclass(frozen=True, eq=False, repr=False)
class NetworkRows:
    """Rows and targets as tensors: **private**. `empty` marks records that are ignored."""

    X: torch.Tensor
    y: torch.Tensor
    known: NDArray[np.bool_]
    n_rows: int

    def mark(self, key: bytes) -> str:
        """A keyed mark of all rows, the same for every order: the sum of keyed hashes of single rows."""
        X, y = self.X.numpy(), self.y.numpy()
        rows = (x.tobytes() + t.tobytes() + bool(k).to_bytes() for x, t, k in zip(X, y, self.known, strict=True))
        hashes = (int.from_bytes(hashlib.blake2b(row, key=key, digest_size=16).digest()) for row in rows)
        return f"{sum(hashes) % 2**128:032x}"


def example_target(loss: str, classes: int | None) -> torch.Tensor:
    """The target of which a loss asks most, for trial runs: the last class, for which the network needs an output."""
    if loss != "cross_entropy":
        return torch.zeros(1, dtype=torch.float32)
    assert classes is not None
    return torch.full((1,), classes - 1, dtype=torch.int64)


def private_rows(X: object, y: object, loss: str, classes: int | None, n_rows: int) -> NetworkRows:
    """Rows as float32 tensors; silent.

    A record with a cell that is no finite number of 32 bits, or a class outside the
    declared ones, counts as empty.
    """
    with suppress_messages():
        features, targets = _features(_array(X)), _targets(_array(y), classes if loss == "cross_entropy" else None)
        if features.shape[0] != targets.shape[0]:
            raise DataError("one target for each row was expected.")
        known = np.isfinite(targets) & np.isfinite(features).all(axis=tuple(range(1, features.ndim)))
        coded = np.where(known, targets, 0).astype(np.int64 if loss == "cross_entropy" else np.float32)
        return NetworkRows(torch.from_numpy(features), torch.from_numpy(coded), known, n_rows)


def _array(values: object) -> Any:
    """Tensors as arrays; lists as arrays in which every cell stays what it is."""
    if isinstance(values, torch.Tensor):
        return values.detach().cpu().to(torch.float64 if values.is_floating_point() else values.dtype).numpy()
    return np.asarray(values, dtype=object) if isinstance(values, list | tuple) else values


def _features(X: object) -> NDArray[np.float32]:
    plain = isinstance(X, np.ndarray) and X.dtype.kind in "biuf" and not np.ma.isMaskedArray(X)
    return np.ascontiguousarray(X if plain else cell_numbers(X), dtype=np.float32)


def _targets(y: object, classes: int | None) -> NDArray[np.float64 | np.float32]:
    """Codes of classes, or numbers of 32 bits; not finite for anything else."""
    return center_targets(y, 0.0).astype(np.float32) if classes is None else code_classes(y, range(classes))


class NetworkOracle:
    """Noisy mean gradients of a network on private rows.

    Parameters
    ----------
    gradients : RowGradients
        Tried on synthetic rows.
    rows : NetworkRows
    plan : PricedPlan or Plan
        A plan without a price is answered exactly, for baselines.
    clip : float
    randomness : Randomness
    payment : Payment, optional
    """

    def __init__(
        self,
        gradients: RowGradients,
        rows: NetworkRows,
        plan: PricedPlan | Plan,
        clip: float,
        randomness: Randomness,
        payment: PaymentLike | None = None,
    ) -> None:
        self._gradients = gradients
        self._rows = rows
        self._priced = None if isinstance(plan, Plan) else plan
        self._clip = clip
        self._randomness = randomness
        known = plan if isinstance(plan, Plan) else plan.plan
        self._gate = Gate(ClippedMeanNoise(known, self._priced, clip, rows.n_rows), randomness.key, payment)

    @property
    def receipts(self) -> list[Receipt]:
        """What was drawn so far."""
        return self._gate.receipts

    def gradient(self, w: Vector) -> Vector:
        """Charge, add up, protect, divide by what is public."""
        charge = self._gate.next(Gradient(w, Clip(self._clip)), "gradient")
        use(charge)
        taking = self._rows.known.copy()
        if charge.sample is not None:
            taking &= charge.sample.mask(0, taking.size)
        if self._priced is None:
            return self._gradients.exact(w, self._rows.X, self._rows.y, taking) / charge.divisor
        total = self._gradients.total(w, self._rows.X, self._rows.y, taking, self._clip)
        noisy = lattice_gaussian(total, self._priced.kappa * UNITS / charge.strength, self._randomness)
        self._gate.receipts.append(charge.receipt)
        return np.asarray(noisy * (self._clip / UNITS / charge.divisor))


def descend(w: Vector, oracle: NetworkOracle, steps: int, step_size: float, sparsity: int) -> Vector:
    """Steps of stochastic gradient hard thresholding over all parameters: post-processing of what the oracle says."""
    for _ in range(steps):
        w = hard_threshold(w - step_size * oracle.gradient(w), sparsity)
    return w
