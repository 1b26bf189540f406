"""The queries of a plan, under the names that the statement of a fit by it uses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...accounting.pricing import PricedPlan, describe_ask
from ...core.plain import Json
from ...core.plan import Ask, Noise, Plan
from ...core.statement import COST_NAMES
from ...queries.minimisers import finished_name, split

#: Names of the two parts of the rows, where each row is in one.
PARTS = ("first", "second")
#: Where answers choose from more branches than this, text shows the last of them.
MOST_BRANCHES = 2


@dataclass(frozen=True)
class PlannedAsk:
    """One query of a plan, before it is asked. Fields that `AskSummary` has mean the same there.

    The plan fixes `cost`, the ratio of sensitivity and scale. Sensitivity and scale by themselves
    follow from clips, which earlier answers may choose; the statement of the fit has them.

    Attributes
    ----------
    name : str
    question : str or None
        Kind of query; None: the plan leaves it open.
    times, draws : int
    noise : str
    rate : float
    cost : float, tuple of float, or None
        Of one draw: a number, or one for each turn where they differ. None where there is no noise.
    cost_name : str
    offset : float
    part : str
    branch : tuple of str
        Choices of answers that lead to it; empty: it is asked in any case.
    law : str
        How `times` is drawn anew by every fit; empty: it is not.
    text : str
        The query in words.
    """

    name: str
    question: str | None
    times: int
    draws: int
    noise: str
    rate: float
    cost: float | tuple[float, ...] | None
    cost_name: str
    offset: float
    part: str
    branch: tuple[str, ...]
    law: str
    text: str

    def line(self) -> str:
        """The query in words, with what one draw of it costs."""
        cost = "" if self.cost is None else f": {self.cost_name} = {span(self.cost)} per draw"
        return f"asks {self.text}{cost}"


def planned_asks(plan: Plan, priced: PricedPlan | None) -> tuple[PlannedAsk, ...]:
    """Every query of a plan, of both its parts and of all its branches, at its price.

    Parameters
    ----------
    plan : Plan
        Of one model.
    priced : PricedPlan or None
        The same plan at its price; None for a baseline, whose answers have no noise.
    """
    if not plan.parts:
        return tuple(_with_branches(plan, priced, "", ()))
    prices = [None] * len(PARTS) if priced is None else priced.parts
    parts = zip(plan.parts, prices, PARTS, strict=True)
    return tuple(ask for part, at, name in parts for ask in _with_branches(part, at, name, ()))


def _with_branches(plan: Plan, priced: PricedPlan | None, part: str, branch: tuple[str, ...]) -> list[PlannedAsk]:
    found = [answer for ask in plan.asks for answer in _answers(ask, priced, part, branch)]
    for name, follower in plan.branches:
        at = None if priced is None else priced.branch(name)
        found += _with_branches(follower, at, part, (*branch, name))
    return found


def _answers(ask: Ask, priced: PricedPlan | None, part: str, branch: tuple[str, ...]) -> list[PlannedAsk]:
    """What a query releases: two kinds of answers for a perturbed objective, whose minimum is rounded; else one."""

    def answer(name: str, noise: Noise, costs: Sequence[float], offset: float = 0.0) -> PlannedAsk:
        return PlannedAsk(
            name=name,
            question=ask.question,
            times=ask.times,
            draws=ask.draws,
            noise=str(noise),
            rate=ask.rate,
            cost=None if not costs else costs[0] if len(set(costs)) == 1 else tuple(costs),
            cost_name=COST_NAMES[noise],
            offset=offset,
            part=part,
            branch=branch,
            law="" if ask.law is None else str(ask.law),
            text=describe_ask(ask),
        )

    if priced is None:
        return [answer(ask.name, Noise.NONE, ())]
    costs = [priced.cost(ask.name, turn).strength for turn in range(ask.times)]
    if ask.noise is not Noise.OBJECTIVE:
        return [answer(ask.name, ask.noise, costs)]
    tilted, rounded = zip(*map(split, costs), strict=True)
    return [
        answer(ask.name, ask.noise, tilted, ask.offset),
        answer(finished_name(ask.name), Noise.GAUSSIAN, rounded),
    ]


# ------------------------------------------------------------------------------------------------ in words


def ask_lines(asks: Sequence[PlannedAsk]) -> list[str]:
    """Queries in words, a line for each, below the choices that lead to them.

    Where answers choose from more than two branches, the last is shown, and how many there are.
    """
    followers: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for ask in asks:
        for depth, name in enumerate(ask.branch):
            known = followers.setdefault((ask.part, ask.branch[:depth]), [])
            known += [] if name in known else [name]
    lines, last = [], ""
    for ask in asks:
        choices = [(name, followers[ask.part, ask.branch[:depth]]) for depth, name in enumerate(ask.branch)]
        if any(len(known) > MOST_BRANCHES and name != known[-1] for name, known in choices):
            continue
        heading = _heading(ask.part, choices)
        if heading != last:
            lines.append(f"  {heading}:")
        last = heading
        lines.append(f"  {'  ' * bool(heading)}{ask.line()}")
    return lines


def _heading(part: str, choices: Sequence[tuple[str, list[str]]]) -> str:
    """Which part of the rows is asked, after which choices of answers; empty where there is neither."""
    made = [
        repr(name) if len(known) <= MOST_BRANCHES else f"{name!r}, the last of {len(known)} branches"
        for name, known in choices
        if len(known) > 1
    ]
    said = [f"of the {part} part of the rows"] if part else []
    return ", ".join(said + ([f"if answers choose {', then '.join(made)}"] if made else []))


def kind_of_rows(sparse: bool) -> str:
    """Which rows a plan is for, in words."""
    return "sparse rows" if sparse else "dense rows"


def span(value: Json | tuple[float, ...]) -> str:
    """A value in few words; of several numbers the least and the largest."""
    numbers = [v for v in value if isinstance(v, int | float)] if isinstance(value, list | tuple) else []
    if numbers and isinstance(value, list | tuple) and len(numbers) == len(value):
        low, high = min(numbers), max(numbers)
        return f"{low:.4g}" if low == high else f"{low:.4g} to {high:.4g}"
    if isinstance(value, dict):
        return ", ".join(f"{name} {span(part)}" for name, part in value.items() if part is not None)
    return f"{value:.4g}" if isinstance(value, float) else str(value)
