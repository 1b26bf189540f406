"""The usual files of digits."""

import gzip
import struct

import numpy as np
import pytest

from dpsparse.core import DataError
from dpsparse.io.datasets.public import FILES, load_mnist


def idx(array: np.ndarray) -> bytes:
    return b"\0\0\x08" + bytes([array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()


def write(folder, packed=False):
    rng = np.random.default_rng(0)
    arrays = [rng.integers(0, 256, s, dtype=np.uint8) for s in ((5, 28, 28), (5,), (2, 28, 28), (2,))]
    for name, array in zip(FILES, arrays, strict=True):
        if packed:
            (folder / f"{name}.gz").write_bytes(gzip.compress(idx(array)))
        else:
            (folder / name).write_bytes(idx(array))
    return arrays


@pytest.mark.parametrize("packed", [False, True])
def test_four_files_and_one_archive_hold_the_same_digits(tmp_path, packed):
    arrays = write(tmp_path, packed)
    found = load_mnist(tmp_path)
    assert found.X.shape == (5, 1, 28, 28)
    assert np.array_equal(np.rint(found.X * 255).reshape(5, 28, 28), arrays[0])
    assert found.y.tolist() == arrays[1].tolist()
    np.savez(tmp_path / "all.npz", X=arrays[0].reshape(5, 784), y=arrays[1], X_test=arrays[2], y_test=arrays[3])
    again = load_mnist(tmp_path / "all.npz")
    assert all(np.array_equal(a, b) for a, b in zip(found, again, strict=True))


@pytest.mark.parametrize("damage", [lambda b: b[:-1], lambda b: b"\x01" + b[1:], lambda b: b[:3]])
def test_damaged_files_are_refused(tmp_path, damage):
    write(tmp_path)
    path = tmp_path / FILES[0]
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(DataError, match=r"IDX file|damaged"):
        load_mnist(tmp_path)
