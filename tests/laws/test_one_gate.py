"""One gate: every class that answers refuses every query, participation and noise that the central oracle refuses.

Classes are found in the source: whatever is an oracle, counts turns or draws noise. A new one fails here until it is told how it is asked.
"""

from __future__ import annotations

import ast
import contextlib
import copy
import importlib
import math
import pickle
from collections.abc import Callable, Iterator
from dataclasses import FrozenInstanceError, dataclass, fields, is_dataclass, replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import dpsparse
from builders import charge_for, checked
from dpsparse import SparseRegressor
from dpsparse.accounting.pricing import PricedPlan, price
from dpsparse.core import Ask, Budget, EveryRow, Noise, Plan, PoissonRows, PrivacyError
from dpsparse.core.digests import digest_of
from dpsparse.core.facts import Clip
from dpsparse.core.mechanisms import Randomness
from dpsparse.core.participation import OncePerPerson
from dpsparse.losses import Squared
from dpsparse.oracles import (
    CentralOracle,
    ExactOracle,
    Gate,
    GuardedOracle,
    LocalOracle,
    RecordingOracle,
    ReplayOracle,
    noise_info,
)
from dpsparse.oracles.client_updates import ClientUpdates, ClippedMeanNoise
from dpsparse.oracles.gate import ANSWERED
from dpsparse.oracles.local import LocalNoise
from dpsparse.oracles.shares import NoiseShare, SharedNoiseOracle
from dpsparse.oracles.tape import TapedOracle
from dpsparse.oracles.tape_file import Answer, Frame
from dpsparse.queries import rules
from dpsparse.queries.charge import MADE_BY_THE_GATE, Charge
from dpsparse.queries.gradient import contributions
from dpsparse.queries.kinds import (
    Gradient,
    Magnitude,
    PerturbedMinimum,
    RandomizedLabels,
    RidgeMinimum,
    Select,
    SupportVotes,
)
from dpsparse.queries.minimisers import exact_minimum, perturbed_minimum, proven_offset, ridge_minimum
from dpsparse.queries.rules import CHOICES, SUMS, exact_sum, measure
from dpsparse.queries.votes import votes
from dpsparse.rows.bounds import LARGEST_BOUND, SMALLEST_BOUND
from dpsparse.rows.hosts import ClusterHost, DiskHost, MemoryHost
from dpsparse.rows.records import Records
from dpsparse.rows.sampling import PoissonSample
from dpsparse.rows.single_records import private_targets
from dpsparse.sites.local.server import Collected
from loopback import spread
from questions import FACTS, QUESTIONS, D, W

LOSS = Squared()
GRADIENT = Gradient(W, Clip(0.5))
SUPPORT = np.arange(3)
#: One query of every kind.
EXAMPLES: dict[type, Any] = {
    **{type(question): question for question in reversed(QUESTIONS.values())},
    Select: Select(GRADIENT, Magnitude(), 1),
    SupportVotes: SupportVotes(GRADIENT, 1, 4),
    RidgeMinimum: RidgeMinimum(SUPPORT, Clip(0.5, slope=1.0), 1.0, 5.0),
    PerturbedMinimum: PerturbedMinimum(SUPPORT, Clip(0.5, slope=1.0), 1.0, 5.0),
    RandomizedLabels: RandomizedLabels(),
}
OFFSET = proven_offset(EXAMPLES[PerturbedMinimum], LOSS)
PARTICIPATIONS = (EveryRow(), PoissonRows(0.1), OncePerPerson(), OncePerPerson(labels=True))
ADJACENCIES = ("replace-one", "add-remove")


def host() -> MemoryHost:
    rng = np.random.default_rng(1)
    return MemoryHost(checked(rng.uniform(-1, 1, (61, D)), FACTS.counts_unread), rng.normal(size=61), FACTS)


HOST = host()


