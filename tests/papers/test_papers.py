"""The studies of the papers: complete, consistent, and their pages made of the committed results."""

import math
import pickle
from dataclasses import replace

import numpy as np
import pytest
from benchmarks.papers import __main__ as program
from benchmarks.papers import blocks, cases, contract, files, pages, published
from benchmarks.papers.cases import CASES, Ask, Case
from benchmarks.papers.claims import claim_lines
from benchmarks.papers.figures import FIGURES
from benchmarks.papers.grids import Axis, Grid
from benchmarks.papers.methods import EXACT, METHODS, OFF, PRINTED, estimate
from benchmarks.papers.recheck import recheck
from benchmarks.papers.scores import scores
from benchmarks.papers.study import FirstSeeds, PaperStudy

from dpsparse import recipes
from dpsparse.core import BudgetError
from dpsparse.report.bench import Cell, Results, run_study
from dpsparse.report.bench.results import Journal
from dpsparse.report.bench.study import GRID, studies

STUDIES = studies()


def small(task="regression", **more):
    """Made-up rows that every method can fit in no time."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (300, 12))
    truth = np.zeros(12)
    truth[:2] = (1.0, -0.5)
    y = X @ truth + 0.1 * rng.standard_normal(300)
    bounds = {"row_norm": 2.5, "feature_bound": 1.0}
    if task == "classification":
        y = (y > 0).astype(int)
    else:
        bounds["target_bound"] = 2.0
    return Case(X, y, task, bounds, 2, truth, test=(X[:50], y[:50]), **more)


def test_every_figure_and_table_with_results_has_a_study():
    listed = {name for _, _, names in pages.PAPERS.values() for name in names}
    assert listed - STUDIES.keys() <= {"004-figure-3"}
    assert all(name in listed or name.startswith("guide-") for name in STUDIES)
    assert FIGURES.keys() <= STUDIES.keys()


@pytest.mark.parametrize("name", [name for name, study in STUDIES.items() if isinstance(study, PaperStudy)])
def test_a_study_names_known_data_and_methods_and_its_quick_scale_is_a_part_of_it(name, monkeypatch):
    monkeypatch.setattr("benchmarks.papers.study.present", lambda data: True)
    study = STUDIES[name]
    for part in study.parts:
        assert set(part.sets) <= CASES.keys()
        assert set(part.methods) <= METHODS.keys()
        assert set(part.quick_epsilons) <= set(part.epsilons)
        assert set(part.quick_sets) <= set(part.sets)
    quick, full = study.at_scale("quick").cells(), study.cells()
    assert quick
    assert set(quick) <= set(full)
    assert len(set(full)) == len(full)
    run = {(cell.data, cell.method, cell.epsilon) for cell in full}
    for claim in study.claims():
        for data, method, epsilon, _ in claim.sides:
            assert (data, method, epsilon) in run
        if claim.on_par is not None:
            assert (claim.data, claim.unit, math.inf) in run


#: Points at which 300 rows of 12 columns are fitted, where the middle of a grid is made for other data.
FIRM = {
    "DP-IGHT dense": {"steps": 20, "step": 0.25},
    "DP-IGHT": {"steps": 20, "step": 0.25},
    "DPSL-KT": {"log10 c": 1},
    "DPSL-KT (λ as in section 5)": {"log10 c": 1},
    "DP-SGD": {"passes": 0.1, "clip": 0.3, "step": 0.01},
    "DP-GCD": {"passes": 4, "clip": 0.3, "step": 1.0},
    "DP-CD": {"passes": 1, "clip": 0.3, "step": 0.3},
    "DP-SGD-HT": {"epochs": 20, "step": 0.1, "part of the rows, steps": (0.5, 40)},
    "DP-SCSG-HT": {"epochs": 10, "step": 0.1, "B/n, b/n, J": (0.5, 0.25, 5)},
    "DP-GD-HT": {"epochs": 100, "steps": 20, "step": 0.1},
}


@pytest.mark.parametrize(
    "name", [name if method.grids else pytest.param(name, marks=pytest.mark.slow) for name, method in METHODS.items()]
)
def test_every_method_fits(name):
    """With a generous budget no method is far worse than a model of zeros, whatever its grid point."""
    method = METHODS[name]
    grid = next(iter(method.grids.values()), None)
    at = {} if grid is None else FIRM.get(name.split(" as printed")[0].removesuffix(GRID), grid.point(len(grid) // 2))
    ask = Ask(50.0 if method.noise else math.inf, 0.01, 1, at)
    model = method.fit(small(optimum=small().truth), ask)
    assert model.coef.shape == (12,)
    assert np.isfinite(model.coef).all()
    found = scores(small(), model)["relative error"]
    assert found == pytest.approx(1.0) if name == "zero" else found < 1.3


def test_noise_decides_which_methods_are_called_private():
    for name, method in METHODS.items():
        assert method.noise == (not name.endswith(EXACT) and OFF not in name and name != "zero")
        assert bool(method.grids) == name.endswith(GRID)
        assert "NOT PRIVATE" in PRINTED


def test_scores_are_what_they_are_called():
    case = small(least=0.5, optimum=np.array([1.0, 0.0, *[0.0] * 10]), relative=False)
    model = METHODS["zero"].fit(case, Ask(math.inf, 0.01, 0))
    found = scores(case, model)
    assert found["relative error"] == 1.0
    assert found["MSE/2"] == pytest.approx(np.mean(case.test[1] ** 2) / 2)
    assert found["gap"] == pytest.approx(np.mean(case.y**2) / 2 - 0.5)
    assert (found["right"], found["wrong"], found["recall"]) == (0.0, 0.0, 0.0)
    told = estimate(case, Ask(50.0, 0.01, 0, keep_path=True), recipes.DPGCD(steps=5))
    curve = scores(case, told)
    assert curve["gap by passes @ 100"] == pytest.approx(curve["gap"])
    assert curve["gap by passes @ 0.1"] == pytest.approx(found["gap"])  # before the first pass, all is zero


def test_a_study_runs_draws_and_makes_its_section(tmp_path, monkeypatch):
    monkeypatch.setattr("benchmarks.papers.study.case_of", lambda data, seed: small())
    study = STUDIES["000-figure-1"].at_scale("quick")
    part = study.parts[0]
    wanted = ("DP-IGHT", "Two stage", f"IGHT{EXACT}")
    few = [cell for cell in part.cells("quick") if cell.method in wanted and cell.data == "000-lin-i"]
    few = [cell for cell in few if cell.epsilon > 2]
    monkeypatch.setattr(type(study), "cells", lambda self: few)
    results = run_study(study, tmp_path / f"{study.runs}.jsonl")
    assert results.scale == "quick"
    study.draw(results, tmp_path / "figure.svg")
    assert "DP-IGHT" in (tmp_path / "figure.svg").read_text()
    assert "recall" in (tmp_path / "figure-support.svg").read_text()
    text = "\n".join(pages.section(study, results))
    assert "dpsparse bench 000-figure-1 --scale quick" in text
    assert "**Quick run**" in text
    assert "**2 claims of the paper**" in text
    results.write(tmp_path / "kept.parquet")
    assert Results.read(tmp_path / "kept.parquet") == results
    assert program.minutes(study, tmp_path)[1] == 0


def test_a_grid_point_that_is_refused_is_not_a_number(monkeypatch):
    monkeypatch.setattr("benchmarks.papers.study.case_of", lambda data, seed: small())

    def refuse(case, ask):
        raise BudgetError("too little")

    name = f"Two stage{GRID}"
    monkeypatch.setitem(METHODS, name, replace(METHODS[name], fit=refuse))
    monkeypatch.setitem(METHODS, "Two stage", replace(METHODS["Two stage"], fit=refuse))
    study = STUDIES["000-figure-1"]
    assert math.isnan(study.run(Cell("000-lin-i", name, 2.0, 0, 1.0))["relative error"])
    with pytest.raises(BudgetError):
        study.run(Cell("000-lin-i", "Two stage", 2.0, 0))


def test_pages_are_made_of_the_committed_results():
    """``python -m benchmarks.papers --pages`` changes nothing."""
    for name, text in pages.pages(STUDIES).items():
        assert (pages.DOCS / name).read_text(encoding="utf-8") == text, name


@pytest.mark.parametrize("page", blocks.BLOCKS)
def test_numbers_of_the_guides_are_those_of_the_committed_results(page):
    """``python -m benchmarks.papers --pages`` changes nothing; a number that is typed between the marks does."""
    text = (blocks.DOCS / page).read_text(encoding="utf-8")
    assert blocks.fill(page, text) == text
    for name in blocks.BLOCKS[page]:
        changed = text.replace(f"<!-- end: {name} -->", f"1.23\n<!-- end: {name} -->")
        assert changed != text
        assert blocks.fill(page, changed) == text
    with pytest.raises(ValueError, match="not one"):
        blocks.fill(page, text.replace("<!-- made:", "<!-- other:"))


@pytest.mark.parametrize("name", [name for name in STUDIES if name.startswith("guide-")])
def test_a_guides_quick_scale_is_a_part_of_it(name, monkeypatch):
    study = STUDIES[name]
    monkeypatch.setattr("benchmarks.papers.study.present", lambda data: True)
    if not isinstance(study, PaperStudy):
        monkeypatch.setattr(type(study), "present", lambda self, data: True)
    quick, full = study.at_scale("quick").cells(), study.cells()
    assert quick
    assert set(quick) < set(full)


def test_what_a_run_had_when_it_was_stopped_are_whole_seeds(tmp_path, monkeypatch):
    monkeypatch.setattr(cases, "present", lambda data: True)
    study = STUDIES["000-figure-1"]
    cells = [cell for cell in study.cells() if cell.data == "000-lin-i"]
    monkeypatch.setattr(type(study), "cells", lambda self: [c for c in cells if self.scale == "full" or c.seed < 2])
    assert program.so_far(study, tmp_path) is None
    kept = Journal(tmp_path / f"{study.runs}.jsonl", study.runs)
    done = [cell for cell in cells if cell.seed < 5][:-1]  # the last run of the fifth seed is not there
    for cell in done:
        kept.add(cell, {"relative error": 1.0})
    partly = program.so_far(study, tmp_path)
    assert partly.scale == "the first 4 of 20 seeds"
    assert {cell.seed for cell in partly.errors} == {0, 1, 2, 3}
    assert "**Not complete**: the first 4 of 20 seeds" in "\n".join(pages.section(study, partly))


def test_numbers_that_are_run_again_agree_or_are_told(monkeypatch, capsys):
    monkeypatch.setattr("benchmarks.papers.study.case_of", lambda data, seed: small())
    study = STUDIES["000-figure-1"]
    cells = [Cell("000-lin-i", "Two stage", 4.0, seed) for seed in range(2)]
    results = Results(study.name, {cell: study.run(cell) for cell in cells})
    assert recheck({study.name: (study, study.metric, results)}, 2) == 0
    off = Results(study.name, {cell: {study.metric: 9.0} for cell in cells})
    assert recheck({study.name: (study, study.metric, off)}, 1) == 1
    assert "DIFFERS" in capsys.readouterr().out
    dear = Results(study.name, {cell: {**errors, "cost": 1e6} for cell, errors in results.errors.items()})
    assert recheck({study.name: (study, study.metric, dear)}, 1) == 0


def test_figures_of_the_pages_are_there():
    for name in STUDIES:
        if pages.kept(name) is not None:
            assert all((pages.DOCS / f"{name}{end}.svg").is_file() for end in STUDIES[name].figures)


def test_a_case_that_is_missing_is_left_out(monkeypatch, tmp_path):
    monkeypatch.setattr(files, "data_folder", lambda: tmp_path)
    assert not cases.present("RCV1")
    assert cases.present("000-lin-i")
    names = {cell.data for cell in STUDIES["000-table-3"].cells()}
    assert names == set()


def test_the_first_seeds_of_a_study_are_a_part_of_it():
    few = pickle.loads(pickle.dumps(FirstSeeds(STUDIES["003-figure-1"], 2)))  # processes get them
    assert (few.name, few.runs) == ("003-figure-1", STUDIES["003-figure-1"].runs)
    assert {cell.seed for cell in few.cells()} == {0, 1}
    assert set(few.cells()) < set(STUDIES["003-figure-1"].cells())


# ------------------------------------------------------------------------------------------------ the contract of grids


def test_a_grid_counts_its_points_and_has_the_published_one():
    grid = Grid({"steps": Axis((5, 20)), "step": Axis((0.1, 1.0, 10.0))}, chosen={"steps": 20})
    assert [grid.number(grid.point(k)) for k in range(1, len(grid) + 1)] == list(range(1, 7))
    assert grid.point(5) == {"steps": 20, "step": 1.0}
    assert grid.ends(5) == [("steps", "", 2)]
    with pytest.raises(ValueError, match="published steps 7 is not in the grid"):
        Grid({"steps": Axis((5, 20))}, chosen={"steps": 7})


def test_the_published_points_of_paper_002_are_in_its_grids():
    """All of Table 4, but DP-CD on dorothea: 264,000 steps."""
    for data, (gcd, cd, sgd) in published.TABLE_4.items():
        assert published.PRINTED_GCD[data].chosen == dict(zip(("passes", "clip", "step"), gcd, strict=True))
        assert (published.GCD[data].chosen["passes"], published.GCD[data].chosen["step"]) == (gcd[0], gcd[2])
        assert published.SGD[data].chosen == dict(zip(("passes", "clip", "step"), sgd, strict=True))
        if data != "dorothea":
            assert published.CD[data].chosen == {"passes": cd[0], "step": cd[2]}
    assert published.CD["dorothea"].chosen is None
    assert published.CD["dorothea"].axes["passes"].high == "time"


def test_every_grid_says_where_it_is_printed_or_that_it_is_ours():
    for name, method in METHODS.items():
        for grid in method.grids.values():
            assert grid.where == "" or grid.where[:3] in pages.PAPERS, name


def test_every_loop_as_printed_has_a_twin_with_its_noise_off():
    for name, method in METHODS.items():
        if PRINTED in name:
            twin = METHODS[name.replace(PRINTED, OFF)]
            assert twin.grids is method.grids
            assert not twin.noise
    for study in STUDIES.values():
        if isinstance(study, PaperStudy):
            run = {(data, name) for part in study.parts for data in part.sets for name in part.methods}
            assert {(d, n.replace(PRINTED, OFF)) for d, n in run if PRINTED in n} <= run, study.name


def with_errors(name, errors, default=None):
    """Results of a study at the points of a grid, on four seeds at epsilon 4; of the default too."""
    study = STUDIES["000-figure-1"]
    runs = {
        Cell("000-lin-i", name, 4.0, seed, float(at)): {
            study.metric: float(np.broadcast_to(error, 4)[seed]) + 1e-6 * seed
        }
        for at, error in errors.items()
        for seed in range(4)
    }
    if default is not None:
        runs |= {
            Cell("000-lin-i", name.removesuffix(GRID), 4.0, seed): {study.metric: default + 1e-6 * seed}
            for seed in range(4)
        }
    return study, Results(study.name, runs)


def test_a_page_is_not_built_with_a_best_point_at_an_end_that_nobody_explains():
    name = f"DP-IGHT dense{GRID}"
    grid = METHODS[name].grid("000-lin-i")
    points = {grid.number({"steps": 20, "step": step}): 0.5 for step in grid.axes["step"].values}
    inside = points | {grid.number({"steps": 20, "step": 1.0}): 0.2}
    assert "At an end" not in "\n".join(contract.grid_notes(*with_errors(name, inside)))
    end = points | {grid.number({"steps": 20, "step": 64.0}): 0.2}
    with pytest.raises(contract.UnexplainedError, match="best at an end of step"):
        list(contract.grid_notes(*with_errors(name, end)))
    flat = end | {grid.number({"steps": 20, "step": 16.0}): (0.21, 0.19, 0.22, 0.19)}
    assert "as good within two standard errors" in "\n".join(contract.grid_notes(*with_errors(name, flat)))
    hopeless = {at: error + 1.0 for at, error in end.items()}
    assert "no point is better than a model of zeros" in "\n".join(contract.grid_notes(*with_errors(name, hopeless)))
    one = {grid.number({"steps": 1, "step": 1.0}): 0.2, **points}
    assert "nothing lies beyond" in "\n".join(contract.grid_notes(*with_errors(name, one)))


def test_a_grid_of_ours_that_is_worse_than_our_default_is_refused(monkeypatch):
    name = f"DP-IGHT dense{GRID}"
    ours = Grid({"steps": Axis((1, 20, 60)), "step": Axis((0.1, 1.0, 10.0))})
    monkeypatch.setitem(METHODS, name, replace(METHODS[name], grids={"": ours}))
    points = {ours.number({"steps": 20, "step": 1.0}): 0.2}
    assert "worse" not in "\n".join(contract.grid_notes(*with_errors(name, points, default=0.3)))
    with pytest.raises(contract.UnexplainedError, match="worse than our default"):
        list(contract.grid_notes(*with_errors(name, points, default=0.1)))
    papers = replace(ours, where="000, Table 9")
    monkeypatch.setitem(METHODS, name, replace(METHODS[name], grids={"": papers}))
    assert "varies fewer settings" in "\n".join(contract.grid_notes(*with_errors(name, points, default=0.1)))


def test_a_cell_above_a_model_of_zeros_is_named():
    name = f"DP-IGHT dense{GRID}"
    assert list(contract.above_zero(*with_errors(name, {9: 0.9}))) == []
    assert "DP-IGHT dense (000-lin-i), ε 4" in "".join(contract.above_zero(*with_errors(name, {9: 1.2})))
    study, results = with_errors(name, {9: 1.2})
    exact = {replace(cell, method=f"IGHT{EXACT}", epsilon=math.inf, at=0.0): e for cell, e in results.errors.items()}
    with pytest.raises(contract.UnexplainedError, match="without any noise"):
        list(contract.above_zero(study, Results(study.name, exact)))


def test_a_claim_has_one_line_with_its_epsilons_and_a_reason():
    study = STUDIES["000-figure-1"]
    runs = {}
    for epsilon, error in ((2.0, 0.9), (4.0, 0.1)):
        for seed in range(4):
            runs[Cell("000-lin-i", "DP-IGHT", epsilon, seed)] = {study.metric: error + 0.001 * seed}
            runs[Cell("000-lin-i", "Two stage", epsilon, seed)] = {study.metric: 0.5}
    [line] = claim_lines(study, Results(study.name, runs))
    assert line.text == "DP-IGHT better than Two stage"
    assert line.cell("honest noise, defaults") == "holds 4; not 2"
    assert line.outcome(("honest noise, defaults",)) == "hold in part"
    assert line.reason == "better rival at equal accounting"


def test_a_default_that_gets_worse_with_more_epsilon_is_named():
    study = STUDIES["000-figure-1"]
    runs = {
        Cell("000-lin-i", name, epsilon, seed): {study.metric: error + 0.001 * seed * epsilon}
        for name, errors in (("auto", (0.2, 0.3)), ("DP-IGHT", (0.3, 0.2)))
        for epsilon, error in zip((2.0, 4.0), errors, strict=True)
        for seed in range(4)
    }
    [text] = contract.rising(study, Results(study.name, runs))
    assert "auto (000-lin-i) from ε 2 to 4" in text
    assert "DP-IGHT" not in text


def test_kept_runs_are_taken_over_but_those_of_methods_that_are_run_again(tmp_path, monkeypatch):
    study = STUDIES["000-figure-1"]
    cells = [cell for cell in study.cells() if cell.data == "000-lin-i" and cell.seed < 2]
    monkeypatch.setattr(type(study), "cells", lambda self: cells)
    gone = Cell("000-lin-i", "a method of old", 2.0, 0)
    before = Results(study.name, {cell: {study.metric: 1.0} for cell in [*cells, gone]})
    monkeypatch.setattr(pages, "kept", lambda name: before)
    assert program.take_over(study, tmp_path, ["DP-IGHT"]) is before
    done = Journal(tmp_path / f"{study.runs}.jsonl", study.runs).read()
    assert set(done) == {cell for cell in cells if cell.method != "DP-IGHT"}
    done |= {cell: {study.metric: 0.5} for cell in cells if cell.method == "DP-IGHT"}
    facts = program.with_earlier(Results(study.name, done), before).machine
    assert facts["runs kept from an earlier state"] == str(len(cells) - 10)
    assert program.with_earlier(before, None) is before
