"""What pages and docstrings name is in the tree: paths, tests, modules, names."""

from __future__ import annotations

import pytest

from pages.named import ROOT, SRC, missing, texts, ticked


def test_every_path_and_name_in_pages_and_docstrings_is_there():
    looked = [(where, missing(text, file)) for where, text, file in texts()]
    assert len(looked) > 3000
    assert {where: words for where, words in looked if words} == {}


def test_pages_name_many_places():
    """The rule is not empty: pages and docstrings name more than 120 paths, and docstrings more than 1000 names."""
    words = [word for _, text, _ in texts() for word in ticked(text)]
    assert sum(word.endswith((".py", ".md")) for word in words) > 120
    assert sum(word.isidentifier() for word in words) > 1000


@pytest.mark.parametrize(
    "word",
    [
        "data/rows.py",
        "oracles/scores.py",
        "docs/accounting.md",
        "tests/mutant/",
        "benchmarks/gone",
        "core/test_ledger*.py",
        "accounting/test_pricing.py::test_that_was_renamed",
        "dpsparse.core.Gone",
        "dpsparse.gone.price",
        "accounting.gone.price_of",
    ],
)
def test_a_place_that_is_not_there_is_found(word):
    assert missing(f"Proofs are in `{word}`, and in ``{word}``.") == [word, word]


def test_a_name_that_a_docstring_made_up_is_found():
    file = SRC / "accounting" / "pld.py"
    assert missing("Each is dominated by a pair (`poison`).", file) == ["poison"]
    assert missing("Each is dominated by a pair (`pairs`); see `Grid` and `sampled_delta()`.", file) == []
    assert missing("Each is dominated by a pair (`poison`).") == [], (
        "pages name what they like: only places are looked at"
    )


def test_what_is_there_is_not_found():
    for word in (
        "queries/gradient.py",
        "tests/mutants/",
        "dpsparse.core.attacker.least_missed",
        "audit.check_pipeline(pipe)",
        "accounting/test_pricing.py::test_a_zcdp_budget_is_the_sum_of_rho",
        "ledger.verify()",
        "model.json",
        "dpsparse.neural",
    ):
        assert missing(f"`{word}`") == []
    assert (ROOT / "README.md").is_file()
