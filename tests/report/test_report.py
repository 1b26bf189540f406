"""The page for the reviewer: its parts, its sources, and that it stands alone."""

import json
import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from click.testing import CliRunner

import dpsparse
from dpsparse import PrivateSearch, SparseClassifier, SparseRegressor, make_private_pipeline
from dpsparse.cli import main
from dpsparse.core import DataError
from dpsparse.estimators.steps import PublicScaler
from dpsparse.report import report_of, report_of_file
from dpsparse.report.attacker import belief, tradeoff
from dpsparse.report.content import MEASURED
from dpsparse.report.verdict import Status
from dpsparse.tables import Column, Dictionary, TableEncoder
from report.pages import QUICK, X, Y, check_page, first_screen, fitted


def test_a_paid_model_without_caveats_may_be_released(book, tmp_path):
    model = fitted(ledger=book, dataset="trial")
    model.save(tmp_path / "model.json")
    done = CliRunner().invoke(
        main,
        ["report", str(tmp_path / "model.json"), "-o", str(tmp_path / "page.html"), "--ledger", book.address, "--json"],
    )
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["release"] == "no objection"
    page = check_page((tmp_path / "page.html").read_text())
    first = first_screen(page)
    assert 'class="answer yes"' in first
    assert "No objection found." in first
    assert not re.search(r"\bYes\b", page), "a yes is for those who sign"
    assert "entry 3 of trial" in first
    assert f"({model.statement_.epsilon:.4g}" in first or "differential privacy" in first
    assert book.verify().head in page
    digest = json.loads((tmp_path / "model.json").read_text())["digest"]
    assert digest in page
    assert "(this model)" in page
    for value in model.coef_[model.support_]:
        assert f"{value:.4g}" in page
    for name in {ask.name for ask in model.statement_.asks}:
        scales = [ask.scale for ask in model.statement_.asks if ask.name == name]
        assert f"{min(scales):.4g}" in page
        assert f"{max(scales):.4g}" in page


def test_searches_pipelines_and_estimators_report_themselves(tmp_path):
    search = PrivateSearch(
        SparseRegressor(feature_bound=1.0, target_bound=2.0, recipe=QUICK),
        {"sparsity": [1, 2]},
        epsilon=3.0,
        mean_runs=2,
    ).fit(X, Y)
    pipe = make_private_pipeline(
        PublicScaler(feature_bound=1.0), SparseRegressor(target_bound=2.0, sparsity=2, recipe=QUICK), epsilon=2.0
    ).fit(X, Y)
    model = fitted()
    for one in (search, pipe, model):
        assert one.report_.verdict.light is Status.WAIT
        check_page(one.report_.html())
        one.report_.save(tmp_path / "page.html")
    assert "private search" in search.report_.html()
    search.save(tmp_path / "search.json")
    pipe.save(tmp_path / "pipe.json")
    run = CliRunner().invoke(
        main, ["report", "--search", str(tmp_path / "search.json"), "-o", str(tmp_path / "search.html")]
    )
    assert run.exit_code == 0, run.output
    assert json.loads((tmp_path / "search.json").read_text())["digest"] in (tmp_path / "search.html").read_text()
    assert report_of_file(tmp_path / "pipe.json").verdict.light is Status.WAIT
    assert "<iframe" in model.report_._repr_html_()
    with pytest.raises(AttributeError, match="fit the estimator"):
        _ = SparseRegressor().report_
    with pytest.raises(DataError, match="not fitted"):
        report_of(SparseRegressor())


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_the_picture_bounds_what_randomised_response_attains_and_no_less(epsilon):
    """Randomised response with a leak of probability delta lies on the curve of (epsilon, delta)."""
    statement = fitted().statement_
    delta = 0.01
    promise = replace(statement, epsilon=epsilon, delta=delta, mu=math.inf)
    keep = (1 - delta) * math.exp(epsilon) / (1 + math.exp(epsilon))
    lie = (1 - delta) / (1 + math.exp(epsilon))
    missed = tradeoff(promise, np.array([lie]))[0]
    assert missed == pytest.approx(1 - delta - keep, abs=1e-12)
    gaussian = replace(statement, epsilon=50.0, delta=1e-300, mu=1.0)
    from scipy.stats import norm

    assert tradeoff(gaussian, np.array([norm.sf(0.7)]))[0] == pytest.approx(norm.cdf(0.7 - 1.0))
    assert belief(0.5, promise) == pytest.approx(math.exp(epsilon) / (1 + math.exp(epsilon)))
    assert tradeoff(replace(statement, private=False), np.array([0.0, 0.5])).tolist() == [0.0, 0.0]


