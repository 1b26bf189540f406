"""What must never look green, each with its reason on the first screen."""

import json
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

import dpsparse
from dpsparse import Ledger, SparseRegressor, recipes
from dpsparse.cli import main
from dpsparse.core import DataError
from dpsparse.core.errors import LedgerError, LedgerTamperedError
from dpsparse.estimators.model_file import model_digest
from dpsparse.report import report_of, report_of_file
from dpsparse.report.verdict import REQUIRED, ReleaseCheck, Status, decide
from report.pages import check_page, first_screen
from report.pages import quick as fitted
from truth.recipes import WHY, Doubtful

CHARGED = {"dataset": "trial"}


def rewrite(path, **changes):
    """What another tool makes of a model file: changed parts of the statement and the settings, and a new digest that fits."""
    content = json.loads(path.read_text())
    content["statement"] |= changes.pop("statement", {})
    content["params"] |= changes.pop("params", {})
    content |= changes
    content["digest"] = model_digest(content)
    path.write_text(json.dumps(content))
    return path


def saved(model, tmp_path):
    model.save(tmp_path / "model.json")
    return tmp_path / "model.json"


def seeded(book, tmp_path):
    return report_of_file(saved(fitted(random_state=0, ledger=book, **CHARGED), tmp_path), ledger=book), "fixed seed"


def baseline(book, tmp_path):
    return report_of_file(saved(fitted(recipe=recipes.IGHT(steps=3)), tmp_path), ledger=book), "carries no guarantee"


def unproven(book, tmp_path):
    model = fitted(recipe=Doubtful(), accept=("unproven",))
    return report_of(model, digest="0" * 64, ledger=book), WHY


def edited(book, tmp_path):
    path = saved(fitted(ledger=book, **CHARGED), tmp_path)
    content = json.loads(path.read_text())
    content["coef"]["value"][0] *= 2
    path.write_text(json.dumps(content))
    return report_of_file(path, ledger=book), "edited after it was saved"


def edited_and_saved_again(book, tmp_path):
    path = saved(fitted(ledger=book, **CHARGED), tmp_path)
    content = json.loads(path.read_text())
    content["statement"]["epsilon"] = 0.01
    path.write_text(json.dumps(content))
    dpsparse.load(path, edited=True).save(tmp_path / "again.json")
    return report_of_file(tmp_path / "again.json", ledger=book), "edited after it was saved"


def promise_lowered(book, tmp_path):
    path = rewrite(saved(fitted(ledger=book, **CHARGED), tmp_path), statement={"epsilon": 0.1})
    return report_of_file(path, ledger=book), "paid for"


def promise_lowered_without_a_ledger(book, tmp_path):
    path = rewrite(saved(fitted(), tmp_path), statement={"epsilon": 0.1})
    return report_of_file(path), "the statement guarantees 0.1"


def caveat_taken_away(book, tmp_path):
    path = saved(fitted(random_state=0, ledger=book, **CHARGED), tmp_path)
    return report_of_file(rewrite(path, statement={"private": True, "caveats": []}), ledger=book), "hold a seed"


def caveat_and_seed_taken_away(book, tmp_path):
    path = saved(fitted(random_state=0, ledger=book, **CHARGED), tmp_path)
    changed = rewrite(path, statement={"private": True, "caveats": []}, params={"random_state": None})
    return report_of_file(changed, ledger=book), "noise that came from a seed"


def baseline_that_claims_a_promise(book, tmp_path):
    path = saved(fitted(recipe=recipes.IGHT(steps=3)), tmp_path)
    said = {"private": True, "priced": True, "caveats": [], "epsilon": 1.0, "delta": 1e-6}
    return report_of_file(rewrite(path, statement=said), ledger=book), "has no proof"


def citation_of_another_ledger(book, tmp_path):
    other = Ledger(f"sqlite:///{tmp_path}/other.db")
    other.create("trial", epsilon=5.0, delta=1e-5)
    return report_of_file(saved(fitted(ledger=book, **CHARGED), tmp_path), ledger=other), "another ledger"


def citation_of_another_model(book, tmp_path):
    cheap, dear = fitted(ledger=book, epsilon=0.5, **CHARGED), fitted(ledger=book, epsilon=2.0, **CHARGED)
    stolen = {"ledger": dict(cheap.statement_.ledger)}
    return report_of_file(rewrite(saved(dear, tmp_path), statement=stolen), ledger=book), "it is not the entry"