@dataclass(frozen=True)
class Case:
    """What is asked, and on which terms it was planned; hashable, by the names of types."""

    kind: type
    rows: Any
    noise: Noise
    adjacency: str
    draws: int = 1
    planned: str | None = None

    @property
    def query(self) -> Any:
        return EXAMPLES[self.kind]

    def ask(self, name: str) -> Ask:
        offset = OFFSET if self.noise is Noise.OBJECTIVE else 0.0
        return Ask(name=name, noise=self.noise, rows=self.rows, draws=self.draws, offset=offset, question=self.planned)

    def priced(self, name: str = "q") -> PricedPlan:
        bare = _price(self.noise, self.rows, self.adjacency, self.draws, name)
        return replace(bare, plan=Plan(asks=(self.ask(name),)))


@cache
def _price(noise: Noise, rows: Any, adjacency: str, draws: int, name: str) -> PricedPlan:
    case = Case(Gradient, rows, noise, adjacency, draws)
    budget = Budget.approx(1.0, 1e-5).under(adjacency)
    return price(Plan(asks=(case.ask(name),)), budget)


def cases() -> Iterator[Case]:
    """Every kind at every participation, noise, adjacency, planned kind and number of selections that can be written as an ask and priced, or without noise."""
    for kind in EXAMPLES:
        for rows in PARTICIPATIONS:
            for noise in Noise:
                for adjacency in ADJACENCIES:
                    for draws in (1, 2):
                        for planned in (None, kind.__name__, "MeanSquares"):
                            case = Case(kind, rows, noise, adjacency, draws, planned)
                            try:
                                case.ask("q")
                                if noise is not Noise.NONE:
                                    case.priced()
                            except PrivacyError:  # no plan holds such an ask
                                continue
                            yield case


class Site:
    """A site that answers anything: whether it is asked is what counts."""

    def part(self, question: Any, ask: str) -> np.ndarray:
        return np.zeros(measure(question, HOST.lattice).reach.entry.size, dtype=np.int64)

    def take_branch(self, branch: str) -> None:
        raise NotImplementedError


def curator(case: Case) -> CentralOracle:
    return CentralOracle(HOST, LOSS, case.priced(), Randomness(0))


def by_curator(case: Case) -> Any:
    return curator(case).answer(case.query, "q")


def by_replay(case: Case) -> Any:
    plan = Plan(asks=(case.ask("q"),))
    played = ReplayOracle(_Recorded(plan), [(case.kind.__name__, "q", np.zeros(1))])  # type: ignore[arg-type]
    return played.answer(case.query, "q")


def by_tape(case: Case) -> Any:
    """A tape on which the answer stands: it is played only where the gate of the curator charges the turn."""
    answer = Answer("q", case.kind.__name__, digest_of(case.query), "<f8", (1,), 0, ())
    tape = SimpleNamespace(next=lambda: Frame(answer, bytes(8), b"", 0))
    return TapedOracle(curator(case), tape, Randomness(0)).answer(case.query, "q")  # type: ignore[arg-type]


class _Recorded:
    """What a replay reads of the oracle that was recorded."""

    facts = FACTS

    def __init__(self, plan: Plan) -> None:
        self.plan = plan

    @property
    def terms(self) -> _Recorded:
        return self


def by_network(case: Case) -> Any:
    oracle = importlib.import_module(
        "dpsparse.sites.neural.oracle"
    )  # its one query is a gradient; it refuses when it is made
    if case.kind is not Gradient:
        raise PrivacyError("a network has gradients only.")
    plan = Plan(asks=(case.ask("gradient"),)) if case.noise is Noise.NONE else case.priced("gradient")
    rows = SimpleNamespace(n_rows=3)
    return oracle.NetworkOracle(None, rows, plan, 0.5, Randomness(0))


def by_changes(case: Case) -> Any:
    if case.kind is not Gradient:
        raise PrivacyError("changes of sites are sums of clipped vectors only.")
    return ClientUpdates(case.priced("changes"), 0.5, 3).average(0, [np.zeros(2)], 2, Randomness(0))


