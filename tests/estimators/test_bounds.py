"""PrivateBounds: what it finds, what it costs, and what a neighbour can move."""

import json
import math

import numpy as np
import pytest
import scipy.sparse as sp

from builders import Rows, choice_scores, halved_constants
from dpsparse import (
    Ledger,
    PrivateBounds,
    SparseClassifier,
    SparseRegressor,
    load,
    make_private_pipeline,
    private_score,
)
from dpsparse.core import Adjacency, MissingBoundError, PrivacyError
from dpsparse.core.facts import Facts
from dpsparse.estimators.steps.private_bounds import widening
from dpsparse.losses import Squared
from dpsparse.queries.kinds import ColumnQuantile
from truth.neighbours import caught

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (20_000, 4)) * [1.0, 1.0, 0.1, 1.0] + [0.0, 10.0, 0.0, 0.0]
Y = X[:, 0] - X[:, 3] + 0.3 * RNG.standard_normal(20_000) + 50.0


def step(**arguments):
    return PrivateBounds(**{"epsilon": 1.0, "feature_bound": 300.0, "random_state": 0, **arguments})


def test_bounds_hold_nearly_all_rows_and_little_more():
    found = step().fit(X).bounds_
    assert np.all(np.mean((found.lower > X) | (found.upper < X), axis=0) < 0.01)
    wide = (found.upper - found.lower) / (X.max(axis=0) - X.min(axis=0))
    assert np.all(wide[[0, 1, 3]] < 4)  # of 300 and of 30 that were declared
    assert found.row_norm == pytest.approx(np.linalg.norm(np.maximum(-found.lower, found.upper)))


def test_the_target_is_bounded_around_its_own_middle():
    found = step(target_bound=3000.0).fit(X, Y)
    assert abs(found.target_center_ - 50) < 8
    assert 2 < found.target_bound_ < 20
    assert step().fit(X).target_bound_ is None


def test_many_columns_and_sparse_rows_are_bounded_together():
    many = RNG.uniform(-1, 1, (2000, 300))
    found = step(feature_bound=30.0).fit(many)
    assert [ask.name for ask in found.statement_.asks] == ["factor"]
    assert 0.9 < found.bounds_.upper[0] < 3
    assert np.ptp(found.bounds_.upper) == 0
    sparse = sp.random(3000, 50, density=0.05, random_state=1, format="csr")
    found = step(feature_bound=100.0).fit(sparse)
    assert [ask.name for ask in found.statement_.asks] == ["factor"]
    assert 0.5 < found.bounds_.upper[0] < 3
    assert (found.transform(sparse) != sparse).nnz == 0


def test_nearly_constant_columns_do_not_end_at_the_limit():
    flat = np.full((5000, 2), 3.0)
    found = step(columns="each").fit(flat).bounds_
    assert np.all(found.upper < 20)
    assert np.all(found.lower < found.upper)


def test_columns_can_be_left_out():
    found = step(only=[0, 3]).fit(X).bounds_
    assert found.upper[1] == found.upper[2] == 300.0
    assert found.upper[0] < 10


def test_a_pipeline_pays_once_and_its_model_needs_no_bounds(tmp_path):
    ledger = Ledger(f"sqlite:///{tmp_path / 'b.db'}")
    ledger.create("trial", epsilon=2.0, delta=1e-5)
    pipe = make_private_pipeline(
        PrivateBounds(feature_bound=300.0, target_bound=3000.0, random_state=1),
        SparseRegressor(sparsity=2, random_state=2),
        epsilon=2.0,
        delta=1e-6,
        ledger=ledger,
        dataset="trial",
    )
    plan = pipe.plan(20_000, 4)
    assert "privatebounds: 10 % of the budget" in str(plan)
    assert "by its own quantiles" in str(plan)
    pipe.fit(X, Y)
    assert len(ledger.entries("trial")) == 1
    assert pipe.statement_.epsilon == pytest.approx(2.0, rel=1e-3)
    assert pipe.score(X, Y) > 0.7  # 0.88 without noise; a target that was clipped or not centred has none
    assert {"privatebounds: factor", "privatebounds: ends", "privatebounds: target ends"} <= {
        ask.name for ask in pipe.statement_.asks
    }
    model = pipe[-1]
    assert model.target_bound is None
    model.save(tmp_path / "m.json")
    again = load(tmp_path / "m.json")
    np.testing.assert_allclose(again.predict(X[:5]), model.predict(X[:5]))
    assert again.target_center == pytest.approx(pipe[0].target_center_)
    card = private_score(pipe, X, Y, "r2", 100.0, random_state=0)
    assert card["r2"].value == pytest.approx(pipe.score(X, Y), abs=0.05)


def test_classes_and_double_bounds_are_refused_before_anything_is_paid():
    with pytest.raises(ValueError, match="the targets of a classifier are classes"):
        make_private_pipeline(step(target_bound=1.0), SparseClassifier(classes=[0, 1])).fit(X, X[:, 0] > 0)
    with pytest.raises(ValueError, match="Leave one of them out"):
        make_private_pipeline(step(target_bound=1.0), SparseRegressor(target_bound=1.0)).fit(X, Y)


