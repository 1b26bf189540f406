"""A study of a user's own recipes on a user's own data, scored on held-out rows.

Scores say how wrong predictions are, and whether predicted probabilities are calibrated. Error and AUC do not
change when every log-odds is doubled; deviance, slope and shift do.

* **deviance**: the log-loss over that of predicting the class shares; for numbers, the mean squared error over the
  variance. 1 is the constant.
* **slope**: of the truth on the predicted log-odds (for numbers, on the prediction). 1 is right,
  below 1 predictions are too extreme.
* **shift**: the mean predicted probability less the class share; for numbers, the mean prediction less the mean, over
  the standard deviation. 0 is right.

For more than two classes, slope and AUC are pooled over one class against the others, and the shift is the largest.
"""

from __future__ import annotations

import hashlib
import math
import runpy
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import recipes
from ...core import DataError
from ...estimators import SparseClassifier, SparseRegressor
from ...io.files import Table, read_table
from ...recipes import Recipe, registry
from .study import Cell, StudyClaim

Array = NDArray[np.float64]

#: Probabilities are held this far from 0 and 1.
EDGE = 1e-12


def number_scores(predicted: Array, truth: Array) -> dict[str, float]:
    """Deviance, slope and shift of predicted numbers.

    The slope is missing where all predictions are equal, and all of them where all true numbers are.

    >>> number_scores(np.array([0.0, 2.0, 4.0]), np.array([0.0, 1.0, 2.0]))["slope"]
    0.5
    """
    spread = float(np.std(truth))
    if spread == 0:
        return {}
    found = {
        "deviance": float(np.mean((predicted - truth) ** 2)) / spread**2,
        "shift": float(np.mean(predicted) - np.mean(truth)) / spread,
    }
    varied = float(np.var(predicted))
    if varied > EDGE * spread**2:
        found["slope"] = float(np.mean((predicted - predicted.mean()) * (truth - truth.mean()))) / varied
    return found


def class_scores(probabilities: Array, truth: NDArray[np.intp]) -> dict[str, float]:
    """Deviance, AUC, slope and shift of predicted probabilities.

    Parameters
    ----------
    probabilities : array of shape (n, classes)
        Rows add up to 1.
    truth : array of int
        The column of each row's class. Where it is always the same, nothing can be said.
    """
    p = np.clip(np.asarray(probabilities, float), EDGE, 1 - EDGE)
    shares = np.bincount(truth, minlength=p.shape[1]) / truth.size
    null = -float(np.sum(shares[shares > 0] * np.log(shares[shares > 0])))
    if null == 0:
        return {}
    loss = -float(np.mean(np.log(p[np.arange(truth.size), truth])))
    columns = [1] if p.shape[1] == 2 else [k for k in range(p.shape[1]) if 0 < shares[k] < 1]
    shifts = [float(p[:, k].mean() - shares[k]) for k in columns]
    odds = np.concatenate([np.log(p[:, k] / (1 - p[:, k])) for k in columns])
    return {
        "deviance": loss / null,
        "shift": max(shifts, key=abs),
        "auc": float(np.mean([auc(p[:, k], truth == k) for k in columns])),
        **_slope(odds, np.concatenate([truth == k for k in columns])),
    }


def auc(score: Array, positive: NDArray[np.bool_]) -> float:
    """Chance that a row of the class has the larger score than another one; ties count half.

    >>> auc(np.array([0.1, 0.4, 0.8]), np.array([False, True, True]))
    1.0
    """
    from scipy.stats import rankdata

    ranks = rankdata(score)
    p, q = int(positive.sum()), int((~positive).sum())
    return float((ranks[positive].sum() - p * (p + 1) / 2) / (p * q))


def _slope(odds: Array, positive: NDArray[np.bool_]) -> dict[str, float]:
    """The slope by logistic regression of the truth on log-odds; nothing where these are all equal."""
    from sklearn.linear_model import LogisticRegression

    spread = float(odds.std())
    if not spread > math.sqrt(EDGE):
        return {}
    fitted = LogisticRegression(C=1e6, solver="newton-cholesky").fit(odds[:, None] / spread, positive)
    return {"slope": float(fitted.coef_[0, 0]) / spread}


#: Methods that stand beside recipes: the best constant of the training rows, and scikit-learn without privacy.
CONSTANT, WITHOUT = "constant", "non-private"
#: What is measured; results of runs that measured something else are not taken for these.
SCORES = "error, AUC, log-loss, deviance, slope, shift"


def register_file(path: Path) -> list[str]:
    """Run a Python file, and return the names of the recipes that it registered.

    It is run as a module and not as a program: what stands behind ``if __name__ == "__main__":`` is left out.
    """
    if not path.is_file():
        raise DataError(f"there is no file {path}. Give the Python file that registers the recipe.")
    before = dict(registry.REGISTRY)
    try:
        runpy.run_path(str(path), run_name=path.stem)
    except Exception as error:  # whatever a file of others raises
        raise DataError(f"{path} could not be run: {type(error).__name__}: {error}") from error
    found = [name for name, kind in registry.REGISTRY.items() if before.get(name) is not kind]
    if not found:
        raise DataError(f"{path} registers no recipe. Put @dpsparse.recipes.register above the class.")
    return found


