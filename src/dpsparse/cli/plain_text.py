"""Docstrings as a terminal can show them: words without reST or formulas."""

from __future__ import annotations

import re

#: Stands for a formula that a terminal cannot show.
_FORMULA = "\0"
_HEADING = re.compile(r"\n([A-Z][A-Za-z ]+)\n-{3,}\n")


def plain(text: str) -> str:
    """Words of reST: without citations, emphasis and literal marks; sentences with formulas are left out."""
    joined = " ".join(text.split())
    joined = re.sub(r":math:`([A-Za-z0-9_ =<>/.+-]+)`", r"\1", joined)
    joined = re.sub(r":math:`[^`]*`|\.\. math::.*", _FORMULA, joined)
    sentences = re.split(r"(?<=[.]) ", joined)
    words = " ".join(one for one in sentences if _FORMULA not in one)
    if not words and sentences:  # the clause with the formula is left out
        words = re.split(rf"[,:;(][^,:;(]*{_FORMULA}", sentences[0])[0] + "."
    words = re.sub(r"\s*\((?=[^()]*\[[A-Z0-9]+\]_)([^()]*)\)", _names, words)
    words = re.sub(r"(?: (?:of|in|by))?\s*\[[A-Z0-9]+\]_", "", words)
    words = re.sub(r":[a-z]+:`~?([^`]+)`", r"\1", words)
    return re.sub(r"\s+([,.;:])", r"\1", words.replace("**", "").replace("``", "").replace("`", "")).strip(" ;")


def _names(found: re.Match[str]) -> str:
    """A bracket with citations: the names that papers use, if it has any."""
    named = re.sub(r"(?: (?:of|in|by))?\s*\[[A-Z0-9]+\]_", "", found[1]).strip(" ;,")
    return f" ({named})" if named else ""


def summary(docstring: str) -> str:
    """Its first paragraph, in plain words."""
    return plain(re.split(r"\n\s*\n", docstring, maxsplit=1)[0])


def fields_in(docstring: str) -> dict[str, str]:
    """What the section of parameters says about each, in plain words; empty where only formulas say it."""
    found: dict[str, str] = {}
    for name, text in re.findall(
        r"(?m)^(\w+(?:, \w+)*) : .*\n((?:    .*\n?|\n(?=    ))*)", _section(docstring, "Parameters")
    ):
        found |= {one: plain(text) for one in name.split(", ")}
    return found


def papers_in(docstring: str) -> tuple[str, ...]:
    """The references, without their labels."""
    return tuple(
        plain(one) for one in re.findall(r"\.\. \[\w+\] ([^\n]*(?:\n   [^\n]*)*)", _section(docstring, "References"))
    )


def _section(docstring: str, heading: str) -> str:
    parts = _HEADING.split(f"\n{docstring}\n")
    return dict(zip(parts[1::2], parts[2::2], strict=True)).get(heading, "")
