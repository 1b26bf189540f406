"""The protocol: everything that a server and its sites agree on beforehand. Public, and checked by every site."""

from __future__ import annotations

import math
import re
import secrets
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np

from ...algorithms.federated import FedHT
from ...algorithms.sgd import SGD
from ...algorithms.steps import FixedSteps, PacedSteps, SampledSecantSteps, StepRule
from ...core import Adjacency, Budget, EveryRow, Noise, Plan, PoissonRows, PrivacyError
from ...core.codec import Document, form
from ...core.facts import Clip, Facts, Penalty
from ...core.plain import to_json
from ...core.release import release
from ...fitting import FitPlan
from ...queries import losses
from ...queries.losses import Loss
from .certificate import NOTHING, ROWS, SITES, SiteSummary

NONCE = re.compile(r"[0-9a-f]{32}")
#: Bounds beyond would leave the range of floats at a site.
LARGEST_BOUND = 1e100
#: Limits of what a site takes part in.
LARGEST_ROUNDS, LARGEST_STEPS, LARGEST_SITES, LARGEST_MODELS = 10**6, 10**6, 10**5, 10**4
#: The facts that sites need; how many rows a site has is its own.
SHOWN = ("n_features", "lower", "upper", "row_norm", "shift", "intercept", "target_bound", "scale", "sparsity")

#: A class label.
Label = bool | int | float | str


