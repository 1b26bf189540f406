"""How runs are compared: by a private mean of bounded losses."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...accounting import PlanCost, PricedPlan, price
from ...core import Adjacency, Ask, Budget, MissingBoundError, Noise, Plan, checks
from ...core.facts import Facts, Vector
from ...core.plain import to_json
from ...core.statement import AskSummary
from ...fitting import FitRequest, Rows, Session
from ...fitting.drawn import Drawn, summaries_of
from ...fitting.session import PaidBy, open_host, session
from ...queries.losses import joint_of, mean_of
from ...rows import Records
from ...rows.hosts import Host
from ...rows.row_bounds import RowBounds
from ..linear import SparseLinear

#: Scores by scikit-learn's names, and the loss behind each.
REGRESSION = {"neg_mean_squared_error": "squared", "neg_mean_absolute_error": "absolute"}
CLASSIFICATION = {"accuracy": "error", "neg_log_loss": "log-loss"}

#: Default bound on log-loss: that of giving the right class a probability of one eighth.
LARGEST_LOG_LOSS = 3 * math.log(2)


@dataclass(frozen=True)
class Scoring:
    """A score: higher is better.

    Parameters
    ----------
    name : str
    kind : str
        Kind of the loss of one row.
    bound : float
        Each row's loss is clipped to [0, bound]. Public.
    """

    name: str
    kind: str
    bound: float

    @classmethod
    def read(cls, name: str, bound: float | None, request: FitRequest) -> Scoring:
        """Fill in the defaults for what the estimator was asked."""
        known = CLASSIFICATION if request.classifies else REGRESSION
        if name == "auto":
            name = next(iter(known))
        if name not in known:
            raise ValueError(
                f"score must be 'auto' or one of {', '.join(map(repr, known))} for this estimator, got {name!r}."
            )
        kind = known[name]
        if bound is None:
            residual = request.target_bound / 2
            bound = {"error": 1.0, "log-loss": LARGEST_LOG_LOSS, "squared": residual**2, "absolute": residual}[kind]
        return cls(name, kind, checks.positive(bound, "score_bound", error=MissingBoundError))

    def priced(self, rho: float, adjacency: Adjacency, exact: bool) -> PricedPlan:
        """The one ask of a score, at its price."""
        noise = Noise.DISCRETE_GAUSSIAN if exact else Noise.GAUSSIAN
        return price(Plan(asks=(Ask(name="score", question="MeanLoss", noise=noise),)), Budget.zcdp(rho, adjacency))

    def deviation(self, rho: float, n_rows: int) -> float:
        """Standard deviation of the noise in a score."""
        return self.bound / math.sqrt(2 * rho) / n_rows

    def of(self, loss: float) -> float:
        """The score that belongs to a mean loss."""
        return 1.0 - loss if self.kind == "error" else -loss


class Validation:
    """Rows that score models, through an oracle of their own for each.

    Parameters
    ----------
    X, y
        Private rows; y is coded 0, 1, ... for classes, and centred otherwise.
    facts : Facts
        What is public about them, as it was declared. Rows are clipped to the bounds of the model
        that is scored, and not shifted.
    scoring : Scoring
    priced : PricedPlan
        The price of one score.
    """

    def __init__(self, X: Rows, y: Vector, facts: Facts, scoring: Scoring, priced: PricedPlan) -> None:
        self._source, self._y = Records.of(X), y
        self._facts = facts.with_(shift=0.0, means=None, intercept=1.0, start=None)
        self._scoring = scoring
        self._priced = priced
        self._host: Host | None = None
        self._bounds: RowBounds | None = None

    def close(self) -> None:
        """Let workers of a cluster forget the rows."""
        if self._host is not None:
            self._host.close()

    def _hosted(self, model: SparseLinear) -> tuple[Host, float | Vector]:
        """The rows clipped as those of the model's fit were, and the units of their columns.

        Models of the same bounds share them.
        """
        bounds = model.fitted_bounds
        assert bounds is not None
        if self._host is None or self._bounds is None or to_json(bounds) != to_json(self._bounds):
            self.close()
            self._host, self._bounds = None, bounds
            lower, upper = bounds.lower / bounds.scale, bounds.upper / bounds.scale
            source = self._source.expanded(model.basis_)
            box = np.maximum(np.abs(lower), np.abs(upper)) * np.ones(source.shape[1])
            norm = float(np.linalg.norm(box)) if bounds.row_norm is None else bounds.row_norm
            facts = self._facts.with_(
                n_features=source.shape[1], lower=lower, upper=upper, row_norm=norm, scale=bounds.scale
            )
            self._host = open_host(source.rescaled(bounds.scale), self._y, facts)
        return self._host, bounds.scale

    def score(self, model: SparseLinear, request: FitRequest, opened: Session) -> tuple[float, tuple[AskSummary, ...]]:
        """A noisy score of a fitted model, and the answers it took."""
        loss = request.loss
        if vars(model).get("multinomial_"):
            loss = joint_of(loss, model.coef_.shape[0]) or loss
        host, scale = self._hosted(model)
        height = host.lattice.applied_intercept
        coefficients = np.column_stack([np.atleast_2d(model.coef_) * scale, np.atleast_1d(model.intercept_) / height])
        if not request.classifies and mean_of(loss) is None:  # rows hold centred targets
            coefficients[:, -1] -= request.target_center / height
        payer, bill = PaidBy(None, None), PlanCost.of(self._priced)  # paid for by the session around it
        with session(payer, bill=bill, label="score", delta=1.0, randomness=opened.randomness) as own:
            oracle = own.oracle(host, loss, self._priced)
            mean = oracle.validation_loss(coefficients, kind=self._scoring.kind, bound=self._scoring.bound)
        return self._scoring.of(mean), summaries_of([Drawn(oracle.receipts, self._priced)])
