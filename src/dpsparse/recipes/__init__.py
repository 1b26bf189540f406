"""One short file per algorithm of a paper, and the list that names them."""

from __future__ import annotations

from .auto import Auto
from .base import Baseline, PrivateRecipe, Recipe
from .dp_cd import DPCD
from .dp_fedgd_ht import DPFedGDHT
from .dp_fedsgd_ht import DPFedSGDHT
from .dp_frank_wolfe import DPFrankWolfe
from .dp_gcd import DPGCD
from .dp_ight import DPIGHT
from .dp_scsg_ht import DPSCSGHT
from .dp_sgd import DPSGD
from .dp_sgd_ht import DPSGDHT
from .dp_svrg_ht import DPSVRGHT
from .dpsl_kt import DPSLKT
from .dual_averaging import DualAveraging
from .fedsgd_ht import FedSGDHT
from .gcd import GCD
from .ight import IGHT
from .label_ldp_iht import LabelLDPIHT
from .label_ldp_lasso import LabelLDPLasso
from .lasso import Lasso
from .lazy_iht import LazyIHT
from .ldp_iht import LDPIHT
from .ldp_moment import LDPMoment
from .printed import AsPrinted, as_printed
from .registry import ALIASES, FORMS, REGISTRY, RULES, describe, get, make, names, needs, register, settings
from .scsg_ht import SCSGHT, SVRGHT
from .select_polish import SelectPolish
from .sgd_ht import SGDHT
from .tables import Tables
from .two_stage import TwoStage

#: Every recipe of the package: one line each.
OWN: tuple[type[Recipe], ...] = (
    IGHT,
    DPIGHT,
    GCD,
    DPGCD,
    DPCD,
    DualAveraging,
    LazyIHT,
    SelectPolish,
    Tables,
    TwoStage,
    DPSLKT,
    DPSGD,
    DPSGDHT,
    DPSCSGHT,
    DPSVRGHT,
    DPFrankWolfe,
    DPFedGDHT,
    DPFedSGDHT,
    LDPIHT,
    LDPMoment,
    LabelLDPIHT,
    LabelLDPLasso,
    SGDHT,
    SCSGHT,
    SVRGHT,
    FedSGDHT,
    Lasso,
)
for _recipe in OWN:
    register(_recipe)

RULES[Auto.name] = Auto
FORMS["paper"] = as_printed


def built_in(recipe: Recipe) -> bool:
    """Whether a recipe is one of the package: exactly, and not a subclass.

    Others are run on synthetic rows before private ones come.

    >>> built_in(DPIGHT())
    True
    """
    kind = type(recipe)
    if issubclass(kind, AsPrinted) and hasattr(kind.of, "from_theory") and kind is as_printed(kind.of):
        kind = kind.of
    return kind in OWN or kind is Auto


__all__ = [
    "ALIASES",
    "DPCD",
    "DPGCD",
    "DPIGHT",
    "DPSCSGHT",
    "DPSGD",
    "DPSGDHT",
    "DPSLKT",
    "DPSVRGHT",
    "GCD",
    "IGHT",
    "LDPIHT",
    "REGISTRY",
    "RULES",
    "SCSGHT",
    "SGDHT",
    "SVRGHT",
    "Auto",
    "Baseline",
    "DPFedGDHT",
    "DPFedSGDHT",
    "DPFrankWolfe",
    "DualAveraging",
    "FedSGDHT",
    "LDPMoment",
    "LabelLDPIHT",
    "LabelLDPLasso",
    "Lasso",
    "LazyIHT",
    "PrivateRecipe",
    "Recipe",
    "SelectPolish",
    "Tables",
    "TwoStage",
    "built_in",
    "describe",
    "get",
    "make",
    "names",
    "needs",
    "register",
    "settings",
]
