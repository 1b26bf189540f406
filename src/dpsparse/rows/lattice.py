r"""The lattice of rows and of sums: public, and a function of `Facts` alone.

Rows are stored as whole numbers of one unit :math:`u`, a power of two. An entry :math:`x_j` within
its bounds becomes :math:`X_j = \mathrm{trunc}(x_j/u) - \mathrm{rint}(s_j/u)` for the public shift
:math:`s`, and the intercept column has a whole height. Neither the type nor the format nor any
value of the data has a part in this: integers, floats, dense and sparse rows of the same values
become the same whole numbers, and storage is a mere encoding of them.

Guarantee
---------
*Entries.* Division by a power of two is exact and truncation is monotone, so that :math:`X_j` lies
between the images of the column's bounds (and of zero, where the clip of row norms can act):
`coordinate_bounds` holds for every row that was clipped.

*Norms.* Truncation only shrinks, so :math:`\|uX\| \le K + \|u\,\mathrm{rint}(s/u)\|` for rows
within norm K: `norm_bound`.

*Sums.* One record adds at most `record_units` whole units to any coordinate of any sum, and
``record_units * n_rows <= 2 ** total_bits``, which is 2^61: one bit is left where the number of
rows is only a guess. Should the true number be larger still, totals are clamped at
``largest_total`` = 2^62 (see `rows.hosts.base.Total`). A block of rows adds up in floats:
``record_units * BLOCK_ROWS <= 2 ** 52``, so every partial sum is exact. All sums take their units
from here, and `check_record` is the one place that holds them to it.

*Margins.* A public iterate w is rounded to whole numbers W of a power of two v (`rounded`) with
:math:`N\,m\sqrt k < 2^{51}` for N = `margin_norm`, m the largest of \|W\| and k the number of its
nonzeros (for a matrix with one column for each class: of its rows, so that the following holds for
each of them). By Cauchy-Schwarz every partial sum of :math:`|X_j W_j|` is at most
:math:`\|X\|\|W\| \le 2^{51} + N\sqrt k/2 < 2^{52}`, and the difference of two such products is
below :math:`2^{53}`: floats hold margins exactly, in any order of summation, whether computed
afresh or mended. v depends on w alone, through a maximum and a count, which no order of summation
changes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..core.errors import DataError, PrivacyError
from ..core.facts import Facts, Vector
from .row_bounds import RowBounds

#: Largest shifted entry in units. An entry can be 1.5 units beyond its real bound; 32767 fits 16 bits.
LARGEST_ENTRY = 32765.0
#: Most units that a record adds to one coordinate of a sum.
RECORD_UNITS = 2.0**36
#: Rows of a block: times RECORD_UNITS it is 2^52.
BLOCK_ROWS = 2**16
#: Rows of a part: times RECORD_UNITS it is 2^62, which 64-bit integers hold.
SHARD_ROWS = 2**26
#: Largest public number of rows: each record still has 2^30 units.
LARGEST_ROWS = 2**31
#: Bits of a product of a row and an iterate.
MARGIN_BITS = 51
#: Larger coefficients count as this one.
LARGEST_COEFFICIENT = 1e200


@dataclass(frozen=True, eq=False)
class LatticeVector:
    """Coefficients as whole numbers of `scale`; `known` is False where one of them is not a number."""

    whole: Vector
    scale: float
    known: bool


@dataclass(frozen=True, eq=False)
class Lattice:
    """Units and bounds of rows and sums.

    Parameters
    ----------
    facts : Facts
    exact : bool
        True: rows stay floats in real units, for the non-private baselines only.
    total_bits : int
        Bits of the largest sum over the public number of rows; smaller ones are for tests.
    """

    facts: Facts
    exact: bool = False
    total_bits: int = 61

    def __post_init__(self) -> None:
        if self.facts.n_rows > LARGEST_ROWS:
            raise DataError(f"sums are exact for at most {LARGEST_ROWS} rows; split the data.")
        if not self.exact and self.margin_norm * math.sqrt(self.facts.dimension) >= 2.0**MARGIN_BITS:
            raise DataError(
                "rows have too many features for exact margins; declare a smaller feature_bound or row_norm."
            )

    # ---------------------------------------------------------------------------------------------- rows

    @cached_property
    def unit(self) -> float:
        """Value of one unit of an entry: the least power of two with at most `LARGEST_ENTRY` units to an entry."""
        if self.exact or self.facts.entry_bound == 0:
            return 1.0
        part, exponent = math.frexp(self.facts.entry_bound / LARGEST_ENTRY)
        return math.ldexp(1.0, exponent if part > 0.5 else exponent - 1)

    @cached_property
    def shift(self) -> Vector:
        """Shift of each feature, in whole units."""
        shift = np.asarray(self.facts.shift * np.ones(self.facts.n_features))
        return shift if self.exact else np.rint(shift / self.unit)

    @cached_property
    def shifted(self) -> bool:
        """Whether any feature is shifted."""
        return bool(np.any(self.shift))

    @cached_property
    def height(self) -> float:
        """Height of the intercept column, in whole units; 0 for none."""
        if self.exact:
            return self.facts.intercept
        return max(1.0, float(np.rint(self.facts.intercept / self.unit))) * self.facts.free

    @property
    def applied_shift(self) -> Vector:
        """The shift that rows really have, in real units."""
        return self.shift * self.unit

    @property
    def applied_intercept(self) -> float:
        """The height that the intercept column really has, in real units."""
        return self.height * self.unit

    @cached_property
    def clips_rows(self) -> bool:
        """Whether the clip of row norms can act: rows within their entries' bounds may be longer."""
        return bool(self.facts.row_norm < np.linalg.norm(self._largest))

    @cached_property
    def bounds(self) -> RowBounds:
        """What rows are clipped to, in the units in which they are shown."""
        facts, ones = self.facts, np.ones(self.facts.n_features)
        lower, upper = (v * ones if np.ndim(v) else v for v in (facts.lower, facts.upper))
        return RowBounds(lower, upper, facts.row_norm if self.clips_rows else None)

    @property
    def holds_zero(self) -> bool:
        """Whether zero lies within every column's bounds, as the absent entries of sparse rows need."""
        return self.bounds.holds_zero

    @property
    def _largest(self) -> Vector:
        """Largest absolute entry of each feature before the shift, in real units."""
        return np.maximum(np.abs(self.facts.lower), np.abs(self.facts.upper)) * np.ones(self.facts.n_features)

    @cached_property
    def integer_bounds(self) -> Vector:
        """Largest absolute entry of each coordinate, in whole units, with the intercept column."""
        ones = np.ones(self.facts.n_features)
        low, high = (np.trunc(bound * ones / self.unit) for bound in (self.facts.lower, self.facts.upper))
        if self.clips_rows:
            low, high = np.minimum(low, 0.0), np.maximum(high, 0.0)
        bounds = np.maximum(np.abs(high - self.shift), np.abs(low - self.shift))
        return np.asarray(np.r_[bounds, [self.height] * self.facts.free])

    @cached_property
    def stored(self) -> np.dtype[Any]:
        """What holds the entries of dense rows.

        Two bytes, unless the clip of row norms can bring an entry far below its bounds.
        """
        return _narrowest(float(self.integer_bounds.max(initial=0.0)))

    @cached_property
    def stored_bound(self) -> float:
        """Largest absolute entry of sparse rows, which are stored unshifted, in whole units.

        Truncation and the clip of norms only shrink.
        """
        return float(np.trunc(self._largest / self.unit).max(initial=0.0))

    @cached_property
    def stored_sparse(self) -> np.dtype[Any]:
        """What holds the entries of sparse rows: two bytes, unless columns are far from zero and shifted."""
        return np.dtype(np.float64) if self.exact else _narrowest(self.stored_bound)

    @cached_property
    def coordinate_bounds(self) -> Vector:
        """Largest absolute entry of each coordinate, in real units, with the intercept column."""
        if self.exact:
            return np.asarray(np.r_[self.facts.half_widths, [self.facts.intercept] * self.facts.free])
        return self.integer_bounds * self.unit

    @cached_property
    def norm_bound(self) -> float:
        """Largest l2 norm of a row, in real units, with the intercept column."""
        row = self.facts.row_norm * (1 + 1e-9) + float(np.linalg.norm(self.applied_shift))
        return min(
            float(np.hypot(row, self.applied_intercept)), float(np.linalg.norm(self.coordinate_bounds)) * (1 + 1e-12)
        )

    @cached_property
    def margin_norm(self) -> float:
        """Bound on the norm of a row in units.

        It also bounds the norms of the row's unshifted part, its shift and its height together.
        """
        if not self.holds_zero:  # such rows are stored shifted
            return self.norm_bound / self.unit * (1 + 1e-9)
        row = min(self.facts.row_norm, float(np.linalg.norm(self._largest))) * (1 + 1e-9) / self.unit
        return (row + float(np.linalg.norm(self.shift)) + self.height) * (1 + 1e-9)

    @cached_property
    def exact_squares(self) -> bool:
        """Whether floats hold the squared norm of every row exactly, whatever the order of summation."""
        return 3 * float(self.integer_bounds @ self.integer_bounds) < 2.0**53

    # ---------------------------------------------------------------------------------------------- sums

    @cached_property
    def record_units(self) -> float:
        """Most units that one record may add to one coordinate of a sum: a power of two."""
        bits = max(self.total_bits - (max(self.facts.n_rows, 1) - 1).bit_length(), 1)
        return min(RECORD_UNITS, 2.0**bits)

    @property
    def largest_total(self) -> int:
        """Where totals are clamped."""
        return 1 << (self.total_bits + 1)

    def units(self, most: float) -> float:
        """Units per bound on one record: `most`, or fewer for very many rows."""
        return min(most, self.record_units)

    @property
    def square_units(self) -> float:
        """Units per bound on a number whose square must still be summed."""
        return 2.0 ** (math.frexp(self.record_units)[1] - 1 >> 1)

    def check_record(self, most: float) -> None:
        """Refuse a sum to which one record could add more than the rows allow."""
        if not most <= self.record_units:
            raise PrivacyError(
                f"a sum of up to {most:g} units a record does not fit 64-bit integers for {self.facts.n_rows} rows."
            )

    def clipped_lattice(self, entry: float) -> tuple[float, float]:
        """For entries clipped to `entry`: the clip in whole units, at least 1, and how many units factors may have."""
        if self.exact:
            return entry, 1.0
        limit = min(max(1.0, math.floor(entry / self.unit)), max(float(self.integer_bounds.max(initial=0.0)), 1.0))
        exponent = math.frexp(self.record_units / limit)[1]
        return limit, min(2.0**20, math.ldexp(1.0, exponent - 1))

    # ---------------------------------------------------------------------------------------------- margins

    def rounded(self, w: Vector) -> LatticeVector:
        """Coefficients on the lattice of iterates; as they are where rows are floats."""
        return LatticeVector(w.copy(), 1.0, True) if self.exact else rounded(w, self.margin_norm)


def _narrowest(largest: float) -> np.dtype[Any]:
    """The narrowest integers that hold whole numbers within a bound; floats where none do."""
    return np.dtype(next((k for k in (np.int16, np.int32) if largest <= np.iinfo(k).max), np.float64))


def rounded(w: Vector, norm: float) -> LatticeVector:
    """Coefficients as whole numbers whose products with whole rows within `norm` are exact; see *Margins* above."""
    largest = float(np.maximum.reduce(np.abs(w), axis=None, initial=0.0))
    if math.isnan(largest):
        return LatticeVector(np.zeros_like(w), 1.0, False)
    if largest > LARGEST_COEFFICIENT:
        return rounded(np.clip(w, -LARGEST_COEFFICIENT, LARGEST_COEFFICIENT), norm)
    size = norm * largest * math.sqrt(np.count_nonzero(w) if w.ndim == 1 else w.shape[0])
    exponent = max(math.frexp(size)[1] - MARGIN_BITS, -1000)
    whole = w * math.ldexp(1.0, -exponent)  # exact: a power of two
    return LatticeVector(np.rint(whole, out=whole), math.ldexp(1.0, exponent), True)
