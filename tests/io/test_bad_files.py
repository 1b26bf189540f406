"""Files that would hang a reader or fill the memory: refused, in a process that may take no more."""

import os
import resource
import subprocess
import sys
import textwrap
import zipfile
from io import BytesIO

import numpy as np
import pytest

from dpsparse.core.errors import DataError
from dpsparse.io.files import read_table

ENDINGS = (".csv", ".parquet", ".svmlight", ".npz")
#: Bytes of memory and seconds that a reader may take. Imports alone take up to 1.5 GB of address space.
MEMORY, SECONDS = 3 * 2**30, 60


def limit() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))


def outcome(path, **options) -> str:
    """What a reader says about a file in a process of its own, with limits."""
    code = f"""
        from dpsparse.core.errors import DataError
        from dpsparse.io.files import read_table
        try:
            table = read_table({str(path)!r}, **{options!r})
            print("read", *table.X.shape)
        except (DataError, FileNotFoundError) as error:
            print("refused", error)
        except MemoryError:
            print("memory")
    """
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=10 * SECONDS,
        preexec_fn=limit,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert "Traceback" not in run.stderr
    return run.stdout


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("kind", ["fifo", "zero", "socket", "folder", "loop"])
def test_only_ordinary_files_are_opened(tmp_path, monkeypatch, ending, kind):
    path = tmp_path / f"a{ending}"
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "zero":
        path.symlink_to("/dev/zero")
    elif kind == "socket":
        import socket

        with socket.socket(socket.AF_UNIX) as end:
            monkeypatch.chdir(tmp_path)
            end.bind(path.name)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to(path)
    with pytest.raises(DataError, match=r"not an ordinary file|cannot be opened"):
        read_table(path, n_features=3)


@pytest.mark.parametrize("ending", ENDINGS)
def test_files_beyond_the_limit_are_refused_by_their_size(tmp_path, ending):
    path = tmp_path / f"a{ending}"
    with path.open("wb") as file:
        file.truncate(2**40)  # a hole: takes no room
    with pytest.raises(DataError, match="bytes, and at most"):
        read_table(path, n_features=3)


def test_an_archive_that_unpacks_to_too_much_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.npz", "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        head = BytesIO()
        np.lib.format.write_array_header_1_0(head, {"descr": "<f8", "fortran_order": False, "shape": (40, 2**20)})
        with archive.open("X.npy", "w", force_zip64=True) as file:
            file.write(head.getvalue())
            for _ in range(40):
                file.write(bytes(2**23))
    assert (tmp_path / "a.npz").stat().st_size < 2**20
    assert "unpacks to more than" in outcome(tmp_path / "a.npz", largest=2**28)


def test_an_array_that_says_it_is_larger_than_it_is_takes_no_memory(tmp_path):
    head = BytesIO()
    np.lib.format.write_array_header_1_0(head, {"descr": "<f8", "fortran_order": False, "shape": (2**28, 2**20)})
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("X.npy", head.getvalue() + bytes(100))
    assert "shorter than it says" in outcome(tmp_path / "a.npz")


def test_a_table_of_many_equal_rows_is_counted_before_it_is_unpacked(tmp_path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    rows = pa.array(np.zeros(10**6, dtype=np.int8))
    pq.write_table(pa.table({f"c{j}": rows for j in range(8)}), tmp_path / "a.parquet", compression="zstd")
    assert (tmp_path / "a.parquet").stat().st_size < 2**16
    assert "unpacks to more than" in outcome(tmp_path / "a.parquet", largest=2**25)
    assert outcome(tmp_path / "a.parquet", largest=2**26).startswith("read 1000000 8")


@pytest.mark.parametrize("declared", [None, 50])
def test_a_column_of_a_thousand_million_takes_no_memory(tmp_path, declared):
    (tmp_path / "a.svmlight").write_text("1 1:1 3:2\n-1 1000000000:1\n")
    said = outcome(tmp_path / "a.svmlight", n_features=declared)
    assert said.startswith("refused" if declared is None else "read 2 50")


def test_a_line_without_an_end_is_refused(tmp_path):
    with (tmp_path / "a.csv").open("wb") as file:
        for _ in range(80):
            file.write(b"1," * 2**19)
    assert "a line of more than" in outcome(tmp_path / "a.csv", target="y")


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize(
    "content", [b"", b"\x00" * 5000, b"\xff\xfea\x00,\x00b\x00", b"a\n" + b'"' * 10_001, b"\x1f\x8b\x08" + bytes(50)]
)
def test_odd_bytes_are_refused_in_a_sentence(tmp_path, ending, content):
    path = tmp_path / f"a{ending}"
    path.write_bytes(content)
    # where svmlight's columns are declared, whether a record is usable is private
    named = {} if ending == ".svmlight" else {"n_features": 1}
    with pytest.raises(DataError) as caught:
        read_table(path, "y" if ending in (".csv", ".parquet") else None, **named)
    assert str(path) in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize("name", ["a" * 300 + ".csv", "a\0b.csv"])
def test_names_that_no_file_can_have_are_refused(tmp_path, name):
    with pytest.raises(DataError, match="cannot be opened"):
        read_table(f"{tmp_path}/{name}")