def citation_that_is_none(book, tmp_path):
    path = rewrite(
        saved(fitted(ledger=book, **CHARGED), tmp_path), statement={"ledger": {"entry": 1, "dataset": "trial"}}
    )
    return report_of_file(path, ledger=book), "must hold"


def missing_promise(book, tmp_path):
    model = fitted(ledger=book, **CHARGED)
    model.statement_ = replace(model.statement_, private=False)
    return report_of_file(saved(model, tmp_path), ledger=book), "carries no guarantee"


def refuted_by_an_audit(book, tmp_path):
    found = {"verdict": "VIOLATED", "violated": True, "target": "dp_ight"}
    return report_of_file(
        saved(fitted(ledger=book, **CHARGED), tmp_path), ledger=book, audit=found
    ), "An attack did better"


def audit_of_what_carries_no_promise(book, tmp_path):
    found = {"verdict": "NO GUARANTEE", "violated": False, "void": True, "target": "dp_ight"}
    return report_of_file(
        saved(fitted(ledger=book, **CHARGED), tmp_path), ledger=book, audit=found
    ), "carries no guarantee"


NEVER = [
    seeded,
    baseline,
    unproven,
    edited,
    edited_and_saved_again,
    promise_lowered,
    promise_lowered_without_a_ledger,
    caveat_taken_away,
    caveat_and_seed_taken_away,
    baseline_that_claims_a_promise,
    citation_of_another_ledger,
    citation_of_another_model,
    citation_that_is_none,
    missing_promise,
    refuted_by_an_audit,
    audit_of_what_carries_no_promise,
]


@pytest.mark.parametrize("case", NEVER, ids=lambda case: case.__name__)
def test_what_must_not_be_released_is_a_no_with_its_reason_on_the_first_screen(case, book, tmp_path):
    report, reason = case(book, tmp_path)
    assert report.verdict.light is Status.NO
    page = check_page(report.html())
    first = first_screen(page)
    assert 'class="answer no"' in first
    assert 'class="answer yes"' not in page
    assert "There is nothing to sign" in first
    assert "checkbox" not in page
    assert reason in first
    if report.values["caveats"]:
        assert first.index("Caveat:") < first.index("May I release this?")


def unpaid(book, tmp_path):
    return report_of_file(saved(fitted(), tmp_path), ledger=book), "names no ledger entry"


def ledger_not_opened(book, tmp_path):
    return report_of_file(saved(fitted(ledger=book, **CHARGED), tmp_path)), "was not opened"


def in_memory(book, tmp_path):
    return report_of(fitted(ledger=book, **CHARGED), ledger=book), "No file was checked"


def weak(book, tmp_path):
    book.create("wide", epsilon=30.0, delta=1e-5)
    return report_of_file(
        saved(fitted(epsilon=12.0, ledger=book, dataset="wide"), tmp_path), ledger=book
    ), "weak guarantee"


def hopeless(book, tmp_path):
    rows = np.random.default_rng(1).uniform(-1, 1, (40, 30))
    model = SparseRegressor(epsilon=0.1, feature_bound=1.0, target_bound=2.0, ledger=book, dataset="trial")
    return report_of_file(saved(model.fit(rows, rows[:, 0]), tmp_path), ledger=book), "hopeless"


def audit_of_another_recipe(book, tmp_path):
    found = {"verdict": "no violation found", "violated": False, "target": "dp_gcd"}
    return report_of_file(
        saved(fitted(ledger=book, **CHARGED), tmp_path), ledger=book, audit=found
    ), "The audit is of dp_gcd"


def audit_without_a_verdict(book, tmp_path):
    return report_of_file(
        saved(fitted(ledger=book, **CHARGED), tmp_path), ledger=book, audit={"runs": 3}
    ), "no readable verdict"


def delta_of_other_settings(book, tmp_path):
    path = rewrite(saved(fitted(), tmp_path), statement={"epsilon": 0.1, "delta": 1e-7})
    return report_of_file(path), "another delta"


def unknown_recipe(book, tmp_path):
    path = saved(fitted(ledger=book, **CHARGED), tmp_path)
    return report_of_file(rewrite(path, params={"recipe": {"recipe": "gone"}}), ledger=book), "cannot price the recipe"


