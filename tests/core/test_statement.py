"""Statements: frozen, complete, and enough to check the promise with other code."""

from __future__ import annotations

import json
import math
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest

from dpsparse import SparseRegressor, recipes
from dpsparse.core import AskSummary, Noise, Receipt, Statement
from dpsparse.core.statement import ask_summaries
from truth import curves as truth


def statement(**changes) -> Statement:
    base = Statement(
        private=True,
        epsilon=1.0,
        delta=1e-6,
        rho=0.028,
        mu=0.2367,
        adjacency="replace-one",
        unit="one row",
        recipe="dp_ight",
        loss="squared",
        n_rows=100,
        asks=ask_summaries([Receipt("gradient", Noise.GAUSSIAN, 1, 1.0, 2.0, 8.0)] * 3),
        accountant="exact Gaussian composition",
        assumptions=("labels are public",),
        caveats=("features are public", "delta is large"),
        versions={"dpsparse": "0"},
    )
    return replace(base, **changes)


def fitted(mechanism: str, **options):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (80, 6))
    y = np.clip(X[:, 0], -1, 1)
    options = {"epsilon": 1.5, "delta": 1e-5, "sparsity": 2, "feature_bound": 1.0, "target_bound": 1.0, **options}
    recipe = recipes.DPIGHT(steps=3, mechanism=mechanism)
    return SparseRegressor(recipe=recipe, random_state=0, **options).fit(X, y).statement_


# ------------------------------------------------------------------------------------------------ records


def test_equal_answers_are_counted_and_others_are_kept_apart_in_order():
    a = Receipt("gradient", Noise.GAUSSIAN, 1, 1.0, 2.0, 8.0)
    b = Receipt("gradient", Noise.GAUSSIAN, 1, 1.0, 2.0, 4.0)
    c = Receipt("select", Noise.GUMBEL, 5, 1.0, 2.0, 8.0)
    found = ask_summaries([a, c, a, b, a])
    assert [(r.name, r.times, r.scale) for r in found] == [
        ("gradient", 3, 8.0),
        ("select", 1, 8.0),
        ("gradient", 1, 4.0),
    ]
    assert found[1].draws == 5


@pytest.mark.parametrize(
    ("noise", "name"),
    [
        (Noise.GAUSSIAN, "mu"),
        (Noise.DISCRETE_GAUSSIAN, "mu"),
        (Noise.GUMBEL, "eta"),
        (Noise.LAPLACE, "epsilon"),
        (Noise.PERMUTE_AND_FLIP, "epsilon"),
    ],
)
def test_a_cost_is_sensitivity_over_scale_and_says_in_which_language(noise, name):
    [record] = ask_summaries([Receipt("a", noise, 1, 1.0, 3.0, 12.0)])
    assert record.cost == 0.25
    assert record.cost_name == name


def test_answers_without_noise_cost_infinitely_much():
    [record] = ask_summaries([Receipt("a", Noise.NONE, 1, 1.0, 0.0, 0.0)])
    assert math.isinf(record.cost)


def test_every_noise_has_a_language():
    for noise in Noise:
        assert ask_summaries([Receipt("a", noise, 1, 1.0, 1.0, 1.0)])


# ------------------------------------------------------------------------------------------------ recomputing


def gaussian_mu_of(asks: tuple[AskSummary, ...]) -> float:
    return math.sqrt(sum(a.times * a.draws * (a.sensitivity / a.scale) ** 2 for a in asks if a.noise == "gaussian"))


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
def test_the_asks_of_a_gaussian_fit_suffice_to_recompute_its_epsilon(adjacency):
    said = fitted("dense", adjacency=adjacency, n_rows=80)
    assert {a.noise for a in said.asks} == {"gaussian"}
    assert sum(a.times for a in said.asks) == 3
    mu = gaussian_mu_of(said.asks)
    assert truth.gaussian_epsilon(mu, said.delta) == pytest.approx(said.epsilon, rel=1e-6)
    assert said.epsilon == pytest.approx(1.5, rel=1e-3)
    assert said.epsilon <= 1.5
    assert said.mu == pytest.approx(mu, rel=1e-9)
    assert said.rho == pytest.approx(mu**2 / 2, rel=1e-9)


