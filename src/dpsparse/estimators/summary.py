"""A fitted model as plain values, as a model card (`ModelCard`), and in the units of its table (`Effects`)."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtr, ndtri

from ..core import checks
from ..core.errors import DataError
from ..core.facts import Vector
from ..core.plain import Json, to_json
from ..core.regular_files import write_whole
from ..core.words import paragraph
from ..io.dictionary import TableEncoder
from ..io.dictionary.units import INTERCEPT, Contrast
from .linear import SparseLinear
from .shape_functions import names_or_none

if TYPE_CHECKING:
    import pandas as pd

    from .display import StatementMixin
    from .intervals import Intervals


WITHIN_BOUNDS = (
    "Coefficients hold for values within the declared bounds; values outside are clipped to them, "
    "in the fit and in every prediction."
)
NO_BOUNDS = (
    "This model does not keep the bounds of its fit (it was saved by an earlier release): the fit clipped values to "
    "them, and predictions take values as they come. Predictions for values outside the bounds are extrapolations; "
    "fit again to have such values clipped."
)


def shown_model(model: object) -> Any:
    """The model that is shown: that of a search, the last step of a pipeline, or itself."""
    found = getattr(model, "best_estimator_", model)
    return found.steps[-1][1] if hasattr(found, "steps") else found


def linear_of(model: object) -> SparseLinear:
    """The linear model inside of the one that is shown: a survival model holds one."""
    found = shown_model(model)
    found = getattr(found, "model_", found)
    if not isinstance(found, SparseLinear):
        raise DataError(f"a model of dpsparse is needed, and this is a {type(found).__name__}.")
    return found


def summary(model: SparseLinear) -> dict[str, Any]:
    """A fitted model as plain values."""
    coef = np.atleast_2d(model.coef_)
    names = names_or_none(model)
    classes = vars(model).get("classes_")
    selected = []
    for j in model.support_:
        values = coef[:, j].tolist()
        selected.append(
            {
                "feature": int(j) if names is None else str(names[j]),
                "index": int(j),
                "coefficient": values[0] if len(values) == 1 else values,
                **({"hazard_ratio": float(np.exp(values[0]))} if survives(model) else {}),
            }
        )
    return {
        "recipe": model.statement_.recipe,
        "n_features": int(model.n_features_in_),
        "classes": None if classes is None else classes.tolist(),
        "intercept": _scalar(np.asarray(model.intercept_).ravel().tolist()),
        "selected": selected,
        "bounds": to_json(model.fitted_bounds),
        "statement": model.statement_.to_dict(),
        **({"intervals": model.intervals_.records()} if has_intervals(model) else {}),
        **({"baseline": to_json(vars(model.baseline_))} if survives(model) else {}),
        **({"shapes": [to_json(shape) for shape in model.shapes_]} if model.basis_ is not None else {}),
        **({"in_units": effects_of(model).records()} if keeps_dictionary(model) else {}),
    }


def about_bounds(model: SparseLinear) -> str:
    """For which rows the coefficients hold, in a sentence or two."""
    if model.fitted_bounds is None:
        return NO_BOUNDS
    regression = (
        ""
        if "classes_" in vars(model) or survives(model)
        else " Predictions stay within the declared range of the target."
    )
    return WITHIN_BOUNDS + regression


def _scalar(values: list[float]) -> float | list[float]:
    return values[0] if len(values) == 1 else values


def keeps_dictionary(model: SparseLinear) -> bool:
    """Whether a model knows the units of the table that it was fitted on."""
    return "dictionary_" in vars(model)


def survives(model: SparseLinear) -> bool:
    """Whether it is a survival model: coefficients are log hazard ratios."""
    return "baseline_" in vars(model)


def has_intervals(model: SparseLinear) -> bool:
    """Whether a model was fitted with intervals."""
    return "intervals_" in vars(model)


def line_coefficients(model: SparseLinear, coef: Vector) -> Vector:
    """Coefficients by column, zero for columns that are curves."""
    basis = model.basis_
    if basis is None:
        return coef
    found = np.zeros((*coef.shape[:-1], basis.n_features))
    found[..., basis.lines] = coef[..., basis.starts[basis.lines]]
    return found


#: What a person has to answer, since no software can.
OPEN = (
    "What is the model for, and what must it not be used for?",
    "Who are the people in the data, and how were they chosen?",
    "Has each person in the data only one unit of privacy, as stated above? A person with several is protected less.",
    "Who decided about the bounds and the budget, and when?",
    "How well does the model predict on held-out data (dpsparse score), for each group of people?",
)
#: On which scale a card gives coefficients of a table.
ENCODED = (
    "On the scale of encoded rows: bounds of numbers and dates are -1 and 1, labels are 0 or 1. `dpsparse show` prints "
    "them in the units of the table."
)
#: Coefficients that a card lists; the model file has all of them.
MOST_COEFFICIENTS = 50


@dataclass(frozen=True)
class ModelCard:
    """A model card. Prints as Markdown; everything in it may be published.

    Attributes
    ----------
    content : dict
        Plain values, in the order in which the card shows them.
    """

    content: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, which JSON can hold."""
        return dict(self.content)

    def markdown(self) -> str:
        """The card with the front matter of model hubs, in Markdown."""
        c = self.content
        privacy = c["privacy"]
        tags = ["differential-privacy", "sparse", c["task"], "tabular"]
        lines = ["---", "library_name: dpsparse", "tags:", *(f"- {tag}" for tag in tags), "---", "", f"# {c['name']}"]
        lines += ["", f"A {c['task']} model with {c['coefficients_used']} of {c['n_features']} features."]
        lines += ["", "## Privacy guarantee", "", *(f"**Caveat:** {each}.\n" for each in privacy["caveats"])]
        lines += [privacy["in_words"], "", "| | |", "|---|---|"]
        facts = ("private", "epsilon", "delta", "adjacency", "unit", "attacker_success", "recipe", "loss", "accountant")
        lines += [f"| {name.replace('_', ' ')} | {_shown(privacy[name])} |" for name in facts]
        lines += _section("Assumptions of the guarantee", privacy["assumptions"])
        lines += _section("Choices made, and what was measured", privacy["notes"])
        lines += ["", "## Inputs", "", c["about_bounds"], ""]
        if c["columns"]:
            lines += ["| column | role | kind | allowed values | unit |", "|---|---|---|---|---|"]
            lines += [f"| {' | '.join(_cells(column))} |" for column in c["columns"]]
        lines += ["", "## Coefficients", "", *([ENCODED, ""] if c["columns"] else [])]
        names = {"coefficient": "coefficient"}
        if c["task"] == "survival":
            names = {"coefficient": "log hazard ratio", "hazard_ratio": "hazard ratio"}
        lines += [f"| feature | {' | '.join(names.values())} |", "|---" * (1 + len(names)) + "|"]
        rows = [*c["coefficients"], {"feature": "(intercept)", "coefficient": c["intercept"], "hazard_ratio": ""}]
        lines += [f"| {_text(row['feature'])} | {' | '.join(_shown(row[name]) for name in names)} |" for row in rows]
        hidden = c["coefficients_used"] - len(c["coefficients"])
        lines += [f"\n{hidden} more are in the model file."] * (hidden > 0)
        lines += _section("To be answered by a person before release", c["open_questions"])
        lines += _section("Software", [f"{name} {version}" for name, version in c["versions"].items()])
        return "\n".join(lines) + "\n"

    def save(self, path: str | PathLike[str]) -> None:
        """Write Markdown, or JSON where the name ends with ``.json``; the file appears whole or not at all."""
        as_json = Path(path).suffix.lower() == ".json"
        text = json.dumps(self.content, indent=2, allow_nan=False) + "\n" if as_json else self.markdown()
        write_whole(Path(path), text)

    def __str__(self) -> str:
        return self.markdown()


