"""Leak checks name what stands around a private model and looks at the rows unpaid."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor, make_column_transformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.ensemble import BaggingClassifier, StackingRegressor, VotingClassifier
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.feature_selection import RFE, SelectFromModel, SelectKBest, VarianceThreshold
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    RandomizedSearchCV,
    TunedThresholdClassifierCV,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline, make_union
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    PolynomialFeatures,
    StandardScaler,
)
from sklearn.random_projection import GaussianRandomProjection

from dpsparse import (
    PrivateScaler,
    PrivateSearch,
    PublicScaler,
    RowNormalizer,
    SparseClassifier,
    SparseRegressor,
    audit,
    make_private_pipeline,
)
from dpsparse.core import PrivacyLeakError

MODEL = SparseClassifier(row_norm=1.0)
REGRESSOR = SparseRegressor(row_norm=1.0, target_bound=1.0)


class Doubler(TransformerMixin, BaseEstimator):
    """A transformer of somebody's own."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return 2 * X


class Stateless(Doubler):
    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        return tags


class OwnScaler(StandardScaler):
    """A subclass of a known transformer."""


class Mystery(BaseEstimator):
    """A wrapper of somebody's own."""

    def __init__(self, estimator=None):
        self.estimator = estimator


# ------------------------------------------------------------------------------------------------ transformers


@pytest.mark.parametrize(
    ("step", "cause"),
    [
        (StandardScaler(), "location and scale"),
        (OwnScaler(), "location and scale"),
        (MinMaxScaler(), "location and scale"),
        (MaxAbsScaler(), "location and scale"),
        (KBinsDiscretizer(), "distribution of every column"),
        (PCA(2), "directions"),
        (TruncatedSVD(2), "directions"),
        (SelectKBest(k=2), "chooses columns by looking at all rows and their targets"),
        (VarianceThreshold(), "drops columns"),
        (CountVectorizer(), "vocabulary"),
        (TfidfVectorizer(), "vocabulary"),
        (TfidfVectorizer(vocabulary=["a"]), "frequency of every word"),
        (TfidfTransformer(), "frequency of every word"),
        (OneHotEncoder(), "learns the categories"),
        (SimpleImputer(), "fills gaps"),
        (SimpleImputer(strategy="constant"), "fills gaps"),
        (RBFSampler(gamma="scale"), "width"),
        (Doubler(), "is fitted on all rows before the private model"),
        (SelectFromModel(LogisticRegression()), "is fitted on all rows before the private model"),
    ],
    ids=lambda v: v if isinstance(v, str) else repr(v),
)
def test_a_step_that_learns_from_the_rows_is_named_with_its_cause(step, cause):
    [finding] = audit.check_pipeline(Pipeline([("before", step), ("model", MODEL)]))
    assert cause in finding.cause
    assert finding.where == "before"
    assert finding.what == type(step).__name__
    assert finding.severity == "leak"
    assert finding.advice
    with pytest.raises(PrivacyLeakError, match="before"):
        audit.check_pipeline(Pipeline([("before", step), ("model", MODEL)]), strict=True)


@pytest.mark.parametrize(
    "step",
    [
        Normalizer(),
        Binarizer(),
        FunctionTransformer(np.log1p),
        HashingVectorizer(),
        PolynomialFeatures(2),
        GaussianRandomProjection(2),
        CountVectorizer(vocabulary=["a", "b"]),
        TfidfVectorizer(vocabulary=["a"], use_idf=False),
        TfidfTransformer(use_idf=False),
        OneHotEncoder(categories=[["a", "b"]]),
        SimpleImputer(strategy="constant", fill_value=0, keep_empty_features=True),
        RBFSampler(gamma=0.5),
        FrozenEstimator(StandardScaler()),
        RowNormalizer(),
        PublicScaler(feature_bound=1.0),
        Stateless(),
        "passthrough",
    ],
    ids=repr,
)
def test_a_map_of_single_rows_is_fine(step):
    assert audit.check_pipeline(Pipeline([("before", step), ("model", MODEL)])) == []


def test_a_step_that_was_declared_public_is_believed():
    pipe = make_pipeline(StandardScaler(), Doubler(), MODEL)
    assert len(audit.check_pipeline(pipe)) == 2
    assert audit.check_pipeline(pipe, public=("standardscaler", "doubler")) == []
    nested = make_pipeline(make_pipeline(StandardScaler()), MODEL)
    assert audit.check_pipeline(nested, public=("pipeline.standardscaler",)) == []


