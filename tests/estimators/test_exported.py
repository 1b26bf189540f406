"""Models that leave: scikit-learn pipelines, ONNX graphs and model cards say what the model says."""

from __future__ import annotations

import io
import json
import re

import numpy as np
import pytest
import scipy.sparse as sp

from dpsparse import SparseClassifier, SparseRegressor, load, losses, make_private_pipeline
from dpsparse.core.errors import PrivacyError
from dpsparse.estimators.arguments import INSTEAD
from dpsparse.estimators.summary import summary
from dpsparse.recipes import get
from dpsparse.tables import Column, Dictionary, DictionaryError, TableEncoder

RNG = np.random.default_rng(5)
#: Beyond the bounds, so that clipping of entries and of rows matters.
X = RNG.normal(size=(400, 6)) * 2
SCORE = X[:, 0] - 2 * X[:, 3] + 0.3
TWO = np.where(SCORE > 0, "yes", "no")
THREE = np.digitize(SCORE, [-2, 2])
BOUNDS = {"feature_bound": (-np.ones(6), np.arange(1.0, 7.0)), "row_norm": 2.5}
FITS = {"epsilon": 5.0, "delta": 1e-6, "random_state": 0}

MODELS = {
    "two classes": (SparseClassifier(**FITS, **BOUNDS), TWO),
    "no intercept": (SparseClassifier(**FITS, **BOUNDS, fit_intercept=False), TWO),
    "entries only": (SparseClassifier(**FITS, feature_bound=1.0), TWO),
    "one versus the rest": (SparseClassifier(**FITS, **BOUNDS, recipe="dp_ight", sparsity=4), THREE),
    "multinomial": (SparseClassifier(**FITS, **BOUNDS, recipe="dual_averaging"), THREE),
    "regression": (SparseRegressor(**FITS, **BOUNDS, target_bound=2.0, target_center=1.0), SCORE),
    "counts": (SparseRegressor(**FITS, **BOUNDS, target_bound=6.0, target_center=6.0, loss="poisson"), np.abs(SCORE)),
    "huber": (SparseRegressor(**FITS, **BOUNDS, target_bound=2.0, loss="huber:threshold=0.5"), SCORE),
}


@pytest.fixture(scope="module")
def fitted():
    return {name: model.fit(X, y) for name, (model, y) in MODELS.items()}


def differences(model, predict, proba, rows=X):
    """The largest difference of predictions, and of probabilities where there are some."""
    if "classes_" not in vars(model):
        return float(np.abs(np.ravel(predict) - model.predict(rows)).max())
    assert (predict == model.predict(rows)).all()
    return float(np.abs(proba - model.predict_proba(rows)).max())


@pytest.mark.parametrize("name", MODELS)
def test_the_pipeline_predicts_what_the_model_predicts(fitted, name):
    model, pipeline = fitted[name], fitted[name].to_sklearn()
    proba = pipeline.predict_proba(X) if "classes_" in vars(model) else None
    assert differences(model, pipeline.predict(X), proba) <= 1e-12
    assert np.ptp(np.ravel(pipeline.predict(X) if proba is None else proba)) > 0.05  # it does not say the same of all


def test_sparse_rows_and_frames_too(fitted):
    pd = pytest.importorskip("pandas")
    model = fitted["two classes"]
    assert np.array_equal(model.to_sklearn().predict_proba(sp.csr_matrix(X)), model.predict_proba(sp.csr_matrix(X)))
    frame = pd.DataFrame(X, columns=list("abcdef"))
    named = SparseClassifier(**FITS, **BOUNDS).fit(frame, TWO)
    assert np.abs(named.to_sklearn().predict_proba(frame) - named.predict_proba(frame)).max() <= 1e-12


def test_curves_are_exported_with_their_terms():
    model = SparseClassifier(**FITS, feature_bound=3.0, shapes="smooth").fit(X, TWO)
    assert model.coef_.shape[1] > X.shape[1]
    assert np.abs(model.to_sklearn().predict_proba(X) - model.predict_proba(X)).max() <= 1e-12


def test_offsets_have_no_place_in_a_pipeline():
    model = SparseClassifier(**FITS, **BOUNDS, offset_bound=(-1, 1)).fit(X, TWO, offset=np.zeros(400))
    with pytest.raises(TypeError, match="offsets"):
        model.to_sklearn()


def test_joblib_keeps_it(fitted):
    joblib = pytest.importorskip("joblib")
    for name in ("one versus the rest", "regression"):
        stored = io.BytesIO()
        joblib.dump(fitted[name].to_sklearn(), stored)
        stored.seek(0)
        assert np.array_equal(joblib.load(stored).predict(X), fitted[name].predict(X))


