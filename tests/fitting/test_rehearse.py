"""Recipes of others are run on synthetic rows before private ones come, and refused if they look past their answers."""

from __future__ import annotations

import itertools
import pickle
import sys
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from dpsparse import Ledger, PrivateScaler, PrivateSearch, SparseClassifier, SparseRegressor, make_private_pipeline
from dpsparse.core import Ask, Noise, OncePerPerson, Plan, PoissonRows, PrivacyError, PrivacyLeakError
from dpsparse.core.facts import Clip, Facts
from dpsparse.core.mechanisms import Randomness
from dpsparse.core.plan import RandomTurns
from dpsparse.fitting import Shape, plan_fit, trial_run
from dpsparse.losses import Custom, Squared
from dpsparse.oracles import GuardedOracle, make_oracle
from dpsparse.oracles.guarded import copy_question
from dpsparse.queries.kinds import Gradient
from dpsparse.recipes import DPIGHT, LabelLDPIHT, PrivateRecipe
from dpsparse.rows.hosts import MemoryHost

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (60, 4))
Y = np.clip(X[:, 0] + 0.1 * RNG.standard_normal(60), -2, 2)


@dataclass(frozen=True)
class Descent:
    """An honest loop."""

    steps: int = 3

    def plan(self, facts, budget):
        return Plan(asks=(Ask(name="gradient", noise=Noise.GAUSSIAN, times=self.steps),))

    def run(self, oracle, path=None):
        w = oracle.facts.first()
        for _ in range(self.steps):
            w = w - 0.5 * oracle.gradient(w, clip=Clip(1.0))
        return w


@dataclass(frozen=True, kw_only=True)
class Own(PrivateRecipe):
    """A recipe with any loop."""

    name: ClassVar[str] = "own"
    loop: object = Descent()

    def solver(self, facts, budget):
        return self.loop


def model(recipe, **more):
    return SparseRegressor(epsilon=1.0, feature_bound=1.0, target_bound=2.0, recipe=recipe, **more)


@pytest.fixture
def book(tmp_path):
    made = Ledger(f"sqlite:///{tmp_path}/book.db")
    made.create("d", 10.0, 1e-3)
    return made


# ------------------------------------------------------------------------------------------------ who passes


@pytest.mark.parametrize(
    "form", ["dense", "sparse", "frame", "classes", "three classes", "add-remove", "many", "wide", "exact"]
)
def test_an_honest_recipe_passes(form):
    given = {"dense": X, "sparse": sp.csr_matrix(X), "frame": pd.DataFrame(X, columns=list("abcd"))}.get(form, X)
    if "classes" in form:
        labels = np.digitize(Y, [-0.3, 0.3] if form.startswith("three") else [0.0])
        fitted = SparseClassifier(feature_bound=1.0, recipe=Own()).fit(X, labels)
    elif form == "add-remove":
        fitted = model(Own(), adjacency="add-remove", n_rows=50).fit(X, Y)
    elif form == "many":
        fitted = model(Own()).fit(np.tile(X, (200, 1)), np.tile(Y, 200))
    elif form == "wide":
        fitted = model(Own(), row_norm=1.0).fit(sp.random(60, 30_000, 0.001, format="csr", random_state=0), Y)
    elif form == "exact":
        fitted = model(Own(), noise="exact").fit(X, Y)
    else:
        fitted = model(Own()).fit(given, Y)
    assert fitted.statement_.private
    assert fitted.statement_.recipe == "own"
    assert any("Own) is not one of dpsparse" in said for said in fitted.statement_.assumptions)


