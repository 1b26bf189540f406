"""Networks across sites: DP-FedSGD-HT, DP-FedGD-HT and FedSGD-HT of paper 004, on the rounds and messages of ``dpsparse.federated``."""

from __future__ import annotations

import hashlib
import json
import math
import re
import secrets
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import torch

from .. import checks
from ..accounting import PlanBill, PricedPlan, price
from ..data.source import silence
from ..facts import Vector
from ..federated.book import Book
from ..federated.certificate import NOTHING, ROWS, SEPARATE, About, Certificate, Federation, state_federation
from ..federated.desk import Desk, Purse
from ..federated.rounds import rounds_of
from ..federated.saved import Saved
from ..federated.site import NOBODY, SERVER
from ..fits import Seed, default_delta, public_rows, warn_if_seeded
from ..ledger import Ledger
from ..mechanisms import Randomness
from ..ops import hard_threshold
from ..privacy import Adjacency, Budget, Plan, PrivacyError, Statement
from ..regular_files import parse_json
from .gradients import LARGEST_CLIP, SMALLEST_CLIP, RowGradients
from .network import SparseNetwork, state_network
from .oracle import NetworkOracle, gradients_plan, receipt, walk
from .targets import LOSSES, example_target, private_rows

FORMAT, VERSION = "dpsparse-federated-network", 1
NONCE = re.compile(r"[0-9a-f]{32}")
#: No honest bound: where nothing is private.
UNBOUNDED = 1e100


@dataclass(frozen=True, kw_only=True)
class NetworkProtocol:
    """What sites do in every round with a network of agreed shape.

    Attributes
    ----------
    nonce, sites, weights, rounds, local_steps, sparsity, clip, rate, radius, adjacency
        As in `dpsparse.federated.Protocol`.
    step_size : float
    loss : str
    classes : int or None
    shapes : tuple of (str, tuple of int)
        Names and shapes of the parameters.
    private : bool
        Whether sites add noise themselves.
    """

    nonce: str
    sites: tuple[str, ...]
    weights: tuple[float, ...]
    rounds: int
    local_steps: int
    step_size: float
    sparsity: int
    clip: float
    rate: float
    radius: float
    adjacency: str
    loss: str
    classes: int | None
    shapes: tuple[tuple[str, tuple[int, ...]], ...]
    private: bool

    def to_json(self) -> str:
        """As text, the same for the same protocol."""
        return json.dumps({"format": FORMAT, "version": VERSION, **asdict(self)}, sort_keys=True, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> NetworkProtocol:
        """The inverse; refuses what is not a protocol of this version."""
        try:
            content = parse_json(text)
            if content.pop("format") != FORMAT or content.pop("version") != VERSION:
                raise ValueError
            content["sites"], content["weights"] = tuple(content["sites"]), tuple(content["weights"])
            content["shapes"] = tuple((str(n), tuple(map(int, s))) for n, s in content["shapes"])
            made = cls(**content)
            made.check()
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError) as error:
            raise PrivacyError(
                f"this is not a protocol of networks, version {VERSION} ({type(error).__name__}). Ask the server for it again."
            ) from None
        return made

    def check(self) -> None:
        """Refuse, with ValueError or TypeError, what no server of ours publishes."""
        numbers = (self.step_size, self.clip, self.radius, *self.weights)
        holds = (
            NONCE.fullmatch(self.nonce) is not None
            and all(type(v) is int and 1 <= v <= 10**9 for v in (self.rounds, self.local_steps, self.sparsity))
            and all(0 < v <= UNBOUNDED for v in numbers)
            and SMALLEST_CLIP <= self.clip <= LARGEST_CLIP
            and len(self.sites) == len(self.weights) == len(set(self.sites)) > 0
            and math.isclose(math.fsum(self.weights), 1.0, rel_tol=1e-9)
            and 0 < self.rate <= 1
            and self.loss in LOSSES
            and type(self.private) is bool
            and all(d >= 0 for _, shape in self.shapes for d in shape)
        )
        if not holds:
            raise ValueError("a number of the protocol is none that a server publishes.")
        Adjacency.named(self.adjacency)

    @cached_property
    def identity(self) -> bytes:
        """16 bytes that no other run has."""
        return hashlib.sha256(self.to_json().encode()).digest()[:16]

    @property
    def size(self) -> int:
        """Numbers in a task or a report."""
        return sum(math.prod(shape) for _, shape in self.shapes)

    @property
    def turns(self) -> int:
        """Noisy answers of a site in all rounds together."""
        return self.rounds * self.local_steps

    @property
    def about(self) -> About:
        """For statements."""
        name = "fedsgd_ht" if not self.private else "dp_fedgd_ht" if self.rate >= 1 else "dp_fedsgd_ht"
        return About(name, self.loss, self.adjacency, ROWS if self.private else NOTHING)

    def round_plan(self) -> Plan:
        """What one site is asked in one round."""
        return gradients_plan(self.local_steps, self.rate, private=self.private)


