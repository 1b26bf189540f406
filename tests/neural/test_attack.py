"""An attack on the gradients of a network: what is seen of one record stays within the price, and half of the noise is caught."""

import numpy as np
import pytest

pytest.importorskip("torch", reason="extra torch")

from dpsparse.accounting import price
from dpsparse.core import Budget
from dpsparse.core.mechanisms import lattice_gaussian
from dpsparse.sites.neural import oracle as oracles
from dpsparse.sites.neural.gradients import RowGradients
from dpsparse.sites.neural.oracle import LOSSES, NetworkOracle, gradients_plan, private_rows
from truth.audit import Stream, mu_lower
from truth.networks import images, small

DRAWS, CLIP = 1500, 0.05


def worlds() -> tuple[np.ndarray, np.ndarray, float]:
    """What an attacker sees along the direction in which two records differ, and the mu that was stated for one answer."""
    gradients = RowGradients(small(), LOSSES["cross_entropy"], chunk=16)
    priced = price(gradients_plan(DRAWS, 1.0, private=True), Budget.approx(1200.0, 1e-5))
    w, (X, y) = gradients.start(), images(3)
    y[1] = 0
    other = y.copy()
    other[1] = 2
    pair = [private_rows(X, labels, "cross_entropy", 3, 3) for labels in (y, other)]
    apart = np.subtract(*(gradients.total(w, r.X, r.y, r.known, CLIP).astype(float) for r in pair))
    direction = apart / np.linalg.norm(apart)
    seen = []
    for seed, rows in enumerate(pair):
        noisy = NetworkOracle(gradients, rows, priced, CLIP, Stream(seed))
        seen.append(np.array([noisy.gradient(w) @ direction for _ in range(DRAWS)]))
    return seen[0], seen[1], priced.cost("gradient").strength


@pytest.mark.slow
def test_an_attacker_learns_no_more_than_was_priced():
    one, two, cost = worlds()
    assert 0.4 * cost < mu_lower(one, two) <= cost


@pytest.mark.slow
def test_half_of_the_noise_is_caught(monkeypatch):
    monkeypatch.setattr(
        oracles, "lattice_gaussian", lambda total, scale, noise: lattice_gaussian(total, scale / 2, noise)
    )
    one, two, cost = worlds()
    assert mu_lower(one, two) > cost
