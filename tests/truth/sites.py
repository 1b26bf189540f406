"""Small federations for tests."""

from __future__ import annotations

import numpy as np

from dpsparse import SparseClassifier, SparseRegressor
from dpsparse.federated import Server, Site
from dpsparse.recipes import DPFedGDHT, DPFedSGDHT, FedSGDHT

NAMES = tuple("abcdefghij")
TRUTH = np.array([1.0, 0.0, -0.8, 0.0, 0.0, 0.6])


def rows(seed: int, count: int = 200, kind: str = "numbers"):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (count, TRUTH.size))
    margin = X @ TRUTH
    if kind == "numbers":
        return X, margin + 0.05 * rng.standard_normal(count)
    if kind == "counts":
        return X, rng.poisson(np.exp(margin)).clip(0, 8)
    return X, (margin + 0.3 * rng.logistic(size=count) > 0).astype(int)


def estimator(recipe=None, **options):
    recipe = DPFedGDHT(rounds=3, local_steps=2, step_size=0.5, clip=1.0) if recipe is None else recipe
    given = {"epsilon": 4.0, "delta": 1e-5, "feature_bound": 1.0, "sparsity": 3, "recipe": recipe, **options}
    if "classes" in given:
        return SparseClassifier(**given)
    return SparseRegressor(**{"target_bound": 3.0, **given})


def serve(names=NAMES[:3], model=None, **options) -> Server:
    model = estimator() if model is None else model
    return Server(model, sites=names, n_rows=200, n_features=TRUTH.size, **options)


def join(server: Server, name: str, *, kind: str = "numbers", count: int = 200, **options) -> Site:
    number = server.protocol.sites.index(name)
    X, y = rows(100 + number, count, kind)
    given = {"epsilon": 4.0, "delta": 1e-5, "random_state": number, **options}
    return Site(X, y, server.protocol, name=name, **given)


__all__ = ["NAMES", "TRUTH", "DPFedGDHT", "DPFedSGDHT", "FedSGDHT", "estimator", "join", "rows", "serve"]
