"""Plans of fits that protect units: every kind of query in them bounds what all rows of one unit add."""

import pytest

from dpsparse.core import Ask, Noise, Plan, PrivacyError
from dpsparse.oracles.gate import check_by_unit


def asking(question: str, noise: Noise) -> Plan:
    return Plan(asks=(Ask(name="a", question=question, noise=noise),), order=("a",))


@pytest.mark.parametrize("question", ["ResidualMean", "ProjectedGradient", "Gram", "Hessian"])
def test_sums_that_are_bounded_by_unit_are_taken(question):
    check_by_unit(asking(question, Noise.GAUSSIAN))


@pytest.mark.parametrize("question", ["RidgeMinimum", "PerturbedMinimum", "RandomizedLabels"])
def test_queries_that_are_bounded_by_row_alone_are_refused_by_name(question):
    with pytest.raises(PrivacyError, match=question):
        check_by_unit(asking(question, Noise.GAUSSIAN))
