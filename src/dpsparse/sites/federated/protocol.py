"""The protocol: everything that a server and its sites agree on beforehand. Public, and checked by every site."""

from __future__ import annotations

import math
import secrets
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from ...algorithms.federated import FedHT
from ...algorithms.sgd import SGD
from ...algorithms.steps import FixedSteps, PacedSteps, SampledSecantSteps, StepRule
from ...core import Budget, EveryRow, Noise, Plan, PoissonRows
from ...core.checks import ROW, unit_name, unit_phrase
from ...core.codec import form
from ...core.facts import Clip, Facts, Penalty
from ...core.plain import to_json
from ...core.release import release
from ...fitting import FitPlan
from ...queries import losses
from ...queries.losses import Loss
from ..rounds.protocol import LARGEST_BOUND, NOTHING, ROWS, SITES, SiteProtocol, SiteSummary, read_facts, storable_loss

#: Limits of what a site takes part in.
LARGEST_ROUNDS, LARGEST_STEPS, LARGEST_SITES, LARGEST_MODELS = 10**6, 10**6, 10**5, 10**4
#: The facts that sites need; how many rows a site has is its own.
SHOWN = ("n_features", "lower", "upper", "row_norm", "shift", "intercept", "target_bound", "scale", "sparsity")

#: A class label.
Label = bool | int | float | str


@form(later=(("record", "sites_per_unit"),), made=lambda protocol: protocol.check() or protocol)
@dataclass(frozen=True, kw_only=True)
class Protocol(SiteProtocol):
    """What sites do in every round, within which bounds, and how their models are put together.

    Attributes
    ----------
    nonce, rounds, release, sites, weights, local_steps, sparsity, clip, rate, radius, adjacency
        As in `SiteProtocol`.
    unit : str
        What is protected, and by whom: ``one row of one site`` by the sites themselves,
        ``one whole site`` by the server, or nothing.
    pieces : tuple of float
        Step size, or piece of the path, of each local step.
    ridge : float
        Weight of the l2 penalty.
    pace : dict or None
        Fields of `PacedSteps`.
    secant : bool
        Steps from exact curvatures, where nothing is private.
    models : int
        Models of one class each, or 1.
    facts, loss, classes, target_center
        As in `dpsparse.local.Protocol`.
    recipe : str
        Name of the algorithm, for statements.
    record : str
        The word for what is one record at a site: a row, or a unit such as a patient.
    sites_per_unit : int
        At most this number of sites know the same unit; for statements.
    """

    format: ClassVar[str] = "dpsparse-federated"
    version: ClassVar[int] = 2
    what: ClassVar[str] = "a federated protocol of dpsparse"

    unit: str
    pieces: tuple[float, ...]
    ridge: float
    pace: dict[str, Any] | None
    secant: bool
    models: int
    facts: dict[str, Any]
    loss: dict[str, Any]
    recipe: str
    classes: tuple[Label, ...] | None = None
    target_center: float = 0.0
    record: str = ROW
    sites_per_unit: int = 1

    @classmethod
    def of(
        cls,
        prepared: FitPlan,
        sites: Sequence[str],
        weights: Sequence[float],
        unit: str,
        radius: float,
        *,
        sites_per_unit: int = 1,
        nonce: str | None = None,
    ) -> Protocol:
        """The protocol of a prepared federated recipe; a new run unless its nonce is given."""
        loop, request = prepared.solver, prepared.request
        assert isinstance(loop, FedHT)
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
            loss=storable_loss(prepared.loss),
            recipe=prepared.recipe.name,
            release=release(),
            classes=None if request.classes is None else tuple(request.classes.tolist()),
            target_center=request.target_center,
            record=request.unit,
            sites_per_unit=sites_per_unit,
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
        unit = self.unit if self.record == ROW else f"{unit_phrase(self.record)} of one site"
        return SiteSummary(self.recipe, self.site_loss().name, self.adjacency, unit, self.record, self.sites_per_unit)

    def site_facts(self, n_rows: int) -> Facts:
        """The bounds as the trusted packages take them, for a site with this public number of rows."""
        loss = self.site_loss()
        more = {"loss": loss.name, "slope_bound": loss.slope_bound, "curvature": loss.curvature}
        more["unit"] = self.record
        return read_facts(self.facts, SHOWN, loss, n_rows=n_rows, **more)

    def site_loss(self) -> Loss:
        """The loss."""
        return losses.restored_loss(self.loss)

    def loop(self) -> FedHT:
        """Local steps and average."""
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
            (self.sites_per_unit, len(self.sites)),
        )
        self.check_rounds(whole, self.pieces)
        holds = (
            len(self.pieces) == self.local_steps
            and 0 <= self.ridge <= LARGEST_BOUND
            and self.unit in (ROWS, SITES, NOTHING)
            and math.isfinite(self.target_center)
            and not (self.secant and (self.private or self.pace is not None))
            and (self.private or (self.record == ROW and self.sites_per_unit == 1))
            and self.record == unit_name(None if self.record == ROW else self.record)
        )
        if not holds:
            raise ValueError("a field of the protocol is out of range.")
        self.site_facts(1)
        self.loop()
        classes = self.site_loss().classes
        if classes is (self.classes is None) or (classes and self.models not in (1, len(self.classes or ()))):
            raise ValueError("losses of classes need them, and other losses none.")
