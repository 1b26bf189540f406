"""Priced counts beside a fit, told in its statement: what the bounds clipped, and which cells were not understood.

Everything here but the refusal works on released answers. *Cells.* With m columns and a standard
error s of each share:

* a column is *named* where its share is above z s. A table of which every cell is understood has a
  named column with probability at most `FALSE_ALARM`: z is the quantile of the noise at
  ``1 - FALSE_ALARM / m``;
* it is *mostly unread* where it is named and its share is above one half;
* it is *unread* where its share is within z s of 1, and z s is at most `WIDEST`. A column of which
  no cell is understood is found with probability at least ``1 - FALSE_ALARM``, and one of which
  half or more is understood is taken for it with probability at most `FALSE_ALARM`: its share would
  have to be wrong by ``1 / 2 - z s >= z s``.

The features of an unread column hold one constant in (nearly) all rows. Their coefficients are set
to zero, and what they added to every row goes to the intercept.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from ..core import Ask, DataError, Noise, Plan, PrivacyError, UnreadCellsWarning
from ..core.facts import Vector
from ..queries.kinds import ClippedShare, Oracle, Unread
from ..rows.records import Records
from ..rows.unread import CheckedColumns

if TYPE_CHECKING:
    from .parts import InferenceResult

#: Names of the asks.
CLIPPED_ASK, UNREAD = "clipped", "cells not understood"
#: Words of the note that says how much was clipped.
CLIPPED = "were clipped to the declared bounds"
#: Parts of entries and of targets above which advice is given.
MANY, MANY_TARGETS = 0.05, 0.02
#: Words of the note that gives shares, of one about a column that is mostly unread, and of one
#: about a column without a coefficient.
SHARES, MOSTLY, NO_COEFFICIENT = (
    "cells not understood, as a share of each column",
    "more than half of the cells of",
    "has no coefficient",
)
#: Probability that anything is named in a table without a fault: one such table in a thousand.
FALSE_ALARM = 1e-3
#: A column is taken for unread only where its share is known this well; see above.
WIDEST = 0.25
#: Share of the budget where nobody says another: `dpsparse fit --dictionary`.
SHARE = 0.02

NOBODY_SAID = (
    "check_cells counts cells that a TableEncoder did not understand, and these rows do not say which: they were not "
    "encoded by a dictionary right before, or stand on a cluster. Put a dpsparse.tables.TableEncoder directly before "
    "the estimator, or leave check_cells=None."
)


def checked_columns(share: float | None, X: object) -> CheckedColumns | None:
    """The columns whose cells are counted; None where that is not asked for.

    Refuses rows that do not say which were understood.
    """
    if share is None:
        return None
    unread = Records.of(X).unread
    if unread is None:
        raise DataError(NOBODY_SAID)
    return unread.columns


@dataclass(frozen=True, eq=False)
class UnreadShares:
    """Noisy shares of cells that were not understood: a release.

    Attributes
    ----------
    columns : CheckedColumns
    shares, errors : arrays of shape (columns,)
        Shares, and the standard error of each.
    least : float
        z times the standard deviation of the noise: a share above it is named.
    limits : array of shape (columns,)
        z times the standard errors.
    """

    columns: CheckedColumns
    shares: Vector
    errors: Vector
    least: float
    limits: Vector

    @classmethod
    def of(
        cls, answers: Sequence[tuple[Vector, float]], columns: CheckedColumns, noise: Noise, part: float = 0.0
    ) -> UnreadShares:
        """From the answers of one model or several, which are averaged.

        Parameters
        ----------
        answers : sequence of (shares, standard deviation of their noise)
        columns : CheckedColumns
        noise : Noise
            Of the ask.
        part : float
            Variance that the coins of a deal give to a share of 1; 0 where every row is asked.
        """
        shares = np.clip(np.mean([found for found, _ in answers], axis=0), 0.0, 1.0)
        error = float(np.mean([deviation for _, deviation in answers])) / math.sqrt(len(answers))
        errors = np.sqrt(error**2 + part * shares)
        tail = FALSE_ALARM / len(columns.names)
        # a mean of Laplace noise has lighter tails than Laplace noise of its variance
        z = math.log(0.5 / tail) / math.sqrt(2) if noise.pure else -float(ndtri(tail))
        return cls(columns, shares, errors, z * error, z * errors)

    @property
    def named(self) -> NDArray[np.bool_]:
        """Columns of which some cells were surely not understood."""
        return self.shares > self.least

    @property
    def mostly(self) -> NDArray[np.bool_]:
        """Named columns of which more than half was not understood."""
        return self.named & (self.shares > 0.5)

    @property
    def unread(self) -> NDArray[np.bool_]:
        """Columns of which, as far as the noise allows to say, no cell was understood."""
        return self.named & (self.shares >= 1 - self.limits) & (self.limits <= WIDEST)

    def notes(self, *, of_model: bool = True) -> tuple[str, ...]:
        """What a statement says; of a step without coefficients it says nothing about them."""
        names, count = self.columns.names, len(self.columns.names)
        told = [
            f"{names[j]} {_percent(self.shares[j])} (standard error {_percent(self.errors[j])})"
            for j in np.flatnonzero(self.named)
        ]
        which = f"in {'the other' if told else 'all'} {count - len(told)} columns"
        rest = (
            f"{which} no noisy share is above {_percent(self.least)}, which noise alone explains"
            if self.least < 1
            else f"{which} the noise is larger than any share, so nothing is known"
        )
        said = "; ".join([*told, *([rest] if count > len(told) else [])])
        notes = [f"{SHARES}: {said}"]
        notes += [
            f"{MOSTLY} {names[j]!r} were not understood: the dictionary does not say how they are written "
            "(format, decimal, thousands, categories, missing). A person who may see the data finds them with "
            "dpsparse dictionary check --look"
            for j in np.flatnonzero(self.mostly)
        ]
        features = set(self.columns.owners.tolist())
        notes += [
            f"{names[j]!r} {NO_COEFFICIENT}: as far as the noise allows to say, none of its cells was understood"
            for j in np.flatnonzero(self.unread)
            if j in features and of_model
        ]
        return tuple(notes)

    # ---------------------------------------------------------------------------------------------- post-processing

    @property
    def constant(self) -> NDArray[np.bool_]:
        """Encoded features that come from unread columns."""
        return self.unread[self.columns.owners]

    def without(self, model: tuple[Vector, float]) -> tuple[Vector, float]:
        """Coefficients and intercept of a model without the features of unread columns.

        Rows with such cells are predicted as before.
        """
        coef, intercept = model
        gone = self.constant
        return np.where(gone, 0.0, coef), intercept + float(self.columns.filled[gone] @ coef[gone])

    def without_inferred(self, inferred: InferenceResult) -> InferenceResult:
        """Estimates and covariance without those features; what they added to every row goes to the intercept."""
        gone = self.constant[inferred.support]
        if not gone.any():
            return inferred
        kept = np.r_[~gone, np.ones(int(inferred.intercept), dtype=bool)]
        turn = np.eye(kept.size)
        if inferred.intercept:
            turn[-1, : gone.size] = np.where(gone, self.columns.filled[inferred.support], 0.0)
        turn = turn[kept]
        return replace(
            inferred,
            support=inferred.support[~gone],
            estimate=turn @ inferred.estimate,
            covariance=turn @ inferred.covariance @ turn.T,
        )


def warn_of_unread(notes: Sequence[str], stacklevel: int) -> None:
    """Warn of columns that are mostly unread, by the notes of a statement."""
    for note in notes:
        if note.startswith(MOSTLY):
            warnings.warn(f"{note}.", UnreadCellsWarning, stacklevel=stacklevel + 1)


def _percent(part: float) -> str:
    return f"{100 * part:.3g} %" if part >= 0.1 else f"{100 * part:.2g} %"


# ------------------------------------------------------------------------------------------------ clipping


def clipping_notes(answers: Sequence[tuple[Vector, float]], *, classes: bool) -> tuple[str, ...]:
    """What a statement says about clipping, and advice; the answers of several models are averaged."""
    if not answers:
        return ()
    entries, rows, targets = np.clip(np.mean([found for found, _ in answers], axis=0), 0.0, 1.0)
    off = 200 * float(np.mean([noise for _, noise in answers])) / len(answers) ** 0.5
    said = [f"{_rounded(entries)} of entries", f"{_rounded(rows)} of rows by their norm"]
    said += [] if classes else [f"{_rounded(targets)} of targets"]
    notes = [f"about {', '.join(said)} {CLIPPED}, give or take {max(off, 0.1):.2g} %"]
    if entries > MANY + off / 100:
        notes.append(
            "many entries were clipped: feature_bound is too narrow for this data. Look the limits "
            "up once more, or learn them with PrivateBounds"
        )
    if targets > MANY_TARGETS + off / 100 and not classes:
        notes.append(
            "many targets were clipped: choose a larger target_bound, or a target_center nearer to "
            "them, or learn both with PrivateBounds"
        )
    return tuple(notes)


def _rounded(part: float) -> str:
    return f"{100 * part:.2g} %"


# ------------------------------------------------------------------------------------------------ asking


def with_count(plan: Plan, share: float | None, name: str, question: str, argument: str) -> Plan:
    """The plan with one more query before everything else, at this share of the whole; None: as it is."""
    if share is None:
        return plan
    if plan.local:
        raise PrivacyError(
            f"{argument} counts over all rows in one place, and this recipe randomises on devices. "
            f"Leave {argument}=None."
        )
    pure = all(ask.noise.pure for ask in _all(plan))
    ask = Ask(
        name=name,
        question=question,
        noise=Noise.LAPLACE if pure else Noise.GAUSSIAN,
        share=_weight(plan) * share / (1 - share),
    )
    order = (name, *plan.order) if plan.order else ()
    return replace(plan, asks=(ask, *plan.asks), order=order)


def ask_share(oracle: Oracle, query: ClippedShare | Unread, ask: str) -> tuple[Vector, float]:
    """Noisy shares, and the standard deviation of the noise in each.

    Of cells that were not understood, one for each column; or of entries, rows and targets that were clipped.
    """
    found = np.asarray(oracle.answer(query, ask))
    return found, oracle.deviation(query, ask, 0)


def _all(plan: Plan) -> list[Ask]:
    return [*plan.asks, *(ask for _, branch in plan.branches for ask in _all(branch))]


def _weight(plan: Plan) -> float:
    """Shares of all asks, along the dearest branch."""
    return sum(ask.share for ask in plan.asks) + max((_weight(branch) for _, branch in plan.branches), default=0.0)
