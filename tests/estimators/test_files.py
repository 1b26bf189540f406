"""Pipelines and searches as JSON files, and how fitted things look in a notebook."""

import json

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction.text import HashingVectorizer

import dpsparse
from dpsparse import (
    Ledger,
    NoisyCount,
    PrivateBounds,
    PrivateScaler,
    PrivateSearch,
    PublicScaler,
    RowNormalizer,
    SparseClassifier,
    SparseRegressor,
    make_private_pipeline,
    recipes,
)
from dpsparse.core import DataError
from dpsparse.core.errors import ModelEditedError
from dpsparse.estimators.search.space import Space, restored_space, stored_space
from dpsparse.tables import Column, Dictionary, TableEncoder

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (2000, 5))
Y = X[:, 0] + 0.1 * RNG.standard_normal(2000)
TEXTS = ["a good fine day", "a bad awful night"] * 300
TABLE = pd.DataFrame({"age": RNG.integers(0, 100, 2000), "sex": np.where(RNG.random(2000) < 0.5, "F", "M")})
CODEBOOK = Dictionary(
    [
        Column(name="age", kind="number", bounds=(0, 100)),
        Column(name="sex", kind="category", categories=["F", "M"]),
    ]
)


def regressor(**arguments):
    return SparseRegressor(**{"sparsity": 2, "target_bound": 2.0, "random_state": 0, **arguments})


PIPELINES = {
    "bounds": lambda: (
        make_private_pipeline(
            PublicScaler(feature_bound=2.0),
            PrivateBounds(feature_bound=30.0, target_bound=40.0, random_state=1),
            regressor(target_bound=None),
            epsilon=2.0,
        ),
        X,
        Y,
    ),
    "scales": lambda: (
        make_private_pipeline(
            NoisyCount(random_state=3),
            PrivateScaler(feature_bound=1.0, random_state=1),
            regressor(),
            epsilon=2.0,
            adjacency="add-remove",
        ),
        pd.DataFrame(X, columns=list("abcde")),
        Y,
    ),
    "texts": lambda: (
        make_private_pipeline(
            HashingVectorizer(n_features=64, ngram_range=(1, 2)),
            RowNormalizer(),
            SparseClassifier(random_state=0, classes=["bad", "good"]),
            epsilon=2.0,
        ),
        TEXTS,
        ["good", "bad"] * 300,
    ),
    "tables": lambda: (
        make_private_pipeline(TableEncoder(CODEBOOK), regressor(), epsilon=2.0),
        TABLE,
        TABLE["age"].to_numpy() / 100,
    ),
}


@pytest.mark.parametrize("name", PIPELINES)
def test_a_loaded_pipeline_predicts_and_promises_the_same(name, tmp_path):
    pipeline, rows, y = PIPELINES[name]()
    pipeline.fit(rows, y)
    file = tmp_path / "pipeline.json"
    pipeline.save(file)
    again = dpsparse.load(file)
    np.testing.assert_array_equal(again.predict(rows), pipeline.predict(rows))
    assert again.statement_ == pipeline.statement_
    assert again[-1].statement_ == pipeline.statement_
    assert [step[0] for step in again.steps] == [step[0] for step in pipeline.steps]
    again.save(file)  # replaces its own kind
    assert dpsparse.load(file).statement_ == pipeline.statement_


def search():
    space = {"recipe": [recipes.DPIGHT(clip=1.0)], "sparsity": [1, 2]}
    model = SparseRegressor(feature_bound=1.0, target_bound=2.0)
    return PrivateSearch(model, space, epsilon=3.0, mean_runs=3, random_state=1).fit(X, Y)


def test_a_loaded_search_predicts_and_promises_the_same(tmp_path):
    found = search()
    found.save(tmp_path / "search.json")
    again = dpsparse.load(tmp_path / "search.json")
    np.testing.assert_array_equal(again.predict(X), found.predict(X))
    assert again.statement_ == found.statement_
    assert again.best_params_["recipe"]["recipe"] == "dp_ight"
    assert again.best_score_ == found.best_score_
    assert again.epsilon == 3.0
    assert again.param_distributions == found.param_distributions
    once_more, twice = again.fit(X, Y), found.fit(X, Y)
    np.testing.assert_array_equal(once_more.best_estimator_.coef_, twice.best_estimator_.coef_)