def test_pages_about_ledgers_and_comparisons(book, tmp_path, monkeypatch):
    fitted(ledger=book, dataset="trial")
    run = CliRunner().invoke(main, ["report", "--ledger", book.address, "-o", str(tmp_path / "ledger.html")])
    assert run.exit_code == 0, run.output
    page = check_page((tmp_path / "ledger.html").read_text())
    assert "It verifies" in page
    assert "trial" in page
    from dpsparse.report.bench import Cell, Results

    errors = {Cell("d", m, e, s): {"error": 0.1 * s + e} for m in "ab" for e in (1.0, 2.0) for s in range(3)}
    Results("toy", errors).write(tmp_path / "toy.parquet")
    run = CliRunner().invoke(
        main, ["report", "--bench", str(tmp_path / "toy.parquet"), "-o", str(tmp_path / "bench.html")]
    )
    assert run.exit_code == 0, run.output
    assert "nothing on this page is private" in check_page((tmp_path / "bench.html").read_text())


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "give a MODEL"),
        (["gone.json"], "gone.json"),
        (["--bench", "a.parquet", "--search", "b.json"], "give one of"),
        (["--ledger", "sqlite:///gone.db", "--score", "s.json"], "belong to a MODEL"),
    ],
)
def test_bad_options_are_refused(tmp_path, monkeypatch, options, said):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(main, ["report", *options])
    assert done.exit_code == 2
    assert said in done.output
    assert not (tmp_path / "report.html").exists()


def test_scores_and_audits_are_shown(tmp_path):
    model = fitted()
    card = dpsparse.private_score(model, X, Y, ["r2"], epsilon=1.0)
    checks = [{"name": "gradient", "proved": 0.5, "claimed": 1.0, "unit": "mu"}]
    audit = {"verdict": "nothing found", "violated": False, "checks": checks, "notes": ["units were not audited"]}
    page = check_page(report_of(model, audit=audit, scores=card.to_dict()).html())
    assert "nothing found" in page
    assert "Note: units were not audited." in page
    assert f"{card['r2'].value:.4g}" in page


def test_intervals_are_shown_with_what_stands_clear_of_noise():
    model = fitted(intervals="split")
    page = check_page(report_of(model).html())
    assert "Clear of noise" in page
    assert "Benjamini and Hochberg" in page
    assert str(MEASURED["mean"]) in page
    for row in model.intervals_:
        assert f"{row.low:.4g} to {row.high:.4g}" in page
    assert "No intervals were computed" in report_of(fitted()).html()


def test_the_model_stands_in_units_of_its_dictionary_with_intervals_in_the_same_units():
    pd = pytest.importorskip("pandas")
    codebook = Dictionary(
        [
            Column(name="age", kind="number", bounds=(20, 100), unit="year"),
            Column(name="stage", kind="category", categories=("I", "IV")),
        ]
    )
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.uniform(20, 100, 4000), "stage": rng.choice(["I", "IV"], 4000)})
    y = 0.02 * (frame["age"] - 60) + 0.5 * (frame["stage"] == "IV") + 0.1 * rng.standard_normal(4000)
    rows = TableEncoder(codebook).fit_transform(frame)
    model = SparseRegressor(epsilon=4.0, feature_bound=1.0, target_bound=2.0, intervals="split").fit(rows, y)
    model.dictionary_ = codebook
    age, *_ = (row for row, _ in report_of(model).values["rows"] if row.name == "age")
    assert age.unit == "per year"
    assert age.values[0] == pytest.approx(model.coef_[0] / 40)
    assert age.values[0] == pytest.approx(0.02, abs=0.004)
    assert age.known.low < 0.02 < age.known.high
    interval = next(row for row, column in zip(model.intervals_, model.intervals_.columns, strict=False) if column == 0)
    assert age.known.low == pytest.approx(interval.low / 40)
    page = check_page(report_of(model).html())
    assert "per year" in page
    assert "units of the data dictionary" in page


def test_measured_coverage_is_that_of_the_benchmark():
    """Within two points of what the last run of the benchmark found: a new run moves it by chance."""
    cells = json.loads((Path(__file__).parents[2] / "docs" / "coverage.json").read_text())
    for kind, stated in MEASURED.items():
        some = [cell for name, cell in cells.items() if name.startswith(f"{kind}:")]
        fits, intervals, covered = (sum(cell[key] for cell in some) for key in ("fits", "intervals", "covered"))
        assert (stated.fits, stated.intervals) == (fits, intervals)
        assert stated.part == pytest.approx(covered / intervals, abs=5e-4)


def test_what_if_is_the_planners_and_reads_no_data(monkeypatch):
    model = fitted()
    report = report_of(model)
    own = next(line for line in report.values["what_if"] if line.own)
    plan = SparseRegressor(epsilon=1.0, feature_bound=1.0, target_bound=2.0, sparsity=2).plan(3000, 6)
    assert own.cells[2].error == pytest.approx(plan.error.test.typical)
    assert own.cells[2].worth == "useful"
    assert [line.rows for line in report.values["what_if"]] == [1500, 3000, 6000, 15000, 30000]