def card_of(fitted: StatementMixin) -> ModelCard:
    """The card of a fitted estimator, private pipeline or private search."""
    model, statement = fitted._shown_model(), vars(fitted)["statement_"]
    held = summary(model)
    selected = sorted(held["selected"], key=lambda row: -_size(row["coefficient"]))
    kept = ("private", "epsilon", "delta", "rho", "mu", "adjacency", "unit", "recipe", "loss", "n_rows", "accountant")
    stated = statement.to_dict()
    privacy = {
        "in_words": paragraph(statement),
        **{name: stated[name] for name in kept},
        "attacker_success": statement.attacker_success,
        **{name: list(stated[name]) for name in ("assumptions", "caveats", "notes")},
        "ledger": stated["ledger"],
    }
    columns = model.dictionary_.to_dict()["columns"] if keeps_dictionary(model) else []
    content = {
        "format": "dpsparse-card",
        "version": 1,
        "name": f"{type(model).__name__} by dpsparse",
        "task": _task(model),
        "classes": held["classes"],
        "n_features": held["n_features"],
        "privacy": privacy,
        "about_bounds": about_bounds(model),
        "bounds": held["bounds"],
        "columns": columns,
        "intercept": held["intercept"],
        "coefficients_used": len(selected),
        "coefficients": selected[:MOST_COEFFICIENTS],
        "open_questions": list(OPEN),
        "versions": dict(statement.versions),
    }
    plain = to_json(content)
    assert isinstance(plain, dict)
    return ModelCard(plain)


