"""Options that several commands share, and the estimator that they describe."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .exits import Refusal
from .settings import loss_option, public_vector, set_fields

if TYPE_CHECKING:
    from ..estimators.linear import SparseLinear

Function = Callable[..., Any]
Option = Callable[[Function], Function]
#: A path that may be missing.
FILE = click.Path(path_type=Path)


class Numbers(click.ParamType):  # type: ignore[type-arg]
    """One number ``b``, or two as ``lo,hi``."""

    name = "b or lo,hi"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> float | tuple[float, float]:
        """Parse."""
        if not isinstance(value, str):
            return value  # type: ignore[return-value]
        try:
            numbers = [float(v) for v in value.split(",")]
        except ValueError:
            numbers = []
        if len(numbers) not in (1, 2):
            self.fail(f"{value!r} is neither a number b nor two numbers lo,hi.", param, ctx)
        return numbers[0] if len(numbers) == 1 else (numbers[0], numbers[1])


class Finite(click.FloatRange):
    """A number in a range; ``inf`` and ``nan`` are refused too."""

    name = "float"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Parse."""
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{number} is not a finite number.", param, ctx)
        return number


#: What a privacy budget can be.
EPSILON, DELTA = Finite(min=0, min_open=True), Finite(min=0, max=1, max_open=True)


class Names(click.ParamType):  # type: ignore[type-arg]
    """Names or numbers separated by commas."""

    name = "a,b,..."

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> list[str]:
        """Parse."""
        return [v.strip() for v in value.split(",")] if isinstance(value, str) else value  # type: ignore[return-value]


