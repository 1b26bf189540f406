"""Files of public data: where they are, whether they are the right ones, and what is in them."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core import DataError, checks

Rows = NDArray[np.intp]

#: Name of the variable of the environment that names the folder.
VARIABLE = "DPSPARSE_DATA"


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Rows and outcomes of public data.

    Attributes
    ----------
    name : str
    X, y
        Training rows (an array, or CSR) and their outcomes.
    X_test, y_test
        Test rows where the data comes with some, otherwise None.
    source : str
        File or service it was read from.
    checked : str
        What was checked: "sha256", "shape", or "by scikit-learn".
    """

    name: str
    X: Any
    y: np.ndarray
    X_test: Any
    y_test: np.ndarray | None
    source: str
    checked: str

    def __repr__(self) -> str:
        more = "" if self.X_test is None else f" + {self.X_test.shape[0]} test"
        return f"Dataset({self.name!r}, {self.X.shape[0]}{more} rows, {self.X.shape[1]} features)"


def data_folder(folder: str | os.PathLike[str] | None = None) -> Path:
    """The folder with files of public data: the one given, or that of the variable DPSPARSE_DATA."""
    given = os.environ.get(VARIABLE) if folder is None else folder
    if not given:
        raise DataError(f"no folder with data was given. Set {VARIABLE}, or give folder=.")
    path = Path(given)
    if not path.is_dir():
        raise DataError(f"there is no folder {path}. Set {VARIABLE} to the folder with the files, or give folder=.")
    return path


def first_file(folder: Path, names: tuple[str, ...], what: str) -> Path:
    """The first of some files that is there."""
    for name in names:
        if (folder / name).is_file():
            return folder / name
    raise DataError(f"{what}: none of {', '.join(names)} is in {folder}.")


def check_sum(path: Path, expected: str) -> None:
    """Refuse a file whose SHA-256 is another one."""
    found = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(2**20):
            found.update(block)
    if found.hexdigest() != expected:
        raise DataError(
            f"{path.name} is not the file that was expected: its SHA-256 begins with {found.hexdigest()[:12]}, "
            f"not {expected[:12]}. Fetch it again, or give check=False."
        )


def check_shape(name: str, found: tuple[int, ...], expected: tuple[int, int]) -> None:
    """Refuse rows and columns that differ from the published numbers."""
    if tuple(found) != expected:
        raise DataError(
            f"{name} has {found[0]} rows and {found[1]} features, and not the published "
            f"{expected[0]} and {expected[1]}. "
            "Give check=False for a part of it."
        )


def read_npz(path: Path, suffix: str = "") -> tuple[Any, np.ndarray] | None:
    """Rows and outcomes of a part of an npz file: X, or data, indices, indptr and shape of a CSR matrix.

    None if not there.
    """
    from scipy.sparse import csr_matrix

    with np.load(path, allow_pickle=False) as held:
        if f"X{suffix}" in held.files:
            return held[f"X{suffix}"], held[f"y{suffix}"]
        if f"data{suffix}" not in held.files:
            return None
        parts = tuple(held[f"{name}{suffix}"] for name in ("data", "indices", "indptr"))
        return csr_matrix(parts, shape=tuple(held[f"shape{suffix}"])), held[f"y{suffix}"]


def read_svmlight(path: Path, features: int | None) -> tuple[Any, np.ndarray]:
    """Rows and outcomes of an svmlight file, packed (gz, bz2) or not."""
    from sklearn.datasets import load_svmlight_file

    try:
        X, y = load_svmlight_file(str(path), n_features=features)
    except ValueError as error:
        raise DataError(f"{path.name} could not be read as svmlight: {error}") from error
    return X, y


def halves(n_rows: int, seed: int = 0) -> tuple[Rows, Rows]:
    """A private and a public half; the private one has the odd row.

    Examples
    --------
    >>> private, public = halves(5)
    >>> len(private), len(public), sorted([*private.tolist(), *public.tolist()])
    (3, 2, [0, 1, 2, 3, 4])
    """
    checks.whole(n_rows, "n_rows")
    order = np.random.default_rng(seed).permutation(n_rows)
    return order[: (n_rows + 1) // 2], order[(n_rows + 1) // 2 :]


def folds(n_rows: int, parts: int = 5, seed: int = 0) -> list[tuple[Rows, Rows]]:
    """Training and held-out rows of each fold; every row is held out once.

    Examples
    --------
    >>> [len(held) for _, held in folds(12, 5)]
    [3, 3, 2, 2, 2]
    """
    checks.whole(n_rows, "n_rows")
    checks.whole(parts, "parts")
    if not 2 <= parts <= n_rows:
        raise ValueError(f"parts must lie between 2 and n_rows ({n_rows}), got {parts}.")
    order = np.random.default_rng(seed).permutation(n_rows)
    held = np.array_split(order, parts)
    return [(np.concatenate([*held[:k], *held[k + 1 :]]), held[k]) for k in range(parts)]
