"""Studies: resumed after a crash, decided on paired seeds, and run from the command line."""

import json
import math
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import pytest
from click.testing import CliRunner

from dpsparse.cli import main
from dpsparse.core import DataError
from dpsparse.recipes import registry
from dpsparse.report.bench import Cell, Results, StudyClaim, results, run_study
from dpsparse.report.bench.own import register_file
from dpsparse.report.bench.results import allowance

OWN = '''
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpsparse import recipes
from dpsparse.core.facts import Clip
from dpsparse.core import Ask, Noise, Plan


@recipes.register
@dataclass(frozen=True, kw_only=True)
class Nothing(recipes.PrivateRecipe):
    """Ask once, and answer zero."""

    name: ClassVar[str] = "nothing_at_all"

    def solver(self, facts, budget):
        return self

    def plan(self, facts, budget):
        return Plan(asks=(Ask(name="gradient", noise=Noise.GAUSSIAN, times=1),))

    def run(self, oracle, path=None):
        oracle.gradient(oracle.facts.first(), clip=Clip(1.0))
        return 0.0 * oracle.facts.first()
'''


@dataclass(frozen=True)
class Toy:
    seeds: int = 3
    stop_at: int | None = None
    name = "toy"
    title = "two numbers"

    def cells(self):
        return [Cell("d", method, 1.0, seed) for seed in range(self.seeds) for method in ("a", "b")]

    def run(self, cell):
        if cell.seed == self.stop_at:
            raise KeyboardInterrupt
        return {"error": cell.seed + (cell.method == "b")}

    def claims(self):
        return [StudyClaim("a", "b", "d", 1.0, "error")]


def test_a_stopped_study_goes_on_where_it_was(tmp_path):
    file = tmp_path / "toy.jsonl"
    with pytest.raises(KeyboardInterrupt):
        run_study(Toy(stop_at=2), file)
    with file.open("a") as journal:
        journal.write('{"study": "toy", "cell"')  # cut off by a crash
    ran = []

    class Watched(Toy):
        def run(self, cell):
            ran.append(cell)
            return super().run(cell)

    found = run_study(Watched(), file)
    assert [(cell.method, cell.seed) for cell in ran] == [("a", 2), ("b", 2)]
    assert found.errors == run_study(Toy(), tmp_path / "whole.jsonl").errors
    assert run_study(Toy(), file).errors == found.errors  # the journal is whole again


def test_results_of_another_study_are_not_taken(tmp_path):
    run_study(Toy(), tmp_path / "toy.jsonl")

    class Other(Toy):
        name = "other"

    with pytest.raises(DataError, match="results of the study 'toy'"):
        run_study(Other(), tmp_path / "toy.jsonl")


def test_verdicts_are_paired_and_undecided_within_two_standard_errors(tmp_path):
    found = run_study(Toy(), tmp_path / "toy.jsonl")
    claim = StudyClaim("a", "b", "d", 1.0, "error")
    assert found.verdict(claim) == "holds"  # the seeds differ more than the methods, and are paired
    assert found.verdict(StudyClaim("b", "a", "d", 1.0, "error")) == "does not hold"
    noisy = {Cell("d", m, 1.0, s): {"error": float((s + (m == "b")) % 2)} for s in range(6) for m in "ab"}
    assert Results("toy", noisy).verdict(claim) == "undecided"
    one = {Cell("d", m, 1.0, 0): {"error": float(m == "b")} for m in "ab"}
    assert Results("toy", one).verdict(claim) == "undecided"


def test_few_pairs_must_differ_by_more_standard_errors():
    assert allowance(10**6) == pytest.approx(2.0, abs=1e-4)
    assert allowance(2) == pytest.approx(13.97, abs=0.01)
    errors = {Cell("d", m, 1.0, s): {"error": (1.0 + 0.2 * s) * (m == "b")} for s in (0, 1) for m in "ab"}
    claim = StudyClaim("a", "b", "d", 1.0, "error")
    assert Results("toy", errors).verdict(claim) == "undecided"  # 1.1 with a standard error of 0.1, of two pairs
    more = {Cell("d", m, 1.0, s): {"error": (1.0 + 0.2 * (s % 2)) * (m == "b")} for s in range(8) for m in "ab"}
    assert Results("toy", more).verdict(claim) == "holds"


def test_results_come_back_from_parquet(tmp_path):
    found = run_study(Toy(), tmp_path / "toy.jsonl")
    found.write(tmp_path / "toy.parquet")
    again = Results.read(tmp_path / "toy.parquet")
    assert again == found
    [row, _] = again.rows()
    assert (row["mean"], row["seeds"]) == (1.0, 3)
    assert row["standard_error"] == pytest.approx(1 / math.sqrt(3))


