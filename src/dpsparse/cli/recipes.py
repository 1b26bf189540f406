"""``dpsparse recipes``: which algorithms there are, and what can be set."""

from __future__ import annotations

from dataclasses import fields
from textwrap import fill

import click

from .options import json_option
from .output import as_json as print_json
from .output import echo
from .plain_text import fields_in, papers_in, plain, summary
from .settings import default_of, types_of

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


@click.command()
@click.argument("name", required=False)
@json_option
def recipes(name: str | None, as_json: bool) -> None:
    """List the recipes, or describe the recipe NAME.

    A description says what it does, its fields for --set with types and defaults, and its papers.

    \b
    Examples:
      dpsparse recipes
      dpsparse recipes dp_gcd
      dpsparse fit trial.csv --recipe dp_gcd --set rule=gs-q --set steps=20 ...
    """
    from .. import recipes as known

    if name is None:
        lines = {one: plain(known.describe(one).splitlines()[0]) for one in known.names()}
        if as_json:
            print_json({"recipes": lines})
            return
        _list(lines)
        return
    kind = known.get(name)
    table = [
        {
            "field": field.name,
            "type": " or ".join("none" if one is type(None) else one.__name__ for one in types_of(kind, field)),
            "default": default_of(field),
        }
        for field in fields(kind)  # type: ignore[arg-type]
    ]
    if as_json:
        print_json({"recipe": kind.name, "private": kind.private, "fields": table, "text": known.describe(name)})
        return
    text = known.describe(name)
    echo(f"{kind.name}: {summary(text)}")
    echo("\nFields for --set:" if table else "\nIt has no fields.")
    about = fields_in(text)
    for row in table:
        echo(f"  {row['field']} ({row['type'] or 'only in Python'}), default {row['default']}")
        if about.get(str(row["field"])):
            echo(fill(about[str(row["field"])], 100, initial_indent="      ", subsequent_indent="      "))
    cited = papers_in(text)
    if cited:
        echo("\nPapers:")
    for paper in cited:
        echo(f"  {paper}")
    echo("\nThe guarantee, with its mathematics, is in the documentation, and in Python in help(dpsparse.recipes).")
