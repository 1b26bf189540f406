"""``dpsparse show``: what a saved model holds and guarantees, as a person reads it, and as a machine does."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from .exits import NoPromise, Refusal
from .options import command
from .output import echo, print_json

if TYPE_CHECKING:
    from ..core import Statement
    from ..estimators.linear import SparseLinear

#: Lines of a screen, of which the caller prints a few itself.
SCREEN, LEFT = 40, 4
#: Rows of a list that are shown however long the rest is.
LEAST = 3


def brief(statement: Statement, most: int = 6) -> str:
    """A statement with at most `most` of its asks; a schedule makes them many, and the saved model has them all."""
    from ..core.printable import count_of

    lines = statement.details().splitlines()
    asks = [i for i, line in enumerate(lines) if line.startswith("  - ")]
    if len(asks) > most:
        hidden = asks[most:]
        answers = count_of(len(hidden), f"{'more ' if most else ''}noisy answer")
        lines[hidden[0]] = f"  - {answers}, listed in the saved model"
        lines = [line for i, line in enumerate(lines) if i not in hidden[1:]]
    return "\n".join(lines)


def first_rows(rows: list[str], most: int) -> list[str]:
    """The first of many rows, and how many follow."""
    if len(rows) <= max(most, LEAST):
        return rows
    shown = max(most - 1, LEAST)
    return [*rows[:shown], f"  and {len(rows) - shown} more: dpsparse show MODEL --details lists them"]


def describe_features(model: SparseLinear, most: int | None = None) -> str:
    """The selected features of a model and their coefficients, as a table; the `most` largest of them."""
    from ..estimators.summary import about_bounds, keeps_dictionary, summary, survives

    content = summary(model)
    selected = content["selected"]
    several = isinstance(content["intercept"], list)
    whole = int(model.coef_.shape[-1])
    terms = "" if whole == content["n_features"] else f" terms of {content['n_features']}"
    head = f"{len(selected)} of {whole}{terms} features selected"
    if most is not None and len(selected) > max(most, LEAST):
        head += ", the largest coefficients first"
        selected = sorted(selected, key=_size, reverse=True)
    lines = [head + (f"; one column for each of {content['classes']}:" if several else ":")]
    width = max([len(str(f["feature"])) for f in selected] + [len("intercept")])

    def row(name: object, value: object) -> str:
        values = value if isinstance(value, list) else [value]
        return f"  {name!s:<{width}} " + " ".join(f"{v:12.6g}" for v in values)

    rows = [row(f["feature"], f["coefficient"]) for f in selected]
    lines += [*(rows if most is None else first_rows(rows, most)), row("intercept", content["intercept"])]
    if survives(model) and not keeps_dictionary(model):
        lines[1:1] = ["  log hazard ratios for one unit; no intervals are offered for them"]
        lines.append("Hazard ratios for one unit:")
        ratios = [f"  {f['feature']!s:<{width}} {f['hazard_ratio']:12.6g}" for f in selected]
        lines += ratios if most is None else first_rows(ratios, most)
    lines.append(about_bounds(model))
    return "\n".join(lines)


def _size(selected: dict[str, Any]) -> float:
    value = selected["coefficient"]
    return float(max(map(abs, value)) if isinstance(value, list) else abs(value))


def print_model(model: SparseLinear, details: bool = False, statement: Statement | None = None) -> str:
    """The statement, caveats first, and the selected features with their coefficients.

    Coefficients are in the units of the table where these are known. Without `details` it fits on
    one screen: answers are counted, and of long lists the first rows are shown. `statement` is that
    of the pipeline or search around the model, if there is one.
    """
    from ..estimators.intervals import meaning
    from ..estimators.summary import about_bounds, effects_of, has_intervals, keeps_dictionary

    statement = statement or model.statement_
    said = statement.details() if details else brief(statement, most=0)
    table, words = [], [line for shape in model.shapes_ for line in str(shape).splitlines()]
    if keeps_dictionary(model):
        table, words = str(effects_of(model)).splitlines(), [*words, *about_bounds(model).splitlines()]
        words += meaning(model.intervals_) if has_intervals(model) else []
    elif has_intervals(model):
        table = model.intervals_.summary().splitlines()
    left = None if details else SCREEN - LEFT - len(said.splitlines()) - len(words)
    if keeps_dictionary(model):
        return "\n".join([said, *(table if left is None else first_rows(table, left)), *words])
    if left is None:
        return "\n".join([said, describe_features(model), *words, *table])
    table = first_rows(table, left // 2)
    return "\n".join([said, describe_features(model, left - len(table) - 3), *words, *table])  # head, intercept, bounds


@command()
def show(model: Path, *, details: bool = False, json_: bool = False) -> None:
    """Print the statement of the saved MODEL, pipeline or search, caveats first, its coefficients, its digest and the \
entry of a ledger that paid for it.

    Says first if the file was edited after it was saved, and then exits with 2; and if the model
    carries no guarantee (a seed, a plan without a proof, a baseline), and then exits with 7. Prints at
    most one screen; --details prints everything.

    \b
    Examples:
      dpsparse show model.json
      dpsparse show model.json --details

    Parameters
    ----------
    details
        All coefficients, every noisy answer, and no limit of one screen.
    """  # noqa: D205
    from .. import load
    from ..core.errors import ModelEditedError
    from ..estimators.files import digest_in
    from ..estimators.summary import shown_model, summary

    edited = None
    try:
        fitted = load(model)
    except ModelEditedError as error:
        edited = str(error)
        fitted = load(model, edited=True)
    statement, inner = fitted.statement_, shown_model(fitted)
    digest, record = digest_in(model), statement.ledger
    if json_:
        content = {"edited": edited is not None, "private": statement.private, **summary(inner)}
        print_json({**content, "statement": statement.to_dict(), "digest": digest, "ledger": record})
    else:
        echo(print_model(inner, details, statement))
        echo(f"Digest: {'none' if digest is None else digest}{'' if edited is None else ', which does not fit'}")
        echo("Ledger: none was charged" if record is None else "Ledger:")
        for name, value in (record or {}).items():
            echo(f"  {name}: {value}")
    if edited is not None:
        raise Refusal(edited)
    if not statement.private:
        raise NoPromise(f"{model} carries no guarantee for anyone in the data; its caveats say why.")
