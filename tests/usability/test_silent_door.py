"""The silent door: two worlds that differ in one record have the same outcome, whatever stands in it.

An outcome is the exception and its text, every warning, what was printed, and the statement. Models differ by their noise, and are not compared.
"""

from __future__ import annotations

import datetime
import math
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from click.testing import CliRunner

from dpsparse import (
    Ledger,
    NoisyCount,
    PrivateScaler,
    PrivateSearch,
    PublicScaler,
    RowNormalizer,
    SparseClassifier,
    SparseRegressor,
    make_private_pipeline,
)
from dpsparse.cli import main
from dpsparse.core import MissingValueError
from dpsparse.rows.records import AT_FIT, NOT_COVERED, REFUSAL

RNG = np.random.default_rng(0)
N = 60
X = RNG.uniform(-1, 1, (N, 3))
Y = X[:, 0].copy()
LABELS = (X[:, 0] > 0).astype(int)
SECRETS = ("alice@example.org", "HIV+", "secret-diagnosis", "7351")


class Rude:
    """An object that speaks whenever somebody looks at it."""

    def __float__(self):
        warnings.warn(SECRETS[0], stacklevel=1)
        raise RuntimeError(SECRETS[0])

    def __repr__(self):
        return SECRETS[0]


#: Cells that are no finite numbers.
HOLES = [*SECRETS[:3], math.nan, math.inf, -math.inf, None, pd.NA, 10**400, {"7351": "HIV+"}, 7351j, b"HIV+", Rude()]
HOLES += [datetime.date(1973, 5, 1), pd.Timestamp("1973-05-01")]
holes = pytest.mark.parametrize("hole", HOLES, ids=lambda hole: type(hole).__name__)


def regressor(**more):
    return SparseRegressor(
        **{"feature_bound": 1.0, "target_bound": 1.0, "sparsity": 2, "recipe": "dp_ight", "delta": 1e-6} | more
    )


def classifier(**more):
    return SparseClassifier(**{"feature_bound": 1.0, "sparsity": 2, "recipe": "dp_ight", "classes": [0, 1]} | more)


def outcome(model, X, y, capfd):
    """Everything but the model that a fit lets out."""
    said = None
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            model.fit(X, y)
        except Exception as error:
            said = type(error), str(error), error.__cause__, error.__suppress_context__ or error.__context__ is None
    statement = getattr(model, "statement_", None)
    # sensitivities and scales follow released iterates, hence the noise
    asks = () if statement is None else tuple(dict.fromkeys((ask.name, ask.noise) for ask in statement.asks))
    public = None if statement is None else (asks, replace(statement, asks=()).to_json())
    return said, [(w.category, str(w.message)) for w in heard], tuple(capfd.readouterr()), public


def stored(cells, hole, how):
    """Rows with one cell changed, in some dress."""
    rows = cells.astype(object)
    rows[17, 1] = hole
    if how == "objects":
        return rows
    if how == "lists":
        return rows.tolist()
    frame = pd.DataFrame(cells, columns=["a", "b", "c"])
    column = pd.Series(list(rows[:, 1]), dtype=object)
    frame["b"] = column
    return frame


# ------------------------------------------------------------------------------------------------ nothing is said


@holes
@pytest.mark.parametrize("how", ["objects", "lists", "frame"])
def test_a_cell_says_nothing_where_records_may_be_empty(hole, how, capfd):
    worlds = [outcome(regressor(on_missing="empty"), stored(X, cell, how), Y, capfd) for cell in (0.5, hole)]
    assert worlds[0] == worlds[1]
    assert worlds[0][:3] == (None, [], ("", ""))


@holes
def test_a_target_says_nothing_where_records_may_be_empty(hole, capfd):
    worlds = []
    for cell in (0.5, hole):
        y = Y.astype(object)
        y[17] = cell
        worlds += [outcome(regressor(on_missing="empty"), X, given, capfd) for given in (y, y.tolist(), pd.Series(y))]
    assert all(world == worlds[0] for world in worlds)
    assert worlds[0][:3] == (None, [], ("", ""))


