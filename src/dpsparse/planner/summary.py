"""A priced plan in words and numbers."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

from ..facts import Clip
from ..privacy.plan import Plan
from ..privacy.pricing import PricedPlan, describe


@dataclass(frozen=True)
class PlanSummary:
    """What a fit would ask and with how much noise.

    Attributes
    ----------
    recipe : str
    n_rows, n_features, models : int
    settings : dict
        The loop's constants after every default was filled in from public facts.
    asks : list of dict
        Each ask with its noise per turn: `strength` is mu, eta or epsilon of one draw. Where a plan has branches, `branch`
        names the one it belongs to; answers choose among them, and every one is priced.
    epsilon, delta, rho, mu : float or None
        What it would cost; None for a baseline without privacy.
    accountant : str
    reason : str
        Why this recipe, where a rule picked it.
    """

    recipe: str
    n_rows: int
    n_features: int
    models: int
    settings: dict[str, Any]
    asks: list[dict[str, Any]]
    epsilon: float | None
    delta: float | None
    rho: float | None
    mu: float | None
    accountant: str
    reason: str = ""

    @classmethod
    def of(cls, prepared: Any) -> PlanSummary:
        """Summarise what an estimator prepared."""
        priced: PricedPlan | None = prepared.priced
        plan = prepared.plan
        asks = _asks(plan, priced, "")
        for name, branch in plan.branches:
            asks += _asks(branch, None if priced is None else replace(priced, plan=branch), name)
        return cls(
            recipe=prepared.recipe.name,
            n_rows=prepared.facts.n_rows,
            n_features=prepared.facts.n_features,
            models=prepared.models,
            settings={f.name: _plain(getattr(prepared.solver, f.name)) for f in fields(prepared.solver)},
            asks=asks,
            epsilon=None if priced is None else priced.epsilon(prepared.delta),
            delta=None if priced is None else prepared.delta,
            rho=None if priced is None else priced.rho,
            mu=None if priced is None else priced.mu,
            accountant="none" if priced is None else priced.accountant,
            reason=prepared.reason,
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    def __str__(self) -> str:
        lines = [f"{self.recipe} on {self.n_rows} rows x {self.n_features} features"]
        if self.models > 1:
            lines[0] += f", {self.models} one-versus-rest models"
        if self.reason:
            lines.append(f"  {self.reason}")
        if self.epsilon is None:
            lines.append("  no privacy: a baseline for comparison")
        else:
            lines.append(
                f"  costs ({self.epsilon:.6g}, {self.delta:.3g})-DP = {self.rho:.4g}-zCDP = {self.mu:.4g}-GDP, by {self.accountant}"
            )
        branches = list(dict.fromkeys(a["branch"] for a in self.asks if a["branch"]))
        for ask in self.asks:
            if ask["branch"] not in ("", *branches[-1:]):
                continue
            strength = ask.get("strength")
            often = "" if strength is None else f": strength {_span(strength)} per draw"
            lines.append(f"  asks {ask['text']}{often}")
        if len(branches) > 1:
            lines.append(f"  the last {branches[-1]!r} is one of {len(branches)} branches that answers choose from")
        lines.extend(f"  {name} = {_span(value)}" for name, value in self.settings.items() if value is not None)
        return "\n".join(lines)


def _asks(plan: Plan, priced: PricedPlan | None, branch: str) -> list[dict[str, Any]]:
    found = []
    for ask in plan.asks:
        entry: dict[str, Any] = {
            "branch": branch,
            "name": ask.name,
            "times": ask.times,
            "draws": ask.draws,
            "noise": str(ask.noise),
            "rows": str(ask.rows),
        }
        if priced is not None:
            strengths = [priced.cost(ask.name, t).strength for t in range(ask.times)]
            entry["strength"] = strengths[0] if len(set(strengths)) == 1 else strengths
        found.append(entry | {"text": describe(ask)})
    return found


def _plain(value: Any) -> Any:
    if isinstance(value, Clip):
        return {"norm": value.norm, "entry": value.entry}
    if value is None or isinstance(value, str | int | float | bool):
        return str(value) if type(value).__mro__[-2] is not type(value) and isinstance(value, str) else value
    if isinstance(value, tuple):
        return [_plain(v) for v in value]
    return str(value)


def _span(value: Any) -> str:
    if isinstance(value, list) and value and all(isinstance(v, int | float) for v in value):
        low, high = min(value), max(value)
        return f"{low:.4g}" if low == high else f"{low:.4g} to {high:.4g}"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