def test_the_asks_of_a_fit_with_selections_suffice_to_recompute_its_epsilon():
    """Between what an adversary reaches with these very asks, and what plain Renyi composition would claim."""
    said = fitted("peel")
    etas = [a.sensitivity / a.scale for a in said.asks if a.noise == "gumbel" for _ in range(a.times * a.draws)]
    assert len(etas) == 3 * 2
    mu = gaussian_mu_of(said.asks)
    assert mu > 0
    assert truth.achievable_delta(said.epsilon, etas, mu) <= said.delta
    assert truth.achievable_delta(0.8 * said.epsilon, etas, mu) > 0.1 * said.delta, "and it is no gross overstatement"

    def curve(a: float) -> float:
        return a * mu**2 / 2 + sum(truth.bounded_range_renyi(eta, a, points=201) for eta in etas)

    assert said.epsilon <= truth.renyi_epsilon(curve, said.delta) * 1.002
    assert said.rho == pytest.approx(sum(e * e / 8 for e in etas) + mu**2 / 2, rel=1e-9)


# ------------------------------------------------------------------------------------------------ JSON


@pytest.mark.parametrize(
    "said",
    [
        statement(),
        statement(mu=math.inf, rho=math.inf),
        statement(
            private=False,
            priced=False,
            epsilon=math.inf,
            asks=ask_summaries([Receipt("a", Noise.NONE, 1, 1.0, 0.0, 0.0)]),
            caveats=(),
            assumptions=(),
        ),
    ],
)
def test_a_statement_survives_json(said):
    text = said.to_json()
    assert Statement.from_dict(json.loads(text)) == said
    assert "Infinity" not in text
    assert "NaN" not in text
    assert json.loads(said.to_json(indent=None)) == json.loads(text)


def test_a_fitted_statement_survives_json():
    said = fitted("peel")
    assert Statement.from_dict(json.loads(said.to_json())) == said


def test_a_statement_is_frozen():
    with pytest.raises(FrozenInstanceError):
        statement().epsilon = 0.1  # type: ignore[misc]


# ------------------------------------------------------------------------------------------------ words


def test_it_prints_all_three_languages_the_adjacency_and_the_unit():
    text = statement().details()
    assert "(1, 1e-06)-differential privacy" in text.replace("\n", " ")
    assert "rho = 0.028" in text
    assert "mu = 0.2367" in text
    assert "replace-one" in text
    assert "one row" in text
    assert f"factor of {math.e:.4g}" in text


def test_caveats_come_first_and_assumptions_are_listed():
    lines = statement().details().splitlines()
    assert str(statement()).splitlines()[:2] == lines[:2]
    assert lines[0] == "CAVEAT: features are public."
    assert lines[1].startswith("CAVEAT: delta")
    assert not lines[2].startswith("CAVEAT")
    assert lines[-1] == "Assumes: labels are public."


def test_asks_are_printed_in_groups_with_noise_and_cost():
    text = statement(asks=ask_summaries([Receipt("select", Noise.GUMBEL, 5, 1.0, 2.0, 8.0)] * 7)).details()
    [line] = [part for part in text.splitlines() if "select" in part]
    for word in ("7 x select", "5 draws", "gumbel", "Gumbel scale 8", "sensitivity 2", "eta = 0.25"):
        assert word in line


def test_sampled_rows_are_mentioned():
    text = statement(asks=ask_summaries([Receipt("gradient", Noise.GAUSSIAN, 1, 0.25, 2.0, 8.0)])).details()
    assert "rate 0.25" in text


def test_an_unproven_mu_is_called_so():
    assert "nothing is stated in mu-GDP, which would say less" in statement(mu=math.inf).details()


def test_rho_and_mu_are_not_stated_where_nothing_is_guaranteed():
    assert "rho = " in statement().details()
    void = statement(private=False).details()
    assert "WITHOUT privacy" in void
    assert "zCDP" not in void
    assert "GDP" not in void


def test_a_baseline_says_that_it_promises_nothing():
    text = statement(private=False, priced=False, epsilon=math.inf).details()
    assert "WITHOUT privacy" in text
    assert "differential" not in text


@pytest.mark.parametrize("epsilon", [1e-6, 700.0, 1e4, 1e9])
def test_any_finite_epsilon_can_be_printed(epsilon):
    assert f"({epsilon:.6g}," in str(statement(epsilon=epsilon))


def test_a_seeded_fit_says_so_first():
    assert str(fitted("dense")).startswith("CAVEAT: fitted with a fixed seed: not private")
