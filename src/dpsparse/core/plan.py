"""The plan: what a solver will ask, written down before a row is read.

A plan is data. It can be printed, stored, priced and refused; it never holds a row. Each `Ask` names a method of the
oracle, says which noise protects its answer, how often it will be used, on which rows, and which share of the budget
it takes. Shares are relative: `price` scales them all by one number until the budget is met.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from .codec import FormError, Via, canonical_json, form, read, write
from .errors import PrivacyError
from .participation import OncePerPerson
from .parts import SplitRule
from .plain import Json


class Noise(StrEnum):
    """What protects an answer."""

    GAUSSIAN = "gaussian"
    DISCRETE_GAUSSIAN = "discrete-gaussian"
    LAPLACE = "laplace"
    GUMBEL = "gumbel"
    PERMUTE_AND_FLIP = "permute-and-flip"
    OBJECTIVE = "objective"
    LOCAL = "local"
    LOCAL_GAUSSIAN = "local-gaussian"
    NONE = "none"

    @property
    def pure(self) -> bool:
        """Whether one answer is epsilon-DP with delta = 0."""
        return self in (Noise.LAPLACE, Noise.GUMBEL, Noise.PERMUTE_AND_FLIP, Noise.LOCAL)

    @property
    def local(self) -> bool:
        """Whether each person's device draws it."""
        return self in (Noise.LOCAL, Noise.LOCAL_GAUSSIAN)


@form("kind")
@dataclass(frozen=True)
class EveryRow:
    """Every row answers every turn."""

    def __str__(self) -> str:
        return "every row"


@form("kind")
@dataclass(frozen=True)
class PoissonRows:
    """Each row answers a turn independently with probability `rate`; sums are divided by rate * n afterwards."""

    rate: float

    def __post_init__(self) -> None:
        if not 0 < self.rate < 1:
            raise PrivacyError(
                f"a sampling rate must lie strictly between 0 and 1, got {self.rate!r}; use EveryRow() for all rows."
            )

    def __str__(self) -> str:
        return f"each row with probability {self.rate:.6g}"


Participation = EveryRow | PoissonRows | OncePerPerson


@dataclass(frozen=True)
class RandomTurns:
    r"""The law of a number of turns that was drawn from public randomness when the plan was made.

    The turns are the sum of `epochs` independent geometric numbers,
    :math:`P(N = k) = (1-\gamma)\gamma^k` for :math:`k \ge 0` with :math:`\gamma = m/(1+m)` and mean
    m, and each model of the plan takes them `copies` times.

    Guarantee
    ---------
    The draw is independent of the data and is published, so the price is that of the law: the delta
    of a plan is the mean of the deltas of its outcomes (see `accounting.pld`), and the noise does
    not depend on which outcome was drawn. This needs a draw by chance: an outcome that somebody
    picked is not covered by the law. Asks that use one draw say so by the same `name`, and are
    priced together: :math:`E(M_1M_2)^N` is more than :math:`E M_1^N\, E M_2^N`. Different names are
    different, independent draws.

    Parameters
    ----------
    epochs : int
    mean_each : float
        m: mean of one geometric number.
    copies : int
        How often the whole number is used: one for each model.
    name : str
        Which draw it is. A plan with several asks of random numbers must name them.
    """

    epochs: int
    mean_each: float
    copies: int = 1
    name: str = ""

    def __post_init__(self) -> None:
        if self.epochs < 1 or self.copies < 1 or not (math.isfinite(self.mean_each) and self.mean_each > 0):
            raise PrivacyError(
                "random times need epochs >= 1, copies >= 1 and a positive mean, got "
                f"{self.epochs}, {self.copies} and {self.mean_each!r}."
            )

    @property
    def stay(self) -> float:
        """gamma: the probability of one more turn."""
        return self.mean_each / (1 + self.mean_each)

    @property
    def mean(self) -> float:
        """Expected number of turns."""
        return self.epochs * self.mean_each * self.copies

    def draw(self, generator: np.random.Generator) -> tuple[int, ...]:
        """One number for each epoch."""
        return tuple(int(k) - 1 for k in generator.geometric(1 - self.stay, self.epochs))

    def generating(self, z: NDArray[np.complex128]) -> NDArray[np.complex128]:
        """E z^N."""
        return np.asarray(((1 - self.stay) / (1 - self.stay * z**self.copies)) ** self.epochs)

    def log_moment(self, log_z: float) -> float:
        """Log of E z^N for real z > 0; infinite where the sum diverges."""
        if self.copies * log_z + math.log(self.stay) >= 0:
            return math.inf
        return self.epochs * (math.log1p(-self.stay) - math.log1p(-self.stay * math.exp(self.copies * log_z)))

    def tilted(self, log_z: float) -> RandomTurns | None:
        """The law with probabilities proportional to z^N P(N), which is of the same kind.

        None where that sum diverges.
        """
        log_stay = self.copies * log_z + math.log(self.stay)
        if log_stay >= -1e-9:
            return None
        return replace(self, mean_each=1 / math.expm1(-log_stay))

    def __str__(self) -> str:
        return f"drawn from the sum of {self.epochs} geometric numbers of mean {self.mean_each:.6g}"


