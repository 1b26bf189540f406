"""Any recipe of noisy sums over sites that make the noise in shares."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from ...core import Adjacency, DataError, PrivacyError
from ...core.facts import Vector
from ...core.mechanisms import Randomness
from ...estimators.linear import SparseLinear
from ...fitting import (
    FitPlan,
    ProgressCallback,
    Rows,
    Seed,
    Session,
    Shape,
    plan_fit,
    read_targets,
    run,
    trial_run,
    warn_if_seeded,
)
from ...fitting.statement import draft_fit
from ...ledger import Ledger, Payment, reserve
from ...oracles.shares import NoiseShare, SharedNoiseOracle, check_shareable, single_site_bill
from ...rows.hosts import MemoryHost
from ...rows.lattice import Lattice
from ...rows.records import Records, suppress_messages


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
    Every site pays the whole bill out of its own ledger before it answers. The promise of the statement holds to everybody who sees sums, if at
    least `honest` sites add their shares as they should; the statement says what an aggregator who sees single parts could learn.

    Parameters
    ----------
    estimator : SparseRegressor or SparseClassifier
        With a recipe of noisy sums; classes declared; replace-one.
    holdings : sequence of Holding
    honest : int
        m of the sites: each share has 1/m of the variance of the priced noise.
    run_id : str or None
        As in `Ledger.reserve`.
    """
    made: SparseLinear = clone(estimator)
    request = made.request()
    names = [h.name for h in holdings]
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
    trial_run(prepared)
    sources_of_noise = [Randomness(seed) for seed in _seeds(request.random_state, len(names))]
    warn_if_seeded(sources_of_noise[0], "fit")
    bill = single_site_bill(prepared.priced, honest)
    draft = draft_fit(
        prepared,
        (
            f"at least {honest} of the {len(names)} sites are asked the same questions, add their share of the noise as they should, and keep it secret",
        ),
        (
            f"whoever sees the integers of single sites, and not only their sums, learns up to ({bill.epsilon(prepared.delta):.6g}, "
            f"{prepared.delta:.3g}) about a row",
        ),
        secure=sources_of_noise[0].secure,
    )
    made.n_features_in_ = width
    vectors = [t.vectors(prepared.models) for t in targets]
    with _paid(holdings, prepared, run_id, seeded=not sources_of_noise[0].secure) as payments, suppress_messages():
        turns = iter(range(prepared.models))

        def opened(
            prepared: FitPlan, X: Rows, y: Vector, randomness: Randomness, payment: Payment, watcher: ProgressCallback
        ) -> Session:
            k = next(turns)
            plan = prepared.of_one_model
            assert plan is not None
            hosts = [
                MemoryHost(s.rescaled(prepared.facts.scale), v[k], prepared.facts)
                for s, v in zip(sources, vectors, strict=True)
            ]
            sites = [
                NoiseShare(host, prepared.loss, plan, honest, noise, paid)
                for host, noise, paid in zip(hosts, sources_of_noise, payments, strict=True)
            ]
            lattice = Lattice(prepared.facts)
            oracle = SharedNoiseOracle(prepared.facts, plan, sites, honest, watcher)
            return Session(oracle, lattice.applied_shift, lattice.applied_intercept)

        nothing: list[Vector] = [np.zeros(0)] * prepared.models
        found = run(
            prepared,
            np.zeros((0, width)),
            nothing,
            Payment(),
            lambda _: None,
            draft=draft,
            randomness=sources_of_noise[0],
            open_oracle=opened,
        )
    return made.keep(found, request.classes)


@contextmanager
def _paid(
    holdings: Sequence[SiteData], prepared: FitPlan, run_id: str | None, *, seeded: bool
) -> Iterator[list[Payment]]:
    """Reservations in the ledgers of all sites; refunded together if nothing was answered."""
    with ExitStack() as stack:
        yield [
            stack.enter_context(
                reserve(
                    h.ledger,
                    h.dataset,
                    prepared.bill,
                    label=prepared.recipe.name,
                    run_id=None if run_id is None or h.dataset is None else run_id,
                    delta=prepared.delta,
                    seeded=seeded,
                )
            )
            for h in holdings
        ]


def _seeds(seed: Seed, count: int) -> list[int | None]:
    """A seed for each site, where there is one."""
    if seed is None:
        return [None] * count
    generator = Randomness(seed).generator()
    return [int(v) for v in generator.integers(0, 2**63 - 1, count)]