def test_a_grid_stands_at_the_point_with_the_smallest_mean():
    assert Results("toy", {}).best_at("d", "a", 1.0, "error") == 0.0
    found = Results(
        "toy", {Cell("d", "a", 1.0, s, at): {"error": e + s} for s in (0, 1) for at, e in ((1.0, 3.0), (2.0, 2.0))}
    )
    assert found.best_at("d", "a", 1.0, "error") == 2.0
    assert found.values("d", "a", 1.0, "error", None) == {0: 2.0, 1: 3.0}
    broken = Results("toy", {**found.errors, Cell("d", "a", 1.0, 0, 3.0): {"error": math.nan}})
    assert broken.best_at("d", "a", 1.0, "error") == 2.0  # a point that failed is not the best


def test_claims_may_compare_places_and_say_on_par():
    near = {
        Cell(data, "a", 1.0, seed): {"error": 1.0 + 0.001 * seed + (0.02 if data == "e" else 0.0)}
        for data in "de"
        for seed in range(4)
    }
    unit = {Cell("d", "zero", math.inf, seed): {"error": 1.0} for seed in range(4)}
    found = Results("toy", {**near, **unit})
    assert found.verdict(StudyClaim("a", "a", "d", 1.0, "error", worse_data="e")) == "holds"
    assert found.verdict(StudyClaim("a", "a", "e", 1.0, "error", worse_data="d")) == "does not hold"
    assert found.verdict(StudyClaim("a", "a", "d", 1.0, "error", worse_data="e", on_par=0.05)) == "holds"
    assert found.verdict(StudyClaim("a", "a", "d", 1.0, "error", worse_data="e", on_par=0.01)) == "does not hold"
    assert (
        Results("toy", near).verdict(StudyClaim("a", "a", "d", 1.0, "error", worse_data="e", on_par=0.05))
        == "undecided"
    )
    assert str(StudyClaim("a", "b", "d", 1.0, "error", on_par=0.1)) == "a on par with b (d, epsilon 1, error)"
    assert "(e, epsilon 2)" in str(StudyClaim("a", "b", "d", 1.0, "error", worse_data="e", worse_epsilon=2.0))


def test_the_text_shows_grids_at_their_best_and_no_points_of_curves():
    from dpsparse.report.bench.results import single_number_metrics, table

    found = Results(
        "toy",
        {
            Cell("d", "a, best of grid", 1.0, s, at): {"error": at, "error @ 1": 0.0}
            for s in (0, 1)
            for at in (1.0, 2.0)
        },
    )
    assert single_number_metrics(found) == ["error"]
    assert [line.split("  ")[0].strip() for line in table(found, "error")] == ["d", "a, best of grid"]


def test_studies_of_the_source_tree_are_listed():
    done = CliRunner().invoke(main, ["bench", "--list", "--json"], catch_exceptions=False)
    assert "000-figure-1" in json.loads(done.stdout)["studies"]


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.setattr(registry, "REGISTRY", dict(registry.REGISTRY))
    monkeypatch.chdir(tmp_path)
    X = np.random.default_rng(0).uniform(-1, 1, (400, 4))
    np.savez(tmp_path / "mine.npz", X=X, y=X[:, 0])
    (tmp_path / "mine.py").write_text(OWN)
    return tmp_path


COMMAND = ["--task", "regression", "--feature-bound", "1", "--target-bound", "1", "--seeds", "2", "--epsilon", "100"]