@form(made=lambda protocol: protocol.check() or protocol)
@dataclass(frozen=True, kw_only=True)
class Protocol(Document):
    """What sites do in every round, within which bounds, and how their models are put together.

    Attributes
    ----------
    nonce : str
        32 hexadecimal digits that a server draws for each run: reports of one run are not taken in another.
    sites : tuple of str
        Names, in the order of their numbers.
    weights : tuple of float
        Public part of each site in the average; together 1.
    unit : str
        What is protected, and by whom: ``one row of one site`` by the sites themselves, ``one whole site`` by the server, or nothing.
    rounds, local_steps : int
    sparsity : int
        Coefficients that sites and server keep.
    pieces : tuple of float
        Step size, or piece of the path, of each local step.
    clip : float
        Norm to which the gradient of a row is clipped.
    rate : float
        Sampling rate of rows; 1: every row.
    ridge : float
        Weight of the l2 penalty.
    pace : dict or None
        Fields of `PacedSteps`.
    secant : bool
        Steps from exact curvatures, where nothing is private.
    radius : float
        Norm within which a site changes the model in a round.
    adjacency : str
        Neighbours of the promise of each site.
    models : int
        Models of one class each, or 1.
    facts, loss, classes, target_center
        As in `dpsparse.local.Protocol`.
    recipe : str
        Name of the algorithm, for statements.
    release : str
        The server's release (`dpsparse.core.release`); sites of another one do not take part.
    """

    format: ClassVar[str] = "dpsparse-federated"
    version: ClassVar[int] = 2
    what: ClassVar[str] = "a federated protocol of dpsparse"

    nonce: str
    sites: tuple[str, ...]
    weights: tuple[float, ...]
    unit: str
    rounds: int
    local_steps: int
    sparsity: int
    pieces: tuple[float, ...]
    clip: float
    rate: float
    ridge: float
    pace: dict[str, Any] | None
    secant: bool
    radius: float
    adjacency: str
    models: int
    facts: dict[str, Any]
    loss: dict[str, Any]
    recipe: str
    release: str
    classes: tuple[Label, ...] | None = None
    target_center: float = 0.0

    @classmethod
    def of(
        cls,
        prepared: FitPlan,
        sites: Sequence[str],
        weights: Sequence[float],
        unit: str,
        radius: float,
        *,
        nonce: str | None = None,
    ) -> Protocol:
        """The protocol of a prepared federated recipe; a new run unless its nonce is given."""
        loop, request = prepared.solver, prepared.request
        assert isinstance(loop, FedHT)
        stored = losses.stored_loss(prepared.loss)
        if stored["loss"] == "Unstored":
            raise PrivacyError(f"the loss {prepared.loss.name!r} was given as functions, which a protocol cannot hold.")
        rows, rule = loop.local.rows, loop.local.step_rule
        return cls(
            nonce=secrets.token_hex(16) if nonce is None else nonce,
            sites=tuple(sites),
            weights=tuple(map(float, weights)),
            unit=unit,
            rounds=loop.rounds,
            local_steps=len(loop.local.step_sizes),
            sparsity=loop.sparsity,
            pieces=tuple(map(float, loop.local.step_sizes)),
            clip=float(loop.local.clip.norm),
            rate=rows.rate if isinstance(rows, PoissonRows) else 1.0,
            ridge=float(loop.local.penalty.alpha),
            pace=asdict(rule) if isinstance(rule, PacedSteps) else None,
            secant=isinstance(rule, SampledSecantSteps),
            radius=float(radius),
            adjacency=str(request.adjacency),
            models=prepared.models,
            facts={name: to_json(getattr(prepared.facts, name)) for name in SHOWN},
            loss=stored,
            recipe=prepared.recipe.name,
            release=release(),
            classes=None if request.classes is None else tuple(request.classes.tolist()),
            target_center=request.target_center,
        )

    @property
    def private(self) -> bool:
        """Whether sites add noise themselves."""
        return self.unit == ROWS

    @property
    def turns(self) -> int:
        """Noisy answers of a site in all rounds together."""
        return self.rounds * self.local_steps * self.models

    @property
    def site_plan(self) -> Plan:
        """What one site is asked in all rounds together, for all models; the budget does not matter to it."""
        one = self.loop().round_plan(self.site_facts(1), Budget.approx(1.0, 0.5))
        return one.repeated(self.rounds * self.models)

    @property
    def size(self) -> int:
        """Numbers in a task or a report."""
        return self.models * self.site_facts(1).dimension

    @property
    def about(self) -> SiteSummary:
        """For statements."""
        return SiteSummary(self.recipe, self.site_loss().name, self.adjacency, self.unit)

    def site_facts(self, n_rows: int) -> Facts:
        """The bounds as the trusted rooms take them, for a site with this public number of rows."""
        values: dict[str, Any] = {
            k: np.asarray(v, dtype=float) if isinstance(v, list) else v for k, v in self.facts.items()
        }
        loss = self.site_loss()
        target = losses.target_of(loss, values.pop("target_bound"))
        return Facts(
            n_rows=n_rows,
            target=target,
            loss=loss.name,
            slope_bound=loss.slope_bound,
            curvature=loss.curvature,
            **values,
        )

    def site_loss(self) -> Loss:
        """The loss."""
        return losses.restored_loss(self.loss)

    def loop(self) -> FedHT:
        """Local walk and average."""
        rule: StepRule = SampledSecantSteps(self.sparsity) if self.secant else FixedSteps()
        if self.pace is not None:
            rule = PacedSteps(**self.pace)
        local = SGD(
            step_sizes=self.pieces,
            clip=Clip(self.clip),
            rows=EveryRow() if self.rate >= 1 else PoissonRows(self.rate),
            sparsity=self.sparsity,
            penalty=Penalty(kind="l2", alpha=self.ridge),
            step_rule=rule,
            noise=Noise.GAUSSIAN if self.private else Noise.NONE,
        )
        return FedHT(local=local, rounds=self.rounds, sparsity=self.sparsity)

    def check(self) -> None:
        """Refuse, with ValueError, TypeError or KeyError, what no server of ours publishes."""
        whole = (
            (self.rounds, LARGEST_ROUNDS),
            (self.local_steps, LARGEST_STEPS),
            (self.sparsity, LARGEST_BOUND),
            (self.models, LARGEST_MODELS),
            (len(self.sites), LARGEST_SITES),
        )
        numbers = (self.clip, self.radius, *self.pieces, *self.weights)
        named = all(isinstance(s, str) and 0 < len(s) <= 200 for s in self.sites)
        holds = (
            NONCE.fullmatch(self.nonce) is not None
            and all(type(n) is int and 1 <= n <= most for n, most in whole)
            and len(self.pieces) == self.local_steps
            and len(self.weights) == len(self.sites) == len(set(self.sites))
            and named
            and type(self.release) is str
            and all(0 < v <= LARGEST_BOUND for v in numbers)
            and math.isclose(math.fsum(self.weights), 1.0, rel_tol=1e-9)
            and 0 < self.rate <= 1
            and 0 <= self.ridge <= LARGEST_BOUND
            and self.unit in (ROWS, SITES, NOTHING)
            and math.isfinite(self.target_center)
            and not (self.secant and (self.private or self.pace is not None))
        )
        if not holds:
            raise ValueError("a number of the protocol is none that a server publishes.")
        Adjacency.named(self.adjacency)
        self._check_facts()
        self.loop()

    def _check_facts(self) -> None:
        shown = {k: v for k, v in self.facts.items() if k != "sparsity"}
        if self.facts.keys() != set(SHOWN) or not all(np.all(np.abs(v) <= LARGEST_BOUND) for v in shown.values()):
            raise ValueError("the bounds of a protocol must be there, and finite.")
        facts = self.site_facts(1)
        each = [np.broadcast_to(v, facts.n_features) for v in (facts.lower, facts.upper, facts.shift, facts.scale)]
        ordered = np.all(each[0] <= each[1]) and np.all(each[3] > 0) and facts.intercept >= 0
        if not (ordered and min(facts.n_features, facts.row_norm, facts.target_bound) > 0):
            raise ValueError("the bounds of a protocol must leave room for a row.")
        classes = self.site_loss().classes
        if classes is (self.classes is None) or (classes and self.models not in (1, len(self.classes or ()))):
            raise ValueError("losses of classes need them, and other losses none.")
