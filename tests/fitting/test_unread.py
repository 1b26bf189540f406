"""check_cells: a priced count of cells that were not understood."""

from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.stats import laplace, norm
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline

from builders import Rows, checked, exact_sum, measured
from dpsparse import (
    PrivateBounds,
    PrivateSearch,
    SparseClassifier,
    SparseRegressor,
    load,
    make_private_pipeline,
    recipes,
)
from dpsparse.core import Adjacency, DataError, Noise, PrivacyError, UnreadCellsWarning
from dpsparse.core.facts import Facts
from dpsparse.federated import Server, SiteData, fit_shared
from dpsparse.fitting.counts import FALSE_ALARM, UnreadShares
from dpsparse.fitting.parts import InferenceResult
from dpsparse.losses import Squared
from dpsparse.queries.kinds import Unread
from dpsparse.rows.records import Records
from dpsparse.rows.sampling import DataSplit
from dpsparse.rows.unread import CheckedColumns, UnreadCells
from dpsparse.tables import Column, Dictionary, TableEncoder
from truth.recipes import Doubtful

pytestmark = pytest.mark.filterwarnings("ignore::dpsparse.core.HopelessFitWarning")

RNG = np.random.default_rng(0)
N = 4000
CODEBOOK = Dictionary(
    [
        Column(name="age", kind="number", bounds=(0, 100), fill=80, gap_is_feature=True),
        Column(name="visit", kind="date", bounds=("1984-01-01", "1988-12-31"), fill="1988-01-01"),
        Column(name="sex", kind="category", categories=["female", "male"], match="exact"),
        Column(name="smoker", kind="boolean"),
    ]
)
AGE = RNG.uniform(0, 100, N)
TABLE = pd.DataFrame(
    {
        "age": [f"{a:.0f}" for a in AGE],
        "visit": [f"{day:02d}.08.1984" for day in RNG.integers(1, 29, N)],
        "sex": RNG.choice(["Female", "male"], N, p=[0.35, 0.65]),
        "smoker": RNG.choice(["yes", "no", ""], N),
    }
)
CLEAN = TABLE.assign(visit="1985-02-03", sex=TABLE.sex.str.lower())
Y = AGE / 50 - 1 + 0.1 * RNG.standard_normal(N)
FACTS = Facts(n_rows=40, n_features=6, counts_unread=11)
SHARES = {"age": 0.0, "visit": 1.0, "sex": float(np.mean(TABLE.sex == "Female")), "smoker": 0.0}


def encoded(table=TABLE, **options):
    return TableEncoder(CODEBOOK, **options).fit_transform(table)


def model(kind=SparseRegressor, **arguments):
    bounds = {"target_bound": 1.5} if kind is SparseRegressor else {}
    return kind(**{"epsilon": 2.0, "check_cells": 0.02, "random_state": 0, **bounds, **arguments})


def fitted(table=TABLE, y=Y, kind=SparseRegressor, **arguments):
    """A model of the table with all its faults, which warns of the dates."""
    with pytest.warns(UnreadCellsWarning, match="more than half of the cells of 'visit'"):
        return model(kind, **arguments).fit(encoded(table), y)


# ------------------------------------------------------------------------------------------------ the sum


@pytest.mark.parametrize("stored", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])
def test_the_sum_is_that_of_the_flags_also_of_records_without_a_target(stored):
    rows = RNG.normal(0, 0.5, (40, 6))
    rows[0] = 1.0
    source = checked(stored(rows), 11)
    y = np.r_[np.nan, RNG.normal(0, 1, 39)]
    flags = np.unpackbits(source.unread.bits, axis=1, count=11)
    assert flags[0].sum() > 0
    host = Rows(source, y, FACTS)
    np.testing.assert_allclose(measured(Unread(), host, Squared()).values, flags.sum(axis=0), atol=1e-9)
    np.testing.assert_array_equal(exact_sum(Unread(), host, Squared()), flags.sum(axis=0))


