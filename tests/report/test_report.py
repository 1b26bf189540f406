"""The page for the reviewer: its answer, its sources, and that it stands alone."""

import json
import math
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from click.testing import CliRunner

import dpsparse
from dpsparse import Ledger, PrivateSearch, SparseClassifier, SparseRegressor, make_private_pipeline
from dpsparse.cli import main
from dpsparse.preparation import PublicScaler
from dpsparse.privacy import DataError
from dpsparse.report import report_of
from dpsparse.report.promise import belief, tradeoff
from dpsparse.report.verdict import Light, decide

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (3000, 6))
Y = X[:, 0] - 0.5 * X[:, 1] + 0.1 * RNG.standard_normal(3000)
VOID = {
    "area",
    "base",
    "br",
    "col",
    "embed",
    "hr",
    "img",
    "input",
    "link",
    "meta",
    "source",
    "line",
    "polyline",
    "polygon",
}


class Balanced(HTMLParser):
    """Every element is closed, nothing is loaded, ids are unique, and links inside lead somewhere."""

    def __init__(self, text):
        super().__init__()
        self.open, self.ids, self.targets, self.loaded = [], [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.ids += [given["id"]] if "id" in given else []
        if given.get("href", "").startswith("#"):
            self.targets.append(given["href"][1:])
        self.loaded += [given[k] for k in ("src", "srcset", "data") if k in given]
        self.loaded += [given["href"]] if "href" in given and not given["href"].startswith("#") else []
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if tag in ("polyline",):
            return
        assert self.open.pop() == tag


def check_page(text):
    found = Balanced(text)
    assert found.open == []
    assert found.loaded == []
    assert len(set(found.ids)) == len(found.ids)
    assert set(found.targets) <= set(found.ids)
    assert "http" not in re.sub(r"http-equiv|http://www\.w3\.org/2000/svg", "", text)
    assert "<script" not in text
    return text


def fitted(**options):
    settings = {"epsilon": 2.0, "feature_bound": 1.0, "target_bound": 2.0, "sparsity": 2, **options}
    return SparseRegressor(**settings).fit(X, Y)


@pytest.fixture
def book(tmp_path):
    ledger = Ledger(f"sqlite:///{tmp_path}/budget.db")
    ledger.create("trial", epsilon=5.0, delta=1e-5)
    return ledger


def test_a_paid_model_without_caveats_may_be_released(book, tmp_path):
    model = fitted(ledger=book, dataset="trial")
    model.save(tmp_path / "model.json")
    done = CliRunner().invoke(
        main,
        ["report", str(tmp_path / "model.json"), "-o", str(tmp_path / "page.html"), "--ledger", book.address, "--json"],
    )
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["release"] == "yes"
    page = check_page((tmp_path / "page.html").read_text())
    first = page[: page.index('id="checks"')]
    assert "May I release this? Yes" in first
    assert f"({model.statement_.epsilon:.4g}" in first or "differential privacy" in first
    assert book.verify().head in page
    digest = json.loads((tmp_path / "model.json").read_text())["digest"]
    assert digest in page
    for value in model.coef_[model.support_]:
        assert f"{value:.4g}" in page
    for name in {ask.name for ask in model.statement_.asks}:
        scales = [ask.scale for ask in model.statement_.asks if ask.name == name]
        assert f"{min(scales):.4g}" in page
        assert f"{max(scales):.4g}" in page


def test_without_a_ledger_or_with_one_that_was_not_opened_the_answer_is_not_yet(book):
    assert report_of(fitted()).verdict.light is Light.WAIT
    model = fitted(ledger=book, dataset="trial")
    report = report_of(model)
    assert report.verdict.light is Light.WAIT
    assert "was not opened" in check_page(report.html())


def test_a_ledger_that_did_not_pay_is_a_no(book, tmp_path):
    model = fitted(ledger=book, dataset="trial", epsilon=1.0)
    model.statement_ = replace(model.statement_, epsilon=0.1)  # a cheaper promise than was paid for
    other = Ledger(f"sqlite:///{tmp_path}/other.db")
    other.create("trial", epsilon=5.0, delta=1e-5)
    for ledger in (book, other):
        report = report_of(model, ledger=ledger)
        assert report.verdict.light is Light.NO
        assert "Do not release" in check_page(report.html())


@pytest.mark.parametrize("kind", ["seeded", "baseline", "edited", "violated"])
def test_what_carries_no_promise_cannot_look_green(kind, tmp_path):
    options = {"seeded": {"random_state": 0}, "baseline": {"recipe": "ight"}}.get(kind, {})
    model = fitted(**options)
    if kind == "edited":
        model.save(tmp_path / "model.json")
        content = json.loads((tmp_path / "model.json").read_text())
        content["statement"]["epsilon"] = 0.01
        (tmp_path / "model.json").write_text(json.dumps(content))
        done = CliRunner().invoke(main, ["report", str(tmp_path / "model.json"), "-o", str(tmp_path / "page.html")])
        assert done.exit_code == 7
        page = (tmp_path / "page.html").read_text()
        again = dpsparse.load(tmp_path / "model.json", edited=True)
        again.save(tmp_path / "laundered.json")  # saved again: the digest fits, and the caveat stays
        assert report_of(dpsparse.load(tmp_path / "laundered.json")).verdict.light is Light.NO
    else:
        audit = {"verdict": "VIOLATED", "violated": True} if kind == "violated" else None
        report = report_of(model, audit=audit)
        assert report.verdict.light is Light.NO
        page = report.html()
    check_page(page)
    assert 'class="answer no"' in page
    assert 'class="answer yes"' not in page
    if kind != "violated":
        assert page.index("Caveat:") < page.index("May I release this?", page.index("<body>"))


def test_a_hopeless_fit_is_not_yet():
    rng = np.random.default_rng(1)
    rows = rng.uniform(-1, 1, (40, 30))
    model = SparseRegressor(epsilon=0.1, feature_bound=1.0, target_bound=2.0)
    with pytest.warns(dpsparse.privacy.HopelessFitWarning):
        model.fit(rows, rows[:, 0])
    report = report_of(model)
    assert any(check.what == "Usefulness" and check.light is Light.WAIT for check in report.verdict.checks)


def test_searches_pipelines_and_estimators_report_themselves(tmp_path):
    search = PrivateSearch(
        SparseRegressor(feature_bound=1.0, target_bound=2.0), {"sparsity": [1, 2]}, epsilon=3.0, mean_runs=2
    ).fit(X, Y)
    pipe = make_private_pipeline(
        PublicScaler(feature_bound=1.0), SparseRegressor(target_bound=2.0, sparsity=2), epsilon=2.0
    ).fit(X, Y)
    model = fitted()
    for one in (search, pipe, model):
        assert one.report_.verdict.light is Light.WAIT
        check_page(one.report_.html())
        one.report_.save(tmp_path / "page.html")
    assert "private search" in search.report_.html()
    assert "<iframe" in model.report_._repr_html_()
    with pytest.raises(AttributeError, match="fit the estimator"):
        _ = SparseRegressor().report_
    with pytest.raises(DataError, match="not fitted"):
        report_of(SparseRegressor())


def test_values_are_escaped():
    model = SparseClassifier(epsilon=2.0, feature_bound=1.0, sparsity=2, classes=["<b>", "a"])
    import pandas as pd

    frame = pd.DataFrame(X, columns=[f"<script>{j}" for j in range(6)])
    model.fit(frame, np.where(Y > 0, "<b>", "a"))
    assert "<script" not in model.report_.html()
    assert "&lt;script&gt;" in model.report_.html()


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
    assert "in order" in page
    assert "trial" in page
    from dpsparse.bench import Cell, Results

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
    audit = {"verdict": "nothing found", "violated": False, "checks": checks}
    page = check_page(report_of(model, audit=audit, scores=card.to_dict()).html())
    assert "nothing found" in page
    assert f"{card['r2'].value:.4g}" in page


def test_intervals_are_shown_with_what_stands_clear_of_noise():
    model = fitted(intervals="split")
    page = check_page(report_of(model).html())
    assert "Stands clear of noise" in page
    for row in model.intervals_:
        assert f"{row.low:.4g} to {row.high:.4g}" in page
    assert "No intervals were asked for" in report_of(fitted()).html()


def test_every_light_has_its_words():
    statement = fitted().statement_
    assert decide(statement).light is Light.WAIT
    assert decide(replace(statement, private=False)).light is Light.NO