#: How each class that answers is asked.
ANSWERS: dict[str, Callable[[Case], Any]] = {
    "CentralOracle": by_curator,
    "GuardedOracle": lambda case: GuardedOracle(curator(case)).answer(case.query, "q"),
    "RecordingOracle": lambda case: RecordingOracle(curator(case)).answer(case.query, "q"),
    "ReplayOracle": by_replay,
    "TapedOracle": by_tape,
    "ExactOracle": lambda case: ExactOracle(HOST, LOSS, Plan(asks=(case.ask("q"),)), np.random.default_rng(0)).answer(
        case.query, "q"
    ),
    "NoiseShare": lambda case: NoiseShare(HOST, LOSS, case.priced(), 1, Randomness(0)).part(case.query, "q"),
    "SharedNoiseOracle": lambda case: SharedNoiseOracle(FACTS, case.priced(), [Site()], 1).answer(case.query, "q"),
    "LocalOracle": lambda case: LocalOracle(HOST, LOSS, case.priced(), Randomness(0)).answer(case.query, "q"),
    "Collected": lambda case: Collected(FACTS, LocalNoise(case.priced(), FACTS, classes=False), [np.zeros(1)]).answer(
        case.query, "q"
    ),
    "ClientUpdates": by_changes,
    "NetworkOracle": by_network,
}
#: Classes of the local model, in which people randomise their own answers: a curator refuses that participation altogether.
LOCAL = frozenset({"LocalOracle", "Collected", "ReplayOracle"})
#: Classes that answer non-private baselines, too: to them an ask without noise is one with any.
EXACT = frozenset({"ExactOracle", "NetworkOracle", "ReplayOracle"})
#: What the scan finds and nobody asks: a base class, and loops on released labels, which ask nobody.
NOT_ASKED = frozenset({"ChargedOracle", "PassingOracle", "PublicOracle"})


def refuses(answer: Callable[[Case], Any], case: Case) -> bool:
    try:
        answer(case)
    except (ValueError, TypeError, KeyError):
        return True
    return False


@cache
def refused_by_the_curator() -> dict[Case, bool]:
    return {case: refuses(by_curator, case) for case in cases()}


def let_through(name: str, reference: dict[Case, bool]) -> list[Case]:
    """Cases that a class answers and the curator refuses."""
    answered_without_noise = {
        (case.kind, case.rows, case.adjacency, case.draws, case.planned)
        for case, refused in reference.items()
        if not refused
    }
    found = []
    for case, refused in reference.items():
        if name in EXACT and case.noise is Noise.NONE:
            refused = (case.kind, case.rows, case.adjacency, case.draws, case.planned) not in answered_without_noise
        if (
            refused
            and not (name in LOCAL and isinstance(case.rows, OncePerPerson))
            and not refuses(ANSWERS[name], case)
        ):
            found.append(case)
    return found


# ------------------------------------------------------------------------------------------------ the law

#: Calls by which a class draws noise or counts turns.
TELLING = frozenset(
    {
        "Gate",
        "lattice_gaussian",
        "discrete_gaussian",
        "lattice_laplace",
        "gaussian_share",
        "gaussian_tilt",
        "gumbel_top_k",
        "permute_and_flip",
    }
)


def answering_classes() -> set[str]:
    """Classes outside `mechanisms` that are oracles, have a gate or draw noise."""
    root, found = Path(dpsparse.__file__).parent, set()
    for file in root.rglob("*.py"):
        if file.is_relative_to(root / "core" / "mechanisms"):
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                bases = {base.id for base in node.bases if isinstance(base, ast.Name)}
                called = {
                    inner.func.id
                    for inner in ast.walk(node)
                    if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Name)
                }
                if called & TELLING or bases & {"Oracle", "ChargedOracle", "CentralOracle", "PassingOracle"}:
                    found.add(node.name)
    return found


def test_every_class_that_answers_is_under_the_law():
    assert answering_classes() == {*ANSWERS, *NOT_ASKED}
    assert set(EXAMPLES) == {*ANSWERED, RandomizedLabels}


