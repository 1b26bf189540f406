"""What was asked for: every public argument of a fit, checked once, before any row is seen.

The rules that several packages need stand here, each once: the default of delta, the public number of
rows, how many models a set of classes takes, and in which language a budget is stated.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sized
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .. import recipes
from ..core import Adjacency, AssumptionError, Budget, BudgetError, Noise, PrivacyError, checks
from ..core.checks import ROW, unit_name
from ..core.facts import LARGEST_SIZE, SMALLEST_SIZE, Facts, Penalty, Vector
from ..ledger import Ledger, check_ledger
from ..oracles import Resume
from ..queries.losses import Logistic, Loss, Squared, named_loss, proven, target_of
from ..rows.bounds import read_bounds, read_center, read_target_bound
from ..rows.declared import ColumnBounds, declared_columns
from ..rows.records import CHOICES
from ..rows.shapes import Basis
from .shapes import Groups, read_groups, read_shapes

#: Kinds of penalty, and kinds of noise, by the names that users give.
PENALTIES = ("l2", "l1", "elasticnet", "box")
NOISES = ("lattice", "exact")
#: How intervals are made, and of which parameter.
INTERVALS, INTERVAL_TARGETS = ("split",), ("mean", "robust")

#: What users seed with, in tests.
Seed = int | np.random.RandomState | np.random.Generator | None


def default_delta(n_rows: int | None) -> float:
    """The delta of a user who names none: ``min(1e-6, 1/(10 n))``; 1e-6 where the number of rows is not known yet.

    Examples
    --------
    >>> default_delta(1000), default_delta(10**7)
    (1e-06, 1e-08)
    """
    return 1e-6 if n_rows is None else min(1e-6, 1 / (10 * n_rows))


def public_rows(declared: int | None, adjacency: Adjacency, found: int) -> int:
    """The public number of rows: declared under add-remove, and the number that there are under replace-one.

    Parameters
    ----------
    declared : int or None
        The argument `n_rows`.
    adjacency : Adjacency
    found : int
        Rows of the data.
    """
    if adjacency is Adjacency.ADD_REMOVE:
        if declared is None:
            raise PrivacyError(
                "under add-remove adjacency the number of rows is private, so n_rows must be declared: a public guess "
                "of it, or counted first with NoisyCount in a private pipeline."
            )
        return checks.whole(declared, "n_rows")
    if declared is not None and declared != found:
        raise PrivacyError(
            f"n_rows={declared!r} was declared, but the data has another number of rows; under "
            "replace-one they must agree."
        )
    return int(found)


def models_of(classes: Sized | None) -> int:
    """How many models a set of classes takes: one for two classes or for numbers, otherwise one for each class.

    Examples
    --------
    >>> models_of(None), models_of([0, 1]), models_of("abc")
    (1, 1, 3)
    """
    return 1 if classes is None or len(classes) <= 2 else len(classes)


def stated_budget(
    budget: object, epsilon: float, delta: float | None, adjacency: str, n_rows: int | None
) -> tuple[Budget, float]:
    """The budget of a user, and the delta at which epsilon is stated.

    Parameters
    ----------
    budget : Budget or None
        None: epsilon and delta say it.
    epsilon : float
    delta : float or None
        None: the default for this number of rows.
    adjacency : str
    n_rows : int or None
        Public number of rows; None where it is not known yet.
    """
    at = default_delta(n_rows) if delta is None else delta
    if budget is None:
        given = Budget.approx(epsilon, at)
    elif isinstance(budget, Budget):
        given = budget
    else:
        raise BudgetError(f"budget must be a dpsparse Budget such as Budget.zcdp(0.1), got {budget!r}.")
    stated = Budget.approx(1.0, at).delta if given.delta is None else given.delta
    assert stated is not None
    return given.under(adjacency), stated


def check_noise_kind(noise: object, random_state: Seed) -> str:
    """One of the kinds of noise; refuses a seed where noise is exact."""
    if not isinstance(noise, str) or noise not in NOISES:
        raise checks.refusal("noise", "'lattice' or 'exact'", noise)
    if noise == "exact" and random_state is not None:
        raise ValueError(
            "noise='exact' takes its keys from the operating system and cannot be seeded; leave random_state=None."
        )
    return noise


def noise_of_sums(noise: object, random_state: Seed) -> Noise:
    """What protects sums, by the kind of noise."""
    exact = check_noise_kind(noise, random_state) == "exact"
    return Noise.DISCRETE_GAUSSIAN if exact else Noise.GAUSSIAN


def read_loss(loss: object, *, classes: bool) -> Loss:
    """The loss of a classifier or of a regressor, which may be named; None is logistic or squared."""
    if loss is None:
        return Logistic() if classes else Squared()
    if isinstance(loss, str):
        loss = named_loss(loss)
    if not isinstance(loss, Loss) or loss.classes is not classes:
        kind = (
            "a classification loss object such as dpsparse.losses.Logistic()"
            if classes
            else "a regression loss object such as dpsparse.losses.Huber()"
        )
        raise TypeError(f"loss must be {kind}, got {loss!r}.")
    return loss


@dataclass(frozen=True, kw_only=True)
class Shape:
    """The public shape of the data of a fit.

    Parameters
    ----------
    n_rows, n_features : int
        Public numbers.
    sparse : bool
        Whether rows come in sparse form, which shifts no column.
    models : int
        Models that one versus the rest takes: 1, or as many as there are classes. A recipe may make one model of them.
    checked : int
        Columns of the table behind the rows whose cells can be counted; 0 without a table. No price depends on it.
    """

    n_rows: int
    n_features: int
    sparse: bool = False
    models: int = 1
    checked: int = 0

    def __post_init__(self) -> None:
        for name in ("n_rows", "n_features", "models"):
            object.__setattr__(self, name, checks.whole(getattr(self, name), name))
        object.__setattr__(self, "sparse", checks.truth(self.sparse, "sparse"))


@dataclass(frozen=True, eq=False, kw_only=True)
class FitRequest:
    """Everything that a user asked for.

    Public, frozen, and checked: what does not depend on the shape of the data has passed.

    Attributes are the arguments of `SparseRegressor` and `SparseClassifier` under their names, in
    plain types: `loss` and `recipe` are objects, `penalty` holds its strength. What has one entry
    per feature (bounds, centre, start) is read by `facts`, which knows how many there are. `names`
    and `carried` are names and bounds that came with the rows; `basis` and `members` are what
    `with_shapes` makes of them: the map of a record, and the group of each of its columns; `sparsity` is
    then that of these columns. `base_rate` is the share of the rarer class, where a dictionary behind the
    rows declares it: it has a part in what is expected of a fit, and none in the fit.
    `largest_weight` and `offset_range` are the bounds of what this fit was given (`read_terms`); None
    where records have no weight or no offset, whatever is declared.
    """

    classifies: bool
    epsilon: float
    delta: float | None
    budget: Budget | None
    sparsity: int | None
    row_norm: object
    feature_bound: object
    feature_center: object
    target_bound: float
    target_center: float
    recipe: recipes.Recipe
    loss: Loss
    penalty: Penalty
    adjacency: Adjacency
    n_rows: int | None
    classes: NDArray[np.generic] | None
    fit_intercept: bool
    start: object
    keep_path: bool
    noise: str
    ledger: Ledger | None
    dataset: str | None
    label: str | None
    run_id: str | None
    resume: Resume | None
    accept: tuple[str, ...]
    on_missing: str
    check_bounds: float | None
    check_cells: float | None
    memory_limit: int | None
    random_state: Seed
    verbose: bool
    intervals: str | None = None
    interval_target: str = "mean"
    unit: str = ROW
    shapes: str | Mapping[str | int, str] = "line"
    groups: tuple[tuple[str | int, ...], ...] = ()
    names: tuple[str, ...] | None = None
    carried: ColumnBounds | None = None
    basis: Basis | None = None
    members: Groups | None = None
    weight_bound: float | None = None
    offset_bound: tuple[float, float] | None = None
    class_weight: object = None
    class_shares: object = None
    largest_weight: float | None = None
    offset_range: tuple[float, float] | None = None
    base_rate: float | None = None

    @classmethod
    def read(cls, arguments: Mapping[str, Any], *, classifies: bool) -> Self:
        """Check the arguments of an estimator, as its ``get_params(deep=False)`` gives them."""
        given = {**OF_THE_OTHER, **arguments}
        recipe = recipes.make(given["recipe"])
        check_ledger(given["ledger"], given["dataset"], given["label"], given["run_id"])
        kept = {name: given[name] for name in AS_GIVEN}
        kept |= {name: bool(given[name]) for name in ("fit_intercept", "keep_path", "verbose")}
        kept |= {n: None if given[n] is None else check(given[n]) for n, check in UNLESS_NONE.items()}
        # baselines have no budget to share
        kept |= {n: None if given[n] is None else checks.fraction(given[n], n) for n in ("check_bounds", "check_cells")}
        request = cls(
            **kept if recipe.private else {**kept, "check_bounds": None, "check_cells": None},
            classifies=classifies,
            target_bound=1.0 if classifies else read_target_bound(given["target_bound"]),
            target_center=checks.number(given["target_center"], "target_center"),
            recipe=recipe,
            loss=read_loss(given["loss"], classes=classifies),
            penalty=_penalty(given),
            adjacency=Adjacency.named(given["adjacency"]),
            noise=check_noise_kind(given["noise"], given["random_state"]) if recipe.private else "lattice",
            ledger=None if given["dataset"] is None else Ledger.of(given["ledger"]),
            resume=Resume.of(given["resume"], given["dataset"], given["run_id"]),
            accept=tuple(given["accept"]),
            on_missing=checks.one_of(given["on_missing"], "on_missing", CHOICES),
            interval_target=checks.one_of(given["interval_target"], "interval_target", INTERVAL_TARGETS),
            unit=unit_name(given["unit"]),
            shapes=read_shapes(given["shapes"]),
            groups=read_groups(given["groups"]),
            base_rate=declared_columns(given["feature_bound"]).base_rate,
        )
        if recipe.private:
            request.budget_for(None)  # refuses what makes no sense
        return request

    # ---------------------------------------------------------------------------------------------- with a shape

    def shape(
        self, rows: int, n_features: int, *, sparse: bool = False, models: int | None = None, checked: int = 0
    ) -> Shape:
        """The public shape of data with this number of rows; `models` None: as the declared classes say."""
        return Shape(
            n_rows=public_rows(self.n_rows, self.adjacency, rows),
            n_features=n_features,
            sparse=sparse,
            models=models_of(self.classes) if models is None else models,
            checked=checked,
        )

    def planned_shape(self, n_rows: int, n_features: int, *, sparse: bool = False) -> Shape:
        """The public shape of data that is planned for. Refuses other rows than are declared."""
        shape = Shape(n_rows=n_rows, n_features=n_features, sparse=sparse, models=models_of(self.classes))
        if self.n_rows not in (None, shape.n_rows):
            raise PrivacyError(
                f"a plan for {shape.n_rows} rows was asked for, but n_rows={self.n_rows!r} is declared, and a fit "
                "goes by that. Plan for as many rows, or leave n_rows=None."
            )
        return shape

    def budget_for(self, n_rows: int | None) -> tuple[Budget, float]:
        """The budget, and the delta at which epsilon is stated."""
        return stated_budget(self.budget, self.epsilon, self.delta, self.adjacency, n_rows)

    def facts(self, shape: Shape, loss: Loss | None = None) -> Facts:
        """What is public about a fit, as it was declared.

        With another form of the loss, where many classes are one model.
        """
        loss = self.loss if loss is None else loss
        lower, upper, row_norm = read_bounds(self.feature_bound, self.row_norm, shape.n_features)
        return Facts(
            n_rows=shape.n_rows,
            n_features=shape.n_features,
            lower=lower,
            upper=upper,
            row_norm=row_norm,
            shift=read_center(self.feature_center, shape.n_features),
            intercept=1.0 if self.fit_intercept else 0.0,
            target=target_of(loss, self.target_bound),
            loss=loss.name,
            convex=proven(loss),
            slope_bound=loss.slope_bound * max(1.0, self.largest_weight or 1.0),
            curvature=loss.curvature,
            sparsity=self.sparsity,
            groups=self.members if recipes.built_in(self.recipe) else None,  # others ask for single columns
            penalty=self.penalty,
            start=self.start_vector(shape.n_features),
            sparse=shape.sparse,
            counts_clipped=self.check_bounds is not None,
            counts_unread=0 if self.check_cells is None else shape.checked,
            unit=self.unit,
            offset_bound=self.offset_range,
            weight_bound=self.largest_weight,
        )

    def start_vector(self, n_features: int) -> Vector | None:
        """The public start; None: zero."""
        return None if self.start is None else checks.vector(self.start, "start", n_features)

    def check_storable(self) -> None:
        """Refuse numbers that are not finite, also in arguments that this fit does not use.

        A model file has no word for them.

        They would come to light when the model is saved, after it was paid for. A loss may be
        unbounded, and is stored by its own form.
        """
        for field in fields(self):
            if field.name != "loss" and not checks.all_finite(getattr(self, field.name)):
                raise ValueError(f"{field.name} must hold finite numbers only: a model with others could not be saved.")

    def check_accepted(self, recipe: recipes.Recipe) -> None:
        """Refuse a recipe that depends on an assumption which was not accepted by name."""
        missing = tuple(name for name in recipe.needs if name not in self.accept)
        if missing:
            raise AssumptionError(
                f"recipe {recipe.name!r} depends on an assumption that must be accepted by name: accept={missing!r}. "
                f"See dpsparse.recipes.describe({recipe.name!r})."
            )


def _penalty(given: Mapping[str, Any]) -> Penalty:
    kind, box = checks.one_of(given["penalty"], "penalty", PENALTIES), given["box"]
    if kind == "box" and not (checks.is_number(box) and box > 0):
        raise ValueError(f"penalty='box' needs box=b with b > 0, got {box!r}.")
    return Penalty(
        kind=kind,
        alpha=checks.non_negative(given["alpha"], "alpha"),
        l1_ratio=checks.fraction(given["l1_ratio"], "l1_ratio", ends=True),
        box=box,
    )


def _offset_bound(given: object) -> tuple[float, float]:
    if not (isinstance(given, tuple | list) and len(given) == 2 and all(map(checks.is_number, given))):
        raise checks.refusal("offset_bound", "(lo, hi), two finite numbers", given)
    low, high = map(float, given)
    if not low < high or max(-low, high) > LARGEST_SIZE:
        raise checks.refusal("offset_bound", "(lo, hi) with lo < hi", given)
    return low, high


def _classes(declared: object) -> NDArray[np.generic]:
    """The declared classes, sorted, each once."""
    classes = np.unique(np.asarray(declared))
    if classes.size < 2:
        raise ValueError("classes must hold at least two different labels.")
    return classes


#: Arguments that only one of the two estimators has, as they are for the other.
OF_THE_OTHER = {
    "target_center": 0.0,
    "interval_target": "mean",
    **dict.fromkeys(("classes", "class_weight", "class_shares")),
}
#: Arguments that a request holds as they were given.
AS_GIVEN = (
    *("epsilon", "delta", "budget", "row_norm", "feature_bound", "feature_center", "n_rows", "start"),
    *("dataset", "label", "run_id", "random_state", "class_weight", "class_shares"),
)
#: Arguments that may be None, and the checks of others.
UNLESS_NONE: dict[str, Callable[..., object]] = {
    "sparsity": partial(checks.whole, name="sparsity"),
    "classes": _classes,
    "memory_limit": partial(checks.memory, name="memory_limit"),
    "intervals": partial(checks.one_of, name="intervals", known=INTERVALS),
    "weight_bound": partial(checks.positive, name="weight_bound", least=SMALLEST_SIZE, most=LARGEST_SIZE),
    "offset_bound": _offset_bound,
}
