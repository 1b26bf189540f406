"""The comparison with other libraries: its page is made of the committed results, all get the same rows and bounds, and tuning is named."""

import math

import numpy as np
import pytest
from benchmarks.peers import methods, page, study
from benchmarks.peers import rows as rows_module
from benchmarks.peers.methods import METHODS, Ask, at_replace_one
from benchmarks.peers.rows import DATA, LARGE, SOME, TEXT, Rows
from benchmarks.peers.study import EPSILONS, STUDY
from benchmarks.peers.summary import Summary
from benchmarks.tables.purse import gaussian_mu
from benchmarks.tables.sets import Table

from dpsparse.report.bench import Cell, Results


def test_the_page_is_made_of_the_committed_results():
    """``python -m benchmarks.peers --page`` changes nothing."""
    assert page.PAGE.read_text(encoding="utf-8") == page.text(Results.read(page.RESULTS))
    assert page.PAGE.with_suffix(".svg").is_file()


def test_the_quick_scale_is_a_part_and_every_claim_is_run(monkeypatch):
    monkeypatch.setattr(study, "present", lambda data: True)
    quick, full = STUDY.at_scale("quick").cells(), STUDY.cells()
    assert set(quick) < set(full)
    assert len(set(full)) == len(full)
    run = {(cell.data, cell.method, cell.epsilon) for cell in full}
    assert all(side[:3] in run for claim in STUDY.claims() for side in claim.sides)
    assert len([data for data in DATA if data not in (*LARGE, TEXT)]) >= 30


def test_names_say_what_was_tuned_on_the_held_out_rows():
    assert {name for name, method in METHODS.items() if method.tuned} == {
        name for name in METHODS if "tuned on the test rows" in name
    }


def made_up(task, n=2000):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (n, 8))
    z = X @ np.arange(8) / 20
    y = z + 3.0 if task == "regression" else (z > 0).astype(float)
    held = n // 4
    table = Table("made up", task, X[held:], y[held:], (X[:held], y[:held]), -np.ones(8), np.ones(8), 3.0, 1.5)
    return Rows(table)


@pytest.fixture
def told(monkeypatch):
    def given(found):
        monkeypatch.setattr(methods, "rows_of", lambda data, seed: found)
        monkeypatch.setattr(rows_module, "rows_of", lambda data, seed: found)
        rows_module.file_of.cache_clear()
        return found

    yield given
    rows_module.file_of.cache_clear()


HERE = [
    (name, kind)
    for name, method in METHODS.items()
    if name.startswith(("dpsparse", "DP-GD", "AdaSSP", "boosted AdaSSP"))
    for kind in method.kinds
]


@pytest.mark.parametrize(("name", "task"), HERE)
def test_private_methods_of_this_process_fit_what_they_are_given(name, task, told):
    told(made_up(task))
    found = STUDY.run(Cell("made up", name, 8.0, 0))
    assert found["deviance"] < 0.5
    assert found["error"] < 0.5
    assert found["rows"] == 1500


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_models_without_privacy_do_at_least_as_well(task, told):
    told(made_up(task))
    for name in ("linear, not private", "additive, not private", "boosted trees, not private"):
        assert STUDY.run(Cell("made up", name, math.inf, 0))["deviance"] < 0.3


def test_a_peer_reads_columns_and_targets_mapped_by_their_bounds(told, monkeypatch):
    table = told(made_up("regression")).table
    with np.load(rows_module.file_of(DATA[0], 0)) as z:
        assert np.allclose(z["X"], table.X, atol=1e-6)
        assert np.allclose(z["y"], (table.y - 3.0) / 1.5)
    answer = {"predicted": [[0.0] * 500, (((table.test[1] - 3.0) / 1.5).tolist())], "seconds": 1.0}
    monkeypatch.setattr(methods, "_peer", lambda name: type("Peer", (), {"ask": lambda self, **given: answer})())
    predicted, _ = methods._told("any")(Ask(DATA[0], 0, 1.0))
    assert np.allclose(predicted, table.test[1])  # mapped back, and the best of several


def test_a_peer_that_fails_is_a_result(told, monkeypatch):
    told(made_up("regression"))
    answer = {"failure": "ValueError: no"}
    monkeypatch.setattr(methods, "_peer", lambda name: type("Peer", (), {"ask": lambda self, **given: answer})())
    assert STUDY.run(Cell(DATA[0], "DP-EBM", 1.0, 0)) == {"failed": 1.0}


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_replacing_a_record_divides_mu_by_the_root_of_two(epsilon):
    ratio = gaussian_mu(epsilon, 1e-6) / gaussian_mu(at_replace_one(epsilon), 1e-6)
    assert ratio == pytest.approx(math.sqrt(2), rel=1e-6)


def test_wins_losses_and_parts_of_the_attainable():
    """A table where the peer is ahead by a tenth of the attainable on each of four splits, and one where it is behind."""
    errors = {}
    for seed in range(4):
        for data, peer in ((DATA[0], 0.45), (DATA[1], 0.55)):
            noise = 0.001 * seed
            errors[Cell(data, "dpsparse auto", 1.0, seed)] = {"deviance": 0.5}
            errors[Cell(data, "DP-EBM", 1.0, seed)] = {"deviance": peer + noise}
            errors[Cell(data, "linear, not private", math.inf, seed)] = {"deviance": 0.5 - noise}
            errors[Cell(data, "boosted trees, not private", math.inf, seed)] = {"deviance": 0.7}
    found = Summary(Results("peers", errors))
    assert found.count("dpsparse auto", "DP-EBM", 1.0, "deviance") == {"holds": 1, "does not hold": 1}
    assert found.best_free(DATA[0]) == pytest.approx(0.4985)
    ahead, behind = found.gaps("dpsparse auto", "DP-EBM", 1.0)
    assert ahead.part == pytest.approx((0.05 - 0.0015) / 0.5015)
    assert ahead.decided
    assert behind.part < 0
    assert not behind.decided


def test_slow_methods_are_run_on_every_fourth_of_the_smaller_tables():
    assert set(SOME) < set(DATA) - set(LARGE)
