"""Central recipes over sites that make the noise in shares."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from dpsparse import Ledger
from dpsparse.core import Ask, EveryRow, Noise, Plan, PoissonRows, PrivacyError, PrivacyLeakError
from dpsparse.federated import SiteData, fit_shared
from dpsparse.queries.kinds import CentredModel, ResidualMean
from dpsparse.recipes import DPIGHT, DPSGDHT, PrivateRecipe
from truth.sites import NAMES, TRUTH, estimator, rows

DENSE = DPIGHT(mechanism="dense", steps=4, step_size=0.5, clip=3.0)


def holdings(count=3, **options):
    return [SiteData(name, *rows(100 + k), **options) for k, name in enumerate(NAMES[:count])]


@pytest.mark.parametrize("recipe", [DENSE, DPSGDHT(steps=6, batch_size=200, clip=3.0), "dual_averaging"])
def test_a_central_recipe_finds_the_model_over_sites(recipe):
    model = fit_shared(estimator(recipe, epsilon=50.0, random_state=1), holdings(), honest=3)
    assert np.flatnonzero(model.coef_).tolist() == np.flatnonzero(TRUTH).tolist()
    assert model.statement_.n_rows == 600
    assert model.statement_.epsilon <= 50.0
    assert "at least 3 of the 3 sites are asked the same queries" in model.statement_.assumptions[0]
    assert "anyone who sees the integers of single sites" in model.statement_.details()


def test_at_a_huge_epsilon_it_is_the_fit_of_a_curator():
    model = estimator(DENSE, epsilon=1e10, random_state=1)
    X, y = (np.concatenate(part) for part in zip(*(rows(100 + k) for k in range(3)), strict=True))
    assert np.allclose(fit_shared(model, holdings(), honest=2).coef_, model.fit(X, y).coef_, atol=1e-3)


def test_every_site_pays_out_of_its_own_ledger_or_nobody_pays(tmp_path):
    ledger = Ledger(f"sqlite:///{tmp_path}/budget.db")
    for name, total in zip("abc", (5.0, 5.0, 0.5), strict=True):
        ledger.create(f"clinic {name}", epsilon=total, delta=1e-4)
    here = [SiteData(n, *rows(k), ledger=ledger, dataset=f"clinic {n}") for k, n in enumerate("abc")]
    with pytest.raises(ValueError, match="less left"):
        fit_shared(estimator(DENSE), here, honest=3)
    assert [ledger.spent(f"clinic {n}").epsilon for n in "abc"] == [0.0, 0.0, 0.0]
    fit_shared(estimator(DENSE), here[:2], honest=2)
    assert [len([e for e in ledger.entries(f"clinic {n}") if e.status == "done"]) for n in "abc"] == [1, 1, 0]


def test_a_seed_is_noted_in_the_ledgers_of_all_sites(tmp_path):
    ledger = Ledger(f"sqlite:///{tmp_path}/budget.db")
    ledger.create("d", epsilon=5.0, delta=1e-4)
    fit_shared(estimator(DENSE, random_state=1), holdings(1, ledger=ledger, dataset="d"), honest=1)
    assert [entry.label for entry in ledger.entries("d")] == ["dp_ight [seed: not private]"]


@pytest.mark.parametrize(
    ("options", "honest", "match"),
    [
        ({"recipe": "dp_gcd"}, 3, "in shares"),
        ({"recipe": "ight"}, 3, "has none"),
        ({"recipe": DENSE, "adjacency": "add-remove", "n_rows": 600}, 3, "replace-one"),
        ({"recipe": DENSE}, 4, "can be honest"),
        ({"recipe": DENSE, "intervals": "split"}, 3, "leave intervals=None"),
        ({"recipe": DENSE, "ledger": "sqlite:///x.db", "dataset": "d"}, 3, "give ledger and dataset to the holdings"),
    ],
)
def test_what_cannot_be_shared_is_refused(options, honest, match):
    with pytest.raises(ValueError, match=match):
        fit_shared(estimator(**options), holdings(), honest=honest)
    with pytest.raises(ValueError, match="different names"):
        fit_shared(estimator(DENSE), [], honest=1)
    assert issubclass(PrivacyError, ValueError)


# ------------------------------------------------------------------------------------------------ recipes of others


@dataclass(frozen=True)
class Residuals:
    """Means of residuals of some rows; and, where it peeks, of what is no answer."""

    rows: EveryRow | PoissonRows
    violations: bool

    def plan(self, facts, budget):
        return Plan(asks=(Ask(name="r", noise=Noise.GAUSSIAN, times=3, rows=self.rows, question="ResidualMean"),))

    def run(self, oracle, path=None):
        model = CentredModel(np.array([0]), np.zeros(1), np.zeros(1), 0.0)
        w = np.zeros(oracle.facts.dimension)
        w[0] = np.mean([oracle.answer(ResidualMean(model, 1.0), "r")[0] for _ in range(3)])
        if self.violations:
            w[1] = len(vars(oracle))
            w[2] = oracle._host.facts.n_rows
        return w


@dataclass(frozen=True, kw_only=True)
class Own(PrivateRecipe):
    name: ClassVar[str] = "own_residuals"
    rows: EveryRow | PoissonRows = EveryRow()
    violations: bool = False

    def solver(self, facts, budget):
        return Residuals(self.rows, self.violations)


def test_a_recipe_of_somebody_else_fits_over_sites():
    assert fit_shared(estimator(Own()), holdings(), honest=3).statement_.private


@pytest.mark.parametrize(
    ("recipe", "error", "match"),
    [
        (Own(rows=PoissonRows(0.002)), PrivacyError, "ResidualMean is asked of every row"),
        (Own(violations=True), PrivacyLeakError, "violations"),
    ],
    ids=["sampled", "violations"],
)
def test_what_a_curator_refuses_sites_refuse_before_anybody_pays(recipe, error, match, tmp_path):
    """Sums that are not sampled, at the price of a sample, told two worlds apart in 200 of 200 fits."""
    ledger = Ledger(f"sqlite:///{tmp_path}/budget.db")
    ledger.create("d", epsilon=5.0, delta=1e-4)
    with pytest.raises(error, match=match):
        fit_shared(estimator(recipe), holdings(1, ledger=ledger, dataset="d"), honest=1)
    assert list(ledger.entries("d")) == []
