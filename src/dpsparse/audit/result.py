"""What an audit found, as a frozen record that prints."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from ..core.plain import Printed
from ..core.words import statement_page
from .lower_bounds import LowerBound

NOTHING_FOUND = "no violation found"
VIOLATED = "VIOLATED"
VOID = "NO GUARANTEE"
#: An attack that proves less than this part of a claim saw next to nothing: with so few runs, or so
#: much noise, none would.
BLIND = 0.1


@dataclass(frozen=True)
class Check(Printed):
    """One attack: what it proved about a mechanism, and what the mechanism claims.

    Attributes
    ----------
    name : str
        What was attacked: an ask of the plan, or the whole fit.
    detail : str
        Kind of question, noise and worlds.
    unit : str
        What `proved` and `claimed` are: mu, range, epsilon, or delta at some epsilon.
    proved, claimed : float
        Lower bound from the runs, and what was promised.
    violated : bool
        Whether the runs refute the promise.
    why : str
        The contradiction, in words.
    bound : LowerBound
        Epsilon at delta, mu, and the counts.
    reach : float
        Part of the stated sensitivity that the canaries use; NaN for whole fits.
    """

    shown: ClassVar[tuple[str, ...]] = (
        *("name", "detail", "unit", "proved", "claimed", "violated", "why", "reach", "bound"),
    )

    name: str
    detail: str
    unit: str
    proved: float
    claimed: float
    violated: bool
    why: str
    bound: LowerBound
    reach: float = math.nan

    @property
    def power(self) -> float:
        """Part of the claim that was proved: noise below this part of what was priced would have been caught."""
        return self.proved / self.claimed if self.claimed else math.nan

    def __str__(self) -> str:
        mark = VIOLATED if self.violated else "ok"
        line = (
            f"[{mark}] {self.name}: proved {self.unit} >= {self.proved:.4g}, claimed {self.claimed:.4g} ({self.detail})"
        )
        return f"{line}\n    {self.why}" if self.violated else line


@dataclass(frozen=True)
class LawCheck(Printed):
    """One check without chance: a law or a trace that holds, or how it is broken; or why it could not be made."""

    name: str
    violated: bool
    detail: str

    def __str__(self) -> str:
        return f"[{VIOLATED if self.violated else 'ok'}] {self.name}: {self.detail}"


@dataclass(frozen=True)
class AuditResult(Printed):
    """Everything an audit looked at.

    Attributes
    ----------
    target : str
        Who was audited.
    scope : str
        What was audited, and at which privacy.
    checks : tuple of Check
        Attacks, with what they proved.
    laws : tuple of LawCheck
        Checks without chance.
    runs : int
        Runs in each world of each attack.
    confidence : float
        Each attack accuses a right mechanism with at most one minus this probability.
    seconds : float
    notes : tuple of str
        What was left out, and why.
    caveats : tuple of str
        What weakens the promise, or voids it, as the statement or the plan says.
    void : bool
        Whether a caveat voids the promise: then there is none, whatever the checks found.
    """

    shown: ClassVar[tuple[str, ...]] = (
        *("target", "scope", "verdict", "summary", "violated", "void", "caveats"),
        *("runs", "confidence", "seconds", "checks", "laws", "notes"),
    )

    target: str
    scope: str
    checks: tuple[Check, ...]
    laws: tuple[LawCheck, ...] = ()
    runs: int = 0
    confidence: float = 1.0
    seconds: float = math.nan
    notes: tuple[str, ...] = ()
    caveats: tuple[str, ...] = ()
    void: bool = False

    @property
    def violated(self) -> bool:
        """Whether anything refutes the promise."""
        return any(c.violated for c in self.checks) or any(f.violated for f in self.laws)

    @property
    def verdict(self) -> str:
        """In two or three words."""
        if self.violated:
            return VIOLATED
        return VOID if self.void else NOTHING_FOUND

    @property
    def summary(self) -> str:
        """The verdict in plain words: what was found, and how much an error would have had to be to be seen."""
        if self.violated:
            return "The guarantee is false, or the fit does something else than it says."
        if self.void:
            return "The caveat above voids the guarantee: do not release this. The checks found nothing else."
        power = min((c.power for c in self.checks if not math.isnan(c.power)), default=math.nan)
        said = (
            f"{len(self.checks) + len(self.laws)} checks tried to refute the guarantee and did not. "
            "No audit can prove one."
        )
        if math.isnan(power):
            return said
        if power < BLIND:
            return f"{said} With so few runs at least one attack sees only gross errors: more runs see smaller ones."
        return f"{said} Every attack would have noticed noise below {power:.0%} of what was priced."

    def __str__(self) -> str:
        lines = [f"CAVEAT: {c}." for c in self.caveats]
        lines.append(f"Audit of {self.target}: {self.scope}")
        lines += [str(f) for f in self.laws]
        lines += [str(c) for c in self.checks]
        lines += [f"Note: {n}." for n in self.notes]
        lines.append(f"Verdict: {self.verdict}. {self.summary}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        good = not (self.violated or self.void)
        head = f"Audit of {self.target}: {self.scope}. Verdict: {self.verdict}. {self.summary}"
        return statement_page(self.caveats, head, good=good, more=str(self))