@form(later=(("question",),))
@dataclass(frozen=True, kw_only=True)
class Ask:
    """One kind of noisy answer.

    Parameters
    ----------
    name : str
        By which the solver asks for it; unique in a plan.
    noise : Noise
        The mechanism that answers.
    times : int
        Turns: how often it will be asked.
    draws : int
        Mechanisms composed within one turn; a top-k selection is k selections.
    rows : EveryRow, PoissonRows or OncePerPerson
        Which rows answer.
    share : float
        Weight of all turns together in the budget.
    schedule : tuple of float or None
        Relative weight of each turn; None: all alike.
    law : RandomTurns or None
        The law that `times` was drawn from, by chance and in public; None: it was chosen. The price
        is that of the law, and `share` is the weight of the expected number of turns.
    offset : float
        Loss of one draw that no noise removes: the log-determinant of a perturbed objective.
        Public.
    question : str or None
        Kind of query that will be asked, by the name of its type; oracles refuse any other, and
        refuse a plan whose queries they cannot answer. None: any kind.
    """

    name: str
    noise: Noise
    times: int = 1
    draws: int = 1
    rows: Participation = EveryRow()
    share: float = 1.0
    schedule: tuple[float, ...] | None = None
    law: RandomTurns | None = None
    offset: float = 0.0
    question: str | None = None

    def __post_init__(self) -> None:
        if self.times < (0 if self.law else 1) or self.draws < 1:
            raise PrivacyError(
                f"ask {self.name!r}: times and draws must be at least 1, got {self.times} and {self.draws}."
            )
        if not (math.isfinite(self.share) and self.share > 0):
            raise PrivacyError(f"ask {self.name!r}: share must be positive, got {self.share!r}.")
        if self.schedule is not None and (
            len(self.schedule) != self.times or not all(math.isfinite(v) and v > 0 for v in self.schedule)
        ):
            raise PrivacyError(f"ask {self.name!r}: schedule must hold {self.times} positive weights, one per turn.")
        if not (math.isfinite(self.offset) and self.offset >= 0) or (self.offset and self.noise is not Noise.OBJECTIVE):
            raise PrivacyError(
                f"ask {self.name!r}: offset must be a non-negative number, and zero unless the noise is 'objective'."
            )
        if self.law is not None and (
            self.noise not in (Noise.GAUSSIAN, Noise.NONE) or self.draws > 1 or self.schedule is not None
        ):
            raise PrivacyError(
                f"ask {self.name!r}: a random number of turns needs Gaussian noise, one draw a turn and no schedule."
            )
        if isinstance(self.rows, PoissonRows) and self.noise not in (Noise.GAUSSIAN, Noise.NONE):
            raise PrivacyError(
                f"ask {self.name!r}: sampled rows can only be priced with Gaussian noise, not "
                f"{str(self.noise)!r}. Use EveryRow() or noise='lattice'."
            )

        if isinstance(self.rows, OncePerPerson) is not self.noise.local:
            raise PrivacyError(
                f"ask {self.name!r}: {str(self.noise)!r} noise and {self.rows} do not go together; "
                "randomised reports are given by each person once."
            )
        if isinstance(self.rows, OncePerPerson) and (self.draws > 1 or self.schedule is not None):
            raise PrivacyError(
                f"ask {self.name!r}: people who answer once all have the same budget and give one "
                "report: no draws, no schedule."
            )
        if isinstance(self.rows, OncePerPerson) and self.rows.labels and self.times != self.rows.reports:
            raise PrivacyError(
                f"ask {self.name!r}: everybody gives the label in one turn for each model, not in {self.times}."
            )

    def weights(self) -> tuple[float, ...]:
        """Weight of one draw, for each turn."""
        if isinstance(self.rows, OncePerPerson):  # groups are disjoint: every turn has the whole share
            return (self.share / self.rows.counted,) * self.times
        if self.law is not None:
            return (self.share / self.law.mean,) * self.times
        schedule = self.schedule or (1.0,) * self.times
        total = math.fsum(schedule)
        return tuple(self.share * v / (total * self.draws) for v in schedule)

    @property
    def sampling_rate(self) -> float:
        """The probability with which a row is drawn for a turn; 1 where none is left out by chance."""
        return self.rows.rate if isinstance(self.rows, PoissonRows) else 1.0

    @property
    def rate(self) -> float:
        """The part of the rows that is expected to answer a turn; in the local model, of the people."""
        return self.rows.reports / self.times if isinstance(self.rows, OncePerPerson) else self.sampling_rate

    def repeated(self, times: int) -> Ask:
        """The ask of `times` models on the same rows, each at the same price."""
        if isinstance(self.rows, OncePerPerson):
            rows = replace(self.rows, reports=self.rows.reports * times)
            share = self.share * rows.counted / self.rows.counted
            return replace(self, times=self.times * times, share=share, rows=rows)
        return replace(
            self,
            times=self.times * times,
            share=self.share * times,
            schedule=None if self.schedule is None else self.schedule * times,
            law=None if self.law is None else replace(self.law, copies=self.law.copies * times),
        )

    def once(self, models: int) -> Ask:
        """The ask of one of `models` equal models: the inverse of `repeated`."""
        times = self.times // models
        schedule = None if self.schedule is None else self.schedule[:times]
        return replace(self, times=times, share=self.share / models, schedule=schedule)


