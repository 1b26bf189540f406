"""A second opinion: epsilon recomputed from a statement's own list of answers, by another library."""

from __future__ import annotations

import logging
from dataclasses import replace

from ..accounting.random_stopping import RANDOM_STOPPING
from ..core import Noise, PrivacyError, Statement


def require_dp_accounting() -> None:
    """Refuse early, with what to install."""
    try:
        import dp_accounting  # noqa: F401
    except ImportError:
        raise ImportError(
            "a second opinion needs dp-accounting. Install it with: pip install 'dpsparse[audit]'"
        ) from None


def recomputed_epsilon(statement: Statement) -> float:
    """Epsilon of a statement at its delta, recomputed from its `asks` with dp-accounting.

    Gaussian answers are composed as privacy loss distributions under the statement's adjacency;
    answers of selections and Laplace noise by their zCDP bounds, which is looser than our own
    account (so the result, an upper bound, may exceed the statement's epsilon there, by up to a
    fifth). Nothing of our accounting code is used.

    Examples
    --------
    >>> import numpy as np
    >>> from dpsparse import SparseRegressor, audit, recipes
    >>> X = np.random.default_rng(0).uniform(-1, 1, (200, 3))
    >>> recipe = recipes.DPIGHT(mechanism="dense", steps=4)
    >>> model = SparseRegressor(epsilon=1.0, feature_bound=1.0, target_bound=1.0, recipe=recipe).fit(X, X[:, 0])
    >>> abs(audit.recomputed_epsilon(model.statement_) - model.statement_.epsilon) < 1e-3
    True
    """
    require_dp_accounting()
    import dp_accounting
    from dp_accounting import pld, rdp

    if not statement.priced:
        raise PrivacyError("this model was fitted without a price that is proven; there is nothing to recompute.")
    if statement.accountant.startswith(RANDOM_STOPPING):
        raise PrivacyError(
            "this model was chosen by a private search, which costs more than the answers of its best run; "
            "they are not enough to recompute it."
        )
    parts = {a.part for a in statement.asks}
    if len(parts) > 1:  # each row is in one of them
        each = [replace(statement, asks=tuple(a for a in statement.asks if a.part == part)) for part in parts]
        return max(recomputed_epsilon(part) for part in each)
    logging.getLogger("absl").setLevel(logging.ERROR)
    relation = dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE
    replace_one = statement.adjacency == "replace-one"
    if any(a.noise.local for a in statement.asks):
        return _local_epsilon(statement)
    if all(a.noise == Noise.GAUSSIAN for a in statement.asks):
        if any(a.rate < 1 for a in statement.asks) and replace_one:
            relation = dp_accounting.NeighboringRelation.REPLACE_ONE
        accountant = pld.PLDAccountant(relation)
        for a in statement.asks:
            # under REPLACE_ONE this accountant wants sigma over the norm of one record, half the stated sensitivity
            record = a.sensitivity / 2 if relation is dp_accounting.NeighboringRelation.REPLACE_ONE else a.sensitivity
            event = dp_accounting.GaussianDpEvent(a.scale / record)
            accountant.compose(event if a.rate >= 1 else dp_accounting.PoissonSampledDpEvent(a.rate, event), a.times)
        return float(accountant.get_epsilon(statement.delta))
    if any(a.rate < 1 or a.noise == Noise.OBJECTIVE for a in statement.asks):
        raise PrivacyError("no second opinion is known for sampled selections or perturbed objectives.")
    rho = sum(a.times * a.draws * a.cost**2 / (8 if a.noise == Noise.GUMBEL else 2) for a in statement.asks)
    return float(rdp.RdpAccountant().compose(dp_accounting.ZCDpEvent(rho)).get_epsilon(statement.delta))


def _local_epsilon(statement: Statement) -> float:
    """Epsilon of the reports of one person.

    A part `rate` of the people gives each answer, so that times * rate of them are one person's.

    Where labels are randomised for several classes only two reports count, and this is an upper
    bound.
    """
    from dp_accounting.pld import privacy_loss_distribution as losses

    if not all(a.noise.local for a in statement.asks):
        raise PrivacyError("no second opinion is known for reports of people beside answers of a curator.")
    if all(a.noise == Noise.LOCAL for a in statement.asks):
        return float(sum(a.times * a.rate * a.cost for a in statement.asks))
    mu = sum(a.times * a.rate * a.cost**2 for a in statement.asks) ** 0.5
    return float(losses.from_gaussian_mechanism(1 / mu).get_epsilon_for_delta(statement.delta))
