"""From a table to predictions by the command line, with a dictionary and without a look at a cell before the fit."""

import csv
import json

import numpy as np
import pytest
from click.testing import CliRunner

from dpsparse import load
from dpsparse.cli import main
from dpsparse.report.expected import repeat_plan
from dpsparse.tables import Dictionary, TableEncoder

HEADER = ["patient", "age", "sex", "smoker", "visit", "died"]
KINDS = ["--number", "age", "--category", "sex,died", "--boolean", "smoker", "--date", "visit"]
ROLES = ["--id", "patient", "--target", "died"]
COMPLETE = """format: dpsparse-dictionary
version: 1
columns:
- {name: patient, role: id}
- {name: age, kind: number, bounds: [0, 110], gap_is_feature: true, unit: year}
- {name: sex, kind: category, categories: [female, male]}
- {name: smoker, kind: boolean}
- {name: visit, kind: date, bounds: [2015-01-01, 2025-12-31]}
- {name: died, role: target, kind: category, categories: [no, yes]}
"""


def run(*arguments, code=0):
    found = CliRunner().invoke(main, [str(a) for a in arguments])
    assert found.exit_code == code, found.output
    return found.output


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(5)
    with open("table.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(HEADER)
        for i in range(600):
            age = rng.uniform(20, 95)
            died = "yes" if rng.random() < 1 / (1 + np.exp(-(age - 60) / 8)) else "no"
            cells = [f"P{i}", f"{age:.1f}", rng.choice(["male", "female", "n/k"]), rng.choice(["yes", "no"])]
            writer.writerow([*cells, f"20{rng.integers(15, 26)}-05-01", died])
    (tmp_path / "codebook.yaml").write_text(COMPLETE)
    return tmp_path


def test_a_skeleton_is_the_same_for_any_cells(folder):
    head = ",".join(HEADER) + "\n"
    bodies = [
        b"P1,41,female,yes,2020-01-01,no\n",
        b"alice@example.org," + b"9" * 400 + b",x,y,2023-99-99,z\n" * 50,
        b"\xff\xfe\x00 not text at all",
        b"only,two\n",
        b'"never closed',
        b"",
    ]
    made = []
    for body in bodies:
        (folder / "t.csv").write_bytes(head.encode() + body)
        said = run("dictionary", "new", "t.csv", *KINDS, *ROLES, "--out", "d.yaml", "--replace")
        made.append(((folder / "d.yaml").read_text(), said))
    assert len(set(made)) == 1
    assert "alice" not in made[0][0]


def test_only_the_line_of_names_is_read(folder, monkeypatch):
    from dpsparse.io import files as columns

    (folder / "t.csv").write_text('"a\nb",c\nalice@example.org,2\n')
    assert columns.header(folder / "t.csv") == ["a\nb", "c"]
    (folder / "s.csv").write_text("age;sex\n1;f\n")
    assert "--delimiter ';'" in run("dictionary", "new", "s.csv", code=2)
    (folder / "n.csv").write_text("1.5,2\n3,4\n")
    assert "that line holds numbers" in run("dictionary", "new", "n.csv", code=2)
    assert "1.5" not in run("dictionary", "new", "n.csv", code=2)


def test_a_skeleton_of_parquet_reads_the_schema_alone(folder):
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"age": [1, 2], "sex": ["a", "b"]}), "t.parquet")
    run("dictionary", "new", "t.parquet", "--number", "age", "--category", "sex", "--out", "d.json")
    assert [c.name for c in Dictionary.read("d.json").columns] == ["age", "sex"]
    run("dictionary", "check", "d.json", "t.parquet", code=2)


def test_a_skeleton_tells_what_is_left_to_do_and_keeps_existing_files(folder):
    said = run("dictionary", "new", "table.csv", *KINDS, *ROLES, "--json")
    content = json.loads(said)
    assert content["columns"] == 6
    assert len(content["missing"]) == 4
    assert "exists already" in run("dictionary", "new", "table.csv", code=2)
    assert Dictionary.read("dictionary.yaml").target.name == "died"


