r"""Losses of others: run on synthetic rows before private ones come, and then in blocks of one size.

A clip bounds what one row contributes. It does not help if a loss lets one row change what *other*
rows contribute: residuals over their median, targets over their maximum, ranks, a running mean. So
a loss that is not ours is tested first.

Guarantee
---------
`refuse_mixing` compares, on `probes` of the kind and bound of the targets, what the loss gives for
a row alone with what it gives for the same row among others: other rows beside it, other positions and numbers
of rows up to `LARGEST`, ordinary and extreme values, after other calls, and from a fresh copy.
Every difference beyond `TOLERANCE` refuses the loss. This is a test and not a proof: a loss written
to tell synthetic rows from private ones would pass. `Blockwise` narrows what is left: private rows
come to the loss in arrays of exactly `BLOCK` rows, a size that was tested, whatever the number of
rows.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from ...core.errors import PrivacyError
from ...core.facts import Target, Vector
from .. import losses
from .base import Loss, mean_of, target_of

#: Rows that a foreign loss sees at once: many enough that a call costs little, and a multiple of
#: every vector width, so that no row stands in the tail of a vectorised loop.
BLOCK = 2**12
#: Blocks of the test, smallest and largest numbers of rows first: what mixes in large blocks only is found too.
SIZES = (2, 3, 7, 64, 1_025, BLOCK, 65_537, 150_001)
LARGEST = max(SIZES)
#: Largest difference, relative to 1 + |slope|, between a row alone and together with other rows. The last bits of
#: vectorised exponentials differ by position, by about 1e-16; mixing below this moves a sum over a
#: billion rows by a thousandth of what a row of slope 1 does.
TOLERANCE = 1e-12
#: Seed of the synthetic rows.
SEED = 20_231

Rowwise = Callable[..., Vector]


def user_defined(loss: Loss) -> bool:
    """Whether a loss, or a function in it, is not ours.

    Any type but exactly ours, and ours that hold a user's functions.

    Examples
    --------
    >>> from dpsparse.losses import KnownLink, Logistic
    >>> bend = lambda m: 1 - np.tanh(m) ** 2
    >>> link = KnownLink(np.tanh, bend, slope_limit=2.0, curvature_limit=2.0)
    >>> user_defined(Logistic()), user_defined(link)
    (False, True)
    """
    return not any(
        type(loss) is type(own) and loss.rowwise  # type: ignore[attr-defined]
        for own in (*losses.LOSSES, *losses.JOINT, *losses.OF_ESTIMATORS)
    )


def guard(loss: Loss) -> Loss:
    """The loss itself if it is ours, else the loss behind `Blockwise`."""
    return loss if isinstance(loss, Blockwise) or not user_defined(loss) else Blockwise(loss)


@dataclass(frozen=True)
class Blockwise:
    """A foreign loss that sees `BLOCK` rows at a time, the last block filled up with zeros.

    Guarantee
    ---------
    No array that the loss sees depends on the number of rows. Where the loss fails on a block, its
    rows are taken one by one, and those on which it fails have slope nan, which is ignored:
    a failure reveals nothing about other rows, and raises nothing.
    """

    loss: Loss

    @property
    def name(self) -> str:
        """That of the loss."""
        return self.loss.name

    @property
    def slope_bound(self) -> float:
        """That of the loss."""
        return self.loss.slope_bound

    @property
    def curvature(self) -> float:
        """That of the loss."""
        return self.loss.curvature

    @property
    def classes(self) -> bool:
        """That of the loss."""
        return self.loss.classes

    @property
    def mean(self) -> Callable[[Vector], Vector] | None:
        """The link of the loss, in blocks; None if it has none."""
        link = mean_of(self.loss)
        return None if link is None else lambda margin: in_blocks(link, margin)

    def targets(self, bound: float) -> Target:
        """What the loss says."""
        return target_of(self.loss, bound)

    def value(self, margin: Vector, y: Vector) -> Vector:
        """The loss of each row."""
        return in_blocks(self.loss.value, margin, y)

    def slope(self, margin: Vector, y: Vector) -> Vector:
        """The slope of each row."""
        return in_blocks(self.loss.slope, margin, y)


def in_blocks(function: Rowwise, *columns: Vector) -> Vector:
    """A function of rows, computed on `BLOCK` rows at a time."""
    first = np.asarray(columns[0], dtype=float)
    flat = [np.asarray(column, dtype=float).ravel() for column in columns]
    found = np.empty(first.size)
    for start in range(0, first.size, BLOCK):
        size = min(BLOCK, first.size - start)
        block = [np.zeros(BLOCK) for _ in flat]
        for filled, column in zip(block, flat, strict=True):
            filled[:size] = column[start : start + size]
        found[start : start + size] = _block(function, block, size)
    return found.reshape(first.shape)


def _block(function: Rowwise, block: list[Vector], size: int) -> Vector:
    try:
        return _numbers(function, *(column.copy() for column in block))[:size]
    except Exception:  # whatever a user's function raises about these rows must not be told
        return np.array([_alone(function, [column[i] for column in block]) for i in range(size)])


def _alone(function: Rowwise, row: list[float]) -> float:
    """One row in a block of zeros; nan where the function fails on it."""
    try:
        return float(_numbers(function, *(np.r_[value, np.zeros(BLOCK - 1)] for value in row))[0])
    except Exception:
        return float("nan")


def _numbers(function: Rowwise, *columns: Vector) -> Vector:
    """What a function gives, as one number for each row."""
    found = np.asarray(function(*columns), dtype=float)
    if found.shape != columns[0].shape:
        raise PrivacyError("a loss must give one number for each row.")
    return found


# ------------------------------------------------------------------------------------------------ the test


def refuse_mixing(loss: Loss, target: Target) -> None:
    """Refuse a foreign loss whose slope or mean of one row depends on other rows. Ours pass without a look.

    Parameters
    ----------
    loss : Loss
    target : Target
        Which synthetic targets to take.

    Raises
    ------
    PrivacyError

    Examples
    --------
    >>> from dpsparse.losses import Custom
    >>> scaled = Custom(derivative=lambda m, y: (m - y) / np.abs(y).max(), curvature=1.0, name="scaled")
    >>> refuse_mixing(scaled, Target(bound=2.0))
    Traceback (most recent call last):
    dpsparse.core.errors.PrivacyError: the loss 'scaled' mixes rows: ...
    """
    if isinstance(loss, Blockwise):
        loss = loss.loss
    if not user_defined(loss):
        return
    fresh = copy.deepcopy(loss)
    margins, targets = probes(target)
    with np.errstate(all="ignore"):
        _compare(loss.slope, fresh.slope, margins, targets, f"the loss {loss.name!r}")
        link, other = mean_of(loss), mean_of(fresh)
        if link is not None and other is not None:
            _compare(
                lambda m, y: link(m), lambda m, y: other(m), margins, targets, f"the mean of the loss {loss.name!r}"
            )


def probes(target: Target) -> tuple[Vector, Vector]:
    """Synthetic margins and targets: every pair of ordinary, tiny and extreme ones."""
    sizes = np.unique([1e-300, 1e-3, 0.5, 1.0, 3.0, 10.0, 40.0, 1e3, 1e6, target.bound / 3, target.bound])
    parts = np.array([1e-3, 1 / 3, 0.5, 0.9, 1.0]) * target.bound
    some = {
        "classes": np.array([0.0, 1.0]),
        "counts": np.r_[0.0, 1.0, parts],
        "numbers": np.r_[-parts, 0.0, parts],
    }[target.kind]
    m, y = np.meshgrid(np.r_[-sizes, 0.0, sizes], some)
    return m.ravel(), y.ravel()


def _compare(first: Rowwise, fresh: Rowwise, margins: Vector, targets: Vector, what: str) -> None:
    rng = np.random.default_rng(SEED)
    one = np.ones(1)
    first(0 * one, 0 * one)  # a function that fails on the simplest synthetic row is refused in its own words
    alone = np.array([_single(first, m * one, y * one) for m, y in zip(margins, targets, strict=True)])

    def check(found: Vector, which: np.ndarray, why: str) -> None:
        want = alone[which]
        same = np.abs(found - want) <= TOLERANCE * (1 + np.abs(want))
        if not np.all(same | (found == want) | (np.isnan(found) & np.isnan(want))):
            raise PrivacyError(
                f"{what} mixes rows: what it gives for one row depends on {why}. One person could "
                "then move what all others "
                "contribute, which no clip bounds. Write it as a function of one margin and one target, with public "
                "constants in place of anything that is taken over rows."
            )

    # a copy that has seen nothing, together with other rows from its first call on
    for function, sizes in ((fresh, SIZES[::-1]), (first, SIZES)):
        for size in sizes:
            for m, y in _surrounding_rows(margins, targets, size, rng):
                which = rng.integers(0, margins.size, max(1, size // 2 if size < margins.size else margins.size))
                where = rng.choice(size, which.size, replace=False)
                m[where], y[where] = margins[which], targets[which]
                try:
                    found = _numbers(function, m, y)
                except PrivacyError as refusal:
                    raise PrivacyError(f"{what} cannot be used: {refusal}") from None
                except Exception:  # it fails on some of these rows: they would be taken one by one
                    continue
                check(found[where], which, "the other rows, its position or their number")
    again = rng.permutation(margins.size)
    for function in (first, fresh):
        found = np.array([_single(function, margins[i] * one, targets[i] * one) for i in again])
        check(found, again, "what it was asked before")


def _single(function: Rowwise, margin: Vector, y: Vector) -> float:
    """What a function gives for an array of one row; nan where it fails."""
    try:
        return float(_numbers(function, margin, y)[0])
    except Exception:
        return float("nan")


def _surrounding_rows(
    margins: Vector, targets: Vector, size: int, rng: np.random.Generator
) -> Iterator[tuple[Vector, Vector]]:
    """Blocks of synthetic rows: all zero, all extreme, mixed, and mixed with one extreme row."""
    extreme = np.flatnonzero((np.abs(margins) == np.abs(margins).max()) & (np.abs(targets) == np.abs(targets).max()))
    for _ in range(12 if size <= 64 else 1):
        loud, mixed = rng.choice(extreme, size), rng.integers(0, margins.size, size)
        if size <= BLOCK:
            yield np.zeros(size), np.zeros(size)
            yield margins[loud], targets[loud]
            yield rng.normal(size=size), targets[mixed]
        yield margins[mixed], targets[mixed]
        ordinary, near = rng.normal(size=size), targets[mixed] / 3 if np.abs(targets).max() != 1 else targets[mixed]
        place = rng.integers(size)
        ordinary[place], near[place] = margins[loud[0]], targets[loud[0]]
        yield ordinary, near
