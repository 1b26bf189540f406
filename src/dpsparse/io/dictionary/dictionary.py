"""A public data dictionary: what every column is, before a row is read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Self

from ...core.regular_files import write_whole
from ...rows.declared import ColumnBounds
from .beside import problems_beside
from .column import Column
from .formats import DictionaryError, Plain, dictionary_format, dictionary_text, read_plain, suggestion

FORMAT = "dpsparse-dictionary"
VERSION = 1
FIELDS = tuple(field.name for field in fields(Column))
MOST_COLUMNS = 100_000

COMMENT = """A public data dictionary. Fill in what is null, from a codebook or physical limits and never from the data.
role: feature, target, unit, id or ignore         kind: number, category, boolean or date
  (also weight, offset, exposure; and time, event, entry of a survival study)
bounds: [lowest, highest]                   categories: [a, b, c]; other labels count as missing
fill: the public value for a gap (optional) reference: the category, or the number, to compare with (optional)
gap_is_feature: true adds an indicator for gaps (optional)      unit: years (optional)
shape: line, smooth, monotone or steps (optional)
group: features of one group are kept or dropped together (optional)
base_rate: of a target with two classes, the published share of the rarer one, for plans (optional)
How cells are written, where it is not 12.5, 2024-12-31 or a label in any case of letters (all optional):
format: DD.MM.YYYY, %d.%m.%Y or a list      decimal: ","     thousands: ",", ".", "'" or space
below: limit, half or missing, for <0.5     above: limit or missing, for >100
missing: [-9, unk], codes for a gap         match: exact, if the case of letters matters in labels
Then: dpsparse dictionary check FILE TABLE"""


@dataclass(frozen=True)
class Dictionary:
    """The columns of a table, by public knowledge alone.

    Guarantee
    ---------
    Nothing in it comes from cells: it is written by hand, or by `skeleton` from names and kinds that the user declares.

    Parameters
    ----------
    columns : sequence of Column

    Examples
    --------
    >>> codebook = Dictionary([
    ...     Column(name="patient", role="id"),
    ...     Column(name="age", kind="number", bounds=(0, 110), unit="years"),
    ...     Column(name="sex", kind="category"),
    ... ])
    >>> print(*codebook.check(), sep="\\n")
    column 'sex': categories are missing. List the labels that can occur, from a codebook and not from the data.
    """

    columns: tuple[Column, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(self.columns))

    # ---------------------------------------------------------------------------------------------- files

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Read a YAML, JSON or CSV file. What is missing or contradictory in its columns is said by `check`."""
        path = Path(path)
        return cls.from_dict(read_plain(path), str(path))

    @classmethod
    def from_dict(cls, content: Plain, source: str = "the dictionary") -> Self:
        """From plain values, as `to_dict` gives them."""
        if not isinstance(content, dict) or content.get("format", FORMAT) != FORMAT or "columns" not in content:
            raise DictionaryError([f"{source} is not a data dictionary: it must have format: {FORMAT} and columns."])
        version = content.get("version")
        if str(version) != str(VERSION):
            said = "no version" if version is None else f"version {version!r}"
            raise DictionaryError([f"{source} has {said}; this release reads version: {VERSION}."])
        listed = content["columns"]
        if not isinstance(listed, list) or not all(isinstance(column, dict) for column in listed):
            raise DictionaryError([f"{source}: columns must be a list with fields for each column, such as name: age."])
        if len(listed) > MOST_COLUMNS:
            raise DictionaryError([f"{source} has more than {MOST_COLUMNS} columns."])
        foreign = [f"{source}: unknown field {key!r}.{suggestion(key, ('columns',))}" for key in content]
        unknown = [
            line for line, key in zip(foreign, content, strict=True) if key not in ("format", "version", "columns")
        ]
        columns = []
        for place, entry in enumerate(listed, start=1):
            assert isinstance(entry, dict)
            name = entry.get("name")
            who = f"column {name!r}" if isinstance(name, str) else f"column number {place}"
            unknown += [f"{who}: unknown field {key!r}.{suggestion(key, FIELDS)}" for key in entry if key not in FIELDS]
            known = {key: value for key, value in entry.items() if key in FIELDS}
            columns.append(Column(**{"name": "", **known}))  # type: ignore[arg-type]
        found = cls(tuple(columns))
        if unknown:
            raise DictionaryError([*unknown, *found.check()])
        return found

    def as_fitted(self, *, exact_labels: bool) -> Self:
        """The complete dictionary of a saved model, which reads cells as in its fit.

        Parameters
        ----------
        exact_labels : bool
            Whether the release that saved it told labels apart by the case of their letters. Its dictionaries do not
            say so, since there was no other way.
        """
        if not exact_labels:
            return self.require()
        return replace(
            self, columns=tuple(replace(c, match="exact") if c.kind == "category" else c for c in self.columns)
        ).require()

    def to_dict(self) -> dict[str, Plain]:
        """Plain values."""
        return {"format": FORMAT, "version": VERSION, "columns": [column.to_dict() for column in self.columns]}

    def write(self, path: str | Path) -> None:
        """Write a YAML, JSON or CSV file, as the ending says; it appears whole or not at all."""
        path = Path(path)
        write_whole(
            path, dictionary_text(self.to_dict(), dictionary_format(path), FIELDS, COMMENT if self.check() else "")
        )

    @classmethod
    def skeleton(cls, header: Sequence[str], kinds: Mapping[str, str], roles: Mapping[str, str]) -> Self:
        """A dictionary to be filled in: columns by name, with the kinds and roles that the user declares.

        Parameters
        ----------
        header : sequence of str
        kinds, roles : mapping
            Kind, or role, by column name.
        """
        repeated = sorted(name for name, times in Counter(header).items() if times > 1)
        problems = [f"column {name!r} occurs more than once in the table. Rename one." for name in repeated]
        problems += [
            f"the table has no column {name!r}.{suggestion(name, header)}"
            for name in dict.fromkeys((*kinds, *roles))
            if name not in header
        ]
        if problems:
            raise DictionaryError(problems)
        columns = [Column(name=n, role=roles.get(n, "feature"), kind=kinds.get(n)) for n in header]
        return cls(tuple(columns))

    # ---------------------------------------------------------------------------------------------- checks

    def check(self, header: Sequence[str] | None = None) -> tuple[str, ...]:
        """Everything that is missing or contradictory, one line each.

        With a header, also where it does not fit the table.

        Parameters
        ----------
        header : sequence of str or None
            Names of the columns of a table. Cells are never looked at.
        """
        problems = tuple(self._problems()) or tuple(self._ambiguous())
        return problems if header is None else (*problems, *self.differences(header, ("feature", "target")))

    def _problems(self) -> Iterator[str]:
        for column in self.columns:
            yield from column.problems()
        names = [column.name for column in self.columns]
        for name, times in Counter(names).items():
            if times > 1:
                yield f"column {name!r} is described {times} times. Keep one."
        targets = [column.name for column in self.columns if column.role == "target"]
        if len(targets) > 1:
            yield (
                f"there are {len(targets)} targets: {', '.join(map(repr, targets))}. "
                "Keep one; give the others another role."
            )
        units = [column.name for column in self.columns if column.role == "unit"]
        if len(units) > 1:
            yield f"there are {len(units)} units: {', '.join(map(repr, units))}. Keep one; give the others the role id."
        yield from problems_beside(self)
        if not self.features:
            yield "there is no feature. Give at least one column the role feature."

    def _ambiguous(self) -> Iterator[str]:
        """Names that two encoded columns would share."""
        outputs = Counter(name for column in self.features for name in column.outputs)
        for name, times in outputs.items():
            if times > 1:
                yield (
                    f"two features would both be called {name!r} once they are encoded. Rename a column or a category."
                )

    def differences(self, header: Sequence[str], needed: tuple[str, ...] = ("feature",)) -> tuple[str, ...]:
        """Where a table does not fit: columns with a needed role that it lacks, and columns that are not described."""
        names = [column.name for column in self.columns]
        present = set(header)
        described = set(names)
        strangers = [name for name in header if name not in described]
        lines = []
        for column in self.columns:
            if column.role in needed and column.name not in present:
                lines.append(f"the table has no column {column.name!r}.{suggestion(column.name, strangers)}")
        for name in strangers:
            absent = [n for n in names if n not in present]
            hint = suggestion(name, absent) or " Describe it, or give it the role ignore."
            lines.append(f"the table has a column {name!r} that the dictionary does not describe.{hint}")
        lines += [f"the table has more than one column {n!r}. Rename one." for n, k in Counter(header).items() if k > 1]
        return tuple(lines)

    def require(self) -> Self:
        """Itself, if it is complete; otherwise a refusal that lists everything."""
        problems = self.check()
        if problems:
            raise DictionaryError(problems)
        return self

    # ---------------------------------------------------------------------------------------------- what it says

    @property
    def features(self) -> tuple[Column, ...]:
        """Columns with the role feature, in order."""
        return tuple(column for column in self.columns if column.role == "feature")

    @property
    def target(self) -> Column | None:
        """The column with the role target, if there is one."""
        return next((column for column in self.columns if column.role == "target"), None)

    @property
    def unit(self) -> Column | None:
        """The column with the role unit, whose ids say whose rows are whose, if there is one."""
        return next((column for column in self.columns if column.role == "unit"), None)

    def only(self, names: Sequence[str]) -> Dictionary:
        """The part that describes these columns, for one branch of a `ColumnTransformer`."""
        known = [column.name for column in self.columns]
        unknown = [f"the dictionary has no column {n!r}.{suggestion(n, known)}" for n in names if n not in known]
        if unknown:
            raise DictionaryError(unknown)
        return Dictionary(tuple(column for column in self.columns if column.name in set(names)))

    def output_bounds(self) -> ColumnBounds:
        """Public bounds of the rows that a `TableEncoder` with this dictionary makes."""
        from .codes import Codes

        return Codes(self.require()).output_bounds()