def test_the_curator_answers_every_kind_on_some_terms_and_refuses_most():
    reference = refused_by_the_curator()
    assert {case.kind for case, refused in reference.items() if not refused} == ANSWERED
    assert {case.kind for case, refused in reference.items() if not refused and isinstance(case.rows, PoissonRows)} == {
        kind for kind, rule in SUMS.items() if rule.sampled
    }
    assert sum(reference.values()) > len(reference) / 2


@pytest.mark.parametrize("name", sorted(ANSWERS))
def test_what_the_curator_refuses_is_refused_by_every_class(name):
    if name == "NetworkOracle":
        pytest.importorskip("torch")
    assert let_through(name, refused_by_the_curator()) == []


@pytest.mark.parametrize(
    "name", ["NoiseShare", "SharedNoiseOracle", "ExactOracle", "LocalOracle", "Collected", "ReplayOracle"]
)
def test_the_law_is_not_kept_by_refusing_everything(name):
    assert not all(refuses(ANSWERS[name], case) for case in refused_by_the_curator())


# ------------------------------------------------------------------------------------------------ controls


def test_control_a_curator_without_the_check_is_caught(monkeypatch):
    reference = refused_by_the_curator()
    for check in ("check_query", "check_plan"):
        monkeypatch.setattr(noise_info, check, lambda *args, **kwargs: None)
    assert let_through("CentralOracle", reference)


def test_control_sites_that_answer_a_sampled_ask_on_all_rows_are_caught(monkeypatch):
    reference = refused_by_the_curator()
    monkeypatch.setattr(noise_info, "check_query", lambda *args, **kwargs: None)
    monkeypatch.setattr("dpsparse.oracles.shares.check_plan", lambda *args, **kwargs: None)
    monkeypatch.setattr(rules, "sample_of", lambda charge: (None,) if SUMS[type(charge.query)].sampled else ())
    caught = {case.kind for case in let_through("NoiseShare", reference) if isinstance(case.rows, PoissonRows)}
    assert caught >= {kind for kind, rule in SUMS.items() if not rule.sampled}


def test_control_a_mean_without_its_check_is_caught(monkeypatch):
    reference = refused_by_the_curator()
    monkeypatch.setattr(ClippedMeanNoise, "check_plan", lambda self: None)
    assert let_through("ClientUpdates", reference)


# ------------------------------------------------------------------------------------------------ what stands behind the gate


@pytest.mark.parametrize("kind", [*SUMS, *CHOICES], ids=lambda kind: kind.__name__)
def test_a_sum_over_every_row_refuses_a_sample(kind):
    """Even where a gate forgot to: the rows of a sample would all be counted, at the price of a sample."""

    def charge(rows: Any, sample: Any) -> Charge:
        made = charge_for(EXAMPLES[kind], HOST)
        object.__setattr__(made, "sample", sample)
        object.__setattr__(made, "ask", replace(made.ask, rows=rows))
        return made

    sums = (lambda made: HOST.total(made, LOSS), lambda made: exact_sum(made, HOST.shards, LOSS))
    for rows, message in ((EveryRow(), "priced for other rows"), (PoissonRows(0.1), "over every row")):
        for compute in sums:
            if isinstance(rows, PoissonRows) and kind in SUMS and SUMS[kind].sampled:
                assert np.any(compute(charge(rows, PoissonSample(0.1, 5))))
                continue
            with pytest.raises(PrivacyError, match=message):
                compute(charge(rows, PoissonSample(0.1, 5)))
    with pytest.raises(PrivacyError, match="priced for other rows"):
        HOST.total(charge(PoissonRows(0.1), None), LOSS)


# ------------------------------------------------------------------------------------------------ charges


def hosts() -> Iterator[Any]:
    X, y = np.zeros((6, D)), np.zeros(6)
    yield MemoryHost(X, y, FACTS.with_(counts_unread=0))
    yield DiskHost(X, y, FACTS.with_(counts_unread=0), 2**26)
    yield ClusterHost(Records(spread(X, y)), y, FACTS.with_(counts_unread=0))


