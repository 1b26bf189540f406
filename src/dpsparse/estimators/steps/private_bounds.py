"""Bounds of columns and of the target by priced queries, where no codebook says them."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, replace
from typing import Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri
from sklearn.utils.validation import check_is_fitted

from ...accounting import PricedPlan, price
from ...core import Ask, Budget, MissingBoundError, Noise, Plan, checks
from ...core.facts import Facts, Target, Vector
from ...fitting import Matrix, check_noise_kind, stated_budget
from ...fitting.counts import UNREAD, UnreadShares, ask_unread, checked_columns, warn_of_unread
from ...queries.kinds import ColumnQuantile, Oracle
from ...rows import Records, read_bounds
from ...rows.bounds import read_target_bound
from ...rows.records import center_targets, suppress_messages
from ..input_checks import read_vector
from .bounds import Bounds
from .priced import PrivateStep

#: Points of the grid grow by this factor, from the smallest on.
RATIO = 1.1
#: Rows beyond a bound are at least this part, and at most that: with more noise the columns are bounded together.
LEAST_TAIL, MOST_TAIL = 0.01, 0.1
#: All of k selections among m candidates err by at most ``scale (log m + log k + 6)`` rows with
#: probability above 1 - e^-6 = 99.7 %.
SURELY = 6.0
#: Bounds are so much wider than the quantiles that were found that of a normal law one row in a
#: thousand would lie beyond each.
BEYOND = 0.001
#: The same for the largest entry of a row, which is large already.
TOGETHER_SLACK = 1.25
#: Names of the asks: of one factor for all columns, of the ends of each, and of those of the target.
FACTOR, ENDS, TARGET_ENDS = "factor", "ends", "target ends"
#: Part of the columns' budget that finds the factor, where ends follow.
FACTOR_SHARE = 0.3
#: Part of the step's budget that the target takes, where it is bounded, too.
TARGET_SHARE = 0.2


@dataclass(eq=False, repr=False)
class PrivateBounds(PrivateStep):
    r"""Learn bounds of the columns, and of the target, by quantiles on a public logarithmic grid.

    Rows pass through unchanged.

    The user declares how large values can be at the very most (`feature_bound`, `target_bound`):
    limits that are safe, and may be 30 or 300 times too wide. One noisy selection narrows all
    columns by one factor; then, if there are rows enough, the ends of each column are quantiles of
    its entries, each chosen by a selection of its own, and widened as a normal law would have it.
    In a private pipeline the steps behind take these bounds for public ones.

    Guarantee
    ---------
    Selections with Gumbel noise. A record moves the difference of two scores by at most 2
    (replace-one), see `queries.choices`; each selection is :math:`\eta`-bounded-range for noise of
    scale :math:`2/\eta`, and all of them compose to the price of the plan. How many rows are left
    beyond the ends is taken from public numbers: the number of rows, of columns, and the noise.

    Parameters
    ----------
    epsilon, delta, budget
        As in `SparseRegressor`; in a private pipeline its part of the whole is set there.
    feature_bound : float or array
        Largest absolute entry that is possible: one number, or one for each column. Public.
    target_bound : float or None
        The same for the target; None: the target is not looked at.
    smallest : float, default=0.001
        Smallest point of the grid, as a part of the largest.
    columns : {"auto", "each", "together"}
        ``together``: one factor for all, from the largest entry of each row as a part of its
        column's bound. ``each``: then also both ends of each column. ``auto``: each, unless rows
        are sparse or the number of columns leaves too much noise.
    only : array of int or None
        Columns whose bounds are learned; the others keep the limits that were declared. Leave out
        indicators and other columns that are seldom different from one value: their quantiles would
        cut off what is seldom.
    check_cells : float or None
        Share of the step's budget for a priced count of cells that were not understood, where a
        `dpsparse.tables.TableEncoder` stands directly before: the model behind cannot count them.
        As in `SparseRegressor`, but no coefficient follows from it.
    adjacency, n_rows, noise, ledger, dataset, label, run_id, on_missing, unit, random_state
        As in `SparseRegressor`.

    Attributes
    ----------
    bounds_ : Bounds
        Of the rows.
    target_bound_, target_center_ : float or None
        Of the target, where it was looked at.
    statement_ : Statement

    Examples
    --------
    >>> import numpy as np
    >>> from dpsparse import PrivateBounds
    >>> X = np.random.default_rng(0).uniform(80, 120, (20_000, 2))
    >>> step = PrivateBounds(epsilon=1.0, feature_bound=3000.0, random_state=0).fit(X)  # a seed, for the example only
    >>> bool(np.all(step.bounds_.lower > 40) and np.all(step.bounds_.upper < 200))
    True
    """

    _: KW_ONLY
    feature_bound: ArrayLike | None = None
    target_bound: float | None = None
    smallest: float = 0.001
    columns: str = "auto"
    only: ArrayLike | None = None
    check_cells: float | None = None
    n_rows: int | None = None

    # ---------------------------------------------------------------------------------------------- public side

    def asks(self, noise: Noise, n_features: int, *, each: bool = True) -> tuple[Ask, ...]:
        """Selections of one factor for all columns, of both ends of each, and of both ends of the target."""
        rest = 1.0 if self.target_bound is None else 1 - TARGET_SHARE
        shares = {FACTOR: (1, rest * FACTOR_SHARE if each else rest)}
        if each:
            shares[ENDS] = (2 * self._learned(n_features).size, rest * (1 - FACTOR_SHARE))
        if self.target_bound is not None:
            shares[TARGET_ENDS] = (2, TARGET_SHARE)
        return tuple(
            Ask(name=name, question="ColumnQuantile", noise=Noise.GUMBEL, times=times, share=share)
            for name, (times, share) in shares.items()
        )

    def price(self, n_rows: int, n_features: int, sparse: bool = False) -> tuple[PricedPlan, float]:
        """As for any step; columns are bounded one by one, or together where that is too noisy or rows are sparse.

        Most entries of a sparse column are zero, and say nothing about the others.
        """
        columns = checks.one_of(self.columns, "columns", ("auto", "each", "together"))
        self._tops(n_features)
        budget, delta = stated_budget(self.budget, self.epsilon, self.delta, self.adjacency, n_rows)
        check_noise_kind(self.noise, self.random_state)
        priced = price(self._plan(n_features, budget), budget)
        noisy = self._tail(priced, ENDS, n_rows) > MOST_TAIL
        if columns == "together" or (columns == "auto" and (noisy or sparse)):
            priced = price(self._plan(n_features, budget, each=False), budget)
        return priced, delta

    def _plan(self, n_features: int, budget: Budget, *, each: bool = True) -> Plan:
        """The selections, and before them the count of cells that were not understood, where it is asked for."""
        asks = self.asks(Noise.GUMBEL, n_features, each=each)
        if self.check_cells is None:
            return Plan(asks=asks)
        share = checks.fraction(self.check_cells, "check_cells")
        noise = Noise.LAPLACE if budget.delta == 0 else Noise.GAUSSIAN
        noise = Noise.DISCRETE_GAUSSIAN if self.noise == "exact" and noise is Noise.GAUSSIAN else noise
        return Plan(asks=(Ask(name=UNREAD, question="Unread", noise=noise, share=share / (1 - share)), *asks))

    def outlook(self, n_rows: int, n_features: int, sparse: bool = False) -> str:
        """How the columns will be bounded, and how many rows about each end leaves out."""
        priced, _ = self.price(n_rows, n_features, sparse)
        each = _each(priced)
        tail = 100 * (1 - self._part(priced, ENDS if each else FACTOR, n_rows))
        how = "each column by its own quantiles" if each else "all columns by one factor"
        return f"bounds {how}, with about {tail:.2g} % of the rows beyond, before they are widened"

    def _tail(self, priced: PricedPlan, ask: str, n_rows: int) -> float:
        """Part of the rows that a selection has to leave beyond an end, so that its noise does not lead it astray."""
        scale = 2.0 / priced.cost(ask).strength
        choices = math.log(2 * self._grid().size + 1) + math.log(priced.plan[ask].times)
        return scale * (choices + SURELY) / max(n_rows, 1)

    def _part(self, priced: PricedPlan, ask: str, n_rows: int) -> float:
        """Which quantile an end is."""
        return 1.0 - min(max(self._tail(priced, ask, n_rows), LEAST_TAIL), 0.4)

    def _grid(self) -> Vector:
        """Points from the smallest to 1, as parts of the largest bound."""
        smallest = checks.fraction(self.smallest, "smallest")
        return np.geomspace(smallest, 1.0, 2 + int(math.log(1 / smallest) / math.log(RATIO)))

    def _tops(self, n_features: int) -> Vector:
        """Largest absolute entry of each column, as it was declared."""
        if self.feature_bound is None or isinstance(self.feature_bound, tuple):
            raise MissingBoundError(
                "PrivateBounds needs feature_bound=b: the largest absolute entry that is possible, "
                "one number or one for each column. "
                "It may be far too large, but it must not come from this data."
            )
        lower, upper, _ = read_bounds(self.feature_bound, None, n_features)
        return np.asarray(np.maximum(np.abs(lower), np.abs(upper)) * np.ones(n_features))

    def _learned(self, n_features: int) -> NDArray[np.intp]:
        """Columns whose bounds are learned."""
        if self.only is None:
            return np.arange(n_features)
        found = np.asarray(self.only)
        whole = found.ndim == 1 and found.size > 0 and found.dtype.kind in "iu"
        if not whole or np.unique(found).size != found.size or found.min() < 0 or found.max() >= n_features:
            raise ValueError(f"only must hold the positions of columns, each once, below {n_features}.")
        return found.astype(np.intp)

    def bounds_after(self, before: Bounds | None, n_features: int) -> Bounds:
        """The declared limits: what will be found cannot be foreseen."""
        tops = self._tops(n_features)
        return Bounds(-tops, tops, float(np.linalg.norm(tops)))

    # ---------------------------------------------------------------------------------------------- rows

    def fit(self, X: object, y: object = None, units: object = None) -> Self:
        """Find the bounds. The queries are priced before a row is used.

        `units`, if given, holds the id of each row, or names the column of a frame that does: the guarantee
        then protects all rows with the same id, and every id counts alike.
        """
        rows = self._rows(X, units)
        d = int(rows.shape[1])
        tops = self._tops(d)
        limit = None if self.target_bound is None else read_target_bound(self.target_bound)
        targets = None if limit is None else center_targets(read_vector(self, y, rows.shape[0]), 0.0)
        n_rows = self._public_rows(rows)
        priced, _ = self.price(n_rows, d, rows.sparse)
        columns = checked_columns(self.check_cells, rows)
        facts = Facts(
            n_rows=n_rows,
            n_features=d,
            row_norm=2 * math.sqrt(d),
            target=Target(bound=1.0 if limit is None else limit),
            sparse=rows.sparse,
            counts_unread=0 if columns is None else len(columns.names),
        )
        notes: tuple[str, ...] = ()
        with self._asking(_parts(rows, tops), facts, "private bounds", targets) as opened:
            if columns is not None:
                shares = UnreadShares.of([ask_unread(opened.oracle)], columns, priced.plan[UNREAD].noise)
                notes = shares.notes(of_model=False)
            part = self._part(priced, FACTOR, n_rows)
            found = self._chosen(opened.oracle, FACTOR, ColumnQuantile("rows", 0, 1, part, self._grid()))
            upper = np.where(np.isin(np.arange(d), self._learned(d)), min(found * TOGETHER_SLACK, 1.0), 1.0)
            lower = -upper
            if _each(priced):
                part = self._part(priced, ENDS, n_rows)
                for j in self._learned(d):
                    lower[j], upper[j] = self._ends(opened.oracle, ENDS, "column", int(j), part, float(upper[j]))
            ends = None
            if limit is not None:
                part = self._part(priced, TARGET_ENDS, n_rows)
                ends = self._ends(opened.oracle, TARGET_ENDS, "target", 0, part, limit)
        self.bounds_ = Bounds(lower * tops, upper * tops, float(np.linalg.norm(np.maximum(-lower, upper) * tops)))
        self.target_bound_ = None if ends is None else (ends[1] - ends[0]) / 2
        self.target_center_ = None if ends is None else (ends[1] + ends[0]) / 2
        said = opened.statement(n_rows)
        self.statement_ = replace(said, notes=(*notes, *said.notes))
        warn_of_unread(notes, stacklevel=2)
        return self

    def _ends(self, oracle: Oracle, ask: str, of: str, column: int, part: float, limit: float) -> tuple[float, float]:
        """Both ends, wider than what was chosen, within the limit."""
        points = self._grid() * limit
        grid = np.r_[-points[::-1], 0.0, points]
        high = self._chosen(oracle, ask, ColumnQuantile(of, column, 1, part, grid))
        low = -self._chosen(oracle, ask, ColumnQuantile(of, column, -1, part, grid))
        middle, half = (low + high) / 2, max(widening(part) * (high - low) / 2, points[0])
        return max(middle - half, -limit), min(middle + half, limit)

    @staticmethod
    def _chosen(oracle: Oracle, ask: str, question: ColumnQuantile) -> float:
        return float(question.grid[int(np.asarray(oracle.answer(question, ask))[0])])

    def transform(self, X: object) -> Matrix:
        """The rows as they are.

        Anyone who fits on them declares `bounds_` and clips to them, as a private pipeline does.
        """
        check_is_fitted(self, "bounds_")
        rows: Matrix = self._again(X).plain()
        return rows


def _each(priced: PricedPlan) -> bool:
    """Whether columns are bounded one by one."""
    return any(ask.name == ENDS for ask in priced.plan.asks)


def widening(part: float) -> float:
    """How much wider than the quantiles of this part bounds are.

    As far as a normal law has one row in a thousand beyond each.

    Examples
    --------
    >>> round(widening(0.99), 2), round(widening(0.9), 2)
    (1.33, 2.41)
    """
    return float(ndtri(1 - BEYOND) / ndtri(part))


def _parts(rows: Records, tops: Vector) -> Records:
    """Rows as parts of the declared limits, so that the lattice of rows is as fine for every column."""
    with suppress_messages():
        found = rows.rows(0, rows.shape[0])
        if sp.issparse(found):
            scaled = sp.csr_matrix(found, dtype=float, copy=True)
            scaled.data /= tops[scaled.indices]
        else:
            scaled = np.asarray(found, dtype=float) / tops
        parts = Records(scaled)
        parts.unread = rows.unread
        return parts.by_unit(rows.units)