def _check_parts(plan: Plan) -> None:
    """Parts ask, and nothing beside them; their rows are dealt once."""
    if bool(plan.parts) is not (plan.coins is not None):
        raise PrivacyError("a plan in parts says by which coins rows are dealt to them, and no other plan does.")
    if plan.parts and (len(plan.parts) != 2 or plan.asks or plan.branches):  # coins have two sides
        raise PrivacyError(
            "a plan in parts has two of them, and asks nothing beside: a row that answers both would be counted once."
        )
    if any(part.parts or part.local for part in plan.parts):
        raise PrivacyError("a part is a plan of a curator, without parts of its own.")


def _check_laws(plan: Plan) -> None:
    """Asks with a random number of turns must say whether they share one draw."""
    drawn = [ask for ask in plan.all_asks() if ask.law is not None]
    seen: dict[str, Ask] = {}
    for ask in drawn:
        assert ask.law is not None
        if len(drawn) > 1 and not ask.law.name:
            raise PrivacyError(
                f"ask {ask.name!r} has a random number of turns, and so has another ask. Name the "
                "laws: the same name for one "
                "draw that both use, different names for independent draws."
            )
        first = seen.setdefault(ask.law.name, ask)
        if (first.law, first.times) != (ask.law, ask.times):
            raise PrivacyError(
                f"asks {first.name!r} and {ask.name!r} share the draw {ask.law.name!r}, so they "
                "need the same law and the same "
                "number of turns."
            )


def _write_public(public: Mapping[str, object]) -> Json:
    return {name: _choice(value, name) for name, value in public.items()}


def _choice(value: object, name: str) -> Any:
    """A public choice: a number, a text, a tuple or an array of them; tags tell tuples and arrays apart."""
    if isinstance(value, np.ndarray | np.generic):
        return {"array": write(value), "dtype": str(value.dtype)}
    if isinstance(value, tuple):
        return {"tuple": [_choice(entry, name) for entry in value]}
    if value is None or isinstance(value, str | int | float):
        return write(value)
    raise PrivacyError(f"a plan holds public {name!r} of type {type(value).__name__}, which has no stored form.")


def _read_public(content: object, where: str) -> dict[str, object]:
    if not isinstance(content, dict):
        raise FormError(f"{where} must be an object.")
    return {name: _public_value(value, where) for name, value in content.items()}


def _public_value(value: Any, where: str) -> object:
    if value is None or isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    if isinstance(value, dict) and value.keys() == {"tuple"} and isinstance(value["tuple"], list):
        return tuple(_public_value(entry, where) for entry in value["tuple"])
    try:
        array = np.array(value["array"], dtype=value["dtype"])
        found = array if array.ndim else array[()]
        if array.dtype.kind in "biuf" and canonical_json(_choice(found, where)) == canonical_json(value):
            return found  # what is written again as it was: nothing was converted
    except (TypeError, ValueError, KeyError, OverflowError):
        pass
    raise FormError(f"{where} must hold numbers, texts, tuples and arrays of numbers.")