@dataclass(frozen=True, kw_only=True)
class Sampled(Own):
    """On samples, at a noise that it reads, with a public order."""

    def solver(self, facts, budget):
        class Loop(Descent):
            def plan(self, facts, budget):
                ask = Ask(name="gradient", noise=Noise.GAUSSIAN, times=3, rows=PoissonRows(0.3), share=np.float64(0.7))
                return Plan(asks=(ask,), public={"order": np.arange(3), "pair": (1, "a")})

            def run(self, oracle, path=None):
                w = oracle.facts.first()
                for k in oracle.plan.public["order"]:
                    size = oracle.terms.deviation(Gradient(w, Clip(1.0)), "gradient", int(k))
                    w = w - oracle.gradient(w, clip=Clip(1.0)) / (1 + size)
                return w

        return Loop()


@dataclass(frozen=True, kw_only=True)
class Tuned(DPIGHT):
    """One of ours with another default."""

    steps: int | None = 2


@dataclass(frozen=True, kw_only=True)
class TunedLabels(LabelLDPIHT):
    """One of ours whose features are public."""

    steps: int | None = 2


@pytest.mark.parametrize("recipe", [Sampled(), Tuned(), TunedLabels()], ids=["sampled", "subclass", "labels"])
def test_honest_recipes_of_other_kinds_pass(recipe):
    assert model(recipe).fit(X, Y).coef_.shape == (4,)


class ChangesWhatIsPublic(Descent):
    """Writes into the arrays that it may read, before it asks."""

    def run(self, oracle, path=None):
        for shown in (oracle.facts.half_widths, oracle.plan.public["sizes"], oracle.terms.plan.public["sizes"]):
            shown[:] = 1e-9
        return super().run(oracle)

    def plan(self, facts, budget):
        return replace(super().plan(facts, budget), public={"sizes": np.ones(3)})


def test_what_a_foreign_solver_reads_is_a_copy():
    recipe = Own(loop=ChangesWhatIsPublic())
    seen = plan_fit(model(recipe).request(), Shape(n_rows=60, n_features=4))
    widths = seen.facts.half_widths.copy()
    trial_run(seen)
    np.testing.assert_array_equal(seen.facts.half_widths, widths)
    np.testing.assert_array_equal(seen.plan.public["sizes"], np.ones(3))
    writes = GuardedOracle(make_oracle(MemoryHost(X, Y, seen.facts), Squared(), seen.priced, Randomness(0)))
    for array in (writes.facts.shift, copy_question(Gradient(np.zeros(5), Clip(1.0))).w):
        with pytest.raises(ValueError, match="read-only"):
            array[:] = 0
    with pytest.raises(TypeError, match="not copied or stored"):
        pickle.dumps(writes)


def test_a_subclass_of_a_recipe_of_ours_is_rehearsed():
    @dataclass(frozen=True, kw_only=True)
    class Wayward(DPIGHT):
        def solver(self, facts, budget):
            return ThrowsDice()

    with pytest.raises(PrivacyLeakError, match=r"^replay"):
        model(Wayward()).fit(X, Y)


def test_the_answers_of_a_foreign_recipe_are_those_of_ours_and_the_statement_tells_them_apart():
    """Doors change nothing that is answered; a subclass goes by the name of ours."""
    ours, theirs = (model(r, random_state=3).fit(X, Y).statement_ for r in (DPIGHT(steps=2), Tuned()))
    assert (ours.asks, ours.recipe) == (theirs.asks, theirs.recipe)
    [said] = set(theirs.assumptions) - set(ours.assumptions)
    assert "Tuned) is not one of dpsparse" in said


def test_a_statement_names_a_loss_of_others():
    own = Custom(derivative=lambda m, y: np.tanh(m - y), curvature=1.0, slope_bound=1.0, name="own loss")
    said = model("dp_ight", loss=own).fit(X, Y).statement_.assumptions
    assert any(s.startswith("the loss 'own loss' is not one of dpsparse") for s in said)


# ------------------------------------------------------------------------------------------------ who does not


class PeeksQuietly(Descent):
    """Goes on without the rows where it cannot have them."""

    def run(self, oracle, path=None):
        try:
            scale = max(np.abs(b.x).max() for b in oracle._host.shards[0].blocks)
        except Exception:
            scale = 1.0
        return super().run(oracle) / scale


