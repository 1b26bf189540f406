"""Steps of others: run on synthetic rows before private ones come.

Guarantee
---------
`mixes` compares what a step makes of a row alone with what it makes of the same row among others: all
at once, one by one, in tables of other sizes and beside extreme rows, with synthetic
targets, and after other calls. This is a test and not a proof: code written to tell synthetic rows
from private ones would pass.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..io.scikit import BaseEstimator, clone
from ..rows.records import suppress_messages

#: Numbers of rows in a company.
SIZES = (2, 7, 64, 1_025)
#: Rows that are also taken one by one.
ALONE = 12
#: Rows that are taken together where the last bits of a row depend on how many there are.
GROUP = 64
#: Largest relative difference: the last bits of vectorised functions differ by position.
TOLERANCE = 1e-9
#: Widths that are tried where the number of columns is not known.
WIDTHS = (4, 1, 2, 3, 8)
#: Seed of the synthetic rows.
SEED = 20_232
#: Smallest number, and digits of the largest: positive, signed and wide rows.
RANGES = ((0.0, 1), (-1.0, 1), (-1.0, 9))
#: Synthetic words.
WORDS = ("red", "green", "blue", "a", "b", "to be or not to be", "")

Rows = Any
Draw = Callable[[int, np.random.Generator], Rows]


def mixes(step: BaseEstimator, like: Rows = None, *, fitted: bool = False, tolerance: float = TOLERANCE) -> bool | None:
    """Whether a row comes out of a step differently beside other rows; None where it ran on no synthetic rows.

    Parameters
    ----------
    step : transformer
        It is copied; nothing is fitted in place.
    like : rows, optional
        Synthetic rows of their width, column names and types are tried. No value of them is read.
    fitted : bool
        Whether `transform` of the step as it was fitted is tried. Otherwise a clone is fitted to
        the synthetic rows first.
    tolerance : float
        Largest relative difference that does not count; 0: the last bit counts.

    Examples
    --------
    >>> from sklearn.preprocessing import FunctionTransformer, scale
    >>> mixes(FunctionTransformer(np.log1p)), mixes(FunctionTransformer(scale))
    (False, True)
    """
    for kind in _kinds(step, like):
        trial = _Trial(copy.deepcopy(step) if fitted else step, fitted, tolerance)
        found = [verdict for draw in kind if (verdict := trial.differs(draw)) is not None]
        if found:  # made for rows of this kind
            return any(found)
    return None


@dataclass(frozen=True, eq=False)
class _Trial:
    """A step, and how it is tried."""

    step: BaseEstimator
    fitted: bool
    tolerance: float

    def differs(self, draw: Draw) -> bool | None:
        """Whether synthetic rows of one kind come out differently beside other rows.

        None where the step does not take them.
        """
        rng = np.random.default_rng(SEED)
        known = draw(ALONE, rng)
        with suppress_messages():
            try:
                together = _made(self.step, known, rng, self.fitted)
            except Exception:  # made for rows of another kind
                return None
            try:
                return not all(self._close(found, together) for found in self._elsewhere(known, draw, rng))
            except Exception:  # it works for some rows and not for others: it says something about them
                return True

    def _elsewhere(self, known: Rows, draw: Draw, rng: np.random.Generator) -> Iterator[np.ndarray]:
        """What the step makes of the same rows alone, and in any place among others."""
        yield np.vstack([_made(self.step, some_rows(known, [i]), rng, self.fitted) for i in range(ALONE)])
        for size in SIZES:
            company = _stacked(known, draw(size, rng))
            order = rng.permutation(ALONE + size)
            found = _made(self.step, some_rows(company, order), rng, self.fitted)
            if len(found) != ALONE + size:
                raise ValueError("a row for each row was expected.")
            yield found[np.argsort(order)[:ALONE]]

    def _close(self, one: np.ndarray, two: np.ndarray) -> bool:
        if one.shape != two.shape or one.dtype.kind != "f" or two.dtype.kind != "f":
            return bool(np.array_equal(one, two))
        return bool(np.allclose(one, two, rtol=self.tolerance, atol=self.tolerance * 1e-3, equal_nan=True))


def _made(step: BaseEstimator, rows: Rows, rng: np.random.Generator, fitted: bool) -> np.ndarray:
    """The output of a step for some rows, as numbers, or as words where it gives words.

    The step is used as it is, or as a copy that is fitted to these rows.
    """
    ready = step if fitted else clone(step).fit(rows, rng.integers(0, 2, rows_in(rows)))
    return _plain(ready.transform(rows), rows_in(rows))


def _plain(made: Rows, count: int) -> np.ndarray:
    """Rows as numbers, or words where they are no numbers; some steps give one row as a vector."""
    dense = np.asarray(made.toarray() if sp.issparse(made) else made)
    dense = dense.reshape(1 if count == 1 else dense.shape[0], -1)
    try:
        return dense.astype(float)
    except (TypeError, ValueError):
        return dense.astype(str)


# ------------------------------------------------------------------------------------------------ rows alone


def steady_rows(step: BaseEstimator, like: Rows, *, fitted: bool = False) -> int | None:
    """How many rows a step has to be given at once, so that the bits of a row depend on no other row.

    Returns
    -------
    int or None
        None: any number, since rows come out with the same bits alone and together with other rows; also where
        the step ran on no synthetic rows. Otherwise `GROUP`, where rows have the same bits in every
        place of a block of this size, or 1.

    Parameters
    ----------
    step : transformer
    like : rows
        As in `mixes`.
    fitted : bool
        False: a fresh copy is fitted to synthetic rows.

    Examples
    --------
    >>> from sklearn.preprocessing import Normalizer
    >>> steady_rows(Normalizer(), np.empty((0, 3))) is None
    True
    """
    for kind in _kinds(step, like):
        found = [verdict for draw in kind if (verdict := _same_bits(step, draw, fitted, SIZES)) is not None]
        if found:
            if all(found):
                return None
            grouped = [_same_bits(step, draw, fitted, (GROUP - ALONE,) * len(SIZES)) for draw in kind]
            return GROUP if all(verdict is not False for verdict in grouped) else 1
    return None


def runnable_rows(step: BaseEstimator, like: Rows, *, fitted: bool = False) -> Rows | None:
    """One synthetic row on which a step runs; None where none was found."""
    rng = np.random.default_rng(SEED)
    for draw in (draw for kind in _kinds(step, like) for draw in kind):
        rows = draw(SIZES[2], rng)
        for i in range(SIZES[2]):
            try:
                _made(step, some_rows(rows, [i]), rng, fitted)
            except Exception:
                continue
            return some_rows(rows, [i])
    return None


def _same_bits(step: BaseEstimator, draw: Draw, fitted: bool, sizes: tuple[int, ...]) -> bool | None:
    """Whether rows have the same bits in companies of these sizes, in any place; alone, too, where the sizes differ."""
    rng = np.random.default_rng(SEED)
    known, companies = draw(ALONE, rng), [draw(size, rng) for size in sizes]
    with suppress_messages():
        try:
            made = step if fitted else clone(step).fit(known, rng.integers(0, 2, ALONE))
            found = (
                [] if len(set(sizes)) == 1 else [_plain(made.transform(some_rows(known, [i])), 1) for i in range(ALONE)]
            )
            first = np.concatenate(found) if found else None
            for company in companies:
                count = ALONE + rows_in(company)
                for order in (np.arange(count), np.arange(count)[::-1], rng.permutation(count)):
                    found_there = _plain(made.transform(some_rows(_stacked(known, company), order)), count)
                    rows = found_there[np.argsort(order)[:ALONE]]
                    first = rows if first is None else first
                    if not _identical(first, rows):
                        return False
        except Exception:  # made for rows of another kind
            return None
    return True


def _identical(one: np.ndarray, two: np.ndarray) -> bool:
    numbers = one.dtype.kind == "f" and two.dtype.kind == "f"
    return bool(np.array_equal(one, two, equal_nan=numbers))


# ------------------------------------------------------------------------------------------------ synthetic rows


def _kinds(step: BaseEstimator, like: Rows) -> Iterator[list[Draw]]:
    """Kinds of rows to try, one after the other: frames like the given one; numbers, of every width; words."""
    if hasattr(like, "columns"):
        yield [lambda size, rng: _frame(like, size, rng)]
        return
    width = like.shape[1] if len(getattr(like, "shape", ())) == 2 else getattr(step, "n_features_in_", None)
    if like is None or width is not None:
        for d in WIDTHS if width is None else (width,):
            yield [partial(_numbers, d, least, digits, sp.issparse(like)) for least, digits in RANGES]
    if like is None or width is None:
        yield [lambda size, rng: list(rng.choice(WORDS, size))]


def _numbers(width: int, least: float, digits: int, sparse: bool, size: int, rng: np.random.Generator) -> Rows:
    """Numbers of up to some digits; half of the entries of sparse rows are zero."""
    x = rng.uniform(least, 1.0, (size, width)) * 10.0 ** rng.integers(0, digits, (size, 1))
    return sp.csr_matrix(x * (rng.random((size, width)) < 0.5)) if sparse else x


def _frame(like: Rows, size: int, rng: np.random.Generator) -> Rows:
    """A frame with the names and types of another one, and synthetic values."""
    columns = {}
    for name, kind in zip(like.columns, like.dtypes, strict=True):
        numeric = any(word in str(kind).lower() for word in ("int", "float", "bool"))
        columns[name] = rng.integers(0, 2, size) if numeric else rng.choice(WORDS, size)
        if "float" in str(kind).lower():
            columns[name] = rng.uniform(-1, 1, size) * 10.0 ** rng.integers(0, 9, size)
    frame = type(like)(columns)
    numbers = {n: k for n, k in zip(like.columns, like.dtypes, strict=True) if "categor" not in str(k).lower()}
    return frame.astype(numbers) if hasattr(frame, "astype") else frame.cast(numbers)


def rows_in(rows: Rows) -> int:
    """How many rows there are."""
    return int(rows.shape[0]) if hasattr(rows, "shape") else len(rows)


def some_rows(rows: Rows, which: Any) -> Rows:
    """Rows of these numbers, in the container that they came in."""
    if isinstance(rows, list):
        return [rows[i] for i in which]
    return rows.iloc[which] if hasattr(rows, "iloc") else rows[list(which)]


def _stacked(one: Rows, two: Rows) -> Rows:
    if isinstance(one, list):
        return [*one, *two]
    if sp.issparse(one):
        return sp.vstack([one, two], format="csr")
    if isinstance(one, np.ndarray):
        return np.vstack([one, two])
    return one.vstack(two) if hasattr(one, "vstack") else _pandas_concat(one, two)


def _pandas_concat(one: Rows, two: Rows) -> Rows:
    import pandas

    return pandas.concat([one, two], ignore_index=True)