@pytest.mark.parametrize("relation", list(Adjacency), ids=str)
@pytest.mark.parametrize("place", [0, 7, 39])
def test_one_record_moves_the_sum_by_the_root_of_the_columns_and_half_would_be_too_little(place, relation):
    rows = RNG.normal(0, 0.5, (40, 6))

    def found(x, t=0.0):
        given = np.vstack([rows[:place], np.full(6, x), rows[place + 1 :]])
        return measured(
            Unread(), Rows(checked(given, 11), np.r_[np.zeros(place), t, np.zeros(39 - place)], FACTS), Squared()
        )

    ends = [found(x, t) for x in (0.0, 1e6, np.nan, np.inf) for t in (0.0, np.nan, 1e300)]
    rest = np.arange(40) != place
    without = measured(Unread(), Rows(checked(rows[rest], 11), np.zeros(39), FACTS), Squared()).values
    others = [without] if relation is Adjacency.ADD_REMOVE else [end.values for end in ends]
    worst = max(np.linalg.norm(end.values - other) for end in ends for other in others)
    stated = ends[0].reach
    assert worst == pytest.approx(math.sqrt(11), rel=1e-9)
    assert stated.l2(relation) == pytest.approx(math.sqrt(11), rel=1e-9)
    assert stated.l1(relation) == pytest.approx(11, rel=1e-9)
    np.testing.assert_array_equal(stated.linf(relation), 1.0)


def test_a_part_of_a_deal_counts_its_own_rows_and_no_others():
    source = checked(RNG.normal(0, 0.5, (40, 6)), 11)
    y = np.where(np.arange(40) % 3, RNG.normal(0, 1, 40), np.nan)
    deal = DataSplit(0.5, 2**77 + 3)
    mine = np.isfinite(deal.targets(np.zeros(40), 0))
    flags = np.unpackbits(source.unread.bits, axis=1, count=11)
    for part, rows in enumerate((mine, ~mine)):
        found = measured(Unread(), Rows(source, deal.targets(y, part), FACTS), Squared()).values
        np.testing.assert_allclose(found, flags[rows].sum(axis=0), atol=1e-9)
    assert 0 < flags[mine].sum() < flags.sum()


def test_rows_that_do_not_remember_are_refused():
    with pytest.raises(PrivacyError, match="do not say which of their cells"):
        Rows(np.zeros((40, 6)), np.zeros(40), FACTS)
    with pytest.raises(PrivacyError, match="do not say which of their cells"):
        Rows(checked(np.zeros((40, 6)), 3), np.zeros(40), FACTS)  # another number of columns
    with pytest.raises(PrivacyError, match="do not remember which cells"):
        measured(Unread(), Rows(np.zeros((40, 6)), np.zeros(40), FACTS.with_(counts_unread=0)), Squared())


def test_flags_are_not_printed_and_copies_forget_them():
    cells = checked(RNG.normal(0, 0.5, (40, 6)), 11).unread
    assert repr(cells) == "UnreadCells(11 columns)"
    assert copy.deepcopy(cells) is None
    assert pickle.loads(pickle.dumps(cells)) is None


# ------------------------------------------------------------------------------------------------ the rules


def shares_of(shares, noise, kind=Noise.GAUSSIAN, part=0.0, models=1, d=None):
    names = tuple(f"c{j}" for j in range(len(shares)))
    columns = CheckedColumns(names, np.arange(d or len(names)) % len(names), np.zeros(d or len(names)))
    return UnreadShares.of([(np.array(shares), noise)] * models, columns, kind, part)


@pytest.mark.parametrize("columns", [1, 9, 500])
def test_a_clean_table_has_a_named_column_once_in_a_thousand(columns):
    clean = [0.0] * columns
    assert columns * norm.sf(shares_of(clean, 0.01).least, scale=0.01) == pytest.approx(FALSE_ALARM)
    noisy = shares_of(clean, 0.01, Noise.LAPLACE).least
    assert columns * laplace.sf(noisy, scale=0.01 / math.sqrt(2)) == pytest.approx(FALSE_ALARM)
    assert shares_of(clean, 0.01, models=4).least == pytest.approx(shares_of(clean, 0.005).least)


