"""The comparison with other libraries: its page is made of the committed results, and nobody gets more points to choose from."""

import math

import numpy as np
import pytest
from benchmarks.peers import methods, page
from benchmarks.peers.methods import METHODS, Ask
from benchmarks.peers.rows import ROWS, Rows
from benchmarks.peers.study import EPSILONS, PICTURE, REGRESSION, STUDY

from dpsparse.report.bench import Results
from dpsparse.report.bench.study import GRID


def test_the_page_is_made_of_the_committed_results():
    """``python -m benchmarks.peers --page`` changes nothing."""
    assert page.PAGE.read_text(encoding="utf-8") == page.text(Results.read(page.RESULTS))
    assert page.PAGE.with_suffix(".svg").is_file()


def test_private_libraries_choose_from_equally_many_points_and_the_quick_scale_is_a_part(monkeypatch):
    assert {method.grid for name, method in METHODS.items() if name.endswith(GRID) and method.private} == {6}
    monkeypatch.setattr("benchmarks.peers.study.present", lambda data: True)
    quick, full = STUDY.at_scale("quick").cells(), STUDY.cells()
    assert set(quick) < set(full)
    assert {cell.epsilon for cell in quick if cell.data == PICTURE} == {*EPSILONS, math.inf}
    run = {(cell.data, cell.method, cell.epsilon) for cell in full}
    for claim in STUDY.claims():
        assert all((data, method, epsilon) in run for data, method, epsilon, _ in claim.sides)


def made_up(task):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (2000, 8))
    y = X @ np.arange(8) / 20
    y = (y > 0).astype(int) if task == "classification" else y
    bounds = {"feature_bound": 1.0} | ({"target_bound": 1.0} if task == "regression" else {})
    return Rows((X[:1500], y[:1500]), (X[1500:], y[1500:]), task, bounds, math.sqrt(8), (-1.0, 1.0))


@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize("name", [name for name in METHODS if name.startswith(("dpsparse", "scikit"))])
def test_ours_and_scikit_learn_fit_what_they_are_given(name, task, monkeypatch):
    found = made_up(task)
    monkeypatch.setattr(methods, "rows_of", lambda data, seed: found)
    model = METHODS[name].fit(Ask("any", 0, 8.0, 2 if name.endswith(GRID) else 0))
    assert found.error(model.coef, model.intercept) < 0.4
    if name.endswith(GRID):
        assert np.count_nonzero(model.coef) <= 4


def test_errors_are_what_they_are_called():
    found = made_up("regression")
    assert found.error(np.zeros(8), float(found.test[1].mean())) == pytest.approx(1.0)
    assert made_up("classification").error(np.zeros(8), 1.0) == pytest.approx(
        1 - made_up("classification").test[1].mean()
    )


def test_every_file_is_of_one_task():
    assert set(REGRESSION) < ROWS.keys()
    assert PICTURE in ROWS
