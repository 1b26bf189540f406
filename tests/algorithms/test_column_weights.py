"""Weights of columns: what is asked for them, the lengths they give rows, and the power that evidence speaks for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dpsparse.algorithms.column_weights import BUCKETS, Columns, Weighting, released_columns
from dpsparse.algorithms.dual_averaging import Averaging, DualAveraging
from dpsparse.algorithms.signal_test import PowerLaw, SignalTest, fitted_law
from dpsparse.core import Noise
from dpsparse.core.facts import Facts, Target
from truth.scripted import ScriptedOracle

RULE = Weighting(
    floor=0.01, share=0.05, size_share=0.005, row_norm=1.0, least=0.02, fill=0.8, power=0.45, followed=True, every=2
)
MEANS = 0.01 * 2.0 ** np.repeat(np.arange(0.5, 6.5), 40)


def columns(d: int = MEANS.size, error: float = 1e-6) -> Columns:
    """Frequencies over six doublings; each bucket has the same part of a row's energy."""
    buckets = (np.floor(np.log2(MEANS[:d] / RULE.floor)) + 1).astype(np.intp)
    counts = np.bincount(buckets, minlength=BUCKETS).astype(float)
    centres = np.bincount(buckets, MEANS[:d], BUCKETS) / np.maximum(counts, 1)
    return Columns(RULE, MEANS[:d], RULE.floor, buckets, counts, centres, np.where(counts > 0, 0.1, 0.0), error)


def test_the_questions_are_those_of_the_rule():
    assert [(a.name, a.question) for a in RULE.asks(Noise.GAUSSIAN)] == [
        ("means", "MeanAbsolute"),
        ("energies", "GroupEnergies"),
    ]
    fixed = Weighting(floor=0.1, share=0.1, size_share=0.1, row_norm=1.0, least=0.1, fill=1.0, balance_share=0.1)
    assert [a.name for a in fixed.asks(Noise.GAUSSIAN)] == ["balance", "means", "size"]


@pytest.mark.parametrize("power", [-0.1, 0.0, 0.3, 0.6])
def test_rows_are_as_long_as_the_rule_says_with_any_power(power):
    told = columns()
    a = told.weights(power)
    squared = np.bincount(told.buckets, a**2, BUCKETS) / np.maximum(told.counts, 1) @ told.energies
    assert np.sqrt(squared) == pytest.approx(1 / RULE.fill)
    np.testing.assert_allclose(a[-1] / a[0], (MEANS[0] / MEANS[-1]) ** power)


def facts_of(d: int, classes: int = 2) -> Facts:
    target = Target(kind="classes", bound=max(1.0, classes - 1.0), n_classes=classes)
    return Facts(n_rows=10**9, n_features=d, target=target)


def power_in(a: np.ndarray) -> float:
    """The power that weights above the floor follow."""
    return float(np.log(a[-1] / a[0]) / np.log(MEANS[0] / MEANS[-1]))


@pytest.mark.parametrize("classes", [2, 5])
@pytest.mark.parametrize("kappa", [0.0, 0.5, 1.0])
def test_evidence_finds_the_law_of_the_signal_under_known_noise(kappa, classes):
    """Coordinates of a bucket have energy in proportion to H m^kappa / N; noise is as large as the signal of a middle bucket."""
    rng = np.random.default_rng(0)
    deviation = np.sqrt(MEANS**kappa * 0.1 / 40)
    noise = np.full(MEANS.size, np.median(deviation))
    shape = (MEANS.size, 1 if classes == 2 else classes)
    evidence = SignalTest(columns(), facts_of(MEANS.size, classes))
    signal = rng.standard_normal(shape) * deviation[:, None]
    for step in (0.5, 1.0, 2.0):
        drawn = rng.standard_normal(shape) * noise[:, None]
        if classes > 2:
            drawn -= drawn.mean(axis=1, keepdims=True)
        evidence.add(step, signal + drawn, noise)
    assert power_in(evidence.weights()) == pytest.approx(0.55 * (1 - kappa), abs=0.12)


def test_without_evidence_the_belief_stays():
    law = np.array([1.0, 2.0, 4.0])
    assert fitted_law(np.zeros(3), np.full(3, 1e6), law, np.full(3, 0.25)).kappa == pytest.approx(0.3, abs=0.02)
    nothing = SignalTest(columns(), facts_of(MEANS.size))
    assert nothing.weights() is None
    nothing.add(1.0, np.zeros(MEANS.size), np.zeros(MEANS.size))
    assert power_in(nothing.weights()) == pytest.approx(0.55 * 0.7, abs=0.05), "exact answers of nothing do not fail"


def test_one_bucket_tells_nothing_about_a_law():
    evidence = SignalTest(columns(40), facts_of(40))
    evidence.add(1.0, np.ones(40), np.ones(40))
    assert evidence.weights() is None


