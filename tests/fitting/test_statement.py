"""Statements: drafted first, completed with what was drawn."""

import ast
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.feature_extraction.text import HashingVectorizer

import dpsparse
from builders import prepared_for
from dpsparse import (
    PrivateScaler,
    PrivateSearch,
    RowNormalizer,
    SparseClassifier,
    SparseRegressor,
    make_private_pipeline,
    private_score,
)
from dpsparse.accounting import price
from dpsparse.core import Ask, Budget, Noise, Plan, Receipt
from dpsparse.fitting.drawn import Drawn
from dpsparse.fitting.statement import MADE_ROWS, complete, draft_fit, draft_step, state_pipeline
from dpsparse.tables import Column, Dictionary, TableEncoder

SOURCE = Path(dpsparse.__file__).parent
BOUNDS = {"feature_bound": 1.0, "target_bound": 2.0}


def test_statements_are_made_in_one_place():
    """Elsewhere they are read back from files only."""
    for path in SOURCE.rglob("*.py"):
        calls = [n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Call)]
        made = [n for n in calls if isinstance(n.func, ast.Name) and n.func.id == "Statement"]
        assert not made or path.relative_to(SOURCE).as_posix() == "fitting/statement.py", path


@pytest.mark.parametrize("rule", ["1 / (10 *", "random_state was given"])
def test_rules_stand_once(rule):
    found = [path for path in SOURCE.rglob("*.py") if rule in path.read_text()]
    assert [path.relative_to(SOURCE).parts[0] for path in found] == ["fitting"]


def test_a_draft_says_everything_but_what_was_drawn():
    prepared = prepared_for(SparseRegressor(epsilon=1.5, recipe="dp_ight", **BOUNDS), 400, 10)
    draft = draft_fit(prepared, ("an assumption",), secure=True)
    assert draft.epsilon == pytest.approx(1.5, rel=1e-6)
    assert draft.asks == ()
    assert draft.assumptions[0] == "an assumption"
    paid = price(Plan(asks=(Ask(name="gradient", noise=Noise.GAUSSIAN, times=2),)), Budget.gdp(0.5 * 2**0.5))
    answer = Receipt("gradient", Noise.GAUSSIAN, 1, 1.0, 2.0, 2.0 / paid.cost("gradient").strength)
    [record] = complete(draft, [Drawn([answer, answer], paid)]).asks
    assert (record.times, record.cost) == (2, pytest.approx(0.5))


@pytest.mark.parametrize("secure", [True, False])
def test_a_seed_is_a_caveat(secure):
    prepared = prepared_for(SparseRegressor(**BOUNDS), 400, 10)
    for draft in (
        draft_fit(prepared, secure=secure),
        draft_step(prepared.priced, 1e-6, "a step", 400, "empty", secure=secure),
    ):
        assert any("fixed seed" in caveat for caveat in draft.caveats) is not secure


def test_a_large_delta_is_a_caveat():
    prepared = prepared_for(SparseRegressor(delta=0.01, **BOUNDS), 400, 10)
    assert any("above 1/n" in caveat for caveat in draft_fit(prepared, secure=True).caveats)


def test_several_models_say_how_they_share():
    for recipe, several in (("dp_ight", True), ("dual_averaging", False)):
        prepared = prepared_for(SparseClassifier(feature_bound=1.0, sparsity=3, recipe=recipe), 400, 10, models=3)
        said = draft_fit(prepared, secure=True).assumptions
        assert any("all 3 one-versus-rest models" in a for a in said) is several


def test_the_statement_of_a_pipeline_adds_up():
    prepared = prepared_for(SparseRegressor(**BOUNDS), 400, 10)
    step = draft_step(prepared.priced, 1e-6, "a step", 400, "empty", secure=True)
    model = draft_fit(prepared, secure=False)
    whole = state_pipeline([step, model], epsilon=3.0, delta=1e-6, accountant="both", free=["scale"], bill=None)
    assert whole.rho == pytest.approx(step.rho + model.rho)
    assert whole.mu == pytest.approx(np.hypot(step.mu, model.mu))
    assert (whole.epsilon, whole.accountant) == (3.0, "both")
    assert whole.caveats == model.caveats
    assert any("scale depends on no other row" in a for a in whole.assumptions)


