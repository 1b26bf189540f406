"""PrivUnit and the Gaussian randomiser: density ratio, unbiasedness and variance."""

import math

import numpy as np
import pytest
from scipy.special import betainc, gammaln

from dpsparse.core.mechanisms import Randomness
from dpsparse.core.mechanisms.local import LocalGaussian, PrivUnit
from dpsparse.core.mechanisms.local.ball import Cap
from truth import audit

GRID = [(p, e) for p in (2, 5, 54, 1000) for e in (0.5, 1.0, 2.0, 4.0, 8.0)]


def direction(p: int, norm: float) -> np.ndarray:
    v = np.random.default_rng(p).standard_normal(p)
    return norm * v / np.linalg.norm(v)


# ------------------------------------------------------------------------------------------------ density ratio


@pytest.mark.parametrize(("p", "epsilon"), GRID)
def test_the_two_levels_of_density_have_a_ratio_of_e_to_the_epsilon(p, epsilon):
    unit = PrivUnit(p, epsilon)
    P, q = unit.inside, unit.cap.mass
    assert q == pytest.approx(0.5 * betainc((p - 1) / 2, 0.5, 1 - unit.cap.gamma**2), rel=1e-8)
    ratio = math.log(P / q) - math.log((1 - P) / (1 - q))
    assert ratio <= epsilon
    assert ratio == pytest.approx(epsilon, rel=1e-9)
    assert (1 - P) / (1 - q) <= 1 <= P / q, "the uniform density of an empty record lies between the levels"


@pytest.mark.parametrize(("p", "epsilon"), [(3, 1.0), (54, 2.0), (54, 8.0)])
def test_heights_of_reports_have_the_law_of_two_caps(p, epsilon):
    unit = PrivUnit(p, epsilon)
    u = direction(p, 1.0)
    z = unit.reports(np.tile(u, (40_000, 1)), audit.Stream(1)) * unit.unit / unit.largest
    heights = z @ u

    def cdf(h):
        h = np.clip(h, -1, 1)
        below = np.where(
            h > 0, 1 - 0.5 * betainc((p - 1) / 2, 0.5, 1 - h**2), 0.5 * betainc((p - 1) / 2, 0.5, 1 - h**2)
        )
        q, P = unit.cap.mass, unit.inside
        return np.where(h < unit.cap.gamma, below / (1 - q) * (1 - P), 1 - P + (below - (1 - q)) / q * P)

    assert audit.ks_p_value(heights, cdf) > audit.ALARM
    # what is orthogonal to u is uniform: its angle with any other direction has the law of the smaller sphere
    other = np.random.default_rng(0).standard_normal(p)
    other -= (other @ u) * u
    other /= np.linalg.norm(other)
    across = (z @ other) / np.sqrt(1 - heights**2)
    if p > 3:
        sphere = (p - 2) / 2
        assert (
            audit.ks_p_value(across, lambda h: 0.5 + 0.5 * np.sign(h) * betainc(0.5, sphere, np.minimum(h**2, 1)))
            > audit.ALARM
        )


# ------------------------------------------------------------------------------------------------ mean and variance


@pytest.mark.parametrize(("p", "epsilon"), GRID)
def test_the_strength_of_a_cap_is_the_mean_height_by_quadrature(p, epsilon):
    unit = PrivUnit(p, epsilon)
    angle = np.linspace(0, math.pi, 400_001)
    weight = np.sin(angle) ** (p - 2) if p > 2 else np.ones_like(angle)
    height = np.cos(angle)
    inside = height >= unit.cap.gamma
    P = unit.inside
    mean = P * np.average(height[inside], weights=weight[inside])
    mean += (1 - P) * np.average(height[~inside], weights=weight[~inside])
    assert unit.radius / unit.largest == pytest.approx(mean, rel=2e-4)


