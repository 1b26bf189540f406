"""The server: it has no row.

It sends a model, checks what sites changed, averages with public weights, and thresholds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from os import PathLike

import numpy as np

from ...accounting import PlanCost, PricedPlan, price
from ...algorithms.federated import FedHT
from ...core import Budget, PrivacyError, Statement, checks
from ...core.facts import Vector
from ...core.mechanisms import Randomness
from ...estimators.input_checks import refuse_named_unit
from ...estimators.linear import SparseLinear
from ...fitting import FitPlan, FitRequest, Seed, Shape, default_delta, models_of, plan_fit
from ...fitting.shapes import refuse_shapes
from ...fitting.targets import refuse_class_weight
from ...oracles.client_updates import ClientUpdates, changes_plan
from ...oracles.noise_info import PricedNoise
from ...queries.kinds import Gradient
from ...rows.lattice import Lattice
from ..rounds import fitted_model, without_ledger
from ..rounds.protocol import LARGEST_BOUND, NOTHING, ROWS, SITES
from .certificate import ONE_STATE, SECRET_COINS, TRUSTED, state_federation, state_run
from .coordinator import SiteCoordinator, weights_of_sites
from .participant import bill_digest
from .protocol import Protocol


@dataclass(frozen=True, kw_only=True)
class SitePrivacy:
    """Privacy of whole sites, by noise that a **trusted server** adds to the average.

    Parameters
    ----------
    epsilon : float
    delta : float or None
        None: min(1e-6, 1/(10 N)) for N sites.
    clip : float
        Norm within which one site changes the model in a round.
    rate : float
        With which probability a site takes part in a round, by coins that the server keeps secret; 1: always.
    adjacency : {"replace-one", "add-remove"}
        Of sites.
    """

    epsilon: float
    delta: float | None = None
    clip: float
    rate: float = 1.0
    adjacency: str = "replace-one"

    def __post_init__(self) -> None:
        checks.positive(self.clip, "clip")
        if self.rate != 1.0:
            checks.fraction(self.rate, "rate")

    def price(self, rounds: int, sites: int) -> tuple[PricedPlan, float]:
        """The price of all rounds, and the delta at which it is stated."""
        delta = default_delta(sites) if self.delta is None else self.delta
        return price(changes_plan(rounds, self.rate), Budget.approx(self.epsilon, delta, self.adjacency)), delta


class Server(SiteCoordinator[Protocol, SparseLinear]):
    """Runs a federated recipe on the reports of sites.

    Guarantee
    ---------
    The server holds no row, and every report of a private protocol is protected by its site before
    it comes: nothing that the server does can cost privacy. A message that is malformed, damaged,
    not finite, beyond the radius, of another run, protocol or round, of a site that has not said
    what it guarantees, or the second of a site in a round, is refused with `MessageError` and changes
    nothing.

    Weights and divisor are public and fixed: a site that does not answer has changed nothing, and
    no other weight grows. A round may be closed with at least `least_sites` reports; with fewer it
    stays open, as it was.

    With `site_privacy` the noise is added here, once a round: see `ClientUpdates`. `state` is then
    required, and a round is noted as closed beside it before its noise is drawn, so that no noise
    is drawn twice for one round, by whichever server is resumed from it; and one that is resumed
    with another price, or with another kind of randomness, is refused (`SiteCoordinator`). What
    sites changed, who was asked, and how many answered is written to no file, told to no log, and
    not shown by `repr`.

    Parameters
    ----------
    estimator : SparseRegressor or SparseClassifier
        With ``recipe="dp_fedsgd_ht"``, ``"dp_fedgd_ht"`` or ``"fedsgd_ht"``; classes declared.
    sites : sequence of str
        Public names.
    n_rows : int
        The public number of rows that a site is expected to have; steps are planned for it.
    n_features : int
    weights : sequence of float or None
        Public weights of the sites, in their order; None: all alike. Never numbers of rows that are
        secret.
    least_sites : int
        With how many reports a round may be closed.
    sparse : bool
        Whether rows are stored sparse.
    site_privacy : SitePrivacy or None
        Protect whole sites, where they trust this server; with ``recipe="fedsgd_ht"``.
    sites_per_unit : int
        At most this number of sites know the same person: the statement composes the bills of the weakest
        ones. A unit is bounded at each site by itself; `unit` of the estimator is the word for it.
    state : path or None
        A file that must not exist yet; what came in is stored in it and beside it, so that the run
        goes on after a crash: see `open`. Required with `site_privacy`.
    random_state : int or None
        Of the server's own noise; seeds are for tests.
    nonce : str or None
        None: a new run. `open` and `resume` give the one of the run that goes on, which must be
        that of `state`.

    Examples
    --------
    >>> import numpy as np
    >>> from dpsparse import SparseRegressor
    >>> from dpsparse.federated import Grid, Server, Site
    >>> rng = np.random.default_rng(0)
    >>> model = SparseRegressor(epsilon=8.0, recipe="dp_fedgd_ht", feature_bound=1.0, target_bound=2.0, sparsity=1)
    >>> server = Server(model, sites=["north", "south"], n_rows=2000, n_features=3)
    >>> rows = {name: rng.choice([-1.0, 1.0], (2000, 3)) for name in server.protocol.sites}
    >>> sites = [Site(X, X[:, 1], server.protocol, name=name, epsilon=8.0) for name, X in rows.items()]
    >>> fitted = Grid(server, sites).run()
    >>> [int(j) for j in fitted.support_]
    [1]
    """

    def __init__(
        self,
        estimator: SparseLinear,
        *,
        sites: Sequence[str],
        n_rows: int,
        n_features: int,
        weights: Sequence[float] | None = None,
        least_sites: int = 1,
        sparse: bool = False,
        site_privacy: SitePrivacy | None = None,
        sites_per_unit: int = 1,
        state: str | PathLike[str] | None = None,
        random_state: Seed = None,
        nonce: str | None = None,
    ) -> None:
        self._estimator = without_ledger(estimator)
        if site_privacy is not None and weights is not None:
            raise ValueError("whole sites are protected with equal weights only. Leave weights=None.")
        shares = weights_of_sites(sites, weights)
        names = tuple(shares)
        request = self._estimator.request()
        refuse_class_weight(request)
        self._prepared = _prepare(request, n_rows, n_features, sparse)
        assert isinstance(self._prepared.solver, FedHT)
        self._loop: FedHT = self._prepared.solver
        private = self._prepared.priced is not None
        if not private:
            refuse_named_unit(estimator, "a fit that protects whole sites, or nobody,")
        if site_privacy is not None and private:
            raise PrivacyError(
                "site_privacy adds the server's noise to exact models of sites: use recipe='fedsgd_ht' for it."
            )
        unit = ROWS if private else NOTHING if site_privacy is None else SITES
        radius = _largest_change(self._prepared, self._loop) if site_privacy is None else site_privacy.clip
        protocol = Protocol.of(
            self._prepared, names, tuple(shares.values()), unit, radius, sites_per_unit=sites_per_unit, nonce=nonce
        )
        protocol.check()
        self._changes: ClientUpdates | None = None
        self._delta = math.nan
        self._randomness = Randomness(random_state)
        noise = None
        if site_privacy is not None:
            priced, self._delta = site_privacy.price(self._loop.rounds, len(names))
            self._changes = ClientUpdates(priced, site_privacy.clip, len(names))
            noise = bill_digest(PlanCost.of(priced), seeded=not self._randomness.secure)
        start = np.concatenate([self._prepared.facts.first()] * self._prepared.models)
        super().__init__(protocol, start, least_sites, state, noise)
        self._begin(nonce)

    def _invite(self) -> Sequence[int]:
        return super()._invite() if self._changes is None else self._changes.invite(self._randomness)

    def _step(self, w: Vector, turn: int, came: dict[int, Vector]) -> Vector:
        """Average with public weights, or with noise, and threshold, model by model."""
        if self._changes is not None:
            moved = [(1.0, self._changes.average(turn, list(came.values()), w.size, self._randomness))]
        else:
            moved = [(self.protocol.weights[i], change) for i, change in came.items()]
        models, free = self._prepared.models, self._prepared.facts.free
        parts = [(weight, change.reshape(models, -1)) for weight, change in moved]
        each = enumerate(w.reshape(models, -1))
        return np.concatenate([self._loop.average(one, [(p, c[k]) for p, c in parts], free) for k, one in each])

    # ---------------------------------------------------------------------------------------------- the model

    def statement(self) -> Statement:
        """What is guaranteed to the people of all sites."""
        about = self.protocol.about
        if self._changes is None:
            return state_federation(self.federation, about)
        receipt = self._changes.receipt
        return state_run(
            replace(about, unit=f"{SITES}, however many rows it has"),
            len(self.protocol.sites),
            self._changes.priced,
            self._delta,
            [receipt] * self.protocol.rounds,
            secure=self._randomness.secure,
            assumptions=(ONE_STATE, *([SECRET_COINS] if receipt.rate < 1 else [])),
            caveats=(TRUSTED,),
        )

    def model(self) -> SparseLinear:
        """The fitted estimator, with its statement, once all rounds are closed."""
        self._require_finished()
        each, exact = self._w.reshape(self._prepared.models, -1), not self.protocol.private
        return fitted_model(self._estimator, self._prepared, each, self.statement(), exact=exact)


# ------------------------------------------------------------------------------------------------ arguments


def _prepare(request: FitRequest, n_rows: int, n_features: int, sparse: bool) -> FitPlan:
    if request.classifies and request.classes is None:
        raise ValueError("a server needs the classes declared: classes=[...].")
    counts = request.check_bounds is not None or request.check_cells is not None
    if counts or request.noise != "lattice":
        raise ValueError(
            "sites count neither clipped entries nor cells that were not understood, and draw "
            "lattice noise: leave check_bounds, "
            "check_cells and noise alone."
        )
    models = models_of(request.classes)
    prepared = plan_fit(request, Shape(n_rows=n_rows, n_features=n_features, sparse=sparse, models=models))
    refuse_shapes(prepared.request)
    if not isinstance(prepared.solver, FedHT):
        raise PrivacyError("sites run federated recipes: recipe='dp_fedsgd_ht', 'dp_fedgd_ht' or 'fedsgd_ht'.")
    return prepared


def _largest_change(prepared: FitPlan, loop: FedHT) -> float:
    r"""Bound on the l2 norm of the change that a site reports in a round; the server refuses longer reports.

    Let the step sizes of a round sum to :math:`P`, the clipped gradients have norm at most :math:`C`, and the
    noise standard deviation :math:`\sigma` in each of D coordinates. The round then changes a model by at most
    :math:`P(C + \sigma(\sqrt D + 6))`, except with probability :math:`e^{-18}` for each gradient (concentration
    of Gaussian norms). The bound is doubled for samples with more rows than expected. A site whose change is
    longer projects it onto this norm. Several models together change by the root of their number times as much.
    Where nothing is private there is no such bound.
    """
    if prepared.priced is None:
        return LARGEST_BOUND
    facts, clip = prepared.facts, loop.local.clip
    sigma = PricedNoise(prepared.priced, Lattice(facts)).deviation(Gradient(facts.first(), clip), "gradient", 0)
    path = math.fsum(loop.local.step_sizes)
    return 2 * path * (clip.norm + sigma * (math.sqrt(facts.dimension) + 6)) * math.sqrt(prepared.models)
