"""The arguments that estimators and steps share, and what to say about one that they do not have."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from os import PathLike
from typing import Any, TypeVar

from numpy.typing import ArrayLike

from ..core import Budget
from ..fitting import Seed
from ..ledger import Ledger
from ..queries.losses import Loss
from ..recipes import Recipe

Estimator = TypeVar("Estimator")


@dataclass(eq=False, repr=False)
class BudgetArguments:
    """What everything with a budget of its own takes: who is protected how much, and who pays."""

    epsilon: float = 1.0
    delta: float | None = None
    _: KW_ONLY
    budget: Budget | None = None
    adjacency: str = "replace-one"
    noise: str = "lattice"
    ledger: Ledger | str | None = None
    dataset: str | None = None
    label: str | None = None
    run_id: str | None = None
    on_missing: str = "refuse"
    random_state: Seed = None


@dataclass(eq=False, repr=False)
class ModelArguments(BudgetArguments):
    """Arguments of every sparse linear model."""

    _: KW_ONLY
    sparsity: int | None = None
    row_norm: float | None = None
    feature_bound: ArrayLike | tuple[ArrayLike, ArrayLike] | None = None
    feature_center: ArrayLike | None = None
    recipe: str | Recipe = "auto"
    penalty: str = "l2"
    alpha: float = 0.0
    l1_ratio: float = 0.5
    box: float | None = None
    n_rows: int | None = None
    resume: str | PathLike[str] | None = None
    memory_limit: str | int | None = None
    verbose: bool = False


@dataclass(eq=False, repr=False)
class FitArguments(ModelArguments):
    """Arguments of both estimators, as their constructors take them; documented there."""

    _: KW_ONLY
    loss: Loss | str | None = None
    fit_intercept: bool = True
    start: ArrayLike | None = None
    keep_path: bool = False
    accept: tuple[str, ...] = ()
    check_bounds: float | None = None
    check_cells: float | None = None
    intervals: str | None = None
    unit: str | None = None
    shapes: str | Mapping[str | int, str] = "line"
    groups: Sequence[Sequence[str | int]] | None = None
    weight_bound: float | None = None
    offset_bound: tuple[float, float] | None = None


def explain_arguments(kind: type[Estimator]) -> type[Estimator]:
    """Answer arguments that a class does not have with what to use here; its signature stays as it is."""
    init: Any = vars(kind)["__init__"]
    known = [name for name in inspect.signature(init).parameters if name != "self"]

    @functools.wraps(init)
    def checked(self: object, *args: object, **given: object) -> None:
        unknown = [name for name in given if name not in known]
        if unknown:
            raise TypeError(unknown_arguments(type(self), unknown, known))
        init(self, *args, **given)

    kind.__init__ = checked  # type: ignore[method-assign]
    return kind


# ------------------------------------------------------------------------------------------------ other libraries

#: By argument: what it is called or does here.
INSTEAD = {
    "C": "The strength of the penalty is alpha=; C is its inverse. Start with the default, alpha=0: the noise already "
    "regularises.",
    "max_iter": "The number of steps is part of the priced plan and is chosen before a record is read. Set it on a "
    "recipe: recipe=dpsparse.recipes.get('dp_ight')(steps=20).",
    "n_iter": "The number of steps is part of the priced plan. Set it on a recipe: "
    "recipe=dpsparse.recipes.get('dp_ight')(steps=20).",
    "tol": "A stopping rule on the exact loss would reveal it. The number of steps is planned beforehand.",
    "early_stopping": "A stopping rule on the exact loss would reveal it. The number of steps is planned beforehand.",
    "solver": "The algorithm is recipe=; dpsparse.recipes.names() lists them.",
    "learning_rate": "Step sizes follow from public facts. Set one on a recipe: "
    "recipe=dpsparse.recipes.get('dp_ight')(step_size=0.1).",
    "batch_size": "Sampling of records is a field of the recipe, such as dp_sgd.",
    "n_jobs": "Set the environment variable DPSPARSE_THREADS, or OMP_NUM_THREADS.",
    "multi_class": "Recipes with a multinomial form use it (recipe='dual_averaging'); the others fit one class versus "
    "the rest.",
    "warm_start": "A public start is start=; a model fitted on the same records is not public for free.",
    "dual": "There is one formulation; the algorithm is recipe=.",
    "positive": "Bound coefficients with penalty='box' and box=.",
    "normalize": "Use make_private_pipeline(PrivateScaler(), ...), or public bounds: feature_bound=.",
    "standardize": "Use make_private_pipeline(PrivateScaler(), ...), or public bounds: feature_bound=.",
    "lambda_": "The strength of the penalty is alpha=.",
    "nonzero": "The number of nonzero coefficients is sparsity=.",
    "n_nonzero_coefs": "The number of nonzero coefficients is sparsity=.",
    "data_norm": "The bound on the norm of a row is row_norm=.",
    "max_grad_norm": "Gradients are clipped by row_norm= or feature_bound=; some recipes have a field clip.",
    "noise_multiplier": "The noise follows from the budget: epsilon= and delta=.",
    "bounds": "Bounds of features are feature_bound=; the bound of the target is target_bound=.",
    "bounds_X": "Bounds of features are feature_bound=.",
    "bounds_y": "The bound of the target is target_bound= around target_center=.",
    "accountant": "A budget that many fits share is ledger= with dataset=.",
    "intercept": "Use fit_intercept=.",
    "seed": "Use random_state=; a fit with a seed is not private.",
}


def unknown_arguments(kind: type, names: Iterable[str], known: Iterable[str]) -> str:
    """What to say about arguments that a class does not have, one sentence or two for each."""
    import difflib

    listed, said = list(known), []
    for name in names:
        if name in INSTEAD:
            said.append(f"{kind.__name__} has no argument {name!r}. {INSTEAD[name]}")
            continue
        close = difflib.get_close_matches(name, listed, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else f" help({kind.__name__}) lists the arguments."
        said.append(f"{kind.__name__} has no argument {name!r}.{hint}")
    return " ".join(said)
