"""Commands: what they print, what they save, and how they refuse."""

import csv
import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import dpsparse
from dpsparse import recipes
from dpsparse.cli import main
from dpsparse.estimators import model_file
from truth.recipes import Doubtful

BOUNDS = ["--feature-bound", "0,2"]
CLASSES = ["--task", "classification", "--target", "y", *BOUNDS, "--sparsity", "2"]
NUMBERS = ["--task", "regression", "--target", "y", *BOUNDS, "--target-bound", "4", "--sparsity", "2"]


def run(*arguments):
    return CliRunner().invoke(main, [str(a) for a in arguments])


def refused(code, *arguments):
    """The message of a refusal: one or two sentences on standard error; nothing on standard output, or one object for machines."""
    result = run(*arguments)
    assert result.exit_code == code, result.output
    if "--json" in arguments:
        error = json.loads(result.stdout)["error"]
        assert error["exit_code"] == code
        assert error["message"].split() == result.stderr.split("Error: ")[1].split()
    else:
        assert result.stdout == ""
    assert "Traceback" not in result.stderr
    message = " ".join(result.stderr[result.stderr.index("Error: ") :].split())
    assert message.count(". ") <= 2
    return message


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Tables with a strong signal on g0 and g3, as CSV, Parquet, npz and svmlight."""
    folder = tmp_path_factory.mktemp("tables")
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (4000, 8))
    signal = 1.2 * (X[:, 0] - 1) - 1.2 * (X[:, 3] - 1)
    outcomes = {
        "numbers": np.round(signal + 0.3 * rng.standard_normal(4000), 4),
        "labels": np.where(signal + 0.5 * rng.standard_normal(4000) > 0, "yes", "no"),
        "three": (signal > -0.5).astype(int) + (signal > 0.5),
    }
    for name, y in outcomes.items():
        with (folder / f"{name}.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow([*(f"g{j}" for j in range(8)), "y"])
            writer.writerows([*row, value] for row, value in zip(X.tolist(), y.tolist(), strict=True))
    np.savez(folder / "numbers.npz", X=X.astype(np.int8), y=outcomes["numbers"])
    with (folder / "numbers.svmlight").open("w") as file:
        for row, value in zip(X.tolist(), outcomes["numbers"].tolist(), strict=True):
            file.write(f"{value} " + " ".join(f"{j + 1}:{v}" for j, v in enumerate(row) if v) + "\n")
    return folder


@pytest.fixture(scope="module")
def classifier(folder):
    """A saved classifier."""
    out = folder / "classifier.json"
    result = run("fit", folder / "labels.csv", *CLASSES, "--epsilon", 5, "--seed", 1, "--out", out)
    assert result.exit_code == 7, result.output
    return out


@pytest.fixture(scope="module")
def regressor(folder):
    """A saved regressor."""
    out = folder / "regressor.json"
    result = run("fit", folder / "numbers.csv", *NUMBERS, "--epsilon", 5, "--seed", 1, "--out", out)
    assert result.exit_code == 7, result.output
    return out


# ------------------------------------------------------------------------------------------------------ help


@pytest.mark.parametrize("command", ["demo", "fit", "predict", "plan"])
def test_help_shows_an_example(command):
    result = run(command, "--help")
    assert result.exit_code == 0
    assert f"  dpsparse {command}" in result.stdout.split("Example", 1)[1]
    assert "--json" in result.stdout


def test_help_names_the_exit_codes_and_version():
    assert "budget was refused" in run("--help").stdout
    assert dpsparse.__version__ in run("--version").stdout


def test_help_is_quick_since_nothing_heavy_is_imported():
    code = "import sys, dpsparse.cli; print([m for m in ('numpy', 'scipy', 'sklearn', 'rich') if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_the_module_runs_as_a_program(folder, tmp_path):
    command = [sys.executable, "-m", "dpsparse"]
    data, out = str(folder / "numbers.csv"), str(tmp_path / "m.json")
    done = subprocess.run(
        [*command, "fit", data, *NUMBERS, "--epsilon", "5", "--out", out, "--json"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    content = json.loads(done.stdout)
    assert content["statement"]["caveats"] == []  # no seed: noise is fresh
    assert content["model"] == out
    bad = subprocess.run(
        [*command, "fit", data, *NUMBERS[:4]], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert (bad.returncode, bad.stdout) == (2, "")
    assert bad.stderr.startswith("Error: no bound on the features was given.")


@pytest.mark.skipif(os.name != "posix", reason="needs a pseudo-terminal")
def test_progress_goes_to_the_terminal_and_never_to_standard_output(folder, tmp_path):
    import pty

    screen, terminal = pty.openpty()
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "dpsparse",
            "fit",
            str(folder / "numbers.csv"),
            *NUMBERS,
            "--out",
            str(tmp_path / "m.json"),
        ],
        stdout=subprocess.PIPE,
        stderr=terminal,
        env={**os.environ, "TERM": "xterm"},
        text=True,
        check=True,
    )
    os.close(terminal)
    shown = os.read(screen, 100_000).decode()
    os.close(screen)
    assert "100%" in shown
    assert "100%" not in done.stdout
    assert "\x1b" not in done.stdout, "no control characters"
    assert done.stdout.startswith("This model was fitted by")


# ------------------------------------------------------------------------------------------------------ fit


def test_fit_prints_the_promise_and_the_features_and_saves_the_model(folder, tmp_path):
    out = tmp_path / "m.json"
    result = run("fit", folder / "numbers.csv", *NUMBERS, "--epsilon", 5, "--seed", 1, "--out", out)
    assert result.exit_code == 7, result.output
    assert "differential privacy" in result.stdout
    assert "2 of 8 features selected" in result.stdout
    assert " g0 " in result.stdout
    assert f"Saved: {out}" in result.stdout
    assert result.stderr == "Error: this model carries no guarantee for anyone in the data; its caveats say why.\n"
    model = dpsparse.load(out)
    assert model.feature_names_in_.tolist() == [f"g{j}" for j in range(8)]
    assert model.statement_.epsilon <= 5


def test_fit_as_json_is_pure_and_complete(folder, tmp_path):
    result = run(
        "fit", folder / "labels.csv", *CLASSES, "--epsilon", 5, "--seed", 1, "--out", tmp_path / "m.json", "--json"
    )
    content = json.loads(result.stdout)
    assert content["classes"] == ["no", "yes"]
    assert [f["feature"] for f in content["selected"]] == ["g0", "g3"]
    assert content["selected"][0]["coefficient"] > 0
    assert "not private" in content["statement"]["caveats"][0]
    assert result.stderr == "Error: this model carries no guarantee for anyone in the data; its caveats say why.\n"


def test_a_seed_is_called_not_private_first_of_all(folder, tmp_path):
    result = run("fit", folder / "numbers.csv", *NUMBERS, "--seed", 1, "--out", tmp_path / "m.json")
    assert result.stdout.startswith("CAVEAT: fitted with a fixed seed: not private")


def test_a_long_list_of_answers_is_shortened(folder, tmp_path):
    result = run("fit", folder / "numbers.csv", *NUMBERS, "--out", tmp_path / "m.json")
    assert result.stdout.count("\n  - ") <= 7
    assert len(dpsparse.load(tmp_path / "m.json").statement_.asks) >= 1


def test_fit_reads_files_that_hold_their_own_target(folder, tmp_path):
    options = ["--task", "regression", *BOUNDS, "--target-bound", 4, "--epsilon", 5, "--out", tmp_path / "m.json"]
    assert run("fit", folder / "numbers.npz", *options).exit_code == 0
    assert "Declare --n-features" in refused(2, "fit", folder / "numbers.svmlight", *options)
    result = run("fit", folder / "numbers.svmlight", *options, "--n-features", 8, "--json")
    assert json.loads(result.stdout)["n_features"] == 8


def test_fit_takes_every_option(folder, tmp_path):
    result = run(
        *("fit", folder / "numbers.csv", "--task", "regression", "--target", "y", "--feature-bound", "2"),
        *("--row-norm", 5, "--target-bound", 4, "--target-center", 0.5, "--epsilon", 2, "--delta", 1e-7),
        *("--recipe", "dp_ight", "--adjacency", "add-remove", "--n-rows", 4100, "--no-intercept"),
        *("--out", tmp_path / "m.json", "--json"),
    )
    statement = json.loads(result.stdout)["statement"]
    assert (statement["adjacency"], statement["n_rows"], statement["delta"]) == ("add-remove", 4100, 1e-7)
    assert dpsparse.load(tmp_path / "m.json").fit_intercept is False


def test_declared_classes_take_the_type_of_the_labels(folder, tmp_path):
    out = tmp_path / "m.json"
    options = [*CLASSES, "--out", out, "--json"]
    content = json.loads(run("fit", folder / "labels.csv", *options, "--classes", "no,yes").stdout)
    assert content["classes"] == ["no", "yes"]
    assert not any("label set" in a for a in content["statement"]["assumptions"])
    content = json.loads(run("fit", folder / "three.csv", *options, "--classes", "0,1,2").stdout)
    assert content["classes"] == [0, 1, 2]
    assert len(content["intercept"]) == 3
    text = [*CLASSES[:2], *CLASSES[4:], "--out", out, "--json", "--classes", "low,high"]
    assert "List the numbers" in refused(2, "fit", folder / "numbers.npz", *text)


@pytest.mark.parametrize("odd", ["unknown", "0.5", "", "7", "1e999"])
def test_declared_classes_keep_their_type_whatever_one_label_is(folder, tmp_path, odd):
    lines = (folder / "three.csv").read_text().splitlines()
    lines[7] = lines[7].rsplit(",", 1)[0] + "," + odd
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    options = [*CLASSES, "--out", tmp_path / "m.json", "--json", "--classes", "0,1,2"]
    result = run("fit", tmp_path / "t.csv", *options)
    assert result.exit_code == 0, result.output
    assert json.loads((tmp_path / "m.json").read_text())["classes"] == [0, 1, 2]
    assert result.stderr == ""


def test_several_classes_print_a_column_each(folder, tmp_path):
    result = run("fit", folder / "three.csv", *CLASSES, "--out", tmp_path / "m.json")
    assert "one column for each of [0, 1, 2]" in result.stdout


# ------------------------------------------------------------------------------------------------------ predict


def test_predict_prints_one_line_for_each_row(folder, regressor):
    result = run("predict", regressor, folder / "numbers.csv")
    lines = result.stdout.splitlines()
    assert lines[0] == "prediction"
    truth = np.load(folder / "numbers.npz")["y"]
    assert np.corrcoef([float(v) for v in lines[1:]], truth)[0, 1] > 0.8


def test_predict_writes_a_file(folder, classifier, tmp_path):
    out = tmp_path / "p.csv"
    result = run("predict", classifier, folder / "labels.csv", "--proba", "--out", out)
    assert result.stdout == f"Saved: {out}\n"
    with out.open(newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["probability_no", "probability_yes"]
    assert len(rows) == 4001
    assert float(rows[1][0]) + float(rows[1][1]) == pytest.approx(1)
    assert [f.name for f in tmp_path.iterdir()] == ["p.csv"]


def test_predict_as_json(folder, classifier, tmp_path):
    labels = json.loads(run("predict", classifier, folder / "labels.csv", "--json").stdout)["predictions"]
    assert set(labels) == {"no", "yes"}
    content = json.loads(run("predict", classifier, folder / "labels.csv", "--proba", "--json").stdout)
    assert content["classes"] == ["no", "yes"]
    assert len(content["probabilities"][0]) == 2
    out = tmp_path / "p.csv"
    content = json.loads(run("predict", classifier, folder / "labels.csv", "--out", out, "--json").stdout)
    assert content == {"out": str(out), "columns": ["prediction"], "rows": 4000}


def test_columns_are_found_by_name(folder, regressor, tmp_path):
    (tmp_path / "a.csv").write_text("g7,g6,g5,g4,note,g3,g2,g1,g0\n0,0,0,0,text,2,0,0,0\n0,0,0,0,text,0,0,0,2\n")
    first, second = json.loads(run("predict", regressor, tmp_path / "a.csv", "--json").stdout)["predictions"]
    assert first < 0 < second


def test_files_of_other_kinds_are_aligned_by_position(folder, regressor):
    named = json.loads(run("predict", regressor, folder / "numbers.csv", "--json").stdout)
    for other in ("numbers.npz", "numbers.svmlight"):
        found = json.loads(run("predict", regressor, folder / other, "--json").stdout)
        np.testing.assert_allclose(found["predictions"], named["predictions"], rtol=1e-12)


@pytest.mark.parametrize("content", ["", "{}", "[1, 2", '{"format": "dpsparse-model", "version": 1}', "\x00\xff"])
def test_a_damaged_model_is_refused(folder, tmp_path, content):
    (tmp_path / "m.json").write_text(content, encoding="latin-1")
    message = refused(2, "predict", tmp_path / "m.json", folder / "numbers.csv")
    assert "m.json" in message


def test_predict_refuses_what_it_cannot_use(folder, classifier, regressor, tmp_path):
    assert "does not exist" in refused(2, "predict", tmp_path / "no.json", folder / "numbers.csv")
    assert "does not exist" in refused(2, "predict", regressor, tmp_path / "no.csv")
    assert "needs a classifier" in refused(2, "predict", regressor, folder / "numbers.csv", "--proba")
    (tmp_path / "a.csv").write_text("g0,g1\n1,2\n")
    assert "no column 'g2'" in refused(2, "predict", classifier, tmp_path / "a.csv")
    names = ",".join(f"g{j}" for j in range(8))
    for hole in ("", "nan", "inf"):
        (tmp_path / "a.csv").write_text(f"{names}\n1,1,1,1,1,1,1,{hole}\n")
        assert "holds NaN, inf" in refused(2, "predict", classifier, tmp_path / "a.csv")
    np.savez(tmp_path / "a.npz", X=np.zeros((2, 5)))
    assert "has 5 features, but 8 were expected" in refused(2, "predict", classifier, tmp_path / "a.npz")


# ------------------------------------------------------------------------------------------------------ plan


def test_plan_prints_what_a_fit_would_ask():
    result = run("plan", "--n-rows", 20000, "--n-features", 500, *NUMBERS[:2], *NUMBERS[4:], "--details")
    assert result.exit_code == 0, result.output
    assert "select_polish on 20000 dense rows x 500 features" in result.stdout
    assert "asks" in result.stdout


@pytest.mark.parametrize("recipe", ["auto", "ight"])
def test_plan_as_json(recipe):
    result = run("plan", "--n-rows", 2000, "--n-features", 50, *CLASSES[:2], *BOUNDS, "--recipe", recipe, "--json")
    content = json.loads(result.stdout, parse_constant=pytest.fail)
    assert content["n_rows"] == 2000
    assert (content["epsilon"] is None) == (recipe == "ight")


def test_plan_refuses_sizes_that_make_no_sense():
    assert "n_rows must be a positive" in refused(2, "plan", "--n-rows", 0, "--n-features", 5, *CLASSES[:2], *BOUNDS)


# ------------------------------------------------------------------------------------------------------ demo


@pytest.fixture(scope="module")
def small_demo(tmp_path_factory):
    out = tmp_path_factory.mktemp("demo") / "new"
    return out, ["demo", "--out", out, "--n-rows", 3000, "--n-features", 40, "--epsilon", 20]


def test_demo_compares_with_the_truth(small_demo):
    out, command = small_demo
    result = run(*command)
    assert result.exit_code == 0, result.output
    assert "continuous outcome: the private model found" in result.stdout
    assert result.stdout.count("marker_") == 20
    assert result.stdout.count("differential privacy") == 2
    assert "peak memory" in result.stdout
    for outcome in ("continuous", "binary"):
        assert f"Saved: {out / (outcome + '-model.json')}" in result.stdout
        assert dpsparse.load(out / f"{outcome}-model.json").statement_.private


def test_demo_as_json(small_demo):
    out, command = small_demo
    content = json.loads(run(*command, "--json").stdout)
    assert len(content["markers"]) == 20
    for outcome in content["outcomes"].values():  # noise is fresh: 19 or 20 are found, and far fewer would do
        assert outcome["private"]["found"] >= 10
        assert outcome["non_private"]["found"] >= 16
        assert len(outcome["private"]["missed"]) == 20 - outcome["private"]["found"]
        assert outcome["private"]["statement"]["epsilon"] <= 20
    assert content["peak_memory_mb"] > 0
    assert Path(content["genotypes"]).parent == out


def test_demo_refuses_a_budget_before_it_works(tmp_path):
    refused(2, "demo", "--out", tmp_path / "d", "--epsilon", "0")
    assert not (tmp_path / "d").exists()


def test_demo_refuses_a_folder_that_is_a_file(tmp_path):
    (tmp_path / "d").write_text("")
    refused(2, "demo", "--out", tmp_path / "d")


# ------------------------------------------------------------------------------------------------------ refusals


@pytest.mark.parametrize("epsilon", ["0", "-1", "nan", "inf"])
def test_an_epsilon_that_cannot_be_is_a_bad_argument(folder, tmp_path, epsilon):
    options = [*NUMBERS, "--epsilon", epsilon, "--out", tmp_path / "m.json"]
    said = refused(2, "fit", folder / "numbers.csv", *options)
    assert "Invalid value for '--epsilon'" in said
    assert "recipe=" not in said
    assert list(tmp_path.iterdir()) == []
    assert "--epsilon" in refused(
        2, "plan", "--n-rows", 100, "--n-features", 5, *CLASSES[:2], *BOUNDS, "--epsilon", epsilon
    )


@pytest.mark.parametrize("delta", ["1", "2", "-0.1", "nan"])
def test_a_delta_that_cannot_be_is_a_bad_argument(folder, tmp_path, delta):
    options = [*NUMBERS, "--delta", delta, "--out", tmp_path / "m.json"]
    assert "Invalid value for '--delta'" in refused(2, "fit", folder / "numbers.csv", *options)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--task", "regression", "--target", "y", "--target-bound", "4"], "declare --feature-bound or --row-norm"),
        (["--task", "regression", "--target", "y", *BOUNDS], "Declare --target-bound"),
        (["--task", "regression", *BOUNDS, "--target-bound", "4"], "Give its column with --target"),
        ([*CLASSES, "--target-bound", "4"], "belong to --task regression"),
        ([*NUMBERS, "--classes", "a,b"], "belongs to --task classification"),
        ([*NUMBERS, "--recipe", "magic"], "unknown recipe 'magic'. Choose one of"),
        ([*NUMBERS, "--sparsity", "0"], "sparsity must be a positive integer"),
        ([*NUMBERS, "--feature-bound", "2,0"], "lo < hi"),
        ([*NUMBERS, "--feature-bound", "a,b"], "neither a number b nor two numbers lo,hi"),
        ([*NUMBERS, "--feature-bound", "nan"], "must be finite"),
        ([*NUMBERS, "--row-norm", "-1"], "row_norm must be one positive"),
        ([*NUMBERS, "--target-bound", "0"], "target_bound must be one positive"),
        ([*NUMBERS, "--adjacency", "add-remove"], "n_rows must be declared"),
        ([*NUMBERS, "--n-rows", "5"], "they must agree"),
        ([*NUMBERS, "--n-features", "5"], "has 8 features, but 5 were expected"),
        ([*NUMBERS, "--target", "outcome"], "no column 'outcome'"),
        (["--target", "y", *BOUNDS], "Missing option '--task'"),
        ([*NUMBERS, "--epsilon", "much"], "not a valid float"),
        ([*NUMBERS, "--noise", "exact", "--seed", "1"], "cannot be seeded"),
    ],
)
def test_bad_arguments_are_refused_in_a_sentence(folder, tmp_path, options, says):
    assert says in refused(2, "fit", folder / "numbers.csv", *options, "--out", tmp_path / "m.json")
    assert list(tmp_path.iterdir()) == []


def test_numbers_beyond_arithmetic_are_no_traceback(folder, monkeypatch):
    def overflow(*_, **__):
        raise OverflowError("math range error")

    monkeypatch.setattr(dpsparse.SparseRegressor, "plan", overflow)
    options = [*NUMBERS[:2], *NUMBERS[4:]]
    assert "too large or too small" in refused(2, "plan", "--n-rows", 100, "--n-features", 5, *options)


def test_a_missing_extra_says_what_to_install(tmp_path, monkeypatch):
    (tmp_path / "a.parquet").write_text("x")
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    message = refused(2, "fit", tmp_path / "a.parquet", *NUMBERS, "--out", tmp_path / "m.json")
    assert "pip install 'dpsparse[data]'" in message


def test_arguments_are_refused_before_data_is_read(tmp_path):
    assert "unknown recipe" in refused(
        2, "fit", tmp_path / "no.csv", *NUMBERS, "--recipe", "magic", "--out", tmp_path / "m.json"
    )


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("a.csv", "weight,y\n1,2\n7351x,3\n", "a cell that is no number"),
        ("a.csv", "weight,y\n1,2\n7351\n", "too few or too many cells"),
        ("a.csv", "weight,y\n1,7351x\n2,3\n", "a cell that is no number"),
        ("a.csv", "weight,y\n1,2\n,3\n", "holds NaN, inf"),
        ("a.csv", "weight,y\n1,2\n3,\n", "holds NaN, inf"),
        ("a.parquet", "7351", "could not be read as Parquet"),
        ("a.npz", "7351", "could not be read as npz"),
        ("a.doc", "7351", "ending that is not known"),
    ],
)
def test_data_that_cannot_be_used_is_refused_without_quoting_it(tmp_path, name, content, says):
    (tmp_path / name).write_text(content)
    target = [] if name == "a.npz" else ["--target", "y"]
    options = ["--task", "regression", *target, *BOUNDS, "--target-bound", 4, "--out", tmp_path / "m.json"]
    message = refused(2, "fit", tmp_path / name, *options)
    assert says in message
    assert "7351" not in message


def test_one_class_is_refused_unless_declared(tmp_path):
    (tmp_path / "a.csv").write_text("a,y\n1,no\n2,no\n")
    assert "one class only" in refused(2, "fit", tmp_path / "a.csv", *CLASSES, "--out", tmp_path / "m.json")


# ------------------------------------------------------------------------------------------------------ output


def test_an_output_that_cannot_be_written_is_refused_before_data_is_read(tmp_path, regressor):
    (tmp_path / "folder").mkdir()
    for out in (tmp_path / "missing" / "m.json", tmp_path / "folder"):
        refused(2, "fit", tmp_path / "no.csv", *NUMBERS, "--out", out)
        refused(2, "predict", regressor, tmp_path / "no.csv", "--out", out)


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a folder that nobody can write to")
def test_a_folder_where_nobody_can_write_is_refused(tmp_path, regressor):
    assert "could not be written" in refused(2, "fit", tmp_path / "no.csv", *NUMBERS, "--out", "/proc/m.json")
    assert "could not be written" in refused(2, "predict", regressor, tmp_path / "no.csv", "--out", "/proc/p.csv")
    assert "could not be written" in refused(2, "demo", "--out", "/proc/demo")


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder_is_refused(tmp_path):
    locked = tmp_path / "locked"
    locked.mkdir()
    locked.chmod(0o555)
    assert "could not be written" in refused(2, "fit", tmp_path / "no.csv", *NUMBERS, "--out", locked / "m.json")


@pytest.mark.skipif(not Path("/dev/null").exists(), reason="needs a device")
def test_a_device_is_not_replaced_by_a_file(tmp_path):
    assert "not an ordinary file" in refused(2, "fit", tmp_path / "no.csv", *NUMBERS, "--out", "/dev/null")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a full device")
def test_standard_output_that_is_full_has_its_exit_code():
    command = [sys.executable, "-m", "dpsparse", "plan", "--n-rows", "100", "--n-features", "5", *CLASSES[:2], *BOUNDS]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 4
    assert done.stderr.startswith("Error: the output could not be written")


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_a_disk_that_fills_up_does_not_lose_what_was_paid_for(folder, tmp_path, monkeypatch, form):
    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(model_file.os, "fsync", full)
    result = run(
        "fit", folder / "numbers.csv", *NUMBERS, "--epsilon", 5, "--seed", 1, "--out", tmp_path / "m.json", *form
    )
    assert result.exit_code == 4
    assert "no space left on device" in result.stderr
    assert "Saved" not in result.stdout
    assert "g0" in result.stdout
    assert list(tmp_path.iterdir()) == []
    if form:
        assert json.loads(result.stdout)["model"] is None


def test_penalties_and_accepted_assumptions_reach_the_recipe(folder, tmp_path, monkeypatch):
    options = [folder / "numbers.csv", *NUMBERS, "--epsilon", 5, "--out", tmp_path / "m.json"]
    assert run("fit", *options, "--recipe", "dp_gcd", "--penalty", "l1", "--alpha", 0.01).exit_code == 0
    assert dpsparse.load(tmp_path / "m.json").penalty == "l1"
    assert "cannot take penalty 'l1'" in refused(
        2, "fit", *options, "--recipe", "dp_ight", "--penalty", "l1", "--alpha", 0.1
    )
    monkeypatch.setitem(recipes.REGISTRY, "doubtful", Doubtful)
    assert "accept=('unproven',)" in refused(2, "fit", *options, "--recipe", "doubtful")
    accepted = run("fit", *options, "--recipe", "doubtful", "--accept", "unproven")
    assert accepted.stdout.startswith("CAVEAT")


def test_an_assumption_that_no_recipe_has_is_refused(tmp_path):
    declared = ["--task", "regression", *BOUNDS, "--target-bound", "4"]
    for command in (["fit", tmp_path / "no.csv"], ["plan", "--n-rows", "100", "--n-features", "5"]):
        said = refused(2, *command, *declared, "--accept", "known-design", "--accept", "nonsense")
        assert "no recipe has an assumption 'nonsense'" in said
        assert "Known are: unproven, known-design." in said


# ------------------------------------------------------------------------------------------------ what is not replaced


def test_an_output_never_replaces_an_input_or_anything_but_a_model(folder, tmp_path):
    import shutil

    data = tmp_path / "numbers.csv"
    shutil.copy(folder / "numbers.csv", data)
    before = data.read_bytes()
    assert "is read by this command" in refused(2, "fit", data, *NUMBERS, "--out", data)
    other = tmp_path / "notes.txt"
    other.write_text("mine")
    assert "is not a dpsparse model" in refused(2, "fit", data, *NUMBERS, "--out", other)
    assert (data.read_bytes(), other.read_text()) == (before, "mine")
    book = tmp_path / "b.db"
    dpsparse.Ledger(f"sqlite:///{book}").create("d", 9.0, 1e-5)
    options = [*NUMBERS, "--ledger", f"sqlite:///{book}", "--dataset", "d"]
    assert "is read by this command" in refused(2, "fit", data, *options, "--out", book)
    assert list(dpsparse.Ledger(f"sqlite:///{book}").entries("d")) == []


def test_intervals_are_printed_saved_and_shown(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (2000, 6))
    np.savez(tmp_path / "rows.npz", X=X, y=X[:, 0] - X[:, 2] + 0.2 * rng.standard_normal(2000))
    common = [
        tmp_path / "rows.npz",
        "--task",
        "regression",
        "--epsilon",
        "4",
        "--sparsity",
        "2",
        "--feature-bound",
        "1",
    ]
    common += ["--target-bound", "3", "--out", tmp_path / "model.json"]
    done = run("fit", *common, "--intervals", "--interval-target", "robust", "--seed", "1")
    assert done.exit_code == 7, done.output
    assert "given the other selected features" in done.output
    assert "P>|z|" in done.output
    shown = json.loads(run("show", tmp_path / "model.json", "--json").stdout)
    assert {row["feature"] for row in shown["intervals"]} == {0, 2, "(intercept)"}
    header = ",".join(["age", "dose", "risk", "d", "e", "f", "y"])
    y = X[:, 0] - X[:, 2] + 0.2 * rng.standard_normal(2000)
    np.savetxt(tmp_path / "rows.csv", np.column_stack([X, y]), delimiter=",", header=header, comments="")
    named = ["fit", tmp_path / "rows.csv", *common[1:], "--target", "y", "--intervals", "--seed", "1", "--json"]
    told = json.loads(run(*named).stdout)["intervals"]
    assert {row["feature"] for row in told} == {"age", "risk", "(intercept)"}
    plan = ["plan", "--n-rows", "2000", "--n-features", "6", *common[1:-2]]
    planned = run(*plan, "--intervals", "--half-width", "0.1")
    assert "half-width about" in planned.output
    assert "rows for intervals of half-width 0.1: about" in planned.output
    assert "--intervals" in refused(2, *plan, "--half-width", "0.1")
    assert "--intervals" in refused(2, "fit", *common, "--interval-target", "robust")