@pytest.mark.parametrize("on_missing", ["refuse", "empty"])
@pytest.mark.parametrize("label", [0.5, 7, -1, "unknown", *HOLES], ids=lambda v: type(v).__name__)
def test_a_label_outside_declared_classes_says_nothing(label, on_missing, capfd):
    worlds = []
    for given in (1, label):
        y = LABELS.astype(object)
        y[17] = given
        model = classifier(on_missing=on_missing)
        worlds += [outcome(model, X, y, capfd), outcome(model, X, y.tolist(), capfd)]
    assert all(world == worlds[0] for world in worlds)
    assert worlds[0][:3] == (None, [], ("", ""))


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_matrix, sp.coo_array, pd.DataFrame])
@pytest.mark.parametrize("value", [1.7e308, -1.7e308, 5e-324, 1e-200])
def test_large_and_tiny_numbers_say_nothing(value, storage, capfd):
    rows, y = X.copy(), Y.copy()
    rows[17, 1], y[17] = value, value
    model = regressor(target_center=-1.7e308, fit_intercept=False)
    assert outcome(model, storage(rows), y, capfd) == outcome(model, storage(X), Y, capfd)


def test_one_text_among_lists_changes_no_other_record():
    rows = [[True, 1.5], [False, 2.5], [True, 3.5]]
    from dpsparse.rows import Records

    assert (
        Records(rows).rows(0, 2).tolist() == Records([*rows[:2], ["x", 1j]]).rows(0, 2).tolist() == [[1, 1.5], [0, 2.5]]
    )


@pytest.mark.parametrize(
    "steps",
    [
        lambda: [PrivateScaler(feature_bound=1.0)],
        lambda: [RowNormalizer()],
        lambda: [RowNormalizer(norm="l1"), PrivateScaler(row_norm=1.0)],
        lambda: [PublicScaler(feature_bound=1.0), PrivateScaler(feature_bound=1.0)],
    ],
    ids=["scaler", "normalizer", "both", "public"],
)
@pytest.mark.parametrize("cell", [1.7e308, 5e-324, math.nan, math.inf, "HIV+", 10**400], ids=lambda v: str(v)[:8])
def test_pipelines_say_nothing(steps, cell, capfd):
    worlds = []
    for value in (0.5, cell):
        pipe = make_private_pipeline(
            *steps(),
            SparseRegressor(sparsity=2, target_bound=1.0, recipe="dp_ight", on_missing="empty"),
            epsilon=2.0,
        )
        found = outcome(pipe, stored(X, value, "objects"), Y, capfd)
        said = pipe.statement_  # how the model asks follows the scales that were released
        worlds.append((*found[:3], (said.epsilon, said.delta, said.adjacency, said.n_rows, said.assumptions)))
    assert [world[:3] for world in worlds] == [(None, [], ("", ""))] * 2
    assert worlds[0][3][1:] == worlds[1][3][1:]
    assert worlds[0][3][0] == pytest.approx(worlds[1][3][0], rel=1e-6)


@pytest.mark.parametrize("cell", [1.7e308, math.nan, "HIV+"])
def test_a_search_says_nothing_however_many_runs_there_were(cell, capfd):
    """Values that would overflow in every run: the number of warnings would be that of the runs."""
    y = Y.astype(object)
    y[17] = cell
    model = regressor(target_center=-1.7e308, on_missing="empty", delta=None, epsilon=1.0)
    for law, mean in (("poisson", 5), ("logarithmic", 3)):
        search = PrivateSearch(model, {"sparsity": [1, 2]}, mean_runs=mean, law=law, holdout=0.3)
        assert outcome(search, X, y, capfd)[:3] == (None, [], ("", ""))


def test_no_rows_are_like_one_where_their_number_is_private(capfd):
    def worlds(make, y):
        return [outcome(make(), X[:n], y[:n], capfd)[:3] for n in (1, 0)]

    shape = {"adjacency": "add-remove", "n_rows": 50}
    quiet = [(None, [], ("", ""))] * 2
    assert worlds(lambda: regressor(**shape), Y) == quiet
    assert worlds(lambda: classifier(**shape), LABELS) == quiet
    assert worlds(lambda: PrivateSearch(regressor(**shape), {"sparsity": [1, 2]}, mean_runs=2), Y) == quiet
    steps = lambda: (NoisyCount(), PrivateScaler(feature_bound=1.0), SparseRegressor(target_bound=1.0, sparsity=2))  # noqa: E731
    assert worlds(lambda: make_private_pipeline(*steps(), epsilon=2.0, adjacency="add-remove"), Y) == quiet
    assert (
        worlds(lambda: make_private_pipeline(RowNormalizer(), *steps(), epsilon=2.0, adjacency="add-remove"), Y)
        == quiet
    )