def test_an_exported_pipeline_refuses_to_be_fitted(fitted):
    for name in ("two classes", "regression"):
        with pytest.raises(PrivacyError, match="without privacy"):
            fitted[name].to_sklearn().fit(X, SCORE)


def test_nothing_is_exported_before_a_fit():
    for export in ("to_sklearn", "to_onnx", "card"):
        with pytest.raises(AttributeError, match="fit the estimator first"):
            getattr(SparseClassifier(), export)()


def test_a_private_pipeline_is_exported_with_its_steps():
    from dpsparse import PrivateScaler

    made = make_private_pipeline(PrivateScaler(), SparseClassifier(random_state=0), epsilon=8.0, delta=1e-6)
    made.set_params(privatescaler__feature_bound=6.0, privatescaler__random_state=0)
    made.fit(X, TWO)
    assert np.abs(made.to_sklearn().predict_proba(X) - made.predict_proba(X)).max() <= 1e-12


CODEBOOK = Dictionary(
    [
        Column(name="age", kind="number", bounds=(20, 80), gap_is_feature=True, unit="year"),
        Column(name="sex", kind="category", categories=["f", "m"], fill="m"),
        Column(name="site", kind="category", categories=["north", "south", "west"], gap_is_feature=True),
        Column(name="smoker", kind="boolean"),
        Column(name="since", kind="date", bounds=("2000-01-01", "2020-01-01")),
    ]
)
TABLE = {
    "age": [15.0, 90.0, np.nan, 44.0, 61.5, 33.0] * 60,
    "sex": ["f", "m", "", "other", "f", "m"] * 60,
    "site": ["north", "", "south", "east", "west", "west"] * 60,
    "smoker": [1.0, 0.0, np.nan, 1.0, 0.0, 1.0] * 60,
    "since": [14000.0, 0.0, np.nan, 12345.25, 17000.0, 19000.0] * 60,
}


@pytest.fixture(scope="module")
def of_table():
    rows = TableEncoder(CODEBOOK).fit_transform(as_frame())
    model = SparseClassifier(epsilon=20.0, delta=1e-6, random_state=0).fit(rows, TWO[:360])
    model.dictionary_ = CODEBOOK
    model.feature_names_in_ = TableEncoder(CODEBOOK).get_feature_names_out()
    return model


def as_frame():
    """The table as a user has it: dates as dates."""
    days = [
        None if np.isnan(d) else np.datetime64(0, "s") + np.timedelta64(int(d * 86400), "s") for d in TABLE["since"]
    ]
    return {**TABLE, "since": days}


def test_a_dictionary_is_the_first_step(of_table):
    encoded = TableEncoder(CODEBOOK).fit_transform(as_frame())
    plain = SparseClassifier(feature_bound=1.0)
    plain.__dict__.update({k: v for k, v in vars(of_table).items() if k not in ("dictionary_", "feature_names_in_")})
    found = of_table.to_sklearn().predict_proba(as_frame())
    assert np.abs(found - plain.predict_proba(encoded)).max() <= 1e-12


def test_a_model_of_a_table_predicts_on_the_table(of_table, tmp_path):
    of_table.save(tmp_path / "model.json")
    loaded = load(tmp_path / "model.json")
    expected = of_table.to_sklearn().predict_proba(as_frame())
    assert np.abs(loaded.predict_proba(as_frame()) - expected).max() <= 1e-12
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(as_frame())
    assert np.array_equal(loaded.predict_proba(frame), loaded.predict_proba(as_frame()))
    encoded = pd.DataFrame(np.asarray(TableEncoder(CODEBOOK).fit_transform(frame)), columns=loaded.feature_names_in_)
    assert np.array_equal(loaded.predict_proba(encoded), loaded.predict_proba(frame))
    with pytest.raises(DictionaryError, match="no column 'age'"):
        loaded.predict(frame.drop(columns="age"))


def test_arguments_of_other_libraries_are_answered():
    for name, said in (
        ("C", "alpha="),
        ("max_iter", "steps=20"),
        ("n_jobs", "DPSPARSE_THREADS"),
        ("tol", "exact loss"),
    ):
        with pytest.raises(TypeError, match=f"has no argument '{name}'.*{said}"):
            SparseClassifier(**{name: 1})
    with pytest.raises(TypeError, match="Did you mean 'epsilon'"):
        SparseRegressor(epsilom=1.0)
    with pytest.raises(ValueError, match="alpha="):
        SparseClassifier().set_params(C=1.0)
    assert SparseClassifier(l1_ratio=0.2).get_params()["l1_ratio"] == 0.2


