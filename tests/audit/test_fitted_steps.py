"""Every fitted transformer of scikit-learn in front of a scored model: those that mix rows are refused, the others score."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import NMF, PCA, MiniBatchNMF
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import SelectFromModel
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.utils import all_estimators

from dpsparse import SparseClassifier, private_score
from dpsparse.audit.pipeline import refuse_mixing_transform
from dpsparse.audit.transformer_checks import mixes
from dpsparse.core import PrivacyLeakError
from dpsparse.estimators.steps.row_map import row_map

rng = np.random.default_rng(0)
X = rng.random((60, 6))
LABELS = (X[:, 0] > 0.5).astype(int)
#: Arguments of those that need some.
ARGUMENTS = {
    "GaussianRandomProjection": {"n_components": 3},
    "SparseRandomProjection": {"n_components": 3},
    "CCA": {"n_components": 1},
    "PLSCanonical": {"n_components": 1},
    "PLSSVD": {"n_components": 1},
    "SparseCoder": {"dictionary": np.eye(6)},
    "RFE": {"estimator": LogisticRegression()},
    "SelectFromModel": {"estimator": LogisticRegression()},
    "SequentialFeatureSelector": {"estimator": LogisticRegression(), "n_features_to_select": 2, "cv": 2},
    "VotingClassifier": {"estimators": [("a", LogisticRegression())]},
    "StackingClassifier": {"estimators": [("a", LogisticRegression())], "cv": 2},
    "FeatureUnion": {"transformer_list": [("a", StandardScaler())]},
    "ColumnTransformer": {"transformers": [("a", StandardScaler(), [0, 1])]},
    "RandomTreesEmbedding": {"n_estimators": 2},
}
#: What numbers of scikit-learn's families depend on all rows.
MIX = frozenset({"NMF", "MiniBatchNMF"})


def fitted() -> dict[str, BaseEstimator]:
    """Every transformer that can be fitted to a table of numbers and transforms it."""
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, kind in all_estimators(type_filter="transformer"):
            try:
                step = kind(**ARGUMENTS.get(name, {}))
                step.fit(X, LABELS).transform(X)
            except (TypeError, ValueError, AttributeError):  # texts, images, targets
                continue
            found[name] = step
    return found


FITTED = fitted()


def test_nearly_all_of_them_are_tried():
    assert len(FITTED) >= 60
    assert FITTED.keys() >= MIX


@pytest.mark.parametrize("name", FITTED)
def test_a_fitted_transformer_is_refused_exactly_if_it_mixes_rows(name):
    if name in MIX:
        with pytest.raises(PrivacyLeakError, match=r"mixes rows.*such as PCA"):
            refuse_mixing_transform("step", FITTED[name], X)
    else:
        refuse_mixing_transform("step", FITTED[name], X)


@pytest.mark.parametrize("step", [NMF(2, max_iter=500), NMF(2, solver="mu", max_iter=60), MiniBatchNMF(2)])
@pytest.mark.parametrize("hold", ["alone", "pipeline", "union", "columns", "frozen"])
def test_a_step_that_mixes_is_found_in_any_container(step, hold):
    inside = {
        "alone": step,
        "pipeline": make_pipeline(FunctionTransformer(np.abs), step),
        "union": FeatureUnion([("scaled", StandardScaler()), ("parts", step)]),
        "columns": ColumnTransformer([("parts", step, [0, 1, 2])], remainder="passthrough"),
        "frozen": step,
    }[hold]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        inside = inside.fit(X)
    if hold == "frozen":
        inside = FrozenEstimator(inside)
    with pytest.raises(PrivacyLeakError, match="mixes rows"):
        refuse_mixing_transform("parts", inside, X)


class Ranked(TransformerMixin, BaseEstimator):
    """Learns nothing, and ranks the rows that it gets."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return np.argsort(np.argsort(X, axis=0), axis=0).astype(float)


