"""Public datasets of the papers: read from files that the user has, or fetched by scikit-learn where it can.

Nothing is fetched unless ``fetch=True``. Files as LIBSVM publishes them are checked by their
published shape, npz files by their SHA-256. Stand-ins are never taken silently: a loader gives the
data that it is named after, or says what is missing. `folds` and `halves` split rows, and `load_mnist` reads digits
as images.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import struct
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core import DataError, checks
from ...core.regular_files import read_bytes
from ..tabular import Matrix

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
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != expected:
        raise DataError(
            f"{path.name} is not the file that was expected: its SHA-256 begins with {found[:12]}, not "
            f"{expected[:12]}. Fetch it again, or give check=False."
        )


def check_shape(name: str, found: tuple[int, ...], expected: tuple[int, int]) -> None:
    """Refuse rows and columns that differ from the published numbers."""
    if tuple(found) != expected:
        raise DataError(
            f"{name} has {found[0]} rows and {found[1]} features, and not the published {expected[0]} and "
            f"{expected[1]}. Give check=False for a part of it."
        )


def read_npz(path: Path, suffix: str = "") -> tuple[Matrix, np.ndarray] | None:
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


def read_svmlight(path: Path, features: int | None) -> tuple[Matrix, np.ndarray]:
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


Folder = str | os.PathLike[str] | None

#: SHA-256 of the npz files.
SUMS = {
    "california": "963e048db00d09b806425b4cdfffc67e8c569ecd8897dbe71215b2e726a68f2b",
    "covtype": "1f3943d30682aa34eedec64eb8a54b74762e39afe9c5fcaa0095842e728eaf98",
    "dorothea": "2694b1db61da153b1aaf21fac5ec27595272f71b8a205c9ce4aadca0b1cc5dac",
    "madelon": "57da7dfef980a6d5d155ba9618cc4e0f974dd5754c0ad85b7bc53c1def6ad65d",
    "meltingpoint": "25c833b7e0ce6d4119ba7580f027d3b2c0af900e3f63901ef5b1cfb689c6851a",
    "mnist": "3f3afc116b13285c5f8427d218ddbc50ca998d2c3dbc3f731da26391b0a6a877",
    "pneumonia_mnist": "a403f1e3a04f21a48fb29f2b592287b4ebc3caa6da864d27a30fdf52353c6006",
    "rcv1_head100": "e27e8cb32a2b8255b1cc5409b685960b55afc2c39513e18078ed5b83b5fd542c",
    "rcv1_sample": "e6f71748f39f4059cfef2fcf9a05e21cf9e57f371b7fcf703294d7844e7b7029",
}
#: The problems of the paper of DP-GCD that are real data: file, and name and version at OpenML
#: (none for California, which scikit-learn has).
GCD = {
    "california": ("california", None),
    "madelon": ("madelon", ("madelon", 1)),
    "dorothea": ("dorothea", ("dorothea", 1)),
    "mtp": ("mtp", ("mtp", 1)),
}


def rcv1(folder: Folder = None, *, fetch: bool = False, check: bool = True) -> Dataset:
    """RCV1, topics CCAT and ECAT against GCAT and MCAT: 20,242 training rows, 677,399 test rows, 47,236 features.

    Parameters
    ----------
    folder : path or None
        Where ``rcv1_train.binary`` and ``rcv1_test.binary`` of LIBSVM are (``.bz2``, ``.gz`` or
        unpacked); None: DPSPARSE_DATA.
    fetch : bool
        Let scikit-learn fetch it instead. Its labels are CCAT or not, and its 23,149 training rows
        are another choice.
    check : bool
        Compare with the published shape.
    """
    if fetch:
        return _fetched_rcv1()
    return _svmlight("RCV1", data_folder(folder), "rcv1_{}.binary", 47236, (20242, 677399), check)


def _fetched_rcv1() -> Dataset:
    from sklearn.datasets import fetch_rcv1

    found = fetch_rcv1()
    label = np.where(found.target[:, found.target_names.tolist().index("CCAT")].toarray().ravel() > 0, 1, -1)
    return _fetched("RCV1 (CCAT)", found.data, label, "sklearn.datasets.fetch_rcv1", 23149)


def _fetched(name: str, X: Matrix, y: np.ndarray, source: str, train: int | None = None) -> Dataset:
    """What scikit-learn fetched; rows from `train` on are test rows."""
    if train is None:
        return Dataset(name, X, y, None, None, source, "by scikit-learn")
    return Dataset(name, X[:train], y[:train], X[train:], y[train:], source, "by scikit-learn")


def e2006(folder: Folder = None, *, check: bool = True) -> Dataset:
    """E2006-tfidf: log volatility from reports; 16,087 training rows, 3,308 test rows, 150,360 features.

    `folder` holds ``E2006.train`` and ``E2006.test`` of LIBSVM (``.bz2``, ``.gz`` or unpacked). The
    papers that speak of 3,308 rows use the second file alone.
    """
    return _svmlight("E2006-tfidf", data_folder(folder), "E2006.{}", 150360, (16087, 3308), check)


def _svmlight(name: str, folder: Path, pattern: str, features: int, rows: tuple[int, int], check: bool) -> Dataset:
    parts: list[Any] = []
    for part, count in zip(("train", "test"), rows, strict=True):
        file = pattern.format(part)
        path = first_file(folder, (file, f"{file}.bz2", f"{file}.gz"), name)
        X, y = read_svmlight(path, features if check else None)
        if check:
            check_shape(path.name, X.shape, (count, features))
        parts += [X, y]
    X, y, Z, z = parts
    return Dataset(name, X, y, Z, z, str(folder), "shape" if check else "nothing")


def covertype(folder: Folder = None, *, fetch: bool = False, check: bool = True) -> Dataset:
    """Forest cover: 581,012 rows, 54 features; +1 for lodgepole pine (class 2), -1 for the other six."""
    if fetch:
        from sklearn.datasets import fetch_covtype

        X, y = fetch_covtype(return_X_y=True)
        return _fetched("covertype", X, np.where(y == 2, 1, -1), "sklearn.datasets.fetch_covtype")
    return _npz("covertype", "covtype", folder, check)


def mnist(folder: Folder = None, *, fetch: bool = False, check: bool = True) -> Dataset:
    """Handwritten digits: 60,000 + 10,000 rows of 784 pixels, 0 to 255."""
    if fetch:
        X, y, source = _openml("mnist_784", 1)
        return _fetched("mnist", X, y.astype(np.int8), source, 60000)
    return _npz("mnist", "mnist", folder, check)


def chest_xray(folder: Folder = None, *, check: bool = True) -> Dataset:
    """Chest X-ray (PneumoniaMNIST): 5,232 + 624 rows of 784 pixels; +1 for pneumonia.

    `folder` holds ``pneumonia_mnist.npz``, or ``pneumoniamnist.npz`` as MedMNIST publishes it,
    whose training and validation images are put together.
    """
    place = data_folder(folder)
    path = first_file(place, ("pneumonia_mnist.npz", "pneumoniamnist.npz"), "chest X-ray")
    if path.name == "pneumonia_mnist.npz":
        return _npz("chest X-ray", "pneumonia_mnist", place, check)
    with np.load(path, allow_pickle=False) as held:
        images, labels = (
            [held[f"{part}_{what}"] for part in ("train", "val", "test")] for what in ("images", "labels")
        )
    X, Z = (x.reshape(x.shape[0], -1) for x in (np.concatenate(images[:2]), images[2]))
    if check:
        check_shape(path.name, X.shape, (5232, 784))
        check_shape(path.name, Z.shape, (624, 784))
    y, z = (np.where(v.ravel() > 0, 1, -1).astype(np.int8) for v in (np.concatenate(labels[:2]), labels[2]))
    return Dataset("chest X-ray", X, y, Z, z, str(path), "shape" if check else "nothing")


def of_gcd(name: str, folder: Folder = None, *, fetch: bool = False, check: bool = True) -> Dataset:
    """A real dataset of the paper of DP-GCD: california, madelon, dorothea or mtp.

    ``fetch=True`` asks scikit-learn (california) or OpenML. Dorothea keeps the columns that are not
    empty in its training rows: 88,119, as in the paper. For mtp there is a file of the same study
    with 49 compounds fewer, ``meltingpoint``, by the name `sample` gives it.
    """
    if name not in GCD:
        raise DataError(f"the paper of DP-GCD has no dataset {name!r}; it has {', '.join(GCD)}.")
    file, listed = GCD[name]
    if fetch and listed is None:
        from sklearn.datasets import fetch_california_housing

        X, y = fetch_california_housing(return_X_y=True)
        return _fetched(name, X, y, "sklearn.datasets.fetch_california_housing")
    if fetch and listed is not None:
        X, y, source = _openml(*listed)
        return _fetched(name, X, y.astype(float) if name == "mtp" else np.where(y.astype(str) == "1", 1, -1), source)
    found = _npz(name, file, folder, check)
    if name != "dorothea":
        return found
    kept = np.diff(found.X.tocsc().indptr) > 0
    return Dataset(name, found.X[:, kept], found.y, found.X_test[:, kept], found.y_test, found.source, found.checked)


def sample(name: str, folder: Folder = None, *, check: bool = True) -> Dataset:
    """A part of a dataset, or one that stands in for it, under its own name.

    Rcv1_sample, rcv1_head100, meltingpoint.
    """
    if name not in ("rcv1_sample", "rcv1_head100", "meltingpoint"):
        raise DataError(f"there is no sample {name!r}; there are rcv1_sample, rcv1_head100 and meltingpoint.")
    return _npz(name, name, folder, check)


def _npz(name: str, file: str, folder: Folder, check: bool) -> Dataset:
    path = first_file(data_folder(folder), (f"{file}.npz",), name)
    known = SUMS.get(file)
    if check and known is not None:
        check_sum(path, known)
    train, test = read_npz(path), read_npz(path, "_test")
    if train is None:
        raise DataError(f"{path.name} holds neither X and y nor the parts of a sparse matrix.")
    Z, z = (None, None) if test is None else test
    return Dataset(name, *train, Z, z, str(path), "sha256" if check and known is not None else "nothing")


def _openml(name: str, version: int) -> tuple[np.ndarray, np.ndarray, str]:
    from sklearn.datasets import fetch_openml

    X, y = fetch_openml(name, version=version, return_X_y=True, as_frame=False, parser="auto")
    return X, np.asarray(y), f"OpenML {name}, version {version}"


#: Files beyond are not read; unpacked ones neither.
LARGEST_BYTES = 2**28
FILES = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")


class Digits(NamedTuple):
    """Images of shape (rows, 1, 28, 28) within [0, 1], and digits."""

    X: NDArray[np.float32]
    y: NDArray[np.int64]
    X_test: NDArray[np.float32]
    y_test: NDArray[np.int64]


def load_mnist(path: str | PathLike[str]) -> Digits:
    """Read a folder with the four IDX files, or an npz with X, y, X_test and y_test.

    Parameters
    ----------
    path : str or Path
        Files may end in ``.gz``. Nothing is downloaded.
    """
    place = Path(path)
    if place.is_dir():
        images, labels, test_images, test_labels = (_idx(place, name) for name in FILES)
    else:
        with np.load(place, allow_pickle=False) as found:
            images, labels, test_images, test_labels = (found[k] for k in ("X", "y", "X_test", "y_test"))
    return Digits(_images(images), labels.astype(np.int64), _images(test_images), test_labels.astype(np.int64))


def _images(found: NDArray[np.uint8]) -> NDArray[np.float32]:
    return (found.reshape(-1, 1, 28, 28) / np.float32(255)).astype(np.float32)


def _idx(folder: Path, name: str) -> NDArray[np.uint8]:
    """One IDX file of bytes."""
    plain, packed = folder / name, folder / f"{name}.gz"
    if plain.exists():
        content = read_bytes(plain, LARGEST_BYTES, "an IDX file")
    else:
        with gzip.open(packed) as file:
            content = file.read(LARGEST_BYTES + 1)
    axes = content[3] if len(content) >= 4 else 0
    size = 4 + 4 * axes
    if len(content) < size or content[:3] != b"\0\0\x08" or not 1 <= axes <= 3:
        raise DataError(f"{folder / name} is not an IDX file of bytes.")
    shape = struct.unpack_from(f">{axes}I", content, 4)
    found = np.frombuffer(content, np.uint8, offset=size)
    if found.size != int(np.prod(shape, dtype=np.int64)):
        raise DataError(f"{folder / name} is damaged: its length does not fit.")
    return found.reshape(shape)
