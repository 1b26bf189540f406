"""Bands beside what fits reached, on settings that the formulas were not fitted to."""

import pytest
from benchmarks.planner_coverage import RESULTS, SETTINGS, check, covered
from benchmarks.settings import data_folder

from dpsparse.report.bench import Results


@pytest.fixture(scope="module")
def results():
    if not RESULTS.is_file():
        pytest.skip("the fits were not run: python -m benchmarks.papers --only guide-bands")
    return Results.read(RESULTS)


def test_nine_in_ten_is_at_least_seventeen_in_twenty(results, capsys):
    """Where the conventions are true: one document in twenty has to be told, and is then inside."""
    held, count = check(results)
    assert f"covered {held} of {count}" in capsys.readouterr().out
    inside = [cell[-1] for name in SETTINGS if name != "reuters_moneyfx" for cell in covered(results, name)]
    assert len(inside) >= 18
    assert sum(inside) >= 0.85 * len(inside)


@pytest.mark.parametrize(
    "name",
    [
        "000-lin (i)",
        "000-log (i)",
        "001-lin (800)",
        *(pytest.param(name, marks=pytest.mark.slow) for name, checked in SETTINGS.items() if checked.file),
    ],
)
def test_the_bands_that_are_kept_are_those_of_the_present_planner(results, name):
    """Otherwise: ``python -m benchmarks.planner_coverage --bands``."""
    checked = SETTINGS[name]
    folder = data_folder()
    if checked.file and (folder is None or not (folder / f"{checked.file}.npz").exists()):
        pytest.skip(f"{checked.file}.npz is not there: set DPSPARSE_DATA to the folder that holds it")
    setting = checked.make(0)
    for epsilon in checked.epsilons:
        band = checked.foreseen(setting, epsilon)
        kept = [results.values(name, "auto", epsilon, what)[0] for what in ("low", "high")]
        assert kept == pytest.approx([band.low, band.high], rel=1e-6)
