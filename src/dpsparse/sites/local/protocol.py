"""The protocol: everything that devices and server agree on beforehand. Public, and checked by every device."""

from __future__ import annotations

import math
import secrets
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from ...accounting import price
from ...core import Ask, Budget, Noise, OncePerPerson, Plan, PrivacyError
from ...core.codec import form
from ...core.curves import gaussian_epsilon
from ...core.facts import Clip, Facts
from ...core.plain import to_json
from ...core.release import release
from ...fitting import FitPlan
from ...oracles.local import LocalNoise
from ...queries import losses
from ...queries.kinds import Gradient, RandomizedLabels
from ...queries.losses import Loss
from ..rounds.protocol import NONCE, RunProtocol, read_facts, storable_loss

#: The facts that devices need.
SHOWN = ("n_rows", "n_features", "lower", "upper", "row_norm", "shift", "intercept", "target_bound", "scale")


@form(made=lambda protocol: protocol.terms and protocol)  # refuses what no randomiser takes
@dataclass(frozen=True, kw_only=True)
class Protocol(RunProtocol):
    """What is asked, how it is randomised, and within which bounds.

    Attributes
    ----------
    nonce, rounds, release
        As in `RunProtocol`; there are as many groups of people as rounds.
    labels : bool
        Labels are asked for, and features are public; otherwise gradients.
    noise : str
        ``local`` (pure) or ``local-gaussian``.
    strength : float
        Epsilon of one pure report, or mu of a Gaussian one.
    randomiser : str
        As in `OncePerPerson`.
    delta : float
        Zero for pure reports.
    facts : dict
        Bounds, shift, height of the intercept column, and what devices divide their columns by.
    loss : dict
        The loss, as `losses.stored` writes it.
    classes : tuple or None
        The two classes; None for numbers.
    target_center : float
        Public centre of the target.
    """

    format: ClassVar[str] = "dpsparse-local"
    version: ClassVar[int] = 4
    what: ClassVar[str] = "a dpsparse protocol of local reports"

    labels: bool
    noise: str
    strength: float
    randomiser: str
    delta: float
    facts: dict[str, Any]
    loss: dict[str, Any]
    classes: tuple[bool | int | float | str, ...] | None = None
    target_center: float = 0.0

    @classmethod
    def of(cls, prepared: FitPlan, *, nonce: str | None = None) -> Protocol:
        """The protocol of a prepared recipe with one ask; a new run unless its nonce is given."""
        priced, request = prepared.priced, prepared.request
        if priced is None or not priced.plan.local or len(priced.plan.asks) != 1:
            raise PrivacyError(
                "devices answer recipes of the local model with one ask, such as recipe='ldp_iht' or 'label_ldp_iht'."
            )
        [ask] = priced.plan.asks
        assert isinstance(ask.rows, OncePerPerson)
        return cls(
            nonce=secrets.token_hex(16) if nonce is None else nonce,
            rounds=ask.times,
            labels=ask.rows.labels,
            noise=str(ask.noise),
            strength=priced.cost(ask.name).strength,
            randomiser=ask.rows.randomiser,
            delta=prepared.delta,
            facts={name: to_json(getattr(prepared.facts, name)) for name in SHOWN},
            loss=storable_loss(prepared.loss),
            release=release(),
            classes=None if request.classes is None else tuple(request.classes.tolist()),
            target_center=request.target_center,
        )

    @property
    def size(self) -> int:
        """Numbers in a task."""
        return 0 if self.labels else self.terms.facts.dimension

    def epsilon(self) -> float:
        """What one report costs, at `delta`."""
        return self.strength if self.noise == Noise.LOCAL else gaussian_epsilon(self.strength, self.delta)

    def restored_facts(self) -> Facts:
        """The bounds as the trusted packages take them."""
        if not math.isfinite(self.target_center):
            raise ValueError("the centre of the target must be finite.")
        return read_facts(self.facts, SHOWN, self.restored_loss())

    def restored_loss(self) -> Loss:
        """The loss."""
        return losses.restored_loss(self.loss)

    @cached_property
    def terms(self) -> LocalNoise:
        """Randomisers at this price: the same that a simulated fit has. Refuses invalid bounds and prices."""
        if not NONCE.fullmatch(self.nonce):
            raise ValueError("the nonce of a protocol has 32 hexadecimal digits.")
        if not (math.isfinite(self.strength) and self.strength > 0 and self.rounds >= 1 and 0 <= self.delta < 1):
            raise ValueError("the price or the rounds of a protocol are no numbers.")
        rows = OncePerPerson(labels=self.labels, randomiser=self.randomiser)
        name = "labels" if self.labels else "gradient"
        kind = "RandomizedLabels" if self.labels else "Gradient"
        plan = Plan(asks=(Ask(name=name, question=kind, noise=Noise(self.noise), times=self.rounds, rows=rows),))
        # an ask of share 1 costs rho = rate, and its strength is sqrt(2 rho)
        priced = replace(price(plan, Budget.zcdp(1.0)), rho_scale=self.strength**2 / 2)
        facts, loss = self.restored_facts(), self.restored_loss()
        if len(self.classes or ()) != (2 if loss.classes else 0):
            raise ValueError("losses of classes need two of them, and other losses none.")
        terms = LocalNoise(priced, facts, loss.classes)
        terms.randomiser(RandomizedLabels() if self.labels else Gradient(np.zeros(facts.dimension), Clip(1.0)), name)
        return terms
