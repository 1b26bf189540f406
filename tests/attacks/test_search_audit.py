"""Audit of private search: the law of the number of runs, and that the best run is chosen by noisy scores alone."""

import math

import numpy as np
import pytest
from scipy.stats import chi2

from dpsparse import PrivateSearch, SparseRegressor, recipes
from dpsparse.accounting.random_stopping import Geometric, Logarithmic, PoissonRuns
from dpsparse.core.mechanisms import Randomness
from dpsparse.estimators.search import runs

#: Chi-square tests raise a false alarm less often than this; seeds are fixed besides.
ALARM = 1e-7
DRAWS = 20_000


def probabilities(law, size):
    k = np.arange(size)
    if isinstance(law, PoissonRuns):
        logs = k * math.log(law.mean) - law.mean - np.array([math.lgamma(i + 1) for i in k])
        return np.exp(logs)
    with np.errstate(divide="ignore"):
        if isinstance(law, Geometric):
            found = law.gamma * (1 - law.gamma) ** (k - 1.0)
        else:
            found = (1 - law.gamma) ** k / (k * math.log(1 / law.gamma))
    found[0] = 0.0
    return found


def fits(law, numbers):
    """Whether numbers look drawn from a law: chi-square over cells that expect at least 10, the tail in one."""
    expected = DRAWS * probabilities(law, 5000)
    assert expected.sum() == pytest.approx(DRAWS, rel=1e-6)
    cells = [[i] for i in range(5000) if expected[i] >= 10]
    tail = sorted(set(range(5000)) - {i for cell in cells for i in cell})
    counts = np.bincount(np.minimum(numbers, 4999), minlength=5000)
    groups = [*cells, tail]
    seen = np.array([counts[g].sum() for g in groups])
    wanted = np.array([expected[g].sum() for g in groups])
    if np.any((wanted < 1e-9) & (seen > 0)):
        return False
    kept = wanted > 1e-9
    statistic = float(((seen[kept] - wanted[kept]) ** 2 / wanted[kept]).sum())
    return chi2.sf(statistic, kept.sum() - 1) > ALARM


@pytest.mark.parametrize(
    "law", [Logarithmic.of_mean(10), Geometric.of_mean(5), PoissonRuns.of_mean(3)], ids=lambda v: v.name
)
def test_the_number_of_runs_follows_its_law(law):
    generator = Randomness(7).generator()
    numbers = np.array([law.draw(generator) for _ in range(DRAWS)])
    assert fits(law, numbers)
    assert numbers.max() > 3 * law.mean  # the tail is there


@pytest.mark.parametrize(
    ("law", "wrong"),
    [
        (Logarithmic.of_mean(10), lambda k: np.minimum(k, 30)),
        (Geometric.of_mean(5), lambda k: np.minimum(k, 15)),
        (PoissonRuns.of_mean(3), lambda k: np.maximum(k, 1)),
        (PoissonRuns.of_mean(3), lambda k: k + (np.arange(k.size) % 10 == 0)),
    ],
    ids=["truncated logarithmic", "truncated geometric", "Poisson without zero", "shifted Poisson"],
)
def test_a_truncated_or_shifted_law_is_caught(law, wrong):
    generator = Randomness(7).generator()
    numbers = np.array([law.draw(generator) for _ in range(DRAWS)])
    assert not fits(law, wrong(numbers))


def test_without_a_seed_the_number_of_runs_is_drawn_from_secure_randomness(monkeypatch):
    seen = []
    monkeypatch.setattr(
        PoissonRuns, "draw", lambda self, generator: seen.append(type(generator.bit_generator).__name__) or 1
    )
    small_search().fit(X, Y)
    assert seen == ["AESCounter"]


# ------------------------------------------------------------------------------------------------ who wins

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (60, 3))
Y = X[:, 0]
OTHER = -X[:, 2]


def small_search(seed=None, mean=8):
    model = SparseRegressor(feature_bound=1.0, target_bound=2.0, fit_intercept=False, recipe=recipes.DPIGHT(steps=2))
    space = {"recipe__clip": [0.1, 0.3, 1.0, 3.0, 10.0]}
    return PrivateSearch(model, space, epsilon=4.0, mean_runs=mean, law="poisson", random_state=seed)


def mocked(monkeypatch, noisy):
    """Every run gets the next noisy score of a list, whatever its model; returns the models in the order they were scored."""
    queue, models = iter(noisy), []

    def score(self, model, request, randomness):
        models.append(model.recipe.clip)
        return next(queue), []

    monkeypatch.setattr(runs.Validation, "score", score)
    return models


@pytest.mark.parametrize("seed", range(12))
def test_the_winner_is_the_run_with_the_best_noisy_score_whatever_the_data(monkeypatch, seed):
    noisy = np.random.default_rng(seed).normal(size=200)
    winners = []
    for y in (Y, OTHER):
        models = mocked(monkeypatch, noisy)
        search = small_search(seed).fit(X, y)
        if not models:
            assert search.best_params_ == {}
            continue
        best = int(np.argmax(noisy[: len(models)]))
        assert search.best_params_["recipe__clip"] == models[best]
        assert search.best_score_ == noisy[best]
        winners.append((search.best_params_["recipe__clip"], search.best_score_))
    assert len(set(winners)) <= 1


def test_a_search_that_peeks_at_exact_scores_is_caught(monkeypatch):
    """The negative control: ranked by the exact score of its model, the winner follows the data."""
    ordinary = runs.Validation.score

    def peeking(self, model, request, randomness):
        ordinary(self, model, request, randomness)
        return float(model.score(X, self.y)), []

    winners = []
    for y in (Y, OTHER):
        monkeypatch.setattr(runs.Validation, "score", peeking)
        monkeypatch.setattr(runs.Validation, "y", y, raising=False)
        winners.append([small_search(seed, mean=8).fit(X, y).best_params_ for seed in range(8)])
    assert winners[0] != winners[1]


def test_equal_scores_keep_the_first_run(monkeypatch):
    models = mocked(monkeypatch, [1.0] * 200)
    assert small_search(3).fit(X, Y).best_params_["recipe__clip"] == models[0]


def test_nothing_tells_how_many_runs_there_were():
    search = small_search().fit(X, Y)
    public = {name for name in vars(search) if name.endswith("_")}
    assert public == {"best_estimator_", "best_params_", "best_score_", "n_features_in_", "plan_", "statement_"}
    assert search.statement_.to_dict()["asks"][-1]["times"] == 1
