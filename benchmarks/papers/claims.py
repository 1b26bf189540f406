"""The paper's claims, one line for each: the verdicts of all epsilons, with the paper's noise and with honest noise, and why it may not hold."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from dpsparse.report.bench import Results, StudyClaim
from dpsparse.report.bench.study import GRID, ON_CURVE

from .methods import PRINTED
from .study import PaperStudy

#: How the two methods of a claim were run.
COLUMNS = ("printed noise", "honest noise, grid", "honest noise, defaults")
HONEST = COLUMNS[1:]
#: What may become of a claim over its epsilons.
OUTCOMES = ("hold", "hold in part", "do not hold", "undecided")
#: Why a claim does not hold, in the words of the pages.
REASONS = {
    "dense": "dense noise",
    "rival": "better rival at equal accounting",
    "sampling": "sampling saves time and not noise",
    "support": "support must be paid for",
    "stand-in": "data are a stand-in",
    "undecided": "undecided",
}
SHORT = {"holds": "holds", "does not hold": "not", "undecided": "undecided"}


@dataclass
class ClaimLine:
    """A claim with its verdicts: column, then epsilon."""

    text: str
    data: str
    paper: str
    rival: str
    verdicts: dict[str, dict[float, str]] = field(default_factory=lambda: {name: {} for name in COLUMNS})

    def cell(self, column: str) -> str:
        """Epsilons by verdict."""
        found = self.verdicts[column]
        return "; ".join(
            f"{word} {' '.join(format(e, 'g') for e, verdict in found.items() if verdict == long)}"
            for long, word in SHORT.items()
            if long in found.values()
        )

    def outcome(self, columns: Sequence[str]) -> str:
        """A word of `OUTCOMES` about some columns together; none where nothing was run."""
        found = [verdict for name in columns for verdict in self.verdicts[name].values()]
        if not found:
            return ""
        if set(found) == {"holds"}:
            return "hold"
        if "holds" in found:
            return "hold in part"
        return "do not hold" if "does not hold" in found else "undecided"

    @property
    def reason(self) -> str:
        """Of what does not hold with honest noise; a stand-in is named where the printed noise does not show it either."""
        found = [verdict for name in HONEST for verdict in self.verdicts[name].values()]
        words = []
        if "does not hold" in found:
            words.append(self.cause)
        elif "undecided" in found:
            words.append("undecided")
        if "(for " in self.data and "does not hold" in self.verdicts["printed noise"].values():
            words.append("stand-in")
        return "; ".join(REASONS[word] for word in words)

    @property
    def cause(self) -> str:
        """By the paper, and by the method that is compared with."""
        if self.paper == "004":
            return "sampling"
        if self.rival.startswith("IGHT"):
            return "support" if self.paper == "001" else "dense"
        if self.rival.startswith("Two stage") or self.paper == "002":
            return "rival"
        return "support" if self.paper == "001" else "dense"


def _column(claim: StudyClaim) -> str:
    if PRINTED in claim.better:
        return COLUMNS[0]
    return COLUMNS[1] if claim.better.endswith(GRID) else COLUMNS[2]


def plain(method: str) -> str:
    """The name of the algorithm."""
    return method.removesuffix(GRID).removesuffix(PRINTED).removesuffix(" dense")


def claim_lines(study: PaperStudy, results: Results) -> list[ClaimLine]:
    """Claims that the runs say something about, in the order of the study."""
    found: dict[tuple[str, str], ClaimLine] = {}
    for claim in study.claims():
        if not results.gap(claim)[2]:
            continue
        here, there = claim.sides
        same = here[0] == there[0] and here[2:] == there[2:]
        word = "better than" if claim.on_par is None else "on par with"
        text = f"{plain(claim.better)} {word} {plain(claim.worse)}" if same else across(claim)
        if ON_CURVE in claim.metric:
            text += f" after {claim.metric.split(ON_CURVE)[1]} passes"
        line = found.setdefault((text, claim.data), ClaimLine(text, claim.data, study.paper, plain(claim.worse)))
        line.verdicts[_column(claim)][claim.epsilon] = results.verdict(claim)
    return list(found.values())


def across(claim: StudyClaim) -> str:
    """A claim about one method at two places: what is compared with."""
    here, there = claim.sides
    word = "better than" if claim.on_par is None else "on par with"
    if there[2] == math.inf:
        return f"{plain(claim.better)} close to {claim.worse}: within half of its error"
    other = there[0] if there[0] != here[0] else f"epsilon {there[2]:g}"
    return f"{plain(claim.better)} {word} {'itself' if claim.better == claim.worse else plain(claim.worse)} at {other}"
