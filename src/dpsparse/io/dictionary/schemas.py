"""Dictionaries from descriptions of tables that exist already: schemas, codebooks and labels.

Guarantee
---------
Names, declared types, limits, labels and codes for missing are read, and no cell: of a Parquet or
Stata file the schema and labels alone. What a description does not say stays open, for a person to
fill in.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...core.errors import DataError
from ..tabular import is_number_type
from .column import LONGEST_NAME, Column
from .dictionary import Dictionary
from .formats import DictionaryError, read_text

#: Types of Frictionless and CSVW, and the kinds that they are.
KINDS = {
    **dict.fromkeys(("number", "integer", "year", "decimal", "double", "float", "long", "int", "short"), "number"),
    **dict.fromkeys(("nonNegativeInteger", "positiveInteger", "unsignedInt", "byte"), "number"),
    **dict.fromkeys(("date", "datetime", "dateTime"), "date"),
    "boolean": "boolean",
}
#: Kinds of REDCap fields with choices, and of those that are no data.
CHOICES, NO_DATA = ("radio", "dropdown"), ("descriptive", "file", "notes", "checkbox")
REDCAP_NAME, REDCAP_TYPE = "Variable / Field Name", "Field Type"
REDCAP_CHOICES = "Choices, Calculations, OR Slider Labels"
REDCAP_VALIDATION = "Text Validation Type OR Show Slider Number"
#: What a description says of a column, by its own words.
Described = Mapping[str, Any]


def dictionary_from(path: str | Path) -> Dictionary:
    """The dictionary that a schema, codebook or data file with labels describes; its open points are in `check`.

    Parameters
    ----------
    path : str or Path
        ``.json``: Frictionless Table Schema or Data Package, or CSVW. ``.csv``: REDCap data
        dictionary. ``.parquet``: its schema. ``.dta`` and ``.sav``: labels of Stata and SPSS.
    """
    path = Path(path)
    readers: dict[str, Callable[[Path], Iterable[Column]]] = {
        ".json": _json,
        ".csv": _redcap,
        ".parquet": _parquet,
        ".dta": _labels_by("read_dta"),
        ".sav": _labels_by("read_sav"),
    }
    if path.suffix.lower() not in readers:
        raise DictionaryError(
            [f"{path}: schemas are read from {', '.join(readers)}. Convert it, or start with a table."]
        )
    try:
        columns = tuple(readers[path.suffix.lower()](path))
    except (DataError, ImportError, FileNotFoundError):
        raise
    except Exception:  # messages of parsers could quote a cell
        raise DictionaryError([f"{path} could not be read as a schema or codebook. Check its form."]) from None
    if not columns:
        raise DictionaryError([f"{path} describes no column."])
    return Dictionary(columns)


def declared(found: Dictionary, kinds: Mapping[str, str], roles: Mapping[str, str]) -> Dictionary:
    """A dictionary with kinds and roles that the user declares beside it."""
    names = {column.name for column in found.columns}
    unknown = sorted({*kinds, *roles} - names)
    if unknown:
        raise DictionaryError([f"the schema has no column {name!r}." for name in unknown])
    return Dictionary(
        tuple(
            replace(column, kind=kinds.get(column.name, column.kind), role=roles.get(column.name, column.role))
            for column in found.columns
        )
    )


def _json(path: Path) -> Iterable[Column]:
    content = json.loads(read_text(path))
    schema = content
    if "resources" in content:
        schema = content["resources"][0]["schema"]
    if "tables" in content:
        content = content["tables"][0]
    if "tableSchema" in content:
        return [_csvw(column) for column in content["tableSchema"]["columns"] if not column.get("virtual")]
    if "fields" not in schema:
        raise DictionaryError([f"{path} is neither a Frictionless schema (fields) nor CSVW (tableSchema)."])
    keys = schema.get("primaryKey", [])
    ids = [keys] if isinstance(keys, str) else keys
    return [_frictionless(field, schema.get("missingValues", []), ids) for field in schema["fields"]]


def _frictionless(field: Described, missing: list[str], ids: list[str]) -> Column:
    limits, kind = field.get("constraints", {}), KINDS.get(field.get("type", "string"))
    labels = limits.get("enum") or field.get("categories")
    labels = [each["value"] if isinstance(each, dict) else each for each in labels] if labels else None
    pattern = field.get("format")
    return _column(
        field["name"],
        "category" if labels else kind,
        role="id" if field["name"] in ids else "feature",
        bounds=(limits.get("minimum"), limits.get("maximum")),
        categories=labels,
        format=pattern if kind == "date" and pattern not in (None, "default", "any") else None,
        missing=field.get("missingValues", missing),
        decimal=field.get("decimalChar"),
        thousands=field.get("groupChar"),
        unit=field.get("unit"),
    )


def _csvw(column: Described) -> Column:
    given = column.get("datatype", "string")
    kind = {"base": given} if isinstance(given, str) else given
    title = column.get("titles", column.get("name"))
    name = title if isinstance(title, str) else (title["en"] if isinstance(title, dict) else title[0])
    absent = column.get("null", [])
    ends = [kind.get(f"{end}imum", kind.get(f"{end}Inclusive")) for end in ("min", "max")]
    labels, pattern = _alternatives(kind.get("format")), KINDS.get(kind.get("base", "string"))
    return _column(
        name,
        "category" if labels and pattern is None else pattern,
        bounds=(ends[0], ends[1]),
        categories=labels if pattern is None else None,
        format=str(kind["format"]).replace("yyyy", "YYYY").replace("dd", "DD")
        if pattern == "date" and "format" in kind
        else None,
        missing=[absent] if isinstance(absent, str) else absent,
    )


def _alternatives(pattern: object) -> list[str] | None:
    """The labels of a regular expression that only lists them, such as ``yes|no``."""
    if not isinstance(pattern, str) or not re.fullmatch(r"\^?\(?[\w \-]+(\|[\w \-]+)+\)?\$?", pattern):
        return None
    return pattern.strip("^$()").split("|")


def _redcap(path: Path) -> Iterable[Column]:
    lines = list(csv.DictReader(io.StringIO(read_text(path), newline="")))
    if not lines or not {REDCAP_NAME, REDCAP_TYPE} <= set(lines[0]):
        raise DictionaryError([f"{path} is not a REDCap data dictionary: it has no column {REDCAP_NAME!r}."])
    found: list[Column] = []
    for line in lines:
        field, check = line[REDCAP_TYPE], line.get(REDCAP_VALIDATION) or ""
        choices = [
            part.split(",", 1)[0].strip() for part in (line.get(REDCAP_CHOICES) or "").split("|") if part.strip()
        ]
        kind = {"yesno": "boolean", "truefalse": "boolean", "slider": "number", "calc": "number"}.get(field)
        if field in CHOICES:
            kind = "category"
        elif check.startswith(("integer", "number")):
            kind = "number"
        elif check.startswith("date"):
            kind = "date"
        role = "id" if (line.get("Identifier?") or "").lower() == "y" or not found else "feature"
        ends = (line.get("Text Validation Min") or None, line.get("Text Validation Max") or None)
        categories = choices if kind == "category" else None
        role = "ignore" if field in NO_DATA else role
        found.append(_column(line[REDCAP_NAME], kind, role=role, bounds=ends, categories=categories))
    return found


def _parquet(path: Path) -> Iterable[Column]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    def kind_of(kind: object) -> str | None:
        if pa.types.is_boolean(kind):
            return "boolean"
        if pa.types.is_dictionary(kind):
            return "category"
        if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
            return "date"
        return "number" if is_number_type(kind) else None

    return [_column(field.name, kind_of(field.type)) for field in pq.read_schema(path)]


def _labels_by(reader: str) -> Callable[[Path], Iterable[Column]]:
    """Columns with the value labels of a file that pyreadstat reads."""

    def columns(path: Path) -> Iterable[Column]:
        try:
            import pyreadstat
        except ImportError:
            raise ImportError(
                "reading the labels of Stata and SPSS files needs pyreadstat. Install it with: "
                "pip install 'dpsparse[codebooks]'"
            ) from None
        meta = getattr(pyreadstat, reader)(path, metadataonly=True)[1]
        labels, formats = meta.variable_value_labels, meta.original_variable_types
        return [_labelled(name, labels.get(name), formats[name]) for name in meta.column_names]

    return columns


def _labelled(name: str, labels: Mapping[object, str] | None, form: str) -> Column:
    """A column with value labels is a category of its labels; otherwise its format says what it is."""
    if labels:
        return _column(name, "category", categories=[str(label) for label in labels.values()])
    if re.match(r"%t[dc]|%d|(E|S|A)?DATE|DATETIME", form):
        return _column(name, "date")
    return _column(name, None if re.match(r"%-?\d*s|A\d", form) else "number")


def _column(name: object, kind: str | None, bounds: tuple[object, object] = (None, None), **fields: Any) -> Column:
    """A column with what a description says; bounds with one end are left open."""
    text = str(name)[:LONGEST_NAME]
    codes = [str(code) for code in fields.pop("missing", None) or [] if str(code).strip()]
    kept = bounds if kind in ("number", "date") and None not in bounds else None
    said = {key: value for key, value in fields.items() if value not in (None, [], ())}
    if kind != "number":
        said = {key: value for key, value in said.items() if key not in ("decimal", "thousands")}
    return Column(name=text, kind=kind, bounds=kept, missing=codes or None, **said)
