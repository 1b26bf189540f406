"""The statement: what was promised to each person in the data, as a frozen record."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ..plain import Json, plain
from .plan import Noise

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
class Answer:
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
    """

    ask: str
    noise: Noise
    draws: int
    rate: float
    sensitivity: float
    scale: float
    offset: float = 0.0


@dataclass(frozen=True)
class AskRecord:
    """Equal answers of one ask, counted. `cost` is sensitivity / scale of one draw, in the unit `cost_name`."""

    name: str
    times: int
    draws: int
    noise: str
    rate: float
    sensitivity: float
    scale: float
    cost: float
    cost_name: str
    offset: float = 0.0


def records(answers: Iterable[Answer]) -> tuple[AskRecord, ...]:
    """Group equal answers, in the order of their first appearance."""
    counted: dict[Answer, int] = {}
    for answer in answers:
        counted[answer] = counted.get(answer, 0) + 1
    return tuple(
        AskRecord(
            name=a.ask,
            times=k,
            draws=a.draws,
            noise=str(a.noise),
            rate=a.rate,
            sensitivity=a.sensitivity,
            scale=a.scale,
            cost=a.sensitivity / a.scale if a.scale else math.inf,
            cost_name=COST_NAMES[a.noise],
            offset=a.offset,
        )
        for a, k in counted.items()
    )


@dataclass(frozen=True, kw_only=True)
class Statement:
    """What a fit promised.

    Attributes
    ----------
    private : bool
        False for the baselines without privacy.
    epsilon, delta : float
        The promise in (epsilon, delta)-DP.
    rho, mu : float
        The same plan in zCDP and in Gaussian DP: exact for unsampled Gaussians, otherwise upper bounds; infinite
        where nothing is proven.
    adjacency, unit : str
        Which datasets count as neighbours, and what one unit of privacy is.
    recipe, loss : str
        The algorithm.
    n_rows : int
        The public number of rows.
    asks : tuple of AskRecord
        Every answer that left the trusted room, with its noise. Enough to recompute epsilon.
    accountant : str
        How the cost was composed.
    assumptions, caveats : tuple of str
        What the promise rests on; what weakens it. Caveats come first when printed.
    notes : tuple of str
        Which choices were made for the user, and why.
    versions : mapping
        Versions of the software.
    ledger : mapping or None
        The citation of the entry under which a ledger was charged: its identity, the dataset, the entry and hashes; no address.
    """

    private: bool
    epsilon: float
    delta: float
    rho: float
    mu: float
    adjacency: str
    unit: str
    recipe: str
    loss: str
    n_rows: int
    asks: tuple[AskRecord, ...]
    accountant: str
    assumptions: tuple[str, ...] = ()
    caveats: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    versions: Mapping[str, str]
    ledger: Mapping[str, Any] | None = None

    def to_dict(self) -> dict[str, Json]:
        """As plain JSON types; infinite numbers become None."""
        return {k: plain(v) for k, v in asdict(self).items()}

    def to_json(self, indent: int | None = 2) -> str:
        """As JSON text."""
        return json.dumps(self.to_dict(), indent=indent, allow_nan=False)

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Statement:
        """The inverse of `to_dict`."""
        values = dict(fields)
        for name in ("epsilon", "delta", "rho", "mu"):
            values[name] = math.inf if values[name] is None else float(values[name])
        values["asks"] = tuple(
            AskRecord(**{**a, "cost": math.inf if a["cost"] is None else a["cost"]}) for a in values["asks"]
        )
        for name in ("assumptions", "caveats", "notes"):
            values[name] = tuple(values[name])
        return cls(**values)

    def __str__(self) -> str:
        lines = [f"CAVEAT: {c}." for c in self.caveats]
        if not self.private:
            lines.append(
                f"This model was fitted by {self.recipe} ({self.loss} loss) WITHOUT privacy: it carries no promise to anyone in the data."
            )
            return "\n".join(lines)
        neighbours = {
            "replace-one": "exchanging one row for any other",
            "add-remove": "adding or removing one row",
            "replace-one-label": "exchanging one person's label for any other, the features staying as they are,",
        }.get(self.adjacency, self.adjacency)
        factor = f"{math.exp(self.epsilon):.4g}" if self.epsilon < 500 else f"e^{self.epsilon:.6g}"
        zcdp = "not proven" if math.isinf(self.rho) else f"{self.rho:.6g}"
        gdp = "not proven for this noise" if math.isinf(self.mu) else f"{self.mu:.6g}"
        lines.append(
            f"This model was fitted by {self.recipe} ({self.loss} loss) under ({self.epsilon:.6g}, {self.delta:.3g})-differential "
            f"privacy, {self.adjacency}: {neighbours} changes the probability of any outcome by at most a factor "
            f"{factor}, up to {self.delta:.3g}. The unit of privacy is {self.unit}. In other words: rho-zCDP with "
            f"rho = {zcdp}; mu-GDP with mu = {gdp}."
        )
        for name in dict.fromkeys(a.name for a in self.asks):
            lines.append("  - " + _line([a for a in self.asks if a.name == name]))
        lines.append(f"Composed by: {self.accountant}.")
        if self.ledger is not None:
            lines.append(
                f"Charged to dataset {self.ledger['dataset']!r} as entry {self.ledger['entry']} of its ledger."
            )
        lines.extend(f"Assumes: {a}." for a in self.assumptions)
        lines.extend(f"Note: {n}." for n in self.notes)
        return "\n".join(lines)


def _line(group: list[AskRecord]) -> str:
    """All answers of one ask in one line; where their noise differs, from least to most."""

    def span(values: Iterable[float]) -> str:
        found = [f"{v:.4g}" for v in sorted(values)]
        return found[0] if found[0] == found[-1] else f"{found[0]} to {found[-1]}"

    first = group[0]
    what = {"mu": "sigma", "m": "sigma", "eta": "Gumbel scale"}.get(first.cost_name, "scale")
    draws = "" if first.draws == 1 else f" of {first.draws} draws each"
    if Noise(first.noise).local:
        people = "all people" if first.rate >= 1 else f"one part in {round(1 / first.rate)} of the people"
        return (
            f"{sum(a.times for a in group)} x {first.name}: reports randomised by each person ({first.noise}), "
            f"{first.cost_name} = {span(a.cost for a in group)} per report, answers at most {span(a.sensitivity for a in group)} "
            f"apart, {people} each"
        )
    rows = "" if first.rate >= 1 else f", rows sampled at rate {first.rate:.4g}"
    rows += f", offset {first.offset:.4g}" if first.offset else ""
    return (
        f"{sum(a.times for a in group)} x {first.name}{draws}: {first.noise} noise, {what} {span(a.scale for a in group)} "
        f"for sensitivity {span(a.sensitivity for a in group)} "
        f"({first.cost_name} = {span(a.cost for a in group)} per draw{rows})"
    )
