"""Kernels: both implementations give the right whole numbers, whatever the storage, shape, range of rows and number of threads."""

from __future__ import annotations

import functools
import subprocess
import sys
from types import ModuleType

import numpy as np
import pytest
import scipy.sparse as sp

from dpsparse.core import DataError
from dpsparse.core.facts import Facts
from dpsparse.rows import block as block_module
from dpsparse.rows.block import clip_and_quantise
from dpsparse.rows.kernels import available, choice, plain, products
from dpsparse.rows.kernels import interface as interface_module
from dpsparse.rows.lattice import BLOCK_ROWS, Lattice

compiled = pytest.importorskip("dpsparse.rows.kernels.compiled", reason="numba is not installed", exc_type=ImportError)
loops = sys.modules["dpsparse.rows.kernels.loops"]

PATHS = pytest.mark.parametrize("path", [plain, compiled], ids=["plain", "compiled"])
#: Every type that rows can have; few pairs of types, for each is compiled on its own.
STORAGES = ["dense int16", "dense float64", "rows int8", "rows int16", "long rows int32"]
SHAPES = [(0, 3), (1, 1), (5, 1), (3, 40), (97, 7), (64, 200)]


@pytest.fixture(autouse=True)
def _many_threads(monkeypatch):
    """Every product is shared between threads, however small."""
    monkeypatch.setenv("DPSPARSE_THREADS", "3")
    monkeypatch.setattr(compiled, "SHARED_ENTRIES", 0)
    monkeypatch.setattr(compiled, "PER_SUM", 0)


@pytest.fixture
def _fresh(monkeypatch):
    """No kernels were chosen yet."""
    choice.forget_kernels()
    yield
    choice.forget_kernels()


def stored(storage: str, shape: tuple[int, int], seed: int = 0):
    """Rows with entries at both ends of their type, and zeros."""
    form, kind = storage.rsplit(" ", 1)
    rng = np.random.default_rng([seed, *shape])
    most = min(np.iinfo(kind).max, 2**16) if kind != "float64" else 2**16
    least = -most - (kind in ("int8", "int16"))
    x = rng.choice([least, -1, 0, 0, 0, 1, most], shape).astype(kind)
    if form == "dense":
        return x
    found = sp.csr_matrix(x)
    if form == "long rows":
        found.indices, found.indptr = found.indices.astype(np.int64), found.indptr.astype(np.int64)
    return found


def whole(x) -> np.ndarray:
    """As Python integers."""
    return np.asarray(x.toarray() if sp.issparse(x) else x).astype(np.int64).astype(object)


def columns_of(x):
    return x.tocsc() if sp.issparse(x) else x


