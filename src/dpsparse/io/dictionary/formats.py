"""Dictionary files: YAML, JSON and CSV as plain values, within limits.

YAML is read without its guesses: ``no`` stays the text "no" and ``2020-01-01`` the text of a date; only an empty value,
``null`` and ``~`` mean nothing. Anchors, aliases and tags are refused, and so are keys that occur twice.
"""

from __future__ import annotations

import csv
import difflib
import io
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from ...core.errors import DataError
from ...core.regular_files import read_bytes

Event = Any  # one of a YAML parser, which has no types
Plain = str | int | float | bool | None | list["Plain"] | dict[str, "Plain"]

#: A dictionary of 50,000 columns has about this size.
MOST_BYTES = 8_000_000
#: The dictionary, its columns, a column, its bounds or categories.
DEEPEST = 4
ENDINGS = {".yaml": "YAML", ".yml": "YAML", ".json": "JSON", ".csv": "CSV"}
#: What separates the entries of a list in a cell of a CSV file, and fields that are lists.
SEPARATOR = "|"
LISTS = ("categories", "format", "missing")


def dictionary_format(path: Path) -> str:
    """Which format an ending stands for."""
    kind = ENDINGS.get(path.suffix.lower())
    if kind is None:
        raise DictionaryError([f"{path} was expected to end in {', '.join(ENDINGS)}. Rename the file."])
    return kind


def read_plain(path: Path) -> Plain:
    """The content of a dictionary file."""
    kind = dictionary_format(path)
    text = read_text(path)
    readers: dict[str, Callable[[str], Plain]] = {"YAML": _from_yaml, "JSON": _from_json, "CSV": _from_csv}
    try:
        content = readers[kind](text)
        _check_depth(content, DEEPEST)
    except (ValueError, RecursionError) as error:
        if isinstance(error, DictionaryError):
            raise DictionaryError([f"{path}: {problem}" for problem in error.problems]) from None
        raise DictionaryError([f"{path} is not valid {kind}. Correct it with a text editor."]) from None
    return content


def read_text(path: Path) -> str:
    """The text of a regular file of limited size."""
    try:
        return read_bytes(path, MOST_BYTES, "a dictionary").decode("utf-8-sig")
    except FileNotFoundError:
        problem = f"{path} does not exist. Make one with dpsparse dictionary new."
    except UnicodeDecodeError:
        problem = f"{path} was expected to be text in UTF-8. Save it again so."
    except DataError as error:
        problem = str(error)
    raise DictionaryError([problem])


def _check_depth(value: Plain, left: int) -> None:
    if isinstance(value, dict | list):
        if left == 0:
            raise DictionaryError(
                [f"lists and fields are nested more than {DEEPEST} deep. See the example in the docs."]
            )
        for inner in value.values() if isinstance(value, dict) else value:
            _check_depth(inner, left - 1)


# -------------------------------------------------------------------------------------------------- JSON


def _from_json(text: str) -> Plain:
    def no_constant(name: str) -> Plain:
        raise DictionaryError([f"{name} is not a number that a dictionary can hold."])

    content: Plain = json.loads(text, object_pairs_hook=_once, parse_constant=no_constant)
    return content


def _once(pairs: list[tuple[str, Plain]]) -> dict[str, Plain]:
    """A mapping whose keys occur once."""
    found: dict[str, Plain] = {}
    for key, value in pairs:
        if key in found:
            raise DictionaryError([f"the field {key!r} occurs twice in one place. Keep one."])
        found[key] = value
    return found


# -------------------------------------------------------------------------------------------------- YAML


def _from_yaml(text: str) -> Plain:
    yaml = _yaml()
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        events = (e for e in yaml.parse(text, Loader=loader) if type(e).__name__ not in _FRAME)
        content = _value(next(events, None), events, DEEPEST + 1)
        if next(events, None) is not None:
            raise DictionaryError(["it holds more than one document. Keep one."])
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = "" if mark is None else f" near line {mark.line + 1}"
        raise DictionaryError([f"this is not valid YAML{place}. Check the indentation and the quotes there."]) from None
    return content


_FRAME = ("StreamStartEvent", "StreamEndEvent", "DocumentStartEvent", "DocumentEndEvent")


def _yaml() -> ModuleType:
    try:
        import yaml
    except ImportError:
        raise ImportError("reading and writing YAML needs PyYAML. Install it with: pip install pyyaml") from None
    found: ModuleType = yaml
    return found


