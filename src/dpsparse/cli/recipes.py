"""``dpsparse recipes``: which algorithms there are, and what can be set."""

from __future__ import annotations

import re
from dataclasses import fields
from textwrap import fill
from typing import TYPE_CHECKING

from .exits import Refusal
from .fit import tell
from .options import command, parameters_in
from .output import echo, print_json
from .settings import default_of, theory_constants, types_of

if TYPE_CHECKING:
    from ..recipes import Recipe

#: The usual choice, and what it picks from.
PICKED = ("auto", "tables", "select_polish", "dual_averaging")


def _list(lines: dict[str, str]) -> None:
    """The recipes in groups, the usual choice first; another name of a recipe stands beside it."""
    from .. import recipes as known

    private = [one for one in lines if known.get(one).private and one not in PICKED]
    groups = {
        "The default, and what it picks from": PICKED,
        "Other private algorithms, by name": private,
        "Without privacy, to compare with": [one for one in lines if not known.get(one).private],
    }
    width = max(map(len, lines)) + 2
    for title, names in groups.items():
        echo(f"{title}:")
        for one in names:
            same = "" if known.get(one).name == one else f" Another name of {known.get(one).name}."
            echo(f"  {one:{width - 2}s}  {same.strip() or lines[one]}")


@command()
def recipes(
    name: str | None = None, constants: tuple[str, ...] = (), *, from_theory: bool = False, json_: bool = False
) -> None:
    """List the recipes, or describe the recipe NAME.

    A description says what it does, its fields for --set with types and defaults, and its papers.

    With --from-theory, the fields that the theorem of its paper prescribes for public constants. To fit with them,
    taking what is not given from declared bounds: --recipe NAME@paper.

    \b
    Examples:
      dpsparse recipes
      dpsparse recipes dp_gcd
      dpsparse recipes dp_sgd --from-theory n_rows=10000 n_features=50 epsilon=1 delta=1e-6 lipschitz=2 radius=3
      dpsparse fit trial.csv --recipe dp_gcd --set rule=gs-q --set steps=20 ...

    Parameters
    ----------
    constants : [CONSTANTS]...
    from_theory
        The settings of its theorem for CONSTANTS, NAME=VALUE.
    """
    from .. import recipes as known

    if constants and not from_theory:
        raise Refusal(f"{constants[0]} is a constant of a theorem. Ask for its settings: --from-theory.")
    if from_theory:
        if name is None:
            raise Refusal("--from-theory prints the settings of a recipe. Name one: dpsparse recipes lists them.")
        _print_theory(name, constants, json_)
        return
    if name is None:
        lines = {one: plain_words(known.describe(one).splitlines()[0]) for one in known.names()}
        print_json({"recipes": lines}) if json_ else _list(lines)
        return
    _describe(known.get(name), known.describe(name), json_)


def _describe(kind: type[Recipe], text: str, as_json: bool) -> None:
    """Print what a recipe does, its fields and its papers."""
    table = {
        field.name: {
            "type": " or ".join("none" if one is type(None) else one.__name__ for one in types_of(kind, field)),
            "default": default_of(field),
        }
        for field in fields(kind)
    }
    if as_json:
        listed = [{"field": name, **row} for name, row in table.items()]
        print_json({"recipe": kind.name, "private": kind.private, "fields": listed, "text": text})
        return
    about, cited = fields_in(text), papers_in(text)
    echo(f"{kind.name}: {first_paragraph(text)}")
    echo("\nFields for --set:" if table else "\nIt has no fields.")
    for name, row in table.items():
        echo(f"  {name} ({row['type'] or 'only in Python'}), default {row['default']}")
        if about.get(name):
            echo(fill(about[name], 100, initial_indent="      ", subsequent_indent="      "))
    if cited:
        echo("\n".join(["\nPapers:", *(f"  {paper}" for paper in cited)]))
    if hasattr(kind, "from_theory"):
        echo(
            f"\nWith the settings of its theorem: --recipe {kind.name}@paper, and "
            f"dpsparse recipes {kind.name} --from-theory."
        )
    echo("\nThe guarantee, with its mathematics, is in the documentation, and in Python in help(dpsparse.recipes).")


def _print_theory(name: str, constants: tuple[str, ...], as_json: bool) -> None:
    """The settings of a theorem, as options of fit."""
    import warnings

    from .. import recipes as known
    from ..recipes.printed import prescribe
    from ..recipes.registry import settings

    of = known.get(name.removesuffix("@paper"))
    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = tell
        made = settings(prescribe(of, theory_constants(of, constants)))
    chosen = {field.name: made[field.name] for field in fields(of) if made[field.name] != default_of(field)}
    if as_json:
        print_json({"recipe": of.name, "constants": list(constants), "fields": chosen})
        return
    words = {field: str(value).lower() if isinstance(value, bool) else value for field, value in chosen.items()}
    echo(" ".join([f"--recipe {of.name}", *(f"--set {field}={value}" for field, value in words.items())]))


#: Stands for a formula that a terminal cannot show.
_FORMULA = "\0"
_HEADING = re.compile(r"\n([A-Z][A-Za-z ]+)\n-{3,}\n")


def plain_words(text: str) -> str:
    """Words of reST: without citations, emphasis and literal marks; sentences with formulas are left out."""
    joined = " ".join(text.split())
    joined = re.sub(r":math:`([A-Za-z0-9_ =<>/.+-]+)`", r"\1", joined)
    joined = re.sub(r":math:`[^`]*`|\.\. math::.*", _FORMULA, joined)
    sentences = re.split(r"(?<=[.]) ", joined)
    words = " ".join(one for one in sentences if _FORMULA not in one)
    if not words and sentences:  # the clause with the formula is left out
        words = re.split(rf"[,:;(][^,:;(]*{_FORMULA}", sentences[0])[0] + "."
    words = re.sub(r"\s*\((?=[^()]*\[[A-Z0-9]+\]_)([^()]*)\)", _names, words)
    words = re.sub(r"(?: (?:of|in|by))?\s*\[[A-Z0-9]+\]_", "", words)
    words = re.sub(r":[a-z]+:`~?([^`]+)`", r"\1", words)
    return re.sub(r"\s+([,.;:])", r"\1", words.replace("**", "").replace("``", "").replace("`", "")).strip(" ;")


def _names(found: re.Match[str]) -> str:
    """A bracket with citations: the names that papers use, if it has any."""
    named = re.sub(r"(?: (?:of|in|by))?\s*\[[A-Z0-9]+\]_", "", found[1]).strip(" ;,")
    return f" ({named})" if named else ""


def first_paragraph(docstring: str) -> str:
    """Its first paragraph, in plain words."""
    return plain_words(re.split(r"\n\s*\n", docstring, maxsplit=1)[0])


def fields_in(docstring: str) -> dict[str, str]:
    """What the section of parameters says about each, in plain words; empty where only formulas say it."""
    listed = parameters_in(_section(docstring, "Parameters"))
    return {name: plain_words(said) for name, (_, said) in listed.items()}


def papers_in(docstring: str) -> tuple[str, ...]:
    """The references, without their labels."""
    return tuple(
        plain_words(one)
        for one in re.findall(r"\.\. \[\w+\] ([^\n]*(?:\n   [^\n]*)*)", _section(docstring, "References"))
    )


def _section(docstring: str, heading: str) -> str:
    parts = _HEADING.split(f"\n{docstring}\n")
    return dict(zip(parts[1::2], parts[2::2], strict=True)).get(heading, "")