def scored(step: BaseEstimator, rows: object = X, **arguments: object) -> float:
    """A private score of a model behind a fitted step, nearly without noise."""
    model = SparseClassifier(epsilon=50.0, feature_bound=5.0, classes=[0, 1], random_state=0)
    behind = np.asarray(step.transform(X).todense() if sp.issparse(step.transform(X)) else step.transform(X))
    whole = Pipeline([("step", step), ("model", model.fit(behind, LABELS))])
    return float(private_score(whole, rows, LABELS, metrics=["accuracy"], epsilon=1e5, **arguments)["accuracy"].value)


def test_a_score_refuses_what_mixes_before_a_row_is_transformed():
    for step in (NMF(2, max_iter=500).fit(X), Ranked()):
        with pytest.raises(PrivacyLeakError, match="mixes rows"):
            scored(step)


@pytest.mark.filterwarnings("ignore:.*is seeded:UserWarning")
def test_scores_behind_steps_that_learned_elsewhere_are_those_of_the_pipeline():
    for step in (PCA(3), StandardScaler(), SelectFromModel(RandomForestClassifier(5, random_state=0))):
        step.fit(X, LABELS)
        model = SparseClassifier(epsilon=50.0, feature_bound=5.0, classes=[0, 1], random_state=0)
        truth = model.fit(step.transform(X), LABELS).score(step.transform(X), LABELS)
        assert scored(step) == pytest.approx(truth, abs=1e-2)


def test_columns_of_a_frame_behind_encoders_that_refuse_what_they_do_not_know():
    """Made-up words are no categories: the encoder was read instead of tried, and the numbers beside it are tried."""
    frame = pd.DataFrame({"age": X[:, 0], "sex": np.where(LABELS, "f", "m")})
    columns = [("numbers", StandardScaler(), ["age"]), ("words", OneHotEncoder(), ["sex"])]
    assert refuse_mixing_transform("table", ColumnTransformer(columns).fit(frame), frame)
    mixed = ColumnTransformer([*columns[1:], ("ranks", Ranked(), ["age"])]).fit(frame)
    with pytest.raises(PrivacyLeakError, match="mixes rows"):
        refuse_mixing_transform("table", mixed, frame)


class LastBit(TransformerMixin, BaseEstimator):
    """As if rows in company were computed by other instructions than a row alone."""

    def fit(self, X, y=None):
        self.n_features_in_ = np.shape(X)[1]
        return self

    def transform(self, X):
        X = np.asarray(X, dtype=float)
        return X * (1 + 2.0**-52) if len(X) > 1 else X


def test_steps_whose_last_bits_depend_on_company_get_rows_apart_so_that_no_row_changes_another():
    wide = rng.normal(size=(400, 40))
    assert refuse_mixing_transform("scaler", StandardScaler().fit(wide), wide)
    assert not refuse_mixing_transform("bits", LastBit().fit(wide), wide)
    for step in (PCA(20).fit(wide), LastBit().fit(wide)):
        found, absent = row_map("step", step, wide, fitted=True)
        assert not absent.any()
        np.testing.assert_allclose(found, step.transform(wide), atol=1e-12)
        for company in (wide[:1], wide[:17], wide[:399]):  # to the bit, whoever is there
            np.testing.assert_array_equal(row_map("step", step, company, fitted=True)[0], found[: len(company)])


def test_a_container_that_cannot_be_tried_as_a_whole_gets_rows_one_by_one_for_the_sake_of_a_part():
    frame = pd.DataFrame({"age": X[:, 0], "sex": np.where(LABELS, "f", "m")})
    step = ColumnTransformer([("bits", LastBit(), ["age"]), ("words", OneHotEncoder(), ["sex"])]).fit(frame)
    assert not refuse_mixing_transform("table", step, frame)
    found, _ = row_map("table", step, frame, fitted=True, alone=True)
    np.testing.assert_array_equal(found[:, 0], X[:, 0])
    assert np.array_equal(row_map("table", step, frame, fitted=True)[0][:, 0], X[:, 0] * (1 + 2.0**-52))


def test_control_a_step_is_tried_as_it_was_fitted():
    """A scaler that was fitted elsewhere takes every row by itself; one that is fitted to the rows does not."""
    step = StandardScaler().fit(X)
    assert mixes(step, X, fitted=True) is False
    assert mixes(step, X) is True