# ------------------------------------------------------------------------------------------------ the one refusal


@holes
@pytest.mark.parametrize("how", ["objects", "lists", "frame"])
def test_a_refusal_is_always_the_same_and_quotes_nothing(hole, how, capfd):
    found = outcome(regressor(), stored(X, hole, how), Y, capfd)
    assert found == ((MissingValueError, REFUSAL + AT_FIT, None, True), [], ("", ""), None)
    assert outcome(regressor(), stored(X, 0.5, how), Y, capfd)[0] is None  # the control: worlds are told apart here
    y = Y.astype(object)
    y[17] = hole
    assert outcome(regressor(), X, y, capfd) == found


@pytest.mark.parametrize("how", ["category", "datetime64[ns]", "string", "timedelta64[ns]"])
def test_columns_that_are_no_numbers_are_refused_in_the_same_words(how, capfd):
    cells = (
        ["2020-01-01"] * N
        if how == "datetime64[ns]"
        else [1] * N
        if how == "timedelta64[ns]"
        else list(SECRETS[:3]) * 20
    )
    frame = pd.DataFrame({"a": Y, "b": pd.Series(cells).astype(how), "c": Y})
    assert outcome(regressor(), frame, Y, capfd)[0][:2] == (MissingValueError, REFUSAL + AT_FIT)
    assert outcome(regressor(on_missing="empty"), frame, Y, capfd)[:2] == (None, [])


@pytest.mark.parametrize(
    "step", [PrivateScaler(feature_bound=1.0), NoisyCount(), RowNormalizer(), PublicScaler(feature_bound=1.0)]
)
@holes
def test_steps_refuse_in_the_same_words(step, hole):
    with pytest.raises(MissingValueError) as refusal:
        step.fit(stored(X, hole, "objects"))
    assert str(refusal.value) == REFUSAL + AT_FIT
    with pytest.raises(MissingValueError):
        step.fit(X).transform(stored(X, hole, "objects"))


@holes
def test_predictions_quote_nothing(hole):
    model = regressor().fit(X, Y)
    with pytest.raises(MissingValueError) as refusal:
        model.predict(stored(X, hole, "frame").to_numpy())
    assert not any(secret in str(refusal.value) for secret in SECRETS)


def test_what_is_refused_costs_nothing(tmp_path):
    address = f"sqlite:///{tmp_path}/budget.db"
    ledger = Ledger(address)
    ledger.create("trial", 10.0, 1e-5)
    paid = {"ledger": ledger, "dataset": "trial"}
    rows = stored(X, "HIV+", "objects")
    free = SparseRegressor(target_bound=1.0, sparsity=2)
    for model in (
        regressor(**paid),
        PrivateSearch(regressor(), {"sparsity": [1]}, mean_runs=2, **paid),
        make_private_pipeline(PrivateScaler(feature_bound=1.0), free, epsilon=1.0, **paid),
        make_private_pipeline(RowNormalizer(), free, epsilon=1.0, **paid),
        PrivateScaler(feature_bound=1.0, **paid),
    ):
        with pytest.raises(MissingValueError):
            model.fit(rows, Y)
    assert not ledger.entries("trial")


def test_the_statement_says_that_the_refusal_is_not_covered():
    pipe = make_private_pipeline(PrivateScaler(feature_bound=1.0), SparseRegressor(target_bound=1.0), epsilon=1.0)
    search = PrivateSearch(regressor(), {"sparsity": [1]}, mean_runs=2)
    for model in (regressor(), pipe, search, PrivateScaler(feature_bound=1.0)):
        assert NOT_COVERED in model.fit(X, Y).statement_.assumptions
    pipe.set_params(sparseregressor__on_missing="empty")
    search.set_params(estimator__on_missing="empty")
    for model in (regressor(on_missing="empty"), pipe, search):
        assert NOT_COVERED not in model.fit(X, Y).statement_.assumptions


