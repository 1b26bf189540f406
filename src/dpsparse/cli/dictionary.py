"""``dpsparse dictionary``: write a public data dictionary, and tell what is missing in one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .exits import NotWritten, Refusal
from .options import Names, json_option
from .output import as_json as print_json
from .output import check_file, writing

if TYPE_CHECKING:
    from ..tables import Dictionary


@click.group()
def dictionary() -> None:
    """Describe the columns of a table: names, roles, kinds, bounds, categories. Never reads a cell."""


@dictionary.command()
@click.argument("table", type=click.Path(path_type=Path))
@click.option("--number", type=Names(), default="", help="Columns of numbers.")
@click.option("--category", type=Names(), default="", help="Columns of labels.")
@click.option("--boolean", type=Names(), default="", help="Columns of yes and no.")
@click.option("--date", type=Names(), default="", help="Columns of dates.")
@click.option("--target", help="The column to predict; name it also under its kind.")
@click.option("--id", "ids", type=Names(), default="", help="Columns that name a person; never used.")
@click.option("--ignore", type=Names(), default="", help="Other columns that are not used.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("dictionary.yaml"),
    show_default=True,
    help="Where it is written (.yaml, .json or .csv); an existing file is kept.",
)
@click.option("--replace", is_flag=True, help="Replace an existing file.")
@json_option
def new(
    table: Path,
    target: str | None,
    ids: list[str],
    ignore: list[str],
    out: Path,
    replace: bool,
    as_json: bool,
    **kinds: Any,
) -> None:
    """Write a skeleton for TABLE (.csv or .parquet) from its header and the kinds that you declare.

    Only the line of names is read. Bounds and categories are left open, for you to fill in from a codebook.

    \b
    Example:
      dpsparse dictionary new patients.csv --number age,bmi --category sex,died \\
          --date visit --id patient --target died --out patients.yaml
    """
    if out.exists() and not replace:
        raise NotWritten(f"{out} exists already. Choose another --out, or say --replace.")
    check_file(out, inputs=[table])
    from ..readers.columns import header
    from ..tables import Dictionary, DictionaryError

    names = header(table)
    try:
        found = Dictionary.skeleton(names, _declared("kind", kinds), _declared("role", _roles(target, ids, ignore)))
        with writing(out):
            found.write(out)
    except DictionaryError as error:
        raise Refusal(str(error)) from None
    missing = found.check()
    if as_json:
        print_json({"dictionary": out, "columns": len(names), "missing": list(missing)})
    else:
        click.echo("\n".join([f"Saved: {out}, {len(names)} columns. Still to be filled in: {len(missing)}", *missing]))


def _roles(target: str | None, ids: list[str], ignore: list[str]) -> dict[str, list[str]]:
    return {"target": [] if target is None else [target], "id": ids, "ignore": ignore}


def _declared(what: str, lists: dict[str, list[str]]) -> dict[str, str]:
    """One word for each column; a column with two is refused, all of them at once."""
    found: dict[str, str] = {}
    twice = []
    for word, names in lists.items():
        for name in filter(None, names):
            if found.get(name, word) != word:
                twice.append(f"column {name!r} was given two {what}s: {found[name]} and {word}. Keep one.")
            found[name] = word
    if twice:
        raise Refusal("\n".join(twice))
    return found


@dictionary.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.argument("table", type=click.Path(path_type=Path), required=False)
@json_option
def check(file: Path, table: Path | None, as_json: bool) -> None:
    """Tell everything that is missing or contradictory in FILE, and, with TABLE, where its header does not fit.

    Exit code 2 if there is anything. Cells are not read.

    \b
    Example:
      dpsparse dictionary check patients.yaml patients.csv
    """
    from ..readers.columns import header
    from ..tables import Dictionary, DictionaryError

    found = None
    try:
        found = Dictionary.read(file)
        problems = found.check(None if table is None else header(table))
    except DictionaryError as error:
        problems = error.problems
    if as_json:
        print_json({"dictionary": file, "complete": not problems, "problems": list(problems), **_size(found, problems)})
        if problems:
            raise click.exceptions.Exit(Refusal.exit_code)
    elif problems:
        raise Refusal("\n".join(problems))
    else:
        size = _size(found, problems)
        click.echo(f"{file} is complete: {size['features']} features become {size['encoded']} columns.")


def _size(found: Dictionary | None, problems: tuple[str, ...]) -> dict[str, int]:
    if found is None or problems:
        return {}
    return {"features": len(found.features), "encoded": int(found.output_bounds().lower.size)}