def _value(event: Event, events: Iterator[Event], left: int) -> Plain:
    """One value from the events of a parser."""
    kind = type(event).__name__
    if event is None or left == 0:
        raise DictionaryError([f"it is empty, or nested more than {DEEPEST} deep. See the example in the docs."])
    if kind == "AliasEvent" or getattr(event, "anchor", None) or getattr(event, "tag", None):
        raise DictionaryError(["anchors (&), aliases (*) and tags (!) are not read. Write the value out."])
    if kind == "ScalarEvent":
        text = str(event.value)
        return None if event.implicit[0] and text in ("", "~", "null", "Null", "NULL") else text
    if kind == "SequenceStartEvent":
        items: list[Plain] = []
        while type(inner := next(events)).__name__ != "SequenceEndEvent":
            items.append(_value(inner, events, left - 1))
        return items
    pairs: list[tuple[str, Plain]] = []
    while type(key := next(events)).__name__ != "MappingEndEvent":
        if type(key).__name__ != "ScalarEvent":
            raise DictionaryError(["names of fields must be plain words."])
        pairs.append((str(key.value), _value(next(events), events, left - 1)))
    return _once(pairs)


# -------------------------------------------------------------------------------------------------- CSV


def _from_csv(text: str) -> Plain:
    """One line for each column; `lower` and `upper` are the bounds; entries of lists are separated by a bar."""
    try:
        lines = [line for line in csv.reader(io.StringIO(text, newline="")) if any(cell.strip() for cell in line)]
    except csv.Error:
        raise ValueError from None
    if not lines:
        raise DictionaryError(["it is empty. The first line must name the fields: name,role,kind,lower,upper,..."])
    header = [name.strip() for name in lines[0]]
    columns: list[Plain] = []
    for line in lines[1:]:
        if len(line) > len(header):
            raise DictionaryError(["a line has more cells than the first. Quote cells that hold commas."])
        cells: list[tuple[str, Plain]] = [(n, c.strip() or None) for n, c in zip(header, line, strict=False)]
        fields = _once(cells)
        version = fields.pop("version", "1")
        if version not in ("1", None):
            raise DictionaryError([f"it has version {version!r}; this release reads version 1. Update dpsparse."])
        lower, upper = fields.pop("lower", None), fields.pop("upper", None)
        if lower is not None or upper is not None:
            fields["bounds"] = [lower, upper]
        for name in LISTS:
            listed = fields.get(name)
            if isinstance(listed, str):
                fields[name] = [part.strip() for part in listed.split(SEPARATOR)]
        columns.append(fields)
    return {"format": "dpsparse-dictionary", "version": 1, "columns": columns}


# -------------------------------------------------------------------------------------------------- writing


def dictionary_text(content: dict[str, Plain], kind: str, fields: tuple[str, ...], comment: str = "") -> str:
    """The text of a dictionary file; a comment goes to the head of YAML, which alone has comments."""
    if kind == "JSON":
        return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    if kind == "YAML":
        head = "".join(f"# {line}\n" for line in comment.splitlines())
        body: str = _yaml().dump(
            content,
            Dumper=getattr(_yaml(), "CSafeDumper", _yaml().SafeDumper),
            sort_keys=False,
            allow_unicode=True,
            default_flow_style=None,
            width=120,
        )
        return head + body
    columns = content["columns"]
    assert isinstance(columns, list)
    text = io.StringIO()
    names = [n for f in fields for n in (("lower", "upper") if f == "bounds" else (f,))]
    writer = csv.DictWriter(text, ["version", *names], lineterminator="\n", restval="")
    writer.writeheader()
    for column in columns:
        assert isinstance(column, dict)
        line = dict(column)
        bounds = line.pop("bounds", None)
        line["lower"], line["upper"] = bounds if isinstance(bounds, list) else ("", "")
        for name in LISTS:
            listed = line.get(name)
            if isinstance(listed, list):
                if any(SEPARATOR in str(c) for c in listed):
                    what = "a category" if name == "categories" else f"an entry of {name}"
                    raise DictionaryError([f"{what} holds {SEPARATOR!r}, which CSV cannot keep. Write YAML or JSON."])
                line[name] = SEPARATOR.join(str(c) for c in listed)
        flags = {name: str(value).lower() for name, value in line.items() if isinstance(value, bool)}
        writer.writerow({"version": 1, **line, **flags})
    return text.getvalue()


class DictionaryError(DataError):
    """A dictionary that cannot be used, or a table that does not fit it.

    Attributes
    ----------
    problems : tuple of str
        Everything that is wrong, one line each. They speak of the dictionary and of column names, never of cells.
    """

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(self.problems))


def suggestion(word: object, known: Sequence[str]) -> str:
    """``Did you mean ...?`` for a word that is close to a known one; otherwise the empty text."""
    close = difflib.get_close_matches(str(word), known, n=1)
    if not close:
        lowered = {name.lower(): name for name in known}
        close = [lowered[str(word).lower()]] if str(word).lower() in lowered else []
    return f" Did you mean {close[0]!r}?" if close else ""