def test_a_fit_without_a_sparsity_says_how_many_features_it_uses():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (300, 400))
    for sparsity, said in ((None, True), (5, False)):
        options = {"sparsity": sparsity, "random_state": 0, "recipe": "dual_averaging", **BOUNDS}
        with pytest.warns(match="random_state was given"):
            model = SparseRegressor(epsilon=5.0, **options).fit(X, X[:, 0])
        note = f"kept {model.support_.size} of 400 features"
        assert any(note in n for n in model.statement_.notes) is said


# ------------------------------------------------------------------------------------------------ what made the rows


RNG = np.random.default_rng(3)
ROWS, OUTCOMES = RNG.uniform(-1, 1, (300, 4)), RNG.uniform(-1, 1, 300)


def encoder():
    return TableEncoder(Dictionary([Column(name="age", kind="number", bounds=(0, 100), fill=50)]))


@pytest.mark.parametrize("kind", ["array", "sparse", "frame", "file"])
def test_a_fit_in_python_says_that_nothing_looked_at_its_rows_before(kind, tmp_path):
    X = {"sparse": sp.csr_matrix, "frame": pd.DataFrame}.get(kind, np.asarray)(ROWS)
    if kind == "file":
        np.savez(tmp_path / "rows.npz", X=ROWS, y=OUTCOMES)
    given = (str(tmp_path / "rows.npz"),) if kind == "file" else (X, OUTCOMES)
    assert MADE_ROWS in SparseRegressor(**BOUNDS).fit(*given).statement_.assumptions


def test_scores_steps_and_searches_say_it_too():
    model = SparseRegressor(**BOUNDS).fit(ROWS, OUTCOMES)
    assert MADE_ROWS in private_score(model, ROWS, OUTCOMES, ["r2"], epsilon=1.0).statement.assumptions
    assert MADE_ROWS in PrivateScaler(epsilon=1.0, feature_bound=1.0).fit(ROWS).statement_.assumptions
    search = PrivateSearch(SparseRegressor(**BOUNDS), {"sparsity": [1, 2]}, epsilon=2.0)
    assert MADE_ROWS in search.fit(ROWS, OUTCOMES).statement_.assumptions


def test_rows_that_were_made_from_raw_records_here_do_not_need_it():
    """An encoder with a dictionary, alone or in a pipeline, and texts; a baseline promises nothing."""
    table = pd.DataFrame({"age": RNG.integers(20, 80, 300)})
    encoded = encoder().fit_transform(table)
    model = SparseRegressor(target_bound=2.0)
    assert MADE_ROWS not in model.fit(encoded, OUTCOMES).statement_.assumptions
    pipe = make_private_pipeline(encoder(), model, epsilon=2.0).fit(table, OUTCOMES)
    assert MADE_ROWS not in pipe.statement_.assumptions
    texts = [f"word{i % 7} word{i % 5}" for i in range(300)]
    words = make_private_pipeline(HashingVectorizer(n_features=16), RowNormalizer(), model, epsilon=2.0)
    assert MADE_ROWS not in words.fit(texts, OUTCOMES).statement_.assumptions
    numbers = make_private_pipeline(RowNormalizer(), model, epsilon=2.0).fit(ROWS, OUTCOMES)
    assert MADE_ROWS in numbers.statement_.assumptions, "the control: numbers were made by somebody"
    baseline = SparseRegressor(recipe="ight", sparsity=2, **BOUNDS).fit(ROWS, OUTCOMES)
    assert MADE_ROWS not in baseline.statement_.assumptions
