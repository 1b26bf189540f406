"""Loaders: small files of the right format, real samples where they are, and splits."""

import bz2
import os
from pathlib import Path

import numpy as np
import pytest

from dpsparse.core import DataError
from dpsparse.io import datasets
from dpsparse.io.datasets import public

SAMPLES = Path(os.environ.get("DPSPARSE_DATA") or Path(__file__).resolve().parents[3] / "shared" / "data")
needs_samples = pytest.mark.skipif(not SAMPLES.is_dir(), reason="real samples: set DPSPARSE_DATA to their folder")


def test_halves_and_folds_take_every_row_once():
    private, public_half = datasets.halves(101, seed=3)
    assert sorted(np.concatenate([private, public_half])) == list(range(101))
    assert (private.size, public_half.size) == (51, 50)
    found = datasets.folds(23, 5, seed=1)
    assert sorted(np.concatenate([held for _, held in found])) == list(range(23))
    assert all(sorted(np.concatenate(part)) == list(range(23)) for part in found)
    assert not np.array_equal(found[0][1], datasets.folds(23, 5, seed=2)[0][1])
    with pytest.raises(ValueError, match="between 2 and n_rows"):
        datasets.folds(3, 5)


def test_files_of_libsvm_are_read_and_their_shape_is_checked(tmp_path):
    (tmp_path / "E2006.train.bz2").write_bytes(bz2.compress(b"-3.5 1:0.5 7:0.25\n-2.0 3:1\n"))
    (tmp_path / "E2006.test").write_bytes(b"-1.0 2:1\n")
    with pytest.raises(DataError, match="2 rows and 150360 features, and not the published 16087"):
        datasets.e2006(tmp_path)
    found = datasets.e2006(tmp_path, check=False)
    assert found.X.shape == (2, 7)
    assert found.y.tolist() == [-3.5, -2.0]
    assert found.checked == "nothing"


def test_what_is_missing_is_said(tmp_path, monkeypatch):
    with pytest.raises(DataError, match=r"none of rcv1_train.binary, rcv1_train.binary.bz2"):
        datasets.rcv1(tmp_path)
    with pytest.raises(DataError, match="no dataset 'iris'"):
        datasets.of_gcd("iris", tmp_path)
    monkeypatch.delenv("DPSPARSE_DATA", raising=False)
    with pytest.raises(DataError, match="Set DPSPARSE_DATA"):
        datasets.mnist()


def test_another_file_of_the_same_name_is_refused(tmp_path):
    np.savez(tmp_path / "mnist.npz", X=np.zeros((2, 784), np.uint8), y=np.zeros(2, np.int8))
    with pytest.raises(DataError, match="its SHA-256 begins with"):
        datasets.mnist(tmp_path)
    assert datasets.mnist(tmp_path, check=False).X.shape == (2, 784)


def test_images_of_medmnist_are_put_together(tmp_path):
    parts = {f"{p}_images": np.full((n, 28, 28), n, np.uint8) for p, n in (("train", 3), ("val", 2), ("test", 1))}
    labels = {f"{p}_labels": np.arange(n)[:, None] for p, n in (("train", 3), ("val", 2), ("test", 1))}
    np.savez(tmp_path / "pneumoniamnist.npz", **parts, **labels)
    with pytest.raises(DataError, match="published 5232"):
        datasets.chest_xray(tmp_path)
    found = datasets.chest_xray(tmp_path, check=False)
    assert (found.X.shape, found.X_test.shape) == ((5, 784), (1, 784))
    assert found.y.tolist() == [-1, 1, 1, -1, 1]


@needs_samples
@pytest.mark.parametrize(
    ("load", "shape"),
    [
        (lambda: datasets.sample("rcv1_sample", SAMPLES), (1000, 47152)),
        (lambda: datasets.sample("rcv1_head100", SAMPLES), (100, 47236)),
        (lambda: datasets.of_gcd("california", SAMPLES), (20640, 8)),
        (lambda: datasets.of_gcd("madelon", SAMPLES), (2600, 500)),
        (lambda: datasets.of_gcd("dorothea", SAMPLES), (800, 88119)),
        (lambda: datasets.chest_xray(SAMPLES), (5232, 784)),
    ],
)
def test_real_samples_have_their_published_shape_and_sum(load, shape):
    found = load()
    assert found.X.shape == shape
    assert found.y.shape == (shape[0],)
    assert found.checked == "sha256"


@needs_samples
@pytest.mark.slow
@pytest.mark.parametrize(("load", "rows"), [(datasets.covertype, 581012), (datasets.mnist, 60000)])
def test_large_files_have_their_published_shape_and_sum(load, rows):
    assert load(SAMPLES).X.shape[0] == rows


def test_every_sum_is_a_sha256():
    assert all(len(value) == 64 and int(value, 16) >= 0 for value in public.SUMS.values())