WAITING = [
    unpaid,
    ledger_not_opened,
    in_memory,
    weak,
    hopeless,
    audit_of_another_recipe,
    audit_without_a_verdict,
    unknown_recipe,
    delta_of_other_settings,
]


@pytest.mark.parametrize("case", WAITING, ids=lambda case: case.__name__)
def test_what_is_open_is_a_not_yet_with_its_reason_on_the_first_screen(case, book, tmp_path):
    report, reason = case(book, tmp_path)
    assert report.verdict.light is Status.WAIT
    page = check_page(report.html())
    assert 'class="answer wait"' in first_screen(page)
    assert reason in first_screen(page)


def test_scores_without_a_promise_are_not_released(book, tmp_path):
    model = fitted(ledger=book, **CHARGED)
    scores = {"confidence": 0.95, "scores": [], "statement": {"private": False, "epsilon": 1.0, "delta": 1e-6}}
    report = report_of_file(saved(model, tmp_path), ledger=book, scores=scores)
    assert report.verdict.light is Status.WAIT
    assert "scores on this page carry no guarantee" in first_screen(report.html())


def test_a_seeded_entry_is_noted_in_the_ledger_and_pays_for_no_private_model(book, tmp_path):
    model = fitted(random_state=0, ledger=book, label="one", **CHARGED)
    assert [entry.label for entry in book.entries("trial")] == ["one [seed: not private]"]
    from dpsparse.ledger.check import Cited

    Cited(model.statement_.ledger, model.statement_).check(book)
    claimed = replace(model.statement_, private=True)
    with pytest.raises(LedgerTamperedError, match="came from a seed"):
        Cited(claimed.ledger, claimed).check(book)
    long = fitted(random_state=0, ledger=book, label="x" * 200, **CHARGED)
    assert book.entries("trial")[-1].label.endswith("[seed: not private]")
    assert not long.statement_.private


def test_an_empty_label_does_not_hide_the_seed(book):
    model = fitted(random_state=0, ledger=book, label="", **CHARGED)
    assert [entry.label for entry in book.entries("trial")] == ["[seed: not private]"]
    from dpsparse.ledger.check import Cited

    claimed = replace(model.statement_, private=True)
    with pytest.raises(LedgerTamperedError, match="came from a seed"):
        Cited(claimed.ledger, claimed).check(book)


def test_no_label_of_a_user_says_that_there_was_a_seed(book):
    with pytest.raises(LedgerError, match="must not end with"):
        fitted(ledger=book, label="one [seed: not private]", **CHARGED)
    assert book.entries("trial") == ()


def test_the_command_says_no_and_exits_so(tmp_path):
    path = saved(fitted(random_state=0), tmp_path)
    done = CliRunner().invoke(main, ["report", str(path), "-o", str(tmp_path / "page.html"), "--json"])
    assert done.exit_code == 7
    assert json.loads(done.stdout)["release"] == "no"
    assert 'class="answer no"' in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize("missing", REQUIRED)
def test_a_yes_needs_every_required_check(missing):
    good = [ReleaseCheck(what, Status.YES, "", "") for what in REQUIRED]
    assert decide(good).light is Status.YES
    assert decide([check for check in good if check.what != missing]).light is Status.WAIT
    for light in (Status.OPEN, Status.WAIT, Status.NO):
        changed = [replace(check, light=light) if check.what == missing else check for check in good]
        assert decide(changed).light is not Status.YES
    assert decide([]).light is not Status.YES


def test_there_is_no_report_of_what_was_not_fitted():
    with pytest.raises(DataError, match="not fitted"):
        report_of(SparseRegressor())
    with pytest.raises(DataError, match="model of dpsparse"):
        report_of(type("Other", (), {"statement_": fitted().statement_})())


def test_a_promise_that_the_ledger_contradicts_ends_the_command_with_the_code_of_none(book, tmp_path):
    path = rewrite(saved(fitted(ledger=book, **CHARGED), tmp_path), statement={"epsilon": 0.1})
    options = ["report", str(path), "-o", str(tmp_path / "page.html"), "--ledger", book.address]
    done = CliRunner().invoke(main, options)
    assert done.exit_code == 7
    assert "must not be released" in done.output
