"""Words that the project no longer uses do not come back in README, CONTRIBUTING, SECURITY and the pages written by hand."""

from __future__ import annotations

import re

import pytest

from pages.block import ROOT, pages

#: Pages and parts of pages that are written by programs: their words are changed in the program.
MADE = (
    "docs/papers/",
    "docs/peers.md",
    "docs/speed.md",
    "docs/mutation.md",
    "docs/tables_benchmark.md",
    "docs/intervals_benchmark.md",
    "docs/papers_defaults.md",
    "docs/federated_figure.md",
)
MADE_PARTS = (
    re.compile(r"<!-- made: (\w+) -->.*?<!-- end: \1 -->", re.DOTALL),
    re.compile(r"<!-- peers: .*?<!-- peers end -->", re.DOTALL),
    re.compile(r"^% simulation: .*?^% end of the simulation$", re.DOTALL | re.MULTILINE),
)
#: Code, commands, output, formulas and quoted statements say what the program says; addresses are names.
QUOTED = (
    re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE),
    re.compile(r"^:::+\{literalinclude\}.*?^:::+$", re.DOTALL | re.MULTILINE),
    re.compile(r"^>.*$", re.MULTILINE),
    re.compile(r"<!--.*?-->", re.DOTALL),
    re.compile(r"``?[^`\n]+``?"),
    re.compile(r"\$\$?[^$]+\$\$?"),
    re.compile(r"\]\([^)\s]*\)"),
)
#: Phrases that stay, and why.
EXCEPTIONS = {
    "least promising": "an ordinary adjective, not a guarantee",
    "open question": "what a person has to answer, not a query",
    "one question: may I release this?": "what a person asks",
    "list of questions": "what a person has to answer, not a query",
    "| question |": "heading of a table that answers readers",
}


def prose(text: str) -> str:
    """What a person wrote: without parts that programs write, code, names, formulas and quotations."""
    for pattern in (*MADE_PARTS, *QUOTED):
        text = pattern.sub(lambda found: "\n" * found[0].count("\n") or " ", text)
    for phrase in EXCEPTIONS:
        text = text.replace(phrase, "")
    return text


def retired() -> dict[str, re.Pattern[str]]:
    """The left column of the table in CONTRIBUTING, as patterns; notes in brackets are left out, a star is any ending."""
    table = (ROOT / "CONTRIBUTING.md").read_text().split("## Words\n")[1]
    cells = re.findall(r"^\| ([^|]+) \| [^|]+ \|$", table, re.MULTILINE)[1:]
    phrases = [phrase.strip() for cell in cells for phrase in re.sub(r"\(.*?\)", "", cell).split(",")]
    return {
        phrase: re.compile(rf"\b{re.escape(phrase)}\b".replace(r"\*\b", r"\w*"), re.IGNORECASE) for phrase in phrases
    }


def found(text: str) -> list[str]:
    """Retired words in a text, each with its line."""
    lines = prose(text).splitlines()
    words = retired().items()
    return [
        f"{k}: {phrase!r} in {line.strip()[:100]!r}"
        for k, line in enumerate(lines, 1)
        for phrase, pattern in words
        if pattern.search(line)
    ]


WRITTEN = [name for name in ["CONTRIBUTING.md", "SECURITY.md", *pages()] if not name.startswith(MADE)]


@pytest.mark.parametrize("page", WRITTEN)
def test_a_page_uses_the_words_of_the_field(page):
    text = (ROOT / page).read_text()
    if page == "CONTRIBUTING.md":
        text = text.split("\n## Words\n")[0]
    assert found(text) == []


def test_the_table_is_read():
    assert len(retired()) > 35
    assert {"promise*", "whoever", "made-up", "reach"} <= set(retired())


@pytest.mark.parametrize(
    "sentence",
    ["It keeps its promise.", "Add a question.", "Whoever fits it.", "It is\ntold so; they were told.", "The Rooms"],
)
def test_a_retired_word_is_found(sentence):
    assert found(sentence) != []


@pytest.mark.parametrize(
    "sentence",
    [
        "`promise` and `rooms.py`",
        "> Whoever knows all other rows",
        "```text\nthe promise\n```",
        "The least promising coordinate.",
        "<!-- made: a -->\ntwins\n<!-- end: a -->",
    ],
)
def test_names_quotations_and_made_parts_are_left_alone(sentence):
    assert found(sentence) == []


def test_every_exception_is_needed():
    text = "".join((ROOT / page).read_text() for page in WRITTEN)
    assert [phrase for phrase in EXCEPTIONS if phrase not in text] == []