class NetworkSite:
    """A site with private rows that trains a network; the guarantees are those of `dpsparse.federated.Site`.

    Parameters
    ----------
    module : torch.nn.Module
        Of the shapes of the protocol; its own parameters do not matter.
    X, y
        **Private** rows.
    protocol, name, epsilon, delta, n_rows, ledger, dataset, memory, trust, random_state
        As in `dpsparse.federated.Site`.
    """

    def __init__(
        self,
        module: torch.nn.Module,
        X: Any,
        y: Any,
        protocol: NetworkProtocol | str,
        *,
        name: str,
        epsilon: float | None = None,
        delta: float | None = None,
        n_rows: int | None = None,
        ledger: Ledger | str | None = None,
        dataset: str | None = None,
        memory: str | Path | None = None,
        trust: str = NOBODY,
        random_state: Seed = None,
    ) -> None:
        self.protocol = NetworkProtocol.from_json(protocol) if isinstance(protocol, str) else protocol
        if name not in self.protocol.sites:
            raise ValueError(f"the protocol has no site {name!r}.")
        checks.one_of(trust, "trust", (NOBODY, SERVER))
        if not self.protocol.private and trust != SERVER:
            raise PrivacyError(
                "sites of this protocol send networks without noise: the server would have to be trusted with them. To take part "
                "nevertheless, give trust='server'."
            )
        self.name = name
        self._gradients = RowGradients(module, LOSSES[self.protocol.loss])
        if tuple(self._gradients.shapes.items()) != self.protocol.shapes:
            raise ValueError("the network has other parameters than the protocol says.")
        self._n = public_rows(n_rows, Adjacency.named(self.protocol.adjacency), np.shape(X)[0])
        self._delta = default_delta(self._n) if delta is None else delta
        self._priced = self._price(epsilon)
        self._randomness = Randomness(random_state)
        if self._priced is not None:
            warn_if_seeded(self._randomness, "site")
        number = self.protocol.sites.index(name)
        run = f"{self.protocol.identity.hex()}-{number}"
        bill = None if self._priced is None else PlanBill.of(self._priced)
        purse = Purse.of(ledger, dataset, bill, self.protocol.about.recipe, run, self._delta)
        self._gradients.rehearse(tuple(np.shape(X)[1:]), example_target(self.protocol.loss))
        self._rows = private_rows(X, y, self.protocol.loss, self.protocol.classes, self._n)
        self._desk = Desk(self.protocol, number, rounds_of(memory, run), purse, self._walk)

    def _price(self, epsilon: float | None) -> PricedPlan | None:
        """The price of all rounds."""
        if not self.protocol.private:
            return None
        if epsilon is None:
            raise PrivacyError("a site says what it may spend: give epsilon.")
        plan = self.protocol.round_plan().repeated(self.protocol.rounds)
        return price(plan, Budget.approx(epsilon, self._delta, self.protocol.adjacency))

    @property
    def statement(self) -> Statement:
        """What this site promises to the people in its rows, if all rounds are asked for; public."""
        drawn = [] if self._priced is None else [receipt(self._priced, self.protocol.clip)] * self.protocol.turns
        secure = self._randomness.secure
        said = state_network(self.protocol.about, self._n, self._priced, self._delta, drawn, secure=secure)
        return said if self._priced is None else replace(said, assumptions=(*said.assumptions, SEPARATE))

    def certificate(self) -> str:
        """What this site tells the server before it takes part."""
        bill = None if self._priced is None else PlanBill.of(self._priced)
        return Certificate(self.protocol.identity.hex(), self.name, self.statement, bill).to_json()

    def answer(self, task: bytes) -> bytes:
        """A report for this task, once; see `dpsparse.federated.Site.answer`."""
        return self._desk.answer(task)

    def _walk(self, w: Vector) -> Vector:
        protocol, plan = self.protocol, self.protocol.round_plan()
        asked = plan if self._priced is None else replace(self._priced, plan=plan)
        with silence():
            oracle = NetworkOracle(self._gradients, self._rows, asked, protocol.clip, self._randomness)
            return walk(w, oracle, protocol.local_steps, protocol.step_size, protocol.sparsity) - w

    def __repr__(self) -> str:
        return f"NetworkSite({self.name!r})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a site holds rows and is not copied or stored.")


