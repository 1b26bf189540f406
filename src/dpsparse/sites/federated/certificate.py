"""What each site guarantees, and what the guarantees mean together."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import ClassVar

import numpy as np

from ...accounting import Cost, PlanCost, PricedPlan, SumCost, cost_of_units
from ...accounting.costs.base import read_cost, write_cost
from ...accounting.costs.unit import bare_cost, unit_of
from ...accounting.draws import TurnCost
from ...core import PrivacyError, Receipt, Statement
from ...core.codec import Document, canonical_json
from ...core.release import difference
from ...core.statement import COST_NAMES
from ...fitting.drawn import Drawn
from ...fitting.statement import complete, draft_step
from ...fitting.statement import no_promise as statement_of_nothing
from ..rounds.protocol import MessageError, SiteProtocol, SiteSummary

SEPARATE = "the guarantee of a site holds whatever the server and the other sites do, also together"
ONE_SITE = "a person's rows are at one site; for a person at several sites their costs add up (Federation.person_at)"
SEVERAL_SITES = (
    "a {record} is at no more than {most} sites: the guarantee composes the bills of the {most} weakest ones"
)
TRUSTED = (
    "TRUSTS THE SERVER: it sees what each site changed, without noise, and adds the noise; "
    "the guarantee is about what it publishes"
)
ONE_STATE = "the server goes on from its own state alone, and no copy of its folder goes on beside it"
SECRET_COINS = "which sites were asked in a round is known to the server alone"


def state_run(
    about: SiteSummary,
    n_rows: int,
    priced: PricedPlan | None,
    delta: float,
    answers: Sequence[Receipt] | None,
    *,
    secure: bool,
    assumptions: Iterable[str] = (),
    caveats: Iterable[str] = (),
) -> Statement:
    """What one site, a server with noise of its own, or a network states: its guarantee, or that it gives none.

    Without answers it is a draft, for `complete`.
    """
    if priced is None:
        return statement_without_noise(about, n_rows)
    draft = draft_step(priced, delta, about.recipe, n_rows, "empty", secure=secure, unit=about.record)
    assumed, weak = (*draft.assumptions, *assumptions), (*caveats, *draft.caveats)
    draft = replace(draft, loss=about.loss, unit=about.unit, assumptions=assumed, caveats=weak)
    return draft if answers is None else complete(draft, [Drawn(answers, priced)])


def statement_without_noise(about: SiteSummary, n_rows: int) -> Statement:
    """The statement of a run without noise: it guarantees nothing, and says so."""
    caveat = "no privacy: this model was made without noise, and must not be released"
    return statement_of_nothing(
        recipe=about.recipe, loss=about.loss, adjacency=about.adjacency, unit=about.unit, n_rows=n_rows, caveat=caveat
    )


@dataclass(frozen=True)
class Certificate(Document):
    """What one site sends the server before it takes part.

    Guarantee
    ---------
    A certificate that passes `check` guarantees no more than the noise of the protocol's own plan at
    the scale of its bill covers: the bill is for that plan, ask by ask, with its sampling rate,
    noise and neighbours, and every number of the statement that a server repeats is priced again.
    Whether a site adds this noise, how many rows it has, and where its randomness comes from is its
    own word.

    Attributes
    ----------
    run : str
        Identity of the run, hexadecimal.
    site : str
    statement : Statement
    bill : Cost or None
        From which anybody can price the guarantee again; None for a site that makes none.
    release : str
        The release that the site runs.
    """

    format: ClassVar[str] = "dpsparse-site"
    version: ClassVar[int] = 2
    what: ClassVar[str] = "the certificate of a site"
    advice: ClassVar[str] = "Sites run the release of the server."
    refusal: ClassVar[type[ValueError]] = MessageError
    largest: ClassVar[int] = 2**20

    run: str
    site: str
    statement: Statement
    bill: Cost | None
    release: str

    def check(self, protocol: SiteProtocol) -> None:
        """Refuse a certificate of another protocol, or one that guarantees more than its bill.

        Refused are certificates of another run, site or release, those whose bill does not cover
        the protocol, and those whose statement guarantees more than its bill.
        """
        if self.run != protocol.identity.hex() or self.site not in protocol.sites:
            raise MessageError("the certificate belongs to another run, or to a site that the protocol does not name.")
        other = difference(f"site {self.site!r}", self.release, "the server", protocol.release)
        if other:
            raise MessageError(other)
        if protocol.private is (self.bill is None):
            raise MessageError(
                "a site of this protocol gives a certificate with a bill if, and only if, it adds noise itself."
            )
        said, about = self.statement, protocol.about
        if not _well_formed(said) or said.private > protocol.private:
            raise MessageError("the statement of the certificate is not one of a site of this protocol.")
        if self.bill is None:
            return
        bill = bare_cost(self.bill)
        if not isinstance(bill, PlanCost):
            raise MessageError("the bill of the certificate is not that of a plan, so nobody can price it again.")
        turns = {ask.name: ask.times for ask in bill.plan.asks}
        if turns != {"gradient": protocol.turns}:
            raise MessageError("the bill of the certificate does not cover all rounds of the protocol.")
        agreed = unit_of(self.bill) == about.record and str(bill.adjacency) == about.adjacency
        if bill.plan != protocol.site_plan or not agreed:
            raise MessageError(
                "the bill of the certificate is for another sampling rate, noise, unit or neighbours "
                "than those of the protocol."
            )
        if (said.recipe, said.loss, said.adjacency, said.unit) != (
            about.recipe,
            about.loss,
            about.adjacency,
            about.unit,
        ):
            raise MessageError("the statement of the certificate is about something else than the protocol.")
        self.verify()

    def verify(self) -> None:
        """Price the bill again, and refuse a statement that guarantees more than it."""
        if self.bill is not None and not covered(self.statement, self.bill):
            raise MessageError(f"the statement of site {self.site!r} guarantees more than its bill covers.")

    @property
    def rho_scale(self) -> float:
        """The scale of the bill's plan, with which its cost grows at every delta; infinite without such a bill."""
        bill = None if self.bill is None else bare_cost(self.bill)
        return bill.rho_scale if isinstance(bill, PlanCost) else math.inf

    def epsilon(self, delta: float | None = None) -> float:
        """What the bill costs at `delta` (default: that of the statement), priced again; infinite without a bill."""
        return (
            math.inf if self.bill is None else epsilon_of(self.bill, self.statement.delta if delta is None else delta)
        )


