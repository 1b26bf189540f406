"""A fitted model as a person reads it, and as a machine does."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..core import Statement
    from ..estimators.linear import SparseLinear
    from ..io.dictionary import UnitEffect


def brief(statement: Statement, most: int = 6) -> str:
    """A statement with at most so many of its asks; a schedule makes them many, and the saved model has them all."""
    lines = statement.details().splitlines()
    asks = [i for i, line in enumerate(lines) if line.startswith("  - ")]
    if len(asks) > most:
        hidden = asks[most:]
        lines[hidden[0]] = f"  - {len(hidden)} {'more ' if most else ''}noisy answers, listed in the saved model"
        lines = [line for i, line in enumerate(lines) if i not in hidden[1:]]
    return "\n".join(lines)


def describe_features(model: SparseLinear) -> str:
    """The selected features of a model and their coefficients, as a table."""
    from ..estimators.summary import about_bounds, keeps_dictionary, summary, survives

    content = summary(model)
    selected = content["selected"]
    several = isinstance(content["intercept"], list)
    head = f"{len(selected)} of {content['n_features']} features selected"
    lines = [head + (f"; one column for each of {content['classes']}:" if several else ":")]
    width = max([len(str(f["feature"])) for f in selected] + [len("intercept")])
    rows = [(f["feature"], f["coefficient"]) for f in selected] + [("intercept", content["intercept"])]
    for name, value in rows:
        values = value if isinstance(value, list) else [value]
        lines.append(f"  {name!s:<{width}} " + " ".join(f"{v:12.6g}" for v in values))
    if survives(model) and not keeps_dictionary(model):
        lines[1:1] = ["  log hazard ratios for one unit; no intervals are offered for them"]
        lines.append("Hazard ratios for one unit:")
        lines += [f"  {f['feature']!s:<{width}} {f['hazard_ratio']:12.6g}" for f in selected]
    lines.append(about_bounds(model))
    return "\n".join(lines)


def print_model(model: SparseLinear) -> str:
    """The statement, caveats first, and the selected features with their coefficients.

    Coefficients are in the units of the table where these are known.
    """
    from ..estimators.summary import has_intervals, in_units, keeps_dictionary

    parts = [brief(model.statement_), describe_features(model)]
    if has_intervals(model):
        parts.append(model.intervals_.summary())
    if keeps_dictionary(model):
        parts += ["In the units of the table:", *(f"  {effect}{_ratio(model, effect)}" for effect in in_units(model))]
    return "\n".join(parts)


def _ratio(model: SparseLinear, effect: UnitEffect) -> str:
    """The hazard ratio of a log hazard ratio, of a survival model."""
    from math import exp

    from ..estimators.summary import survives
    from ..io.dictionary.units import INTERCEPT

    if not survives(model) or effect.column == INTERCEPT or not isinstance(effect.coefficient, float):
        return ""
    return f" (hazard ratio {exp(effect.coefficient):.4g})"
