"""Steps of others: run on made-up rows before private ones come.

Guarantee
---------
`mixes` compares what a step makes of a row alone with what it makes of the same row in company: all at once, one by one, in other
companies, of other sizes and beside extreme rows, with made-up targets, and after other calls. This is a test and not a proof: code
written to tell made-up rows from private ones would pass.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone

#: Numbers of rows in a company.
SIZES = (2, 7, 64, 1_025)
#: Rows that are also taken one by one.
ALONE = 12
#: Largest relative difference: the last bits of vectorised functions differ by position.
TOLERANCE = 1e-9
#: Widths that are tried where the number of columns is not known.
WIDTHS = (4, 1, 2, 3, 8)
#: Seed of the made-up rows.
SEED = 20_232
#: Smallest number, and digits of the largest: positive, signed and wide rows.
RANGES = ((0.0, 1), (-1.0, 1), (-1.0, 9))
#: Made-up words.
WORDS = ("red", "green", "blue", "a", "b", "to be or not to be", "")

Rows = Any
Draw = Callable[[int, np.random.Generator], Rows]


def mixes(step: BaseEstimator, like: Rows = None) -> bool | None:
    """Whether a row comes out of a step differently in other company; None where it ran on no made-up rows.

    Parameters
    ----------
    step : transformer
        It is cloned; nothing is fitted in place.
    like : rows, optional
        Their width, column names and types say which rows are made up. No value of them is looked at.

    Examples
    --------
    >>> from sklearn.preprocessing import FunctionTransformer, scale
    >>> mixes(FunctionTransformer(np.log1p)), mixes(FunctionTransformer(scale))
    (False, True)
    """
    for kind in _kinds(step, like):
        found = [verdict for draw in kind if (verdict := _differs(step, draw)) is not None]
        if found:  # made for rows of this kind
            return any(found)
    return None


def _differs(step: BaseEstimator, draw: Draw) -> bool | None:
    rng = np.random.default_rng(SEED)
    known = draw(ALONE, rng)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            together = _made(step, known, rng)
        except Exception:  # made for rows of another kind
            return None
        try:
            alone = [_made(step, _some(known, [i]), rng) for i in range(ALONE)]
            if together.shape[0] != ALONE or any(row.shape != (1, together.shape[1]) for row in alone):
                return True
            if not _close(np.vstack(alone), together):
                return True
            for size in SIZES:
                company = _stacked(known, draw(size, rng))
                order = rng.permutation(ALONE + size)
                found = _made(step, _some(company, order), rng)
                if found.shape != (ALONE + size, together.shape[1]):
                    return True
                if not _close(found[np.argsort(order)[:ALONE]], together):
                    return True
        except Exception:  # it works for some rows and not for others: it says something about them
            return True
    return False


def _made(step: BaseEstimator, rows: Rows, rng: np.random.Generator) -> np.ndarray:
    """What a fresh copy of a step makes of rows, as numbers, or words where it gives words."""
    made = clone(step).fit(rows, rng.integers(0, 2, _count(rows))).transform(rows)
    dense = np.asarray(made.toarray() if sp.issparse(made) else made)
    dense = dense.reshape(dense.shape[0], -1)
    try:
        return dense.astype(float)
    except (TypeError, ValueError):
        return dense.astype(str)


def _close(one: np.ndarray, two: np.ndarray) -> bool:
    if one.dtype.kind != "f" or two.dtype.kind != "f":
        return bool(np.array_equal(one, two))
    return bool(np.allclose(one, two, rtol=TOLERANCE, atol=TOLERANCE * 1e-3, equal_nan=True))


# ------------------------------------------------------------------------------------------------ made-up rows


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
    """A frame with the names and types of another one, and made-up values."""
    columns = {}
    for name, kind in zip(like.columns, like.dtypes, strict=True):
        numeric = any(word in str(kind).lower() for word in ("int", "float", "bool"))
        columns[name] = rng.integers(0, 2, size) if numeric else rng.choice(WORDS, size)
        if "float" in str(kind).lower():
            columns[name] = rng.uniform(-1, 1, size) * 10.0 ** rng.integers(0, 9, size)
    frame = type(like)(columns)
    numbers = {n: k for n, k in zip(like.columns, like.dtypes, strict=True) if "categor" not in str(k).lower()}
    return frame.astype(numbers) if hasattr(frame, "astype") else frame.cast(numbers)


def _count(rows: Rows) -> int:
    return int(rows.shape[0]) if hasattr(rows, "shape") else len(rows)


def _some(rows: Rows, which: Any) -> Rows:
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
