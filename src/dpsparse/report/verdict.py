"""May this be released? No, not yet, or no objection.

What software can say on the first screen follows from checks, one for each fact of statement, file, ledger, audit,
scores and planner, each with its source.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from ..core import DataError, Statement
from ..core.errors import LedgerError
from ..estimators.linear import SparseLinear
from ..fitting.counts import MOSTLY
from ..ledger import Ledger
from ..ledger.check import Cited
from ..ledger.entries import Entry
from .expected import Planned

#: What must have been looked at and found good before anything may be green.
REQUIRED = ("Guarantee", "File", "Settings", "Ledger")


#: How far a price that is computed again may be above the stated one: other versions of numpy and
#: scipy round differently.
TOLERANCE = 1e-6


class Status(StrEnum):
    """What a reader sees before they read."""

    NO = "no"
    WAIT = "wait"
    YES = "yes"
    OPEN = "open"  # not looked at, and not needed


@dataclass(frozen=True)
class ReleaseCheck:
    """One thing that was looked at: what, how it stands, and where that is known from."""

    what: str
    light: Status
    said: str
    source: str


@dataclass(frozen=True)
class Verdict:
    """The answer, and the checks that it follows from."""

    light: Status
    word: str
    headline: str
    checks: tuple[ReleaseCheck, ...]

    @property
    def reasons(self) -> tuple[ReleaseCheck, ...]:
        """What speaks against a release, the gravest first."""
        grave = [check for check in self.checks if check.light is Status.NO]
        return (*grave, *(check for check in self.checks if check.light is Status.WAIT))


#: The answer in a word, and in a sentence. Software finds objections; a yes is for the people who sign the checklist.
HEADLINES = {
    Status.NO: ("No.", "Do not release this."),
    Status.WAIT: ("Not yet.", "Nothing speaks against the guarantee, but these points are still open:"),
    Status.YES: (
        "No objection found.",
        "The guarantee below checks out and the budget was charged. The people who sign the checklist decide "
        "whether to release it.",
    ),
}
#: The same for programs.
RELEASE = {Status.NO: "no", Status.WAIT: "not yet", Status.YES: "no objection"}


def decide(checks: Sequence[ReleaseCheck]) -> Verdict:
    """Weigh checks.

    One no makes a no, one wait a wait; no objection needs every one of `REQUIRED` to be there and
    to be a yes.

    >>> guarantee = ReleaseCheck("Guarantee", Status.YES, "kept", "statement")
    >>> decide([guarantee]).light  # the file and the ledger were not looked at
    <Status.WAIT: 'wait'>
    """
    lights = {check.light for check in checks}
    good = {check.what for check in checks if check.light is Status.YES}
    if Status.NO in lights:
        worst = Status.NO
    elif Status.WAIT in lights or not good.issuperset(REQUIRED):
        worst = Status.WAIT
    else:
        worst = Status.YES
    word, headline = HEADLINES[worst]
    return Verdict(worst, word, headline, tuple(checks))


# ------------------------------------------------------------------------------------------------ checks


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


def judge(
    model: object,
    inner: SparseLinear,
    statement: Statement,
    planned: Planned | None,
    *,
    digest: str | None,
    edited: bool,
    ledger: Ledger | None,
    audit: Mapping[str, Any] | None,
    scores: Mapping[str, Any] | None,
) -> tuple[Verdict, Extract | None]:
    """The answer about a release, and what its ledger says.

    Parameters
    ----------
    model : object
        What is released.
    inner : SparseLinear
        The linear model in it; the same where it is one itself.
    statement : Statement
    planned : Planned or None
        The settings, planned again.
    digest, edited, ledger, audit, scores
        As in `report_of`.
    """
    payment, extract = _ledger(statement, ledger)
    target = statement.recipe if model is inner else None
    status = Status.WAIT if statement.private else Status.NO
    mostly = [note for note in statement.notes if note.startswith(MOSTLY)]  # columns that were hardly understood
    checks = [
        ReleaseCheck("Guarantee", *_guarantee(statement), "statement"),
        ReleaseCheck("File", *_file(digest, edited)),
        ReleaseCheck(
            "Settings", *_settings(model, inner, statement, planned), "settings in the model file, priced again"
        ),
        *(ReleaseCheck("Caveat", status, f"{caveat}.", "statement") for caveat in statement.caveats),
        *(
            ReleaseCheck("Cells", Status.WAIT, f"{note[:1].upper()}{note[1:]}.", "priced count in the statement")
            for note in mostly
        ),
        ReleaseCheck("Ledger", *payment),
        ReleaseCheck("Audit", *_audit(target, audit), "none" if audit is None else "audit"),
        *([] if scores is None else [ReleaseCheck("Scores", *_scores(scores), "statement of the scores")]),
        ReleaseCheck("Usefulness", *_usefulness(planned, scores)),
    ]
    return decide(checks), extract


def _guarantee(statement: Statement) -> tuple[Status, str]:
    """Whether there is a guarantee, and which."""
    if not statement.private:
        return Status.NO, "It carries no guarantee for anyone in the data. The caveats say why."
    budget = f"({statement.epsilon:.4g}, {statement.delta:.2g})"
    return Status.YES, f"{budget}-differential privacy, {statement.adjacency}."


def _file(digest: str | None, edited: bool) -> tuple[Status, str, str]:
    """Whether the file is as it was saved, and where that is known from."""
    source = "checksum of the file"
    if edited:
        said = "The file was changed or damaged after it was saved: its checksum does not match."
        return Status.NO, said, source
    if digest is None:
        said = (
            "No file was checked: this page is about a model in memory. Save it, and run dpsparse report on the file."
        )
        return Status.WAIT, said, "none"
    return Status.YES, "The file is unchanged since it was saved: its checksum matches.", source


def _settings(model: object, inner: SparseLinear, statement: Statement, planned: Planned | None) -> tuple[Status, str]:
    """Whether the stored settings, planned again without data, allow what the statement guarantees."""
    if not statement.private:
        return Status.OPEN, "Not compared: there is no guarantee to compare them with."
    if any(one is not None for one in (getattr(model, "random_state", None), inner.random_state)):
        return Status.NO, "The settings hold a seed, and the statement claims privacy: one of them was changed."
    if planned is None and model is not inner:
        return Status.YES, "No seed; the model is one step of what the statement prices."
    if planned is None:
        return (
            Status.WAIT,
            "This installation cannot price the recipe again, so the statement was not compared with the settings.",
        )
    summary, price = planned.summary, planned.summary.epsilon
    if not planned.proven or price is None:
        said = (
            f"The price of recipe {summary.recipe!r} has no proof, and the statement claims privacy: one of them was "
        )
        return Status.NO, f"{said}changed."
    if model is inner and summary.delta != statement.delta:
        return (
            Status.WAIT,
            "The settings give another delta than the statement, so their prices were not compared.",
        )
    if model is inner and price > statement.epsilon * (1 + TOLERANCE):
        return (
            Status.NO,
            f"The settings cost epsilon = {price:.6g}, and the statement guarantees {statement.epsilon:.6g}.",
        )
    return Status.YES, "The settings cost no more than the stated budget, and hold no seed."


def _ledger(statement: Statement, ledger: Ledger | None) -> tuple[tuple[Status, str, str], Extract | None]:
    """Whether a ledger answers for the entry that a statement cites; and what it says."""
    if statement.ledger is None:
        said = "No ledger was charged, so there is no record of what else was released about the same people."
        if statement.private:
            said += (
                " Use a ledger for every further fit. For this model, ask the people who keep the data "
                "to confirm in writing that nothing else was released."
            )
        if ledger is not None:
            said = "The model names no ledger entry, so the given ledger cannot show that it was paid for."
        return (Status.WAIT, said, "statement"), None
    if ledger is None:
        said = (
            "The statement names a ledger entry, but the ledger was not opened for this report. Give it with --ledger."
        )
        return (Status.WAIT, said, "statement"), None
    try:
        entry = Cited(statement.ledger, statement).check(ledger)
        head, entries = ledger.verify().head, tuple(ledger.entries(entry.dataset))
        found = Extract(entry, entries, head, str(ledger.spent(entry.dataset)), str(ledger.total(entry.dataset)))
    except (LedgerError, DataError) as error:
        return (Status.NO, str(error), "ledger"), None
    said = f"Entry {entry.number} of dataset {entry.dataset!r} paid for this guarantee; the whole ledger verifies."
    return (Status.YES, said, "ledger"), found


def _audit(recipe: str | None, audit: Mapping[str, Any] | None) -> tuple[Status, str]:
    """What an audit found; `audit` is what ``dpsparse audit --json`` printed.

    `recipe`: what it has to be about; None: not compared.
    """
    if audit is None:
        said = (
            "No audit was given. The guarantee depends on proofs and on the tests of the software; "
            "an audit would attack this recipe."
        )
        return Status.OPEN, said
    verdict, target = audit.get("verdict"), str(audit.get("target", ""))
    if audit.get("violated") or verdict == "VIOLATED":
        return Status.NO, "An attack did better than the guarantee allows."
    if audit.get("void"):
        return Status.NO, "The audit was of something that carries no guarantee."
    if not isinstance(verdict, str) or audit.get("violated") is not False:
        return Status.WAIT, "The file given as an audit has no readable verdict."
    if recipe is not None and recipe not in target:
        return Status.WAIT, f"The audit is of {target or 'an unnamed target'}, and this model was made by {recipe}."
    return Status.YES, f"No attack did better than the guarantee allows (verdict: {verdict})."


def _scores(scores: Mapping[str, Any]) -> tuple[Status, str]:
    """Whether scores that are shown carry a guarantee to the people in the test rows."""
    if scores["statement"]["private"]:
        return Status.YES, "They carry a guarantee of their own."
    said = "The scores on this page carry no guarantee for the people in the test records. Do not release them."
    return Status.WAIT, said


def _usefulness(planned: Planned | None, scores: Mapping[str, Any] | None) -> tuple[Status, str, str]:
    """How good the model is, and where that is known from.

    By a private score, or not measured; then what the planner expected, with its assumption. A fit that was expected
    to be hopeless is an open point unless a score was given.
    """
    if scores is not None and scores["statement"]["private"]:
        found = [one for one in scores["scores"] if one.get("group") is None]
        said = "; ".join(f"{one['metric']} {one['value']:.3g} ({one['low']:.3g} to {one['high']:.3g})" for one in found)
        if said:
            said = f"Measured on held-out test records, under a guarantee of its own: {said}."
            return Status.YES, said, "private score"
    said = "Not measured: no private score was given (dpsparse score --json, then --score)."
    if planned is None or planned.summary.error is None or planned.summary.verdict == "unknown":
        return Status.OPEN, said, "none"
    summary, hopeless = planned.summary, planned.summary.verdict == "hopeless"
    assumed = f"if the best linear model removes {planned.summary.error.signal:.0%} of a constant predictor's error"
    said += f" The planner expected a {summary.verdict} fit, {assumed}, which nobody checked. {summary.why}"
    if hopeless:
        said += " The guarantee holds all the same; the model is probably of no use."
    return Status.WAIT if hopeless else Status.OPEN, said, "planner, from public facts alone"