class PeeksAtTheGate(Descent):
    def run(self, oracle, path=None):
        return super().run(oracle) * (1 + len(oracle.gate.receipts))


class PeeksThroughMangledNames(Descent):
    """Knows how the doors are built."""

    def run(self, oracle, path=None):
        w = super().run(oracle)
        return w + vars(oracle)["_Doors__inner"].inner.inner._host.shards[0].blocks[0].y.mean()


class ReadsTheStack(Descent):
    """Looks for the rows of whoever called."""

    def run(self, oracle, path=None):
        w, frame = super().run(oracle), sys._getframe()
        while frame is not None:
            if "targets" in frame.f_locals:
                return w + np.mean(frame.f_locals["targets"][0])
            frame = frame.f_back
        return w


class StopsEarly(Descent):
    def run(self, oracle, path=None):
        return Descent(1).run(oracle)


class AsksOnceMore(Descent):
    def run(self, oracle, path=None):
        return Descent(self.steps + 1).run(oracle)


class AsksOtherwise(Descent):
    def run(self, oracle, path=None):
        w = super().run(oracle)
        return w + oracle.squares()[0]


class ThrowsDice(Descent):
    def run(self, oracle, path=None):
        return super().run(oracle) + np.random.default_rng().standard_normal()


class Remembers(Descent):
    """What it gives depends on how often it ran."""

    seen: ClassVar[list[float]] = []

    def run(self, oracle, path=None):
        w = super().run(oracle)
        self.seen.append(w.sum())
        return w + len(self.seen)


class KeepsTheOracle(Descent):
    kept: ClassVar[list[object]] = []

    def run(self, oracle, path=None):
        self.kept.append(oracle)
        return super().run(oracle)


class Fails(Descent):
    def run(self, oracle, path=None):
        raise KeyError("beta")


class ReturnsTooMuch(Descent):
    def run(self, oracle, path=None):
        return np.r_[super().run(oracle), 1.0]


class ChangesItsClip(Descent):
    """One bound for the price, another one for the rows."""

    def run(self, oracle, path=None):
        class Lying(Clip):
            reads = itertools.count()

            @property
            def norm(self):
                return 1.0 if next(self.reads) < 8 else 1e6

            @norm.setter
            def norm(self, value):
                raise AttributeError

        lying = object.__new__(Lying)
        for name in ("entry", "slope", "columns"):
            object.__setattr__(lying, name, None)
        w = oracle.facts.first()
        for _ in range(self.steps):
            w = w - oracle.gradient(w, clip=lying)
        return w


class LyingNumber(float):
    """A number that is small when it is measured."""

    def __mul__(self, other):
        return 0.0

    __rmul__ = __truediv__ = __mul__


class LiesAboutANumber(Descent):
    def run(self, oracle, path=None):
        return oracle.weighted_gradient(oracle.facts.first(), np.ones(5), norm=LyingNumber(1.0))


class PlansByTheClock(Descent):
    turns: ClassVar[object] = itertools.count(1)

    def plan(self, facts, budget):
        return Descent(next(self.turns)).plan(facts, budget)


LEAKS = {
    "peeks and goes on": (PeeksQuietly(), r"^violations: the solver reads oracle\._host"),
    "peeks at the gate": (PeeksAtTheGate(), r"^violations: the solver reads oracle\.gate"),
    "knows the doors": (PeeksThroughMangledNames(), "fails on synthetic rows"),
    "reads the stack": (ReadsTheStack(), "^swap: the coefficients differ"),
    "stops": (StopsEarly(), r"^asks = plan: .*unused: \{'gradient': 2\}"),
    "asks more": (AsksOnceMore(), "^asks = plan: .*all are used"),
    "asks otherwise": (AsksOtherwise(), "^asks = plan: .*no ask 'squares'"),
    "dice": (ThrowsDice(), "^replay: the coefficients differ"),
    "remembers": (Remembers(), "^replay: the coefficients differ"),
    "keeps": (KeepsTheOracle(), "^keeps: the solver keeps its oracle"),
    "fails": (Fails(), "fails on synthetic rows, before private ones came and before anything was paid: KeyError"),
    "too much": (ReturnsTooMuch(), r"must return 5 numbers, one for each coordinate, got an array of shape \(6,\)"),
    "a clip that changes": (ChangesItsClip(), "a query holds something of type Lying"),
    "a number that lies": (LiesAboutANumber(), "a query holds something of type LyingNumber"),
    "plans by the clock": (PlansByTheClock(), "^plan: it plans differently a second time"),
}