def test_columns_are_named_called_mostly_unread_and_dropped_by_the_rules():
    found = shares_of([0.0, 0.03, 0.45, 0.55, 0.95, 0.999, 1.2], 0.01)  # a share above 0.037 stands out
    assert found.named.tolist() == [False, False, True, True, True, True, True]
    assert found.mostly.tolist() == [False, False, False, True, True, True, True]
    assert found.unread.tolist() == [False, False, False, False, False, True, True]


def test_nothing_is_dropped_where_the_noise_is_wide():
    assert not shares_of([1.0, 0.0], 0.1).unread.any()
    assert shares_of([1.0, 0.0], 0.05).unread.tolist() == [True, False]


def test_the_coins_of_a_deal_widen_the_error_of_a_share_and_not_what_is_named():
    found = shares_of([1.0, 0.0], 0.01, part=1e-4)
    np.testing.assert_allclose(found.errors, [math.sqrt(2) * 0.01, 0.01])
    assert found.least == shares_of([1.0, 0.0], 0.01).least


def test_predictions_of_rows_with_unread_cells_stay_as_they_were():
    columns = CheckedColumns(("a", "b"), np.array([0, 0, 1]), np.array([0.5, 1.0, 0.0]))
    found = UnreadShares.of([(np.array([1.0, 0.0]), 0.01)], columns, Noise.GAUSSIAN)
    coef, intercept = np.array([2.0, -3.0, 4.0]), 0.25
    kept, constant = found.without((coef, intercept))
    rows = np.array([[0.5, 1.0, -1.0], [0.5, 1.0, 0.7]])
    assert kept.tolist() == [0.0, 0.0, 4.0]
    np.testing.assert_allclose(rows @ kept + constant, rows @ coef + intercept)


def test_intervals_lose_unread_columns_and_keep_what_they_added():
    columns = CheckedColumns(("a", "b"), np.array([0, 1, 1]), np.array([0.5, 0.0, 0.0]))
    found = UnreadShares.of([(np.array([1.0, 0.0]), 0.01)], columns, Noise.GAUSSIAN)
    given = InferenceResult(
        np.array([0, 2]), np.array([2.0, 3.0, 1.0]), np.diag([4.0, 1.0, 2.0]), "mean", 100, intercept=True, clip=1.0
    )
    kept = found.without_inferred(given)
    assert kept.support.tolist() == [2]
    np.testing.assert_allclose(kept.estimate, [3.0, 2.0])
    np.testing.assert_allclose(kept.covariance, [[1.0, 0.0], [0.0, 3.0]])
    assert shares_of([0.0, 0.0, 0.0], 0.01).without_inferred(given) is given


# ------------------------------------------------------------------------------------------------ fits


def told(statement):
    """Shares and standard errors by column, as the note tells them."""
    [note] = [note for note in statement.notes if note.startswith("cells not understood")]
    parts = note.split(": ", 1)[1].split("; ")
    return {
        part.split(" ")[0]: tuple(float(word) / 100 for word in part.replace(")", "").split() if word[0].isdigit())
        for part in parts
        if "standard error" in part
    }


def test_the_statement_names_the_columns_with_their_shares(tmp_path):
    made = fitted()
    found = told(made.statement_)
    assert set(found) == {"visit", "sex"}
    for name, (share, error) in found.items():
        assert abs(share - SHARES[name]) <= 3 * error + 5e-3  # three digits are told
    assert any("in the other 2 columns no noisy share is above" in note for note in made.statement_.notes)
    assert any("'visit' has no coefficient" in note for note in made.statement_.notes)
    names = TableEncoder(CODEBOOK).get_feature_names_out().tolist()
    assert made.coef_[names.index("visit")] == 0
    assert np.count_nonzero(made.coef_) >= 1
    made.save(tmp_path / "m.json")
    again = load(tmp_path / "m.json")
    assert (again.check_cells, again.statement_.notes) == (0.02, made.statement_.notes)


def test_of_a_clean_table_nothing_is_named():
    made = model().fit(encoded(CLEAN), Y)
    assert told(made.statement_) == {}
    assert any("in all 4 columns no noisy share is above" in note for note in made.statement_.notes)
    assert not any("has no coefficient" in note for note in made.statement_.notes)