@pytest.mark.parametrize("kind", [SparseClassifier, SparseRegressor])
def test_every_argument_is_in_one_of_the_five_groups(kind):
    groups = kind.__doc__.split("in five groups:")[1].split("Parameters")[0]
    named = re.findall(r"`(\w+)`", groups)
    assert sorted(named) == sorted(kind().get_params())
    first = re.findall(r"`(\w+)`", kind.__doc__.split("matter first:")[1].split("All arguments")[0])
    assert len(first) == 8
    assert set(first) <= set(named)


def test_no_argument_of_ours_is_called_foreign():
    for kind in (SparseClassifier, SparseRegressor):
        assert not set(kind().get_params()) & set(INSTEAD)
    assert get("dp_ight")(steps=20, step_size=0.1).steps == 20


# ---------------------------------------------------------------------------------------------------- ONNX


def run_onnx(model, inputs):
    skipped = "skl2onnx and onnxruntime are not installed (pip install 'dpsparse[onnx]')"
    pytest.importorskip("skl2onnx", reason=skipped)
    runtime = pytest.importorskip("onnxruntime", reason=skipped)
    session = runtime.InferenceSession(model.to_onnx().SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, inputs)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
@pytest.mark.parametrize("name", MODELS)
def test_the_graph_predicts_what_the_model_predicts(fitted, name):
    model = fitted[name]
    found = run_onnx(model, {"X": X})
    assert differences(model, found[0], found[-1]) <= 1e-12


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_the_graph_of_a_table_takes_typed_columns(of_table):
    texts = {"sex", "site"}
    inputs = {n: np.array(v, dtype=object if n in texts else float).reshape(-1, 1) for n, v in TABLE.items()}
    found = run_onnx(of_table, inputs)
    expected = of_table.to_sklearn().predict_proba(as_frame())
    assert np.abs(found[-1] - expected).max() <= 1e-12
    assert np.ptp(expected[:, 1]) > 0.05


# ---------------------------------------------------------------------------------------------------- names, logs, cards


def test_losses_have_names():
    poisson = {"target_bound": 6.0, **FITS, **BOUNDS}
    by_name = SparseRegressor(**poisson, loss="poisson").fit(X, np.abs(SCORE))
    by_object = SparseRegressor(**poisson, loss=losses.Poisson()).fit(X, np.abs(SCORE))
    assert np.array_equal(by_name.coef_, by_object.coef_)
    assert by_name.statement_.loss == "poisson"
    with pytest.raises(ValueError, match="Did you mean 'poisson'"):
        SparseRegressor(**poisson, loss="poison").fit(X, SCORE)
    with pytest.raises(TypeError, match="classification loss"):
        SparseClassifier(**FITS, **BOUNDS, loss="huber").fit(X, TWO)
    with pytest.raises(ValueError, match="no setting 'width'; it has threshold"):
        losses.named_loss("huber:width=2")


def test_a_named_loss_is_saved(tmp_path):
    model = SparseRegressor(target_bound=6.0, **FITS, **BOUNDS, loss="poisson").fit(X, np.abs(SCORE))
    model.save(tmp_path / "model.json")
    assert np.array_equal(load(tmp_path / "model.json").predict(X), model.predict(X))


@pytest.mark.parametrize("name", ["two classes", "one versus the rest", "multinomial"])
def test_logarithms_of_probabilities(fitted, name):
    found = fitted[name].predict_log_proba(X)
    assert np.allclose(np.exp(found), fitted[name].predict_proba(X), rtol=0, atol=1e-12)
    assert np.isfinite(found).all()


def test_a_card_says_what_the_statement_says(fitted, tmp_path):
    model = fitted["two classes"]
    card = model.card()
    stated = model.statement_
    assert card.to_dict()["privacy"]["epsilon"] == stated.epsilon
    assert stated.caveats
    for said in (*stated.caveats, *stated.assumptions, *stated.notes, stated.unit):
        assert said.split("<")[0].split("|")[0] in card.markdown()
    card.save(tmp_path / "card.json")
    card.save(tmp_path / "card.md")
    assert json.loads((tmp_path / "card.json").read_text()) == card.to_dict()
    assert (tmp_path / "card.md").read_text() == str(card)
    assert len(card.to_dict()["coefficients"]) == len(summary(model)["selected"])


def test_the_card_of_a_table_lists_its_columns(of_table):
    said = of_table.card().markdown()
    assert "| age | feature | number | 20, 80 | year |" in said
    assert "On the scale of encoded rows" in said
    assert f"| (intercept) | {float(np.ravel(of_table.intercept_)[0]):.4g} |" in said
