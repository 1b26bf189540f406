"""Statements cannot look green by mistake: seeds, missing proofs, weak numbers, and how all that is printed."""

from __future__ import annotations

from dataclasses import replace
from importlib.metadata import PackageNotFoundError

import numpy as np
import pytest

import dpsparse
from dpsparse import NoisyCount, PrivateScaler, PrivateSearch, SparseRegressor, make_private_pipeline, recipes
from dpsparse.core import Statement, release
from dpsparse.core.attacker import attacker_success, in_percent
from dpsparse.ledger import Ledger

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (400, 3))
Y = np.clip(X[:, 0], -1, 1)
RECIPE = recipes.DPIGHT(mechanism="dense", steps=2)


def model(**options) -> SparseRegressor:
    return SparseRegressor(**{"feature_bound": 1.0, "target_bound": 1.0, "recipe": RECIPE, **options})


def seeded_kinds(seed):
    scaler = PrivateScaler(feature_bound=1.0, random_state=seed)
    return {
        "fit": model(random_state=seed),
        "step": scaler,
        "count": NoisyCount(random_state=seed),
        "pipeline": make_private_pipeline(PrivateScaler(feature_bound=1.0), model(random_state=seed)),
        "pipeline with a seeded step": make_private_pipeline(scaler, model()),
        "search": PrivateSearch(model(), {"sparsity": [1]}, mean_runs=1.5, score_bound=1.0, random_state=seed),
    }


@pytest.mark.parametrize("kind", list(seeded_kinds(0)))
def test_what_was_made_with_a_seed_is_not_private_and_without_one_it_is(kind):
    seeded, free = seeded_kinds(0)[kind].fit(X, Y).statement_, seeded_kinds(None)[kind].fit(X, Y).statement_
    assert not seeded.private
    assert seeded.priced
    assert seeded.attacker_success == 1.0
    assert any("fixed seed" in c for c in seeded.caveats)
    assert "WITHOUT privacy" in str(seeded)
    assert "which does not hold here" in str(seeded)
    assert free.private
    assert free.priced
    assert free.caveats == ()


def test_a_seeded_fit_is_still_charged(tmp_path):
    book = Ledger(f"sqlite:///{tmp_path / 'book.db'}")
    book.create("d", epsilon=2.0, delta=1e-5)
    book.create("other", epsilon=2.0, delta=1e-5)
    said = model(random_state=0, ledger=book, dataset="d").fit(X, Y).statement_
    model(ledger=book, dataset="other").fit(X, Y)
    assert not said.private
    assert book.spent("d") == book.spent("other")
    assert book.spent("d").epsilon > 0
    assert said.ledger["entry"] == book.entries("d")[0].number


def test_old_records_of_seeded_fits_are_not_private_any_more():
    said = model(random_state=0).fit(X, Y).statement_.to_dict()
    del said["priced"]
    said["private"] = True
    read = Statement.from_dict(said)
    assert not read.private
    assert read.priced


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
def test_every_private_statement_says_how_often_an_attacker_is_right(adjacency):
    said = model(adjacency=adjacency, n_rows=400).fit(X, Y).statement_
    success = attacker_success(said.epsilon, said.delta, said.mu, said.rho)
    assert said.attacker_success == success
    assert f"at most {in_percent(success)} of the time (a coin flip: 50 %)." in str(said)
    assert "\n" not in str(said), "one paragraph"
    assert len(str(said)) < 600 < len(said.details())


@pytest.mark.parametrize(
    ("options", "word"), [({"epsilon": 50.0}, "epsilon = 50"), ({"delta": 0.01}, "delta = 0.01 is above 1/n")]
)
def test_weak_numbers_are_caveats_of_fits_steps_and_wholes(options, word):
    whole = make_private_pipeline(PrivateScaler(feature_bound=1.0), model(), **options)
    for said in (
        model(**options).fit(X, Y).statement_,
        PrivateScaler(feature_bound=1.0, **options).fit(X).statement_,
        whole.fit(X, Y).statement_,
    ):
        [caveat] = said.caveats
        assert caveat.startswith(word)
        assert " %" in caveat
        assert said.private, "weak is not void"


def test_a_page_is_escaped_with_caveats_first_and_in_red():
    said = model(epsilon=50.0).fit(X, Y).statement_
    page = replace(said, recipe="<script>", caveats=("a < b", *said.caveats))._repr_html_()
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert page.index("a &lt; b") < page.index("This model")
    assert page.index("color:#b00020") < page.index("a &lt; b")
    assert page.count("color:#b00020") == 2
    void = replace(said, private=False)._repr_html_()
    assert void[: void.index("WITHOUT")].count("color:#b00020") == 2, "the paragraph is red too"


def test_a_plan_is_shown_with_what_speaks_against_it_first():
    plan = SparseRegressor(feature_bound=1.0, target_bound=1.0, epsilon=1.0).plan(20, 30)
    page = plan._repr_html_()
    assert plan.verdict == "hopeless"
    assert page.startswith('<div><p style="color:#b00020"><strong>CAVEAT:</strong> hopeless: Noise hides the signal')
    assert plan.why in str(plan)
    weak = SparseRegressor(feature_bound=1.0, target_bound=1.0, epsilon=50.0).plan(10**6, 5)
    assert weak.caveats[0].startswith("epsilon = 50 is above 10")
    good = SparseRegressor(feature_bound=1.0, target_bound=1.0).plan(10**6, 5)
    assert good.caveats == ()
    assert "color" not in good._repr_html_()
    assert "&lt;" in replace(good, recipe="<b>")._repr_html_()


def test_a_package_without_metadata_does_not_stop_a_fit_that_is_paid_for(monkeypatch, tmp_path):
    def missing(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr(release, "version", missing)
    release._version.cache_clear()
    book = Ledger(f"sqlite:///{tmp_path / 'book.db'}")
    book.create("d", epsilon=2.0, delta=1e-5)
    try:
        said = model(ledger=book, dataset="d").fit(X, Y).statement_
    finally:
        release._version.cache_clear()
    assert {said.versions[name] for name in release.LIBRARIES} == {"unknown"}
    assert dpsparse.__version__
