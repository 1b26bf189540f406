"""Figures hold what was given, and give the same bytes twice."""

import math

import numpy as np
import pytest

from dpsparse.core import DataError
from dpsparse.report import figures
from dpsparse.report.bench import Cell, Results

pytest.importorskip("matplotlib")

RESULTS = Results(
    "toy",
    {
        Cell("d", "a", e, seed): {
            "error": seed / e,
            "precision": 1.0,
            "recall": 0.5,
            "objective by passes @ 1": 2.0 / e,
        }
        for e in (1.0, 2.0)
        for seed in (1, 2)
    }
    | {Cell("d", "b, best of grid", 1.0, 1, at): {"error": at} for at in (3.0, 2.0)}
    | {Cell("d", "exact", math.inf, 1): {"error": 0.1}},
)


def test_errors_by_epsilon_draws_means_grids_at_their_best_and_level_lines(tmp_path):
    [panel] = figures.error_panels(RESULTS, "error")
    lines = {line.label: line for line in panel.lines}
    assert (lines["a"].x, lines["a"].y) == ((1.0, 2.0), (1.5, 0.75))
    assert lines["b, best of grid"].y == (2.0,)
    assert lines["exact"].level
    assert lines["exact"].y == (0.1,)
    for name in ("one.svg", "two.svg"):
        figures.save(figures.errors_by_epsilon(RESULTS, "error"), tmp_path / name)
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()
    assert "best of grid" in (tmp_path / "one.svg").read_text()


def test_supports_are_those_of_the_point_with_the_smallest_error():
    grid = {
        Cell("d", "g, best of grid", 1.0, s, at): {"relative error": at, "recall": at / 2, "precision": at / 2}
        for s in (0, 1)
        for at in (1.0, 2.0)
    }
    [panel] = figures.error_panels(Results("toy", grid), "recall", by="relative error")
    assert panel.lines[0].y == (0.5,)
    worse = {cell: {**found, "relative error": -found["relative error"]} for cell, found in grid.items()}
    [panel] = figures.error_panels(Results("toy", worse), "recall", by="relative error")
    assert panel.lines[0].y == (1.0,)


def test_other_figures_are_drawn(tmp_path):
    w = np.array([0.0, 1.0, -2.0])
    for figure in (
        figures.support_recovery(RESULTS),
        figures.objective_curves(RESULTS, "objective"),
        figures.coefficient_paths([2.0, 1.0], [w, w / 2], ["x", "y", "z"]),
        figures.histograms({"w": w}, {"w": 0.5}),
    ):
        figures.save(figure, tmp_path / "figure.svg")
        assert (tmp_path / "figure.svg").read_text().startswith("<?xml")


def test_a_feature_that_is_always_zero_has_no_line():
    figure = figures.coefficient_paths([1.0], [np.array([0.0, 1.0])], ["left out", "kept"])
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels == ["kept"]


def test_what_does_not_fit_together_is_refused():
    with pytest.raises(DataError, match="one row of coefficients for each epsilon"):
        figures.coefficient_paths([1.0, 2.0], [np.ones(3)])
    with pytest.raises(DataError, match="nothing to draw"):
        figures.errors_by_epsilon(RESULTS, "no such metric")