@pytest.mark.parametrize(
    ("change", "kind", "message"),
    [
        ({"feature_bound": None}, MissingBoundError, "the largest absolute entry that is possible"),
        ({"feature_bound": (0, 1)}, MissingBoundError, "one number or one for each column"),
        ({"columns": "all"}, ValueError, "columns must be one of"),
        ({"smallest": 2.0}, ValueError, "smallest must be"),
        ({"only": [0, 0]}, ValueError, "each once"),
        ({"only": [9]}, ValueError, "below 4"),
    ],
)
def test_bad_arguments_are_refused(change, kind, message):
    with pytest.raises(kind, match=message):
        step(**change).fit(X)


def test_widening_is_that_of_a_normal_law():
    assert widening(0.999) == pytest.approx(1.0)
    assert widening(1 - 0.1587) == pytest.approx(3.09, abs=0.01)


# ------------------------------------------------------------------------------------------------ neighbours

FACTS = Facts(n_rows=30, n_features=4, row_norm=10.0, target_bound=2.0)
QUESTIONS = {
    "column": ColumnQuantile("column", 2, 1, 0.9, np.linspace(-1, 1, 9)),
    "lower end": ColumnQuantile("column", 2, -1, 0.9, np.linspace(-1, 1, 9)),
    "size": ColumnQuantile("size", 1, 1, 0.5, np.geomspace(0.1, 1.0, 6)),
    "rows": ColumnQuantile("rows", 0, 1, 0.8, np.geomspace(0.1, 1.0, 6)),
    "target": ColumnQuantile("target", 0, 1, 0.3, np.linspace(-2, 2, 9)),
}


@pytest.mark.parametrize("relation", list(Adjacency), ids=str)
@pytest.mark.parametrize("name", QUESTIONS)
def test_no_record_moves_scores_by_more_than_stated_and_half_of_it_would_be_too_little(name, relation):
    question, worst = QUESTIONS[name], 0.0
    records = [(np.full(4, a), 2 * a) for a in (-1.0, -0.4, 0.05, 0.4, 1.0, np.nan)]
    for crowd in (-0.9, -0.3, 0.0, 0.3, 0.6, 0.9):  # where the quantile is
        base, y = np.full((30, 4), crowd), np.full(30, 2 * crowd)
        base[:15], y[:15] = -crowd, -2 * crowd

        def scored(rows, targets):
            return choice_scores(question, Rows(rows, targets, FACTS), Squared(), relation)

        found = []
        for x, t in records:
            rows, targets = base.copy(), y.copy()
            rows[7], targets[7] = x, t
            found.append(scored(rows, targets)[0])
        rest = np.arange(30) != 7
        others = [scored(base[rest], y[rest])[0]] if relation is Adjacency.ADD_REMOVE else found
        worst = max(worst, *(np.ptp(a - b) for a in found for b in others))
    stated = scored(base, y)[1]
    assert worst <= stated * (1 + 1e-12)
    assert worst > 0.5 * stated


def test_no_neighbour_moves_a_choice_further_than_its_price():
    """Of the whole step, caught before the noise; controls with half of the constants."""
    small, y = X[:60] * [1, 0.1, 1, 1], Y[:60] - 50

    def queries(x, t):
        rows, targets = small.copy(), y.copy()
        rows[9], targets[9] = x, t
        with caught() as seen:
            step(feature_bound=10.0, target_bound=10.0, columns="each", on_missing="empty").fit(rows, targets)
        return [(query, scale) for _, query, scale in seen]

    costs = step(feature_bound=10.0, target_bound=10.0, columns="each").fit(small, y).statement_
    etas = [ask.cost for ask in costs.asks for _ in range(ask.times)]

    def largest():
        found = [queries(np.full(4, a), b) for a in (-9.0, 0.01, 9.0, np.nan) for b in (-9.0, 9.0)]
        pairs = [(one[0], two[0]) for one in found for two in found]  # later grids follow earlier answers, exact here
        return max(np.ptp(p[0] - q[0]) / p[1] for p, q in pairs)

    assert largest() <= etas[0] * (1 + 1e-9)
    with halved_constants():
        assert largest() > etas[0] * (1 + 1e-9)
    assert math.fsum(eta**2 / 8 for eta in etas) == pytest.approx(costs.rho, rel=1e-9)


@pytest.mark.parametrize(
    "question",
    [
        ColumnQuantile("columns", 0, 1, 0.5, np.arange(3.0)),
        ColumnQuantile("column", 0, 2, 0.5, np.arange(3.0)),
        ColumnQuantile("column", 0, 1, 1.0, np.arange(3.0)),
        ColumnQuantile("column", 0, 1, 0.5, np.zeros(3)),
    ],
)
def test_bad_questions_are_refused(question):
    with pytest.raises(PrivacyError, match="no quantile of this kind"):
        choice_scores(question, Rows(X[:30] / 20, Y[:30], FACTS), Squared(), Adjacency.REPLACE_ONE)


def test_a_plan_of_bounds_is_plain_json():
    pipe = make_private_pipeline(step(), SparseClassifier(classes=[0, 1]), epsilon=1.0)
    assert "beyond" in json.loads(json.dumps(pipe.plan(5000, 4).to_dict()))["outlooks"]["privatebounds"]


@pytest.mark.slow
def test_learned_bounds_cost_at_most_15_percent():
    from benchmarks.private_bounds import DESIGNS, errors

    for design in DESIGNS:
        found = np.array([errors(design, seed) for seed in range(20)]).mean(axis=0)
        assert found[1] < 1.15 * found[0], design.name