@pytest.mark.parametrize("kind", ["a query", "its name", "nothing", "looks like one"])
def test_a_host_that_is_asked_without_a_charge_refuses(kind):
    fields = vars(charge_for(GRADIENT, HOST))
    given = {"a query": GRADIENT, "its name": "gradient", "nothing": None, "looks like one": SimpleNamespace(**fields)}
    for asked in hosts():
        assert asked.total(charge_for(GRADIENT, asked), LOSS).size == D + 1
        with pytest.raises(PrivacyError, match="asked with a Charge"):
            asked.total(given[kind], LOSS)
        asked.close()


#: Whoever computes an answer from rows, with a query that it answers.
COMPUTING: dict[str, tuple[Any, Callable[[Any], Any]]] = {
    "host": (GRADIENT, lambda charge: HOST.total(charge, LOSS)),
    "exact sum": (GRADIENT, lambda charge: exact_sum(charge, HOST.shards, LOSS)),
    "votes": (EXAMPLES[SupportVotes], lambda charge: votes(charge, HOST.shards, LOSS, 3)),
    "ridge minimum": (EXAMPLES[RidgeMinimum], lambda charge: ridge_minimum(charge, HOST.shards, LOSS, 1e-3)),
    "perturbed minimum": (
        EXAMPLES[PerturbedMinimum],
        lambda charge: perturbed_minimum(charge, HOST.shards, LOSS, np.zeros(3), 1e-3),
    ),
    "exact minimum": (EXAMPLES[RidgeMinimum], lambda charge: exact_minimum(charge, HOST.shards, LOSS)),
    "gradients of people": (GRADIENT, lambda charge: next(contributions(charge, HOST.shards, LOSS, np.ones(61) > 0))),
    "targets of people": (GRADIENT, lambda charge: private_targets(charge, HOST.shards)),
}


@pytest.mark.parametrize("name", COMPUTING)
def test_a_charge_is_used_once_and_a_copy_of_one_never(name):
    query, compute = COMPUTING[name]
    for copied in (copy.copy, copy.deepcopy, lambda charge: pickle.loads(pickle.dumps(charge))):
        charge = charge_for(query, HOST)
        with pytest.raises(PrivacyError, match="a copy of one"):
            compute(copied(charge))
        assert np.any(np.asarray(compute(charge))), "the control"
        with pytest.raises(PrivacyError, match="was used"):
            compute(charge)
    with pytest.raises(PrivacyError, match="asked with a Charge"):
        compute(query)


def test_everything_that_computes_from_rows_takes_a_charge():
    """Functions of queries that read shards and are called by oracles take the charge first, or the part of a host that used it."""
    root = Path(dpsparse.__file__).parent / "oracles"
    reading = {"total", "exact_sum", "votes", "ridge_minimum", "perturbed_minimum", "exact", "contributions"}
    reading |= {"private_targets"}
    called = [
        node
        for file in root.glob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and getattr(node.func, "id", getattr(node.func, "attr", None)) in reading
        and any("shards" in ast.unparse(a) or ast.unparse(a) == "self._loss" for a in node.args)
    ]
    assert {ast.unparse(node.args[0]) for node in called} == {"charge"}
    assert len(called) >= 9


def test_charges_are_made_by_the_gate_alone():
    charge = charge_for(GRADIENT, HOST)
    with pytest.raises(TypeError, match=r"made by Gate\.next"):
        Charge(**vars(charge), made_by=object())
    with pytest.raises(ValueError, match="made_by"):
        replace(charge, sensitivity=0.0)
    with pytest.raises(FrozenInstanceError):
        charge.sample = None  # type: ignore[misc]
    assert Charge(**vars(charge), made_by=MADE_BY_THE_GATE).query is GRADIENT, "the control"


