"""The verdict beside what happens, on real data with few records and thousands of features."""

import numpy as np
import pytest
from benchmarks.planner_verdicts import chances, ratios, verdict
from benchmarks.settings import data_folder

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("epsilon", [1.0, 4.0], ids=["eps1", "eps4"])
@pytest.mark.parametrize("name", ["arcene", "colon", "golub_leukemia", "riboflavin"])
def test_the_verdict_is_what_five_runs_would_say(name, epsilon):
    folder = data_folder()
    if folder is None or not (folder / f"{name}.npz").exists():
        pytest.skip(f"{name}.npz is not there: set DPSPARSE_DATA to the folder that holds it")
    said = chances(ratios(name, epsilon, runs=20), np.random.default_rng(0))
    foreseen = verdict(name, epsilon)
    if (
        foreseen == "borderline"
    ):  # the signal decides, which nobody declared; what is useful for certain is not borderline
        assert said["useful"] < 0.3, said
    else:  # tests have a dozen records, so five runs do not always say the same; what they hardly ever say is wrong
        assert said[foreseen] > 0.3, said