def test_wrong_names_and_double_kinds_are_told_at_once(folder):
    said = run("dictionary", "new", "table.csv", "--number", "agee,smokr", "--id", "patientt", code=2)
    for part in ("'agee'. Did you mean 'age'?", "'smokr'. Did you mean 'smoker'?", "'patientt'. Did you mean"):
        assert part in said
    said = run("dictionary", "new", "table.csv", "--number", "age,sex", "--category", "age,sex", code=2)
    assert said.count("was given two kinds") == 2


def test_check_tells_everything_and_has_exit_codes(folder):
    run("dictionary", "new", "table.csv", *KINDS, *ROLES)
    said = run("dictionary", "check", "dictionary.yaml", "table.csv", code=2)
    assert said.count("missing") == 4
    assert "is complete: 4 features become 6 columns" in run("dictionary", "check", "codebook.yaml", "table.csv")
    content = json.loads(run("dictionary", "check", "codebook.yaml", "--json"))
    assert content["complete"]
    assert content["encoded"] == 6
    (folder / "other.csv").write_text("patient,agee,sex,smoker,visit,alive\n")
    content = json.loads(run("dictionary", "check", "codebook.yaml", "other.csv", "--json", code=2))
    assert len(content["problems"]) == 4
    run("dictionary", "check", "none.yaml", code=2)


@pytest.mark.parametrize("command", [["dictionary", "new"], ["dictionary", "check"], ["fit"], ["plan"]])
def test_help_shows_an_example(command):
    said = run(*command, "--help")
    assert "Example" in said
    assert "dictionary" in said


def test_no_command_replaces_the_table_or_the_dictionary_that_it_reads(folder):
    kept = [(folder / name).read_bytes() for name in ("table.csv", "codebook.yaml")]
    said = "is read by this command, so it is not replaced"
    declared = ["--dictionary", "codebook.yaml"]
    assert said in run("dictionary", "new", "table.csv", *KINDS, *ROLES, "--out", "table.csv", "--replace", code=2)
    assert said in run("plan", *declared, "--n-rows", 600, "--plot", "codebook.yaml", code=2)
    for out in ("codebook.yaml", "table.csv"):
        assert said in run("fit", "table.csv", *declared, "--out", out, code=2)
        assert said in run("predict", "model.json", "table.csv", *declared, "--out", out, code=2)
    assert [(folder / name).read_bytes() for name in ("table.csv", "codebook.yaml")] == kept


def test_a_plan_takes_the_base_rate_of_the_dictionary_unless_one_is_given(folder):
    plan = ["plan", "--dictionary", "codebook.yaml", "--n-rows", 6000]
    assert "classes are equally frequent (--base-rate)" in run(*plan)
    (folder / "codebook.yaml").write_text(COMPLETE.replace("[no, yes]", "[no, yes], base_rate: 0.1"))
    said = run(*plan)
    assert "always predicting the most common class: 0.1\n" in said
    assert "--base-rate" not in said
    assert "always predicting the most common class: 0.3\n" in run(*plan, "--base-rate", 0.3)


@pytest.mark.parametrize(("declared", "verdict"), [("", "borderline"), (", base_rate: 0.02", "hopeless")])
def test_plan_fit_and_report_expect_the_same_of_the_base_rate_of_a_dictionary(folder, declared, verdict):
    (folder / "codebook.yaml").write_text(COMPLETE.replace("[no, yes]", f"[no, yes]{declared}"))
    asked = ["--dictionary", "codebook.yaml", "--epsilon", 0.3]
    assert json.loads(run("plan", *asked, "--n-rows", 600, "--json"))["verdict"] == verdict
    said = run("fit", "table.csv", *asked)
    hopeless = verdict == "hopeless"
    model = load("model.json")
    assert ("Noise hides the signal" in said) is hopeless
    assert any("called this fit hopeless" in note for note in model.statement_.notes) is hopeless
    assert repeat_plan(model, model.statement_).summary.verdict == verdict