def test_leaks_are_found_at_any_depth():
    columns = ColumnTransformer(
        [("text", make_pipeline(HashingVectorizer(), TfidfTransformer()), "note"), ("rest", Normalizer(), ["a"])],
        remainder=MinMaxScaler(),
    )
    union = FeatureUnion([("raw", "passthrough"), ("pca", PCA(2))])
    found = audit.check_pipeline(
        Pipeline([("columns", columns), ("union", union), ("inner", make_pipeline(StandardScaler(), MODEL))])
    )
    assert [f.where for f in found] == [
        "columns.text.tfidftransformer",
        "columns.remainder",
        "union.pca",
        "inner.standardscaler",
    ]
    clean = make_pipeline(
        make_column_transformer((Normalizer(), ["a"]), remainder="drop"), make_union(Binarizer()), MODEL
    )
    assert audit.check_pipeline(clean) == []


def test_targets_that_are_scaled_by_the_rows_are_found():
    leaky = TransformedTargetRegressor(make_pipeline(PCA(1), REGRESSOR), transformer=StandardScaler())
    assert [f.where for f in audit.check_pipeline(leaky)] == ["transformer", "regressor.pca"]
    assert audit.check_pipeline(TransformedTargetRegressor(REGRESSOR, func=np.log1p, inverse_func=np.expm1)) == []


# ------------------------------------------------------------------------------------------------ wrappers


@pytest.mark.parametrize(
    ("estimator", "severity", "cause"),
    [
        (GridSearchCV(MODEL, {"sparsity": [1, 2]}), "leak", "best exact score"),
        (RandomizedSearchCV(MODEL, {"sparsity": [1, 2]}), "leak", "best exact score"),
        (TunedThresholdClassifierCV(MODEL), "leak", "exact scores"),
        (CalibratedClassifierCV(MODEL), "leak", "calibration"),
        (StackingRegressor([("one", REGRESSOR)]), "leak", "second model"),
        (BaggingClassifier(MODEL), "cost", "costs add up"),
        (VotingClassifier([("one", MODEL)]), "cost", "costs add up"),
        (OneVsRestClassifier(MODEL), "cost", "costs add up"),
        (RFE(MODEL), "cost", "costs add up"),
        (make_pipeline(SelectFromModel(MODEL), MODEL), "cost", "costs add up"),
        (Mystery(MODEL), "unknown", "is not known"),
        (LogisticRegression(), "unknown", "holds no model of dpsparse"),
        (make_pipeline(PrivateScaler(feature_bound=1.0), MODEL), "cost", "no statement covers them together"),
    ],
    ids=lambda v: v if isinstance(v, str) else type(v).__name__,
)
def test_a_wrapper_is_named_with_its_cause(estimator, severity, cause):
    [finding] = audit.check_pipeline(estimator)
    assert finding.severity == severity
    assert cause in finding.cause
    with pytest.raises(PrivacyLeakError, match=r"\w"):
        audit.check_pipeline(estimator, strict=True)


def test_what_is_inside_a_wrapper_is_looked_at_too():
    found = audit.check_pipeline(GridSearchCV(make_pipeline(StandardScaler(), MODEL), {}))
    assert [f.where for f in found] == ["the estimator", "estimator.standardscaler"]


@pytest.mark.parametrize(
    "estimator",
    [
        MODEL,
        REGRESSOR,
        FixedThresholdClassifier(MODEL, threshold=0.3),
        PrivateSearch(MODEL, {"sparsity": [1]}),
        make_private_pipeline(PrivateScaler(feature_bound=1.0), SparseClassifier()),
    ],
    ids=lambda v: type(v).__name__,
)
def test_private_things_are_fine(estimator):
    assert audit.check_pipeline(estimator, strict=True) == []


def test_only_arguments_are_read():
    pipe = make_pipeline(StandardScaler(), MODEL)
    audit.check_pipeline(pipe)
    assert not hasattr(pipe[0], "mean_")


def test_a_finding_reads_as_a_sentence():
    [finding] = audit.check_pipeline(make_pipeline(StandardScaler(), MODEL))
    assert str(finding) == (
        "standardscaler (StandardScaler) learns the location and scale of every column from all rows. Use "
        "dpsparse.PrivateScaler (priced), dpsparse.PublicScaler (public constants) or dpsparse.RowNormalizer (each row by itself)."
    )


def test_the_leak_is_real():
    """Standardise, then clip: one record moves the clipped sum of all others' gradients far beyond twice the clip."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 5))
    neighbour = X.copy()
    neighbour[0] = 1e4

    def clipped_sum(rows):
        rows = StandardScaler().fit_transform(rows)
        return (rows * np.minimum(1, 1 / np.linalg.norm(rows, axis=1))[:, None]).sum(axis=0)

    assert np.linalg.norm(clipped_sum(X) - clipped_sum(neighbour)) > 20 * 2
