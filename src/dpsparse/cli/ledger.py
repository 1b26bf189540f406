"""``dpsparse ledger``: a durable budget that many fits on one dataset share."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from .exits import NotVerified, Refusal
from .options import Delta, Epsilon, Neighbours, command
from .output import check_file, echo, print_json, write_text

if TYPE_CHECKING:
    from ..ledger import Ledger
    from ..ledger.check import Cited, Verified


@click.group()
def ledger() -> None:
    """Open, read and check durable privacy budgets.

    ADDRESS is sqlite:///budget.db (a file beside you), sqlite:////full/path.db, or
    postgresql://user@host:port/database. Where it is left out, the environment variable
    DPSPARSE_LEDGER names it.

    \b
    Example:
      dpsparse ledger create sqlite:///budget.db trial --epsilon 3 --delta 1e-6
      dpsparse fit trial.csv --target outcome --task regression --epsilon 1 --feature-bound 0,2 \\
          --target-bound 4 --ledger sqlite:///budget.db --dataset trial
      dpsparse ledger show sqlite:///budget.db trial
    """


@command(of=ledger)
def create(
    place: tuple[str, ...] = (),
    *,
    epsilon: Epsilon,
    delta: Delta,
    adjacency: Neighbours = "replace-one",
    kind: Literal["gaussian", "renyi"] | None = None,
    unit: str | None = None,
    json_: bool = False,
) -> None:
    """Open DATASET with a total budget; makes the ledger if it does not exist, and never sets a budget anew.

    \b
    Example:
      dpsparse ledger create sqlite:///budget.db trial --epsilon 3 --delta 1e-6

    Parameters
    ----------
    place : [ADDRESS] DATASET
    epsilon
        Total that all fits together may spend.
    delta
        Total delta; well below 1/n. 0 allows pure fits only.
    kind
        How costs are counted. Default: the first fit decides.
    unit
        The word for what has one id, such as patient, if the budget protects all rows with the same id.
        Default: one row.
    """
    from .. import Ledger

    address, dataset = _place(place)
    if dataset is None:
        raise Refusal("no dataset was named. Write its name after the address.")
    book = Ledger(address)
    book.create(dataset, epsilon, delta, adjacency, kind=kind, unit=unit)
    if json_:
        print_json(_dataset(book, dataset))
    else:
        protects = "" if unit is None else f" It protects one {unit}: all rows with the same id."
        echo(f"Opened {dataset.strip()!r} with a total of {book.total(dataset)} under {adjacency}.{protects}")


@command(of=ledger)
def show(place: tuple[str, ...] = (), *, json_: bool = False) -> None:
    """Show used capacity, odometer and what is left, for one DATASET with its entries, or for all.

    Used capacity is the smallest total that would have taken the same fits. It measures the budget
    and is no guarantee: the total is. The odometer bounds what was lost so far, whenever it is read.

    \b
    Examples:
      dpsparse ledger show sqlite:///budget.db
      dpsparse ledger show sqlite:///budget.db trial --json

    Parameters
    ----------
    place : [ADDRESS] [DATASET]
    """
    from .. import Ledger

    address, dataset = _place(place)
    book = Ledger(address)
    names = book.datasets() if dataset is None else (dataset,)
    found = [_dataset(book, name, entries=dataset is not None) for name in names]
    if json_:
        print_json(found[0] if dataset is not None else {"datasets": found})
        return
    for content in found:
        echo(_text(content))


@command(of=ledger)
def export(address: str | None = None, *, out: Path | None = None, json_: bool = False) -> None:
    """Write the whole ledger as JSON, with its head: a copy to keep elsewhere.

    \b
    Example:
      dpsparse ledger export sqlite:///budget.db --out ledger.json

    Parameters
    ----------
    out
        Write a file instead of printing.
    """
    from .. import Ledger

    if out is not None:
        check_file(out)
    content = Ledger(address).export()
    if out is None:
        print_json(content)
        return
    write_text(out, json.dumps(content, indent=1) + "\n")
    print_json({"out": out, "head": content["head"]}) if json_ else echo(
        f"Saved: {out} (head {content['head']['hash']})"
    )


@command(of=ledger)
def verify(
    address: str | None = None, *, head: str | None = None, model: Path | None = None, json_: bool = False
) -> None:
    """Check the chain of hashes and compute every price again. Exit code 5 if something is wrong.

    \b
    Examples:
      dpsparse ledger verify sqlite:///budget.db --head 3f1c...
      dpsparse ledger verify sqlite:///budget.db --model model.json

    Parameters
    ----------
    head
        A hash that was kept elsewhere; it must be part of the chain.
    model
        A saved model: its entry must be in this ledger, count, and have paid for what the model states.
    """
    from .. import Ledger

    book = Ledger(address)
    cited = None if model is None else citation_in(model)
    found = book.verify(head)
    content: dict[str, Any] = {"verified": True, **_counted(found)}
    lines = [f"In order: {_in_words(found)}"]
    if cited is not None:
        entry = cited.check(book)
        content["model"] = {"dataset": entry.dataset, "entry": entry.number, "status": entry.status}
        lines.append(f"{model} was paid for by entry {entry.number} of dataset {entry.dataset!r} ({entry.status}).")
    print_json(content) if json_ else echo("\n".join(lines))


@command(of=ledger)
def upgrade(old: str, new: str, *, unfinished: bool = False, json_: bool = False) -> None:
    """Move the ledger at address OLD, of this or an earlier format, to a new one at address NEW.

    Everything that was spent stays spent, entries keep their numbers, and models of OLD are verified
    against NEW. OLD takes no entry afterwards, in no release. The same command goes on where it was
    stopped.

    \b
    Example:
      dpsparse ledger upgrade sqlite:///budget.db postgresql://ledger_owner@host/budgets

    Parameters
    ----------
    unfinished
        Although entries are reserved or started.
    """
    from .. import Ledger
    from ..ledger.upgrade import upgrade as move

    found = move(Ledger(old), Ledger(new), unfinished=unfinished)
    print_json(_counted(found)) if json_ else echo(f"Moved: {_in_words(found)}")


def _counted(found: Verified) -> dict[str, Any]:
    return {"events": found.events, "datasets": found.datasets, "head": found.head}


def _in_words(found: Verified) -> str:
    from ..core.printable import count_of

    return f"{count_of(found.events, 'event')} on {count_of(found.datasets, 'dataset')}. Head: {found.head}"


def _place(words: tuple[str, ...]) -> tuple[str | None, str | None]:
    """An address and a dataset, of which either may be missing.

    Words are not quoted: one of them may hold a password.
    """
    if len(words) > 2:
        raise Refusal("too many words were given: expected an address and the name of a dataset.")
    if len(words) == 2:
        return words[0], words[1]
    if not words or "://" in words[0]:
        return (words[0] if words else None), None
    from ..ledger.address import has_default

    return (None, words[0]) if has_default() else (words[0], None)


def _dataset(book: Ledger, name: str, entries: bool = True) -> dict[str, Any]:
    from ..core.plain import record

    state, spent = book.describe(name), book.spent(name)
    content: dict[str, Any] = {
        "dataset": name.strip(),
        "epsilon": state.epsilon,
        "delta": state.delta,
        "adjacency": str(state.adjacency),
        "kind": state.kind,
        "unit": state.unit,
        "spent": record(spent),
        "used": spent.epsilon / state.epsilon,
        "odometer": record(book.odometer(name)),
        "remaining": record(book.remaining(name)),
        "live": state.live,
        "like_the_last": book.fits_left(name),
    }
    if entries:
        content["entries"] = [
            {
                **{"entry": e.number, "time": e.time, "label": e.label, "run_id": e.run_id, "status": e.status},
                "epsilon": e.epsilon(state.delta),
            }
            for e in book.entries(name)
        ]
    return content


def _text(content: dict[str, Any]) -> str:
    from ..core.printable import count_of

    at = f"at delta = {content['delta']:.3g}"
    lines = [
        f"{content['dataset']}: total ({content['epsilon']:.6g}, {content['delta']:.3g}) under {content['adjacency']}, "
        f"counted by {content['kind'] or 'the first fit, not made yet'}",
        f"  used capacity  epsilon = {content['spent']['epsilon']:.6g} {at} "
        f"({100 * content['used']:.3g} %), by {count_of(content['live'], 'fit')}",
        f"  odometer       epsilon = {content['odometer']['epsilon']:.6g} {at}: a bound on what was lost so far",
        f"  remaining      epsilon = {content['remaining']['epsilon']:.6g} {at}, for one all-Gaussian fit",
    ]
    if content["like_the_last"] is not None:
        lines.append(f"  fits left      {content['like_the_last']} more like the last one would be taken")
    if content["live"] and content["kind"] in ("gaussian", "renyi"):
        lines.append(
            "  Costs add like squares, not like epsilons: of a total of 3, a fit of 1 leaves 2.77, and 7 such "
            "fits are taken."
        )
    for e in content.get("entries", []):
        run = "" if e["run_id"] is None else f"  run {e['run_id']}"
        lines.append(f"  {e['entry']:>6}  {e['time']}  {e['status']:<8}  {e['epsilon']:10.4g}  {e['label']}{run}")
    return "\n".join(lines)


def citation_in(path: Path) -> Cited:
    """The record in the statement of a model file whose checksum matches."""
    from .. import load
    from ..core.errors import ModelEditedError
    from ..ledger.check import Cited

    try:
        statement = load(path).statement_
    except ModelEditedError as error:
        raise NotVerified(str(error)) from None
    if statement.ledger is None:
        raise Refusal(f"{path} names no entry of a ledger: it was fitted without one.")
    return Cited(statement.ledger, statement)
