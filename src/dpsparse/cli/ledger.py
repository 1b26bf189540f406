"""``dpsparse ledger``: a durable budget that many fits on one dataset share."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .options import json_option
from .output import as_json as print_json
from .output import check_file, write_text

if TYPE_CHECKING:
    from ..ledger import Ledger


@click.group()
def ledger() -> None:
    """Open, read and check durable privacy budgets.

    ADDRESS is sqlite:///budget.db (a file beside you), sqlite:////full/path.db, or postgresql://user@host:port/database.

    \b
    Example:
      dpsparse ledger create sqlite:///budget.db trial --epsilon 3 --delta 1e-6
      dpsparse fit trial.csv --target outcome --task regression --epsilon 1 --feature-bound 0,2 \\
          --target-bound 4 --ledger sqlite:///budget.db --dataset trial
      dpsparse ledger show sqlite:///budget.db trial
    """


@ledger.command()
@click.argument("address")
@click.argument("dataset")
@click.option("--epsilon", type=float, required=True, help="Total that all fits together may spend.")
@click.option("--delta", type=float, required=True, help="Total delta; well below 1/n. 0 allows pure fits only.")
@click.option(
    "--adjacency",
    type=click.Choice(["replace-one", "add-remove"]),
    default="replace-one",
    show_default=True,
    help="Which data sets count as neighbours.",
)
@click.option(
    "--kind", type=click.Choice(["gaussian", "renyi"]), help="How costs are counted. Default: the first fit decides."
)
@json_option
def create(
    address: str, dataset: str, epsilon: float, delta: float, adjacency: str, kind: str | None, as_json: bool
) -> None:
    """Open DATASET with a total budget; makes the ledger if there is none, and never sets a budget anew.

    \b
    Example:
      dpsparse ledger create sqlite:///budget.db trial --epsilon 3 --delta 1e-6
    """
    from .. import Ledger

    book = Ledger(address)
    book.create(dataset, epsilon, delta, adjacency, kind=kind)
    if as_json:
        print_json(_dataset(book, dataset))
    else:
        click.echo(f"Opened {dataset!r} with a total of {book.total(dataset)} under {adjacency}.")


@ledger.command()
@click.argument("address")
@click.argument("dataset", required=False)
@json_option
def show(address: str, dataset: str | None, as_json: bool) -> None:
    """Show what was spent and what is left, for one DATASET with its entries, or for all.

    \b
    Examples:
      dpsparse ledger show sqlite:///budget.db
      dpsparse ledger show sqlite:///budget.db trial --json
    """
    from .. import Ledger

    book = Ledger(address)
    names = book.datasets() if dataset is None else (dataset,)
    found = [_dataset(book, name, entries=dataset is not None) for name in names]
    if as_json:
        print_json(found[0] if dataset is not None else {"datasets": found})
        return
    for content in found:
        click.echo(_text(content))


@ledger.command()
@click.argument("address")
@click.option("--out", type=click.Path(path_type=Path), help="Write a file instead of printing.")
@json_option
def export(address: str, out: Path | None, as_json: bool) -> None:
    """Write the whole ledger as JSON, with its head: a copy to keep elsewhere.

    \b
    Example:
      dpsparse ledger export sqlite:///budget.db --out ledger.json
    """
    from .. import Ledger

    if out is not None:
        check_file(out)
    content = Ledger(address).export()
    if out is None:
        print_json(content)
        return
    write_text(out, json.dumps(content, indent=1) + "\n")
    if as_json:
        print_json({"out": out, "head": content["head"]})
    else:
        click.echo(f"Saved: {out} (head {content['head']['hash']})")


@ledger.command()
@click.argument("address")
@click.option("--head", help="A hash that was kept elsewhere; it must be part of the chain.")
@json_option
def verify(address: str, head: str | None, as_json: bool) -> None:
    """Check the chain of hashes and compute every price again. Exit code 5 if something is wrong.

    \b
    Example:
      dpsparse ledger verify sqlite:///budget.db --head 3f1c...
    """
    from .. import Ledger

    found = Ledger(address).verify(head)
    if as_json:
        print_json({"verified": True, "events": found.events, "datasets": found.datasets, "head": found.head})
    else:
        click.echo(f"In order: {found.events} events on {found.datasets} datasets. Head: {found.head}")


def _dataset(book: Ledger, name: str, entries: bool = True) -> dict[str, Any]:
    state = book.describe(name)
    spent, left = book.spent(name), book.remaining(name)
    content = {
        "dataset": name,
        "epsilon": state.epsilon,
        "delta": state.delta,
        "adjacency": str(state.adjacency),
        "kind": state.kind,
        "spent": {"epsilon": spent.epsilon, "delta": spent.delta},
        "remaining": {"epsilon": left.epsilon, "delta": left.delta},
        "live": state.live,
    }
    if entries:
        content["entries"] = [
            {"entry": e.number, "time": e.time, "label": e.label, "status": e.status, "epsilon": e.epsilon(state.delta)}
            for e in book.entries(name)
        ]
    return content


def _text(content: dict[str, Any]) -> str:
    at = f"at delta = {content['delta']:.3g}"
    lines = [
        f"{content['dataset']}: total ({content['epsilon']:.6g}, {content['delta']:.3g}) under {content['adjacency']}, "
        f"counted by {content['kind'] or 'the first fit, not made yet'}",
        f"  spent     epsilon = {content['spent']['epsilon']:.6g} {at}, by {content['live']} fits",
        f"  remaining epsilon = {content['remaining']['epsilon']:.6g} {at}, for one all-Gaussian fit",
    ]
    lines += [
        f"  {e['entry']:>6}  {e['time']}  {e['status']:<8}  {e['epsilon']:10.4g}  {e['label']}"
        for e in content.get("entries", [])
    ]
    return "\n".join(lines)
