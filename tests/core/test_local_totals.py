"""Sums of reports that are drawn without their terms: the law of the sum of reports, with few random numbers."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy import stats

from dpsparse.core.mechanisms import Randomness
from dpsparse.core.mechanisms.local import PrivUnit
from dpsparse.core.mechanisms.local.ball import BATCH, SHORTEST, Span
from truth import audit

P = SHORTEST + 6
EPSILON = 40.0  # caps are narrow, so that a wrong direction or height shows
rng = np.random.default_rng(0)
AWAY = rng.standard_normal((5, P))


def people(kind: str) -> np.ndarray:
    v = AWAY.copy()
    if kind == "equal":
        v[1:] = v[0] * np.array([[1.0], [-2.0], [0.5], [1e-9]])
    if kind == "empty":
        v[2:] = 0.0
    if kind == "near":
        v[1] = v[0] + 1e-5 * np.roll(v[0], 1)
    if kind == "odd":
        v[1], v[2, 3] = 1e200, np.nan
    if kind == "sparse":
        v[:, 40:] = 0.0
    return v


@pytest.mark.parametrize("kind", ["far", "equal", "empty", "near", "odd", "sparse"])
def test_a_total_has_the_law_of_the_sum_of_reports(kind):
    """Two samples of 1,500 sums, five looks each: Kolmogorov-Smirnov at 1e-8 a look."""
    unit, v = PrivUnit(P, EPSILON, radius=1.0), people(kind)
    given = sp.csr_matrix(v) if kind == "sparse" else v
    one, two = audit.Stream(1), audit.Stream(2)
    sums = np.array([unit.total(given, one) for _ in range(1500)]) * unit.unit
    reports = np.array([unit.reports(v, two).sum(axis=0) for _ in range(1500)]) * unit.unit
    first, second = v[0] / np.abs(v[0]).max(), v[1] / np.abs(v[1]).max()
    looks = [
        lambda s: s @ first,
        lambda s: s @ second,
        lambda s: s @ AWAY[3],
        lambda s: np.linalg.norm(s, axis=1),
        lambda s: s[:, -1],
    ]
    for look in looks:
        assert stats.ks_2samp(look(sums), look(reports)).pvalue > 1e-8


def test_a_total_is_unbiased_at_every_place():
    unit, v = PrivUnit(P, EPSILON, radius=50.0), people("far")
    stream = audit.Stream(3)
    sums = np.array([unit.total(v, stream) for _ in range(800)]) * unit.unit
    errors = (sums.mean(axis=0) - v.sum(axis=0)) / (sums.std(axis=0) / np.sqrt(800))
    assert np.all(np.abs(errors) < 6.5)  # 1,030 places at 1e-10


class Counted(Randomness):
    """Counts the normals that are drawn."""

    def __init__(self) -> None:
        super().__init__(0)
        self.normals = 0

    def generator(self):
        source, own = super().generator(), self

        class Generator:
            def __getattr__(self, name):
                return getattr(source, name)

            def standard_normal(self, size):
                own.normals += int(np.prod(size))
                return source.standard_normal(size)

        return Generator()


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_matrix])
def test_long_rows_need_few_random_numbers(storage):
    p, count = 60_000, 64
    v = np.zeros((count, p))
    v[np.arange(count), np.arange(count)] = 1.0
    drawn = Counted()
    PrivUnit(p, 1.0).total(storage(v), drawn)
    assert drawn.normals <= count / BATCH * p * 1.01 + 2 * (count + count) ** 2
    assert drawn.normals < count * p / 10


def test_short_rows_and_single_people_are_reported_as_devices_report_them():
    for p, count in ((SHORTEST - 1, 4), (P, 1)):
        unit, v = PrivUnit(p, 2.0), rng.standard_normal((count, p))
        assert np.array_equal(
            unit.total(v, audit.Stream(5)), unit.reports(v, audit.Stream(5)).sum(axis=0, dtype=np.int64)
        )


# ------------------------------------------------------------------------------------------------ the span


def unit_rows(v: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(v, axis=1)
    return v / np.where(lengths > 0, lengths, 1.0)[:, None]


@pytest.mark.parametrize(("kind", "rank"), [("far", 5), ("equal", 1), ("empty", 2)])
def test_a_span_gives_its_rows_back(kind, rank):
    u = unit_rows(people(kind))
    span = Span.of(u @ u.T)
    assert span.rank == rank
    assert not span.near.any()
    basis = np.array([span.expand(e) @ u for e in np.eye(rank)])
    assert np.allclose(basis @ basis.T, np.eye(rank), atol=1e-9)
    assert np.allclose(span.coordinates @ basis, u, atol=1e-9)
    v = rng.standard_normal(P)
    assert np.allclose(span.solve(u @ v), basis @ v, atol=1e-9)


def test_rows_near_a_span_and_not_in_it_are_named():
    u = unit_rows(people("near"))
    span = Span.of(u @ u.T)
    assert span.near.sum() == 1
    assert span.near[:2].any()


def test_half_of_the_distance_at_which_a_row_counts_as_new_would_still_be_told_apart():
    """What is outside is known to nine digits at `NEW`: a row at that distance has an orthonormal basis with its neighbour."""
    from dpsparse.core.mechanisms.local.ball import NEW

    u = unit_rows(AWAY[:2])
    across = unit_rows((u[1] - (u[1] @ u[0]) * u[0])[None])[0]
    for outside, near in ((2 * NEW, False), (NEW / 2, True)):
        pair = np.array([u[0], np.sqrt(1 - outside) * u[0] + np.sqrt(outside) * across])
        span = Span.of(pair @ pair.T)
        assert span.near.any() == near
        if not near:
            basis = np.array([span.expand(e) @ pair for e in np.eye(2)])
            assert np.allclose(basis @ basis.T, np.eye(2), atol=1e-8)