@pytest.mark.parametrize("name", LEAKS)
def test_a_leaky_solver_is_refused_by_fit_before_anything_is_paid(name, book):
    loop, message = LEAKS[name]
    with pytest.raises(PrivacyError, match=message):
        model(Own(loop=loop), ledger=book, dataset="d").fit(X, Y)
    assert book.entries("d") == ()


@pytest.mark.parametrize("whole", ["pipeline", "search"])
def test_pipelines_and_searches_refuse_before_they_pay(whole, book):
    leaky, paid = Own(loop=ThrowsDice()), {"ledger": book, "dataset": "d"}
    if whole == "pipeline":
        wholly = make_private_pipeline(PrivateScaler(feature_bound=1.0), model(leaky), epsilon=1.0, **paid)
    else:
        space = {"recipe": [leaky]}
        wholly = PrivateSearch(
            model("dp_ight"), space, epsilon=1.0, mean_runs=20.0, law="poisson", random_state=0, score_bound=4.0, **paid
        )
    with pytest.raises(PrivacyLeakError, match=r"^replay"):
        wholly.fit(X, Y)
    assert book.entries("d") == ()


# ------------------------------------------------------------------------------------------------ plans and views


@dataclass(frozen=True, kw_only=True)
class Planned(Own):
    """With any plan."""

    made: object = None

    def solver(self, facts, budget):
        made = self.made

        class Loop(Descent):
            def plan(self, facts, budget):
                return made

        return Loop()


class Cheap(Plan):
    """Says less to who prices it."""

    def repeated(self, times):
        return Plan(asks=(replace(self.asks[0], share=0.01),))

    def with_noise(self, *_):
        return self


def test_a_plan_that_prices_itself_is_priced_as_it_is_written():
    asks = (Ask(name="gradient", noise=Noise.GAUSSIAN, times=3),)
    honest, lying = (model(Planned(made=kind(asks=asks)), random_state=0).fit(X, Y) for kind in (Plan, Cheap))
    assert lying.statement_.asks == honest.statement_.asks
    np.testing.assert_array_equal(lying.coef_, honest.coef_)


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        (
            Plan(asks=(Ask(name="gradient", noise=Noise.GAUSSIAN, times=3, law=RandomTurns(1, 0.1)),)),
            "a number of turns that chance drew",
        ),
        (
            Plan(
                asks=(Ask(name="gradient", noise=Noise.GAUSSIAN),),
                branches=(("a", Plan(asks=(Ask(name="g", noise=Noise.GAUSSIAN, law=RandomTurns(1, 0.1)),))),),
            ),
            "a number of turns that chance drew",
        ),
        (Plan(asks=(Ask(name="gradient", noise=Noise.GAUSSIAN),), public={"f": print}), "cannot be written down"),
        (Plan(asks=(Ask(name="gradient", noise=Noise.NONE, times=3),)), "has no noise"),
    ],
    ids=["law", "law of a branch", "function", "no noise"],
)
def test_a_plan_that_no_price_covers_is_refused(plan, message):
    with pytest.raises(PrivacyError, match=message):
        model(Planned(made=plan)).fit(X, Y)


