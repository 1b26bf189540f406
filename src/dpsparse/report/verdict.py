"""May this be released? The answer on the first screen, from statement, ledger and audit alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from ..privacy import Statement


class Light(StrEnum):
    """What a reader sees before they read."""

    NO = "no"
    WAIT = "wait"
    YES = "yes"
    OPEN = "open"  # not looked at, and not needed


@dataclass(frozen=True)
class Check:
    """One thing that was looked at: what, how it stands, and where that is known from."""

    what: str
    light: Light
    said: str
    source: str


@dataclass(frozen=True)
class Verdict:
    """The answer, and the checks that it follows from."""

    light: Light
    headline: str
    checks: tuple[Check, ...]

    @property
    def reasons(self) -> tuple[Check, ...]:
        """What speaks against a release, the gravest first."""
        grave = [check for check in self.checks if check.light is Light.NO]
        return (*grave, *(check for check in self.checks if check.light is Light.WAIT))


HEADLINES = {
    Light.NO: "No. Do not release this.",
    Light.WAIT: "Not yet. The promise holds as stated, and something below is still open.",
    Light.YES: "Yes, as far as this software can tell: the promise below holds and was paid for.",
}


def decide(
    statement: Statement,
    *,
    edited: bool = False,
    payment: Check | None = None,
    audit: Mapping[str, Any] | None = None,
    outlook: Check | None = None,
) -> Verdict:
    """Weigh what is known.

    A promise that does not hold, an edited file, a ledger that does not answer for the model, or an audit that refuted the
    promise is a no. A caveat, a payment that was not looked at, or a fit that the planner calls hopeless is a wait. Only what
    passes every check is a yes.

    Parameters
    ----------
    statement : Statement
    edited : bool
        Whether the digest of the model's file does not fit.
    payment : Check or None
        What a ledger said about the entry that the statement cites; None: no ledger was asked.
    audit : mapping or None
        Result of an audit, as ``dpsparse audit --json`` prints it.
    outlook : Check or None
        What the planner expected.
    """
    checks = [_promise(statement), _file(edited)]
    checks += [Check("Caveat", Light.WAIT, f"{caveat}.", "statement") for caveat in statement.caveats]
    checks.append(payment or _unpaid(statement))
    checks.append(_audit(audit))
    checks += [] if outlook is None else [outlook]
    worst = next(
        (light for light in (Light.NO, Light.WAIT) if any(check.light is light for check in checks)), Light.YES
    )
    return Verdict(worst, HEADLINES[worst], tuple(checks))


def _promise(statement: Statement) -> Check:
    if not statement.private:
        return Check(
            "Promise", Light.NO, "It carries no promise to anyone in the data. The caveats say why.", "statement"
        )
    said = f"({statement.epsilon:.4g}, {statement.delta:.2g})-differential privacy, {statement.adjacency}."
    return Check("Promise", Light.YES, said, "statement")


def _file(edited: bool) -> Check:
    if edited:
        return Check(
            "File", Light.NO, "It was changed after it was saved, or is damaged: its digest does not fit.", "digest"
        )
    return Check("File", Light.YES, "It is as it was saved: its digest fits.", "digest")


def _unpaid(statement: Statement) -> Check:
    if statement.ledger is None:
        said = "No ledger was charged, so nothing shows what else was released about the same people."
        return Check("Ledger", Light.WAIT, said, "statement")
    said = "The statement names an entry of a ledger that was not opened for this report. Give it with --ledger."
    return Check("Ledger", Light.WAIT, said, "statement")


def _audit(audit: Mapping[str, Any] | None) -> Check:
    if audit is None:
        said = "No audit was given. The promise rests on proofs and on the tests of the software; an audit would attack this recipe."
        return Check("Audit", Light.OPEN, said, "none")
    verdict = str(audit.get("verdict", "unknown"))
    if audit.get("violated") or verdict == "violated":
        return Check("Audit", Light.NO, "An attack did better than the promise allows.", "audit")
    return Check("Audit", Light.YES, f"No attack did better than the promise allows (verdict: {verdict}).", "audit")