def test_nobody_else_in_the_sources_makes_charges_or_takes_a_sample_of_rows():
    """Names that only the gate may use, and those few that decide who takes part in what is no sum."""
    root = Path(dpsparse.__file__).parent
    names = ("MADE_BY_THE_GATE", "Charge", "PoissonSample", "exact_charge")
    found: dict[str, set[str]] = {name: set() for name in names}
    for file in root.rglob("*.py"):
        if file.parent.name in ("accounting", "ledger"):  # have charges of their own: whole plans
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            name = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else None
            if isinstance(node, ast.ImportFrom):
                found["MADE_BY_THE_GATE"] |= {file.name for alias in node.names if alias.name == "MADE_BY_THE_GATE"}
            if name in found:
                found[name].add(file.name)
    assert found == {
        "MADE_BY_THE_GATE": {"gate.py"},
        "Charge": {"gate.py"},
        "PoissonSample": {"gate.py", "client_updates.py", "sampling.py"},
        # of audits, whose rows are synthetic, and of marks of rows, which are values of a keyed hash
        "exact_charge": {"responses.py", "trace.py", "tape.py"},
    }


# ------------------------------------------------------------------------------------------------ faults of queries


def faulty(value: Any) -> Iterator[Any]:
    """A part of a query with one array of another shape, without it, out of range or no number; or with a wild number."""
    if isinstance(value, np.ndarray):
        yield from (value[..., :-1], value[None], value.ravel()[:1].sum(), None, value.astype(str), 1e200 * (1 + value))
        yield from (value[:0], value[::-1], np.concatenate([value, value]), value.astype(object), value.tolist())
    elif isinstance(value, float):
        yield from (math.nan, math.inf, -1.0, 0.0, None)
    elif type(value) is int:
        yield from (-1, 0, 10**7, 2**70, 1.5, None)
    elif is_dataclass(value):
        for field in fields(value):
            for wrong in faulty(getattr(value, field.name)):
                with contextlib.suppress(Exception):  # no such part is made
                    yield replace(value, **{field.name: wrong})  # type: ignore[type-var]


def lost_turns(query: Any) -> list[str]:
    """Faults of a query that are found once it is paid."""
    kind, found = type(query), []
    noise = {Select: Noise.GUMBEL, SupportVotes: Noise.GUMBEL, PerturbedMinimum: Noise.OBJECTIVE}.get(
        kind, Noise.GUMBEL if kind in CHOICES else Noise.GAUSSIAN
    )
    case = Case(kind, EveryRow(), noise, "replace-one", getattr(query, "count", 1) if noise is Noise.GUMBEL else 1)
    for wrong in faulty(query):
        paid: list[int] = []
        payment = SimpleNamespace(start=lambda paid=paid: paid.append(1))
        oracle = CentralOracle(HOST, LOSS, case.priced(), Randomness(0), payment)
        try:
            GuardedOracle(oracle).answer(wrong, "q")
        except Exception as error:
            found += [f"{kind.__name__}: {error}"] * bool(paid)
    return found


ASKED = {
    **QUESTIONS,
    **{kind.__name__: EXAMPLES[kind] for kind in (Select, SupportVotes, RidgeMinimum, PerturbedMinimum)},
}


@pytest.mark.parametrize("name", ASKED)
def test_a_faulty_query_costs_no_turn(name):
    assert lost_turns(ASKED[name]) == []


def test_control_without_a_made_up_record_faulty_queries_cost_turns(monkeypatch):
    monkeypatch.setattr(noise_info, "try_out", lambda *_: None)
    assert len(lost_turns(QUESTIONS["residual"])) > 10


def test_a_turn_is_paid_before_its_charge_exists_and_only_once():
    paid: list[str] = []
    case = Case(Gradient, PoissonRows(0.1), Noise.GAUSSIAN, "replace-one")
    terms = noise_info.PricedNoise(case.priced(), HOST.lattice, together=True)
    payment = SimpleNamespace(start=lambda: paid.append("paid"))
    gate = Gate(terms, lambda: paid.append("key") or 7, payment, paid.append)  # type: ignore[func-returns-value]
    with pytest.raises(PrivacyError):
        gate.next(EXAMPLES[Select], "q")
    assert paid == []
    assert gate.next(GRADIENT, "q").sample == PoissonSample(0.1, 7)
    assert paid == ["paid", "q", "key"]
    with pytest.raises(PrivacyError, match="all are used"):
        gate.next(GRADIENT, "q")
    assert paid == ["paid", "q", "key"]


