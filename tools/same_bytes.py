"""Same seeds, same bytes: digests of what fits release, to compare two trees.

    python same_bytes.py record --src src --out before.json       # in the tree before a change
    python same_bytes.py record --src src --out after.json        # and after it
    python same_bytes.py compare before.json after.json           # exit code 1 if a digest differs
    python same_bytes.py trees OLD/src NEW/src                    # all of it at once; add --only WORD for some cases

Cases use the public face alone (estimators, recipes, pipeline, search, score, sites, devices), so that renamed packages do not matter.
Each case keeps four digests: `coef` (coefficients and intercept), `path` (released iterates), `asks` (what was drawn: kind, times, scale and
sensitivity of the noise, in order) and `words` (the statement as text). A change that only moves code keeps all four; one that renames asks or rewords
statements may change `asks` or `words` and must say so; `coef` and `path` change only where the text of the change says why.
Synthetic rows only. About 350 cases, 75 s of CPU on one core. Dask, pyarrow, pandas and polars must be installed.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "DPSPARSE_THREADS"):
    os.environ.setdefault(variable, "1")
import numpy as np  # noqa: E402
import scipy.sparse as sp  # noqa: E402

Digests = dict[str, str]
Case = Callable[[], Digests]
ACCEPTED = ("unproven", "known-design")


# ------------------------------------------------------------------------------------------------ synthetic rows


class Rows:
    """One synthetic table in many forms: values are multiples of 1/64, so that every form holds them exactly."""

    def __init__(self, n: int, d: int, seed: int, density: float = 1.0) -> None:
        rng = np.random.default_rng(seed)
        X = np.rint(rng.uniform(-1, 1, (n, d)) * 64) / 64
        self.X = X * (rng.random((n, d)) < density)
        w = np.zeros(d)
        w[: min(5, d)] = (1.0, -1.0, 0.75, 0.5, -0.5)[: min(5, d)]
        noisy = self.X @ w + 0.2 * rng.standard_normal(n)
        self.number = np.clip(np.rint(noisy * 64) / 64, -3, 3)
        self.two = (noisy > 0).astype(int)
        self.three = np.digitize(noisy, [-0.5, 0.5])
        self.folder = Path(tempfile.mkdtemp(prefix="same-bytes-"))

    def target(self, task: str) -> np.ndarray:
        return {"number": self.number, "two": self.two, "three": self.three}[task]

    def forms(self) -> dict[str, Callable[[str], tuple[Any, Any]]]:
        """How rows are brought: (X, y) of each form, by task."""
        return {
            "float64": lambda task: (self.X, self.target(task)),
            "float32": lambda task: (self.X.astype(np.float32), self.target(task)),
            "fortran": lambda task: (np.asfortranarray(self.X), self.target(task)),
            "list": lambda task: (self.X.tolist(), self.target(task).tolist()),
            "csr": lambda task: (sp.csr_matrix(self.X), self.target(task)),
            "csc": lambda task: (sp.csc_matrix(self.X), self.target(task)),
            "pandas": lambda task: (self._frame("pandas"), self.target(task)),
            "polars": lambda task: (self._frame("polars"), self.target(task)),
            "csv": lambda task: (self._file("csv", task), "target"),
            "parquet": lambda task: (self._file("parquet", task), "target"),
            "svmlight": lambda task: (_svmlight(self._file("svm", task), self.X.shape[1]), None),
        }

    def _frame(self, library: str) -> Any:
        columns = {f"x{j}": self.X[:, j] for j in range(self.X.shape[1])}
        return __import__(library).DataFrame(columns)

    def _file(self, kind: str, task: str) -> str:
        path = self.folder / f"{task}.{kind}"
        if not path.exists():
            frame = self._frame("pandas").assign(target=self.target(task))
            if kind == "csv":
                frame.to_csv(path, index=False)
            elif kind == "parquet":
                frame.to_parquet(path)
            else:
                from sklearn.datasets import dump_svmlight_file

                dump_svmlight_file(self.X, self.target(task), str(path), zero_based=False)
        return str(path)


def _svmlight(path: str, n_features: int) -> Any:
    from dpsparse.readers import open_rows  # where this moves, follow it here

    return open_rows(path, n_features=n_features)


# ------------------------------------------------------------------------------------------------ digests


def digest(*parts: object) -> str:
    found = hashlib.sha256()
    for part in parts:
        found.update(part.tobytes() if isinstance(part, np.ndarray) else repr(part).encode())
    return found.hexdigest()[:16]


def of_statement(statement: Any) -> Digests:
    asks = [
        [str(ask.noise), ask.times, getattr(ask, "draws", 1), float(ask.scale), float(ask.sensitivity)]
        for ask in getattr(statement, "asks", ())
    ]
    money = [statement.epsilon, statement.delta, str(statement.adjacency)]
    return {"asks": digest(json.dumps([money, asks])), "words": digest(str(statement))}


def of_model(model: Any) -> Digests:
    made = {"coef": digest(np.asarray(model.coef_, float), np.asarray(model.intercept_, float))}
    if "path_" in vars(model):
        paths = model.path_ if isinstance(model.path_, list) else [model.path_]
        made["path"] = digest(*(np.asarray(w, float) for path in paths for w in path.iterates))
    if "intervals_" in vars(model):
        made["path"] = digest(np.asarray(model.covariance_, float))
    return made | of_statement(model.statement_)


# ------------------------------------------------------------------------------------------------ cases


def estimator(task: str, recipe: Any, **more: Any) -> Any:
    from dpsparse import SparseClassifier, SparseRegressor

    given: dict[str, Any] = {
        "epsilon": 2.0,
        "delta": 1e-5,
        "sparsity": 4,
        "feature_bound": 1.0,
        "recipe": recipe,
        "random_state": 7,
        "accept": ACCEPTED,
    }
    given |= more
    if task == "number":
        return SparseRegressor(target_bound=3.0, **given)
    return SparseClassifier(classes=[0, 1] if task == "two" else [0, 1, 2], **given)


def exact(rows: Rows, name: str) -> Digests:
    """Exact noise has no seed, and later asks follow earlier answers: the guarantee and the kinds of noise, and not what came out."""
    stated = estimator("number", name, noise="exact", random_state=None, accept=()).fit(rows.X, rows.number).statement_
    return {"asks": digest(stated.epsilon, stated.delta, sorted({str(ask.noise) for ask in stated.asks}))}


def cases() -> Iterator[tuple[str, Case]]:
    """Names of cases, and what makes their digests."""
    from dpsparse import recipes

    small, wide, thin = Rows(500, 16, 1), Rows(300, 90, 2), Rows(400, 120, 3, density=0.08)

    def fit(rows: Rows, task: str, form: str, recipe: Any, **more: Any) -> Case:
        return lambda: of_model(estimator(task, recipe, **more).fit(*rows.forms()[form](task)))

    names = recipes.names()
    for name in names:  # every recipe: both tasks, both adjacencies, dense and sparse
        for task in ("number", "two"):
            yield f"recipe/{name}/{task}/dense", fit(small, task, "float64", name, keep_path=True)
            yield f"recipe/{name}/{task}/wide", fit(wide, task, "float64", name, epsilon=0.5)
            yield f"recipe/{name}/{task}/csr", fit(thin, task, "csr", name, row_norm=2.0)
        yield f"recipe/{name}/add-remove", fit(small, "two", "float64", name, adjacency="add-remove", n_rows=480)
    for name in (
        "auto",
        "dp_ight",
        "dp_gcd",
        "dp_sgd_ht",
        "dual_averaging",
        "select_polish",
        "tables",
        "two_stage",
        "dp_frank_wolfe",
    ):
        if name in names:
            yield f"classes/{name}", fit(small, "three", "float64", name)
            yield f"penalty/{name}", fit(small, "number", "float64", name, penalty="l2", alpha=0.01)
            yield f"noise-exact/{name}", lambda name=name: exact(small, name)
            yield f"check-bounds/{name}", fit(small, "number", "float64", name, check_bounds=0.02)
    for form in small.forms():  # every storage
        for name in ("auto", "dp_ight", "dp_sgd_ht", "dual_averaging"):
            yield f"storage/{form}/{name}", fit(small, "two", form, name, sparsity=3)
        yield f"storage/{form}/thin", fit(thin, "number", form, "select_polish", row_norm=2.0)
    for name in ("auto", "dp_ight", "dp_sgd_ht", "dp_gcd", "select_polish", "dual_averaging", "dp_scsg_ht"):  # hosts
        for form in ("parquet", "csv", "svmlight"):
            yield f"host/disk/{form}/{name}", fit(small, "two", form, name, memory_limit="40MB")
        yield f"host/dask/{name}", lambda name=name: on_dask(small, name)
    for intercept in (True, False):
        yield (
            f"intervals/number/{intercept}",
            fit(small, "number", "float64", "auto", intervals="split", fit_intercept=intercept),
        )
        yield (
            f"intervals/two/{intercept}",
            fit(small, "two", "float64", "auto", intervals="split", fit_intercept=intercept),
        )
    settings = {
        "dense": {"mechanism": "dense"},
        "fixed": {"mechanism": "dense", "step_size": 0.5, "steps": 12},
        "peel": {"mechanism": "peel"},
        "radius": {"mechanism": "dense", "radius": 1.0},
    }
    for word, fields in settings.items():
        for epsilon in (1.0, 50.0):
            made = recipes.DPIGHT(**fields)
            yield f"dp_ight/{word}/{epsilon:g}", fit(small, "number", "float64", made, epsilon=epsilon, keep_path=True)
    yield from around(small)


def around(rows: Rows) -> Iterator[tuple[str, Case]]:
    """Steps, search, scores, sites and devices."""
    import dpsparse
    from dpsparse import (
        NoisyCount,
        PrivateBounds,
        PrivateScaler,
        PrivateSearch,
        RowNormalizer,
        make_private_pipeline,
        private_score,
    )

    def pipeline(task: str, *steps: Any, **more: Any) -> Case:
        def run() -> Digests:
            model = estimator(task, "auto", feature_bound=None)
            made = make_private_pipeline(*(step() for step in steps), model, epsilon=2.0, delta=1e-5, **more)
            made.fit(rows.X, rows.target(task))
            return of_model(made[-1]) | of_statement(made.statement_)

        return run

    for task in ("number", "two"):
        yield f"pipeline/scaler/{task}", pipeline(task, lambda: PrivateScaler(feature_bound=1.0, random_state=3))
        yield f"pipeline/bounds/{task}", pipeline(task, lambda: PrivateBounds(feature_bound=4.0, random_state=3))
        yield f"pipeline/normalizer/{task}", pipeline(task, RowNormalizer)
    counted = (lambda: NoisyCount(random_state=3), lambda: PrivateScaler(feature_bound=1.0, random_state=3))
    yield "pipeline/count", pipeline("two", *counted, adjacency="add-remove")

    def search(task: str) -> Digests:
        found = PrivateSearch(
            estimator(task, "dp_ight", random_state=None, accept=()),
            {"sparsity": [2, 4, 8]},
            epsilon=3.0,
            delta=1e-5,
            mean_runs=4,
            random_state=5,
        ).fit(rows.X, rows.target(task))
        return of_model(found.best_estimator_) | of_statement(found.statement_)

    def score(task: str, metrics: Any) -> Digests:
        model = estimator(task, "ight").fit(rows.X, rows.target(task))
        card = private_score(model, rows.X, rows.target(task), metrics, epsilon=2.0, delta=1e-5, random_state=5)
        scores = {key: value for key, value in card.to_dict().items() if key != "statement"}  # it names the source
        return {"coef": digest(json.dumps(scores, default=str))} | of_statement(card.statement)

    for task in ("number", "two", "three"):
        yield f"search/{task}", lambda task=task: search(task)
        yield f"score/{task}", lambda task=task: score(task, None)
    yield "score/auc", lambda: score("two", ["auc", "calibration", "brier"])

    def shared(task: str, recipe: Any) -> Digests:
        from dpsparse import federated

        data = getattr(federated, "SiteData", None) or federated.Holding  # the name before the renames
        y, half = rows.target(task), len(rows.X) // 2
        parts = [data("a", rows.X[:half], y[:half]), data("b", rows.X[half:], y[half:])]
        return of_model(federated.fit_shared(estimator(task, recipe), parts, honest=2))

    for recipe in ("dp_sgd_ht", dpsparse.recipes.DPIGHT(mechanism="dense"), "dual_averaging", "dp_fedsgd_ht"):
        yield f"sites/{getattr(recipe, 'name', recipe)}", lambda recipe=recipe: shared("number", recipe)

    def rounds() -> Digests:
        from dpsparse.federated import Grid, Server, Site

        y, half = rows.number, len(rows.X) // 2
        server = Server(
            estimator("number", "dp_fedsgd_ht", random_state=None, accept=()),
            sites=["a", "b"],
            n_rows=len(y),
            n_features=rows.X.shape[1],
            nonce="0" * 32,
            random_state=11,
        )
        sites = [
            Site(rows.X[part], y[part], server.protocol, name=name, epsilon=2.0, delta=1e-5, random_state=seed)
            for name, part, seed in (("a", slice(0, half), 1), ("b", slice(half, None), 2))
        ]
        return of_model(Grid(server, sites).run())

    yield "sites/rounds", rounds


_client: list[Any] = []


def on_dask(rows: Rows, recipe: str) -> Digests:
    """Rows in three parts of uneven size, in worker threads of this process."""
    import dask
    import dask.array as da
    from distributed import Client

    if not _client:
        dask.config.set({"distributed.worker.daemon": False})
        _client.append(Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=None))
    chunks = (170, 1, len(rows.X) - 171)
    X = da.from_array(rows.X, chunks=(chunks, rows.X.shape[1]))
    return of_model(estimator("two", recipe, sparsity=3).fit(X, da.from_array(rows.two, chunks=(chunks,))))


# ------------------------------------------------------------------------------------------------ commands


def record(source: Path, out: Path, only: list[str]) -> int:
    sys.path.insert(0, str(source.resolve()))
    warnings.simplefilter("ignore")
    import dpsparse

    if Path(dpsparse.__file__).resolve().parents[1] != source.resolve():
        raise SystemExit(f"dpsparse comes from {dpsparse.__file__}, not from {source}.")
    found: dict[str, Digests] = {}
    start = time.process_time()
    for name, case in cases():
        if only and not any(word in name for word in only):
            continue
        try:
            found[name] = case()
        except Exception as error:  # a refusal is an outcome, too: it must stay one, in the same words
            said = re.sub(r"\S*same-bytes-\S*/", "", str(error))
            found[name] = {"refused": f"{type(error).__name__}: {digest(said)} {said[:80]}"}
    seconds = time.process_time() - start
    if _client:
        _client[0].close()
    out.write_text(json.dumps({"seconds": round(seconds, 1), "only": only, "cases": found}, indent=0))
    refused = sum("refused" in digests for digests in found.values())
    print(f"{len(found)} cases, {refused} of them refusals, {seconds:.0f} s of CPU -> {out}")
    return 0


def compare(before: Path, after: Path) -> int:
    read = [json.loads(path.read_text()) for path in (before, after)]
    one, two = (content["cases"] for content in read)
    for only in (content["only"] for content in read if content["only"]):  # some cases: compare those
        one, two = ({n: d for n, d in cases.items() if any(word in n for word in only)} for cases in (one, two))
    gone, new = sorted(set(one) - set(two)), sorted(set(two) - set(one))
    changed = {
        name: sorted(k for k in one[name].keys() | two[name].keys() if one[name].get(k) != two[name].get(k))
        for name in one
        if name in two
    }
    changed = {name: kinds for name, kinds in changed.items() if kinds}
    for name, kinds in changed.items():
        print(
            f"differs  {name}: {', '.join(kinds)}"
            + "".join(f"\n         {d[name]['refused']}" for d in (one, two) if "refused" in d[name])
        )
    for word, names in (("gone", gone), ("new", new)):
        print(*(f"{word:8} {name}" for name in names), sep="\n", end="\n" if names else "")
    print(f"{len(one) - len(changed) - len(gone)} of {len(one)} cases are the same to the byte.")
    return 1 if changed or gone else 0


def trees(old: Path, new: Path, only: list[str]) -> int:
    with tempfile.TemporaryDirectory() as folder:
        made = []
        for number, source in enumerate((old, new)):
            made.append(Path(folder) / f"{number}.json")
            command = [
                sys.executable,
                __file__,
                "record",
                "--src",
                str(source),
                "--out",
                str(made[-1]),
                *(w for word in only for w in ("--only", word)),
            ]
            subprocess.run(command, check=True)
        return compare(*made)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    one = verbs.add_parser("record")
    one.add_argument("--src", type=Path, default=Path("src"))
    one.add_argument("--out", type=Path, default=Path("same_bytes.json"))
    one.add_argument("--only", action="append", default=[])
    two = verbs.add_parser("compare")
    two.add_argument("before", type=Path)
    two.add_argument("after", type=Path)
    three = verbs.add_parser("trees")
    three.add_argument("old", type=Path)
    three.add_argument("new", type=Path)
    three.add_argument("--only", action="append", default=[])
    given = parser.parse_args()
    with contextlib.suppress(KeyboardInterrupt):
        if given.verb == "record":
            return record(given.src, given.out, given.only)
        return (
            compare(given.before, given.after) if given.verb == "compare" else trees(given.old, given.new, given.only)
        )
    return 130


if __name__ == "__main__":
    sys.exit(main())
