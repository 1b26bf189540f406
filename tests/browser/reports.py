"""The reports that are opened: each of another kind, as `dpsparse report` writes them."""

from __future__ import annotations

import json

import numpy as np
from click.testing import CliRunner

from dpsparse import Ledger, PrivateSearch, SparseClassifier, SparseRegressor, private_score
from dpsparse.audit import examine
from dpsparse.cli import main
from dpsparse.report.bench import Cell, Results

#: Pages, and the answer that the reader must see on each; None: another kind of page.
ANSWERS = {
    "demo": "wait",
    "seeded": "no",
    "edited": "no",
    "hopeless": "wait",
    "paid": "yes",
    "classes": "wait",
    "search": "wait",
    "ledger": None,
    "bench": None,
}


def make(folder):
    """Write every page into a folder."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (3000, 6))
    y = X[:, 0] - 0.5 * X[:, 1] + 0.1 * rng.standard_normal(3000)
    bounds = {"feature_bound": 1.0, "target_bound": 2.0}
    book = Ledger(f"sqlite:///{folder}/budget.db")
    book.create("trial", epsilon=5.0, delta=1e-5)

    _run("demo", "--out", folder / "demo", "--n-rows", "2000", "--n-features", "60", "--json")
    _report(folder, "demo", folder / "demo" / "continuous-model.json")

    SparseRegressor(epsilon=1.0, random_state=0, **bounds).fit(X, y).save(folder / "seeded.json")
    _report(folder, "seeded", folder / "seeded.json")

    SparseRegressor(epsilon=1.0, **bounds).fit(X, y).save(folder / "edited.json")
    content = json.loads((folder / "edited.json").read_text())
    content["statement"]["epsilon"] = 0.01
    (folder / "edited.json").write_text(json.dumps(content))
    _report(folder, "edited", folder / "edited.json")

    few = rng.uniform(-1, 1, (40, 30))
    SparseRegressor(epsilon=0.1, **bounds).fit(few, few[:, 0]).save(folder / "hopeless.json")
    _report(folder, "hopeless", folder / "hopeless.json")

    paid = SparseRegressor(epsilon=2.0, intervals="split", ledger=book, dataset="trial", **bounds).fit(X, y)
    paid.save(folder / "paid.json")
    (folder / "audit.json").write_text(json.dumps(examine(paid, runs=16, fits=0, seed=0).to_dict()))
    (folder / "score.json").write_text(private_score(paid, X, y, ["r2"], epsilon=1.0).to_json())
    given = ["--ledger", book.address, "--audit", folder / "audit.json", "--score", folder / "score.json"]
    _report(folder, "paid", folder / "paid.json", *given)

    labels = np.digitize(y, [-0.3, 0.3])
    SparseClassifier(epsilon=2.0, feature_bound=1.0).fit(X, labels).save(folder / "classes.json")
    _report(folder, "classes", folder / "classes.json")

    search = PrivateSearch(SparseRegressor(**bounds), {"sparsity": [1, 2]}, epsilon=3.0, mean_runs=2).fit(X, y)
    search.save(folder / "found.json")
    _report(folder, "search", "--search", folder / "found.json")

    _report(folder, "ledger", "--ledger", book.address)
    errors = {Cell("d", m, e, s): {"error": 0.1 * s + e} for m in "ab" for e in (1.0, 2.0) for s in range(3)}
    Results("toy", errors).write(folder / "toy.parquet")
    _report(folder, "bench", "--bench", folder / "toy.parquet")


def _report(folder, name, *options):
    _run("report", *options, "-o", folder / f"{name}.html", codes=(0, 7))


def _run(*arguments, codes=(0,)):
    done = CliRunner().invoke(main, [str(one) for one in arguments])
    assert done.exit_code in codes, done.output
