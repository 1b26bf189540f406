"""How rows of a unit are put together, where what they add is at an edge of its lattice or of its grid."""

from __future__ import annotations

import numpy as np
import pytest

from dpsparse.core import Adjacency, PrivacyError
from dpsparse.core.facts import Facts
from dpsparse.losses import Squared
from dpsparse.queries.bounds import Bound, by_unit, interval
from dpsparse.queries.kinds import CellMoments, Cells, CentredModel, Path, Quantile
from dpsparse.queries.rules import CHOICES, SUMS, measure
from dpsparse.queries.unit_sums import MOST_COLUMNS, unit_clip
from dpsparse.rows.hosts import MemoryHost
from dpsparse.rows.lattice import Lattice
from dpsparse.rows.records import Records
from dpsparse.rows.units import WEIGHTS, read_units

FACTS = Facts(n_rows=2, n_features=1, lower=-8.0, upper=8.0, row_norm=8.0, target_bound=8.0)


def patients(rows, targets, ids):
    source = Records(np.array(rows, dtype=float)[:, None])
    facts = FACTS.with_(unit="patient", n_rows=len(set(ids)))
    return MemoryHost(source.by_unit(read_units(np.array(ids), len(ids))), np.array(targets, dtype=float), facts)


@pytest.mark.parametrize(("how", "added"), [("mean", 0.5), ("clipped mean", 2.0), ("mean of all", 0.5), ("any", 1.0)])
def test_rows_of_a_unit_are_bounded_before_or_after_they_are_put_together(how, added):
    shard = patients([1.0, 2.0], [0.0, 0.0], ["a", "a"]).shards[0]
    values = np.array([[4.0], [0.0]])  # beyond the bound, and within it
    [found] = by_unit(interval(-1.0, 1.0), iter([values]), shard, how)
    np.testing.assert_allclose(found, [[added]], rtol=1e-9)


def test_vectors_without_negative_numbers_are_the_root_of_two_norms_apart():
    everywhere, above = (Bound(np.full(3, low), np.ones(3), 1.0) for low in (-1.0, 0.0))
    far, near = (bound.spec(Lattice(FACTS)).reach.l2(Adjacency.REPLACE_ONE) for bound in (everywhere, above))
    assert (far, near) == (2.0, np.sqrt(2))
    one, other = np.eye(3)[:2]  # the distance is reached
    assert np.array_equal(above.clipped(np.array([one, other])).shape, (2, 3))
    assert np.linalg.norm(one - other) == near


def test_moments_of_units_are_truncated_to_the_lattice_on_which_their_sums_are_exact():
    """Half a unit and less than a tick of it: rounded to even, as half a unit is."""
    question = CellMoments(Cells(np.array([0])), "target")
    for beyond, whole in ((2.0**-34, 2), (2.0**-31, 3)):
        shard = patients([1.0], [2.5 * 2.0**-20 + beyond], ["a"]).shards[0]
        spec = measure(question, shard.lattice)
        assert spec.record == 2.0**20
        assert SUMS[CellMoments].part(question, spec, shard, Squared())[0] == whole


@pytest.mark.parametrize(("of", "within"), [("slopes", 1), ("targets", 0)])
def test_sizes_that_rounding_puts_beyond_a_point_of_the_grid_are_within_it_and_targets_are_not(of, within):
    host = MemoryHost(Records(np.array([[1.0]])), np.array([1.0 + 5e-7]), FACTS.with_(n_rows=1))
    model = CentredModel(np.zeros(0, dtype=np.intp), np.zeros(0), np.zeros(0), 0.0)
    counts = CHOICES[Quantile].part(Quantile(of, model, 0.5, np.array([1.0, 2.0])), host.shards[0], Squared())
    assert counts.tolist() == [within * WEIGHTS, WEIGHTS]


def test_sums_by_unit_are_exact_for_many_columns_and_refused_beyond():
    wide = FACTS.with_(n_features=1000)
    assert unit_clip(Lattice(wide), 1.0).weights.size == 1000
    with pytest.raises(PrivacyError, match="exact for at most 4194304 columns"):
        unit_clip(Lattice(wide.with_(n_features=MOST_COLUMNS + 1, lower=-1e-3, upper=1e-3)), 1.0)


def test_a_path_of_rescaled_columns_divides_every_coefficient_of_a_feature():
    path = Path([np.array([2.0, 4.0, 6.0])], [1.0], [0])
    assert path.rescaled(2.0).iterates[0].tolist() == [1.0, 2.0, 3.0]
    assert path.rescaled(np.array([2.0, 4.0])).iterates[0].tolist() == [1.0, 1.0, 6.0]  # the intercept has no scale
    assert path.rescaled(1.0) is path
