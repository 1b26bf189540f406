"""Rows on the workers of Dask: python examples/cluster.py. Needs the extra dask."""

from __future__ import annotations

import dask.array as da
import numpy as np
from dask.distributed import Client, LocalCluster

from dpsparse import SparseClassifier


def main() -> None:
    """The same model, byte by byte, in memory and on workers."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (8_000, 30))
    y = (3 * X[:, 3] - 2 * X[:, 11] + rng.logistic(size=8_000) > 0).astype(int)
    model = SparseClassifier(epsilon=2.0, feature_bound=1.0, sparsity=2, classes=[0, 1])
    print("plan:", model.plan(*X.shape).verdict)

    # threads of this process, to try it; on a cluster: Client("tcp://scheduler:8786")
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None) as local,
        Client(local),
    ):
        spread = da.from_array(X, chunks=(2_000, 30))
        model.fit(spread, da.from_array(y, chunks=2_000))
        print("features found:", model.support_.tolist())
        print("statement:", model.statement_)

        # a seed, so that noise can be compared; such a model is for tests, and says so
        seeded = SparseClassifier(epsilon=2.0, feature_bound=1.0, sparsity=2, classes=[0, 1], random_state=0)
        on_workers = seeded.fit(spread, da.from_array(y, chunks=2_000)).coef_.tobytes()
    in_memory = seeded.fit(X, y).coef_.tobytes()
    print("the same bytes as in memory:", on_workers == in_memory)


if __name__ == "__main__":
    main()
