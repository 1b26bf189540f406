"""One column of a data dictionary."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import date, timedelta
from typing import Any

from ...rows.bounds import LARGEST_BOUND
from ...rows.cells import EPOCH, FALSE, TRUE, CategoryMatcher, parse_bool, parse_date, parse_label, parse_number
from ...rows.shapes import SHAPES
from .formats import Plain, suggestion
from .rules import ABOVE, BELOW, DECIMALS, ISO, THOUSANDS, strptime_format

#: Roles of columns whose cells are read; and all of them.
USED = ("feature", "target", "weight", "offset", "exposure", "time", "event", "entry")
ROLES = (*USED, "unit", "id", "ignore")
KINDS = ("number", "category", "boolean", "date")
#: Kinds with bounds.
SCALED = ("number", "date")
MATCHES = ("ignore case", "exact")
#: Fields that not every column has, and the kinds whose columns have them; `missing` is for all.
FIELDS = {
    **dict.fromkeys(("shape", "decimal", "thousands", "below", "above"), ("number",)),
    **dict.fromkeys(("categories", "match"), ("category",)),
    "format": ("date",),
    "bounds": SCALED,
    "reference": ("category", "number"),
}
#: A level for the indicator of a gap, in names and where coefficients are shown.
GAP_LEVEL = "is missing"
#: Names and labels are printed and stored; longer ones are a mistake.
LONGEST_NAME = 200
MOST_CATEGORIES = 10_000
#: Bounds closer than this part of their size would make numbers out of rounding errors.
NARROWEST = 1e-9


@dataclass(frozen=True, kw_only=True)
class Column:
    """What is publicly known about one column.

    Values are kept as they were given where they make no sense, so that `problems` can tell all
    that is wrong at once.

    Parameters
    ----------
    name : str
        As in the header of the table.
    role : str, default="feature"
        feature, target, weight, offset, exposure, time, event, entry, unit, id or ignore.
        ``unit``: the id of the person, household or firm that a guarantee protects: all rows with the
        same one. ``id``: an id that is not used.
    kind : {"number", "category", "boolean", "date"} or None
    bounds : (lowest, highest) or None
        For numbers, and for dates as ISO 8601 text: what the column can hold, from a codebook and
        not from the data.
    categories : sequence of str or None
        The labels that are distinguished; any other belongs to no class.
    reference : number, str or None
        The category that results are compared with (None: the first), or the value at which a curve
        is zero (None: the middle of the bounds). It changes how effects are shown, and not how the
        column is encoded.
    fill : number, str, bool or None
        The public value that takes the place of a gap. None: the middle of the bounds, no category,
        false.
    gap_is_feature : bool, default=False
        Whether a gap gets an indicator of its own.
    unit : str or None
        Such as ``years``; shown with coefficients.
    format : str or sequence of str, or None
        How dates are written: ``DD.MM.YYYY``, or ``%d.%m.%Y`` as `datetime.strptime` has it; the
        first that fits is taken. None: ISO 8601, which stands in a list as ``ISO``. Two digits of a
        year are 1969 to 2068.
    decimal, thousands : str or None
        The decimal mark of numbers, ``.`` or ``,`` (None: ``.``), and what stands between groups of
        three digits: ``,``, ``.``, ``'`` or ``space`` (None: nothing does).
    below : {"limit", "half", "missing"} or None
        What ``<0.5`` says: the limit, half of it, or that the value is missing. None: such a cell
        is not understood.
    above : {"limit", "missing"} or None
        The same for ``>100``.
    match : {"ignore case", "exact"} or None
        How labels are compared; None: ``ignore case``. Surrounding space never matters.
    missing : sequence of str, or None
        Codes that mean missing, such as ``-9`` or ``unk``, beside an empty cell, ``NA``, ``n/a``,
        ``null`` and the like.
    shape : {"line", "smooth", "monotone", "steps"} or None
        How a number enters a model: as a line, as a smooth curve, as one that only rises or
        only falls, or as steps. None: as the fit is asked for (`shapes`).
    group : str or None
        Features of the same group are kept and dropped together, and count once in `sparsity`.
    base_rate : float or None
        Of a target with two classes: the publicly known share of the rarer one, such as a published
        prevalence. What is expected of a fit depends on it; the fit does not.

    Examples
    --------
    >>> Column(name="age", kind="number", bounds=("0", 110), unit="years").bounds
    (0.0, 110.0)
    >>> list(Column(name="sex", kind="categry").problems())
    ["column 'sex': kind must be number, category, boolean or date, got 'categry'. Did you mean
    'category'?"]
    """

    name: str
    role: str = "feature"
    kind: str | None = None
    bounds: object = None
    categories: object = None
    fill: object = None
    gap_is_feature: object = False
    unit: str | None = None
    format: object = None
    decimal: str | None = None
    thousands: str | None = None
    below: str | None = None
    above: str | None = None
    match: str | None = None
    missing: object = None
    shape: str | None = None
    reference: object = None
    group: str | None = None
    base_rate: object = None

    def __post_init__(self) -> None:
        role = "feature" if self.role is None else self.role
        changes: dict[str, object] = {"role": role, "gap_is_feature": flag(self.gap_is_feature)}
        if isinstance(self.bounds, list | tuple):
            changes["bounds"] = tuple(end(value, self.kind) for value in self.bounds)
        if isinstance(self.categories, Iterable) and not isinstance(self.categories, str | Mapping):
            changes["categories"] = texts(self.categories)
        for name in ("format", "missing"):
            changes[name] = texts(getattr(self, name), single=True)
        if isinstance(self.thousands, str) and self.thousands and not self.thousands.strip():
            changes["thousands"] = "space"
        if self.base_rate is not None:
            changes["base_rate"] = end(self.base_rate, "number")
        for name in ("fill", "reference"):
            if getattr(self, name) is not None:
                changes[name] = fill(getattr(self, name), self.kind)
        for name, value in changes.items():
            object.__setattr__(self, name, value)

    # ---------------------------------------------------------------------------------------------- what it says

    @property
    def scaled(self) -> bool:
        """Whether it holds numbers or dates, which have bounds."""
        return self.kind in SCALED

    def value(self, cell: object) -> float:
        """What a cell of the dictionary says; that of a date is days since 1970-01-01. NaN for what is neither."""
        return {"date": parse_date, "boolean": parse_bool}.get(str(self.kind), parse_number)(cell)

    @property
    def limits(self) -> tuple[float, float]:
        """Bounds as numbers; those of a date are days since 1970-01-01."""
        lower, upper = map(self.value, entries_of(self.bounds))
        return lower, upper

    @property
    def middle_and_half(self) -> tuple[float, float]:
        """The middle of the bounds, and half of their distance."""
        lower, upper = self.limits
        return lower + (upper - lower) / 2, (upper - lower) / 2

    @property
    def labels(self) -> tuple[str, ...]:
        """Its categories; none for other kinds."""
        return entries_of(self.categories)

    @property
    def compared_with(self) -> str | None:
        """The category that results are compared with: the declared reference, or the first; None for other kinds."""
        return None if not self.labels else self.labels[0] if self.reference is None else str(self.reference)

    @property
    def formats(self) -> tuple[str, ...]:
        """How its dates are written; none: ISO 8601."""
        return entries_of(self.format)

    @property
    def codes(self) -> tuple[str, ...]:
        """Codes that mean missing, beside the words that always do."""
        return entries_of(self.missing)

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the columns that it becomes when it is encoded."""
        own = tuple(f"{self.name}={text}" for text in self.labels) if self.kind == "category" else (self.name,)
        return (*own, f"{self.name} {GAP_LEVEL}") if self.gap_is_feature is True else own

    def to_dict(self) -> dict[str, Plain]:
        """Plain values; what was left out, and does not have to be said, is left out."""
        content: dict[str, Plain] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name in ("name", "role") or value not in (None, False) or field.name in self._needs():
                content[field.name] = plain(value)
        if self.fill is False:
            content["fill"] = False
        return content

    def _needs(self) -> tuple[str, ...]:
        """Fields without which it cannot be used."""
        if self.role not in USED:
            return ()
        return ("kind", *(["bounds"] if self.scaled else ["categories"] if self.kind == "category" else []))

    # ---------------------------------------------------------------------------------------------- what is wrong

    def problems(self) -> Iterator[str]:
        """Everything that is missing or contradictory, one line each."""
        if not isinstance(self.name, str) or not self.name.strip():
            yield (
                f"a column has no name, or one that is not text ({self.name!r}). "
                "Write it as in the header of the table."
            )
            return
        if len(self.name) > LONGEST_NAME or not self.name.isprintable():
            yield f"column {self.name[:20]!r}...: the name must be printable and at most {LONGEST_NAME} letters long."
            return
        for problem in (*self._role_problems(), *self._kind_problems()):
            yield f"column {self.name!r}: {problem}"

    def _role_problems(self) -> Iterator[str]:
        if self.role not in ROLES:
            yield f"role must be {either(ROLES)}, got {self.role!r}.{suggestion(self.role, ROLES)}"
        if not isinstance(self.gap_is_feature, bool):
            yield f"gap_is_feature must be true or false, got {self.gap_is_feature!r}."
        elif self.gap_is_feature and self.role in ROLES and self.role != "feature":
            yield f"gap_is_feature belongs to features, but the role is {self.role!r}. Leave it out."
        if self.unit is not None and not (isinstance(self.unit, str) and self.unit.isprintable()):
            yield f"unit must be text, got {self.unit!r}."
        if self.base_rate is not None:
            two = self.kind == "boolean" or len(self.labels) == 2
            if self.role != "target" or not two:
                yield "base_rate belongs to a target with two classes. Leave it out."
            elif not (isinstance(self.base_rate, float) and 0 < self.base_rate <= 0.5):
                yield (
                    f"base_rate is the share of the rarer class, above 0 and at most 0.5, got {self.base_rate!r}. Take "
                    "it from a publication and not from the data."
                )

    def _kind_problems(self) -> Iterator[str]:
        used = self.role in USED
        if self.kind is None:
            if used:
                yield f"kind is missing. Choose {either(KINDS)}, or give it the role id or ignore."
            return
        if self.kind not in KINDS:
            yield f"kind must be {either(KINDS)}, got {self.kind!r}.{suggestion(self.kind, KINDS)}"
            return
        if self.role == "target" and self.kind == "date":
            yield "a date cannot be the target. Use a number, such as days since a public date."
        foreign = [
            f"the field {name} belongs to the kind {' or '.join(kinds)}, but the kind is {self.kind!r}. Leave it out."
            for name, kinds in FIELDS.items()
            if getattr(self, name) is not None and self.kind not in kinds
        ]
        known = {"number": self._bound_problems, "date": self._bound_problems, "category": self._category_problems}
        own = known[self.kind](used) if self.kind in known else ()
        wrong = [*foreign, *own, *(() if foreign else self._rule_problems())]
        yield from wrong
        if not wrong and self.fill is not None:
            yield from self._fill_problems()

    def _bound_problems(self, used: bool) -> Iterator[str]:
        form = "[lowest, highest]" if self.kind == "number" else "[first, last] such as [2015-01-01, 2025-12-31]"
        if self.bounds is None:
            if used:
                yield f"bounds are missing. Give {form} from a codebook or physical limits, not from the data."
            return
        if len(entries_of(self.bounds)) != 2 or None in entries_of(self.bounds):
            yield f"bounds must be {form}."
            return
        lower, upper = self.limits
        if math.isnan(lower) or math.isnan(upper):
            yield f"bounds must be {form}, got {format_value(self.bounds)}."
        elif max(abs(lower), abs(upper)) > LARGEST_BOUND:
            yield f"bounds must be below {LARGEST_BOUND:g}."
        elif not lower < upper:
            yield f"bounds must have the lower one first, got {format_value(self.bounds)}."
        elif upper - lower < NARROWEST * max(abs(lower), abs(upper)) or upper - lower < 1 / LARGEST_BOUND:
            yield f"bounds are too close to each other, got {format_value(self.bounds)}. Use another unit or origin."

    def _category_problems(self, used: bool) -> Iterator[str]:
        if self.categories is None:
            if used:
                yield "categories are missing. List the labels that can occur, from a codebook and not from the data."
            return
        if not self.labels:
            yield "categories must be a list of labels with at least one entry."
            return
        labels = self.labels
        if len(labels) > MOST_CATEGORIES:
            yield f"there are more than {MOST_CATEGORIES} categories. Group them."
        repeated = sorted({text for text in labels if labels.count(text) > 1}) if len(set(labels)) < len(labels) else []
        if repeated:
            yield f"categories are listed twice: {', '.join(map(repr, repeated))}."
        bad = [text for text in labels if not text or len(text) > LONGEST_NAME or not text.isprintable()]
        if bad:
            yield f"categories must be printable text of 1 to {LONGEST_NAME} letters; {len(bad)} are not."
        folded = Counter(text.casefold() for text in set(labels))
        alike = sorted(text for text in set(labels) if folded[text.casefold()] > 1)
        if alike and self.match != "exact":
            yield (
                f"categories differ only in the case of letters: {', '.join(map(repr, alike))}. Keep one of them, or "
                "write match: exact."
            )
        if self.reference is not None and (self.reference not in labels or self.role == "target"):
            wrong = "belongs to features" if self.role == "target" else "must be one of the categories"
            yield f"reference {wrong}, got {self.reference!r}.{suggestion(self.reference, labels)}"
        if self.role == "target" and len(set(labels)) < 2:
            yield "a target needs at least two categories."

    def _rule_problems(self) -> Iterator[str]:
        """What is wrong with the rules by which its cells are read."""
        if self.format is not None and not self.formats:
            yield "format must be text such as DD.MM.YYYY, or a list of such texts."
        for form in self.formats:
            if form != ISO and strptime_format(form) is None:
                yield (
                    f"format {form!r} is not understood. Write it of YYYY, YY, MM, DD, HH, mm and "
                    "ss, such as DD.MM.YYYY, or of "
                    "%Y, %y, %m, %d, %j, %H, %M, %S and %f, with a year and each part once; or write ISO."
                )
        if self.group is not None and not (isinstance(self.group, str) and self.group.isprintable()):
            yield f"group must be text, got {self.group!r}."
        if self.reference is not None and self.kind == "number" and entries_of(self.bounds):
            lower, upper = self.limits
            if not lower <= self.value(self.reference) <= upper:
                yield f"reference must lie within the bounds {format_value(self.bounds)}, got {self.reference!r}."
        choices = {
            "shape": SHAPES,
            "decimal": DECIMALS,
            "thousands": tuple(THOUSANDS),
            "below": BELOW,
            "above": ABOVE,
            "match": MATCHES,
        }
        for name, known in choices.items():
            given = getattr(self, name)
            if given is not None and given not in known:
                yield f"{name} must be {either(known)}, got {given!r}.{suggestion(given, known)}"
        if self.thousands is not None and self.thousands == (self.decimal or "."):
            yield f"thousands and decimal are both {self.thousands!r}. Declare the other one, too."
        if self.below == "half" and entries_of(self.bounds) and self.limits[0] < 0:
            yield (
                "below: half is for quantities that are never negative, but the lower bound is. Write limit or missing."
            )
        yield from self._code_problems()

    def _code_problems(self) -> Iterator[str]:
        if self.missing is None:
            return
        if not self.codes or any(not code or len(code) > LONGEST_NAME or not code.isprintable() for code in self.codes):
            yield (
                "missing must be a list of codes such as -9 or unk, printable text of 1 to "
                f"{LONGEST_NAME} letters each."
            )
            return
        labels = CategoryMatcher(self.labels, self.match == "exact")
        both = [code for code in self.codes if labels.find(code) >= 0]
        if both:
            yield f"missing and categories both list {', '.join(map(repr, both))}. Keep one of them."

    def _fill_problems(self) -> Iterator[str]:
        if self.role == "target" and self.kind != "number":
            yield "fill belongs to features and number targets: a record without a label is left empty. Leave it out."
        elif self.kind == "boolean":
            if not isinstance(self.fill, bool):
                yield f"fill must be true or false, got {self.fill!r}."
        elif self.kind == "category":
            if self.fill not in self.labels:
                yield f"fill must be one of the categories, got {self.fill!r}.{suggestion(self.fill, self.labels)}"
        elif entries_of(self.bounds):
            lower, upper = self.limits
            if not lower <= self.value(self.fill) <= upper:
                yield f"fill must lie within the bounds {format_value(self.bounds)}, got {self.fill!r}."


def entries_of(value: object) -> tuple[Any, ...]:
    """The entries of a list; none for what is no list."""
    return value if isinstance(value, tuple) else ()


def flag(value: object) -> object:
    """A truth value, or what was given."""
    if value is None:
        return False
    word = value.strip().lower() if isinstance(value, str) else value
    return word in TRUE if isinstance(word, str) and word in TRUE | FALSE else value


def end(value: object, kind: str | None) -> object:
    """One end of bounds in its plain form, or as it was given."""
    if kind == "date":
        return iso(value)
    found = parse_number(value)
    return value if kind not in ("number", None) or math.isnan(found) or isinstance(value, bool) else found


def iso(value: object) -> object:
    """A date as ISO 8601 text, or what was given."""
    found = parse_date(value)
    if math.isnan(found):
        return value
    if found.is_integer():
        return (date.fromordinal(EPOCH) + timedelta(days=found)).isoformat()
    return value if isinstance(value, str) else str(value)


def fill(value: object, kind: str | None) -> object:
    """The value for a gap in the plain form of its kind, or as it was given."""
    if kind == "date":
        return iso(value)
    if kind == "boolean":
        found = parse_bool(value)
        return value if math.isnan(found) else bool(found)
    if kind == "category":
        return value.strip() if isinstance(value, str) else parse_label(value) or value
    return end(value, kind)


def texts(value: object, *, single: bool = False) -> object:
    """A list of labels or other words as a tuple of text, or what was given.

    With `single` one word is a list of one.
    """
    if single and isinstance(value, str | int | float) and not isinstance(value, bool):
        value = [value]
    if not isinstance(value, Iterable) or isinstance(value, str | Mapping):
        return value
    days = (v.isoformat() if isinstance(v, date) else v for v in value)
    return tuple(v.strip() if isinstance(v, str) else parse_label(v) or repr(v) for v in days)


def plain(value: object) -> Plain:
    """As files keep it: whole numbers without a point."""
    if isinstance(value, tuple):
        return [plain(v) for v in value]
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)


def format_value(bounds: object) -> str:
    """Bounds as messages show them."""
    return "[" + ", ".join(str(plain(end)) for end in entries_of(bounds)) + "]"


def either(words: Sequence[str]) -> str:
    """``a, b or c``."""
    return f"{', '.join(words[:-1])} or {words[-1]}"
