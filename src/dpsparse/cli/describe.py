"""A fitted model as a person reads it, and as a machine does."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..core import Statement
    from ..estimators.linear import SparseLinear


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
    from ..estimators.summary import about_bounds, summary

    content = summary(model)
    selected = content["selected"]
    several = isinstance(content["intercept"], list)
    whole = int(model.coef_.shape[-1])
    terms = "" if whole == content["n_features"] else f" terms of {content['n_features']}"
    head = f"{len(selected)} of {whole}{terms} features selected"
    lines = [head + (f"; one column for each of {content['classes']}:" if several else ":")]
    width = max([len(str(f["feature"])) for f in selected] + [len("intercept")])
    rows = [(f["feature"], f["coefficient"]) for f in selected] + [("intercept", content["intercept"])]
    for name, value in rows:
        values = value if isinstance(value, list) else [value]
        lines.append(f"  {name!s:<{width}} " + " ".join(f"{v:12.6g}" for v in values))
    lines.append(about_bounds(model))
    return "\n".join(lines)


def print_model(model: SparseLinear) -> str:
    """The statement, caveats first, and the selected features with their coefficients.

    Coefficients are in the units of the table where these are known.
    """
    from ..estimators.summary import has_intervals, in_units, keeps_dictionary

    parts = [brief(model.statement_), describe_features(model)]
    parts += [str(shape) for shape in model.shapes_]
    if has_intervals(model):
        parts.append(model.intervals_.summary())
    if keeps_dictionary(model):
        parts += ["In the units of the table:", *(f"  {effect}" for effect in in_units(model))]
    return "\n".join(parts)