def _well_formed(said: Statement) -> bool:
    """Whether a statement that came from elsewhere can be repeated.

    Words are texts, marks are marks, and no entry of a ledger is cited, which nobody here can look
    up.
    """
    versions = list(said.versions.items()) if isinstance(said.versions, dict) else [(None, None)]
    words = [
        said.accountant,
        *said.assumptions,
        *said.caveats,
        *said.notes,
        *(word for pair in versions for word in pair),
    ]
    marks = type(said.private) is bool and type(said.priced) is bool and said.ledger is None
    return marks and type(said.n_rows) is int and said.n_rows >= 1 and all(type(word) is str for word in words)


@dataclass(frozen=True)
class Federation:
    """The guarantees of all sites.

    Attributes
    ----------
    certificates : mapping of str to Certificate
        By name of the site.
    """

    certificates: Mapping[str, Certificate]

    def __getitem__(self, name: str) -> Statement:
        return self.certificates[name].statement

    def person_at(self, names: Sequence[str], delta: float | None = None) -> tuple[float, float]:
        """(epsilon, delta) for a person with one row at each of these sites.

        Their bills, and nothing that they state, composed.

        Parameters
        ----------
        names : sequence of str
            Each once.
        delta : float or None
            At which epsilon is stated; None: the sum of the sites' deltas.

        Examples
        --------
        See ``docs/federated.md``.
        """
        if len(set(names)) != len(names) or not set(names) <= set(self.certificates):
            raise ValueError(
                "a person is at different sites of the federation, with one row at each: name each of them once."
            )
        chosen = [self.certificates[name] for name in names]
        if not chosen or any(c.bill is None for c in chosen):
            return math.inf, 1.0
        at = math.fsum(c.statement.delta for c in chosen) if delta is None else delta
        plain_sum = math.fsum(c.epsilon() for c in chosen) if delta is None else math.inf
        return min(self.bill_of(names).epsilon(at), plain_sum), at

    def bill_of(self, names: Sequence[str]) -> Cost:
        """The bills of sites that all give one, composed."""
        bills = [bare_cost(bill) for name in names if (bill := self.certificates[name].bill) is not None]
        return bills[0] if len(bills) == 1 else SumCost(tuple(bills))

    @property
    def releases(self) -> tuple[str, ...]:
        """The releases that took part: one, since a server refuses the others."""
        return tuple(sorted({c.release for c in self.certificates.values()}))

    def verify(self) -> None:
        """Price every bill again, and refuse a statement that guarantees more than its bill."""
        for certificate in self.certificates.values():
            certificate.verify()

    def lines(self) -> tuple[str, ...]:
        """One line for each site."""
        return tuple(
            f"site {name}: ({c.statement.epsilon:.6g}, {c.statement.delta:.3g}), {c.statement.n_rows} rows"
            if c.bill is not None
            else f"site {name}: no guarantee"
            for name, c in self.certificates.items()
        )

    def __str__(self) -> str:
        ran = [f"Release: {release}." for release in self.releases]
        return "\n".join([*self.lines(), f"Each: {SEPARATE}.", f"Assumes: {ONE_SITE}.", *ran])