def _task(model: SparseLinear) -> str:
    if survives(model):
        return "survival"
    return "classification" if "classes_" in vars(model) else "regression"


def _size(coefficient: float | list[float]) -> float:
    return max(map(abs, coefficient)) if isinstance(coefficient, list) else abs(coefficient)


def _section(title: str, lines: list[str]) -> list[str]:
    return ["", f"## {title}", "", *(f"- {_text(line)}" for line in lines)] if lines else []


def _cells(column: dict[str, Any]) -> list[str]:
    allowed = column.get("categories") or column.get("bounds") or ""
    said = ", ".join(map(str, allowed)) if isinstance(allowed, list) else str(allowed)
    kind = column.get("kind") or ""
    return [_text(str(v)) for v in (column["name"], column.get("role", "feature"), kind, said, column.get("unit", ""))]


def _text(text: object) -> str:
    """A text in a cell of a table: bars and line ends would end the cell."""
    return str(text).replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")


def _shown(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(_shown, value))
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "not stated"}[value]
    return f"{value:.4g}" if isinstance(value, float) and math.isfinite(value) else _text(value)


# ------------------------------------------------------------------------------------------------ units of the table


@dataclass(frozen=True)
class Effect:
    """One result.

    Attributes
    ----------
    column, level, reference, unit : str
        What it is about, such as sex, m, f and nothing; or age, nothing, nothing and per year.
    coefficient : float or tuple of float
        What one unit more, or this level instead of the reference, adds to the prediction of a
        regression, or to the log-odds; one for each class where there are more than two.
    odds_ratio : float, tuple of float or None
        Its exponential, for classifiers.
    hazard_ratio : float or None
        Its exponential, for survival models.
    low, high, p : float or None
        Ends of the interval of the coefficient, and the p-value of zero, where the model has intervals.
    """

    column: str
    level: str
    reference: str
    unit: str
    coefficient: float | tuple[float, ...]
    odds_ratio: float | tuple[float, ...] | None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    hazard_ratio: float | None = None


class Effects(Sequence[Effect]):
    """All results of a model that are not zero, the intercept last. Prints as one table.

    Parameters
    ----------
    rows : sequence of (Contrast, Effect)
    classes : sequence or None
        Classes of a classifier.
    level : float or None
        Of the intervals; None: there is no interval.
    hazards : bool
        Whether coefficients are log hazard ratios.
    """

    def __init__(
        self,
        rows: Sequence[tuple[Contrast, Effect]],
        classes: Sequence[object] | None,
        level: float | None,
        hazards: bool = False,
    ) -> None:
        self._rows, self._classes, self.level, self._hazards = tuple(rows), classes, level, hazards

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, place: Any) -> Any:
        found = self._rows[place]
        return tuple(effect for _, effect in found) if isinstance(place, slice) else found[1]

    def records(self) -> list[dict[str, Json]]:
        """A dictionary for each result, by the names of `Effect`."""
        return [asdict(effect) for effect in self]

    def to_frame(self) -> pd.DataFrame:
        """A pandas data frame with a row for each result."""
        import pandas as pd

        return pd.DataFrame(self.records())

    def __str__(self) -> str:
        classes = self._classes
        heads = ["log-odds" if classes is not None else "coefficient"]
        if self._hazards:
            heads = ["log hazard ratio", "hazard ratio"]
        if classes is not None and len(classes) == 2:
            heads.append("odds ratio")
        elif classes is not None:
            heads = [f"log-odds of {name}" for name in classes]
        if self.level is not None:
            heads += [f"{100 * self.level:g} % interval{' of the odds ratio' if classes is not None else ''}", "p"]
        table = [["", "", *heads], *(self._line(contrast, effect) for contrast, effect in self._rows)]
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = [
            "  "
            + "  ".join(c.ljust(w) if i < 2 else c.rjust(w) for i, (c, w) in enumerate(zip(line, widths, strict=True)))
            for line in table
        ]
        return "\n".join(["In the units of the table:", *(line.rstrip() for line in lines)])

    def _line(self, contrast: Contrast, effect: Effect) -> list[str]:
        values = effect.coefficient if isinstance(effect.coefficient, tuple) else (effect.coefficient,)
        cells = [contrast.name, effect.unit, *(f"{value:.4g}" for value in values)]
        ratio = isinstance(effect.odds_ratio, float)
        if ratio:
            cells.append(f"{effect.odds_ratio:.4g}" if contrast.column != INTERCEPT else "")
        if self._hazards:
            cells.append("" if effect.hazard_ratio is None else f"{effect.hazard_ratio:.4g}")
        if self.level is not None:
            if effect.low is None or effect.high is None or (ratio and contrast.column == INTERCEPT):
                return [*cells, "", ""]
            ends = np.exp([effect.low, effect.high]) if ratio else np.array([effect.low, effect.high])
            cells += [f"{ends[0]:.4g} to {ends[1]:.4g}", f"{effect.p:.3f}"]
        return cells


