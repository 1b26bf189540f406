"""The noise of answers: on the lattice whatever the data, of the priced law, and drawn anew for every number.

Counts off the lattice must be zero; p-values below 5e-7 raise the alarm. The controls: floats from numpy, which show
whether a value was 0 or 1 in a sixth of all answers at any epsilon; half of the noise; a fixed seed.
"""

from __future__ import annotations

import numpy as np
import pytest

from builders import SUM_UNITS, Rows
from dpsparse import audit
from dpsparse.accounting import PricedPlan
from dpsparse.audit.noise import ks_p_value
from dpsparse.core import Ask, Budget, Noise, Plan
from dpsparse.core.facts import Clip, Facts, Target
from dpsparse.core.mechanisms import Randomness
from dpsparse.losses import Squared
from dpsparse.oracles import CentralOracle
from dpsparse.oracles import central as central_module
from dpsparse.queries.sensitivity import RELEASE_UNITS

RUNS, N, D, CLIP = 60, 4, 200, 1.5
LAWS = {Noise.GAUSSIAN: "norm", Noise.LAPLACE: "laplace"}


def answers(noise: Noise, target: float) -> np.ndarray:
    """Answers of the oracle, in steps of the public lattice: what the sum counts, over what it is divided by."""
    facts = Facts(n_rows=N, n_features=D, target=Target(bound=50.0))
    X = np.zeros((N, D))
    X[0, 0] = 1.0
    rows = Rows(X, np.array([target, 0.0, 0.0, 0.0]), facts)
    plan = Plan(asks=(Ask(name="q", noise=noise, times=RUNS),))
    priced = PricedPlan(
        plan=plan, budget=Budget.approx(1.0, 1e-5, "replace-one"), rho_scale=RUNS / 2, accountant="given"
    )
    oracle = CentralOracle(rows, Squared(), priced, Randomness())
    unit = CLIP / SUM_UNITS * int(SUM_UNITS / RELEASE_UNITS) / N
    return np.array([oracle.gradient(np.zeros(D), clip=Clip(CLIP), ask="q") for _ in range(RUNS)]) / unit


@pytest.mark.parametrize("noise", list(LAWS))
@pytest.mark.parametrize("target", [0.0, 0.123456789, 50.0])
def test_answers_lie_on_one_lattice_whatever_the_data(noise, target):
    """Up to the rounding of one multiplication: a millionth of a step is far below it, and far above float errors."""
    steps = answers(noise, target)
    assert np.max(np.abs(steps - np.rint(steps)) / np.maximum(np.abs(steps), 1)) < 1e-12
    assert audit.off_lattice(np.rint(steps)) == 0


def test_control_numpy_noise_shows_what_it_hides():
    """Noise that is added in floats: answers about 1 lie on a grid of 2^-53, a sixth of those about 0 do not."""
    rng = np.random.default_rng(0)
    off = [audit.off_lattice(q + rng.standard_normal(200_000), 2.0**-53) for q in (0.0, 1.0)]
    assert off[0] > 30_000
    assert off[1] == 0


@pytest.mark.parametrize("wrong", [1.0, 0.5], ids=["as priced", "halved"])
@pytest.mark.parametrize("noise", list(LAWS))
def test_the_noise_of_an_answer_has_the_priced_scale(noise, wrong, monkeypatch):
    name = "lattice_gaussian" if noise is Noise.GAUSSIAN else "lattice_laplace"
    ordinary = getattr(central_module, name)
    monkeypatch.setattr(central_module, name, lambda q, scale, r: ordinary(q, scale * wrong, r))
    drawn = answers(noise, 0.0).ravel()
    # mu = epsilon = 1: the scale is the sensitivity, in l2 or l1 norm; rounding adds one step for each coordinate
    l2, l1 = 2 * RELEASE_UNITS + np.sqrt(D), 2 * RELEASE_UNITS * np.sqrt(D) + D
    p = ks_p_value(drawn / (l2 if noise is Noise.GAUSSIAN else l1), LAWS[noise])
    assert (p > 5e-7) is (wrong == 1.0)


def test_our_mechanisms_pass_and_a_fixed_seed_does_not():
    for law in ("gaussian", "laplace"):
        assert not any(found.violated for found in audit.check_noise(law=law, size=200_000))
    fixed = audit.check_noise(lambda q: q + np.rint(1000 * np.random.default_rng(1).standard_normal(q.shape)))
    assert [found.name for found in fixed if found.violated] == ["independence between answers"]


@pytest.mark.slow
def test_a_million_answers_lie_on_the_lattice():
    for law in ("gaussian", "laplace"):
        assert not any(found.violated for found in audit.check_noise(law=law, size=1_000_000))
    assert not any(found.violated for found in audit.check_sampler(batches=20_000))
