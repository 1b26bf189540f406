"""Every block of code in the documentation runs as it stands, or says why it does not; there are only so many of these."""

from __future__ import annotations

from collections import Counter

import pytest

from dpsparse import recipes
from dpsparse.core.log import LOGGER
from dpsparse.recipes import registry
from pages.block import FILES, READ, RUNS, Block, blocks, look_up, pages, parse, run_command, run_page
from pages.prepared import PREPARED

#: Pages that are made from the results of long runs: their commands are looked up.
STUDIES = "docs/papers/"
#: Why blocks do not run, and how many of them at most.
REASONS = {"needs a cluster": 14, "needs other packages": 1, "takes long": 4}
PAGES = [page for page in pages() if blocks(page)]
WITH_CODE = [page for page in PAGES if not page.startswith(STUDIES)]


def every() -> list[Block]:
    return [block for page in PAGES for block in blocks(page)]


@pytest.fixture
def quiet(monkeypatch):
    """What a page changes for its process is undone: the logger and its files, and recipes that it registers."""
    monkeypatch.setattr(registry, "REGISTRY", dict(recipes.REGISTRY))
    before = list(LOGGER.handlers)
    monkeypatch.setattr(LOGGER, "handlers", list(before))
    monkeypatch.setattr(LOGGER, "level", LOGGER.level)
    yield
    for handler in LOGGER.handlers:
        if handler not in before:
            handler.close()


@pytest.mark.parametrize("page", WITH_CODE)
def test_the_blocks_of_a_page_run(page, tmp_path, monkeypatch, quiet):
    monkeypatch.chdir(tmp_path)
    PREPARED.get(page, lambda: None)()
    run_page(page)


def test_every_block_says_what_it_is():
    known = {*RUNS, *FILES, *READ}
    assert [f"{b.page}:{b.line} {b.language!r}" for b in every() if b.language not in known] == []


def test_blocks_that_do_not_run_say_why_and_are_few():
    found = Counter(block.reason for block in every() if block.reason)
    listed = "\n".join(f"{b.page}:{b.line} {b.reason}" for b in every() if b.reason)
    assert set(found) <= set(REASONS), listed
    assert all(found[reason] <= most for reason, most in REASONS.items()), listed


def test_commands_that_do_not_run_exist():
    for block in every():
        if block.language in ("sh", "console") and (block.reason or block.page.startswith(STUDIES)):
            for command in block.commands:
                if command.split()[0] in ("dpsparse", "make", "python"):
                    look_up(command)


@pytest.mark.parametrize(
    "command",
    [
        "dpsparse fit rows.csv --epsilom 2",
        "make tea",
        "python -m benchmarks.nothing",
        "rm -r x",
        "pip install dpsparse[tea]",
    ],
)
def test_a_command_that_does_not_exist_is_found(command):
    with pytest.raises(AssertionError):
        look_up(command)


def test_a_block_that_fails_is_found(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(AssertionError):
        run_command("dpsparse show nothing.json")
    run_command("dpsparse show nothing.json  # exit code 2")
    parse(["ledger", "show", "sqlite:///budget.db", "trial"])
