"""Documents with 60,000 features: python examples/text.py. Real newsgroups where DPSPARSE_DATA has news20.npz, otherwise drawn ones."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from dpsparse import RowNormalizer, SparseClassifier, make_private_pipeline, private_score

FEATURES = 60_000


def drawn(count: int = 8000, words: int = 60) -> tuple[sp.csr_matrix, np.ndarray]:
    """Documents with word frequencies that fall as in language; 300 of the commoner words lean to one of two topics."""
    rng = np.random.default_rng(0)
    topic = rng.integers(0, 2, count)
    frequency = 1 / (np.arange(FEATURES) + 10.0)
    leaning = np.zeros(FEATURES)
    leaning[rng.choice(np.arange(100, 3000), 300, replace=False)] = rng.choice([-1.5, 1.5], 300)
    columns = np.empty((count, words), dtype=np.int64)
    for value in (0, 1):
        chance = frequency * np.exp(leaning * (value - 0.5))
        columns[topic == value] = rng.choice(FEATURES, ((topic == value).sum(), words), p=chance / chance.sum())
    rows = sp.csr_matrix(
        (np.ones(columns.size), (np.repeat(np.arange(count), words), columns.ravel())), (count, FEATURES)
    )
    return rows, topic


def documents() -> tuple[str, sp.csr_matrix, np.ndarray]:
    """Counts of words, and which half of the groups a document is from."""
    path = Path(os.environ.get("DPSPARSE_DATA", "")) / "news20.npz"
    if not path.exists():
        return ("drawn documents", *drawn())
    stored = np.load(path)
    rows = sp.csr_matrix((stored["data"], stored["indices"], stored["indptr"]), shape=tuple(stored["shape"]))
    return "news20", rows.astype(float), (stored["y"] <= 10).astype(int)


def log_counts(rows: sp.csr_matrix) -> sp.csr_matrix:
    """log(1 + count): one row at a time, so it is free. Idf weights would look at all rows."""
    rows = rows.copy()
    rows.data = np.log1p(rows.data)
    return rows


def main() -> None:
    """One pipeline, two budgets, a private score; and the same without a sparsity."""
    name, rows, topic = documents()
    order = np.random.default_rng(1).permutation(rows.shape[0])
    train, test = order[: int(0.8 * order.size)], order[int(0.8 * order.size) :]
    rows = log_counts(rows)
    print(f"data: {name}, {train.size:,} documents, {rows.shape[1]:,} features")
    for epsilon, sparsity in ((1.0, 1000), (4.0, 1000), (4.0, None)):
        pipe = make_private_pipeline(
            RowNormalizer(),  # every row has length 1: a bound that holds by construction
            SparseClassifier(sparsity=sparsity, classes=[0, 1]),
            epsilon=epsilon,
            delta=1e-5,
        )
        pipe.fit(rows[train], topic[train])
        card = private_score(pipe, rows[test], topic[test], metrics=["accuracy"], epsilon=1.0, delta=1e-5)
        used = pipe[-1].support_.size
        score = card["accuracy"]
        print(
            f"epsilon {epsilon:g}: {used:,} features used, accuracy {score.value:.3f} ({score.low:.3f} to {score.high:.3f})"
        )
    print("recipe:", pipe[-1].statement_.recipe)


if __name__ == "__main__":
    main()
