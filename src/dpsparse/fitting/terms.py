"""Offsets, exposures and weights of a fit: read beside the targets, within bounds that were declared.

They are private, and each must be a function of its own record and of public numbers. What cannot
take them refuses before anything is paid.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..core import DataError, MissingValueError, Plan, checks
from ..core.facts import LARGEST_SIZE, Vector
from ..rows.records import AT_FIT, REFUSAL, cell_numbers, suppress_messages
from ..rows.row_terms import RowTerms
from .request import FitRequest
from .targets import Targets

#: Queries whose answers would not follow offsets and weights; and one whose proof knows no weights.
WITHOUT_TERMS = ("RidgeMinimum", "PerturbedMinimum", "MeanLoss", "RandomizedLabels")
WITHOUT_WEIGHTS = ("ScoreMoments",)

#: What a guarantee depends on where records have weights or offsets.
OWN_TERMS = (
    "the weight and the offset of a record follow from that record and from public numbers alone: "
    "they were not computed from other records"
)


@dataclass(frozen=True, eq=False, repr=False)
class GivenTerms:
    """What `fit` was given beside rows and targets: **private**; None: nothing.

    Parameters
    ----------
    sample_weight, offset, exposure : array-like or None
    """

    sample_weight: object = None
    offset: object = None
    exposure: object = None

    @property
    def any(self) -> bool:
        """Whether anything was given."""
        return any(part is not None for part in (self.sample_weight, self.offset, self.exposure))


def read_terms(request: FitRequest, given: GivenTerms, targets: Targets) -> tuple[FitRequest, RowTerms | None]:
    """The request that says which terms records have, and the terms; None where they have none.

    Refuses terms without a declared bound. A record whose offset or weight is no finite number is
    absent, or refused, as `on_missing` says.
    """
    if given.offset is not None and given.exposure is not None:
        raise TypeError("exposure=E is offset=log(E). Give one of them.")
    weights = given.sample_weight is not None
    offsets = given.offset is not None or given.exposure is not None
    factors = class_factors(request, targets.classes)
    if weights and request.weight_bound is None:
        raise ValueError(
            "sample_weight needs weight_bound=W in the constructor: the largest weight that a record "
            "can have, by public knowledge. Weights are clipped to [0, W]."
        )
    if offsets and request.offset_bound is None:
        raise ValueError(
            "offset and exposure need offset_bound=(lo, hi) in the constructor, from public knowledge; for an "
            "exposure, the logarithms of its bounds. Offsets are clipped to it."
        )
    rows = targets.coded.size
    weight = read_column(given.sample_weight, "sample_weight", rows)
    offset = read_column(given.offset, "offset", rows)
    if given.exposure is not None:
        offset = logarithms(read_column(given.exposure, "exposure", rows))
    if request.on_missing == "refuse" and not all(v is None or np.all(np.isfinite(v)) for v in (weight, offset)):
        raise MissingValueError(REFUSAL + AT_FIT)
    top = request.weight_bound if weights else 1.0
    if factors is not None:
        assert top is not None
        known = np.isfinite(targets.coded)
        own = factors[np.where(known, targets.coded, 0).astype(np.intp)]
        weight, top = own if weight is None else np.clip(weight, 0.0, top) * own, top * float(factors.max())
    used = replace(
        request, largest_weight=None if weight is None else top, offset_range=request.offset_bound if offsets else None
    )
    return used, None if weight is None and offset is None else RowTerms(offset, weight)


def read_column(given: object, name: str, rows: int) -> Vector | None:
    """One number for each row, NaN for every other cell; refuses another number of them."""
    if given is None:
        return None
    if isinstance(given, str | bytes):
        raise DataError(f"{name} must hold one number for each row, as long as y; a column's name is not looked up.")
    with suppress_messages():
        try:
            found = cell_numbers(given.to_numpy() if hasattr(given, "to_numpy") else np.asarray(given))
        except Exception:  # whatever a user's object raises could hold a value
            found = np.zeros((0, 0))
    if found.shape != (rows,):
        raise DataError(f"{name} must hold one number for each row, as long as y.")
    return np.array(found, dtype=float)


def logarithms(exposure: Vector | None) -> Vector:
    """Offsets of exposures; NaN where one is not positive."""
    assert exposure is not None
    with np.errstate(all="ignore"):
        return np.where(exposure > 0, np.log(exposure), np.nan)


def class_factors(request: FitRequest, classes: NDArray[np.generic] | None) -> Vector | None:
    """The weight of each class, by its code, at most 1; None where all count the same.

    Only their ratios are kept: clips for classes are made for slopes of at most 1, and would hold
    heavier ones back.
    """
    given, shares = request.class_weight, request.class_shares
    if given is None or classes is None:
        return None
    labels = classes.tolist()
    if given == "balanced":
        if shares is None:
            raise ValueError(
                "class_weight='balanced' would count the classes, which is private. Declare "
                "class_shares={class: share}, from public knowledge."
            )
        known = _by_class(shares, labels, "class_shares")
        if len(known) != len(labels) or abs(sum(known.values()) - 1) > 0.01:
            raise ValueError("class_shares must hold a share for each class, and sum to 1.")
        found = np.array([1 / known[label] for label in labels])
    else:
        known = _by_class(given, labels, "class_weight")
        found = np.array([known.get(label, 1.0) for label in labels])
    return np.asarray(found / found.max())


def _by_class(given: object, labels: list[object], name: str) -> dict[object, float]:
    if not isinstance(given, Mapping) or not given:
        raise checks.refusal(name, "a dictionary with a positive number for each class", given)
    unknown = [label for label in given if label not in labels]
    if unknown:
        raise ValueError(f"{name} names {unknown[0]!r}, which is not one of the classes.")
    return {label: checks.positive(value, name, most=LARGEST_SIZE) for label, value in given.items()}


def refuse_terms(request: FitRequest, plan: Plan, recipe: str) -> None:
    """Refuse weights and offsets where a plan has answers that would not follow them."""
    weights, offsets = request.largest_weight is not None, request.offset_range is not None
    if not (weights or offsets):
        return
    word = " and ".join(name for name, used in (("weights", weights), ("offsets", offsets)) if used)
    asked = {ask.question for ask in plan.all_asks()}
    if plan.local or asked & set(WITHOUT_TERMS):
        raise ValueError(
            f"recipe {recipe!r} does not take {word}: it minimises whole objectives, or asks devices. Use a recipe "
            "of gradients, such as recipe='auto'."
        )
    if weights and asked & set(WITHOUT_WEIGHTS):
        raise ValueError("intervals are not offered with weights of records or classes. Leave one of them out.")


def refuse_class_weight(request: FitRequest) -> None:
    """Refuse class weights that the reader of the rows did not turn into weights of rows."""
    if request.class_weight is not None and request.largest_weight is None:
        raise ValueError(
            "class_weight is taken by fit(X, y) of the classifier itself: not yet in pipelines, searches, or on sites "
            "and devices. Leave it out there."
        )


def terms_notes(request: FitRequest) -> tuple[str, ...]:
    """What a statement says about weights and offsets."""
    notes = []
    if request.largest_weight is not None:
        notes.append(
            f"records have weights, clipped to [0, {request.largest_weight:g}]; a clip holds what a record contributes "
            "whatever its weight, so the guarantee is the same for all"
        )
    if request.offset_range is not None:
        low, high = request.offset_range
        notes.append(f"an offset of each record, clipped to [{low:g}, {high:g}], is added to its margin")
    return tuple(notes)