def test_of_few_rows_no_share_above_one_is_told():
    made = model(epsilon=0.05).fit(encoded(CLEAN), Y)
    [note] = [note for note in made.statement_.notes if note.startswith("cells not understood")]
    assert note.endswith("in all 4 columns the noise is larger than any share, so nothing is known")


def test_the_count_has_its_share_of_the_budget_and_no_more():
    stated = model().fit(encoded(CLEAN), Y).statement_
    count = next(ask for ask in stated.asks if ask.name == "cells not understood")
    assert stated.epsilon <= 2.0 * (1 + 1e-9)
    assert count.cost**2 / 2 == pytest.approx(0.02 * stated.rho, rel=0.02)
    assert count.cost == pytest.approx(2 / count.scale, rel=1e-5), "four columns"
    asks = [ask.name for ask in model(check_cells=None).fit(encoded(CLEAN), Y).statement_.asks]
    assert "cells not understood" not in asks


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_sparse_rows_and_both_relations_tell_the_same(sparse, relation):
    rows = encoded(sparse_output=sparse)
    declared = {} if relation == "replace-one" else {"adjacency": relation, "n_rows": N}
    with pytest.warns(UnreadCellsWarning):
        found = told(model(recipe="dual_averaging", **declared).fit(rows, Y).statement_)
    assert abs(found["sex"][0] - SHARES["sex"]) <= 3 * found["sex"][1] + 5e-3


@pytest.mark.parametrize(
    "options",
    [
        {"recipe": "dp_gcd", "delta": 0.0, "epsilon": 30.0},
        {"recipe": "dp_sgd_ht", "sparsity": 2},
        {"noise": "exact", "random_state": None},
        {"intervals": "split", "sparsity": 2},
        {"check_bounds": 0.02},
        {"recipe": Doubtful(), "accept": ("unproven",)},
    ],
    ids=["pure", "sampled", "exact", "intervals", "two counts", "a recipe of others"],
)
def test_all_kinds_of_fits_take_it(options):
    made = fitted(**{"epsilon": 4.0, **options})
    share, error = told(made.statement_)["sex"]
    assert abs(share - SHARES["sex"]) <= 6 * error + 5e-3  # exact noise has no seed; a false alarm in 5e8
    assert made.coef_[2] == 0 or "visit" not in str(made.statement_.notes)


def test_several_models_are_averaged():
    classes = np.digitize(Y, [-0.3, 0.3])
    made = fitted(y=classes, kind=SparseClassifier, classes=[0, 1, 2], recipe="select_polish", sparsity=2)
    assert next(ask for ask in made.statement_.asks if ask.name == "cells not understood").times == 3
    assert abs(told(made.statement_)["sex"][0] - SHARES["sex"]) <= 3 * told(made.statement_)["sex"][1] + 5e-3
    assert np.all(made.coef_[:, 2] == 0)


@pytest.mark.parametrize("scikit", [False, True], ids=["private pipeline", "pipeline of scikit-learn"])
def test_pipelines_take_it(scikit):
    encoder, made = TableEncoder(CODEBOOK), model()
    pipe = make_pipeline(encoder, made) if scikit else make_private_pipeline(encoder, made, epsilon=2.0, delta=1e-6)
    with pytest.warns(UnreadCellsWarning):
        pipe.fit(TABLE, Y)
    assert set(told(pipe[-1].statement_)) == {"visit", "sex"}


def test_branches_of_a_column_transformer_are_counted_side_by_side():
    parts = [(name, TableEncoder(CODEBOOK.only([name])), [name]) for name in ("visit", "sex", "age")]
    with pytest.warns(UnreadCellsWarning):
        pipe = make_private_pipeline(ColumnTransformer(parts), model(), epsilon=2.0, delta=1e-6).fit(TABLE, Y)
    assert set(told(pipe.statement_)) == {"visit", "sex"}
    assert pipe[-1].coef_[0] == 0


