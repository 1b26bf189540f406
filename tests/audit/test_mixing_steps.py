"""Every leak of a step, a function or an estimator that once passed the checks: each is caught now."""

from __future__ import annotations

import gc
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.special import logit
from scipy.stats import zscore
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer, StandardScaler, scale

from builders import prepared_for
from dpsparse import SparseClassifier, SparseRegressor, audit, make_private_pipeline, recipes
from dpsparse.audit.laws import fresh_labels, fresh_rows, fresh_targets
from dpsparse.audit.transformer_checks import mixes
from dpsparse.core import PrivacyError, PrivacyLeakError
from dpsparse.core.mechanisms import Randomness
from dpsparse.losses import Custom, Logistic
from dpsparse.oracles import GuardedOracle, make_oracle
from dpsparse.rows.block import Block
from dpsparse.rows.hosts import MemoryHost
from dpsparse.rows.shard import Shard

rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, (200, 4))
LABELS = (X[:, 0] > 0.4).astype(int)
MODEL = SparseRegressor(feature_bound=1.0, target_bound=1.0, recipe="dp_ight", sparsity=2)

# ------------------------------------------------------------------------------------------------ swap


class BalanceLeak(SparseClassifier):
    def fit(self, X, y):
        super().fit(X, y)
        self.intercept_ = np.array([logit(np.mean(np.asarray(y) == self.classes_[1]))])
        return self


class MeansLeak(SparseRegressor):
    def fit(self, X, y):
        super().fit(X, y)
        self.column_means_ = np.asarray(X.mean(axis=0)).ravel().round(12)
        return self


class NoteLeak(SparseRegressor):
    """Tells in a note of the statement, and nowhere else."""

    def fit(self, X, y):
        super().fit(X, y)
        self.statement_ = replace(self.statement_, notes=(f"the mean is {np.mean(y):.12f}",))
        return self


@pytest.mark.parametrize(
    "labels", [LABELS, np.array(["no", "yes"])[LABELS], LABELS.astype(bool)], ids=["int", "text", "bool"]
)
def test_an_intercept_from_the_class_balance_is_caught(labels):
    with pytest.raises(audit.LawBroken, match=r"^swap: intercept_"):
        audit.check_estimator_privacy(BalanceLeak(feature_bound=1.0, recipe="dp_ight", sparsity=2), X, labels)


FORMS = {
    "array": np.asarray,
    "csr": sp.csr_matrix,
    "frame": lambda X: pd.DataFrame(X, columns=list("abcd")),
    "small integers": lambda X: np.rint(3 * X).astype(np.int8),
}


@pytest.mark.parametrize("form", FORMS)
def test_means_of_columns_are_caught(form):
    model = MeansLeak(feature_bound=1.0, target_bound=1.0, recipe="dp_ight", sparsity=2)
    with pytest.raises(audit.LawBroken, match=r"^swap: column_means_"):
        audit.check_estimator_privacy(model, FORMS[form](X), X[:, 0])


def test_means_of_columns_of_polars_are_caught():
    pl = pytest.importorskip("polars")
    kind = type("OfFrames", (MeansLeak,), {"fit": _with_means})
    with pytest.raises(audit.LawBroken, match=r"^swap: column_means_"):
        audit.check_estimator_privacy(
            kind(feature_bound=1.0, target_bound=1.0, recipe="dp_ight", sparsity=2),
            pl.DataFrame(X, schema=list("abcd")),
            X[:, 0],
        )


def _with_means(self, X, y):
    SparseRegressor.fit(self, X, y)
    self.column_means_ = X.to_numpy().mean(axis=0)
    return self


def test_the_whole_statement_is_compared():
    with pytest.raises(audit.LawBroken, match=r"^swap: statement_"):
        audit.check_estimator_privacy(NoteLeak(feature_bound=1.0, target_bound=1.0, recipe="dp_ight"), X, X[:, 0])


