"""One gate: every class that answers refuses every query, participation and noise that the central oracle refuses.

Classes are found in the source: whatever is an oracle, counts turns or draws noise. A new one fails here until it is told how it is asked.
"""

from __future__ import annotations

import ast
import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpsparse
from builders import checked
from dpsparse import SparseRegressor
from dpsparse.accounting.pricing import PricedPlan, price
from dpsparse.core import Ask, Budget, EveryRow, Noise, Plan, PoissonRows, PrivacyError
from dpsparse.core.facts import Clip
from dpsparse.core.mechanisms import Randomness
from dpsparse.core.participation import OncePerPerson
from dpsparse.losses import Squared
from dpsparse.oracles import CentralOracle, ExactOracle, GuardedOracle, LocalOracle, RecordingOracle, ReplayOracle
from dpsparse.oracles import central as central_module
from dpsparse.oracles import shares as sites_module
from dpsparse.oracles.base import ANSWERED, check_clipped_mean
from dpsparse.oracles.client_updates import ClientUpdates
from dpsparse.oracles.local import LocalNoise
from dpsparse.oracles.shares import NoiseShare, SharedNoiseOracle
from dpsparse.queries.kinds import (
    Gradient,
    Magnitude,
    PerturbedMinimum,
    RandomizedLabels,
    RidgeMinimum,
    Select,
    SupportVotes,
)
from dpsparse.queries.minimisers import proven_offset
from dpsparse.queries.rules import CHOICES, SUMS, measure
from dpsparse.rows.bounds import LARGEST_BOUND, SMALLEST_BOUND
from dpsparse.rows.hosts import MemoryHost
from dpsparse.rows.sampling import PoissonSample
from dpsparse.sites.local.collected import Collected
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
    return oracle.NetworkOracle(None, None, plan, 0.5, Randomness(0))


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
#: Classes that draw no noise: to them an ask without noise is one with any.
EXACT = frozenset({"ExactOracle", "ReplayOracle"})
#: What the scan finds and nobody asks: a base class, and loops on released labels, which ask nobody.
NOT_ASKED = frozenset({"ChargedOracle", "PublicOracle"})


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
        "Till",
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
    """Classes outside `mechanisms` that are oracles, count turns or draw noise."""
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
                if called & TELLING or bases & {"Oracle", "ChargedOracle", "CentralOracle"}:
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
        monkeypatch.setattr(central_module, check, lambda *args, **kwargs: None)
    assert let_through("CentralOracle", reference)


def test_control_sites_that_answer_a_sampled_ask_on_all_rows_are_caught(monkeypatch):
    reference = refused_by_the_curator()
    for check in ("check_query", "check_plan"):
        monkeypatch.setattr(sites_module, check, lambda *args, **kwargs: None)
    total = MemoryHost.total
    monkeypatch.setattr(MemoryHost, "total", lambda self, question, loss, draw: total(self, question, loss, None))
    caught = {case.kind for case in let_through("NoiseShare", reference) if isinstance(case.rows, PoissonRows)}
    assert caught >= {kind for kind, rule in SUMS.items() if not rule.sampled}


def test_control_a_mean_without_its_check_is_caught(monkeypatch):
    reference = refused_by_the_curator()
    monkeypatch.setattr("dpsparse.oracles.client_updates.check_clipped_mean", lambda *args, **kwargs: None)
    assert let_through("ClientUpdates", reference)


# ------------------------------------------------------------------------------------------------ what stands behind the gate


@pytest.mark.parametrize("kind", [*SUMS, *CHOICES], ids=lambda kind: kind.__name__)
def test_a_sum_over_every_row_refuses_a_draw(kind):
    """Even where an oracle forgot to: the rows of a sample would all be counted, at the price of a sample."""
    rule, draw = SUMS.get(kind) or CHOICES[kind], PoissonSample(0.1, 5)
    computed = [lambda: rule.part(EXAMPLES[kind], HOST.shards[0], LOSS, draw)]
    if kind in SUMS:
        computed.append(lambda: rule.exact(EXAMPLES[kind], HOST.shards, LOSS, draw))
    if kind in SUMS and rule.sampled:
        assert all(np.any(compute()) for compute in computed)
        return
    for compute in computed:
        with pytest.raises(PrivacyError, match="over every row"):
            compute()


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
            check_clipped_mean(ask, size)


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