def state_federation(federation: Federation, about: SiteSummary) -> Statement:
    """One statement for a model of many sites.

    The weakest of their guarantees, priced again, holds for every person whose rows are at one site; where a person
    may be at several, those of that many sites, composed.
    """
    federation.verify()
    found = [c.statement for c in federation.certificates.values()]
    rows = sum(s.n_rows for s in found)
    if not found or any(c.bill is None for c in federation.certificates.values()):
        return statement_without_noise(about, max(rows, 1))
    worst = max(found, key=lambda s: s.epsilon)
    caveats = dict.fromkeys(caveat for s in found for caveat in s.caveats)
    epsilon, delta, most = worst.epsilon, max(s.delta for s in found), about.sites_per_unit
    bill, assumed = worst.bill, ONE_SITE
    if most > 1:
        # bills of one plan differ in its scale alone, which orders what they cost at every delta
        delta = min(1.0, delta * most)
        certificates = federation.certificates
        weakest = sorted(certificates, key=lambda name: certificates[name].rho_scale, reverse=True)[:most]
        epsilon, _ = federation.person_at(weakest, delta)
        bill = write_cost(cost_of_units(federation.bill_of(weakest), about.record))
        assumed = SEVERAL_SITES.format(record=about.record, most=most)
    rhos, mus = sorted((s.rho for s in found), reverse=True), sorted((s.mu for s in found), reverse=True)
    return replace(
        worst,
        private=all(s.private for s in found),
        priced=all(s.priced for s in found),
        epsilon=epsilon,
        delta=delta,
        rho=math.fsum(rhos[:most]),
        mu=math.hypot(*mus[:most]),
        n_rows=rows,
        assumptions=(*worst.assumptions, assumed),
        caveats=tuple(caveats),
        notes=(*federation.lines(), *worst.notes),
        bill=bill,
    )


#: By what part of itself a stated epsilon may be below that of its bill: searches may end elsewhere
#: in other releases of NumPy and SciPy, and statements print six digits.
TOLERANCE = 1e-6
#: The same for numbers that no search finds: space for the rounding of sums and quotients.
ROUNDING = 1e-12


def covered(said: Statement, bill: Cost) -> bool:
    """Whether a statement guarantees no more than its bill.

    Epsilon, rho, mu and the cost of each ask in the statement must be at least those of its bill,
    and all else that it says of its asks must be the same.

    False for bills whose draws are not known, and for numbers that no accountant takes.
    """
    if said.bill is not None and said.bill != write_cost(bill):
        return False
    bill = bare_cost(bill)
    if not isinstance(bill, PlanCost) or not 0 < said.delta < 1 or len(said.asks) != len(bill.plan.asks):
        return False
    try:
        costs = bill.account.costs
        exact = [(costs.rho, said.rho), (costs.mu, said.mu)]
        for ask, told in zip(bill.plan.asks, said.asks, strict=True):
            drawn = TurnCost(ask.noise, bill.rho_scale * ask.weights()[0], ask.rate, ask.offset).strength
            own = replace(
                told,
                name=ask.name,
                times=ask.times,
                draws=ask.draws,
                noise=ask.noise,
                rate=ask.rate,
                offset=ask.offset,
                cost_name=COST_NAMES[ask.noise],
                part="",
            )
            if told != own:
                return False
            exact += [(drawn, told.cost), (drawn, told.sensitivity / told.scale)]
        if not all(least <= stated * (1 + ROUNDING) for least, stated in exact):
            return False
        return epsilon_of(bill, said.delta) <= said.epsilon * (1 + TOLERANCE)
    except (PrivacyError, ValueError, TypeError, ArithmeticError):
        return False


def epsilon_of(bill: Cost, delta: float) -> float:
    """What a bill costs at `delta`, priced again; once for equal bills, which sites of one protocol often have."""
    return _priced(canonical_json(write_cost(bill)), delta)


@lru_cache(maxsize=1024)
def _priced(bill: str, delta: float) -> float:
    with np.errstate(all="ignore"):  # a bill may hold any number
        return read_cost(json.loads(bill)).epsilon(delta)