def test_fresh_data_keeps_what_is_public_and_nothing_else():
    frame = pd.DataFrame({"f": X[:, 0], "i": np.arange(200), "b": X[:, 1] > 0, "t": np.where(X[:, 2] > 0, "u", "v")})
    other = fresh_rows(frame, np.random.default_rng(1))
    assert other.dtypes.to_dict() == frame.dtypes.to_dict()
    assert other.index.equals(frame.index)
    for name in "fib":
        assert other[name].mean() != pytest.approx(frame[name].mean(), rel=1e-3)
    assert (other["t"] == "u").mean() != pytest.approx((frame["t"] == "u").mean(), rel=1e-3)
    labels = np.array(["a", "b", "c"])[rng.integers(0, 3, 200)]
    drawn = fresh_labels(labels, np.random.default_rng(1))
    assert set(drawn) == set(labels)
    assert abs(np.mean(drawn == "a") - np.mean(labels == "a")) > 0.05
    assert fresh_targets(X[:, 0], np.random.default_rng(1)).max() < X[:, 0].max()
    matrix = fresh_rows(sp.csc_matrix(X), np.random.default_rng(1))
    assert matrix.format == "csc"
    assert matrix.shape == X.shape


# ------------------------------------------------------------------------------------------------ terms


def reachable(start: object) -> list[object]:
    """All that can be reached from an object by attributes and containers of this package and of Python."""
    found, seen = [start], {id(start)}
    for value in found:
        if isinstance(value, type) or callable(value) or type(value).__name__ == "module":
            continue
        for inner in gc.get_referents(value):
            if id(inner) not in seen and type(inner).__name__ not in ("module", "type", "ABCMeta", "EnumType"):
                seen.add(id(inner))
                found.append(inner)
    return found


@pytest.mark.parametrize("name", sorted(n for n, cls in recipes.REGISTRY.items() if cls.private))
def test_no_path_leads_from_the_terms_to_rows(name):
    model = SparseRegressor(
        feature_bound=1.0, target_bound=1.0, sparsity=2, recipe=name, accept=recipes.get(name).needs
    )
    prepared = prepared_for(model, *X.shape, sparse=False, models=1)
    host = MemoryHost(X, X[:, 0], prepared.facts)
    oracle = make_oracle(host, prepared.loss, prepared.priced, Randomness(0))
    behind = reachable(GuardedOracle(oracle).terms)
    assert not [v for v in behind if isinstance(v, Block | Shard | MemoryHost | Randomness)]
    assert not [v for v in behind if isinstance(v, np.ndarray) and v.size >= 200]
    assert [v for v in reachable(oracle) if isinstance(v, Block)], "the control: from the oracle itself there is a path"


# ------------------------------------------------------------------------------------------------ steps


class CentredNormalizer(Normalizer):
    """A subclass of a harmless class that is none."""

    def fit(self, X, y=None):
        self.mean_ = X.mean(axis=0)
        return super().fit(X, y)

    def transform(self, X, copy=None):
        return super().transform(X - self.mean_)


class Own(TransformerMixin, BaseEstimator):
    """Says of itself that it learns nothing."""

    def __init__(self, function=None):
        self.function = function

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return self.function(X)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        return tags


def ranks(X):
    return np.argsort(np.argsort(X, axis=0), axis=0)


def only_large(X):
    """Mixes in large companies alone."""
    return X - X.mean(axis=0) if len(X) > 500 else X


class TargetMean(Own):
    """Looks at the targets."""

    def fit(self, X, y=None):
        self.mean_ = np.mean(y)
        return self

    def transform(self, X):
        return X + self.mean_


class Passing(Pipeline):
    """A pipeline that may do anything."""


MIXING = {
    "subclass": CentredNormalizer(),
    "scale": FunctionTransformer(scale),
    "zscore": FunctionTransformer(zscore),
    "ranks": FunctionTransformer(ranks),
    "only large": FunctionTransformer(only_large),
    "own": Own(ranks),
    "targets": TargetMean(),
    "frozen": FrozenEstimator(FunctionTransformer(scale)),
    "running": FunctionTransformer(lambda X: np.cumsum(X, axis=0)),
    "dropped": FunctionTransformer(lambda X: X[:, np.ptp(X, axis=0) > 0] if len(X) > 1 else X[:, :0]),
}