@pytest.mark.parametrize("norm", [0.0, 0.3, 1.0, 7.0])
def test_reports_are_unbiased_for_the_vector_held_within_the_radius(norm):
    p, epsilon, radius, people = 20, 2.0, 2.0, 60_000
    unit = PrivUnit(p, epsilon, radius)
    v = direction(p, norm)
    z = unit.reports(np.tile(v, (people, 1)), audit.Stream(2)) * unit.unit
    held = v * min(1.0, radius / norm) if norm else v
    errors = (z.mean(axis=0) - held) / (z.std(axis=0) / math.sqrt(people))
    assert np.all(np.abs(errors) < 5.5)
    assert np.mean(np.sum((z - held) ** 2, axis=1)) == pytest.approx(
        unit.variance(np.linalg.norm(held)),
        abs=5.5 * np.std(np.sum((z - held) ** 2, axis=1)) / math.sqrt(people) + 1e-3,
    )


@pytest.mark.parametrize(
    ("p", "epsilon", "published", "hemisphere"),
    [(54, 1, 338.2, 392.5), (54, 2, 86.0, 143.9), (54, 4, 22.80, 89.43), (54, 8, 6.625, 83.15), (1000, 4, 434.6, 1688)],
)
def test_variances_are_the_known_ones_and_less_than_those_of_the_hemisphere(p, epsilon, published, hemisphere):
    assert PrivUnit(p, epsilon).variance(1.0) == pytest.approx(published, rel=1e-3)
    assert PrivUnit(p, epsilon, gamma=0.0).variance(1.0) == pytest.approx(hemisphere, rel=1e-3)


@pytest.mark.parametrize(("p", "epsilon"), GRID)
def test_gamma_zero_is_the_mechanism_of_duchi(p, epsilon):
    known = (math.exp(epsilon) + 1) / (math.exp(epsilon) - 1) * math.sqrt(math.pi)
    known *= math.exp(gammaln((p + 1) / 2) - gammaln(p / 2))
    assert PrivUnit(p, epsilon, 3.0, gamma=0.0).largest == pytest.approx(3 * known, rel=1e-9)


@pytest.mark.parametrize(("p", "epsilon"), GRID)
def test_no_other_gamma_has_less_variance(p, epsilon):
    best = PrivUnit(p, epsilon)
    others = [PrivUnit(p, epsilon, gamma=best.cap.gamma * f).largest for f in (0.0, 0.5, 0.9, 0.99, 1.0, 1.01)]
    assert best.largest <= min(others) * (1 + 1e-9)


# ------------------------------------------------------------------------------------------------ robustness


@pytest.mark.parametrize("epsilon", [1e-6, 0.01, 20.0, 100.0, 700.0, 1e4])
@pytest.mark.parametrize("p", [2, 3, 54, 1000, 100_000])
def test_the_search_is_stable_from_tiny_to_huge_epsilon(p, epsilon):
    unit = PrivUnit(p, epsilon)
    assert 0 < unit.inside < 1
    assert unit.largest >= 1 - 1e-9
    ratio = math.log(unit.inside / unit.cap.mass) - math.log((1 - unit.inside) / (1 - unit.cap.mass))
    assert ratio <= epsilon
    told = unit.reports(np.ones((3, p)), Randomness(0))
    assert unit.valid(told)


def test_larger_epsilon_means_less_variance_down_to_almost_none():
    found = [PrivUnit(54, e).variance(1.0) for e in (0.1, 1, 10, 50, 100, 200, 400, 1e4)]
    assert found == sorted(found, reverse=True)
    assert found[-1] < 1e-6


def test_reports_lie_on_one_lattice_and_one_sphere_whatever_the_vector():
    unit = PrivUnit(6, 1.0)
    wild = np.array([[np.nan] * 6, [np.inf] + [0] * 5, [1e308] * 6, [1e-320] * 6, [0.0] * 6, [1.0] * 6])
    told = unit.reports(wild, Randomness(0))
    assert told.dtype == np.int32
    assert unit.valid(told)
    assert np.allclose(np.linalg.norm(told * unit.unit, axis=1), unit.largest, rtol=1e-5)


