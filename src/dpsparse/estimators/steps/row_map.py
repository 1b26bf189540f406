"""Steps that cost nothing, applied so that no record stops the others or changes how they come out.

Guarantee
---------
A record on which a step fails is absent: a row of another record stands in its place until
`leave_out` makes it a row of NaN, which an estimator treats as it treats missing values. All other
records come out as they would without it. Whether a step is run on all records at once is decided
on synthetic rows, before private ones come: a step whose rows differ in the last bits alone and in
company is run on groups of one size, or on each record by itself. What a step says about private
rows is not passed on. Only a step that fails on every record, and on synthetic rows of these
columns as well, is refused.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone

from ...audit.transformer_checks import Rows, rows_in, runnable_rows, some_rows, steady_rows
from ...core import DataError, PrivacyError
from ...io.dictionary.carrier import BoundedArray, carried_bounds
from ...rows import Records
from ...rows.declared import ColumnBounds
from ...rows.file_records import FileRecords
from ...rows.records import suppress_messages

Absent = NDArray[np.bool_]


def row_map(
    name: str, step: BaseEstimator, X: Rows, y: object = None, *, fitted: bool = False, alone: bool = False
) -> tuple[Rows, Absent]:
    """Rows behind a step, and which records are absent because it failed on them.

    Parameters
    ----------
    name : str
        Of the step, for a refusal.
    step : transformer
        It learns nothing from rows, or is fitted; what it makes of a record depends on that record alone.
    X : rows
    y : targets, optional
    fitted : bool
        False: the step is fitted, too.
    alone : bool
        Whether a part of the step is known to give a row other last bits beside other rows: where the
        step as a whole runs on no synthetic rows, every record then goes through it by itself.

    Raises
    ------
    DataError
        If the step fails on every record and on synthetic rows.
    """
    if isinstance(X, Records | FileRecords):
        raise DataError(
            f"step {name!r} takes rows in memory, and these stand in files or on a cluster. Read them first."
        )
    with suppress_messages():
        count = rows_in(X)
        runs = _Runs(step, y, fitted, _output_form(step, X, fitted))
        absent = np.zeros(count, dtype=bool)
        size = steady_rows(step, X, fitted=fitted) or (1 if alone else max(count, 1))
        if not runs.fit(X) and count:
            absent[runs.failing(X, np.arange(count))] = True
            places = _stand_ins(absent)
            if not runs.fit(some_rows(X, places), places):  # rows that work alone and not together
                runs.fit(some_rows(X, places[:1]), places[:1])
        groups = [np.minimum(np.arange(first, first + size), count - 1) for first in range(0, count, size)]
        parts = [runs.group(X, places, absent) if runs.ready else None for places in groups]
        known = next((part for part in parts if part is not None), None)
        if known is None:
            return _synthetic(name, runs, X, count)
        nothing = np.zeros(size, dtype=np.intp)
        bounds = carried_bounds(known)
        found = _joined([some_rows(known, nothing) if part is None else part for part in parts], bounds)
        return (found if size * len(groups) == count else _bounded(found[:count], bounds)), absent


def _form(rows: Rows) -> tuple[int, ...]:
    """The shape of one of the rows; empty for texts."""
    return tuple(getattr(rows, "shape", (0,))[1:])


def _output_form(step: BaseEstimator, like: Rows, fitted: bool) -> tuple[int, ...] | None:
    """The shape of one row behind a step, as a synthetic row has it; None where it runs on none."""
    row = runnable_rows(step, like, fitted=fitted)
    if row is None:
        return None
    return _form((step if fitted else clone(step).fit(row, np.zeros(1))).transform(row))


def _stand_ins(absent: Absent) -> NDArray[np.intp]:
    """The number of each record, and that of the first one that is there for records that are absent."""
    return np.where(absent, np.argmin(absent), np.arange(absent.size))


def leave_out(X: Rows, absent: Absent | None) -> Rows:
    """The rows as numbers, NaN for absent records; as they are where none is absent.

    Names and bounds of columns stay.
    """
    if absent is None or not absent.any():
        return X
    source = Records.of(X)
    rows = source.rows(0, source.shape[0])
    if not sp.issparse(rows):
        rows = np.where(absent[:, None], np.nan, rows)
        if hasattr(X, "columns"):
            return type(X)({column: rows[:, j] for j, column in enumerate(X.columns)})
        return _bounded(rows, carried_bounds(X))
    found = rows.tocoo()
    kept, gone = ~absent[found.row], np.flatnonzero(absent)
    places = np.append(found.row[kept], gone), np.append(found.col[kept], np.zeros_like(gone))
    rows = sp.csr_matrix((np.append(found.data[kept], np.full(gone.size, np.nan)), places), shape=rows.shape)
    return _bounded(rows, carried_bounds(X))


class _Runs:
    """Runs of one step on some of the rows; `error` is the last one."""

    def __init__(self, step: BaseEstimator, y: object, fitted: bool, form: tuple[int, ...] | None = None) -> None:
        self.step, self.fitted, self.ready, self.error = step, fitted, fitted, Exception()
        self._y, self._form = y, form

    def fit(self, rows: Rows, which: object = None) -> bool:
        """Whether the step could be fitted to rows; `which` are their numbers, where they are not all."""
        if self.fitted:
            return True
        whole = which is None or self._y is None or isinstance(self._y, str)
        try:
            self.step.fit(rows, self._y if whole else some_rows(self._y, which))
            self.ready = True
        except Exception as error:
            self.ready, self.error = False, error
        return self.ready

    def failing(self, X: Rows, which: NDArray[np.intp]) -> NDArray[np.intp]:
        """Numbers of the rows on which the step fails, found by halves.

        A step that is not fitted is fitted to them, too.
        """
        ready, rows = self.ready, some_rows(X, which)
        fine = (ready or self.fit(rows, which)) and self.alone(rows) is not None
        self.ready = ready
        if fine or which.size < 2:
            return which[:0] if fine else which
        middle = which.size // 2
        return np.concatenate([self.failing(X, half) for half in (which[:middle], which[middle:])])

    def alone(self, rows: Rows) -> Rows | None:
        """What the step makes of rows.

        None where it fails, leaves rows out, or gives them another width than synthetic ones.
        """
        try:
            found = self.step.transform(rows)
            whole = rows_in(found) == rows_in(rows) and self._form in (None, _form(found))
        except Exception as error:  # its kind and words could depend on a value
            self.error = error
            return None
        return found if whole else None

    def group(self, X: Rows, places: NDArray[np.intp], absent: Absent) -> Rows | None:
        """What the step makes of rows, with rows of others in the place of those on which it fails, which are marked.

        None if it fails on all.
        """
        gone = absent[places]
        if gone.all():
            return None
        whole = places.size == absent.size and not gone.any()  # as they are, and not copied
        found = self.alone(X if whole else some_rows(X, places[_stand_ins(gone)]))
        if found is not None:
            return found
        absent[self.failing(X, places[~gone])] = True
        if absent[places].all():
            return None
        chosen = places[_stand_ins(absent[places])]
        found = self.alone(some_rows(X, chosen))
        if found is None:  # rows that work alone and not together
            found = _joined([self.step.transform(some_rows(X, [i])) for i in chosen], None)
        return found


def _synthetic(name: str, runs: _Runs, X: Rows, count: int) -> tuple[Rows, Absent]:
    """Rows in the place of records that are all absent, or unreadable: what the step makes of a synthetic row."""
    row = runnable_rows(runs.step, X, fitted=runs.fitted)
    if row is not None and _Runs(runs.step, None, runs.fitted).fit(row):
        found = runs.step.transform(row)
        everywhere = some_rows(found, np.zeros(count, dtype=np.intp))
        return _bounded(everywhere, carried_bounds(found)), np.ones(count, dtype=bool)
    if isinstance(runs.error, PrivacyError | DataError):  # ours, about names and shapes
        raise runs.error
    raise DataError(
        f"step {name!r} could not take these rows, nor synthetic ones with the same columns. What it said is not "
        "shown, since it may quote a value: try the step on synthetic rows."
    ) from None


def _joined(parts: list[Rows], bounds: ColumnBounds | None) -> Rows:
    """Rows below each other, with bounds where there are some."""
    first = parts[0]
    if len(parts) == 1:
        return first
    if isinstance(first, list):
        return [row for part in parts for row in part]
    if sp.issparse(first):
        found: Rows = sp.vstack(parts, format="csr")
    elif isinstance(first, np.ndarray):
        found = np.concatenate([np.asarray(part) for part in parts])
    else:
        import narwhals as nw

        return nw.to_native(nw.concat([nw.from_native(part) for part in parts]))
    return _bounded(found, bounds)


def _bounded(rows: Rows, bounds: ColumnBounds | None) -> Rows:
    """Rows that carry bounds, where there are some."""
    if bounds is None:
        return rows
    if not sp.issparse(rows):
        return BoundedArray.of(rows, bounds)
    rows.dpsparse_bounds = bounds
    return rows
