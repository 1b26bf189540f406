"""The statement: what was guaranteed to each person in the data, as a frozen record."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Annotated, Any

from . import words
from .attacker import attacker_success
from .codec import Count, Infinite, Limits, Record, form
from .plan import Noise

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: What the caveat of everything ends with whose noise came from a seed, and which is therefore not private.
SEEDED = "with a fixed seed: not private"

NonNegative = Annotated[float, Limits(0, infinite=True)]

#: What the ratio sensitivity / scale of one draw is called, by noise.
COST_NAMES = {
    Noise.GAUSSIAN: "mu",
    Noise.DISCRETE_GAUSSIAN: "mu",
    Noise.GUMBEL: "eta",
    Noise.LAPLACE: "epsilon",
    Noise.PERMUTE_AND_FLIP: "epsilon",
    Noise.OBJECTIVE: "m",
    Noise.LOCAL: "epsilon",
    Noise.LOCAL_GAUSSIAN: "mu",
    Noise.NONE: "none",
}


@dataclass(frozen=True)
class Receipt:
    """One answer of an oracle, as it was drawn: public, since noise scales are.

    Attributes
    ----------
    ask : str
        Name of the ask.
    noise : Noise
        Mechanism.
    draws : int
        Mechanisms composed in this answer.
    rate : float
        Sampling rate of the rows; 1 means every row. In the local model: the part of the people who answer.
    sensitivity : float
        How far neighbours can move the query: l2 for Gaussians, l1 for Laplace, the range of score differences for
        selections. Where rows are sampled: kappa times the norm of one record. In the local model: how far apart two
        answers of one person can be, before they are randomised.
    scale : float
        Standard deviation or scale of the noise that was added, in the same units. Pure local randomisers add none, and
        state sensitivity / epsilon.
    offset : float
        Loss beside what the noise leaves: the log-determinant of a perturbed objective.
    part : str
        Which part of the rows answered, where each row is in one: prices of parts do not add up. Empty: all rows.
    """

    ask: str
    noise: Noise
    draws: int
    rate: float
    sensitivity: float
    scale: float
    offset: float = 0.0
    part: str = ""


@dataclass(frozen=True)
class AskSummary:
    """Equal answers of one ask of one part, counted.

    `cost` is sensitivity / scale of one draw, in the unit `cost_name`.
    """

    name: str
    times: Count
    draws: Count
    noise: Noise
    rate: float
    sensitivity: float
    scale: float
    cost: Infinite
    cost_name: str
    offset: float = 0.0
    part: str = ""


def ask_summaries(answers: Iterable[Receipt]) -> tuple[AskSummary, ...]:
    """Group equal answers, in the order of their first appearance."""
    return tuple(
        AskSummary(
            name=a.ask,
            times=k,
            draws=a.draws,
            noise=a.noise,
            rate=a.rate,
            sensitivity=a.sensitivity,
            scale=a.scale,
            cost=a.sensitivity / a.scale if a.scale else math.inf,
            cost_name=COST_NAMES[a.noise],
            offset=a.offset,
            part=a.part,
        )
        for a, k in Counter(answers).items()
    )


def _earlier(content: dict[str, Any]) -> dict[str, Any]:
    """Statements from before `priced`, which called seeded fits private."""
    caveats = content.get("caveats")
    seeded = isinstance(caveats, list) and any(isinstance(c, str) and c.endswith(SEEDED) for c in caveats)
    private = {"private": False} if seeded and content.get("private") is True else {}
    return {"priced": content.get("private"), **content, **private}


@form(back=_earlier, later=(("bill",),))
@dataclass(frozen=True, kw_only=True)
class Statement(Record):
    """What a fit guaranteed.

    Attributes
    ----------
    private : bool
        Whether there is a guarantee: False for baselines, for plans without a proof, for noise from a
        seed, and for a model file that was edited. The caveats say which.
    epsilon, delta : float
        The guarantee in (epsilon, delta)-DP; where `private` is False, what the noise was made for.
    rho, mu : float
        The same plan in zCDP and in Gaussian DP: exact for unsampled Gaussians, otherwise upper
        bounds. Infinite (None in JSON) where nothing is proven, or where they would say much less
        than epsilon and delta: see `fitting.statement.in_other_words`.
    adjacency, unit : str
        Which datasets count as neighbours, and what one unit of privacy is.
    recipe, loss : str
        The algorithm.
    n_rows : int
        The public number of rows.
    asks : tuple of AskSummary
        Every answer that left the trusted package, with its noise: those of the branches that were taken, without
        their order. Epsilon follows from `bill`.
    accountant : str
        How the cost was composed.
    assumptions, caveats : tuple of str
        What the guarantee depends on; what weakens it. Caveats come first when printed.
    notes : tuple of str
        Which choices were made for the user, and why.
    versions : mapping
        Versions of the software.
    ledger : mapping or None
        The citation of the entry under which a ledger was charged: its identity, the dataset, the
        entry and hashes; no address.
    priced : bool
        Whether a proof covers the price, whatever became of the guarantee: False for baselines and
        for plans without a proof. What was fitted with a seed has a price, and is charged for it.
    bill : mapping or None
        What was priced, as a ledger stores it: the plan with every branch that answers might have
        chosen, and its scale. From it anybody can compute epsilon again (docs/formats.md); `asks`
        holds the answers of one branch alone. None where nothing has a price, and in files of
        earlier releases.
    """

    private: bool
    epsilon: NonNegative
    delta: Annotated[float, Limits(0, 1)]
    rho: NonNegative
    mu: NonNegative
    adjacency: str
    unit: str
    recipe: str
    loss: str
    n_rows: Count
    asks: tuple[AskSummary, ...]
    accountant: str
    assumptions: tuple[str, ...] = ()
    caveats: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    versions: Mapping[str, str]
    ledger: Mapping[str, Any] | None = None
    priced: bool = True
    bill: Mapping[str, Any] | None = None

    @property
    def attacker_success(self) -> float:
        """How often an attacker guesses right between two equally likely neighbours, at most.

        1 where nothing is guaranteed.
        """
        return attacker_success(self.epsilon, self.delta, self.mu, self.rho) if self.private else 1.0

    def details(self) -> str:
        """All of it in words: caveats, the guarantee, every answer, the accountant, assumptions and notes."""
        return words.details(self)

    def plot(self, where: str | PathLike[str] | Axes | None = None) -> Axes:
        """Draw what an attacker can at most learn: true positive rate against false positive rate.

        On the current axes of pyplot, on given ones, or in a file; returns the axes. Needs the extra `plots`.
        """
        from ..report.attacker import plot_promise

        return plot_promise(self, where)

    def __str__(self) -> str:
        return words.short(self)

    def _repr_html_(self) -> str:
        return words.statement_page(self.caveats, words.paragraph(self), good=self.private, more=self.details())