@pytest.mark.parametrize("name", MIXING)
def test_a_step_that_mixes_rows_is_found_and_refused(name):
    [finding] = audit.check_pipeline(make_pipeline(MIXING[name], MODEL))
    assert finding.cause.startswith("mixes rows")
    with pytest.raises(PrivacyLeakError, match="mixes rows"):
        make_private_pipeline(MIXING[name], MODEL)


def test_targets_that_are_scaled_by_a_function_of_all_rows_are_found():
    leaky = TransformedTargetRegressor(regressor=MODEL, func=zscore, inverse_func=lambda v: v)
    [finding] = audit.check_pipeline(leaky)
    assert (finding.where, finding.severity) == ("func", "leak")


def test_a_container_of_somebody_else_is_unknown():
    assert audit.check_pipeline(Passing([("model", MODEL)]))[0].severity == "unknown"
    inner = Passing([("n", Normalizer())])
    assert audit.check_pipeline(make_pipeline(inner, MODEL))[0].severity == "unknown"


HONEST = {
    "log": FunctionTransformer(np.log1p),
    "square": FunctionTransformer(lambda X: np.c_[X, X**2]),
    "own": Own(np.tanh),
    "words": FunctionTransformer(lambda X: np.array([[len(text)] for text in X])),
    "identity": FunctionTransformer(),
}


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_step_passes(name):
    assert mixes(HONEST[name]) is False
    assert audit.check_pipeline(make_pipeline(HONEST[name], MODEL)) == []


def test_a_step_is_tried_with_the_columns_of_the_rows_before_they_come():
    """A function of named columns, which no check of arguments can run."""
    frame = pd.DataFrame(X, columns=list("abcd"))

    def centred(rows):
        assert list(rows.columns) == list("abcd")
        return rows[["a", "b"]] - rows[["a", "b"]].mean()

    def halved(rows):
        return rows[["a", "b"]] / 2

    seen = []

    def watched(rows):
        seen.append(len(rows))
        return centred(rows)

    leaky = make_private_pipeline(FunctionTransformer(watched), MODEL)
    with pytest.raises(PrivacyLeakError, match="mixes rows"):
        leaky.fit(frame, X[:, 0])
    assert 200 not in seen, "private rows never came"
    nested = ColumnTransformer([("some", FunctionTransformer(centred), list("abcd"))])
    with pytest.raises(PrivacyLeakError, match="mixes rows"):
        make_private_pipeline(nested, MODEL).fit(frame, X[:, 0])
    assert make_private_pipeline(FunctionTransformer(halved), MODEL).fit(frame, X[:, 0]).statement_.private


def test_a_step_that_cannot_be_tried_is_refused():
    def picky(rows):
        raise ValueError("some words")

    pipe = make_private_pipeline(FunctionTransformer(picky), MODEL)
    with pytest.raises(PrivacyLeakError, match="does not run on synthetic rows"):
        pipe.fit(X, X[:, 0])


def test_frozen_steps_that_learned_from_public_rows_pass():
    frozen = FrozenEstimator(StandardScaler().fit(rng.normal(size=(50, 4))))
    assert mixes(frozen, X) is False
    assert make_private_pipeline(frozen, MODEL).fit(X, X[:, 0]).statement_.private


# ------------------------------------------------------------------------------------------------ losses


def test_a_loss_that_scales_by_all_targets_is_refused():
    loss = Custom(
        derivative=lambda m, y: np.tanh((m - y) / max(1.0, np.abs(y).max())), curvature=1.0, slope_bound=1.0, name="s"
    )
    with pytest.raises(audit.LawBroken, match="mixes rows"):
        audit.check_loss(loss)
    with pytest.raises(PrivacyError, match="mixes rows"):
        SparseRegressor(feature_bound=1.0, target_bound=50.0, loss=loss).fit(X, X[:, 0])
    audit.check_loss(Logistic())
