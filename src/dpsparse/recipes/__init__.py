"""One short file per algorithm of a paper, and the registry that names them."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

from .base import Recipe
from .dp_ight import DPIGHT
from .ight import IGHT

#: Every recipe, by the name that users give in ``recipe=``.
REGISTRY: dict[str, type[Any]] = {cls.name: cls for cls in (IGHT, DPIGHT)}

#: Other names of the same recipes.
ALIASES: dict[str, str] = {"auto": "dp_ight"}


def names() -> list[str]:
    """Names that ``recipe=`` takes.

    >>> "dp_ight" in names()
    True
    """
    return sorted([*REGISTRY, *ALIASES])


def get(name: str) -> type[Any]:
    """The class of a recipe.

    >>> get("dp_ight").__name__
    'DPIGHT'
    """
    known = ALIASES.get(name, name)
    if not isinstance(name, str) or known not in REGISTRY:
        raise ValueError(f"unknown recipe {name!r}. Choose one of: {', '.join(names())}.")
    return REGISTRY[known]


def make(recipe: Any) -> Recipe:
    """A recipe object from a name or an object."""
    if isinstance(recipe, str):
        return get(recipe)()  # type: ignore[no-any-return]
    if type(recipe) in REGISTRY.values() or (
        is_dataclass(recipe) and isinstance(getattr(type(recipe), "name", None), str)
    ):
        return recipe  # type: ignore[no-any-return]
    raise TypeError(f"recipe must be a name from recipes.names() or a recipe object, got {type(recipe).__name__}.")


def describe(name: str) -> str:
    """What a recipe does, its guarantee and where it deviates from its paper: its docstring."""
    import inspect

    return inspect.cleandoc(get(name).__doc__ or "")


def settings(recipe: Recipe) -> dict[str, Any]:
    """A recipe as plain values: its name and fields."""
    return {"recipe": recipe.name, **{f.name: getattr(recipe, f.name) for f in fields(recipe)}}  # type: ignore[arg-type]


__all__ = ["ALIASES", "DPIGHT", "IGHT", "REGISTRY", "Recipe", "describe", "get", "make", "names", "settings"]
