"""Mathematics as MathML, made when the pages are built: browsers draw it, and nothing is loaded from anywhere."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.util import logging

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.writers.html5 import HTML5Translator

LOGGER = logging.getLogger(__name__)
#: Environments that carry their own alignment; other displays may have several lines.
ALIGNED = re.compile(r"\\begin\{|(?<!\\)&|\\\\")
#: What the converter does not know, in what it knows.
SAME = {r"\lVert": r"\|", r"\rVert": r"\|", r"\tfrac": r"\frac", r"\mathrm": r"\text", r"\arg": r"\operatorname{arg}"}


@cache
def mathml(text: str, display: bool) -> str:
    """One formula as an element ``math``, with its source as the words that a reader without MathML gets."""
    source = text.strip()
    for name, other in SAME.items():
        source = re.sub(re.escape(name) + r"(?![a-zA-Z])", lambda _, other=other: other, source)
    if display and ALIGNED.search(source) and not source.startswith(r"\begin"):
        source = rf"\begin{{align*}}{source}\end{{align*}}"
    made = convert(source, display="block" if display else "inline")
    left = re.search(r">\s*(\\[a-zA-Z]+)", made)
    if left:
        raise ValueError(f"{left[1]} is not known")
    return made


def _draw(self: HTML5Translator, node: nodes.math | nodes.math_block, display: bool) -> None:
    try:
        made = mathml(node.astext(), display)
    except Exception as error:  # whatever a converter raises on what it cannot read
        LOGGER.warning("this formula cannot be drawn: %s (%s)", node.astext(), error, location=node)
        raise nodes.SkipNode from error
    # wide formulas are scrolled, by keyboard too
    self.body.append(f'<div class="math" tabindex="0">{made}</div>' if display else made)
    raise nodes.SkipNode


def inline(self: HTML5Translator, node: nodes.math) -> None:
    """A formula within a line."""
    _draw(self, node, display=False)


def block(self: HTML5Translator, node: nodes.math_block) -> None:
    """A formula that stands by itself."""
    _draw(self, node, display=True)


def setup(app: Sphinx) -> dict[str, bool]:
    """Take the place of the renderers that need a script."""
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
