"""The picture of expected error against epsilon."""

import sys

import pytest

from dpsparse import SparseClassifier

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def plan():
    return SparseClassifier(epsilon=2.0, row_norm=1.0).plan(5000, 3000)


def test_a_plan_is_drawn_to_a_file(plan, tmp_path):
    plan.plot(tmp_path / "error.png")
    assert (tmp_path / "error.png").read_bytes().startswith(b"\x89PNG")


def test_axes_hold_band_typical_line_and_constant_predictor(plan):
    from matplotlib.figure import Figure

    axes = Figure().subplots()
    assert plan.plot(axes) is axes
    labels = axes.get_legend_handles_labels()[1]
    assert labels == ["90 % band", "typical", "constant predictor", "epsilon = 2"]
    line = next(line for line in axes.lines if line.get_label() == "typical")
    assert line.get_ydata()[0] > line.get_ydata()[-1]
    assert axes.get_ylabel() == "error rate"


def test_other_places_are_refused(plan):
    with pytest.raises(TypeError, match="plot needs a file name or matplotlib axes, got int"):
        plan.plot(3)


def test_without_matplotlib_the_extra_is_named(plan, monkeypatch):
    for name in [n for n in sys.modules if n.split(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"plots need matplotlib.*dpsparse\[plots\]"):
        plan.plot("nowhere.png")
