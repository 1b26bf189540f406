"""Words that the project no longer uses do not come back in the pages written by hand, nor in the source.

Read in the source: docstrings, comments, messages and the templates of reports.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache

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

PACKAGE = ROOT / "src" / "dpsparse"
#: Not prose in a docstring: the heading of a parameter (`question : str`), which is a name, and examples, which are code.
CODE_IN_DOCSTRINGS = (
    re.compile(r"^[ \t]*\w+(?:, \w+)* : .*$", re.MULTILINE),
    re.compile(r"^[ \t]*(?:>>>|\.\.\.) .*$", re.MULTILINE),
)
#: Tags and values in templates.
MARKUP = re.compile(r"\{[{%#].*?[%}#]\}|<[^>]*>", re.DOTALL)
#: Phrases of the source that stay, and why.
SOURCE_EXCEPTIONS = {
    "is None": "the value None of Python; also scikit-learn's own message about a missing target",
    "are None": "the value None of Python",
    "open question": "what a person has to answer, not a query",
}


def prose(text: str) -> str:
    """What a person wrote: without parts that programs write, code, names, formulas and quotations."""
    for pattern in (*MADE_PARTS, *QUOTED):
        text = pattern.sub(lambda found: "\n" * found[0].count("\n") or " ", text)
    for phrase in EXCEPTIONS:
        text = text.replace(phrase, "")
    return text


@cache
def retired() -> dict[str, re.Pattern[str]]:
    """The left column of the table in CONTRIBUTING, as patterns; notes in brackets are left out, a star is any ending."""
    table = (ROOT / "CONTRIBUTING.md").read_text().split("## Words\n")[1]
    cells = re.findall(r"^\| ([^|]+) \| [^|]+ \|$", table, re.MULTILINE)[1:]
    phrases = [phrase.strip() for cell in cells for phrase in re.sub(r"\(.*?\)", "", cell).split(",")]
    return {
        phrase: re.compile(rf"\b{re.escape(phrase)}\b".replace(r"\*\b", r"\w*"), re.IGNORECASE) for phrase in phrases
    }


@cache
def any_retired() -> re.Pattern[str]:
    """One pattern of all retired phrases: most texts have none."""
    return re.compile("|".join(pattern.pattern for pattern in retired().values()), re.IGNORECASE)


def found(text: str) -> list[str]:
    """Retired words in a text, each with its line."""
    if not any_retired().search(text):
        return []
    lines = prose(text).splitlines()
    words = retired().items()
    return [
        f"{k}: {phrase!r} in {line.strip()[:100]!r}"
        for k, line in enumerate(lines, 1)
        for phrase, pattern in words
        if pattern.search(line)
    ]


def texts(source: str) -> Iterator[tuple[int, str]]:
    """Comments, and strings of more than one word (docstrings and messages), each with its line."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value.strip():
            yield node.lineno, node.value


def found_in_source(source: str) -> list[str]:
    """Retired words in the comments, docstrings and messages of a module, each with its line."""
    hits = []
    for line, text in texts(source):
        for pattern in CODE_IN_DOCSTRINGS:
            text = pattern.sub("", text)
        for phrase in SOURCE_EXCEPTIONS:
            text = text.replace(phrase, "")
        hits += [f"line {line}: {hit}" for hit in found(text)]
    return hits


WRITTEN = [name for name in ["CONTRIBUTING.md", "SECURITY.md", *pages()] if not name.startswith(MADE)]


@pytest.mark.parametrize("page", WRITTEN)
def test_a_page_uses_the_words_of_the_field(page):
    text = (ROOT / page).read_text()
    if page == "CONTRIBUTING.md":
        text = text.split("\n## Words\n")[0]
    assert found(text) == []


@pytest.mark.parametrize("package", sorted(p.name for p in PACKAGE.iterdir() if p.suffix == ".py" or p.is_dir()))
def test_the_source_uses_the_words_of_the_field(package):
    files = sorted((PACKAGE / package).rglob("*.py")) if (PACKAGE / package).is_dir() else [PACKAGE / package]
    hits = {str(file.relative_to(PACKAGE)): found_in_source(file.read_text()) for file in files}
    assert {name: found for name, found in hits.items() if found} == {}


@pytest.mark.parametrize("template", sorted(p.name for p in PACKAGE.rglob("*.html")))
def test_a_template_uses_the_words_of_the_field(template):
    text = MARKUP.sub(" ", next(PACKAGE.rglob(template)).read_text())
    for phrase in SOURCE_EXCEPTIONS:
        text = text.replace(phrase, "")
    assert found(text) == []


@pytest.mark.parametrize(
    "line",
    [
        "x = 1  # whoever computed it",
        'def f():\n    """What was promised."""',
        "raise ValueError(f'{n} rows count as nothing.')",
        'def f():\n    """A sum.\n\n    Infinite if there is none.\n    """',
    ],
)
def test_a_retired_word_in_the_source_is_found(line):
    assert found_in_source(line) != []


@pytest.mark.parametrize(
    "line",
    [
        "promise = kind == 'question'",
        'def f():\n    """A sum.\n\n    question : str\n    >>> promise = 1\n    """',
        "x = 1  # `question` is a field; None where it is None",
    ],
)
def test_names_in_the_source_are_left_alone(line):
    assert found_in_source(line) == []


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


def test_every_exception_of_the_source_is_needed():
    source = "".join(file.read_text() for file in (*PACKAGE.rglob("*.py"), *PACKAGE.rglob("*.html")))
    assert [phrase for phrase in SOURCE_EXCEPTIONS if phrase not in source] == []


def test_every_exception_is_needed():
    text = "".join((ROOT / page).read_text() for page in WRITTEN)
    assert [phrase for phrase in EXCEPTIONS if phrase not in text] == []