class NetworkServer:
    """A server without rows for a network across sites; the guarantees are those of `dpsparse.federated.Server`.

    Parameters
    ----------
    module : torch.nn.Module
        Its parameters are the public start.
    sites : sequence of str
    rounds, local_steps : int
    step_size, clip : float
    sparsity : int
        Nonzero parameters kept, by sites and by the server.
    rate : float
        Sampling rate of rows at every site; 1: every row (DP-FedGD-HT).
    loss, classes
        As in `SparseNetwork`.
    private : bool
        False: FedSGD-HT, a baseline.
    radius : float or None
        Norm within which a site changes the network in a round; None: four times the way of `local_steps` clipped gradients, to which honest
        sites hold themselves. Sites whose noise is wider should be given more.
    weights, adjacency, least_sites, state, nonce
        As in `dpsparse.federated.Server`.
    """

    def __init__(
        self,
        module: torch.nn.Module,
        *,
        sites: Sequence[str],
        rounds: int,
        local_steps: int = 10,
        step_size: float,
        clip: float = 1.0,
        sparsity: int,
        rate: float = 1.0,
        loss: str = "cross_entropy",
        classes: int | None = None,
        private: bool = True,
        radius: float | None = None,
        weights: Sequence[float] | None = None,
        adjacency: str = "replace-one",
        least_sites: int = 1,
        state: str | PathLike[str] | None = None,
        nonce: str | None = None,
    ) -> None:
        self._module = module
        gradients = RowGradients(module, LOSSES[checks.one_of(loss, "loss", LOSSES)])
        given = [1.0] * len(sites) if weights is None else [checks.positive(v, "weights") for v in weights]
        way = local_steps * step_size
        self.protocol = NetworkProtocol(
            nonce=secrets.token_hex(16) if nonce is None else nonce,
            sites=tuple(sites),
            weights=tuple(v / math.fsum(given) for v in given),
            rounds=checks.whole(rounds, "rounds"),
            local_steps=checks.whole(local_steps, "local_steps"),
            step_size=checks.positive(step_size, "step_size"),
            sparsity=checks.whole(sparsity, "sparsity"),
            clip=checks.positive(clip, "clip", least=SMALLEST_CLIP, most=LARGEST_CLIP),
            rate=float(rate),
            radius=UNBOUNDED
            if not private
            else 4 * way * clip
            if radius is None
            else checks.positive(radius, "radius"),
            adjacency=str(Adjacency.named(adjacency)),
            loss=loss,
            classes=checks.whole(classes, "classes", least=2) if loss == "cross_entropy" else None,
            shapes=tuple(gradients.shapes.items()),
            private=private,
        )
        self.protocol.check()
        least = checks.whole(least_sites, "least_sites")
        if least > len(self.protocol.sites):
            raise ValueError(f"least_sites must be at most the number of sites, {len(sites)}, got {least_sites!r}.")
        numbers = range(len(self.protocol.sites))
        start = hard_threshold(gradients.start(), self.protocol.sparsity)
        self._book = Book(self.protocol, start, self._step, lambda: numbers, least, state)

    def _step(self, w: Vector, _: int, came: dict[int, Vector]) -> Vector:
        moved = w.copy()
        for number, change in came.items():
            moved += self.protocol.weights[number] * change
        return hard_threshold(moved, self.protocol.sparsity)

    @property
    def round(self) -> int:
        """The round that is open."""
        return self._book.round

    @property
    def finished(self) -> bool:
        """Whether all rounds are closed."""
        return self._book.finished

    @property
    def answered(self) -> tuple[int, ...]:
        """How many sites answered each closed round."""
        return tuple(self._book.answered)

    @property
    def invited(self) -> tuple[str, ...]:
        """The sites to ask in this round."""
        return self.protocol.sites

    @property
    def federation(self) -> Federation:
        """What each site promises, and what it means together."""
        return self._book.federation

    def enrol(self, certificate: str) -> None:
        """Take a site's certificate."""
        self._book.enrol(certificate)

    def task(self) -> bytes:
        """What to send to the sites of this round."""
        return self._book.task()

    def receive(self, message: bytes) -> None:
        """Take a report, or refuse it."""
        self._book.receive(message)

    def close(self) -> None:
        """End the round with the reports that came, and go on."""
        self._book.close()

    def save(self, path: str | PathLike[str]) -> None:
        """Write everything to a JSON file."""
        self._book.save(path)

    def resume(self, path: str | PathLike[str]) -> None:
        """Go on where a server of the same settings and nonce was saved."""
        self._book.load(Saved.read(path), path)

    def model(self) -> SparseNetwork:
        """The network with its statement: of all rounds, or, before the last, of those that are closed, at the price of all."""
        protocol = self.protocol
        made = SparseNetwork(
            self._module,
            epsilon=None,
            sparsity=protocol.sparsity,
            steps=protocol.turns,
            step_size=protocol.step_size,
            clip=protocol.clip,
            loss=protocol.loss,
            classes=protocol.classes,
            adjacency=protocol.adjacency,
        )
        return made.keep(self._book.w.copy(), state_federation(self.federation, protocol.about))