@form(later=(("unproven",), ("parts", "coins")))
@dataclass(frozen=True, kw_only=True)
class Plan:
    """Everything a solver will ask.

    Parameters
    ----------
    asks : tuple of Ask
    public : mapping
        Public choices drawn when the plan was made (an order of coordinates, a random number of
        steps).
    order : tuple of str
        Names of asks, one for each turn, in the order in which they will be asked; oracles hold a
        solver to it. Empty: any order. Plans with selections of several kinds are priced more
        tightly when their order is known.
    branches : tuple of (name, Plan)
        What may follow once all asks are used: a solver chooses one by name, from what it was answered.
        Every branch is priced: the noise is such that the dearest one keeps the budget.
    interleaved : bool
        The asks of this plan and of its branches run several times over, one model after the other.
    unproven : str
        Why the price of this plan does not cover what is released; empty for a plan with a proof. A
        plan with an unproven branch is unproven. Ledgers and searches refuse such a plan, a fit
        needs ``accept=("unproven",)``, and its statement says so first.
    models : int
        How many times over, where that is known: then each model runs its part of the asks, and
        takes a branch of its own.
    parts : tuple of Plan
        Plans of rows that are dealt to them by `coins`, each row to one; what a later one asks may
        depend on the answers of the earlier ones. Such a plan asks nothing itself, and costs as much as
        its dearest part (see `core.parts`).
    coins : SplitRule or None
        How rows are dealt to parts.
    """

    asks: tuple[Ask, ...]
    public: Annotated[Mapping[str, Any], Via(_write_public, _read_public)] = field(default_factory=dict)
    order: tuple[str, ...] = ()
    branches: tuple[tuple[str, Plan], ...] = ()
    interleaved: bool = False
    unproven: str = ""
    models: int = 1
    parts: tuple[Plan, ...] = ()
    coins: SplitRule | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.unproven, str):
            raise PrivacyError(f"unproven must be a text that says why, or empty, got {self.unproven!r}.")
        _check_parts(self)
        if not self.unproven:
            doubts = dict.fromkeys(plan.unproven for plan in self.followers if plan.unproven)
            object.__setattr__(self, "unproven", "; ".join(doubts))
        if self.models < 1 or (self.models > 1 and not self.interleaved):
            raise PrivacyError(f"only interleaved plans hold several models, and none holds {self.models}.")
        if not self._divisible(self.models):
            raise PrivacyError(
                f"{self.models} equal models take equal numbers of turns of every ask, in the same order."
            )
        _check_laws(self)
        for names in ([a.name for a in self.asks], [name for name, _ in self.branches]):
            if len(set(names)) != len(names):
                raise PrivacyError(f"a plan must not name an ask or a branch twice, got {names}.")
        if self.order and Counter(self.order) != Counter({a.name: a.times for a in self.asks}):
            raise PrivacyError("the order of a plan must name every ask once for each of its turns.")

    def _divisible(self, models: int) -> bool:
        """Whether the plan and its branches can be those of this many equal models, one after the other."""
        own = self.order == self.order[: len(self.order) // models] * models
        even = all(
            a.times % models == 0 and a.schedule in (None, (a.schedule or ())[: a.times // models] * models)
            for a in self.asks
        )
        return own and even and all(plan._divisible(models) for _, plan in self.branches)

    def __getitem__(self, name: str) -> Ask:
        for ask in self.asks:
            if ask.name == name:
                return ask
        raise KeyError(name)

    @property
    def followers(self) -> tuple[Plan, ...]:
        """The branches, one of which comes after the asks, or the parts, one of which has a record."""
        return (*(branch for _, branch in self.branches), *self.parts)

    def all_asks(self) -> Iterator[Ask]:
        """The asks of the plan, of its branches and of its parts."""
        yield from self.asks
        for follower in self.followers:
            yield from follower.all_asks()

    def changed(self, change: Callable[[Ask], Ask]) -> Plan:
        """The plan with every ask changed, those of branches and parts too."""
        asks, parts = tuple(map(change, self.asks)), tuple(part.changed(change) for part in self.parts)
        branches = tuple((name, branch.changed(change)) for name, branch in self.branches)
        return replace(self, asks=asks, branches=branches, parts=parts)

    @property
    def local(self) -> bool:
        """Whether every answer is made of reports that people randomised themselves."""
        return bool(self.asks) and all(a.noise.local for a in self.asks) and not self.branches

    @property
    def labels_only(self) -> bool:
        """Whether labels alone are private: features are then public, and solvers may see them."""
        return self.local and all(isinstance(a.rows, OncePerPerson) and a.rows.labels for a in self.asks)

    def branch(self, name: str) -> Plan:
        """The branch of this name; PrivacyError if no branch has it."""
        for known, plan in self.branches:
            if known == name:
                return plan
        raise PrivacyError(f"the plan has no branch {name!r}; it has {[known for known, _ in self.branches]}.")

    @property
    def share(self) -> float:
        """The shares of all asks, with those of the dearest branch or part."""
        return math.fsum(a.share for a in self.asks) + max((plan.share for plan in self.followers), default=0.0)

    def with_share(self, share: float) -> Plan:
        """The plan with all shares multiplied by one number, so that they come to `share`."""
        factor = share / self.share
        return self.changed(lambda ask: replace(ask, share=ask.share * factor))

    def then(self, asks: tuple[Ask, ...]) -> Plan:
        """The plan with some asks after everything else, whatever branch was taken.

        Each of these asks has one turn, and they keep their order.
        """
        if self.branches:
            return replace(self, branches=tuple((name, branch.then(asks)) for name, branch in self.branches))
        order = (*self.order, *(ask.name for ask in asks)) if self.order else ()
        return replace(self, asks=(*self.asks, *asks), order=order)

    def repeated(self, times: int) -> Plan:
        """The plan of running this one on the same rows for each of `times` classes.

        Each class has a model of its own, which separates it from the rest.
        """
        if times == 1:
            return self
        if self.parts:
            raise PrivacyError("a plan in parts is for one model: rows are dealt once.")
        asks = tuple(a.repeated(times) for a in self.asks)
        branches = tuple((name, plan.repeated(times)) for name, plan in self.branches)
        mixed = self.interleaved or bool(branches)
        order = () if mixed else self.order * times
        models = self.models * times if branches and self.interleaved is (self.models > 1) else 1
        return replace(self, asks=asks, order=order, branches=branches, interleaved=mixed, models=models)

    def once(self, models: int | None = None) -> Plan:
        """The plan of one of its models, at the price of each.

        The inverse of `repeated`, but for the order before branches.
        """
        times = self.models if models is None else models
        return replace(
            self,
            asks=tuple(a.once(times) for a in self.asks),
            order=self.order[: len(self.order) // times],
            branches=tuple((name, plan.once(times)) for name, plan in self.branches),
            interleaved=self.interleaved and self.models == 1,
            models=1,
        )

    def selections(self) -> tuple[tuple[float, int], ...] | None:
        """Weight and number of draws of each selection turn, in the order they are asked; None if that is not known."""
        asks = [a for a in self.asks if a.noise is Noise.GUMBEL]
        turns = tuple((weight, a.draws) for a in asks for weight in a.weights())
        if len({weight for weight, _ in turns}) <= 1 and not self.interleaved:
            return turns
        if self.interleaved or (len(asks) > 1 and not self.order):
            return None
        if not self.order:
            return turns
        left = {a.name: iter(a.weights()) for a in asks}
        return tuple((next(left[name]), self[name].draws) for name in self.order if name in left)

    def with_noise(self, old: Noise, new: Noise) -> Plan:
        """The plan with one kind of noise exchanged for another."""
        return self.changed(lambda ask: replace(ask, noise=new) if ask.noise is old else ask)


#: Version of stored plans; a release reads every version up to its own. Version 1 had no names of
#: laws and no numbers of models; version 2 had no parts, and is still written for plans without
#: them.
VERSION = 3


def write_plan(plan: Plan) -> dict[str, Any]:
    """A plan as JSON types, with its version; `read_plan` gives it back.

    Examples
    --------
    >>> plan = Plan(asks=(Ask(name="gradient", noise=Noise.GAUSSIAN, times=10),))
    >>> read_plan(write_plan(plan)) == plan
    True
    """
    return {"version": VERSION if plan.parts else VERSION - 1, **write(plan)}


def read_plan(content: Any, where: str = "plan") -> Plan:
    """The inverse of `write_plan`.

    Raises
    ------
    FormError
        If the content is not a plan, or one of a later release.
    """
    version = content.get("version") if isinstance(content, dict) else None
    if type(version) is not int or version not in range(1, VERSION + 1):
        raise FormError(f"{where} must have a version; this release reads versions up to {VERSION}. Update dpsparse.")
    return read(Plan, {name: value for name, value in content.items() if name != "version"}, where)
