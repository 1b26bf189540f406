"""Names are data of somebody else: nothing that they hold becomes markup, on no page and in no notebook."""

import numpy as np
import pytest

from dpsparse import Ledger, PrivateSearch, SparseClassifier, SparseRegressor, make_private_pipeline, private_score
from dpsparse.audit.result import AuditResult, LawCheck
from dpsparse.estimators.steps import PublicScaler
from dpsparse.report import bench_page, ledger_page, report_of
from dpsparse.report.bench import Cell, Results
from report.pages import QUICK, Balanced, X, Y

EVIL = "<script>alert('x')</script><img src=x onerror=alert(1)>\"'"


def frame():
    pd = pytest.importorskip("pandas")
    return pd.DataFrame(X, columns=[f"{EVIL}{j}" for j in range(6)])


def safe(text):
    """No element and no attribute came out of a name."""
    assert "<script>alert" not in text
    assert "<img" not in text
    assert "img" not in Balanced(text).tags
    return text


@pytest.fixture
def book(tmp_path):
    ledger = Ledger(f"sqlite:///{tmp_path}/budget.db")
    ledger.create(EVIL, epsilon=9.0, delta=1e-5)
    return ledger


@pytest.fixture
def model(book):
    kind = SparseRegressor(
        epsilon=2.0, feature_bound=1.0, target_bound=2.0, sparsity=2, ledger=book, dataset=EVIL, label=EVIL
    )
    return kind.set_params(intervals="split", check_bounds=0.1).fit(frame(), Y)


def test_the_report_escapes_features_labels_datasets_audits_scores_and_file_names(model, book):
    audit = {"verdict": EVIL, "violated": False, "target": EVIL, "summary": EVIL, "laws": [{"name": EVIL, "violated": False, "detail": EVIL}]}  # fmt: skip
    audit["notes"] = [EVIL]
    audit["checks"] = [{"name": EVIL, "proved": 1.0, "claimed": 2.0, "unit": EVIL}]
    scores = {
        "confidence": 0.95,
        "scores": [{"metric": EVIL, "group": EVIL, "value": EVIL, "low": 0.0, "high": 1.0}],
        "statement": {"private": True, "epsilon": 1.0, "delta": 0.0},
    }
    report = report_of(model, digest=EVIL, ledger=book, audit=audit, scores=scores, name=EVIL)
    page = safe(report.html())
    assert "&lt;script&gt;" in page
    shown = report._repr_html_()
    assert shown.count("<") == 2
    assert 'sandbox=""' in shown


def test_labels_of_classes_are_escaped():
    kind = SparseClassifier(epsilon=2.0, feature_bound=1.0, sparsity=2, classes=[EVIL, "a", "b"])
    model = kind.fit(frame(), np.where(Y > 0.3, EVIL, np.where(Y > 0, "a", "b")))
    safe(model.report_.html())
    said = model.statement_._repr_html_()
    safe(said)


def test_pages_of_ledgers_and_comparisons_are_escaped(model, book):
    safe(ledger_page(book))
    errors = {Cell(EVIL, m, e, s): {EVIL: 0.1 * s + e} for m in (EVIL, "b") for e in (1.0, 2.0) for s in range(3)}
    safe(bench_page(Results(EVIL, errors)))


def test_what_notebooks_show_is_escaped(model, book):
    scaled = make_private_pipeline(
        PublicScaler(feature_bound=1.0), SparseRegressor(target_bound=2.0, recipe=QUICK), epsilon=2.0
    )
    search = PrivateSearch(
        SparseRegressor(feature_bound=1.0, target_bound=2.0, recipe=QUICK),
        {"sparsity": [1, 2]},
        epsilon=3.0,
        mean_runs=2,
    )
    search.fit(frame(), Y)
    laws = (LawCheck(EVIL, False, EVIL),)
    shown = {
        "estimator": model,
        "intervals": model.intervals_,
        "statement": model.statement_,
        "ledger": book,
        "plan": model.plan(3000, 6),
        "pipeline": scaled.fit(frame(), Y),
        "pipeline's plan": scaled.plan_,
        "search": search,
        "search's plan": search.plan_,
        "scores": private_score(model, frame(), Y, ["r2"], epsilon=1.0),
        "audit": AuditResult(EVIL, EVIL, (), laws, notes=(EVIL,), caveats=(EVIL,)),
    }
    for name, one in shown.items():
        text = one._repr_html_()
        assert "<script>alert" not in text, name
        assert "<img" not in text, name
    assert "&lt;script&gt;" in shown["ledger"]._repr_html_()
    assert "&lt;script&gt;" in shown["audit"]._repr_html_()