@pytest.mark.parametrize("loaded", [False, True], ids=["fitted", "loaded"])
def test_what_if_is_for_the_kind_of_rows_that_were_fitted(loaded, tmp_path):
    rng = np.random.default_rng(0)
    X = sp.random(600, 80, density=0.05, format="csr", random_state=0)
    model = SparseClassifier(epsilon=1.0, row_norm=1.0, classes=[0, 1]).fit(X, rng.integers(0, 2, 600))
    if loaded:
        model.save(tmp_path / "m.json")
        model = dpsparse.load(tmp_path / "m.json")
    own = next(line for line in report_of(model).values["what_if"] if line.own)
    sparse, dense = (model.plan(600, 80, sparse=kind).error.test.typical for kind in (True, False))
    assert sparse != pytest.approx(dense)
    assert own.cells[2].error == pytest.approx(sparse)


def test_every_section_names_its_source():
    page = check_page(report_of(fitted()).html())
    for part in ("learn", "not", "model", "noise", "payment", "expected", "versions"):
        start = page.index(f'<h2 id="{part}">')
        assert "Source:" in page[start : page.find("<h2", start + 5)], part


def test_the_clipped_share_is_shown_where_it_was_paid_for():
    assert "Clipped values were not counted" in report_of(fitted()).html()
    page = report_of(fitted(check_bounds=0.1)).html()
    assert "were clipped to the declared bounds" in page
    assert "Clipped values were not counted" not in page


def test_an_attacker_is_told_of_in_the_words_of_the_statement():
    page = fitted(adjacency="add-remove", n_rows=len(X)).report_.html()
    assert page.count("finds it as likely as not that one more row is in the data") >= 2
    assert "two equally likely versions" not in page


def test_the_checklist_and_the_signatures_are_on_the_first_screen_and_empty():
    model = fitted()
    page = check_page(report_of(model, digest="ab" * 32).html())
    first = first_screen(page)
    boxes = re.findall(r'<input type="checkbox"([^>]*)>', first)
    assert len(boxes) == len(re.findall('type="checkbox"', page)) >= 8
    assert set(boxes) == {""}, "nothing is ticked, nothing can be switched off"
    for line in ("Purpose of the release", "Who receives it", "Analyst", "Reviewer", "Date", "Signature"):
        assert f'{line}: <span class="rule"></span>' in first
    assert "ab" * 32 in first
    assert f"dpsparse {model.statement_.versions['dpsparse']}" in first


def test_a_page_whose_unit_is_a_row_does_not_speak_of_a_person():
    page = report_of(fitted()).html()
    assert "What can an attacker learn about one record (one row), at most?" in page
    assert "best guess about one record (one row)" in first_screen(page)
    assert "about one person" not in page
    assert "true of one person" not in page


def test_outcomes_of_checks_are_in_plain_words():
    page = report_of(fitted()).html()
    assert (
        '<th scope="col">Check</th><th scope="col">Outcome</th><th scope="col">What was found</th><th scope="col">Source</th>'
        in page
    )
    for old in ("Stands", "Known from", "✕ against", "✓ good", "not looked at"):
        assert old not in page


def usefulness(report):
    [found] = [check for check in report.verdict.checks if check.what == "Usefulness"]
    return found


def test_usefulness_is_a_private_score_or_not_measured(monkeypatch):
    """The planner's expectation is shown as one, with what it assumes; never as a finding."""
    model = fitted()
    told = usefulness(report_of(model))
    assert told.light is Status.OPEN
    assert told.said.startswith("Not measured")
    signal = model.plan(3000, 6).error.signal
    assert (
        f"if the best linear model removes {signal:.0%} of a constant predictor's error, which nobody checked"
        in told.said
    )
    card = dpsparse.private_score(model, X, Y, ["r2"], epsilon=1.0)
    measured = usefulness(report_of(model, scores=card.to_dict()))
    assert measured.light is Status.YES
    assert f"r2 {card['r2'].value:.3g}" in measured.said
    assert "planner" not in measured.said
    exact = card.to_dict() | {"statement": card.to_dict()["statement"] | {"private": False}}
    assert usefulness(report_of(model, scores=exact)).light is Status.OPEN, (
        "the control: a score without a promise measures nothing here"
    )


def test_a_sampled_recipe_shows_no_rho_and_no_mu():
    page = check_page(report_of(fitted(recipe="dp_sgd")).html())
    assert "nothing is stated in rho-zCDP or mu-GDP" in page
    assert "mu-GDP with mu" not in page