def test_own_recipes_are_compared_on_own_data(files):
    command = [
        "bench",
        "--recipe",
        "mine.py",
        "--recipe",
        "dp_ight",
        "--data",
        "mine.npz",
        *COMMAND,
        "--processes",
        "1",
    ]
    done = CliRunner().invoke(main, [*command, "--json"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found["private"] is False
    means = {row["method"]: row["mean"] for row in found["rows"] if row["metric"] == "mse"}
    assert means["dp_ight"] < 0.1 * means["nothing_at_all"]
    assert max(means["non-private"], means["dp_ight"]) < 0.1 * means["constant"]
    assert list(found["verdicts"].values()) == ["does not hold"]
    said = CliRunner().invoke(main, command).output
    assert "NOT private" in said
    assert "does not hold" in said
    assert len(list((files / "out").glob("*.jsonl"))) == 1
    np.savez(files / "mine.npz", X=np.ones((400, 4)), y=np.ones(400))  # other data: results of before are not taken
    CliRunner().invoke(main, command)
    assert len(list((files / "out").glob("*.jsonl"))) == 2


def test_fields_are_set_for_one_recipe_or_for_all_that_have_them(files):
    from dpsparse.cli.bench import _with_fields

    both = _with_fields(("dp_ight", "dp_ight@paper", "auto"), ("steps=5", "dp_ight@paper.smoothness=2"))
    assert both["dp_ight"].steps == both["dp_ight@paper"].steps == 5
    assert both["dp_ight@paper"].smoothness == 2.0
    assert set(both) == {"dp_ight", "dp_ight@paper"}
    command = ["bench", "--recipe", "dp_ight@paper", "--data", "mine.npz", *COMMAND, "--processes", "2", "--json"]
    means = []
    for steps in (1, 9):
        done = CliRunner().invoke(main, [*command, "--set", f"steps={steps}"], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        rows = json.loads(done.stdout)["rows"]
        means += [row["mean"] for row in rows if (row["method"], row["metric"]) == ("dp_ight@paper", "mse")]
    assert means[1] < means[0]  # results of other settings were not taken for these


def test_processes_give_what_one_process_gives(files):
    from dpsparse.report.bench.own import OwnData

    settings = {"feature_bound": 1.0, "target_bound": 1.0}
    study = OwnData(files / "mine.npz", ("dp_ight",), (10.0,), 2, "regression", settings)
    one, two = (run_study(study, files / f"{n}.jsonl", processes=n, prepare=[files / "mine.py"]).errors for n in (1, 2))
    assert {cell: found["mse"] for cell, found in one.items()} == {cell: found["mse"] for cell, found in two.items()}


def test_a_study_that_is_stopped_drops_the_runs_that_wait(tmp_path, monkeypatch):
    """The second process in line waits a little for each run: the rest would take seconds, and be counted."""
    begun, permits = [], threading.Semaphore(1)

    class Slow:
        name = "slow"

        def cells(self):
            return [Cell("any", "method", 1.0, seed) for seed in range(40)]

        def run(self, cell):
            begun.append(cell)
            permits.acquire(timeout=0.1)
            return {"error": 0.0}

    def stop(done, of):
        raise TimeoutError

    monkeypatch.setattr(results, "ProcessPoolExecutor", lambda count, context, **given: ThreadPoolExecutor(1))
    with pytest.raises(TimeoutError):
        run_study(Slow(), tmp_path / "slow.jsonl", processes=2, tell=stop)
    assert len(begun) < 20


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "give the name of a study"),
        (["no-such-study"], "bench"),
        (["000-figre-1"], "Did you mean '000-figure-1'?"),
        (
            ["--data", "mine.npz", "--recipe", "dp_ight", *COMMAND, "--plot", "f.svg"],
            "--plot draws the figure of a study",
        ),
        (["--data", "mine.npz", *COMMAND], "Missing option '--recipe'"),
        (["--data", "gone.npz", "--recipe", "dp_ight", *COMMAND], "no file gone.npz"),
        (["--data", "mine.npz", "--recipe", "dp_igth", *COMMAND], "Did you mean"),
        (["--data", "mine.npz", "--recipe", "gone.py", *COMMAND], "no file"),
        (["--data", "mine.npz", "--recipe", "dp_ight", "--feature-bound", "1"], "Missing option '--task'"),
        (["--data", "mine.npz", "--recipe", "dp_ight", "--task", "regression"], "no bound on the features"),
        (["--data", "mine.npz", "--recipe", "dp_ight", *COMMAND, "--epsilon", "-1"], "x>0"),
        (["--data", "mine.npz", "--recipe", "dp_ight", *COMMAND, "--set", "stepz=3"], "has a field 'stepz'"),
        (["--data", "mine.npz", "--recipe", "dp_ight", *COMMAND, "--set", "dp_sgd.steps=3"], "'dp_sgd' is not among"),
        (["000-figure-1", "--set", "steps=3"], "--set belongs to --recipe and --data"),
    ],
)
def test_bad_options_are_refused_in_words(files, options, said):
    done = CliRunner().invoke(main, ["bench", *options])
    assert done.exit_code == 2
    assert said in done.output


def test_a_file_without_a_recipe_or_with_an_error_is_refused(tmp_path):
    empty, broken = tmp_path / "empty.py", tmp_path / "broken.py"
    empty.write_text("x = 1\n")
    broken.write_text("1 / 0\n")
    with pytest.raises(DataError, match="registers no recipe"):
        register_file(empty)
    with pytest.raises(DataError, match="ZeroDivisionError"):
        register_file(broken)


def test_cells_on_the_same_data_are_run_by_one_process_and_all_are_kept_busy():
    cells = [Cell("a" if k % 3 else "b", f"m{m}", 1.0, k) for k in range(12) for m in range(50)]
    groups = list(results._groups(cells, 2))
    assert [cell for group in groups for cell in group] == cells
    assert all(len({(cell.data, cell.seed) for cell in group}) == 1 for group in groups)
    assert max(len(group) for group in groups) == results.TOGETHER
    few = list(results._groups(cells[:10], 4))
    assert [len(group) for group in few] == [1] * 10
