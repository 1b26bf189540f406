"""The options that describe a model, and the estimator that they stand for."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from .exits import Refusal
from .inputs import Gaps, gap_rule, read_dictionary
from .options import Delta, Epsilon, Names, Neighbours, Numbers
from .settings import loss_option, public_vector, set_fields

if TYPE_CHECKING:
    from ..estimators.linear import SparseLinear
    from ..io.dictionary import Dictionary

#: Options that a dictionary takes the place of.
DECLARED = (
    *("feature_bound", "row_norm", "target_bound", "target_center", "classes"),
    *("weight_bound", "offset_bound", "horizon"),
)
#: Options that estimators know under the same name, or that only some of them know.
OTHERS = ("task", "set_", "auxiliary", "no_intercept", "classes", "target_bound", "target_center", "interval_target")
NO_SURVIVAL = (
    *("target_bound", "loss", "start", "classes", "no_intercept", "intervals"),
    *("weight_bound", "offset_bound"),
)


@dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """What describes a model.

    Parameters
    ----------
    task
        What is predicted; a --dictionary says it.
    target_bound
        Regression: the target is clipped to [-b, b] around its centre.
    target_center
        Regression: public centre of the target. Default: 0.
    weight_bound
        With --weight: the largest weight of a record.
    offset_bound
        With --offset or --exposure: lo,hi of the offset.
    horizon
        Survival: public end of follow-up, in the units of --time.
    life_intervals
        Survival: intervals of the life table. Default: 20.
    recipe
        Algorithm; dpsparse recipes lists them.
    set_ : FIELD=VALUE
        Set a field of the recipe, such as steps=20; may be repeated. dpsparse recipes NAME lists them.
    auxiliary
        Public rows for a recipe that takes some.
    loss
        Such as huber or huber:threshold=0.5. Default: logistic, or squared.
    start
        Public start: a file with one number per feature.
    classes
        Classification: the public set of labels. Default: taken from the data.
    no_intercept
        Fit without an intercept.
    penalty
        Regularisation, added after the noise; recipes say which they take.
    alpha
        Strength of the penalty; 0 for none.
    l1_ratio
        Part of the elastic net that is l1.
    box
        Half-width for --penalty box.
    accept
        Name of an assumption that a recipe needs you to accept; may be repeated.
    on_missing
        Rows with missing values, or cells that are not numbers: refuse them, which reveals that there are some,
        or ignore their records. Default: refuse; with a dictionary, empty.
    check_bounds
        Share of the budget, such as 0.02, for a priced count of clipped values; the statement gives it.
    check_cells
        With --dictionary: share of the budget for a priced count of cells that were not understood, for each
        column; 0: none. Default: 0.02.
    shapes
        Effects of columns of numbers: lines, smooth curves, or curves where the budget carries them. A
        dictionary may say it for each column.
    intervals
        Confidence intervals of the selected coefficients: half of the rows select, the others show how certain
        the coefficients are.
    interval_target
        Regression, with --intervals: robust is narrower, for another parameter where errors are skewed.
        Default: mean.
    noise
        exact: discrete Gaussian without a floating-point caveat; some 6 % more noise.
    """

    task: Literal["classification", "regression", "survival"] | None = None
    epsilon: Epsilon = 1.0
    delta: Delta | None = None
    sparsity: int | None = None
    row_norm: float | None = None
    feature_bound: Numbers | None = None
    target_bound: float | None = None
    target_center: float | None = None
    weight_bound: float | None = None
    offset_bound: Numbers | None = None
    horizon: float | None = None
    life_intervals: int | None = None
    recipe: str = "auto"
    set_: tuple[str, ...] = ()
    auxiliary: Path | None = None
    loss: str | None = None
    start: Path | None = None
    adjacency: Neighbours = "replace-one"
    classes: Names | None = None
    no_intercept: bool = False
    penalty: Literal["l2", "l1", "elasticnet", "box"] = "l2"
    alpha: float = 0.0
    l1_ratio: float = 0.5
    box: float | None = None
    accept: tuple[str, ...] = ()
    on_missing: Gaps | None = None
    check_bounds: float | None = None
    check_cells: float | None = None
    shapes: Literal["line", "smooth", "auto"] = "line"
    intervals: bool = False
    interval_target: Literal["mean", "robust"] | None = None
    noise: Literal["lattice", "exact"] = "lattice"

    @property
    def survival(self) -> bool:
        """Whether the model is one of times until an event."""
        return self.task == "survival"

    # ---------------------------------------------------------------------------------------------- a dictionary

    def described(self, path: Path | None) -> tuple[ModelOptions, Dictionary | None]:
        """With what a dictionary declares, and the dictionary. Without a file it declares nothing."""
        gaps = gap_rule(self.on_missing, described=path is not None)
        if path is None:
            if self.check_cells and not self.survival:
                raise Refusal("--check-cells counts cells of a table that a --dictionary describes. Leave it out.")
            if self.task is None:
                raise Refusal(
                    "Missing option '--task': classification, regression or survival. A --dictionary with a target "
                    "says it, too."
                )
            return replace(self, on_missing=gaps, check_cells=None), None
        taken = [f"--{name.replace('_', '-')}" for name in DECLARED if getattr(self, name) is not None]
        if taken:
            raise Refusal(
                f"the dictionary declares what {', '.join(taken)} would. Leave the option out, or edit {path}."
            )
        found = read_dictionary(path)
        study = any(column.role == "time" for column in found.columns)
        declared = self._of_study(path, found) if study else self._of_target(found)
        from ..io.dictionary.beside import columns_beside, settings_beside

        changes: dict[str, Any] = {**declared, **settings_beside(columns_beside(found)), "on_missing": gaps}
        return replace(self, **changes), found

    def _of_target(self, found: Dictionary) -> dict[str, object]:
        """What the target of a dictionary declares."""
        from ..io.dictionary import Target

        target, bounds = Target.of(found), found.output_bounds()
        if self.task not in (None, target.task):
            raise Refusal(
                f"the target {target.column.name!r} is a {target.column.kind}, which means {target.task}. Leave "
                "--task out."
            )
        declared: dict[str, object] = {"feature_bound": bounds, "row_norm": bounds.row_norm, **target.settings}
        if target.task == "regression" and (self.loss or "").partition(":")[0].lower() == "poisson":
            declared |= {"target_bound": target.column.limits[1], "target_center": 0.0}  # counts have no centre
        return {"task": target.task, "check_cells": self._share_of_cells(), **declared}

    def _of_study(self, path: Path, found: Dictionary) -> dict[str, object]:
        """The same of the dictionary of a survival study."""
        if self.task is not None and not self.survival:
            raise Refusal(f"{path} has columns with the roles time and event, which means survival. Leave --task out.")
        if self.check_cells:
            raise Refusal("cells are not counted for survival models yet. Leave --check-cells out.")
        bounds = found.output_bounds()
        limits = bounds.lower, bounds.upper
        return {"task": "survival", "feature_bound": limits, "row_norm": bounds.row_norm, "check_cells": None}

    def _share_of_cells(self) -> float | None:
        """The share of the budget that counts cells.

        Without an option none for recipes that cannot: on devices, or without privacy.
        """
        from .. import recipes
        from ..fitting.counts import SHARE

        if self.check_cells is not None:
            return self.check_cells or None
        known = recipes.get(self.recipe)
        return SHARE if known.private and not known.local else None

    # ---------------------------------------------------------------------------------------------- an estimator

    def estimator(self, *, n_features: int = 1, **others: object) -> SparseLinear:
        """The estimator, with further arguments. What can be refused without data is refused here."""
        self._refuse_contradictions()
        from .. import recipes
        from ..rows.bounds import read_bounds

        recipes.get(self.recipe)  # refuses a name that is not known
        read_bounds(self.feature_bound, self.row_norm, n_features)
        self._refuse_unknown_assumptions()
        shared: dict[str, Any] = {
            **{one.name: getattr(self, one.name) for one in fields(self) if one.name not in OTHERS},
            "recipe": set_fields(self.recipe, self.set_, self.auxiliary),
            "loss": loss_option(self.loss),
            "start": public_vector(self.start),
            "fit_intercept": not self.no_intercept,
            "intervals": "split" if self.intervals else None,
            **others,
        }
        horizon, intervals = shared.pop("horizon"), shared.pop("life_intervals")
        if self.survival:
            from ..estimators.survival import SparseSurvival

            known = SparseSurvival().get_params().keys() - {"intervals", "horizon"}
            taken = {name: value for name, value in shared.items() if name in known}
            study: SparseLinear = SparseSurvival(horizon=horizon, intervals=intervals or 20, **taken)
            return study
        from ..estimators import SparseClassifier, SparseRegressor

        if self.task == "classification":
            return SparseClassifier(classes=self.classes, **shared)
        return SparseRegressor(
            target_bound=self.target_bound,
            target_center=self.target_center or 0.0,
            interval_target=self.interval_target or "mean",
            **shared,
        )

    def _refuse_contradictions(self) -> None:
        """Refuse bounds that are missing, and options of another task, in the words of the options."""
        if self.row_norm is None and self.feature_bound is None:
            raise Refusal(
                "no bound on the features was given. Declare --row-norm or --feature-bound, "
                "from a codebook or physical limits and not from this data."
            )
        if self.task == "regression" and self.target_bound is None:
            raise Refusal(
                "no bound on the target was given. Declare --target-bound, from what the outcome can "
                "be and not from this data."
            )
        wrong = [name for name in NO_SURVIVAL if self.survival and getattr(self, name) not in (None, False)]
        if wrong:
            options = ", ".join(f"--{name.replace('_', '-')}" for name in wrong)
            raise Refusal(f"{options}: not for --task survival. Leave it out.")
        if self.survival and self.horizon is None:
            raise Refusal("no horizon was given. Declare --horizon, the end of follow-up, from the protocol.")
        if not self.survival and (self.horizon, self.life_intervals) != (None, None):
            raise Refusal("--horizon and --life-intervals belong to --task survival. Leave them out.")
        if self.task == "classification" and (self.target_bound, self.target_center) != (None, None):
            raise Refusal("--target-bound and --target-center belong to --task regression. Leave them out.")
        if self.interval_target is not None and (self.task == "classification" or not self.intervals):
            raise Refusal("--interval-target belongs to --task regression with --intervals. Leave it out.")
        if self.task == "regression" and self.classes is not None:
            raise Refusal("--classes belongs to --task classification. Leave it out.")

    def _refuse_unknown_assumptions(self) -> None:
        """Refuse names that no recipe asks to accept: a misspelt one would be ignored."""
        if not self.accept:
            return
        from .. import recipes
        from ..fitting.prepare import UNPROVEN

        known = (UNPROVEN, *recipes.needs())
        unknown = [name for name in self.accept if name not in known]
        if unknown:
            named = ", ".join(map(repr, unknown))
            raise Refusal(f"--accept: no recipe has an assumption {named}. Known are: {', '.join(known)}.")