def test_private_bounds_count_on_request_for_the_model_behind():
    step = PrivateBounds(feature_bound=1.0, check_cells=0.1, random_state=0)
    pipe = make_private_pipeline(TableEncoder(CODEBOOK), step, model(check_cells=None), epsilon=8.0, delta=1e-6)
    with pytest.warns(UnreadCellsWarning):
        pipe.fit(TABLE, Y)
    assert set(told(pipe.statement_)) == {"visit", "sex"}
    assert not any("has no coefficient" in note for note in pipe.statement_.notes)
    count = next(ask for ask in pipe.statement_.asks if ask.name.endswith("cells not understood"))
    assert count.cost**2 / 2 == pytest.approx(0.1 * step.statement_.rho, rel=0.05)


# ------------------------------------------------------------------------------------------------ refusals


def test_rows_that_do_not_say_it_are_refused_before_anything_is_paid():
    for rows in (np.asarray(encoded()), encoded()[:100]):
        with pytest.raises(DataError, match=r"Put a dpsparse\.tables\.TableEncoder directly before the estimator"):
            model(feature_bound=1.0).fit(rows, Y[: len(rows)])


def test_a_pipeline_refuses_a_count_behind_a_step_that_forgets():
    late = make_private_pipeline(
        TableEncoder(CODEBOOK), PrivateBounds(feature_bound=1.0), model(), epsilon=2.0, delta=1e-6
    )
    with pytest.raises(DataError, match="counted by the first step with a price, which is 'privatebounds'"):
        late.fit(TABLE, Y)


def test_whoever_cannot_count_says_so():
    with pytest.raises(PrivacyError, match="check_cells counts over all rows in one place, and this recipe randomises"):
        model(recipe=recipes.LDPIHT(), sparsity=2).fit(encoded(), Y)
    with pytest.raises(ValueError, match="check_cells must be"):
        model(check_cells=2.0).fit(encoded(), Y)
    with pytest.raises(ValueError, match="a search counts no cells"):
        PrivateSearch(model(random_state=None), {"sparsity": [2]}, epsilon=2.0).fit(encoded(), Y)
    with pytest.raises(PrivacyError, match="sites do not say which cells"):
        fit_shared(model(feature_bound=1.0), [SiteData("a", encoded(), Y)], honest=1)
    assert model(recipe="lasso").fit(encoded(), Y).statement_.notes == ()


def test_sites_of_a_federation_do_not_count():
    made = model(feature_bound=1.0, recipe="dp_fedgd_ht", sparsity=2)
    with pytest.raises(ValueError, match="sites count neither clipped entries nor cells"):
        Server(made, sites=["a", "b"], n_rows=100, n_features=6)


@pytest.mark.parametrize("name", sorted(recipes.REGISTRY))
def test_a_recipe_says_whether_devices_randomise(name):
    kind = recipes.get(name)
    made = SparseRegressor(recipe=name, sparsity=2, feature_bound=1.0, target_bound=1.0, accept=kind.needs)
    if not kind.private:
        assert not kind.local
        return
    noises = {ask.noise for ask in made.plan(4000, 6).asks}
    assert kind.local == any("local" in noise for noise in noises)


def test_sources_keep_flags_of_the_rows_that_they_take():
    source = checked(RNG.normal(0, 0.5, (40, 6)), 11)
    taken = source.take(np.array([3, 5])).rescaled(2.0)
    np.testing.assert_array_equal(taken.bits(0, 2), source.bits(0, 40)[[3, 5]])
    assert Records(np.zeros((3, 2))).bits(0, 3) is None


def test_flags_of_tables_below_and_beside_each_other():
    columns = CheckedColumns(("a",), np.array([0]), np.array([0.5]))
    one = UnreadCells.of(columns, [np.array([True, False])])
    two = UnreadCells.of(columns, [np.array([False, True])])
    assert UnreadCells.below([one, two]).bits.tolist() == [[128], [0], [0], [128]]
    beside = UnreadCells.beside([one, two])
    assert (beside.columns.names, beside.columns.owners.tolist()) == (("a", "a"), [0, 1])
    assert beside.bits.tolist() == [[128], [64]]
    more = one.with_column("y", np.array([True, True]))
    assert (more.columns.names, more.bits.tolist()) == (("a", "y"), [[192], [64]])
