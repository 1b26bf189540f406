"""May this be released? What software can say on the first screen follows from checks, each with its source.

No, not yet, or no objection.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

#: What must have been looked at and found good before anything may be green.
REQUIRED = ("Guarantee", "File", "Settings", "Ledger")


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
