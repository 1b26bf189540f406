"""PLINK and AnnData files: the same bytes as the same matrix from memory, covariates beside, streamed."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from click.testing import CliRunner

from dpsparse import SparseClassifier, load
from dpsparse.cli import main
from dpsparse.core.errors import DataError
from dpsparse.io import genomics
from dpsparse.io.rows import convert, holds_sparse, open_rows

N, D = 203, 37
RNG = np.random.default_rng(8)
GENOTYPES = RNG.integers(0, 3, (N, D)).astype(float)
GENOTYPES[RNG.uniform(size=(N, D)) < 0.03] = np.nan
CASE = np.where(np.nan_to_num(GENOTYPES[:, 4]) + RNG.normal(size=N) > 1, 2, 1)
AGE = np.round(RNG.uniform(20, 80, N), 2)
FIT = {"epsilon": 4.0, "delta": 1e-6, "random_state": 0, "feature_bound": (0, 2), "classes": [1, 2]}


def write_tables(folder):
    """.bim and .fam, .pvar and .psam, and covariates in another order, without the first sample."""
    ids = [f"s{i}" for i in range(N)]
    (folder / "g.fam").write_text("".join(f"f {s} 0 0 1 {c}\n" for s, c in zip(ids, CASE, strict=True)))
    variants = [("1", "." if j == 3 else f"rs{j // 2 if j < 2 else j}", str(100 + j), "A", "C") for j in range(D)]
    (folder / "g.bim").write_text("".join(f"{c}\t{i}\t0\t{p}\t{b}\t{a}\n" for c, i, p, a, b in variants))
    (folder / "g.psam").write_text(
        "#IID\tSEX\tPHENO1\n" + "".join(f"{s}\t1\t{c}\n" for s, c in zip(ids, CASE, strict=True))
    )
    lines = [f"{c}\t{p}\t{i}\t{a}\t{b}\n" for c, i, p, a, b in variants]
    (folder / "g.pvar").write_text("##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\n" + "".join(lines))
    order = RNG.permutation(np.arange(1, N))
    (folder / "cov.csv").write_text("IID,age,late\n" + "".join(f"s{i},{AGE[i]},{int(AGE[i] > 50)}\n" for i in order))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    found = tmp_path_factory.mktemp("genomics")
    write_tables(found)
    code = np.select([np.isnan(GENOTYPES), GENOTYPES == 2, GENOTYPES == 1], [1, 0, 2], 3).astype(np.uint8)
    padded = np.vstack([code, np.zeros((-N % 4, D), dtype=np.uint8)]).reshape(-1, 4, D)
    packed = (padded << np.array([0, 2, 4, 6], dtype=np.uint8)[:, None]).sum(axis=1, dtype=np.uint8)
    (found / "g.bed").write_bytes(genomics.BED_MAGIC + packed.T.tobytes())
    return found


@pytest.fixture(scope="module")
def pgen(folder):
    library = pytest.importorskip("pgenlib", reason="pgenlib is not installed (pip install 'dpsparse[genomics]')")
    with library.PgenWriter(bytes(folder / "g.pgen"), N, variant_ct=D, nonref_flags=False) as writer:
        for column in GENOTYPES.T:
            writer.append_biallelic(np.where(np.isnan(column), -9, column).astype(np.int8))
    return folder / "g.pgen"


def write_h5ad(h5py, path, X):
    """A file as anndata 0.12 writes it."""
    with h5py.File(path, "w") as file:
        file.attrs.update({"encoding-type": "anndata", "encoding-version": "0.1.0"})
        if sp.issparse(X):
            group = file.create_group("X")
            group.attrs.update({"encoding-type": f"{X.format}_matrix", "encoding-version": "0.1.0", "shape": X.shape})
            for name in ("data", "indices", "indptr"):
                group[name] = getattr(X, name)
        else:
            file["X"] = X
        obs, var = file.create_group("obs"), file.create_group("var")
        for group, names in ((obs, [f"s{i}" for i in range(N)]), (var, [f"gene{j}" for j in range(D)])):
            group.attrs.update({"encoding-type": "dataframe", "encoding-version": "0.2.0", "_index": "_index"})
            group["_index"] = np.array(names, dtype=object)
        obs["case"], obs["age"] = CASE, AGE
        label = obs.create_group("label")
        label.attrs.update({"encoding-type": "categorical", "encoding-version": "0.2.0", "ordered": False})
        label["categories"], label["codes"] = np.array(["ill", "well"], dtype=object), (CASE == 1).astype(np.int8)


@pytest.fixture(scope="module")
def h5ad(folder):
    h5py = pytest.importorskip("h5py", reason="h5py is not installed (pip install 'dpsparse[genomics]')")
    counts = np.nan_to_num(GENOTYPES)
    write_h5ad(h5py, folder / "dense.h5ad", counts)
    write_h5ad(h5py, folder / "sparse.h5ad", sp.csr_matrix(counts))
    write_h5ad(h5py, folder / "columns.h5ad", sp.csc_matrix(counts))
    return folder


def all_rows(rows):
    found = rows.rows(0, rows.shape[0])
    return found.toarray() if sp.issparse(found) else found


def check_plink(path, folder, monkeypatch):
    monkeypatch.setattr(genomics, "SLAB_BYTES", 1000)  # several slabs, and pieces within them
    monkeypatch.setattr(genomics, "PIECE_ENTRIES", 300)
    rows = open_rows(path)
    assert np.array_equal(all_rows(rows), GENOTYPES, equal_nan=True)
    assert rows.names[:4] == ("1:100:A:C", "1:101:A:C", "rs2", "1:103:A:C")
    assert np.array_equal(rows.targets("numbers"), CASE)
    filled = open_rows(path, "late", covariates=folder / "cov.csv", fill=0.0)
    assert filled.names[-1] == "age"
    assert np.array_equal(all_rows(filled)[:, :D], np.nan_to_num(GENOTYPES))
    assert np.array_equal(all_rows(filled)[1:, -1], AGE[1:])
    assert np.isnan(all_rows(filled)[0, -1])
    assert np.array_equal(filled.targets("numbers")[1:], AGE[1:] > 50)


def check_fit(path, **form):
    """A fit on the file is the fit on the matrix, with and without a limit of memory."""
    X, y = np.nan_to_num(GENOTYPES), CASE
    expected = SparseClassifier(**FIT).fit(X, y)
    for limit in (None, "200MB"):
        model = SparseClassifier(**FIT, memory_limit=limit).fit(open_rows(path, fill=0.0, **form))
        assert model.coef_.tobytes() == expected.coef_.tobytes()
        assert model.intercept_.tobytes() == expected.intercept_.tobytes()


def test_plink_1_is_the_matrix(folder, monkeypatch):
    check_plink(folder / "g.bed", folder, monkeypatch)
    check_fit(folder / "g.bed")


def test_plink_2_is_the_matrix(pgen, folder, monkeypatch):
    check_plink(pgen, folder, monkeypatch)
    check_fit(pgen)


def test_plink_1_is_read_as_others_read_it(folder):
    others = pytest.importorskip("bed_reader", reason="bed-reader is not installed")
    found = others.open_bed(folder / "g.bed").read(dtype="float64")
    assert np.array_equal(found, all_rows(open_rows(folder / "g.bed")), equal_nan=True)


@pytest.mark.parametrize("name", ["dense", "sparse"])
def test_anndata_is_the_matrix(h5ad, name):
    path = h5ad / f"{name}.h5ad"
    rows = open_rows(path, "label", covariates=["age"])
    assert np.array_equal(all_rows(rows), np.column_stack([np.nan_to_num(GENOTYPES), AGE]))
    assert rows.names[:2] == ("gene0", "gene1")
    assert rows.names[-1] == "age"
    assert rows.sparse == holds_sparse(path) == (name == "sparse")
    assert np.array_equal(rows.targets("texts"), np.where(CASE == 2, "ill", "well"))
    if name == "dense":
        check_fit(path, target="case")
    else:
        expected = SparseClassifier(**FIT).fit(sp.csr_matrix(np.nan_to_num(GENOTYPES)), CASE)
        found = SparseClassifier(**FIT).fit(open_rows(path, "case"))
        assert found.coef_.tobytes() == expected.coef_.tobytes()


def test_anndata_refuses_what_it_cannot_stream(h5ad):
    with pytest.raises(DataError, match="tocsr"):
        open_rows(h5ad / "columns.h5ad", "case")
    with pytest.raises(DataError, match="no column 'cas'"):
        open_rows(h5ad / "dense.h5ad", "cas")
    with pytest.raises(DataError, match="is text"):
        open_rows(h5ad / "dense.h5ad", "case", covariates="label")


def test_wrong_files_are_refused_without_a_value(folder, tmp_path):
    for name in ("g.bim", "g.fam"):
        (tmp_path / name).write_text((folder / name).read_text())
    content = (folder / "g.bed").read_bytes()
    (tmp_path / "g.bed").write_bytes(content[:-1])
    with pytest.raises(DataError, match="another size"):
        open_rows(tmp_path / "g.bed")
    (tmp_path / "g.bed").write_bytes(b"\x6c\x1b\x00" + content[3:])
    with pytest.raises(DataError, match="one after the other"):
        open_rows(tmp_path / "g.bed")
    with pytest.raises(DataError, match="no column 'stroke'"):
        open_rows(folder / "g.bed", "stroke")
    with pytest.raises(DataError, match="belong to PLINK 1"):
        open_rows(folder / "cov.csv", "late", fill=0.0)


def test_the_command_line_fits_and_predicts(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = [str(folder / "g.bed"), "--fill", "0"]
    said = CliRunner().invoke(
        main,
        ["fit", *data, "--task", "classification", "--classes", "1,2", "--feature-bound", "0,2", "--epsilon", "8"],
    )
    assert said.exit_code == 0, said.output
    assert load("model.json").feature_names_in_[2] == "rs2"
    said = CliRunner().invoke(main, ["predict", "model.json", *data])
    assert said.exit_code == 0, said.output
    assert len(said.output.splitlines()) == N + 1
    convert(folder / "g.bed", tmp_path / "g.dpsrows", fill=0.0)
    assert np.array_equal(all_rows(open_rows(tmp_path / "g.dpsrows")), np.nan_to_num(GENOTYPES))
