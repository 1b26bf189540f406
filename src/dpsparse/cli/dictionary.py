"""``dpsparse dictionary``: write a public data dictionary, and tell what is missing in one."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .exits import Refusal
from .inputs import CsvOptions
from .options import Names, command
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


@dataclass(frozen=True, kw_only=True)
class KindOptions:
    """The kind of each column.

    Parameters
    ----------
    number
        Columns of numbers.
    category
        Columns of labels.
    boolean
        Columns of yes and no.
    date
        Columns of dates.
    """

    number: Names | None = None
    category: Names | None = None
    boolean: Names | None = None
    date: Names | None = None


@command(of=dictionary)
def new(
    table: Path | None = None,
    *,
    from_: Path | None = None,
    kinds: KindOptions,
    target: str | None = None,
    unit: str | None = None,
    id_: Names | None = None,
    ignore: Names | None = None,
    out: Path = Path("dictionary.yaml"),
    replace: bool = False,
    form: CsvOptions,
    json_: bool = False,
) -> None:
    """Write a skeleton for TABLE (.csv or .parquet) from its header and the kinds that you declare.

    Only the line of names is read. Bounds and categories are left open, for you to fill in from a codebook.

    \b
    Example:
      dpsparse dictionary new patients.csv --number age,bmi --category sex,died \\
          --date visit --unit patient --target died --out patients.yaml
      dpsparse dictionary new --from datapackage.json --target died --out patients.yaml

    Parameters
    ----------
    from_
        Start from a description instead of TABLE: a Frictionless or CSVW schema (.json), a REDCap data dictionary
        (.csv), the schema of a .parquet file, or the labels of a .dta or .sav file.
    target
        The column to predict; name it also under its kind.
    unit
        The column whose value names the person: the guarantee covers all rows with one value.
    id_
        Other columns of identifiers; never used.
    ignore
        Other columns that are not used.
    out
        Where it is written (.yaml, .json or .csv); an existing file is kept.
    replace
        Replace an existing file.
    """
    source = from_ or table
    if source is None or (from_ is not None and table is not None):
        raise Refusal("give a TABLE, or a description of one with --from.")
    if out.exists() and not replace:
        raise Refusal(f"{out} exists already. Choose another --out, or say --replace.")
    check_file(out, inputs=[source])
    from ..io.dictionary import Dictionary
    from ..io.files import header

    roles = {"target": [target], "unit": [unit], "id": id_ or [], "ignore": ignore or []}
    declarations = _declared("kind", vars(kinds)), _declared("role", roles)
    if from_ is not None:
        from ..io.dictionary.schemas import declared, dictionary_from

        found = declared(dictionary_from(from_), *declarations)
    else:
        found = Dictionary.skeleton(header(source, form.csv), *declarations)
    with writing(out):
        found.write(out)
    missing, count = found.check(), len(found.columns)
    if json_:
        print_json({"dictionary": out, "columns": count, "missing": list(missing)})
    else:
        echo("\n".join([f"Saved: {out}, {count} columns. Still to be filled in: {len(missing)}", *missing]))


def _declared(what: str, lists: dict[str, Any]) -> dict[str, str]:
    """One word for each column; a column with two is refused, all of them at once."""
    found: dict[str, str] = {}
    twice = []
    for word, names in lists.items():
        for name in filter(None, names or ()):
            if found.get(name, word) != word:
                twice.append(f"column {name!r} was given two {what}s: {found[name]} and {word}. Keep one.")
            found[name] = word
    if twice:
        raise Refusal("\n".join(twice))
    return found


@command(of=dictionary)
def check(file: Path, table: Path | None = None, *, look: bool = False, form: CsvOptions, json_: bool = False) -> None:
    """Show everything that is missing or contradictory in FILE and, with TABLE, where its header differs.

    Exit code 2 if there is anything. Cells are not read, unless --look is given.

    \b
    Examples:
      dpsparse dictionary check patients.yaml patients.csv
      dpsparse dictionary check --look patients.yaml patients.csv

    Parameters
    ----------
    look
        Read the cells of TABLE and list exactly those that are not understood. For the data holder's eyes: NOT
        private, not to be released.
    """
    if look and table is None:
        raise Refusal("--look reads the cells of a table. Give one: dpsparse dictionary check --look FILE TABLE.")
    from ..io.dictionary import Dictionary, DictionaryError
    from ..io.files import header

    found = None
    try:
        found = Dictionary.read(file)
        problems = found.check(None if table is None else header(table, form.csv))
    except DictionaryError as error:
        problems = error.problems
    whole = None if problems else found
    seen = {} if whole is None or table is None or not look else _looked(whole, table, form.csv)
    size = {} if whole is None else {"features": len(whole.features), "encoded": whole.output_bounds().lower.size}
    if json_:
        content = {"dictionary": file, "complete": not problems, "problems": list(problems), **size}
        print_json({**content, **({"warning": NOT_TO_BE_RELEASED, **seen} if seen else {})})
        if problems:
            raise click.exceptions.Exit(Refusal.exit_code)
    elif problems:
        raise Refusal("\n".join(problems))
    else:
        echo(f"{file} is complete: {size['features']} features become {size['encoded']} columns.")
        if seen:
            echo("\n".join(_reported(**seen)))


@dataclass
class _Seen:
    """Cells of a column that were not understood: how many, and some of them."""

    unread: int = 0
    examples: list[str] = field(default_factory=list)


def _looked(found: Dictionary, table: Path, form: CsvForm) -> dict[str, Any]:
    """Exact numbers of cells, of gaps and of cells that are not understood, with examples: **private**."""
    from ..io.dictionary.column import USED
    from ..io.dictionary.frames import Table
    from ..io.dictionary.rules import CellReader
    from ..io.files import blocks

    readers = {column.name: CellReader(column) for column in found.columns if column.role in USED}
    rows, seen = 0, {name: _Seen() for name in readers}
    for block in blocks(table, list(readers), form):
        cells = Table(block, list(readers))
        rows += cells.rows
        for name, reader in readers.items():
            column = cells.cells(name)
            flags = reader.unread(column)
            seen[name].unread += int(flags.sum())
            for place in flags.nonzero()[0].tolist():
                if len(seen[name].examples) == MOST_EXAMPLES:
                    break
                shown = repr(column[place])[:LONGEST_EXAMPLE]
                if shown not in seen[name].examples:
                    seen[name].examples.append(shown)
    listed = [{"name": name, "not_understood": one.unread, "examples": one.examples} for name, one in seen.items()]
    return {"rows": rows, "columns": listed}


def _reported(rows: int, columns: list[dict[str, Any]]) -> list[str]:
    lines = [NOT_TO_BE_RELEASED, f"{rows} rows. Cells not understood, of each column:"]
    width = max(len(column["name"]) for column in columns)
    for column in columns:
        share = f"{100 * column['not_understood'] / max(rows, 1):.1f} %"
        such = f"  such as {', '.join(column['examples'])}" if column["examples"] else ""
        lines.append(f"  {column['name']:<{width}} {column['not_understood']:>9} {share:>8}{such}")
    return lines
