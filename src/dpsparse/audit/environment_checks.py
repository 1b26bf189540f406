"""What is known about the transformers and wrappers that may stand around a private model, by scikit-learn's names.

A transformer is harmless if what it does to a row depends on that row and on public arguments only.
Whatever it *learns* from the rows, it learns from all of them, without paying for it, and one record can move it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class KnownStep:
    """What something does that it should not, and what to do instead."""

    severity: str
    cause: str
    advice: str


def _by_name(severity: str, *entries: tuple[str, str, str]) -> dict[str, KnownStep]:
    """What is known about each class, from their names with spaces between them, the cause and the advice."""
    return {name: KnownStep(severity, cause, advice) for names, cause, advice in entries for name in names.split()}


_SCALE = (
    "Use dpsparse.PrivateScaler (priced), dpsparse.PublicScaler (public constants) or "
    "dpsparse.RowNormalizer (each row by itself)."
)
_SELECT = "Let the model select: it is sparse, and its selection is paid for. Or choose columns by a public rule."

#: Transformers that learn something from the rows.
LEARNS = _by_name(
    "leak",
    (
        "StandardScaler MinMaxScaler MaxAbsScaler RobustScaler",
        "learns the location and scale of every column from all rows",
        _SCALE,
    ),
    (
        "QuantileTransformer PowerTransformer KBinsDiscretizer SplineTransformer",
        "learns the distribution of every column from all rows",
        _SCALE + " Give bins or knots as public numbers.",
    ),
    (
        "PCA IncrementalPCA KernelPCA SparsePCA TruncatedSVD NMF FastICA FactorAnalysis LatentDirichletAllocation "
        "PLSRegression LinearDiscriminantAnalysis Nystroem KMeans FeatureAgglomeration",
        "learns directions or clusters from all rows",
        "Use a map that does not look at the data, such as a random projection, or directions learned from public "
        "data.",
    ),
    (
        "SelectKBest SelectPercentile SelectFpr SelectFdr SelectFwe GenericUnivariateSelect SequentialFeatureSelector "
        "RFECV",
        "chooses columns by looking at all rows and their targets",
        _SELECT,
    ),
    ("VarianceThreshold", "drops columns by looking at all rows", _SELECT),
    (
        "CountVectorizer",
        "learns its vocabulary from all rows: a word that one person used becomes a column",
        "Use HashingVectorizer, or give a public vocabulary=.",
    ),
    (
        "TfidfVectorizer",
        "learns its vocabulary and the frequency of every word from all rows",
        "Use HashingVectorizer, or give a public vocabulary= and use_idf=False.",
    ),
    ("TfidfTransformer", "learns the frequency of every word from all rows", "Use use_idf=False."),
    ("DictVectorizer", "learns its columns from all rows", "Use FeatureHasher."),
    (
        "OneHotEncoder OrdinalEncoder",
        "learns the categories from all rows: a category of one person becomes a column",
        "Give categories=.",
    ),
    ("TargetEncoder", "replaces categories by means of the targets of all rows", "Use OneHotEncoder(categories=...)."),
    (
        "SimpleImputer KNNImputer IterativeImputer",
        "fills gaps with values learned from all rows, or drops columns that are empty",
        'Use SimpleImputer(strategy="constant", keep_empty_features=True) with a public fill_value.',
    ),
    ("MissingIndicator", "keeps the columns that have gaps in some row", 'Use features="all".'),
    ("RBFSampler", "takes its width from all rows", "Give gamma as a number."),
    (
        "GaussianRandomProjection SparseRandomProjection",
        "takes the number of its columns from the number of rows, which may be private",
        "Give n_components as a number.",
    ),
)

#: Transformers that learn nothing from the values of rows.
HARMLESS = frozenset(
    (
        *("Normalizer", "Binarizer", "FunctionTransformer", "HashingVectorizer", "FeatureHasher", "FrozenEstimator"),
        *("PolynomialFeatures", "PolynomialCountSketch", "SkewedChi2Sampler", "AdditiveChi2Sampler"),
    )
)


def _given(value: object) -> bool:
    return value is not None and not isinstance(value, str)


#: Arguments with which a transformer of `LEARNS` learns nothing after all.
UNLESS: dict[str, Callable[[dict[str, object]], bool]] = {
    "CountVectorizer": lambda p: p["vocabulary"] is not None,
    "TfidfVectorizer": lambda p: p["vocabulary"] is not None and not p["use_idf"],
    "TfidfTransformer": lambda p: not p["use_idf"],
    "OneHotEncoder": lambda p: _given(p["categories"]) and p["min_frequency"] is None and p["max_categories"] is None,
    "OrdinalEncoder": lambda p: _given(p["categories"]) and p["min_frequency"] is None and p["max_categories"] is None,
    "SimpleImputer": lambda p: p["strategy"] == "constant" and bool(p["keep_empty_features"]),
    "MissingIndicator": lambda p: p["features"] == "all",
    "RBFSampler": lambda p: isinstance(p["gamma"], int | float | np.number),
    "SplineTransformer": lambda p: _given(p["knots"]),
    "GaussianRandomProjection": lambda p: _given(p["n_components"]),
    "SparseRandomProjection": lambda p: _given(p["n_components"]),
}

_MANY = "Fit one model with the whole budget; SparseClassifier takes several classes itself."

#: Wrappers around a model, and what is wrong with them.
WRAPPERS = _by_name(
    "leak",
    (
        "GridSearchCV RandomizedSearchCV HalvingGridSearchCV HalvingRandomSearchCV",
        "fits many models, each of which costs, and publishes the one with the best exact score",
        "Use dpsparse.PrivateSearch: its statement covers the whole search.",
    ),
    ("TunedThresholdClassifierCV", "chooses a threshold by exact scores of the rows", "Use FixedThresholdClassifier."),
    (
        "CalibratedClassifierCV",
        "fits a calibration to exact margins of the rows",
        "Calibrate on public rows, with a FrozenEstimator inside.",
    ),
    ("StackingClassifier StackingRegressor", "fits a second model to exact predictions for the rows", _MANY),
    ("AdaBoostClassifier AdaBoostRegressor", "weights rows by how well they were predicted, exactly", _MANY),
) | _by_name(
    "cost",
    (
        "BaggingClassifier BaggingRegressor VotingClassifier VotingRegressor OneVsRestClassifier OneVsOneClassifier "
        "OutputCodeClassifier MultiOutputClassifier MultiOutputRegressor ClassifierChain RegressorChain RFE",
        "fits several private models, and the statement of each is about that one only: costs add up",
        _MANY,
    ),
    (
        "SelectFromModel",
        "fits a private model to select columns, beside the one that is used: their costs add up",
        "Use one model: it is sparse itself.",
    ),
)