@pytest.mark.parametrize(
    "space",
    [
        None,
        {"alpha": scipy.stats.loguniform(0.1, 10), "sparsity": scipy.stats.randint(1, 5)},
        [{"sparsity": range(1, 4)}, {"recipe": ["dp_ight", recipes.DPGCD(steps=3)], "alpha": np.array([0.0, 0.5])}],
    ],
    ids=["none", "distributions", "lists"],
)
def test_a_space_comes_back_with_the_same_draws(space):
    again = restored_space(json.loads(json.dumps(stored_space(space))))
    assert (again is None) == (space is None)
    if space is not None:
        one, two = (Space.read(s, SparseRegressor()) for s in (space, again))
        assert one.size == two.size
        draws = [[s.draw(np.random.default_rng(seed)) for seed in range(20)] for s in (one, two)]
        assert draws[0] == draws[1]


def test_a_space_without_a_plain_form_is_left_out_and_a_foreign_name_is_refused():
    class Own:
        def rvs(self, random_state):
            return 1.0

    assert stored_space({"alpha": Own()}) is None
    with pytest.raises(ValueError, match="distribution"):
        restored_space({"alpha": {"distribution": "test", "args": [], "kwds": {}}})


def test_edited_and_damaged_files_are_refused(tmp_path):
    pipeline, rows, y = PIPELINES["scales"]()
    file = tmp_path / "pipeline.json"
    pipeline.fit(rows, y).save(file)
    content = json.loads(file.read_text())
    content["statement"]["epsilon"] = 0.1
    file.write_text(json.dumps(content))
    with pytest.raises(ModelEditedError, match="digest does not fit"):
        dpsparse.load(file)
    read = dpsparse.load(file, edited=True)
    assert not read.statement_.private
    assert "edited" in read.statement_.caveats[0]
    [first, *others] = content["steps"]
    names = {**first, "learned": {**first["learned"], "feature_names_in_": {"<array>": [["a"], ["b"]]}}}
    scaler = others[0]["learned"]
    learned = [{**scaler, name: 3.5} for name in scaler]
    learned += [{k: v for k, v in scaler.items() if k != name} for name in ("scale_", "_before", "statement_")]
    for change in (
        {"steps": [names, *others]},
        *({"steps": [first, {**others[0], "learned": other}]} for other in learned),
        {"steps": [{"name": "x", "class": "Popen", "params": {}, "learned": {}}]},
        {"model": {}},
        {"more": 1},
    ):
        file.write_text(json.dumps({**content, **change}))
        with pytest.raises(DataError, match="damaged"):
            dpsparse.load(file, edited=True)
    file.write_text(json.dumps({**content, "version": 9}))
    with pytest.raises(DataError, match="another format version"):
        dpsparse.load(file)
    with pytest.raises(FileNotFoundError):
        dpsparse.load(tmp_path / "none.json")


def test_steps_without_a_plain_form_are_named(tmp_path):
    pipeline = make_private_pipeline(
        make_column_transformer((PublicScaler(feature_bound=1.0), [0, 1])), regressor(feature_bound=1.0), epsilon=2.0
    ).fit(X, Y)
    with pytest.raises(DataError, match="columntransformer"):
        pipeline.save(tmp_path / "p.json")
    with_function = make_private_pipeline(
        HashingVectorizer(n_features=64, preprocessor=str.lower), RowNormalizer(), SparseClassifier(random_state=0)
    ).fit(TEXTS, [1, 0] * 300)
    with pytest.raises(DataError, match=r"HashingVectorizer\(preprocessor=...\)"):
        with_function.save(tmp_path / "p.json")


def test_a_ledger_and_other_files_are_not_replaced_and_addresses_not_stored(tmp_path):
    ledger = Ledger(f"sqlite:///{tmp_path / 'b.db'}")
    ledger.create("trial", epsilon=5.0, delta=1e-5)
    pipeline, rows, y = PIPELINES["bounds"]()
    pipeline.set_params(ledger=ledger, dataset="trial").fit(rows, y)
    with pytest.raises(DataError, match="not replaced"):
        pipeline.save(tmp_path / "b.db")
    pipeline.save(tmp_path / "p.json")
    assert "sqlite" not in (tmp_path / "p.json").read_text()
    assert dpsparse.load(tmp_path / "p.json").ledger is None


def test_everything_shows_its_promise_in_a_notebook(tmp_path):
    model = regressor(feature_bound=1.0)
    assert "differential privacy" not in model._repr_html_()
    model.fit(X, Y)
    for shown in (model, search(), PIPELINES["scales"]()[0].fit(X, Y)):
        assert "CAVEAT" in shown._repr_html_()
        assert "CAVEAT" in shown._repr_mimebundle_()["text/html"]
    assert "in all" in PIPELINES["scales"]()[0].plan(2000, 5)._repr_html_()
    assert "in all" in search().plan_._repr_html_()
    ledger = Ledger(f"sqlite:///{tmp_path / 'b.db'}")
    assert "b.db" in ledger._repr_html_()
    ledger.create("<trial>", epsilon=5.0, delta=1e-5)
    assert "&lt;trial&gt;" in ledger._repr_html_()
