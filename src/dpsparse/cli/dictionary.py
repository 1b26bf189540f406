"""``dpsparse dictionary``: write a public data dictionary, and tell what is missing in one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .exits import Refusal
from .inputs import csv_form, csv_options
from .options import FILE, Names, json_option
from .output import check_file, echo, print_json, writing

if TYPE_CHECKING:
    from ..io.dictionary import Dictionary
    from ..io.tabular import CsvForm

NOT_TO_BE_RELEASED = (
    "NOT PRIVATE: exact numbers and cells of the data, for the eyes of anyone who holds it. Do not "
    "release, send or store them. Change how "
    "cells are read (format, decimal, thousands, below, above, match, missing) by them, and no bounds or categories."
)
#: Different cells that are shown of a column, and letters of each.
MOST_EXAMPLES, LONGEST_EXAMPLE = 5, 40


@click.group()
def dictionary() -> None:
    """Describe the columns of a table: names, roles, kinds, bounds, categories. Only check --look reads cells."""


@dictionary.command()
@click.argument("table", type=FILE, required=False)
@click.option(
    "--from",
    "schema",
    type=FILE,
    help="Start from a description instead of TABLE: a Frictionless or CSVW schema (.json), a REDCap data dictionary "
    "(.csv), the schema of a .parquet file, or the labels of a .dta or .sav file.",
)
@click.option("--number", type=Names(), default="", help="Columns of numbers.")
@click.option("--category", type=Names(), default="", help="Columns of labels.")
@click.option("--boolean", type=Names(), default="", help="Columns of yes and no.")
@click.option("--date", type=Names(), default="", help="Columns of dates.")
@click.option("--target", help="The column to predict; name it also under its kind.")
@click.option("--unit", help="The column whose value names the person: the guarantee covers all rows with one value.")
@click.option("--id", "ids", type=Names(), default="", help="Other columns of identifiers; never used.")
@click.option("--ignore", type=Names(), default="", help="Other columns that are not used.")
@click.option(
    "--out",
    type=FILE,
    default=Path("dictionary.yaml"),
    show_default=True,
    help="Where it is written (.yaml, .json or .csv); an existing file is kept.",
)
@click.option("--replace", is_flag=True, help="Replace an existing file.")
@csv_options
@json_option
def new(
    table: Path | None,
    schema: Path | None,
    target: str | None,
    unit: str | None,
    ids: list[str],
    ignore: list[str],
    out: Path,
    replace: bool,
    delimiter: str | None,
    encoding: str | None,
    as_json: bool,
    **kinds: Any,
) -> None:
    """Write a skeleton for TABLE (.csv or .parquet) from its header and the kinds that you declare.

    Only the line of names is read. Bounds and categories are left open, for you to fill in from a codebook.

    \b
    Example:
      dpsparse dictionary new patients.csv --number age,bmi --category sex,died \\
          --date visit --unit patient --target died --out patients.yaml
      dpsparse dictionary new --from datapackage.json --target died --out patients.yaml
    """
    source = schema or table
    if source is None or (schema is not None and table is not None):
        raise Refusal("give a TABLE, or a description of one with --from.")
    if out.exists() and not replace:
        raise Refusal(f"{out} exists already. Choose another --out, or say --replace.")
    check_file(out, inputs=[source])
    from ..io.columns import header
    from ..io.dictionary import Dictionary, DictionaryError

    declarations = (
        _declared("kind", kinds),
        _declared("role", _roles(target=target, unit=unit) | {"id": ids, "ignore": ignore}),
    )
    try:
        if schema is not None:
            from ..io.dictionary.schemas import declared, dictionary_from

            found = declared(dictionary_from(schema), *declarations)
        else:
            found = Dictionary.skeleton(header(source, csv_form(delimiter, encoding)), *declarations)
        with writing(out):
            found.write(out)
    except DictionaryError as error:
        raise Refusal(str(error)) from None
    missing, count = found.check(), len(found.columns)
    if as_json:
        print_json({"dictionary": out, "columns": count, "missing": list(missing)})
    else:
        echo("\n".join([f"Saved: {out}, {count} columns. Still to be filled in: {len(missing)}", *missing]))


def _roles(**one: str | None) -> dict[str, list[str]]:
    """Roles that one column at most has."""
    return {role: [] if name is None else [name] for role, name in one.items()}


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
@click.argument("file", type=FILE)
@click.argument("table", type=FILE, required=False)
@click.option(
    "--look",
    is_flag=True,
    help="Read the cells of TABLE and list exactly those that are not understood. For the data "
    "holder's eyes: NOT private, not to be released.",
)
@csv_options
@json_option
def check(
    file: Path, table: Path | None, look: bool, delimiter: str | None, encoding: str | None, as_json: bool
) -> None:
    """Show everything that is missing or contradictory in FILE and, with TABLE, where its header differs.

    Exit code 2 if there is anything. Cells are not read, unless --look is given.

    \b
    Examples:
      dpsparse dictionary check patients.yaml patients.csv
      dpsparse dictionary check --look patients.yaml patients.csv
    """
    if look and table is None:
        raise Refusal("--look reads the cells of a table. Give one: dpsparse dictionary check --look FILE TABLE.")
    from ..io.columns import header
    from ..io.dictionary import Dictionary, DictionaryError

    found, form = None, csv_form(delimiter, encoding)
    try:
        found = Dictionary.read(file)
        problems = found.check(None if table is None else header(table, form))
    except DictionaryError as error:
        problems = error.problems
    seen = _looked(found, table, form) if look and found is not None and table is not None and not problems else {}
    if as_json:
        content = {"dictionary": file, "complete": not problems, "problems": list(problems), **_size(found, problems)}
        print_json({**content, **({"warning": NOT_TO_BE_RELEASED, **seen} if seen else {})})
        if problems:
            raise click.exceptions.Exit(Refusal.exit_code)
    elif problems:
        raise Refusal("\n".join(problems))
    else:
        size = _size(found, problems)
        echo(f"{file} is complete: {size['features']} features become {size['encoded']} columns.")
        if seen:
            echo("\n".join(_reported(**seen)))


def _looked(found: Dictionary, table: Path, form: CsvForm) -> dict[str, Any]:
    """Exact numbers of cells, of gaps and of cells that are not understood, with examples: **private**."""
    from ..io.columns import blocks
    from ..io.dictionary.column import USED
    from ..io.dictionary.frames import Table
    from ..io.dictionary.rules import CellReader

    used = [column for column in found.columns if column.role in USED]
    readers = {column.name: CellReader(column) for column in used}
    rows, unread = 0, dict.fromkeys(readers, 0)
    examples: dict[str, list[str]] = {name: [] for name in readers}
    for block in blocks(table, list(readers), form):
        cells = Table(block, list(readers))
        rows += cells.rows
        for name, reader in readers.items():
            column = cells.cells(name)
            flags = reader.unread(column)
            unread[name] += int(flags.sum())
            for place in flags.nonzero()[0].tolist():
                shown = repr(column[place])[:LONGEST_EXAMPLE]
                if len(examples[name]) == MOST_EXAMPLES:
                    break
                if shown not in examples[name]:
                    examples[name].append(shown)
    return {
        "rows": rows,
        "columns": [{"name": n, "not_understood": unread[n], "examples": examples[n]} for n in readers],
    }


def _reported(rows: int, columns: list[dict[str, Any]]) -> list[str]:
    lines = [NOT_TO_BE_RELEASED, f"{rows} rows. Cells not understood, of each column:"]
    width = max(len(column["name"]) for column in columns)
    for column in columns:
        share = f"{100 * column['not_understood'] / max(rows, 1):.1f} %"
        such = f"  such as {', '.join(column['examples'])}" if column["examples"] else ""
        lines.append(f"  {column['name']:<{width}} {column['not_understood']:>9} {share:>8}{such}")
    return lines


def _size(found: Dictionary | None, problems: tuple[str, ...]) -> dict[str, int]:
    if found is None or problems:
        return {}
    return {"features": len(found.features), "encoded": int(found.output_bounds().lower.size)}
