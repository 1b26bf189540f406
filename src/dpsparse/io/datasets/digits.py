"""Images of digits from the usual files: the four IDX files of MNIST, packed or not, or one npz."""

from __future__ import annotations

import gzip
import struct
from os import PathLike
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core.errors import DataError
from ...core.regular_files import read_bytes

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