def test_an_empty_record_reports_a_uniform_point():
    unit = PrivUnit(4, 3.0)
    z = unit.reports(np.zeros((60_000, 4)), audit.Stream(5)) * unit.unit / unit.largest
    assert np.all(np.abs(z.mean(axis=0)) < 5.5 / math.sqrt(4 * 60_000))
    assert (
        audit.ks_p_value(z[:, 0], lambda h: 0.5 + 0.5 * np.sign(h) * betainc(0.5, 1.5, np.minimum(h**2, 1)))
        > audit.ALARM
    )


@pytest.mark.parametrize("spoil", ["longer", "shorter", "another", "wider"])
def test_reports_of_another_norm_or_length_are_not_possible(spoil):
    unit = PrivUnit(30, 1.0)
    told = unit.reports(np.ones((1, 30)), Randomness(1))[0]
    assert unit.valid(told)
    bad = {
        "longer": told * 2,
        "shorter": told // 2,
        "another": np.r_[told[:-1], 2**30].astype(np.int32),
        "wider": np.r_[told, 0].astype(np.int32),
    }[spoil]
    assert not unit.valid(bad)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: PrivUnit(1, 1.0), "2 to"),
        (lambda: PrivUnit(5, 0.0), "epsilon"),
        (lambda: PrivUnit(5, 1.0, -1.0), "radius"),
        (lambda: PrivUnit(5, 1.0, gamma=1.0), "gamma"),
        (lambda: PrivUnit(100_000, 1.0, gamma=0.5).cap, "smaller one"),
        (lambda: LocalGaussian(5, 0.0), "mu"),
        (lambda: LocalGaussian(5, 1.0, math.inf), "radius"),
    ],
)
def test_impossible_randomisers_are_refused(build, message):
    with pytest.raises(ValueError, match=message):
        build()


def test_a_cap_of_half_the_sphere_is_the_hemisphere():
    assert Cap.of_mass(17, 0.5).gamma == 0


# ------------------------------------------------------------------------------------------------ Gaussian


def test_the_gaussian_randomiser_has_noise_of_two_radii_over_mu_and_is_unbiased():
    gaussian = LocalGaussian(8, mu=0.5, radius=3.0)
    assert gaussian.sigma == 12.0
    v = direction(8, 2.0)
    z = gaussian.reports(np.tile(v, (50_000, 1)), audit.Stream(6)) * gaussian.unit
    assert np.all(np.abs(z.mean(axis=0) - v) < 5.5 * 12 / math.sqrt(50_000))
    assert np.all(np.abs(z.var(axis=0) / 144 - 1) < 5.5 * math.sqrt(2 / 50_000))
    assert gaussian.variance() == 8 * 144
    assert gaussian.valid(gaussian.reports(np.tile(v, (100, 1)), Randomness(0)))


@pytest.mark.parametrize("wild", [np.full(4, 1e300), np.full(4, np.nan), np.array([np.inf, 0, 0, 0]), np.full(4, 9.0)])
def test_what_gets_gaussian_noise_never_leaves_the_ball(wild, monkeypatch):
    seen = []

    def watch(total, scale, randomness):
        seen.append(total)
        return total.astype(float)

    monkeypatch.setattr("dpsparse.core.mechanisms.local.gaussian.lattice_gaussian", watch)
    gaussian = LocalGaussian(4, mu=1.0, radius=3.0)
    gaussian.reports(wild[None], Randomness(0))
    assert np.sum(seen[0].astype(object) ** 2) <= int(3.0 / gaussian.unit) ** 2


def test_a_far_longer_report_than_honest_ones_is_not_possible():
    gaussian = LocalGaussian(4, mu=1.0)
    assert not gaussian.valid(np.full(4, 2**31 - 1, dtype=np.int32))
    assert not gaussian.valid(np.zeros(5, dtype=np.int32))
