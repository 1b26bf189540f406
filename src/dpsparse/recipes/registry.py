"""Recipes by name: ours, a user's own, and those of other packages.

A recipe joins by one line: the list in ``recipes/__init__.py`` for ours,
``@dpsparse.recipes.register`` for a user's own, and an entry point in the group
``dpsparse.recipes`` for a package::

    [project.entry-points."dpsparse.recipes"]
    my_recipe = "my_package.my_module:MyRecipe"
"""

from __future__ import annotations

import difflib
import inspect
import warnings
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any, TypeVar, cast

from .base import Recipe

#: Entry points of other packages.
GROUP = "dpsparse.recipes"
#: Every recipe by the name that users give in ``recipe=``; the laws run over it.
REGISTRY: dict[str, type[Recipe]] = {}
#: Rules that resolve to a recipe by public facts.
RULES: dict[str, type[Recipe]] = {}
#: Other names of the same recipes.
ALIASES: dict[str, str] = {"dp_gd_ht": "dp_ight"}
#: Other forms of recipes, by what stands behind ``@`` in a name: ``dp_ight@paper``.
FORMS: dict[str, Callable[[type[Recipe]], type[Recipe]]] = {}

#: What a recipe's class must have: see `Recipe`, `PrivateRecipe` and `Baseline`.
VALUES: dict[str, type] = {
    "name": str,
    "private": bool,
    "penalties": tuple,
    "needs": tuple,
    "zero_is_absence": bool,
    "joint": bool,
}
METHODS = ("resolve", "view", "solver", "assumptions")

Kind = TypeVar("Kind", bound=type)


def register(cls: Kind) -> Kind:
    """Make a recipe known by its name: to ``recipe="name"``, `get`, `names`, `describe` and the loader of model files.

    Use it as a decorator of a frozen dataclass, in a module that is imported before a model file
    with the recipe is loaded.

    Raises
    ------
    TypeError
        If something is missing; the message names it.
    ValueError
        If the name is taken by another class.

    Examples
    --------
    >>> register(get("dp_ight")).name
    'dp_ight'
    >>> register(int)
    Traceback (most recent call last):
    TypeError: the recipe int is not complete: it is no dataclass; it lacks name; ...
    """
    lacks = missing(cls)
    if lacks:
        raise TypeError(
            f"the recipe {getattr(cls, '__name__', cls)} is not complete: {'; '.join(lacks)}. A "
            "recipe is a frozen dataclass; "
            "dpsparse.recipes.PrivateRecipe and Baseline have defaults for all but name and solver."
        )
    recipe = cast("type[Recipe]", cls)
    known = (REGISTRY | RULES).get(recipe.name)
    if (known is not None and not _again(known, recipe)) or recipe.name in ALIASES:
        raise ValueError(f"there is a recipe {recipe.name!r} already; choose another name.")
    REGISTRY[recipe.name] = recipe
    return cls


def _again(known: type[Recipe], recipe: type[Recipe]) -> bool:
    """Whether a class is the known one, or the known one of a user, run once more as notebooks do."""
    same = (known.__module__, known.__qualname__) == (recipe.__module__, recipe.__qualname__)
    return known is recipe or (same and not known.__module__.startswith("dpsparse."))


def missing(cls: Any) -> list[str]:
    """What a class lacks to be a recipe, in words."""
    found = [] if isinstance(cls, type) and is_dataclass(cls) else ["it is no dataclass"]
    for name, kind in VALUES.items():
        value = getattr(cls, name, None)
        if value is None:
            found.append(f"it lacks {name}")
        elif not isinstance(value, kind):
            found.append(f"{name} is no {kind.__name__}")
    for name in METHODS:
        method = getattr(cls, name, None)
        if not callable(method) or getattr(method, "__isabstractmethod__", False):
            found.append(f"it lacks the method {name}")
    return found


def names() -> list[str]:
    """Names that ``recipe=`` takes; those of other packages are listed without loading them.

    >>> "dp_ight" in names()
    True
    """
    return sorted({*REGISTRY, *ALIASES, *RULES, *(point.name for point in entry_points(group=GROUP))})


def needs() -> list[str]:
    """Names of the assumptions that some recipe needs users to accept; those of other packages are loaded for it.

    >>> "known-design" in needs()
    True
    """
    for point in entry_points(group=GROUP):
        if point.name not in REGISTRY:
            _load(point)
    return sorted({name for recipe in REGISTRY.values() for name in recipe.needs})


def get(name: str) -> type[Recipe]:
    """The class of a recipe.

    >>> get("dp_ight").__name__
    'DPIGHT'
    >>> get("dp_ight@paper").name
    'dp_ight@paper'
    """
    every = REGISTRY | RULES
    if isinstance(name, str) and name.partition("@")[2] in FORMS:
        of, _, form = name.partition("@")
        return FORMS[form](get(of))
    known = ALIASES.get(name, name) if isinstance(name, str) else ""
    if known in every:
        return every[known]
    for point in entry_points(group=GROUP):
        found = _load(point) if point.name == known else None
        if found is not None:
            return found
    close = difflib.get_close_matches(str(name), names(), n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    raise ValueError(f"unknown recipe {name!r}.{hint} Choose one of: {', '.join(names())}.")


def _load(point: EntryPoint) -> type[Recipe] | None:
    """The recipe of an entry point, registered; None, with a warning, where it cannot be had."""
    try:
        found = register(point.load())
        if found.name != point.name:
            raise ValueError(f"the recipe calls itself {found.name!r}.")
    except Exception as error:  # whatever another package raises while it is imported
        warnings.warn(
            f"the recipe {point.name!r} of the entry point {point.value!r} cannot be used: "
            f"{type(error).__name__}: {error}",
            UserWarning,
            stacklevel=3,
        )
        return None
    return cast("type[Recipe]", found)


def make(recipe: object) -> Recipe:
    """A recipe object from a name or an object."""
    if isinstance(recipe, str):
        return get(recipe)()
    lacks = missing(type(recipe))
    if not lacks:
        return cast(Recipe, recipe)
    if is_dataclass(recipe) and not isinstance(recipe, type):
        raise TypeError(f"the recipe {type(recipe).__name__} is not complete: {'; '.join(lacks)}.")
    raise TypeError(f"recipe must be a name from recipes.names() or a recipe object, got {type(recipe).__name__}.")


def describe(name: str) -> str:
    """What a recipe does, its guarantee and where it deviates from its paper: its docstring."""
    return inspect.cleandoc(get(name).__doc__ or "")


def settings(recipe: Recipe) -> dict[str, Any]:
    """A recipe as plain values: its name and fields. A public matrix or function is named and not held."""

    def value(of: Any) -> Any:
        if callable(of):
            return f"public function {getattr(of, '__name__', type(of).__name__)}"
        return f"public matrix of shape {tuple(of.shape)}" if len(getattr(of, "shape", ())) == 2 else of

    return {"recipe": recipe.name, **{f.name: value(getattr(recipe, f.name)) for f in fields(cast(Any, recipe))}}
