"""Claims of the README: each has a page and a command, and each sentence on how it works has a claim."""

from __future__ import annotations

import importlib.util
import re
import sys

import pytest

from pages.block import ROOT

SPEC = importlib.util.spec_from_file_location("evidence", ROOT / "docs" / "extensions" / "evidence.py")
evidence = importlib.util.module_from_spec(SPEC)
sys.modules["evidence"] = evidence
SPEC.loader.exec_module(evidence)
README = (ROOT / "README.md").read_text()
COMMANDS = {claim.command for claim in evidence.CLAIMS} | {command for _, command, _ in evidence.RESULTS}


def flat(text):
    return re.sub(r"\s+", " ", text)


@pytest.mark.parametrize("claim", evidence.CLAIMS, ids=lambda claim: claim.quote[:40])
def test_a_claim_stands_in_the_readme_and_on_the_page(claim):
    assert flat(claim.quote) in flat(README)
    assert (ROOT / "docs" / claim.page).is_file()
    assert flat(claim.quote) in flat((ROOT / "docs" / "evidence.md").read_text())


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_a_command_exists(command):
    kind, *rest = command.split()
    if kind == "make":
        assert re.search(rf"(?m)^{rest[0]}:", (ROOT / "Makefile").read_text())
    elif kind == "pytest":
        assert (ROOT / rest[0]).exists()
    else:
        assert [kind, rest[0]] == ["python", "-m"]
        module = ROOT / rest[1].replace(".", "/")
        assert module.with_suffix(".py").is_file() or (module / "__main__.py").is_file()


def test_every_sentence_on_how_it_works_has_a_claim():
    section = README.partition("## How it works")[2].partition("\n## ")[0]
    bullets = [flat(bullet) for bullet in re.split(r"(?m)^- ", section)[1:]]
    assert len(bullets) >= 5
    unclaimed = [b[:60] for b in bullets if not any(flat(claim.quote) in b for claim in evidence.CLAIMS)]
    assert unclaimed == []


def test_results_have_pages_and_numbers():
    for page, _, kept in evidence.RESULTS:
        assert (ROOT / "docs" / page).is_file(), page
        assert (ROOT / kept).is_file(), kept