def test_an_unknown_choice_is_refused():
    for model in (
        regressor(on_missing="drop"),
        PrivateScaler(feature_bound=1.0, on_missing="drop"),
        RowNormalizer(on_missing=1),
    ):
        with pytest.raises(ValueError, match="on_missing"):
            model.fit(X, Y)


# ------------------------------------------------------------------------------------------------ shapes and classes


@pytest.mark.parametrize(
    "given", [["HIV+", "b"], np.array(["HIV+"] * N), "HIV+", [["HIV+"], ["HIV+", 1]], np.full((2, 2, 2), 7351.0)]
)
def test_a_wrong_shape_prints_no_array(given, capfd):
    kind, text, *_ = outcome(regressor(), given, Y, capfd)[0]
    assert issubclass(kind, ValueError)
    assert "two dimensions" in text
    assert not any(secret in text for secret in SECRETS)


@pytest.mark.parametrize("labels", [["HIV+", 7351.0], ["HIV+", {"7351": 1}], [0.7351, 0.1], ["HIV+", None]])
def test_learned_classes_quote_no_label_in_a_refusal(labels, capfd):
    y = np.array((labels * N)[:N], dtype=object)
    said = outcome(classifier(classes=None), X, y, capfd)[0]
    assert said is not None
    assert not any(secret in said[1] for secret in SECRETS)


def test_a_foreign_step_is_not_quoted():
    from sklearn.preprocessing import Normalizer, OneHotEncoder

    pipe = make_private_pipeline(Normalizer(), SparseRegressor(target_bound=1.0, row_norm=1.0), epsilon=1.0)
    with pytest.raises(MissingValueError, match="a cell that is no number") as refusal:
        pipe.fit(stored(X, "HIV+", "objects"), Y)
    assert refusal.value.__context__ is None
    assert "HIV+" not in str(refusal.value)
    table = pd.DataFrame({"group": ["HIV+"] * 3})
    encoder = OneHotEncoder(categories=[["none of", "these"]])
    pipe = make_private_pipeline(encoder, SparseRegressor(target_bound=1.0, row_norm=1.0), epsilon=1.0)
    with pytest.raises(ValueError, match="synthetic rows") as refusal:
        pipe.fit(table, Y[:3])
    assert refusal.value.__context__ is None or refusal.value.__suppress_context__
    assert "HIV+" not in str(refusal.value)


# ------------------------------------------------------------------------------------------------ the command line


@pytest.mark.parametrize("cell", ["unknown", "0.5", "7", "", "nan"])
def test_the_command_line_says_nothing_about_a_label(cell, tmp_path):
    said = []
    for label in ("1", cell):
        lines = ["a,b,c,ill", *(f"{a},{b},{c},{v}" for (a, b, c), v in zip(X, [label, *LABELS[1:]], strict=True))]
        (tmp_path / "a.csv").write_text("\n".join(lines))
        done = _command(
            "fit",
            tmp_path / "a.csv",
            "--target",
            "ill",
            "--task",
            "classification",
            "--classes",
            "0,1",
            "--epsilon",
            "40",
            "--out",
            tmp_path / "m.json",
        )
        said.append((done.exit_code, done.stderr, done.stdout.count("Assumes")))
    assert said[0] == said[1]
    assert said[0][:2] == (0, "")


@pytest.mark.parametrize("cell", ["HIV+", "", "inf", "1e999"])
def test_the_command_line_takes_rows_with_holes_if_asked_to(cell, tmp_path):
    lines = [
        "a,b,c,y",
        *(f"{cell if i == 17 else a},{b},{c},{v}" for i, ((a, b, c), v) in enumerate(zip(X, Y, strict=True))),
    ]
    (tmp_path / "a.csv").write_text("\n".join(lines))
    options = [
        "fit",
        tmp_path / "a.csv",
        "--target",
        "y",
        "--task",
        "regression",
        "--target-bound",
        1,
        "--epsilon",
        9,
        "--out",
        tmp_path / "m.json",
    ]
    refused = _command(*options)
    assert refused.exit_code == 2
    assert "--on-missing empty" in refused.stderr
    assert "HIV+" not in refused.output
    done = _command(*options, "--on-missing", "empty")
    assert (done.exit_code, done.stderr) == (0, "")


def _command(*options):
    return CliRunner().invoke(main, [str(v) for v in (*options, "--feature-bound", 1)])
