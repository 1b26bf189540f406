"""Files that a page takes for granted: a model, its ledger, a search, results of a comparison. Small, and with fixed data."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
from click.testing import CliRunner

from dpsparse import Ledger, PrivateSearch, SparseRegressor
from dpsparse.cli import main


def release() -> None:
    """``model.json`` paid from ``budget.db``, ``search.json``, ``out/results.parquet``, and what score and audit print."""
    X = np.random.default_rng(0).uniform(-1, 1, (400, 4))
    y = X[:, 0] - 0.8 * X[:, 1]
    np.savez("rows.npz", X=X, y=y)
    Ledger("sqlite:///budget.db").create("trial", epsilon=4.0, delta=1e-6)
    bounds = {"feature_bound": 1.0, "target_bound": 2.0, "sparsity": 2, "recipe": "dp_ight"}
    model = SparseRegressor(**bounds, ledger="sqlite:///budget.db", dataset="trial", delta=1e-6)
    model.fit(X, y).save("model.json")
    search = PrivateSearch(SparseRegressor(**bounds), {"recipe__steps": [3, 5]}, epsilon=2.0, mean_runs=2)
    search.fit(X, y).save("search.json")
    compared = (
        "bench --recipe dp_ight --recipe auto --data rows.npz --task regression --feature-bound 1 --target-bound 2"
    )
    found = CliRunner().invoke(
        main, [*compared.split(), *["--seeds", "2", "--epsilon", "1", "--processes", "1", "--quiet"]]
    )
    assert found.exit_code == 0, found.output
    shutil.copy(next(Path("out").glob("*.parquet")), "out/results.parquet")
    for command in ("score model.json rows.npz --json", "audit model.json --runs 60 --fits 0 --json"):
        said = CliRunner().invoke(main, command.split())
        Path(f"{command.split()[0]}.json").write_text(said.stdout)


#: What is made before a page runs.
PREPARED: dict[str, Callable[[], None]] = {"docs/report.md": release}
