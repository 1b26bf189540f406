"""A fitted model as plain values, in the units of its table, and as a model card (`ModelCard`)."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.errors import DataError
from ..core.facts import Vector
from ..core.plain import to_json
from ..core.regular_files import write_whole
from ..core.words import paragraph
from .effects import Effects, effects_of
from .linear import SparseLinear
from .shape_functions import names_or_none

if TYPE_CHECKING:
    from .display import StatementMixin

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
        **({"in_units": in_units(model).records()} if keeps_dictionary(model) else {}),
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


def in_units(model: SparseLinear, level: float = 0.95) -> Effects:
    """Results of a model in the units of its dictionary; those that are zero are left out."""
    return effects_of(model, level)


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
