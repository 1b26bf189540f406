"""`dpsparse bench` with the studies of the source tree: what it says where data are missing."""

from click.testing import CliRunner

from dpsparse.cli import main


def bench(folder, monkeypatch, *arguments):
    monkeypatch.setenv("DPSPARSE_DATA", str(folder))
    return CliRunner().invoke(main, ["bench", *arguments, "--scale", "quick", "--quiet", "--out", str(folder / "out")])


def test_a_study_without_its_data_is_refused_and_names_the_files(tmp_path, monkeypatch):
    found = bench(tmp_path, monkeypatch, "000-table-3")
    assert found.exit_code == 2
    assert "000-table-3 has no runs, since its data are missing" in found.stderr
    for told in ("news20.npz: 15,935 x 62,061", "SHA-256 3d56e17a0f58", "rcv1_train.binary.bz2: 20,242 + 677,399"):
        assert told in found.stderr
    assert "undecided" not in found.stdout
    assert not (tmp_path / "out").exists()


def test_a_study_that_has_some_of_its_data_says_what_it_leaves_out(tmp_path, monkeypatch):
    from dpsparse.report.bench.study import studies

    study = studies()["002-figure-2"]
    one = [cell for cell in study.at_scale("quick").cells() if cell.data == "log1"]
    monkeypatch.setattr(type(study), "cells", lambda self: one)
    found = bench(tmp_path, monkeypatch, "002-figure-2")
    assert found.exit_code == 0, found.output
    assert "Left out, since DPSPARSE_DATA has no such file" in found.stderr
    assert "california.npz: 20,640 x 8" in found.stderr
    assert "log1" in found.stdout


def test_no_verdict_is_printed_about_runs_that_are_not_there(tmp_path, monkeypatch):
    from dpsparse.report.bench.study import studies

    study = studies()["000-figure-1"]
    one = [cell for cell in study.at_scale("quick").cells() if cell.method == "Two stage"][:1]
    monkeypatch.setattr(type(study), "cells", lambda self: one)
    found = bench(tmp_path, monkeypatch, "000-figure-1")
    assert found.exit_code == 0, found.output
    assert "Two stage" in found.stdout
    assert "undecided" not in found.stdout
