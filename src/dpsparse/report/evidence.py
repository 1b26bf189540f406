"""What a verdict depends on: one check for each fact of statement, file, ledger, audit, scores and planner."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..core import DataError, Statement
from ..core.errors import LedgerError
from ..estimators.linear import SparseLinear
from ..fitting.counts import MOSTLY
from ..ledger import Ledger
from ..ledger.check import Cited
from ..ledger.entries import Entry
from .expected import Planned
from .verdict import ReleaseCheck, Status

#: How far a price that is computed again may be above the stated one: other versions of numpy and
#: scipy round differently.
TOLERANCE = 1e-6


def guarantee_check(statement: Statement) -> ReleaseCheck:
    """Whether there is a guarantee, and which."""
    if not statement.private:
        said = "It carries no guarantee for anyone in the data. The caveats say why."
        return ReleaseCheck("Guarantee", Status.NO, said, "statement")
    said = f"({statement.epsilon:.4g}, {statement.delta:.2g})-differential privacy, {statement.adjacency}."
    return ReleaseCheck("Guarantee", Status.YES, said, "statement")


def caveat_checks(statement: Statement) -> list[ReleaseCheck]:
    """Every caveat of a statement; one that voids the guarantee is a no."""
    light = Status.WAIT if statement.private else Status.NO
    return [ReleaseCheck("Caveat", light, f"{caveat}.", "statement") for caveat in statement.caveats]


def cells_checks(statement: Statement) -> list[ReleaseCheck]:
    """Every column of which, by a priced count, more than half of the cells were not understood."""
    found = [note for note in statement.notes if note.startswith(MOSTLY)]
    return [
        ReleaseCheck("Cells", Status.WAIT, f"{note[:1].upper()}{note[1:]}.", "priced count in the statement")
        for note in found
    ]


def file_check(digest: str | None, edited: bool) -> ReleaseCheck:
    """Whether the file is as it was saved."""
    if edited:
        said = "The file was changed or damaged after it was saved: its checksum does not match."
        return ReleaseCheck("File", Status.NO, said, "checksum of the file")
    if digest is None:
        said = (
            "No file was checked: this page is about a model in memory. Save it, and run dpsparse report on the file."
        )
        return ReleaseCheck("File", Status.WAIT, said, "none")
    return ReleaseCheck(
        "File", Status.YES, "The file is unchanged since it was saved: its checksum matches.", "checksum of the file"
    )


def settings_check(model: object, inner: SparseLinear, statement: Statement, planned: Planned | None) -> ReleaseCheck:
    """Whether the stored settings, planned again without data, allow what the statement guarantees."""
    source = "settings in the model file, priced again"
    if not statement.private:
        return ReleaseCheck(
            "Settings", Status.OPEN, "Not compared: there is no guarantee to compare them with.", source
        )
    seeds = [one for one in (getattr(model, "random_state", None), inner.random_state) if one is not None]
    if seeds:
        said = "The settings hold a seed, and the statement claims privacy: one of them was changed."
        return ReleaseCheck("Settings", Status.NO, said, source)
    if model is not inner and planned is None:
        return ReleaseCheck(
            "Settings", Status.YES, "No seed; the model is one step of what the statement prices.", source
        )
    if planned is None:
        said = "This installation cannot price the recipe again, so the statement was not compared with the settings."
        return ReleaseCheck("Settings", Status.WAIT, said, source)
    price = planned.summary.epsilon
    if not planned.proven or price is None:
        said = (
            f"The price of recipe {planned.summary.recipe!r} has no proof, and the statement "
            "claims privacy: one of them was changed."
        )
        return ReleaseCheck("Settings", Status.NO, said, source)
    if model is inner and planned.summary.delta != statement.delta:
        said = "The settings give another delta than the statement, so their prices were not compared."
        return ReleaseCheck("Settings", Status.WAIT, said, source)
    if model is inner and price > statement.epsilon * (1 + TOLERANCE):
        said = f"The settings cost epsilon = {price:.6g}, and the statement guarantees {statement.epsilon:.6g}."
        return ReleaseCheck("Settings", Status.NO, said, source)
    return ReleaseCheck(
        "Settings", Status.YES, "The settings cost no more than the stated budget, and hold no seed.", source
    )


@dataclass(frozen=True)
class Extract:
    """What a ledger says about the dataset that a model was fitted on.

    Attributes
    ----------
    entry : Entry
        The one that paid for the model.
    entries : tuple of Entry
        All of the dataset.
    head : str
        Of the whole chain, which verified.
    spent, total : str
        Of the dataset, as (epsilon, delta).
    """

    entry: Entry
    entries: tuple[Entry, ...]
    head: str
    spent: str
    total: str


def ledger_check(statement: Statement, ledger: Ledger | None) -> tuple[ReleaseCheck, Extract | None]:
    """Whether a ledger answers for the entry that a statement cites."""
    if statement.ledger is None:
        said = "No ledger was charged, so there is no record of what else was released about the same people."
        if statement.private:
            said += (
                " Use a ledger for every further fit. For this model, ask the people who keep the data "
                "to confirm in writing that nothing else was released."
            )
        if ledger is not None:
            said = "The model names no ledger entry, so the given ledger cannot show that it was paid for."
        return ReleaseCheck("Ledger", Status.WAIT, said, "statement"), None
    if ledger is None:
        said = (
            "The statement names a ledger entry, but the ledger was not opened for this report. Give it with --ledger."
        )
        return ReleaseCheck("Ledger", Status.WAIT, said, "statement"), None
    try:
        entry = Cited(statement.ledger, statement).check(ledger)
        head = ledger.verify().head
        found = Extract(
            entry=entry,
            entries=tuple(ledger.entries(entry.dataset)),
            head=head,
            spent=str(ledger.spent(entry.dataset)),
            total=str(ledger.total(entry.dataset)),
        )
    except (LedgerError, DataError) as error:
        return ReleaseCheck("Ledger", Status.NO, str(error), "ledger"), None
    said = f"Entry {entry.number} of dataset {entry.dataset!r} paid for this guarantee; the whole ledger verifies."
    return ReleaseCheck("Ledger", Status.YES, said, "ledger"), found


def audit_check(recipe: str | None, audit: Mapping[str, Any] | None) -> ReleaseCheck:
    """What an audit found; `audit` is what ``dpsparse audit --json`` printed.

    `recipe`: what it has to be about; None: not compared.
    """
    if audit is None:
        said = (
            "No audit was given. The guarantee depends on proofs and on the tests of the software; "
            "an audit would attack this recipe."
        )
        return ReleaseCheck("Audit", Status.OPEN, said, "none")
    verdict = audit.get("verdict")
    if audit.get("violated") or verdict == "VIOLATED":
        return ReleaseCheck("Audit", Status.NO, "An attack did better than the guarantee allows.", "audit")
    if audit.get("void"):
        return ReleaseCheck("Audit", Status.NO, "The audit was of something that carries no guarantee.", "audit")
    if not isinstance(verdict, str) or audit.get("violated") is not False:
        said = "The file given as an audit has no readable verdict."
        return ReleaseCheck("Audit", Status.WAIT, said, "audit")
    target = str(audit.get("target", ""))
    if recipe is not None and recipe not in target:
        said = f"The audit is of {target or 'an unnamed target'}, and this model was made by {recipe}."
        return ReleaseCheck("Audit", Status.WAIT, said, "audit")
    return ReleaseCheck(
        "Audit", Status.YES, f"No attack did better than the guarantee allows (verdict: {verdict}).", "audit"
    )


def score_check(scores: Mapping[str, Any] | None) -> list[ReleaseCheck]:
    """Whether scores that are shown carry a guarantee to the people in the test rows."""
    if scores is None:
        return []
    if not scores["statement"]["private"]:
        said = "The scores on this page carry no guarantee for the people in the test records. Do not release them."
        return [ReleaseCheck("Scores", Status.WAIT, said, "statement of the scores")]
    return [ReleaseCheck("Scores", Status.YES, "They carry a guarantee of their own.", "statement of the scores")]


def usefulness_check(planned: Planned | None, scores: Mapping[str, Any] | None) -> ReleaseCheck:
    """How good the model is: by a private score, or not measured; then what the planner expected, with its assumption.

    A fit that was expected to be hopeless is an open point unless a score was given.
    """
    if scores is not None and scores["statement"]["private"]:
        found = [one for one in scores["scores"] if one.get("group") is None]
        said = "; ".join(f"{one['metric']} {one['value']:.3g} ({one['low']:.3g} to {one['high']:.3g})" for one in found)
        if said:
            return ReleaseCheck(
                "Usefulness",
                Status.YES,
                f"Measured on held-out test records, under a guarantee of its own: {said}.",
                "private score",
            )
    said = "Not measured: no private score was given (dpsparse score --json, then --score)."
    if planned is None or planned.summary.error is None or planned.summary.verdict == "unknown":
        return ReleaseCheck("Usefulness", Status.OPEN, said, "none")
    summary, hopeless = planned.summary, planned.summary.verdict == "hopeless"
    assumed = f"if the best linear model removes {planned.summary.error.signal:.0%} of a constant predictor's error"
    said += f" The planner expected a {summary.verdict} fit, {assumed}, which nobody checked. {summary.why}"
    if hopeless:
        said += " The guarantee holds all the same; the model is probably of no use."
    return ReleaseCheck(
        "Usefulness", Status.WAIT if hopeless else Status.OPEN, said, "planner, from public facts alone"
    )
