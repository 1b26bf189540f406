"""Writes the pages that are made from the code, before Sphinx looks for pages."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from . import commands, rooms

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def write(app: Sphinx) -> None:
    """Pages of the reference and of the command line. A page that did not change keeps its time, and so is not built again."""
    folder = Path(app.srcdir) / "reference"
    pages = rooms.pages() | {"_commands.md": commands.page(), "_contents.md": rooms.contents()}
    for path in set(folder.rglob("*.md")) - {folder / name for name in pages}:
        path.unlink()
    for name, text in pages.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


def plain_citations(app: Sphinx, what: str, name: str, thing: object, options: object, lines: list[str]) -> None:
    """References of a docstring as a list: several docstrings of one page cite the same paper."""
    for i, line in enumerate(lines):
        lines[i] = re.sub(r"\[([A-Z]\w*\d\d\w?)\]_", r"[\1]", re.sub(r"^(\s*)\.\. \[(\w+)\] ", r"\1* [\2] ", line))


def left_out(app: Sphinx, what: str, name: str, thing: object, skip: bool, options: object) -> bool | None:
    """Methods that scikit-learn adds for the routing of metadata are not of this package."""
    return True if re.fullmatch(r"set_\w+_request", name) else None


def setup(app: Sphinx) -> dict[str, bool]:
    """Join Sphinx."""
    app.connect("builder-inited", write)
    app.connect("autodoc-skip-member", left_out)
    app.connect("autodoc-process-docstring", plain_citations, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