def effects_of(model: SparseLinear, level: float = 0.95) -> Effects:
    """The results of a model that keeps a dictionary.

    Results are linear in the coefficients, so their covariance follows from that of the
    coefficients. Where a category or its reference was not selected its coefficient is 0.
    """
    level = checks.fraction(level, "level")
    intervals, width = vars(model).get("intervals_"), model.n_features_in_
    theta, covariance = _coefficients(model, intervals)
    used, hazards = np.any(theta != 0, axis=0), "baseline_" in vars(model)
    used[-1] = True
    rows = []
    for contrast in TableEncoder(model.dictionary_).contrasts():
        weights = contrast.weights
        if contrast.column != INTERCEPT and not np.any(used[:width] & (weights[:width] != 0)):
            continue
        values = theta @ weights
        classes = "classes_" in vars(model)
        low = high = p = None
        if covariance is not None:
            error = float(np.sqrt(max(weights @ covariance @ weights, 0.0)))
            off = -ndtri((1 - level) / 2) * error
            low, high = float(values[0] - off), float(values[0] + off)
            p = float(2 * ndtr(-abs(values[0]) / error)) if error else float(values[0] == 0)
        with np.errstate(over="ignore"):
            odds = _number(np.exp(values)) if classes else None
        ratio = float(np.exp(values[0])) if hazards and contrast.column != INTERCEPT else None
        about = contrast.column, contrast.level, contrast.reference, contrast.unit
        rows.append((contrast, Effect(*about, _number(values), odds, low, high, p, ratio)))
    labels = model.classes_.tolist() if "classes_" in vars(model) else None
    return Effects(rows, labels, None if covariance is None else level, hazards)


def _coefficients(model: SparseLinear, intervals: Intervals | None) -> tuple[Vector, Vector | None]:
    """Coefficients by column with the intercept last, zero for curves; their covariance where there are intervals."""
    theta = np.column_stack([np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_)])
    covariance, terms = None, theta.shape[1] - 1
    if intervals:  # without a selected feature there is no interval, and the intercept is the model's
        places = [*intervals.columns, *([terms] if len(intervals) > len(intervals.columns) else [])]
        theta, covariance = np.zeros((1, terms + 1)), np.zeros((terms + 1, terms + 1))
        theta[0, places] = intervals.estimate
        covariance[np.ix_(places, places)] = intervals.covariance
    basis = model.basis_
    if basis is None:
        return theta, covariance
    lines, width = basis.lines, basis.n_features
    kept, at = [*basis.starts[lines], terms], [*lines, width]
    by_column = np.zeros((theta.shape[0], width + 1))
    by_column[:, at] = theta[:, kept]
    if covariance is not None:
        whole = np.zeros((width + 1, width + 1))
        whole[np.ix_(at, at)] = covariance[np.ix_(kept, kept)]
        covariance = whole
    return by_column, covariance


def _number(values: Vector) -> float | tuple[float, ...]:
    return float(values[0]) if values.size == 1 else tuple(values.tolist())
