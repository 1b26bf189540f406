"""One short file per algorithm of a paper, and the registry that names them."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

from .auto import Auto
from .base import Recipe, caveats_of
from .dp_cd import DPCD
from .dp_frank_wolfe import DPFrankWolfe
from .dp_gcd import DPGCD
from .dp_ight import DPIGHT
from .dp_scsg_ht import DPSCSGHT
from .dp_sgd import DPSGD
from .dp_sgd_ht import DPSGDHT
from .dp_svrg_ht import DPSVRGHT
from .dpsl_kt import DPSLKT
from .dpsl_kt_published import DPSLKTPublished
from .dual_averaging import DualAveraging
from .gcd import GCD
from .ight import IGHT
from .label_ldp_iht import LabelLDPIHT
from .label_ldp_lasso import LabelLDPLasso
from .lasso import Lasso
from .lazy_iht import LazyIHT
from .ldp_iht import LDPIHT
from .ldp_moment import LDPMoment
from .scsg_ht import SCSGHT, SVRGHT
from .select_polish import SelectPolish
from .sgd_ht import SGDHT
from .two_stage import TwoStage

#: Every recipe, by the name that users give in ``recipe=``.
REGISTRY: dict[str, type[Any]] = {
    cls.name: cls
    for cls in (
        IGHT,
        DPIGHT,
        GCD,
        DPGCD,
        DPCD,
        DualAveraging,
        LazyIHT,
        SelectPolish,
        TwoStage,
        DPSLKT,
        DPSLKTPublished,
        DPSGD,
        DPSGDHT,
        DPSCSGHT,
        DPSVRGHT,
        DPFrankWolfe,
        LDPIHT,
        LDPMoment,
        LabelLDPIHT,
        LabelLDPLasso,
        SGDHT,
        SCSGHT,
        SVRGHT,
        Lasso,
    )
}

#: Other names of the same recipes.
ALIASES: dict[str, str] = {"dp_gd_ht": "dp_ight"}

#: Rules that pick a recipe by public facts.
RULES: dict[str, type[Any]] = {Auto.name: Auto}


def names() -> list[str]:
    """Names that ``recipe=`` takes.

    >>> "dp_ight" in names()
    True
    """
    return sorted([*REGISTRY, *ALIASES, *RULES])


def get(name: str) -> type[Any]:
    """The class of a recipe.

    >>> get("dp_ight").__name__
    'DPIGHT'
    """
    every = REGISTRY | RULES
    known = ALIASES.get(name, name)
    if not isinstance(name, str) or known not in every:
        raise ValueError(f"unknown recipe {name!r}. Choose one of: {', '.join(names())}.")
    return every[known]


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
    """A recipe as plain values: its name and fields. A public matrix is named and not held."""

    def value(of: Any) -> Any:
        return f"public matrix of shape {tuple(of.shape)}" if len(getattr(of, "shape", ())) == 2 else of

    return {"recipe": recipe.name, **{f.name: value(getattr(recipe, f.name)) for f in fields(recipe)}}  # type: ignore[arg-type]


__all__ = [
    "ALIASES",
    "Auto",
    "DPCD",
    "DPFrankWolfe",
    "DPGCD",
    "DPIGHT",
    "DPSCSGHT",
    "DPSGD",
    "DPSGDHT",
    "DPSLKT",
    "DPSLKTPublished",
    "DPSVRGHT",
    "DualAveraging",
    "GCD",
    "IGHT",
    "LDPIHT",
    "LDPMoment",
    "LabelLDPIHT",
    "LabelLDPLasso",
    "Lasso",
    "LazyIHT",
    "REGISTRY",
    "RULES",
    "Recipe",
    "SCSGHT",
    "SGDHT",
    "SVRGHT",
    "SelectPolish",
    "TwoStage",
    "caveats_of",
    "describe",
    "get",
    "make",
    "names",
    "settings",
]
