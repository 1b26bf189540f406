"""Names for what the theme leaves without one, for those who read pages by ear."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

#: The buttons that unfold a section of the navigation hold a picture only.
BARE, NAMED = "<summary><span", '<summary aria-label="Pages of this section"><span'


def name_buttons(app: Sphinx, exception: Exception | None) -> None:
    """Give every such button a name."""
    if exception is not None or app.builder.name != "html":
        return
    for path in Path(app.outdir).rglob("*.html"):
        text = path.read_text()
        if BARE in text:
            path.write_text(text.replace(BARE, NAMED))


def setup(app: Sphinx) -> dict[str, bool]:
    """Join Sphinx."""
    app.connect("build-finished", name_buttons)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