def test_a_plan_for_labels_says_so_first():
    once = Ask(name="labels", noise=Noise.LOCAL, rows=OncePerPerson(labels=True))

    class Loop(Descent):
        def plan(self, facts, budget):
            return Plan(asks=(once,))

        def run(self, oracle, path=None):
            return np.full(5, oracle.labels().mean())

    fitted = model(Own(loop=Loop())).fit(X, Y)
    assert fitted.statement_.adjacency == "replace-one-label"
    assert "public" in fitted.statement_.caveats[0]


@pytest.mark.parametrize(
    "change", [{"n_rows": 6000}, {"upper": 0.1}, {"row_norm": 1e-3}, {"target_bound": 0.1}, {"sparsity": 1}]
)
def test_a_view_may_move_rows_and_change_nothing_else(change):
    @dataclass(frozen=True, kw_only=True)
    class Viewed(Own):
        def view(self, facts):
            return super().view(facts).with_(**change)

    with pytest.raises(PrivacyError, match="which users declare"):
        model(Viewed()).fit(X, Y)


def test_facts_of_another_kind_are_refused():
    class More(Facts):
        pass

    @dataclass(frozen=True, kw_only=True)
    class Viewed(Own):
        def view(self, facts):
            found = super().view(facts)
            return More(**{name: getattr(found, name) for name in found.__dataclass_fields__ if name != "target_bound"})

    with pytest.raises(PrivacyError, match="which users declare"):
        model(Viewed()).fit(X, Y)


# ------------------------------------------------------------------------------------------------ brought along


def scaled_by(rows):
    """A recipe whose loop closes over rows."""

    class Loop(Descent):
        def run(self, oracle, path=None):
            return super().run(oracle) / np.abs(rows).max()

    return Own(loop=Loop())


class Global(Descent):
    """Uses a variable of its module."""

    def run(self, oracle, path=None):
        return super().run(oracle) / np.abs(X).max()


FRAME = pd.DataFrame(X, columns=list("abcd"))
SPARSE = sp.csr_matrix(X)


@pytest.mark.parametrize(
    ("recipe", "given", "where"),
    [
        (scaled_by(X), X, r"variable 'rows' of run\(\).* holds X itself"),
        (scaled_by(X[::2, 1:]), X, "holds X itself"),
        (scaled_by(Y), X, "holds y itself"),
        (scaled_by({"kept": [X.T]}), X, "holds X itself"),
        (Own(loop=Global()), X, r"global 'X' of run\(\).* holds X itself"),
        (scaled_by(FRAME), FRAME, "holds X itself"),
        (scaled_by(SPARSE), SPARSE, "holds X itself"),
        (Own(loop=[X]), X, "field 'loop'.* holds X itself"),
    ],
    ids=["closure", "view", "targets", "nested", "global", "frame", "sparse", "field"],
)
def test_a_recipe_that_holds_the_rows_is_refused(recipe, given, where, book):
    with pytest.raises(PrivacyLeakError, match=f"^brings rows: .*{where}"):
        model(recipe, ledger=book, dataset="d").fit(given, Y)
    assert book.entries("d") == ()


def test_what_shares_no_memory_is_not_looked_at():
    """A refusal that compared values would tell about them."""
    public = X.copy()
    model(scaled_by(public)).fit(X, Y)
    table = np.zeros((60, 9))
    table[:, :4] = X
    model(scaled_by(table[:, 5:])).fit(table[:, :4], Y)


def test_a_search_space_and_a_loss_that_hold_the_rows_are_refused():
    with pytest.raises(PrivacyLeakError, match="of the search holds X itself"):
        PrivateSearch(model("dp_ight"), {"recipe": [scaled_by(X)]}, epsilon=1.0).fit(X, Y)
    held = Custom(derivative=lambda m, y: np.tanh((m - y) / Y.std()), curvature=9.0, name="held")
    with pytest.raises(PrivacyLeakError, match="of the loss 'held' holds y itself"):
        model("dp_ight", loss=held).fit(X, Y)
