"""Running a fit: who pays, who is told, and what fails before anything is paid."""

import sys
from dataclasses import replace

import numpy as np
import pytest

from dpsparse import Ledger, SparseClassifier, SparseRegressor, recipes
from dpsparse.core import NonPrivateRandomnessWarning, PrivacyError
from dpsparse.core.mechanisms import Randomness
from dpsparse.fitting import Session, fit, plan_fit, read_targets, with_oracles, wrapped
from dpsparse.fitting.run import coefficients_of, run
from dpsparse.fitting.session import open_oracle
from dpsparse.fitting.statement import MADE_ROWS, draft_fit
from dpsparse.ledger import Payment
from dpsparse.oracles import RecordingOracle

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (200, 6))
Y = 2 * X[:, 0] + 0.5
CHEAP = {"recipe": recipes.DPIGHT(steps=3, mechanism="dense"), "feature_bound": 1.0, "target_bound": 3.0}


def prepared(**options):
    request = SparseRegressor(**{**CHEAP, **options}).request()
    return plan_fit(request, request.shape(*X.shape))


class Watched:
    """A payment and a watcher that note the order of events."""

    def __init__(self):
        self.events = []

    def start(self):
        self.events.append("start")

    record = None

    def __call__(self, name):
        self.events.append(name)


def executed(made, opener=None, seed=0):
    watched = Watched()
    randomness = Randomness(seed)
    draft = draft_fit(made, secure=False)
    fitted = run(made, X, (Y,), Session((watched,), randomness, watched, bill=made.bill), draft=draft, opener=opener)
    return fitted, watched.events


def test_the_payment_starts_before_the_watcher_hears_of_a_charge():
    _, events = executed(prepared())
    assert events == ["start", "gradient"] * 3


def test_the_payment_is_durable_before_the_first_answer():
    order = []

    class Slow(RecordingOracle):
        def answer(self, question, ask):
            order.append("asked")
            return super().answer(question, ask)

    class Noted(Watched):
        def start(self):
            order.append("start")

    made = prepared()
    opened = Session((Noted(),), Randomness(), bill=made.bill)
    slow = wrapped(lambda _, oracle: Slow(oracle))
    run(made, X, (Y,), opened, draft=draft_fit(made, secure=True), opener=slow)
    assert order[:2] == ["asked", "start"]


def test_a_fit_by_parts_is_the_fit_of_the_estimator():
    model = SparseRegressor(random_state=0, epsilon=3.0, **CHEAP)
    with pytest.warns(NonPrivateRandomnessWarning, match="this fit is not private"):
        whole = model.fit(X, Y)
    request = model.request()
    made = plan_fit(request, request.shape(*X.shape))
    with pytest.warns(NonPrivateRandomnessWarning):
        fitted = fit(made, X, read_targets(request, Y).vectors(made.models), (MADE_ROWS,))
    assert np.array_equal(fitted.models[0][0], whole.coef_)
    assert fitted.models[0][1] == whole.intercept_
    assert fitted.statement == whole.statement_


def test_the_warning_names_the_users_line():
    with pytest.warns(NonPrivateRandomnessWarning) as caught:
        SparseRegressor(random_state=0, **CHEAP).fit(X, Y)
    assert [w.filename for w in caught] == [__file__]


def test_oracles_can_be_substituted_for_a_while():
    seen = []

    def opener(made, *rest):
        seen.append(made.recipe.name)
        return open_oracle(made, *rest)

    with with_oracles(opener):
        SparseRegressor(**CHEAP).fit(X, Y)
    SparseRegressor(**CHEAP).fit(X, Y)
    assert seen == ["dp_ight"]


def test_a_substitution_ends_with_its_block_even_after_a_failure():
    with pytest.raises(ZeroDivisionError), with_oracles(lambda *_: 1 / 0):
        SparseRegressor(**CHEAP).fit(X, Y)
    SparseRegressor(**CHEAP).fit(X, Y)


def test_a_solver_that_leaves_priced_asks_unused_is_refused():
    class Lazy:
        def run(self, oracle, path=None):
            return np.zeros(oracle.facts.dimension)

    with pytest.raises(PrivacyError, match="unused"):
        executed(replace(prepared(), solver=Lazy()))


def test_coefficients_are_those_of_the_users_features():
    rng = np.random.default_rng(1)
    w, shift, height = rng.normal(size=7), rng.normal(size=6), 0.3
    coef, intercept = coefficients_of(w, shift, height)
    rows = rng.normal(size=(4, 6))
    shown = np.column_stack([rows - shift, np.full(4, height)])
    assert np.allclose(rows @ coef + intercept, shown @ w)
    assert coefficients_of(w[:6], shift, 0.0)[1] == pytest.approx(-shift @ w[:6])


@pytest.fixture
def ledger(tmp_path):
    made = Ledger(f"sqlite:///{tmp_path}/budget.db")
    made.create("trial", 9.0, 1e-5)
    return made


@pytest.mark.parametrize(
    "broken",
    [
        "statement.versions",
        "fit.draft_fit",
        "fit.progress_bar",
        "fit.Randomness",
        "prepare.price",
    ],
)
def test_what_can_fail_fails_before_anything_is_reserved(ledger, monkeypatch, broken):
    def fail(*_, **__):
        raise OSError(broken)

    module, name = broken.split(".")
    monkeypatch.setattr(sys.modules[f"dpsparse.fitting.{module}"], name, fail)
    monkeypatch.setattr("dpsparse.fitting.session.MemoryHost", lambda *_, **__: pytest.fail("rows were handed over"))
    with pytest.raises(OSError, match=broken):
        SparseRegressor(ledger=ledger, dataset="trial", verbose=True, **CHEAP).fit(X, Y)
    assert list(ledger.entries("trial")) == []


@pytest.mark.parametrize(("options", "library"), [({"verbose": True}, "rich.progress")])
def test_missing_libraries_are_refused_before_anything_is_reserved(ledger, monkeypatch, options, library):
    for name in [m for m in sys.modules if m == library or m.startswith(f"{library}.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises((ImportError, ValueError), match="(?i)" + library.split(".", maxsplit=1)[0]):
        SparseRegressor(ledger=ledger, dataset="trial", **options, **CHEAP).fit(X, Y)
    assert list(ledger.entries("trial")) == []


def test_the_entry_of_the_ledger_is_in_the_statement(ledger):
    model = SparseRegressor(ledger=ledger, dataset="trial", **CHEAP).fit(X, Y)
    [entry] = ledger.entries("trial")
    assert model.statement_.ledger == ledger.cite("trial", entry.number)


def test_unknown_classes_count_as_empty_and_coded_targets_agree():
    request = SparseClassifier(feature_bound=1.0, classes=[1, 2, 3]).request()
    targets = read_targets(request, np.array([3, 1, 7, 2]))
    assert targets.models == 3
    assert targets.vectors(1) == (targets.coded,)
    assert np.array_equal(targets.coded, [2.0, 0.0, np.nan, 1.0], equal_nan=True)
    assert np.array_equal(targets.vectors(3)[2], [1.0, 0.0, np.nan, 0.0], equal_nan=True)
    assert targets.assumptions == ()


def test_no_ledger_is_no_payment():
    assert Payment().start() is None
    assert Payment().record is None