def factors_of(n: int, bits: int, seed: int = 1, classes: int | None = None) -> np.ndarray:
    """Whole factors up to a power of two, both ends among them."""
    rng = np.random.default_rng([seed, n])
    shape = (n,) if classes is None else (n, classes)
    found = np.rint(rng.uniform(-1, 1, shape) * 2.0**bits)
    found[: n // 2] = rng.choice([-(2.0**bits), 2.0**bits, 0.0], found[: n // 2].shape)
    return found


def ranges(n: int) -> list[slice]:
    return [slice(0, n), slice(n // 3, n), slice(0, n // 2), slice(n // 2, n // 2)]


@PATHS
@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("classes", [None, 1, 7])
def test_products_with_coefficients_are_exact(path, storage, classes):
    for shape in SHAPES:
        x, w = stored(storage, shape), factors_of(shape[1], 27, classes=classes)
        expected = whole(x).dot(w.astype(np.int64).astype(object))
        for rows in ranges(shape[0]):
            out = np.full((shape[0], *w.shape[1:]), -7.0)
            path.forward(x, w, out, rows)
            assert out[rows].astype(np.int64).tolist() == expected[rows].tolist()
            untouched = np.ones(shape[0], dtype=bool)
            untouched[rows] = False
            assert np.all(out[untouched] == -7.0)


@PATHS
@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("classes", [None, 1, 7])
def test_sums_of_rows_are_exact_and_added_to_what_is_there(path, storage, classes):
    for shape in SHAPES:
        x, factor = stored(storage, shape), factors_of(shape[0], 29, classes=classes)
        for rows in ranges(shape[0]):
            acc = np.full((shape[1], *factor.shape[1:]), 5, dtype=np.int64)
            path.scatter(x, factor, acc, rows, 2.0**16)
            expected = whole(x)[rows].T.dot(factor[rows].astype(np.int64).astype(object))
            assert acc.tolist() == (expected + 5).tolist()


@PATHS
@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("classes", [None, 3])
def test_products_and_sums_of_a_few_columns_are_exact(path, storage, classes):
    for shape in SHAPES:
        x, which = stored(storage, shape), np.arange(shape[1])[::-2].copy()
        w, factor = factors_of(which.size, 27, classes=classes), factors_of(shape[0], 29, classes=classes)
        out = np.full((shape[0], *w.shape[1:]), 3.0)
        path.forward_columns(columns_of(x), which, w, out)
        expected = whole(x)[:, which].dot(w.astype(np.int64).astype(object)) + 3
        assert out.astype(np.int64).tolist() == expected.tolist()
        acc = np.full((which.size, *w.shape[1:]), -2, dtype=np.int64)
        path.gather(columns_of(x), which, factor, acc, 2.0**16)
        assert acc.tolist() == (whole(x)[:, which].T.dot(factor.astype(np.int64).astype(object)) - 2).tolist()


@PATHS
@pytest.mark.parametrize("storage", STORAGES)
def test_sums_of_clipped_entries_are_exact(path, storage):
    for shape in SHAPES:
        x, factor = stored(storage, shape), factors_of(shape[0], 36)
        limits = np.array([0.0, 1.0, 2.0**20, 2.0**36])[np.arange(shape[1]) % 4]
        for rows in ranges(shape[0]):
            acc = np.ones(shape[1], dtype=np.int64)
            path.clipped_scatter(x, factor, limits, acc, rows)
            terms = whole(x)[rows] * factor[rows].astype(np.int64).astype(object)[:, None]
            held = limits.astype(np.int64).astype(object)
            expected = [1 + sum(max(-held[j], min(int(t), held[j])) for t in terms[:, j]) for j in range(shape[1])]
            assert acc.tolist() == expected


DENSE = [storage for storage in STORAGES if storage.startswith("dense")]


@PATHS
@pytest.mark.parametrize("storage", DENSE)
def test_sums_from_a_centre_and_within_intervals_are_exact(path, storage):
    for shape in SHAPES:
        x, factor = stored(storage, shape), factors_of(shape[0], 27)
        centre = factors_of(shape[1], 16, seed=2)
        low, high = centre, centre + 64 + np.abs(factors_of(shape[1], 15, seed=3))
        held = np.clip(whole(x), low.astype(np.int64).astype(object), high.astype(np.int64).astype(object))
        c, at = factor.astype(np.int64).astype(object), centre.astype(np.int64).astype(object)
        for rows in ranges(shape[0]):
            acc, inside = np.full(shape[1], 4, dtype=np.int64), np.full(shape[1], -3, dtype=np.int64)
            path.scatter_from(x, centre, factor, acc, rows)
            assert acc.tolist() == ((whole(x) - at)[rows].T.dot(c[rows]) + 4).tolist()
            path.interval_scatter(x, factor, low, high, inside, rows)
            assert inside.tolist() == ((held - at)[rows].T.dot(c[rows]) - 3).tolist()


@pytest.mark.parametrize("storage", DENSE)
def test_whole_rows_within_a_norm_have_the_same_bytes_by_either_path(storage):
    rng = np.random.default_rng(8)
    for shape in SHAPES:
        x = np.rint(rng.uniform(-30000, 30000, shape)).astype(storage.split()[1])
        alive = (rng.random(shape[0]) < 0.8).astype(float)
        centre, norm, step, most = rng.uniform(-0.4, 0.4, shape[1]), 0.3 * np.sqrt(shape[1]), 2.0**-29 / 3, 2.0**28
        lower, upper = -rng.uniform(9000, 30000, shape[1]), rng.uniform(9000, 30000, shape[1])
        held = interface_module.Away(2.0**-15, centre, lower, upper)
        free = interface_module.Away.from_centre(2.0**-15, centre)
        found = []
        for path in (plain, compiled):
            squares, inside, rows = np.full(shape[0], 6.0), np.full(shape[0], 6.0), np.full(shape, 6.0)
            path.away_squares(x, free, alive, squares)
            path.away_squares(x, held, alive, inside)
            factor = norm / np.maximum(np.sqrt(squares), norm)
            path.whole_rows(x, free, alive, factor, step, most, rows)
            found.append((squares.tobytes(), inside.tobytes(), rows.tobytes()))
        assert found[0] == found[1]
        for i in range(shape[0]):  # one record after the other, as it is said
            away = (x[i] * free.unit - centre) * alive[i]
            within = (np.clip(x[i], lower, upper) * free.unit - centre) * alive[i]
            assert squares[i] == functools.reduce(lambda total, a: total + a * a, away, 0.0)
            assert inside[i] == functools.reduce(lambda total, a: total + a * a, within, 0.0)
            assert np.array_equal(rows[i], np.clip(np.trunc(away * factor[i] / step), -most, most))


@pytest.mark.parametrize("kind", ["float32", "float64", "float16", "int8", "int32", "bool", "fortran", "strided"])
@pytest.mark.parametrize("norm", [None, 1.5])
@pytest.mark.parametrize("shifted", [False, True])
def test_dense_rows_come_to_the_lattice_alike_by_either_path(kind, norm, shifted):
    rng = np.random.default_rng(12)
    for n, d in ((1, 1), (7, 3), (300, 41), (2000, 97)):
        X = rng.normal(0, 1.2, (n, d)).astype(kind if kind not in ("fortran", "strided") else float)
        if X.dtype.kind == "f":
            X[rng.random((n, d)) < 0.5 / d] = np.nan
            X[rng.random((n, d)) < 0.2 / d] = -np.inf
            X[rng.random((n, d)) < 0.1] = np.finfo(X.dtype).max
        X = np.asfortranarray(X) if kind == "fortran" else np.repeat(X, 2, axis=1)[:, ::2] if kind == "strided" else X
        norms = {} if norm is None else {"row_norm": norm}
        facts = Facts(n_rows=n, n_features=d, lower=-1.5, upper=2.0, shift=0.3 * shifted, **norms)
        lattice, found = Lattice(facts), []
        for path in (plain, compiled):
            empty = np.empty((n, d), lattice.stored), np.empty(n, dtype=bool), np.empty(n), np.empty(n)
            made = interface_module.WholeRows(*empty)
            with np.errstate(all="ignore"):
                path.quantise(X, lattice, made)
            found.append([part.tobytes() for part in (made.stored, made.finite, made.squares, made.largest)])
        assert found[0] == found[1]


@PATHS
@pytest.mark.parametrize("size", [1, 2, 15, 16, 17, 32, 200])
def test_values_are_put_beside_the_first_point_of_a_grid_that_is_no_less(path, size):
    rng = np.random.default_rng(13)
    for grid in (np.geomspace(1e-3, 8.0, size), np.sort(rng.integers(0, 5, size)).astype(float), np.full(size, np.inf)):
        values = np.r_[np.abs(rng.normal(0, 2, 500)), grid, np.nextafter(grid, 0), -1.0, 0.0, np.inf, np.nan]
        weights, expected = rng.integers(0, 2**20, values.size), np.full(size + 1, 7, dtype=np.int64)
        for value, weight in zip(values, weights, strict=True):
            expected[next((k for k in range(size) if grid[k] >= value), size)] += weight
        sums = np.full(size + 1, 7, dtype=np.int64)
        path.grid_sums(values, weights, grid, sums)
        assert sums.tolist() == expected.tolist()


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("classes", [None, 2])
def test_sums_of_squares_are_added_in_their_order_by_either_path(storage, classes):
    """Floats that are not whole: the order shows, and has to be that of the columns."""
    rng = np.random.default_rng(9)
    for shape in SHAPES:
        x = stored(storage, shape)
        squared = rng.uniform(0, 1, (shape[1],) if classes is None else (shape[1], classes)) ** 9
        less = np.zeros(shape[1]) if sp.issparse(x) else np.rint(rng.uniform(0, 2**20, shape[1]))
        dense = np.asarray(x.toarray() if sp.issparse(x) else x, dtype=float)
        expected = np.zeros((shape[0], *squared.shape[1:]))
        for j in range(shape[1]):
            expected += np.multiply.outer(dense[:, j] ** 2 - less[j], squared[j])
        for path in (plain, compiled):
            out = np.empty(expected.shape)
            path.ordered_squares(x, squared, less, out)
            assert out.tobytes() == expected.tobytes()


@PATHS
@pytest.mark.parametrize("sign", [-1, 1])
def test_a_full_block_of_the_largest_terms_is_exact(path, sign):
    """2^16 rows that all add 2^36 units to one column: a sum of 2^52, once of large entries and once of large factors."""
    n = BLOCK_ROWS
    for entry, factor in ((2**15 - 1, (2**36) // (2**15 - 1)), (1, 2**36), (2**11, 2**25)):
        x = np.full((n, 1), entry, dtype=np.int16)
        c = np.full(n, float(sign * factor))
        for form in (x, sp.csr_matrix(x)):
            acc = np.zeros(1, dtype=np.int64)
            path.scatter(form, c, acc, slice(0, n), 2.0**15)
            assert int(acc[0]) == sign * n * entry * factor
            path.gather(columns_of(form), np.array([0]), c, acc, 2.0**15)
            assert int(acc[0]) == 2 * sign * n * entry * factor
        acc[:] = 0
        path.scatter_from(x, np.array([float(entry - 1)]), np.full(n, sign * 2.0**36), acc, slice(0, n))
        assert int(acc[0]) == sign * n * 2**36


@PATHS
def test_large_terms_of_shifted_sparse_rows_cancel_exactly(path):
    """Entries one unit from a shift of 2^16 have factors of 2^36: a sum of 2^68 units, of which 2^52 are left after the shift."""
    n, shift = BLOCK_ROWS, 2**16
    x = sp.csr_matrix(np.full((n, 1), shift + 1, dtype=np.int32))
    c = np.full(n, 2.0**36)
    acc = np.zeros(1, dtype=np.int64)
    path.scatter(x, c, acc, slice(0, n), float(shift + 1))
    acc -= np.array([shift]) * np.array([n * 2**36])  # modulo 2^64
    assert int(acc[0]) == n * 2**36


@pytest.mark.parametrize("threads", ["1", "2", "5"])
def test_the_number_of_threads_does_not_show(threads, monkeypatch):
    monkeypatch.setenv("DPSPARSE_THREADS", threads)
    for storage in ("dense int16", "rows int16"):
        x = stored(storage, (503, 31))
        w, c = factors_of(31, 27), factors_of(503, 29)
        out, acc = np.empty(503), np.zeros(31, dtype=np.int64)
        compiled.forward(x, w, out, slice(0, 503))
        compiled.scatter(x, c, acc, slice(0, 503), 2.0**15)
        expected, total = np.empty(503), np.zeros(31, dtype=np.int64)
        plain.forward(x, w, expected, slice(0, 503))
        plain.scatter(x, c, total, slice(0, 503), 2.0**15)
        assert out.tobytes() == expected.tobytes()
        assert acc.tobytes() == total.tobytes()


# ------------------------------------------------------------------------------------------------ blocks


def block_of(sparse: bool, shifted: bool, n: int = 300, d: int = 9):
    rng = np.random.default_rng(5)
    x = rng.uniform(-1, 1, (n, d)) * (rng.random((n, d)) < 0.4)
    facts = Facts(
        n_rows=n,
        n_features=d,
        lower=-1.0,
        upper=1.0,
        row_norm=2.0,
        shift=0.25 if shifted else 0.0,
        intercept=0.5,
        target_bound=1.0,
        sparse=sparse,
    )
    lattice = Lattice(facts)
    return clip_and_quantise(sp.csr_matrix(x) if sparse else x, np.ones(n), lattice), lattice


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("shifted", [False, True], ids=["plain", "shifted"])
@pytest.mark.parametrize("narrow", [False, True], ids=["floats", "narrow"])
@pytest.mark.usefixtures("_fresh")
def test_blocks_answer_with_the_same_bytes_by_either_path(sparse, shifted, narrow, monkeypatch):
    if narrow:
        monkeypatch.setattr(block_module, "narrow_pays", lambda entries: True)
    found: dict[str, list[bytes]] = {}
    for name in ("plain", "compiled"):
        monkeypatch.setenv("DPSPARSE_KERNELS", name)
        choice.forget_kernels()
        block, lattice = block_of(sparse, shifted)
        block.asked = products.PAYS_COPY  # through columns
        w = lattice.rounded(np.random.default_rng(6).standard_normal(lattice.facts.dimension)).whole
        c, support = factors_of(300, 20), np.array([8, 2, 9, 5])
        total, few = np.zeros(w.size, dtype=np.int64), np.zeros(support.size, dtype=np.int64)
        products.scatter(block, lattice, c, total)
        products.scatter(block, lattice, c, few, support)
        assert few.tolist() == total[support].tolist()
        full = np.zeros_like(w)
        full[support] = w[support]
        through = products.forward_columns(block, lattice, support, w[support])
        assert through.tobytes() == products.forward(block, lattice, full).tobytes()
        answers = [products.forward(block, lattice, w), through, total]
        answers.append(products.entry_clipped_scatter(block, lattice, c, 9000.0))
        if not (sparse and shifted):
            clipped = np.zeros(w.size, dtype=np.int64)
            products.clipped_scatter(block, lattice, c, np.full(w.size, 2.0**30), clipped)
            some = np.zeros(support.size, dtype=np.int64)
            products.clipped_scatter(block, lattice, c, np.full(w.size, 2.0**30), some, support)
            assert some.tolist() == clipped[support].tolist()
            answers.append(clipped)
        found[name] = [a.tobytes() for a in answers]
    assert found["plain"] == found["compiled"]


def test_sparse_rows_are_stored_in_two_bytes_and_short_indices_where_that_pays(monkeypatch):
    assert block_of(sparse=True, shifted=False)[0].x.data.dtype == float
    monkeypatch.setattr(available, "NARROW", 0)
    block, lattice = block_of(sparse=True, shifted=False)
    assert (block.x.data.dtype, block.x.indices.dtype, block.x.indptr.dtype) == (np.int16, np.int32, np.int32)
    assert float(np.abs(block.x.data.astype(float)).max()) <= lattice.stored_bound <= 32767


def test_sparse_rows_far_from_zero_have_wider_entries(monkeypatch):
    """Bounds of [0, 2^15] with the shift at their end: unshifted entries need more bits than shifted ones."""
    facts = Facts(n_rows=4, n_features=1, lower=0.0, upper=1.0, shift=1.0 - 2.0**-14, row_norm=1.0, sparse=True)
    monkeypatch.setattr(available, "NARROW", 0)
    lattice = Lattice(facts)
    x = sp.csr_matrix(np.array([[1.0], [0.5], [0.0], [0.25]]))
    block = clip_and_quantise(x, np.zeros(4), lattice)
    assert (block.x.toarray().ravel() * lattice.unit).tolist() == [1.0, 0.5, 0.0, 0.25]
    assert np.iinfo(block.x.dtype).max >= lattice.stored_bound


# ------------------------------------------------------------------------------------------------ which path


@pytest.mark.usefixtures("_fresh")
def test_little_work_is_plain_and_much_is_compiled(monkeypatch):
    monkeypatch.setenv("DPSPARSE_KERNELS", "auto")
    assert choice.kernels(10) is plain
    assert choice.kernels(choice.START_UP - 11) is plain
    assert choice.kernels(1) is compiled
    assert choice.kernels(0) is compiled


@pytest.mark.usefixtures("_fresh")
def test_plain_kernels_can_be_asked_for(monkeypatch):
    monkeypatch.setenv("DPSPARSE_KERNELS", "plain")
    assert choice.kernels(10 * choice.START_UP) is plain


@pytest.mark.usefixtures("_fresh")
def test_without_numba_everything_is_plain(monkeypatch):
    monkeypatch.setattr(choice, "installed", lambda: False)
    monkeypatch.setenv("DPSPARSE_KERNELS", "auto")
    assert choice.kernels(choice.START_UP) is plain
    choice.forget_kernels()
    monkeypatch.setenv("DPSPARSE_KERNELS", "compiled")
    with pytest.raises(DataError, match="pip install"):
        choice.kernels(1)


@pytest.mark.parametrize("way", ["raises", "adds wrongly"])
@pytest.mark.usefixtures("_fresh")
def test_compiled_kernels_that_do_not_work_are_left_alone(way, monkeypatch):
    def broken(x, factor, acc, rows, bound):
        if way == "raises":
            raise RuntimeError("torn")
        acc += 1

    monkeypatch.setattr(compiled, "scatter", broken)
    assert choice.load_kernels() is plain


def test_a_small_fit_does_not_load_numba():
    code = (
        "import sys, numpy as np; from dpsparse import SparseClassifier; X = np.random.default_rng(0).uniform(-1, 1, (60, 5));"
        "SparseClassifier(epsilon=5.0, feature_bound=1.0, random_state=0).fit(X, (X[:, 0] > 0).astype(int)); print('numba' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_loops_are_compiled_where_no_cache_can_be_written(monkeypatch):
    real = loops.numba.njit

    def njit(*args, **options):
        if options.pop("cache", False):
            raise RuntimeError("cannot cache function: no locator available")
        return real(*args, **options)

    monkeypatch.setattr(loops.numba, "njit", njit)

    def double(x):
        return 2 * x

    assert loops.kernel(double)(21) == 42


@pytest.mark.parametrize("module", [plain, compiled])
def test_a_path_has_all_that_the_interface_names(module: ModuleType):
    for name in (
        "forward",
        "forward_columns",
        "scatter",
        "gather",
        "clipped_scatter",
        "scatter_from",
        "interval_scatter",
        "quantise",
        "away_squares",
        "whole_rows",
        "grid_sums",
    ):
        assert callable(getattr(module, name))
        assert hasattr(interface_module.Kernels, name)