@dataclass(frozen=True)
class OwnData:
    """Recipes on one file: for each seed a split into training and test rows, and a fit at each epsilon.

    Parameters
    ----------
    data : Path
        A file that `dpsparse fit` reads.
    target : str or None
        Column of the target, where the file does not hold its own.
    methods : tuple of str
        Names of recipes. The first is compared with each other one.
    epsilons : tuple of float
    seeds : int
    task : {"classification", "regression"}
    settings : mapping
        Arguments of the estimator: bounds, delta, sparsity.
    test_part : float
        Part of the rows that is held out.
    files : tuple of Path
        Python files that registered some of the methods.
    made : mapping of str to Recipe
        Methods with fields that were set.
    """

    data: Path
    methods: tuple[str, ...]
    epsilons: tuple[float, ...]
    seeds: int
    task: str
    settings: Mapping[str, Any]
    target: str | None = None
    test_part: float = 0.25
    files: tuple[Path, ...] = ()
    made: Mapping[str, Recipe] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """A name that differs where data, settings or the files of recipes differ.

        Results of other runs are therefore not taken for these.
        """
        settings = (SCORES, self.task, self.target, self.test_part, sorted(self.settings.items()))
        chosen = sorted((method, repr(recipe)) for method, recipe in self.made.items())
        found = hashlib.sha256(repr((*settings, chosen) if chosen else settings).encode())
        for path in (self.data, *self.files):
            found.update(hashlib.sha256(path.read_bytes()).digest())
        return f"own-{self.data.stem}-{found.hexdigest()[:8]}"

    @property
    def title(self) -> str:
        """What it is."""
        return f"{', '.join(self.methods)} on {self.data.name}"

    def _noise(self, method: str) -> bool:
        return method not in (CONSTANT, WITHOUT) and recipes.get(method).private

    def cells(self) -> list[Cell]:
        """Every method with every seed; those without noise once and not for each epsilon."""
        return [
            Cell(self.data.name, method, epsilon, seed)
            for seed in range(self.seeds)
            for method in (CONSTANT, WITHOUT, *self.methods)
            for epsilon in (self.epsilons if self._noise(method) else (math.inf,))
        ]

    def claims(self) -> list[StudyClaim]:
        """The first method against each other one."""
        first, *others = self.methods
        metric = "error" if self.task == "classification" else "mse"
        return [
            StudyClaim(first, other, self.data.name, epsilon, metric)
            for other in others
            if self._noise(first) and self._noise(other)
            for epsilon in self.epsilons
        ]

    def run(self, cell: Cell) -> dict[str, float]:
        """Split, fit, and measure on the rows that were held out.

        Deviance, slope and shift are explained at the top of this file; a model whose predictions are all equal
        has no slope.
        """
        table = _table(self.data, self.target)
        order = np.random.default_rng(cell.seed).permutation(table.X.shape[0])
        held = order[: max(1, round(self.test_part * order.size))]
        kept = order[held.size :]
        if table.y is None or kept.size == 0:
            raise DataError(f"{self.data} has no target, or too few rows for a split.")
        start = time.perf_counter()
        model = self._model(cell).fit(table.X[kept], table.y[kept])
        seconds = time.perf_counter() - start
        X, y = table.X[held], table.y[held]
        found = {"seconds": seconds}
        if hasattr(model, "coef_"):
            found["nonzero"] = float(np.count_nonzero(model.coef_))
        if self.task == "regression":
            predicted = np.asarray(model.predict(X), float)
            return {
                "mse": float(np.mean((predicted - y) ** 2)),
                **number_scores(predicted, np.asarray(y, float)),
                **found,
            }
        columns = {label: place for place, label in enumerate(model.classes_.tolist())}
        chances = np.asarray(model.predict_proba(X), float)
        unseen = [label for label in dict.fromkeys(y.tolist()) if label not in columns]  # they get no probability
        columns |= {label: len(columns) + place for place, label in enumerate(unseen)}
        chances = np.hstack([chances, np.zeros((len(chances), len(unseen)))])
        places = np.array([columns[label] for label in y.tolist()])
        loss = -np.log(np.clip(chances[np.arange(places.size), places], EDGE, 1.0)).mean()
        error = float(np.mean(model.predict(X) != y))
        return {"error": error, "log-loss": float(loss), **class_scores(chances, places), **found}

    def _model(self, cell: Cell) -> Any:
        from sklearn.dummy import DummyClassifier, DummyRegressor
        from sklearn.linear_model import LogisticRegression, Ridge
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import MaxAbsScaler

        classifies = self.task == "classification"
        if cell.method == CONSTANT:
            return DummyClassifier(strategy="prior") if classifies else DummyRegressor()
        if cell.method == WITHOUT:
            return make_pipeline(MaxAbsScaler(), LogisticRegression(max_iter=1000) if classifies else Ridge())
        kind = SparseClassifier if classifies else SparseRegressor
        settings = {**self.settings, "epsilon": cell.epsilon} if self._noise(cell.method) else self.settings
        return kind(recipe=self.made.get(cell.method, cell.method), random_state=cell.seed, **settings)


@lru_cache(maxsize=1)
def _table(path: Path, target: str | None) -> Table:
    return read_table(path, target, labels=True)
