"""What a search may try: candidates drawn from public distributions.

A candidate is a choice of an estimator's arguments and of its recipe's fields.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Protocol, TypeGuard, cast, runtime_checkable

import numpy as np
from sklearn.base import clone

from ... import recipes
from ...core import DataError
from ...core.facts import Facts
from ...core.plain import Json, scalar
from ..linear import SparseLinear
from ..steps.pipeline_file import restored_value, stored_value

#: Arguments that a search sets itself, or that have to be the same in all runs.
FIXED = frozenset(
    (
        *("epsilon", "delta", "budget", "adjacency", "n_rows", "unit", "noise", "accept", "random_state", "classes"),
        *("ledger", "dataset", "label", "run_id", "resume", "check_bounds", "check_cells", "target_center"),
        *("keep_path", "memory_limit", "verbose"),
    )
)

#: Fields of the recipe are named with this before them.
RECIPE = "recipe__"

#: A candidate: arguments of the estimator, and fields of its recipe, by name.
Parameters = dict[str, object]

#: What is tried when the user does not say: the recipes that ``auto`` chooses from, and DP-IGHT.
DEFAULT_RECIPES = ("select_polish", "dual_averaging", "dp_ight")

#: Values that are equally likely.
Listed = list[object] | tuple[object, ...] | range | np.ndarray


@runtime_checkable
class Distribution(Protocol):
    """Values by chance, as in ``scipy.stats``."""

    def rvs(self, *, random_state: np.random.Generator) -> object:
        """One value."""
        ...


#: What a parameter is drawn from.
Choices = Listed | Distribution

#: Spaces with at most this many candidates are checked one by one before a search.
CHECKED = 256


@dataclass(frozen=True, eq=False)
class Space:
    """Dictionaries of parameters, one of which is drawn with equal chance, and then a value for each of its parameters.

    Parameters
    ----------
    parts : tuple of mappings
        A value is a list, each entry of which is equally likely, or a distribution with a method ``rvs`` as in
        ``scipy.stats``. Keys are arguments of the estimator, or ``recipe__`` and a field of its recipe.
    """

    parts: tuple[Mapping[str, Choices], ...]

    @classmethod
    def read(cls, given: object, estimator: SparseLinear) -> Space:
        """Check what the user gave; refuses before anything is drawn."""
        parts = (given,) if isinstance(given, Mapping) else tuple(given) if isinstance(given, Sequence) else None
        if not parts or not all(isinstance(part, Mapping) and part for part in parts):
            raise TypeError(
                "param_distributions must be a dictionary (or a list of them) of lists or scipy "
                f"distributions, got {given!r}. "
                'Example: {"recipe__steps": [5, 10, 20], "recipe__clip": scipy.stats.loguniform(0.1, 10)}.'
            )
        known = estimator.get_params(deep=True)
        for part in parts:
            for name, values in part.items():
                _check_name(name, known)
                _check_values(name, values)
        return cls(parts)

    @property
    def size(self) -> int | None:
        """How many candidates there are; None if a distribution is among them."""
        if not all(listed(values) for part in self.parts for values in part.values()):
            return None
        return sum(math.prod(len(values) for values in part.values() if listed(values)) for part in self.parts)

    def all(self) -> Iterator[Parameters]:
        """Every candidate of a finite space."""
        for part in self.parts:
            for values in itertools.product(*filter(listed, part.values())):
                yield dict(zip(part, values, strict=True))

    def assumptions(self, estimator: SparseLinear, facts: Facts) -> tuple[str, ...]:
        """What the recipes that may be drawn depend on.

        Of a space too large to look through, before their fields are set.
        """
        if self.size is not None and self.size <= CHECKED:
            drawable: list[object] = [candidate(estimator, parameters).recipe for parameters in self.all()]
        else:
            named = [part.get("recipe", (estimator.recipe,)) for part in self.parts]
            drawable = [recipe for values in named if listed(values) for recipe in values]
        texts = (text for recipe in drawable for text in recipes.make(recipe).assumptions(facts))
        return tuple(dict.fromkeys(texts))

    def draw(self, generator: np.random.Generator) -> Parameters:
        """One candidate; independent of all others and of the data."""
        part = self.parts[int(generator.integers(len(self.parts)))]
        return {name: _drawn(values, generator) for name, values in part.items()}


def _drawn(values: Choices, generator: np.random.Generator) -> object:
    if isinstance(values, Distribution):
        return scalar(values.rvs(random_state=generator))
    return values[int(generator.integers(len(values)))]


def candidate(estimator: SparseLinear, parameters: Mapping[str, object]) -> SparseLinear:
    """A fresh estimator with these parameters; fields of the recipe are set on the recipe that it would use."""
    own = {name: value for name, value in parameters.items() if not name.startswith(RECIPE)}
    of_recipe = {name.removeprefix(RECIPE): value for name, value in parameters.items() if name.startswith(RECIPE)}
    made: SparseLinear = clone(estimator).set_params(**own)
    if of_recipe:
        recipe = recipes.make(made.recipe)
        missing = sorted(of_recipe.keys() - {field.name for field in fields(recipe)})
        if missing:
            known = [field.name for field in fields(recipe)]
            raise ValueError(
                f"recipe {recipe.name!r} has no field {missing[0]!r}; it has {', '.join(known) or 'none'}. "
                "Name the recipe in the estimator, or give a list of dictionaries, one for each recipe."
            )
        made.set_params(recipe=replace(recipe, **of_recipe))
    return made


def _check_name(name: object, known: Mapping[str, object]) -> None:
    if name in FIXED:
        raise ValueError(f"{name!r} cannot be searched over: it must be the same in all runs, or is set by the search.")
    if not isinstance(name, str) or (not name.startswith(RECIPE) and name not in known):
        searchable = sorted(n for n in known if n not in FIXED)
        raise ValueError(
            f"{name!r} is not an argument of the estimator. Use one of {', '.join(searchable)}, or "
            "recipe__ and a field of the recipe."
        )


def _check_values(name: str, values: object) -> None:
    if listed(values):
        if len(values) == 0:
            raise ValueError(f"{name!r} has an empty list of values.")
    elif not isinstance(values, Distribution):
        raise TypeError(
            f"{name!r} must have a list of values or a distribution with a method rvs, such as "
            f"scipy.stats.loguniform(0.1, 10), got {values!r}."
        )


def listed(values: object) -> TypeGuard[Listed]:
    """Whether these are values that are equally likely."""
    return isinstance(values, list | tuple | range | np.ndarray)


# ------------------------------------------------------------------------------------------------ in files

WHAT = "param_distributions"


def stored_space(given: object) -> Json:
    """Dictionaries of lists and of scipy's distributions as plain values; None where a value has no plain form.

    Examples
    --------
    >>> from scipy import stats
    >>> stored_space({"sparsity": [5, 10], "alpha": stats.loguniform(0.1, 1)})
    {'sparsity': [5, 10], 'alpha': {'distribution': 'loguniform', 'args': [0.1, 1], 'kwds': {}}}
    """
    if given is None:
        return None
    try:
        if isinstance(given, Mapping):
            return {name: _values(values) for name, values in given.items()}
        return [{name: _values(values) for name, values in part.items()} for part in cast(Any, given)]
    except DataError:
        return None


def restored_space(held: Any) -> Any:
    """The inverse of `stored_space`. Distributions are looked up among those of scipy by name; nothing is run."""
    if isinstance(held, list):
        return [restored_space(part) for part in held]
    return None if held is None else {name: _restored(values) for name, values in held.items()}


def stored_candidate(parameters: Mapping[str, object]) -> str | None:
    """A candidate as JSON, with its recipes; None where a value has no plain form."""
    try:
        return json.dumps({name: _entry(value) for name, value in parameters.items()}, allow_nan=False)
    except (DataError, ValueError):
        return None


def restored_candidate(text: str) -> dict[str, object]:
    """The inverse of `stored_candidate`."""
    return {name: _restored([value])[0] for name, value in json.loads(text).items()}


def _values(values: object) -> Json:
    if listed(values):
        return [_entry(value) for value in values]
    from scipy import stats  # takes long to import

    name = getattr(getattr(values, "dist", None), "name", None)
    if not isinstance(name, str) or not isinstance(getattr(stats, name, None), stats.rv_continuous | stats.rv_discrete):
        raise DataError(f"{WHAT} holds a {type(values).__name__}, which a file of plain values has no word for.")
    frozen = cast(Any, values)
    return {
        "distribution": name,
        "args": stored_value(list(frozen.args), WHAT),
        "kwds": stored_value(dict(frozen.kwds), WHAT),
    }


def _entry(value: object) -> Json:
    if isinstance(value, type) or not hasattr(value, "__dataclass_fields__"):
        return stored_value(value, WHAT)
    held = {field.name: stored_value(getattr(value, field.name), WHAT) for field in fields(cast(Any, value))}
    return {"<recipe>": recipes.make(value).name, "fields": held}


def _restored(values: Any) -> Any:
    if isinstance(values, list):
        return [
            _recipe(value) if isinstance(value, dict) and "<recipe>" in value else restored_value(value)
            for value in values
        ]
    from scipy import stats

    found = getattr(stats, values["distribution"], None)
    if not isinstance(found, stats.rv_continuous | stats.rv_discrete):
        raise ValueError("no such distribution")
    return found(*restored_value(values["args"]), **restored_value(values["kwds"]))


def _recipe(value: Mapping[str, Any]) -> recipes.Recipe:
    return recipes.get(value["<recipe>"])(**restored_value(value["fields"]))
