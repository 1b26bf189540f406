r"""``NAME@paper``: an algorithm as its paper prints it, under our accounting.

The loop takes equal steps of one size, as many as its theorem prescribes (`from_theory` of each recipe); only clipping
and noise are ours, since the printed noise does not keep its claim (docs/papers.md). Constants that a user does not
set are those of columns that are uncorrelated and fill their declared bounds: public facts, and no more than a guess.
"""

from __future__ import annotations

import inspect
import math
import warnings
from collections.abc import Mapping
from dataclasses import field, fields, make_dataclass, replace
from functools import cache
from typing import Any, ClassVar, cast, get_type_hints

from ..core.budget import Budget
from ..core.facts import Facts
from ..queries.kinds import Solver
from .base import PrivateRecipe, Recipe
from .defaults.schedules import largest_clip
from .defaults.sparsity import kept

#: Marks the form of a recipe that its paper prints.
PAPER = "@paper"
#: Arguments of theorems that a fit knows.
OF_THE_FIT = ("n_rows", "n_features", "epsilon", "delta", "rho")


class AsPrinted(PrivateRecipe):
    """The base of all ``NAME@paper``: its fields are the constants of the theorem and the fields of the recipe."""

    of: ClassVar[type[Recipe]]

    def given(self) -> dict[str, Any]:
        """The fields that were set."""
        return {f.name: value for f in fields(self) if (value := getattr(self, f.name)) is not None}

    def resolve(self, facts: Facts, budget: Budget) -> tuple[PrivateRecipe, str]:
        """The recipe with the settings of its theorem, and which constants they were taken for."""
        of, given, asked = self.of, self.given(), constants_of(self.of)
        shown = of().view(facts)
        taken = fit_constants(budget, shown) | public_constants(of.name, shown, budget) | given
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            made = prescribe(of, {name: value for name, value in taken.items() if name in asked})
        known = {f.name for f in fields(made)}
        made = replace(made, **{name: value for name, value in given.items() if name not in asked and name in known})
        used = ", ".join(
            f"{name} = {taken[name]:.3g}"
            for name in asked
            if name not in OF_THE_FIT and isinstance(taken.get(name), int | float)
        )
        notes = "".join(f"; {one.message}".rstrip(".") for one in said)
        return cast(
            "PrivateRecipe", made
        ), f"{self.name} is {of.name} with the settings of its theorem for {used}{notes}"

    def view(self, facts: Facts) -> Facts:
        """As declared: the recipe that it resolves to has a view of its own."""
        return facts

    def solver(self, facts: Facts, budget: Budget) -> Solver:
        """The loop of the recipe that it resolves to, on that recipe's view."""
        made, _ = self.resolve(facts, budget)
        return made.solver(made.view(facts), budget)

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (self.of, self.given())


def _again(of: type[Recipe], given: Mapping[str, Any]) -> AsPrinted:
    return as_printed(of)(**given)


@cache
def as_printed(of: type[Recipe]) -> type[AsPrinted]:
    """The class of ``NAME@paper``."""
    if not hasattr(of, "from_theory"):
        raise ValueError(
            f"the recipe {of.name!r} has no printed settings: dpsparse.recipes.get({of.name!r}).from_theory."
        )
    hints = get_type_hints(of)
    named = {f.name: hints[f.name] for f in fields(of)} | {
        name: one for name, one in constants_of(of).items() if name not in OF_THE_FIT
    }
    members = {"name": f"{of.name}{PAPER}", "of": of, "__doc__": _docstring(of), "__module__": __name__} | {
        name: getattr(of, name) for name in ("local", "penalties", "needs", "zero_is_absence", "joint")
    }
    rows = [(name, kind | None, field(default=None)) for name, kind in named.items()]
    made = make_dataclass(
        f"{of.__name__}AsPrinted", rows, bases=(AsPrinted,), namespace=members, frozen=True, kw_only=True
    )
    return cast("type[AsPrinted]", made)


def constants_of(of: type[Recipe]) -> dict[str, Any]:
    """Arguments of a recipe's theorem, and their types."""
    theory = getattr(of, "from_theory")  # noqa: B009 - not every recipe has one
    hints = get_type_hints(theory)
    return {name: hints[name] for name in inspect.signature(theory).parameters}


def prescribe(of: type[Recipe], taken: Mapping[str, Any]) -> Recipe:
    """The recipe that a theorem prescribes; refused where a constant is missing that has no default."""
    needed = inspect.signature(getattr(of, "from_theory")).parameters  # noqa: B009
    lacks = [name for name, one in needed.items() if one.default is inspect.Parameter.empty and name not in taken]
    if lacks:
        raise ValueError(f"the theorem of {of.name} also needs {', '.join(lacks)}.")
    return cast(Recipe, getattr(of, "from_theory")(**taken))  # noqa: B009


def fit_constants(budget: Budget, facts: Facts) -> dict[str, Any]:
    """What every theorem asks of a fit."""
    shape = {"n_rows": facts.n_rows, "n_features": facts.n_features, "delta": budget.delta or 1 / facts.n_rows**2}
    if budget.epsilon is not None:
        return shape | {"epsilon": budget.epsilon}
    return shape | {"rho": budget.as_rho()}


def public_constants(name: str, facts: Facts, budget: Budget) -> dict[str, Any]:
    r"""Constants of a theorem for uncorrelated columns that fill their bounds.

    A direction then has the curvature :math:`h = \beta_0K_2^2/d`, and coefficients that give margins of the typical
    size t have the norm :math:`t/\sqrt{K_2^2/d}`; slopes are as large as the bounds allow.
    """
    s = kept(None, facts, budget)
    entry = facts.norm_bound / math.sqrt(facts.n_features)
    bend, length, slope = facts.curvature * entry**2, facts.target.margin / entry, largest_clip(facts)
    shared: dict[str, Any] = {
        "smoothness": bend,
        "strong_convexity": bend,
        "true_sparsity": s,
        "sparsity": s,
        "gradient_norm": slope,
        "lipschitz": slope,
        "variance": slope**2,
        "signal_norm": length,
        "entry_bound": facts.entry_bound,
        "classification": facts.target.classes,
        "noise_bound": facts.target.typical,
        "row_norm": min(facts.norm_bound, facts.entry_bound * math.sqrt(s)),
        "curvature": facts.curvature,
    }
    entries = slope * facts.entry_bound / facts.norm_bound
    moved = math.sqrt(facts.curvature) * facts.target.margin  # in the norm of the curvatures
    special: dict[str, dict[str, Any]] = {
        "dp_sgd": {"radius": length},
        "dp_cd": {"radius": moved, "lipschitz": slope / entry / math.sqrt(facts.curvature)},
        "dp_gcd": {"radius": moved * math.sqrt(s), "lipschitz": entries, "smallest_curvature": bend},
        "dp_frank_wolfe": {
            "radius": length * math.sqrt(s),
            "lipschitz": entries,
            "curvature": 4 * facts.curvature * (facts.entry_bound * length) ** 2 * s,
        },
    }
    return shared | special.get(name, {})


def _docstring(of: type[Recipe]) -> str:
    """The recipe's first paragraph, what is taken as printed, and its other sections."""
    first, _, rest = inspect.cleandoc(of.__doc__ or "").partition("\n\n")
    return (
        f"{first}\n\nHere as printed, with clipping and noise that hold: equal steps with the settings of its theorem"
        " for the constants that are set.\nOthers are those of uncorrelated columns that fill their"
        f" bounds.\n\n{rest}"
    )