def test_a_turn_whose_payment_fails_is_spent_and_has_no_charge():
    def fails() -> None:
        raise OSError("no disk")

    terms = noise_info.PricedNoise(Case(Gradient, EveryRow(), Noise.GAUSSIAN, "replace-one").priced(), HOST.lattice)
    gate = Gate(terms, None, SimpleNamespace(start=fails))
    with pytest.raises(OSError, match="no disk"):
        gate.next(GRADIENT, "q")
    assert gate.unused_turns == {}


def test_a_charge_of_a_gate_without_keys_is_refused_by_rows_if_it_was_priced_for_a_sample():
    terms = noise_info.PricedNoise(
        Case(Gradient, PoissonRows(0.1), Noise.GAUSSIAN, "replace-one").priced(), HOST.lattice
    )
    charge = Gate(terms).next(GRADIENT, "q")
    with pytest.raises(PrivacyError, match="priced for other rows"):
        HOST.total(charge, LOSS)


@pytest.mark.parametrize("n_rows", [1, 61, 2**20, 2**31 - 1])
@pytest.mark.parametrize("kind", SUMS, ids=lambda kind: kind.__name__)
def test_every_sum_has_a_release_step(kind, n_rows):
    """What neighbours move is at most 2^24 steps, so that a bin of the noise holds 2^28 floats of its sampler and more, and totals are exact."""
    lattice = type(HOST.lattice)(FACTS.with_(n_rows=n_rows))
    found = measure(EXAMPLES[kind], lattice)
    for relation in dpsparse.core.Adjacency:
        assert found.reach.l2(relation) / np.min(found.step) <= 2**24


def test_a_curator_says_that_people_of_the_local_model_answer_for_themselves():
    with pytest.raises(PrivacyError, match="each person answers for themselves"):
        by_curator(Case(Gradient, OncePerPerson(), Noise.LOCAL, "replace-one"))


def test_sizes_that_cannot_be_squared_are_refused_everywhere():
    ask = Ask(name="changes", noise=Noise.GAUSSIAN)
    for size in (1e-61, 1e61, 0.0, -1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match="between 1e-60 and 1e"):
            Clip(size)
        with pytest.raises(ValueError, match="between 1e-60 and 1e"):
            Clip(1.0, columns=np.array([1.0, size]))
        with pytest.raises(PrivacyError, match="between 1e-60 and 1e"):
            ClippedMeanNoise(Plan(asks=(ask,)), None, size, 3).check_plan()


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("recipe", ["tables", "select_polish", "dual_averaging", "lazy_iht", "dp_gcd", "two_stage"])
def test_no_query_of_a_fit_leaves_the_range_within_which_bounds_are_declared(recipe):
    """A refusal by size comes before a fit is paid for, or not at all."""
    X, y = np.asarray(np.random.default_rng(2).uniform(-1, 1, (300, 5))), np.linspace(-1, 1, 300)
    for bound in (SMALLEST_BOUND, LARGEST_BOUND):
        for target in (SMALLEST_BOUND, 1.0, LARGEST_BOUND):
            model = SparseRegressor(
                epsilon=1.0, feature_bound=bound, target_bound=target, sparsity=2, recipe=recipe, random_state=0
            )
            assert np.all(np.isfinite(model.fit(X * bound, y * target).coef_))
    for beyond in (SMALLEST_BOUND / 2, LARGEST_BOUND * 2):
        with pytest.raises(ValueError, match="bound must be"):
            SparseRegressor(feature_bound=beyond, target_bound=1.0, recipe=recipe).fit(X, y)
        with pytest.raises(ValueError, match="target_bound must be"):
            SparseRegressor(feature_bound=1.0, target_bound=beyond, recipe=recipe).fit(X, y)