def test_fit_plan_and_predict_with_a_dictionary(folder):
    content = json.loads(run("plan", "--dictionary", "codebook.yaml", "--n-rows", 600, "--epsilon", 4, "--json"))
    assert content["n_features"] == 6
    said = run("fit", "table.csv", "--dictionary", "codebook.yaml", "--epsilon", 8)
    assert "In the units of the table:" in said
    assert "  age  " in said
    assert "per year" in said
    model = load("model.json")
    assert model.dictionary_ == Dictionary.read("codebook.yaml")
    assert model.feature_names_in_.tolist() == TableEncoder(model.dictionary_).get_feature_names_out().tolist()
    assert model.classes_.tolist() == ["no", "yes"]
    assert "the data dictionary was written without looking at the rows" in model.statement_.assumptions
    (folder / "codebook.yaml").unlink()  # the model keeps it
    shown = run("show", "model.json")
    assert said.split("In the units of the table:")[1].split("Saved:")[0] in shown
    assert json.loads(run("show", "model.json", "--json"))["in_units"]
    (folder / "new.csv").write_text("visit,age,sex,smoker\n2020-01-01,85,male,no\nalice@example.org,,?\n")
    assert len(run("predict", "model.json", "new.csv").splitlines()) == 3
    risk = json.loads(run("predict", "model.json", "new.csv", "--proba", "--json"))
    assert len(risk["probabilities"]) == 2


def test_the_same_rows_from_csv_and_parquet_and_in_any_blocks(folder, monkeypatch):
    import pandas as pd

    from dpsparse.cli.inputs import DataFile
    from dpsparse.io import files as columns

    codebook = Dictionary.read("codebook.yaml")
    whole = DataFile(folder / "table.csv").encoded(codebook, target=True)
    pd.read_csv("table.csv").to_parquet("table.parquet")
    other = DataFile(folder / "table.parquet").encoded(codebook, target=True)
    monkeypatch.setattr(columns, "ROWS_AT_ONCE", 7)
    blocks = DataFile(folder / "table.csv").encoded(codebook, target=True)
    for found in (other, blocks):
        assert np.asarray(found.X).tobytes() == np.asarray(whole.X).tobytes()
        assert found.y.tolist() == whole.y.tolist()
    plain = TableEncoder(codebook).fit_transform(pd.read_csv("table.csv"))
    assert np.asarray(plain).tobytes() == np.asarray(whole.X).tobytes()


def test_wrong_columns_are_named_all_at_once(folder):
    (folder / "t.csv").write_text("patient,agee,sex,smoker,visit,dead,extra\nalice@example.org,1,1,1,1,1,1\n")
    said = run("fit", "t.csv", "--dictionary", "codebook.yaml", code=2)
    for part in ("'age'", "'agee'", "'died'", "'dead'", "'extra'"):
        assert part in said
    assert "alice" not in said


def test_damaged_cells_and_lines_are_not_heard_of(folder):
    good = (folder / "table.csv").read_bytes()
    for canary in (
        b"alice@example.org,alice,alice,alice,alice,alice\n",
        b"alice\n",
        b"\xff\xfe,,,,,,,,,\n",
        b",,,,,\n",
    ):
        (folder / "t.csv").write_bytes(good + canary)
        assert "alice" not in run("fit", "t.csv", "--dictionary", "codebook.yaml", "--seed", 1, code=7)
        assert b"alice" not in (folder / "model.json").read_bytes()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--row-norm", "1"], "--row-norm"),
        (["--feature-bound", "1", "--classes", "a,b"], "--feature-bound, --classes"),
        (["--task", "regression"], "means classification"),
        (["--target", "died"], "Leave --target out"),
    ],
)
def test_options_that_a_dictionary_replaces_are_refused(options, message, folder):
    assert message in run("fit", "table.csv", "--dictionary", "codebook.yaml", *options, code=2)


def test_other_refusals(folder):
    assert "Missing option '--task'" in run("fit", "table.csv", code=2)
    assert "Missing option '--n-features'" in run(
        "plan", "--n-rows", 5, "--task", "classification", "--row-norm", 1, code=2
    )
    assert "Leave --n-features out" in run(
        "plan", "--n-rows", 5, "--n-features", 3, "--dictionary", "codebook.yaml", code=2
    )
    (folder / "codebook.yaml").write_text(COMPLETE.replace("role: target", "role: ignore"))
    assert "names no target" in run("fit", "table.csv", "--dictionary", "codebook.yaml", code=2)
    (folder / "codebook.yaml").write_text(COMPLETE.replace("bounds", "buonds"))
    assert run("fit", "table.csv", "--dictionary", "codebook.yaml", code=2).count("Did you mean 'bounds'?") == 2


