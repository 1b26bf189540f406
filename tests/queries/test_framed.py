"""Queries about rows in a frame: what a user-supplied loss declares costs accuracy, and no privacy."""

import numpy as np
import pytest

from dpsparse.core import Adjacency
from dpsparse.core.facts import Facts, Projection
from dpsparse.losses import Squared
from dpsparse.queries.framed import PIECE_ROWS
from dpsparse.queries.kinds import Hessian, ProjectedModel
from dpsparse.queries.rules import SUMS, measure
from dpsparse.rows.hosts import MemoryHost

PLANE = ProjectedModel(Projection(support=np.arange(3), centre=np.zeros(3)), np.zeros(3), 0.0)
QUESTION = Hessian(PLANE, clip=0.8, norm=0.9)


def answered(X, y, curvature):
    """The integers of all rows, and how they are counted."""
    facts = Facts(n_rows=9, n_features=3, row_norm=1.5, lower=-1.0, upper=1.0, curvature=curvature)
    host = MemoryHost(X, y, facts)
    spec = measure(QUESTION, host.lattice)
    return sum(SUMS[Hessian].part(QUESTION, spec, shard, Squared()) for shard in host.shards), spec


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("curvature", [1.0, 0.0, -1.0, 5e-324, np.inf, -np.inf, np.nan])
def test_one_record_more_moves_a_hessian_within_its_sensitivity_whatever_curvature_a_loss_declares(curvature):
    rng = np.random.default_rng(0)
    X, y = rng.uniform(-1, 1, (PIECE_ROWS + 1, 3)), rng.normal(size=PIECE_ROWS + 1)
    whole, spec = answered(X, y, curvature)
    for without in (0, PIECE_ROWS // 2, PIECE_ROWS):  # the last record is in a piece of its own
        others, _ = answered(np.delete(X, without, axis=0), np.delete(y, without), curvature)
        moved = np.linalg.norm((whole.astype(float) - others) * spec.unit)
        assert moved <= spec.reach.l2(Adjacency.ADD_REMOVE)
