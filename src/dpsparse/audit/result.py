"""What an audit found, as a frozen record that prints."""

from __future__ import annotations

import math
from dataclasses import dataclass

from .lower_bounds import LowerBound

NOTHING_FOUND = "no violation found"
VIOLATED = "VIOLATED"


@dataclass(frozen=True)
class Check:
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

    def to_dict(self) -> dict[str, object]:
        """As plain values."""
        plain = {k: v for k, v in vars(self).items() if k != "bound"}
        for name in ("reach", "claimed"):
            plain[name] = plain[name] if math.isfinite(plain[name]) else None
        return {**plain, "bound": self.bound.to_dict()}

    def __str__(self) -> str:
        mark = VIOLATED if self.violated else "ok"
        line = (
            f"[{mark}] {self.name}: proved {self.unit} >= {self.proved:.4g}, claimed {self.claimed:.4g} ({self.detail})"
        )
        return f"{line}\n    {self.why}" if self.violated else line


@dataclass(frozen=True)
class LawCheck:
    """One check without chance: a law or a trace that holds, or how it is broken; or why it could not be made."""

    name: str
    violated: bool
    detail: str

    def to_dict(self) -> dict[str, object]:
        """As plain values."""
        return dict(vars(self))

    def __str__(self) -> str:
        return f"[{VIOLATED if self.violated else 'ok'}] {self.name}: {self.detail}"


@dataclass(frozen=True)
class AuditResult:
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
    """

    target: str
    scope: str
    checks: tuple[Check, ...]
    laws: tuple[LawCheck, ...] = ()
    runs: int = 0
    confidence: float = 1.0
    seconds: float = math.nan
    notes: tuple[str, ...] = ()

    @property
    def violated(self) -> bool:
        """Whether anything refutes the promise."""
        return any(c.violated for c in self.checks) or any(f.violated for f in self.laws)

    @property
    def verdict(self) -> str:
        """In two or three words."""
        return VIOLATED if self.violated else NOTHING_FOUND

    def to_dict(self) -> dict[str, object]:
        """As plain values, for JSON."""
        return {
            "target": self.target,
            "scope": self.scope,
            "verdict": self.verdict,
            "violated": self.violated,
            "runs": self.runs,
            "confidence": self.confidence,
            "seconds": self.seconds,
            "checks": [c.to_dict() for c in self.checks],
            "laws": [f.to_dict() for f in self.laws],
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        lines = [f"Audit of {self.target}: {self.scope}"]
        lines += [str(f) for f in self.laws]
        lines += [str(c) for c in self.checks]
        lines += [f"Note: {n}." for n in self.notes]
        if self.violated:
            lines.append(f"Verdict: {VIOLATED}. The promise is false, or the fit does something else than it says.")
        else:
            power = min((c.power for c in self.checks if not math.isnan(c.power)), default=math.nan)
            seen = "" if math.isnan(power) else f" The weakest attack proved {power:.0%} of what is claimed."
            lines.append(f"Verdict: {NOTHING_FOUND}. An audit can refute a promise; it cannot prove one.{seen}")
        return "\n".join(lines)