def test_a_model_keeps_its_dictionary_and_refuses_another(folder):
    run("fit", "table.csv", "--dictionary", "codebook.yaml")
    (folder / "other.yaml").write_text(COMPLETE.replace("110", "120"))
    assert "Leave --dictionary out" in run("predict", "model.json", "table.csv", "--dictionary", "other.yaml", code=2)
    run("predict", "model.json", "table.csv", "--dictionary", "codebook.yaml")


def test_a_number_is_predicted_in_its_own_unit(folder):
    text = COMPLETE.replace(
        "kind: number, bounds: [0, 110], gap_is_feature: true", "role: target, kind: number, bounds: [0, 110]"
    )
    (folder / "codebook.yaml").write_text(text.replace("role: target, kind: category", "kind: category"))
    run("fit", "table.csv", "--dictionary", "codebook.yaml", "--epsilon", 8)
    model = load("model.json")
    assert (model.target_bound, model.target_center) == (55.0, 55.0)
    predictions = json.loads(run("predict", "model.json", "table.csv", "--json"))["predictions"]
    assert 40 < np.mean(predictions) < 75


def test_a_mixed_table_of_3000_rows_and_40_columns_from_end_to_end(folder):
    rng = np.random.default_rng(11)
    n = 3000
    labs = [f"lab{i}" for i in range(24)]
    codes = [f"code{i}" for i in range(6)]
    flags = [f"flag{i}" for i in range(4)]
    dates = ["admitted", "discharged"]
    header = ["patient", *labs, *codes, *flags, *dates, "free_text", "site", "outcome"]
    assert len(header) == 40
    values = rng.normal(100, 25, (n, len(labs)))
    picked = rng.choice(["a", "b", "c", "other"], (n, len(codes)))
    margin = 0.08 * (values[:, 0] - 100) - 0.06 * (values[:, 1] - 100) + 1.5 * (picked[:, 0] == "a")
    outcome = np.where(rng.random(n) < 1 / (1 + np.exp(-margin)), "yes", "no")
    with open("big.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        for i in range(n):
            cells = [
                f"{v:.2f}" if rng.random() > 0.05 else rng.choice(["", "NA", "haemolysed", "1e400"]) for v in values[i]
            ]
            when = [rng.choice(["2021-03-04", "2023-99-99", "", "2022-11-30T08:00"]) for _ in dates]
            words = [rng.choice(["yes", "no", "", "x"]) for _ in flags]
            writer.writerow(
                [f"P{i:05d}", *cells, *picked[i], *words, *when, "saw Alice, sent home", "north", outcome[i]]
            )
    run(
        *(
            "dictionary",
            "new",
            "big.csv",
            "--number",
            ",".join(labs),
            "--category",
            ",".join([*codes, "site", "outcome"]),
        ),
        *("--boolean", ",".join(flags), "--date", ",".join(dates), "--id", "patient", "--ignore", "free_text"),
        *("--target", "outcome", "--out", "big.csv.yaml"),
    )
    text = (folder / "big.csv.yaml").read_text().splitlines()
    for place, line in enumerate(text):
        if "null" in line:
            value = "[0, 200]" if "number" in line else "[2020-01-01, 2024-12-31]" if "date" in line else "[a, b, c]"
            value = "[no, yes]" if "outcome" in line else "[north, south]" if "site" in line else value
            text[place] = line.replace("null", value)
    (folder / "big.yaml").write_text("\n".join(text))
    assert "complete: 37 features become 50 columns" in run("dictionary", "check", "big.yaml", "big.csv")
    run("plan", "--dictionary", "big.yaml", "--n-rows", n, "--epsilon", 4)
    said = run("fit", "big.csv", "--dictionary", "big.yaml", "--epsilon", 4, "--sparsity", 8)
    assert "Alice" not in said
    assert b"Alice" not in (folder / "model.json").read_bytes()
    predicted = np.array(json.loads(run("predict", "model.json", "big.csv", "--json"))["predictions"])
    # the best rule has about .85; the larger class about .6. Chance of below .7: far under 1e-6
    assert np.mean(predicted == outcome) > 0.7
