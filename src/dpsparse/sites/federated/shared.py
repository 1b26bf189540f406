"""Any recipe of noisy sums over sites that make the noise in shares."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from ...core import Adjacency, DataError, PrivacyError
from ...core.facts import Vector
from ...core.mechanisms import Randomness
from ...estimators.input_checks import refuse_named_unit
from ...estimators.linear import SparseLinear
from ...fitting import FitPlan, FitRequest, Rows, Seed, Session, Shape, fit, plan_fit, read_targets, rescaled_rows
from ...fitting.session import OpenOracle, PaidBy
from ...ledger import Ledger
from ...oracles.shares import NoiseShare, SharedNoiseOracle, check_shareable, single_site_bill
from ...queries.kinds import Oracle
from ...rows.hosts import MemoryHost
from ...rows.records import Records

#: What the statement of such a fit assumes, and what it says of single sites.
HONEST = (
    "at least {honest} of the {sites} sites are asked the same queries, add their share of the noise as they should, "
    "and keep it secret"
)
SINGLE_SITES = (
    "anyone who sees the integers of single sites, and not only their sums, learns up to ({epsilon:.6g}, {delta:.3g}) "
    "about a row"
)


@dataclass(frozen=True, eq=False, repr=False)
class SiteData:
    """What one site brings: rows, and who pays for them.

    Parameters
    ----------
    name : str
    X, y
        **Private** rows.
    ledger, dataset
        The durable budget of this site.
    """

    name: str
    X: Any
    y: Any
    ledger: Ledger | str | None = None
    dataset: str | None = None


def fit_shared(
    estimator: SparseLinear, holdings: Sequence[SiteData], *, honest: int, run_id: str | None = None
) -> SparseLinear:
    r"""Fit over sites of this process, each of which adds its share of the noise.

    Guarantee
    ---------
    Every site pays the whole bill out of its own ledger before it answers. The guarantee of the
    statement holds to everybody who sees sums, if at least `honest` sites add their shares as they
    should; the statement says what an aggregator who sees single parts could learn.

    Parameters
    ----------
    estimator : SparseRegressor or SparseClassifier
        With a recipe of noisy sums; classes declared; replace-one.
    holdings : sequence of SiteData
    honest : int
        m of the sites: each share has 1/m of the variance of the priced noise.
    run_id : str or None
        As in `Ledger.reserve`.
    """
    made: SparseLinear = clone(estimator)
    refuse_named_unit(made, "a fit over several sites")
    request, names = made.request(), [h.name for h in holdings]
    _check_request(request, names, honest)
    sources = [Records.of(h.X) for h in holdings]
    targets = [read_targets(request, np.asarray(h.y)) for h in holdings]
    width = sources[0].shape[1]
    if any(s.shape[1] != width or t.coded.size != s.shape[0] for s, t in zip(sources, targets, strict=True)):
        raise DataError("every site needs the same number of features, and one target for each row.")
    n_rows = sum(source.shape[0] for source in sources)
    shape = Shape(n_rows=n_rows, n_features=width, sparse=any(s.sparse for s in sources), models=targets[0].models)
    prepared = plan_fit(request, shape)
    if prepared.priced is None:
        raise PrivacyError("sites make noise in shares, and this recipe has none.")
    check_shareable(prepared.plan)
    alone = single_site_bill(prepared.priced, honest).epsilon(prepared.delta)
    made.n_features_in_ = width
    found = fit(
        prepared,
        np.zeros((0, width)),  # no row leaves its site
        [np.concatenate(own) for own in zip(*(t.vectors(prepared.models) for t in targets), strict=True)],
        (HONEST.format(honest=honest, sites=len(names)),),
        (SINGLE_SITES.format(epsilon=alone, delta=prepared.delta),),
        payers=[PaidBy(h.ledger, h.dataset, run_id=None if h.dataset is None else run_id) for h in holdings],
        opener=_opener([source.expanded(prepared.request.basis) for source in sources], honest, request.random_state),
        stacklevel=4,
    )
    return made.keep(found, request.classes)


def _check_request(request: FitRequest, names: Sequence[str], honest: int) -> None:
    """Refuse what several sites cannot do together."""
    if not names or len(set(names)) != len(names):
        raise ValueError("holdings must have different names, and there must be one at least.")
    if not 1 <= honest <= len(names):
        raise PrivacyError(f"of {len(names)} sites between 1 and {len(names)} can be honest, not {honest!r}.")
    if request.ledger is not None:
        raise ValueError("every site pays for its own rows: give ledger and dataset to the holdings.")
    if request.classifies and request.classes is None:
        raise ValueError("sites need the classes declared: classes=[...].")
    if request.intervals is not None:
        raise PrivacyError(
            "intervals deal rows to two parts by coins of a curator, which sites do not have: leave intervals=None."
        )
    if request.check_cells is not None:
        raise PrivacyError("sites do not say which cells of their tables were not understood: leave check_cells=None.")
    if request.adjacency is not Adjacency.REPLACE_ONE:
        raise PrivacyError("sites count their rows in public here: use adjacency='replace-one'.")


def _opener(sources: Sequence[Records], honest: int, seed: Seed) -> OpenOracle:
    """Opens oracles whose rows and noise are those of each site, at the site."""
    noises = [Randomness(one) for one in _seeds(seed, len(sources))]
    ends = np.cumsum([source.shape[0] for source in sources])[:-1]

    @contextmanager
    def opened_at_sites(prepared: FitPlan, X: Rows, y: Vector, opened: Session) -> Iterator[Oracle]:
        """`y` holds the targets of the sites one after the other."""
        plan = prepared.of_one_model
        assert plan is not None
        hosts = [
            MemoryHost(rescaled_rows(prepared, source), own, prepared.facts)
            for source, own in zip(sources, np.split(y, ends), strict=True)
        ]
        shares = [
            NoiseShare(host, prepared.loss, plan, honest, noise, payment)
            for host, noise, payment in zip(hosts, noises, opened.payments, strict=True)
        ]
        yield SharedNoiseOracle(prepared.facts, plan, shares, honest, opened.progress)

    return opened_at_sites


def _seeds(seed: Seed, count: int) -> list[int | None]:
    """A seed for each site, where there is one."""
    if seed is None:
        return [None] * count
    generator = Randomness(seed).generator()
    return [int(v) for v in generator.integers(0, 2**63 - 1, count)]
