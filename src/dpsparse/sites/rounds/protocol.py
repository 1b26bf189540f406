"""What every protocol says, whatever is trained, and how its bounds are read."""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np

from ...core import Adjacency, Plan, PrivacyError
from ...core.checks import ROW
from ...core.codec import Document
from ...core.errors import RetryLaterError
from ...core.facts import Facts
from ...queries import losses
from ...queries.losses import Loss

NONCE = re.compile(r"[0-9a-f]{32}")
#: Larger bounds would leave the range of floats at a participant.
LARGEST_BOUND = 1e100
#: Characters in the name of a site.
LONGEST_NAME = 200
#: What one unit of privacy is.
ROWS, SITES, NOTHING = "one row of one site", "one whole site", "nothing"


class MessageError(ValueError):
    """A message that is not what it should be. Nothing was changed by it."""


class RunPausedError(MessageError, RetryLaterError):
    """Too few participants have answered for the round to be closed; nothing is lost, and the same call goes on."""


@dataclass(frozen=True, kw_only=True)
class RunProtocol(Document, ABC):
    """What a server and its participants agree on beforehand, as far as rounds and messages need it. Public.

    Attributes
    ----------
    nonce : str
        32 hexadecimal digits that a server draws for each run: reports of one run are not taken in another.
    rounds : int
        How often participants are asked.
    release : str
        The server's release (`dpsparse.core.release`); participants of another one do not answer.
    """

    nonce: str
    rounds: int
    release: str

    @property
    @abstractmethod
    def size(self) -> int:
        """Numbers in a task."""

    @classmethod
    def published(cls, given: Self | str) -> Self:
        """The protocol that a server published, from its text or as it is."""
        return cls.from_json(given) if isinstance(given, str) else given


#: The protocol of a server or a participant.
Agreed = TypeVar("Agreed", bound=RunProtocol)


@dataclass(frozen=True)
class SiteSummary:
    """What the statements of a run are about: public words and numbers.

    `record` is the word for what is one record at a site; one of them is at `sites_per_unit` sites at most.
    """

    recipe: str
    loss: str
    adjacency: str
    unit: str
    record: str = ROW
    sites_per_unit: int = 1


@dataclass(frozen=True, kw_only=True)
class SiteProtocol(RunProtocol):
    """What a server and its sites agree on, whatever they train.

    Attributes
    ----------
    sites : tuple of str
        Names, in the order of their numbers.
    weights : tuple of float
        Public part of each site in the average; together 1.
    local_steps, sparsity : int
        Steps of a site in a round; coefficients that sites and server keep.
    clip : float
        Norm to which the gradient of a row is clipped.
    rate : float
        Sampling rate of rows; 1: every row.
    radius : float
        Norm within which a site changes the model in a round.
    adjacency : str
        Neighbours of the guarantee of each site.
    """

    sites: tuple[str, ...]
    weights: tuple[float, ...]
    local_steps: int
    sparsity: int
    clip: float
    rate: float
    radius: float
    adjacency: str

    if TYPE_CHECKING:  # a field of some protocols, and computed by others

        @property
        def private(self) -> bool:
            """Whether sites add noise themselves."""

    @property
    @abstractmethod
    def turns(self) -> int:
        """Noisy answers of a site in all rounds together."""

    @property
    @abstractmethod
    def site_plan(self) -> Plan:
        """What one site is asked in all rounds together: what its bill must be for."""

    @property
    @abstractmethod
    def about(self) -> SiteSummary:
        """What the statements of sites are about."""

    def check_rounds(self, whole: Iterable[tuple[Any, float]], numbers: Iterable[float] = ()) -> None:
        """Refuse, with ValueError or TypeError, fields that no server publishes.

        `whole` are integers with their limits.
        """
        holds = (
            NONCE.fullmatch(self.nonce) is not None
            and all(type(n) is int and 1 <= n <= most for n, most in whole)
            and len(self.weights) == len(self.sites) == len(set(self.sites)) > 0
            and all(isinstance(site, str) and 0 < len(site) <= LONGEST_NAME for site in self.sites)
            and type(self.release) is str
            and all(0 < v <= LARGEST_BOUND for v in (self.clip, self.radius, *self.weights, *numbers))
            and math.isclose(math.fsum(self.weights), 1.0, rel_tol=1e-9)
            and 0 < self.rate <= 1
        )
        if not holds:
            raise ValueError("a field of the protocol is out of range.")
        Adjacency.named(self.adjacency)


#: The protocol of a server of sites, or of a site.
AgreedBySites = TypeVar("AgreedBySites", bound=SiteProtocol)


def storable_loss(loss: Loss) -> dict[str, Any]:
    """A loss as a protocol holds it; one that was given as functions is refused."""
    stored = losses.stored_loss(loss)
    if stored["loss"] == "Unstored":
        raise PrivacyError(f"the loss {loss.name!r} was given as functions, which a protocol cannot hold.")
    return stored


def read_facts(stored: dict[str, Any], names: Iterable[str], loss: Loss, /, **more: Any) -> Facts:
    """The bounds of a protocol as facts.

    ValueError for those that are missing, not finite, or leave no space for a record.
    """
    values: dict[str, Any] = {k: np.asarray(v, dtype=float) if isinstance(v, list) else v for k, v in stored.items()}
    bounds = (v for k, v in values.items() if k != "sparsity")
    if values.keys() != set(names) or not all(np.all(np.abs(v) <= LARGEST_BOUND) for v in bounds):
        raise ValueError("the bounds of a protocol must be there, and finite.")
    facts = Facts(target=losses.target_of(loss, values.pop("target_bound")), **values, **more)
    each = [np.broadcast_to(v, facts.n_features) for v in (facts.lower, facts.upper, facts.shift, facts.scale)]
    ordered = np.all(each[0] <= each[1]) and np.all(each[3] > 0) and facts.intercept >= 0
    if not (ordered and min(facts.n_rows, facts.n_features, facts.row_norm, facts.target_bound) > 0):
        raise ValueError("the bounds of a protocol must leave space for a record.")
    return facts
