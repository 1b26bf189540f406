"""What was drawn beside what was paid: no statement is made of answers that a plan does not price.

Guarantee
---------
`summaries_of` is the only way from receipts to a statement. It refuses receipts unless they are,
ask by ask, the turns of the plan and of the branches that answers chose: as many, of the same
mechanism, number of draws, part of the rows and offset, and none with less noise than was priced.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from ..accounting import PricedPlan
from ..core.errors import PrivacyError
from ..core.plan import Noise, Plan
from ..core.statement import AskSummary, Receipt, ask_summaries
from ..queries.minimisers import finished_name, split

#: Relative error of a strength that is computed back from sensitivity and scale: two roundings of a float.
ROUNDING = 1e-15

#: What answers must agree in to be compared: the name of the ask, the noise, draws, the part of the rows, the offset.
Kind = tuple[str, Noise, int, float, float]


@dataclass(frozen=True, eq=False)
class Drawn:
    """The receipts of one oracle, and what was paid for them.

    Attributes
    ----------
    receipts : sequence of Receipt
    paid : PricedPlan or Plan
        What the oracle was opened with; a plan without a price for exact answers, which may stop early.
    choices : sequence of str
        Branches that answers chose.
    part : str
        Which part of the rows answered.
    ended : bool
        Answers left nothing to ask, so that later turns, which are paid, were not drawn.
    """

    receipts: Sequence[Receipt]
    paid: PricedPlan | Plan
    choices: Sequence[str] = ()
    part: str = ""
    ended: bool = False

    def checked(self) -> list[Receipt]:
        """The receipts, with the part of the rows; refused where they are not those that were paid."""
        drawn = _strengths((_kind(r), r.sensitivity / r.scale if r.scale else math.inf) for r in self.receipts)
        planned = _strengths(self._planned())
        for kind in dict.fromkeys((*planned, *drawn)):
            paid, found = planned[kind], drawn[kind]
            fewer = len(found) < len(paid) and not (self.ended or isinstance(self.paid, Plan))
            if fewer or len(found) > len(paid):
                raise PrivacyError(
                    f"ask {kind[0]!r} was paid for {len(paid)} answers of a kind, and {len(found)} of it were drawn. "
                    "No statement is made; the payment counts."
                )
            if any(one > most * (1 + ROUNDING) for one, most in zip(found, paid, strict=False)):
                raise PrivacyError(
                    f"an answer to ask {kind[0]!r} was drawn with less noise than was paid for. "
                    "No statement is made; the payment counts."
                )
        return [r if r.part == self.part else replace(r, part=self.part) for r in self.receipts]

    def _planned(self) -> Iterator[tuple[Kind, float]]:
        """The kind of each turn that was paid, and its strength."""
        paid = self.paid
        for branch in (None, *self.choices):
            paid = paid if branch is None else paid.branch(branch)
            if isinstance(paid, Plan):
                for ask in paid.asks:
                    yield from [((ask.name, Noise.NONE, ask.draws, ask.rate, 0.0), math.inf)] * ask.times
                continue
            for ask in paid.plan.asks:
                kind = ask.name, ask.noise, ask.draws, ask.rate, ask.offset
                for turn in range(ask.times):
                    strength = paid.cost(ask.name, turn).strength
                    if ask.noise is Noise.OBJECTIVE:
                        strength, finished = split(strength)
                        yield (finished_name(ask.name), Noise.GAUSSIAN, 1, 1.0, 0.0), finished
                    yield kind, strength


def summaries_of(drawn: Iterable[Drawn]) -> tuple[AskSummary, ...]:
    """The answers of several oracles, counted; refused where they are not those that were paid."""
    return ask_summaries(receipt for one in drawn for receipt in one.checked())


def _kind(receipt: Receipt) -> Kind:
    """All that a receipt says beside its strength and the part of the rows."""
    return receipt.ask, receipt.noise, receipt.draws, receipt.rate, receipt.offset


def _strengths(answers: Iterable[tuple[Kind, float]]) -> defaultdict[Kind, list[float]]:
    """Strengths of the answers of each kind, sensitivity over scale, from the least noise on."""
    found: defaultdict[Kind, list[float]] = defaultdict(list)
    for kind, strength in answers:
        found[kind].append(strength)
    for strengths in found.values():
        strengths.sort(reverse=True)
    return found
