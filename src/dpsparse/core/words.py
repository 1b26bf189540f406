"""Statements in words: a paragraph, the details, and both as HTML."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

from .attacker import in_percent

if TYPE_CHECKING:
    from .statement import AskSummary, Statement

#: What neighbours differ in, by adjacency.
NEIGHBOURS = {
    "replace-one": "replacing any one row by another",
    "add-remove": "adding or removing any one row",
    "replace-one-label": "replacing the label of any one person, with the features unchanged,",
}
#: What an attacker knows, and what they guess, by adjacency.
GUESSES = {
    "replace-one": "knows every other row and has narrowed one row down to two equally likely versions",
    "add-remove": "knows every other row and finds it as likely as not that one more row is in the data",
    "replace-one-label": "knows all but one person's label and has narrowed it down to two equally likely ones",
}
#: What the recipe of scores begins with.
SCORE = "private score"
RED = "color:#b00020"


def one_of_many(unit: str) -> str:
    """The word for a unit of several rows, as statements name it; empty where it is something else."""
    who, several, _ = unit.partition(": all rows with the same id")
    return who.removeprefix("one ") if several else ""


def neighbours(adjacency: str, unit: str) -> str:
    """What neighbours differ in."""
    who = one_of_many(unit)
    if not who:
        return NEIGHBOURS.get(adjacency, adjacency)
    if adjacency == "add-remove":
        return f"adding or removing all records of any one {who}, however many there are,"
    return f"replacing all records of any one {who}, however many there are,"


def guesses(adjacency: str, unit: str) -> str:
    """What an attacker knows, and what they guess."""
    who = one_of_many(unit)
    if not who:
        return GUESSES.get(adjacency, GUESSES["replace-one"])
    if adjacency == "add-remove":
        return f"knows all records of everyone else and finds it as likely as not that one {who} is in the data"
    return f"knows all records of everyone else and has narrowed those of one {who} down to two equally likely versions"


def paragraph(statement: Statement) -> str:
    """The guarantee in a few sentences, or that nothing is guaranteed; without caveats."""
    by = f"{_made(statement.recipe)} {statement.recipe} ({statement.loss} loss)"
    guarantee = f"({statement.epsilon:.6g}, {statement.delta:.3g})-differential privacy"
    if not statement.private:
        void = f"{by} WITHOUT privacy: it carries no guarantee for anyone in the data."
        if not statement.priced or math.isinf(statement.epsilon):
            return void
        return f"{void} Its noise was calibrated for {guarantee}, which does not hold here: see the caveat."
    factor = f"{math.exp(statement.epsilon):.4g}" if statement.epsilon < 500 else f"e^{statement.epsilon:.6g}"
    said = [
        f"{by} under {guarantee}, {statement.adjacency}: "
        f"{neighbours(statement.adjacency, statement.unit)} changes the "
        f"probability of any result by at most a factor of {factor}{_more(statement.delta)}.",
        f"The unit of privacy is {statement.unit}.",
        f"An attacker who {guesses(statement.adjacency, statement.unit)}, and then sees this release, guesses right "
        f"at most {in_percent(statement.attacker_success)} of the time (a coin flip: 50 %).",
    ]
    return " ".join(said)


def _more(delta: float) -> str:
    return f", plus {delta:.3g}" if delta else ""


def _made(recipe: str) -> str:
    """What a statement is about: a model, unless its recipe is a score of one."""
    return "These scores were computed by" if recipe.startswith(SCORE) else "This model was fitted by"


def short(statement: Statement) -> str:
    """Caveats, a paragraph, and which ledger was charged."""
    return "\n".join([*(f"CAVEAT: {c}." for c in statement.caveats), paragraph(statement), *_charged(statement)])


def details(statement: Statement) -> str:
    """The same with rho and mu where they hold, every answer, the accountant, assumptions and notes."""
    lines = [*(f"CAVEAT: {c}." for c in statement.caveats), paragraph(statement)]
    if statement.priced:
        lines.extend(filter(None, [other_words(statement)]))
        for name in dict.fromkeys(a.name for a in statement.asks):
            lines.append("  - " + _ask_line([a for a in statement.asks if a.name == name]))
        lines.append(f"Composed by: {statement.accountant}.")
    lines.extend(_charged(statement))
    lines.extend(f"Assumes: {a}." for a in statement.assumptions)
    lines.extend(f"Note: {n}." for n in statement.notes)
    return "\n".join(lines)


def other_words(statement: Statement) -> str:
    """The guarantee in zCDP and in Gaussian DP, or that no value says as much as epsilon; empty without a guarantee."""
    if not statement.private:
        return ""
    known = [("zCDP", "rho", statement.rho), ("GDP", "mu", statement.mu)]
    said = [f"{name}-{unit} with {name} = {value:.6g}" for unit, name, value in known if math.isfinite(value)]
    left = [f"{name}-{unit}" for unit, name, value in known if math.isinf(value)]
    if not said:
        return (
            "In other definitions: nothing is stated in rho-zCDP or mu-GDP; they would say less than epsilon and delta."
        )
    rest = f"; nothing is stated in {left[0]}, which would say less" if left else ""
    return f"In other definitions: {'; '.join(said)}{rest}."


def statement_page(caveats: Iterable[str], text: str, *, good: bool, more: str = "") -> str:
    """A little HTML: caveats first and in red, then a text, red too unless it is good, and more on request.

    All escaped.
    """
    parts = [f'<p style="{RED}"><strong>CAVEAT:</strong> {html.escape(c)}.</p>' for c in caveats]
    parts.append(f"<p>{html.escape(text)}</p>" if good else f'<p style="{RED}">{html.escape(text)}</p>')
    if more:
        parts.append(f"<details><summary>Details</summary><pre>{html.escape(more)}</pre></details>")
    return f"<div>{''.join(parts)}</div>"


def _charged(statement: Statement) -> list[str]:
    entry = statement.ledger
    return (
        [] if entry is None else [f"Charged to dataset {entry['dataset']!r} as entry {entry['entry']} of its ledger."]
    )


def _ask_line(group: list[AskSummary]) -> str:
    """One line of a statement for all answers of one ask; where their noise differs, from least to most."""

    def span(values: Iterable[float]) -> str:
        found = [f"{v:.4g}" for v in sorted(values)]
        return found[0] if found[0] == found[-1] else f"{found[0]} to {found[-1]}"

    first = group[0]
    what = {"mu": "sigma", "m": "sigma", "eta": "Gumbel scale"}.get(first.cost_name, "scale")
    draws = "" if first.draws == 1 else f" of {first.draws} draws each"
    if first.noise.local:
        people = "all people" if first.rate >= 1 else f"one part in {round(1 / first.rate)} of the people"
        return (
            f"{sum(a.times for a in group)} x {first.name}: reports randomised by each person ({first.noise}), "
            f"{first.cost_name} = {span(a.cost for a in group)} per report, answers at most "
            f"{span(a.sensitivity for a in group)} "
            f"apart, {people} each"
        )
    rows = "" if first.rate >= 1 else f", rows sampled at rate {first.rate:.4g}"
    rows += f", offset {first.offset:.4g}" if first.offset else ""
    rows += f", {first.part} part of the rows" if first.part else ""
    return (
        f"{sum(a.times for a in group)} x {first.name}{draws}: {first.noise} noise, {what} "
        f"{span(a.scale for a in group)} "
        f"for sensitivity {span(a.sensitivity for a in group)} "
        f"({first.cost_name} = {span(a.cost for a in group)} per draw{rows})"
    )
