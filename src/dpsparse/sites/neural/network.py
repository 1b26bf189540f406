"""Sparse networks under differential privacy: DP-SGD-HT over all parameters of any module of PyTorch."""

from __future__ import annotations

import hashlib
import json
from os import PathLike
from typing import Any, Self

import numpy as np
import torch

from ...accounting import PlanCost, PricedPlan, price
from ...core import Adjacency, Budget, DataError, Statement, checks
from ...core.errors import ModelEditedError
from ...core.facts import Vector
from ...core.mechanisms import Randomness
from ...core.regular_files import open_whole, parse_json, read_bytes
from ...fitting import Seed, default_delta, public_rows, warn_if_seeded
from ...fitting.drawn import Drawn
from ...fitting.session import session
from ...fitting.statement import complete
from ...ledger import Ledger
from ..federated.certificate import state_run
from ..rounds.protocol import NOTHING, SiteSummary
from .gradients import LARGEST_CLIP, SMALLEST_CLIP, RowGradients, to_vector
from .oracle import LOSSES, NetworkOracle, descend, example_target, gradients_plan, private_rows

TESTED = "that the network treats each row separately was tested on synthetic rows and is not proven"
TESTED_BITS = "differences in the last bits of its floats between kinds of processors are not covered"


class SparseNetwork:
    r"""A network of PyTorch with few nonzero parameters, trained under differential privacy by DP-SGD-HT.

    .. math:: w_{t+1} = H_\tau\Bigl(w_t - \eta\bigl(\tfrac{1}{qn}
              \textstyle\sum_{i \in B_t} \mathrm{clip}_C\,g_i(w_t) + \text{noise}\bigr)\Bigr)

    Guarantee
    ---------
    As `DPSGDHT`: Gaussian answers on Poisson samples, priced together before a row is read; see
    `RowGradients` and `NetworkOracle` for what one row adds. The start is the module's own
    parameters, which must not depend on the rows.

    Parameters
    ----------
    module : torch.nn.Module
        Not changed. Its parameters are the public start.
    epsilon : float or None
        None: **without privacy**, a baseline.
    delta : float or None
        None: min(1e-6, 1/(10 n)).
    sparsity : int
        Nonzero parameters kept after every step.
    steps : int
    step_size : float
    clip : float
        Norm to which the gradient of one row, over all parameters, is clipped.
    batch_size : float
        Expected rows of a Poisson batch; all rows from n on.
    loss : {"cross_entropy", "squared"}
    classes : int or None
        Number of classes, coded 0, 1, ...; for cross-entropy.
    adjacency, n_rows, ledger, dataset, label, run_id, random_state
        As in `SparseClassifier`.

    Attributes
    ----------
    w_ : array
        All parameters.
    statement_ : Statement
    """

    def __init__(
        self,
        module: torch.nn.Module,
        *,
        epsilon: float | None,
        delta: float | None = None,
        sparsity: int,
        steps: int,
        step_size: float,
        clip: float = 1.0,
        batch_size: float = 256,
        loss: str = "cross_entropy",
        classes: int | None = None,
        adjacency: str = "replace-one",
        n_rows: int | None = None,
        ledger: Ledger | str | None = None,
        dataset: str | None = None,
        label: str | None = None,
        run_id: str | None = None,
        random_state: Seed = None,
    ) -> None:
        self.module = module
        self.epsilon = epsilon
        self.delta = delta
        self.sparsity = checks.whole(sparsity, "sparsity")
        self.steps = checks.whole(steps, "steps")
        self.step_size = checks.positive(step_size, "step_size")
        self.clip = checks.positive(clip, "clip", least=SMALLEST_CLIP, most=LARGEST_CLIP)
        self.batch_size = checks.positive(batch_size, "batch_size")
        self.loss = checks.one_of(loss, "loss", LOSSES)
        self.classes = checks.whole(classes, "classes", least=2) if loss == "cross_entropy" else None
        self.adjacency = Adjacency.named(adjacency)
        self.n_rows = n_rows
        self.ledger = ledger
        self.dataset = dataset
        self.label = label
        self.run_id = run_id
        self.random_state = random_state
        self._gradients = RowGradients(module, LOSSES[self.loss])
        self.w_: Vector
        self.statement_: Statement

    @property
    def recipe(self) -> str:
        """Which algorithm this is."""
        return "sgd_ht" if self.epsilon is None else "dp_sgd_ht"

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Names and shapes of the parameters, in their order."""
        return self._gradients.shapes

    def start(self) -> Vector:
        """The parameters that the module came with, as one vector."""
        return self._gradients.start()

    def price(self, n_rows: int) -> tuple[PricedPlan | None, float]:
        """The price of all steps for this number of rows, and the delta at which it is stated. Reads no row."""
        delta = default_delta(n_rows) if self.delta is None else self.delta
        if self.epsilon is None:
            return None, delta
        plan = gradients_plan(self.steps, self._rate(n_rows), private=True)
        return price(plan, Budget.approx(self.epsilon, delta, str(self.adjacency))), delta

    def _rate(self, n_rows: int) -> float:
        return min(1.0, self.batch_size / n_rows)

    def fit(self, X: Any, y: Any) -> Self:
        """Train on private rows: X of shape (rows, ...) as the module takes it, y of shape (rows,)."""
        shape = np.shape(X)
        n = public_rows(self.n_rows, self.adjacency, shape[0])
        priced, delta = self.price(n)
        self._gradients.rehearse(tuple(shape[1:]), example_target(self.loss, self.classes))
        randomness = Randomness(self.random_state)
        if priced is not None:
            warn_if_seeded(randomness, "fit")
        plan = gradients_plan(self.steps, self._rate(n), private=False) if priced is None else priced
        bill = None if priced is None else PlanCost.of(priced)
        tested = (TESTED, TESTED_BITS)
        draft = state_run(self.about, n, priced, delta, None, secure=randomness.secure, assumptions=tested)
        with session(self, bill=bill, label=self.recipe, delta=delta, randomness=randomness) as opened:
            rows = private_rows(X, y, self.loss, self.classes, n)
            oracle = NetworkOracle(self._gradients, rows, plan, self.clip, randomness, opened.payment)
            self.w_ = descend(self._gradients.start(), oracle, self.steps, self.step_size, self.sparsity)
        self.statement_ = complete(draft, [Drawn(oracle.receipts, plan)], opened.payment)
        return self

    @property
    def about(self) -> SiteSummary:
        """For statements."""
        unit = NOTHING if self.epsilon is None else "one row"
        return SiteSummary(self.recipe, self.loss, str(self.adjacency), unit)

    def keep(self, w: Vector, statement: Statement) -> Self:
        """Take over parameters that were trained elsewhere, with their statement."""
        if w.shape != (self._gradients.dimension,):
            raise ValueError("the parameters are those of another network.")
        self.w_, self.statement_ = w, statement
        return self

    # ---------------------------------------------------------------------------------------------- after training

    def decision_function(self, X: object) -> np.ndarray:
        """Outputs of the network."""
        features = torch.from_numpy(np.ascontiguousarray(np.asarray(X), dtype=np.float32))
        parts = [self._gradients.outputs(self.w_, part) for part in torch.split(features, 1000)]
        return np.asarray(torch.cat(parts).numpy())

    def predict(self, X: object) -> np.ndarray:
        """Classes, or numbers."""
        found = self.decision_function(X)
        return found.argmax(axis=1) if self.loss == "cross_entropy" else found.reshape(len(found))

    def score(self, X: object, y: object) -> float:
        """Part of the classes that are right; without privacy for the rows that are shown to it."""
        return float(np.mean(self.predict(X) == np.asarray(y)))

    def trained_module(self) -> torch.nn.Module:
        """A copy of the module with the trained parameters."""
        import copy

        made = copy.deepcopy(self.module)
        made.load_state_dict(self._gradients.parameters(self.w_), strict=False)
        return made

    def save(self, path: str | PathLike[str]) -> None:
        """Write parameters and statement to a safetensors file (no pickle)."""
        write_network(path, self._gradients.parameters(self.w_), self.statement_)

    def load(self, path: str | PathLike[str]) -> Self:
        """Read parameters and statement of a network of the same shape."""
        return self.keep(*read_network(path, self.shapes))


FORMAT, VERSION = "dpsparse-network", 1
#: Files beyond are not read.
LARGEST_BYTES = 2**32


def write_network(path: str | PathLike[str], tensors: dict[str, torch.Tensor], statement: Statement) -> None:
    """Write a file that appears whole or not at all."""
    from safetensors.torch import save

    held = {name: tensor.contiguous().clone() for name, tensor in tensors.items()}
    said = statement.to_json(indent=None)
    metadata = {"format": FORMAT, "version": str(VERSION), "statement": said, "digest": _digest(held, said)}
    with open_whole(path, 0o666) as file:
        file.write(save(held, metadata=metadata))


def read_network(path: str | PathLike[str], shapes: dict[str, tuple[int, ...]]) -> tuple[Vector, Statement]:
    """Parameters as one vector, and the statement.

    Raises
    ------
    DataError
        If the file is no network, or one of other shapes.
    ModelEditedError
        If it was changed after it was saved.
    """
    from safetensors.torch import load

    content = read_bytes(path, LARGEST_BYTES, "a network of dpsparse")
    try:
        size = int.from_bytes(content[:8], "little")
        metadata: dict[str, Any] = parse_json(content[8 : 8 + size])["__metadata__"]
        if metadata["format"] != FORMAT or metadata["version"] != str(VERSION):
            raise ValueError
        tensors = load(content)
        statement = Statement.from_dict(json.loads(metadata["statement"]))
        w = to_vector({name: np.asarray(t) for name, t in tensors.items()}, shapes)
    except Exception:  # whatever the library says of a file of another kind
        raise DataError(f"{path} is not a network of dpsparse of this shape.") from None
    if metadata.get("digest") != _digest(tensors, metadata["statement"]):
        raise ModelEditedError(f"{path} was changed after it was saved. Load the original.")
    return w, statement


def _digest(tensors: dict[str, torch.Tensor], statement: str) -> str:
    found = hashlib.sha256(statement.encode())
    for name in sorted(tensors):
        found.update(name.encode() + b"\0" + str(tuple(tensors[name].shape)).encode())
        found.update(tensors[name].contiguous().numpy().tobytes())
    return found.hexdigest()
