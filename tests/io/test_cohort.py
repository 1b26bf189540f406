"""The simulated cohort: laws of its genotypes, its known truth, and its memory."""

import tracemalloc

import numpy as np
import pytest

from dpsparse.io.datasets import cohort as module
from dpsparse.io.datasets.cohort import HERITABILITY, simulate


@pytest.fixture(scope="module")
def cohort(tmp_path_factory):
    return simulate(n_rows=8000, n_features=60, causal=10, seed=3, folder=tmp_path_factory.mktemp("cohort"))


def test_genotypes_are_small_integers_on_disk(cohort):
    X = cohort.genotypes()
    assert isinstance(X, np.memmap)
    assert X.dtype == np.int8
    assert X.shape == (8000, 60)
    assert set(np.unique(X)) == {0, 1, 2}
    assert cohort.feature_bound == (0.0, 2.0)


def test_genotypes_follow_hardy_weinberg(cohort):
    genotypes, p = np.asarray(cohort.genotypes()), cohort.frequencies
    assert p.min() >= 0.05
    assert p.max() <= 0.5
    for copies, share in ((0, (1 - p) ** 2), (1, 2 * p * (1 - p)), (2, p**2)):
        error = ((genotypes == copies).mean(axis=0) - share) / np.sqrt(share * (1 - share) / 8000)
        assert np.abs(error).max() < 4.5


def test_the_truth_is_what_the_docstring_says(cohort):
    p = cohort.frequencies[cohort.causal]
    parts = np.abs(cohort.effects) * np.sqrt(2 * p * (1 - p))
    assert np.sum(parts**2) == pytest.approx(HERITABILITY)
    assert parts.max() / parts.min() <= 7 / 3
    assert np.all(np.diff(cohort.causal) > 0)
    np.testing.assert_allclose(cohort.log_odds / cohort.effects, np.pi / np.sqrt(3 * HERITABILITY))


def test_least_squares_recovers_the_effects(cohort):
    X = np.asarray(cohort.genotypes(), dtype=float) - 2 * cohort.frequencies
    found = np.linalg.lstsq(X, cohort.continuous, rcond=None)[0]
    truth = np.zeros(60)
    truth[cohort.causal] = cohort.effects
    assert np.abs(found - truth).max() < 0.15
    assert cohort.continuous.mean() == pytest.approx(0, abs=0.05)
    assert cohort.continuous.var() == pytest.approx(1, abs=0.06)
    assert np.mean(np.abs(cohort.continuous) > cohort.target_bound) < 0.001


def test_the_binary_outcome_follows_its_log_odds(cohort):
    X = np.asarray(cohort.genotypes(), dtype=float) - 2 * cohort.frequencies
    chance = 1 / (1 + np.exp(-X[:, cohort.causal] @ cohort.log_odds))
    assert set(np.unique(cohort.binary)) == {0, 1}
    order = np.argsort(chance)
    for part in np.array_split(order, 8):
        assert cohort.binary[part].mean() == pytest.approx(chance[part].mean(), abs=0.06)


def test_a_seed_gives_the_same_cohort_whatever_the_blocks(tmp_path, monkeypatch):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    one = simulate(101, 30, 4, seed=5, folder=tmp_path / "a")
    monkeypatch.setattr(module, "BLOCK_ENTRIES", 7 * 30)
    seen = []
    two = simulate(101, 30, 4, seed=5, folder=tmp_path / "b", on_rows=seen.append)
    np.testing.assert_array_equal(one.genotypes(), two.genotypes())
    np.testing.assert_allclose(one.continuous, two.continuous, rtol=1e-12)
    np.testing.assert_array_equal(one.binary, two.binary)
    assert sum(seen) == 101
    assert not np.array_equal(one.genotypes(), simulate(101, 30, 4, seed=6, folder=tmp_path / "a").genotypes())


def test_memory_stays_below_the_size_of_the_data(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "BLOCK_ENTRIES", 2**16)
    tracemalloc.start()
    simulate(20000, 200, 5, folder=tmp_path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20000 * 200 / 2


def test_markers_have_names_that_sort(cohort):
    assert cohort.names[:2] == ("marker_00", "marker_01")
    assert sorted(cohort.names) == list(cohort.names)
    assert repr(cohort) == "Cohort(8000 people, 60 markers, 10 causal)"


@pytest.mark.parametrize("bad", [{"n_rows": 0}, {"n_features": 2.5}, {"causal": -1}, {"n_features": 5, "causal": 6}])
def test_sizes_that_make_no_sense_are_refused(tmp_path, bad):
    with pytest.raises(ValueError, match="must be"):
        simulate(**{"n_rows": 10, "n_features": 10, "causal": 2, "folder": tmp_path, **bad})


def test_a_full_disk_is_an_error_and_leaves_no_file(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module.os, "posix_fallocate", full, raising=False)
    with pytest.raises(OSError, match="No space left"):
        simulate(10, 10, 2, folder=tmp_path)
    assert list(tmp_path.iterdir()) == []