class ShortHelp(click.Command):
    """A command whose ``--help`` shows the options that most people need, and ``--help-all`` every one.

    Parameters
    ----------
    usual : tuple of str
        Options of ``--help``, as they are typed.
    """

    def __init__(self, *arguments: Any, usual: tuple[str, ...], **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.usual = usual
        unknown = set(usual) - {name for parameter in self.params for name in parameter.opts}
        if unknown:
            raise ValueError(f"{self.name} has no options {', '.join(sorted(unknown))}")

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """The parameters, with ``--help-all`` before ``--help``, which is last."""
        *own, last = super().get_params(ctx)
        whole = click.Option(
            ["--help-all"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=self._print_all,
            help="Show every option and exit.",
        )
        return [*own, whole, last]

    def _print_all(self, ctx: click.Context, parameter: click.Parameter, asked: bool) -> None:
        if asked and not ctx.resilient_parsing:
            ctx.meta[f"{__name__}.all"] = True
            click.echo(ctx.get_help())
            ctx.exit()

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options that were asked for, and how many more there are."""
        everything = ctx.meta.get(f"{__name__}.all", False)
        shown, hidden = [], 0
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is None or not isinstance(parameter, click.Option):
                continue
            if everything or {"--help", "--help-all", *self.usual} & set(parameter.opts):
                shown.append(record)
            else:
                hidden += 1
        with formatter.section("Options"):
            formatter.write_dl(shown)
        if hidden:
            formatter.write_paragraph()
            formatter.write_text(f"There are {hidden} more options: --help-all shows them.")


def together(*options: Option) -> Option:
    """Several options as one decorator; help lists them in this order."""

    def add(command: Function) -> Function:
        for option in reversed(options):
            command = option(command)
        return command

    return add


def _known_assumptions(ctx: click.Context, param: click.Parameter, accepted: tuple[str, ...]) -> tuple[str, ...]:
    """Refuse names that no recipe asks to accept: a misspelt one would be ignored."""
    if accepted:
        from .. import recipes
        from ..fitting.prepare import UNPROVEN

        known = (UNPROVEN, *recipes.needs())
        unknown = [name for name in accepted if name not in known]
        if unknown:
            named = ", ".join(map(repr, unknown))
            raise click.BadParameter(f"no recipe has an assumption {named}. Known are: {', '.join(known)}.", ctx, param)
    return accepted


json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object, for machines.")
delta_option = click.option("--delta", type=DELTA, help="Default: min(1e-6, 1/(10 n)).")
target_option = click.option("--target", help="Column of the target; svmlight and npz files hold their own.")
n_rows_option = click.option("--n-rows", type=int, help="Public number of rows; required for --adjacency add-remove.")
zero_based_option = click.option(
    "--zero-based", is_flag=True, help="The columns of an svmlight file are counted from 0."
)


def adjacency_option(remark: str = "") -> Option:
    """The option that says which data sets count as neighbours."""
    return click.option(
        "--adjacency",
        type=click.Choice(["replace-one", "add-remove"]),
        default="replace-one",
        show_default=True,
        help=f"Which data sets count as neighbours{remark}.",
    )


def on_missing_option(rows: str) -> Option:
    """The option that says what becomes of records with gaps."""
    return click.option(
        "--on-missing",
        type=click.Choice(["refuse", "empty"]),
        help=f"{rows}: refuse them, which reveals that there are some, or ignore their records. "
        "Default: refuse; with a dictionary, empty.",
    )


def ledger_options(default_label: str) -> Option:
    """The options that name the ledger that pays."""
    return together(
        click.option(
            "--ledger",
            help="Address of a ledger that is charged, such as sqlite:///budget.db; needs --dataset. "
            "Default: DPSPARSE_LEDGER.",
        ),
        click.option("--dataset", help="Name of this data in the ledger."),
        click.option("--label", help=f"What the ledger's entry is called. Default: {default_label}."),
    )


_MODEL = (
    click.option(
        "--task",
        type=click.Choice(["classification", "regression", "survival"]),
        help="What is predicted; a --dictionary says it.",
    ),
    click.option("--epsilon", type=EPSILON, default=1.0, show_default=True, help="Privacy budget."),
    delta_option,
    click.option("--sparsity", type=int, help="At most this many nonzero coefficients. Default: the recipe decides."),
    click.option("--row-norm", type=float, help="Public bound: rows are clipped to this l2 norm."),
    click.option("--feature-bound", type=Numbers(), help="Public bound: entries are clipped to [-b, b] or [lo, hi]."),
    click.option("--target-bound", type=float, help="Regression: the target is clipped to [-b, b] around its centre."),
    click.option("--target-center", type=float, help="Regression: public centre of the target. Default: 0."),
    click.option("--weight-bound", type=float, help="With --weight: the largest weight of a record."),
    click.option("--offset-bound", type=Numbers(), help="With --offset or --exposure: lo,hi of the offset."),
    click.option("--horizon", type=float, help="Survival: public end of follow-up, in the units of --time."),
    click.option("--life-intervals", type=int, help="Survival: intervals of the life table. Default: 20."),
    click.option("--recipe", default="auto", show_default=True, help="Algorithm; dpsparse recipes lists them."),
    click.option(
        "--set",
        "fields",
        multiple=True,
        metavar="FIELD=VALUE",
        help="Set a field of the recipe, such as steps=20; may be repeated. dpsparse recipes NAME lists them.",
    ),
    click.option("--auxiliary", type=FILE, help="Public rows for a recipe that takes some."),
    click.option("--loss", help="Such as huber or huber:threshold=0.5. Default: logistic, or squared."),
    click.option("--start", type=FILE, help="Public start: a file with one number per feature."),
    adjacency_option(),
    click.option(
        "--classes", type=Names(), help="Classification: the public set of labels. Default: taken from the data."
    ),
    click.option("--no-intercept", is_flag=True, help="Fit without an intercept."),
    click.option(
        "--penalty",
        type=click.Choice(["l2", "l1", "elasticnet", "box"]),
        default="l2",
        show_default=True,
        help="Regularisation, added after the noise; recipes say which they take.",
    ),
    click.option("--alpha", type=float, default=0.0, show_default=True, help="Strength of the penalty; 0 for none."),
    click.option("--l1-ratio", type=float, default=0.5, show_default=True, help="Part of the elastic net that is l1."),
    click.option("--box", type=float, help="Half-width for --penalty box."),
    click.option(
        "--accept",
        multiple=True,
        callback=_known_assumptions,
        help="Name of an assumption that a recipe needs you to accept; may be repeated.",
    ),
    on_missing_option("Rows with missing values, or cells that are not numbers"),
    click.option(
        "--check-bounds",
        type=float,
        help="Share of the budget, such as 0.02, for a priced count of clipped values; the statement gives it.",
    ),
    click.option(
        "--check-cells",
        type=float,
        help="With --dictionary: share of the budget for a priced count of cells that were not "
        "understood, for each column; 0: none. "
        "Default: 0.02.",
    ),
    click.option(
        "--shapes",
        type=click.Choice(["line", "smooth", "auto"]),
        default="line",
        show_default=True,
        help="Effects of columns of numbers: lines, smooth curves, or curves where the budget carries them. "
        "A dictionary may say it for each column.",
    ),
    click.option(
        "--intervals",
        is_flag=True,
        help="Confidence intervals of the selected coefficients: half of the rows select, the "
        "others show how certain the coefficients are.",
    ),
    click.option(
        "--interval-target",
        type=click.Choice(["mean", "robust"]),
        help="Regression, with --intervals: robust is narrower, for another parameter where errors "
        "are skewed. Default: mean.",
    ),
    click.option(
        "--noise",
        type=click.Choice(["lattice", "exact"]),
        default="lattice",
        show_default=True,
        help="exact: discrete Gaussian without a floating-point caveat; some 6 % more noise.",
    ),
)

#: The options that describe a model.
model_options = together(*_MODEL)


def make_estimator(
    *,
    task: str,
    epsilon: float,
    delta: float | None,
    row_norm: float | None,
    feature_bound: float | tuple[float, float] | None,
    target_bound: float | None,
    target_center: float | None,
    recipe: str,
    fields: tuple[str, ...],
    auxiliary: Path | None,
    loss: str | None,
    start: Path | None,
    classes: list[str] | None,
    no_intercept: bool,
    intervals: bool = False,
    interval_target: str | None = None,
    horizon: float | None = None,
    life_intervals: int | None = None,
    n_features: int = 1,
    **others: Any,
) -> SparseLinear:
    """An estimator from options. What can be refused without data is refused here, in the words of the options."""
    if row_norm is None and feature_bound is None:
        raise Refusal(
            "no bound on the features was given. Declare --row-norm or --feature-bound, "
            "from a codebook or physical limits and not from this data."
        )
    if task == "regression" and target_bound is None:
        raise Refusal(
            "no bound on the target was given. Declare --target-bound, from what the outcome can "
            "be and not from this data."
        )
    if task == "survival":
        given = {"--target-bound": target_bound, "--loss": loss, "--start": start, "--classes": classes}
        given |= {"--no-intercept": no_intercept or None, "--intervals": intervals or None}
        given |= {f"--{name.replace('_', '-')}": others.get(name) for name in ("weight_bound", "offset_bound")}
        wrong = [name for name, value in given.items() if value is not None]
        if wrong:
            raise Refusal(f"{', '.join(wrong)}: not for --task survival. Leave it out.")
        if horizon is None:
            raise Refusal("no horizon was given. Declare --horizon, the end of follow-up, from the protocol.")
    elif horizon is not None or life_intervals is not None:
        raise Refusal("--horizon and --life-intervals belong to --task survival. Leave them out.")
    if task == "classification" and (target_bound is not None or target_center is not None):
        raise Refusal("--target-bound and --target-center belong to --task regression. Leave them out.")
    if interval_target is not None and (task == "classification" or not intervals):
        raise Refusal("--interval-target belongs to --task regression with --intervals. Leave it out.")
    if task == "regression" and classes is not None:
        raise Refusal("--classes belongs to --task classification. Leave it out.")

    from .. import recipes as known
    from ..estimators import SparseClassifier, SparseRegressor
    from ..rows.bounds import read_bounds

    known.get(recipe)  # refuses a name that is not known
    read_bounds(feature_bound, row_norm, n_features)
    shared = {
        "epsilon": epsilon,
        "delta": delta,
        "row_norm": row_norm,
        "feature_bound": feature_bound,
        "recipe": set_fields(recipe, fields, auxiliary),
        "loss": loss_option(loss),
        "start": public_vector(start),
        "fit_intercept": not no_intercept,
        "intervals": "split" if intervals else None,
        **others,
    }
    if task == "survival":
        from ..estimators.survival import SparseSurvival

        taken = {k: v for k, v in shared.items() if k in SparseSurvival().get_params() and k != "intervals"}
        study: SparseLinear = SparseSurvival(horizon=horizon, intervals=life_intervals or 20, **taken)
        return study
    if task == "classification":
        classifier: SparseLinear = SparseClassifier(classes=classes, **shared)
        return classifier
    regressor: SparseLinear = SparseRegressor(
        target_bound=target_bound,
        target_center=target_center or 0.0,
        interval_target=interval_target or "mean",
        **shared,
    )
    return regressor
