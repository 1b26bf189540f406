"""The arguments that classifiers and regressors share, and what to say about one that they do not have."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from os import PathLike
from typing import Any, TypeVar

from numpy.typing import ArrayLike

from ..core import Budget
from ..fitting import Seed
from ..ledger import Ledger
from ..queries.losses import Loss
from ..recipes import Recipe
from .other_libraries import unknown_arguments

Estimator = TypeVar("Estimator")


@dataclass(eq=False, repr=False)
class FitArguments:
    """Arguments of both estimators, as their constructors take them; documented there."""

    epsilon: float = 1.0
    delta: float | None = None
    _: KW_ONLY
    budget: Budget | None = None
    sparsity: int | None = None
    row_norm: float | None = None
    feature_bound: ArrayLike | tuple[ArrayLike, ArrayLike] | None = None
    feature_center: ArrayLike | None = None
    recipe: str | Recipe = "auto"
    loss: Loss | str | None = None
    penalty: str = "l2"
    alpha: float = 0.0
    l1_ratio: float = 0.5
    box: float | None = None
    adjacency: str = "replace-one"
    n_rows: int | None = None
    fit_intercept: bool = True
    start: ArrayLike | None = None
    keep_path: bool = False
    noise: str = "lattice"
    ledger: Ledger | str | None = None
    dataset: str | None = None
    label: str | None = None
    run_id: str | None = None
    resume: str | PathLike[str] | None = None
    accept: tuple[str, ...] = ()
    on_missing: str = "refuse"
    check_bounds: float | None = None
    check_cells: float | None = None
    intervals: str | None = None
    unit: str | None = None
    shapes: str | Mapping[str | int, str] = "line"
    groups: Sequence[Sequence[str | int]] | None = None
    weight_bound: float | None = None
    offset_bound: tuple[float, float] | None = None
    memory_limit: str | int | None = None
    random_state: Seed = None
    verbose: bool = False


def explain_arguments(kind: type[Estimator]) -> type[Estimator]:
    """Answer arguments that a class does not have with what to use here; its signature stays as it is."""
    init: Any = vars(kind)["__init__"]
    known = [name for name in inspect.signature(init).parameters if name != "self"]

    @functools.wraps(init)
    def checked(self: object, *args: Any, **given: Any) -> None:
        unknown = [name for name in given if name not in known]
        if unknown:
            raise TypeError(unknown_arguments(type(self), unknown, known))
        init(self, *args, **given)

    kind.__init__ = checked  # type: ignore[method-assign]
    return kind