@pytest.mark.parametrize(("energy", "expected"), [(0.0, 0.5), (1.0, 1.0), (9.0, 1.0)])
def test_columns_below_the_floor_are_weighted_by_their_own_energy(energy, expected):
    """Their squared weight over that of the next bucket is as the energy of signal over that of a column, within bounds."""
    told = columns()
    low = replace(
        told,
        means=np.r_[np.full(40, told.floor), MEANS],
        buckets=np.r_[np.zeros(40, dtype=np.intp), told.buckets],
        counts=told.counts + 40 * (np.arange(BUCKETS) == 0),
        energies=told.energies + 0.1 * (np.arange(BUCKETS) == 0),
        centres=np.where(np.arange(BUCKETS) == 0, told.floor, told.centres),
    )
    evidence = SignalTest(low, facts_of(MEANS.size + 40))
    beside = (told.centres[1] / told.floor) ** 1.1  # at kappa = 0 the law is flat, and the power is 0.55
    evidence.add(1.0, np.r_[np.full(40, np.sqrt(energy * beside)), np.ones(MEANS.size)], np.full(MEANS.size + 40, 1e-6))
    a = evidence.weights()
    assert power_in(a[40:]) == pytest.approx(0.55, abs=0.06)
    assert a[0] / a[40] == pytest.approx(expected * (MEANS[0] / told.floor) ** power_in(a[40:]), rel=0.15)


def test_powers_stay_within_their_bounds():
    assert [PowerLaw(k, 1.0).power for k in (-0.5, 0.0, 1.0, 2.0)] == pytest.approx([0.6, 0.55, 0.0, -0.1])


def scripted(d: int, gradients: list[np.ndarray]) -> tuple[ScriptedOracle, DualAveraging]:
    loop = DualAveraging(
        loop=Averaging(steps=len(gradients), length=4.0, clip=1.0, share=1.0, momentum=0.0),
        column_weight=1.0,
        intercept_weight=1.0,
        weighting=RULE,
    )
    energies = np.zeros(BUCKETS)
    energies[1:7] = 0.1
    script = {"means": [MEANS[:d]], "energies": [energies], "gradient": gradients}
    return ScriptedOracle.of(loop, Facts(n_rows=10, n_features=d), script, noise=1e-6), loop


def test_columns_are_told_by_two_questions():
    oracle, loop = scripted(MEANS.size, [np.zeros(MEANS.size)])
    told = released_columns(oracle, loop.weighting)
    np.testing.assert_array_equal(told.buckets, columns().buckets)
    np.testing.assert_allclose(told.centres[1:7], columns().centres[1:7])
    assert told.centres[0] == RULE.floor


def test_weights_change_only_when_it_is_time_and_follow_the_answers():
    """Gradients that grow with frequency: the first weights stay for two steps, then frequent columns are held back less."""
    steep = [1e3 * MEANS] * 6
    oracle, loop = scripted(MEANS.size, steep)
    loop.run(oracle)
    asked = [q.weights[-1] / q.weights[0] for q in oracle.questions("gradient")]
    assert asked[0] == asked[1] == pytest.approx((MEANS[0] / MEANS[-1]) ** 0.45)
    assert asked[2] == asked[3] > 2 * asked[0]


def test_sums_are_kept_in_units_of_the_columns_as_weights_change():
    """Without momentum and threshold the result is the sum of steps times squared weights times gradients in those units."""
    rng = np.random.default_rng(1)
    gradients = [rng.standard_normal(MEANS.size) for _ in range(4)]
    oracle, loop = scripted(MEANS.size, gradients)
    found = loop.run(oracle)
    weights = [q.weights for q in oracle.questions("gradient")]
    assert not np.allclose(weights[0], weights[-1])
    expected = -sum(s * a * g for s, a, g in zip(loop.loop.sizes, weights, gradients, strict=True))
    np.testing.assert_allclose(found, expected)


def test_an_intercept_that_is_not_found_yet_is_no_evidence():
    """The gradient of every column is its mean times the mean slope, which grows with frequency and says nothing."""
    told, rng = columns(), np.random.default_rng(3)
    signal = 0.02 * rng.standard_normal(MEANS.size)  # alike in all columns: a flat law
    noise = np.full(MEANS.size, 1e-4)
    unaware, aware, away = (SignalTest(told, facts_of(MEANS.size)) for _ in range(3))
    unaware.add(1.0, signal + 0.4 * MEANS, noise)
    aware.add(1.0, signal + 0.4 * MEANS, noise, 0.4)
    away.add(1.0, signal, noise, 0.4)
    assert power_in(unaware.weights()) < 0.3
    assert power_in(aware.weights()) > 0.45
    assert power_in(away.weights()) > 0.45, "columns that are as often negative as positive have mean zero"


@pytest.mark.parametrize(("slope", "longer"), [(0.1, 1.0), (0.45, 1.35)])
def test_the_path_is_longer_where_a_class_is_rare(slope, longer):
    facts = Facts(n_rows=10**9, n_features=MEANS.size, intercept=0.5, target=Target(kind="classes"))
    loop = DualAveraging(
        loop=Averaging(steps=6, length=4.0, clip=1.0, share=1.0, momentum=0.0),
        column_weight=1.0,
        intercept_weight=1.0,
        weighting=replace(RULE, balance_share=0.005),
    )
    energies = np.where((np.arange(BUCKETS) > 0) & (np.arange(BUCKETS) < 7), 0.1, 0.0)
    script = {"balance": [[slope]], "means": [MEANS], "energies": [energies], "gradient": [np.ones(MEANS.size + 1)] * 6}
    found = loop.run(ScriptedOracle.of(loop, facts, script, noise=1e-9))
    assert found[-1] == pytest.approx(-4.0 * longer)
