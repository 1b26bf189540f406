"""A fitted model as a person reads it, and as a machine does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..estimators.linear import SparseLinear
    from ..privacy import Statement
    from ..tables import Effect


def brief(statement: Statement, most: int = 6) -> str:
    """A statement with at most so many of its asks; a schedule makes them many, and the saved model has them all."""
    lines = statement.details().splitlines()
    asks = [i for i, line in enumerate(lines) if line.startswith("  - ")]
    if len(asks) > most:
        hidden = asks[most:]
        lines[hidden[0]] = f"  - {len(hidden)} {'more ' if most else ''}noisy answers, listed in the saved model"
        lines = [line for i, line in enumerate(lines) if i not in hidden[1:]]
    return "\n".join(lines)


def summary(model: SparseLinear) -> dict[str, Any]:
    """A fitted model as plain values."""
    import numpy as np

    coef = np.atleast_2d(model.coef_)
    names = vars(model).get("feature_names_in_")
    classes = vars(model).get("classes_")
    selected = []
    for j in model.support_:
        values = coef[:, j].tolist()
        selected.append(
            {
                "feature": int(j) if names is None else str(names[j]),
                "index": int(j),
                "coefficient": values[0] if len(values) == 1 else values,
            }
        )
    return {
        "recipe": model.statement_.recipe,
        "n_features": int(model.n_features_in_),
        "classes": None if classes is None else classes.tolist(),
        "intercept": _scalar(np.asarray(model.intercept_).ravel().tolist()),
        "selected": selected,
        "statement": model.statement_.to_dict(),
        **({"intervals": model.intervals_.records()} if has_intervals(model) else {}),
        **({"in_units": [vars(effect) for effect in in_units(model)]} if keeps_dictionary(model) else {}),
    }


def _scalar(values: list[float]) -> float | list[float]:
    return values[0] if len(values) == 1 else values


def describe_features(model: SparseLinear) -> str:
    """The selected features of a model and their coefficients, as a table."""
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
    return "\n".join(lines)


def keeps_dictionary(model: SparseLinear) -> bool:
    """Whether a model knows the units of the table that it was fitted on."""
    return "dictionary_" in vars(model)


def has_intervals(model: SparseLinear) -> bool:
    """Whether a model was fitted with intervals."""
    return "intervals_" in vars(model)


def in_units(model: SparseLinear) -> tuple[Effect, ...]:
    """Coefficients of a model in the units of its dictionary; those that are zero are left out."""
    import numpy as np

    from ..tables import TableEncoder
    from ..tables.units import INTERCEPT

    found = TableEncoder(model.dictionary_).decode(model.coef_, model.intercept_)
    return tuple(effect for effect in found if effect.column == INTERCEPT or np.any(effect.coefficient))


def describe(model: SparseLinear) -> str:
    """The statement, caveats first, the selected features, and their coefficients in the units of the table where they are known."""
    parts = [brief(model.statement_), describe_features(model)]
    if has_intervals(model):
        parts.append(model.intervals_.summary())
    if keeps_dictionary(model):
        parts += ["In the units of the table:", *(f"  {effect}" for effect in in_units(model))]
    return "\n".join(parts)
