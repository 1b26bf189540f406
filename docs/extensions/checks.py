"""What must hold for the built pages. Where it does not, the build fails and says why."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlparse

from sphinx.errors import ExtensionError

from . import commands, rooms

if TYPE_CHECKING:
    from sphinx.application import Sphinx

#: Attributes by which a page loads something while it is opened; links that a reader follows are not among them.
LOADS = {
    "script": "src",
    "img": "src",
    "iframe": "src",
    "source": "src",
    "object": "data",
    "embed": "src",
    "video": "src",
}
#: Relations of a link element that load nothing.
QUIET = {
    "next",
    "prev",
    "index",
    "search",
    "author",
    "canonical",
    "contents",
    "copyright",
    "help",
    "license",
    "top",
    "up",
}
FAR = re.compile(r"^(?:[a-z]+:)?//", re.IGNORECASE)


class Page(HTMLParser):
    """Headings, links and loaded files of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.links: list[str] = []
        self.headings: list[str] = []
        self.places: set[str] = set()
        self._within = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what an element loads or links to."""
        given = {name: value or "" for name, value in attrs}
        self.places |= {given[name] for name in ("id", "name") if name in given}
        if tag in LOADS and given.get(LOADS[tag]):
            self.loads.append(given[LOADS[tag]])
        if tag == "link" and not set(given.get("rel", "").split()) <= QUIET:
            self.loads.append(given.get("href", ""))
        self.loads += re.findall(r"url\(['\"]?([^'\")]+)", given.get("style", ""))
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        if tag == "h1":
            self._within = True
            self.headings.append("")

    def handle_endtag(self, tag: str) -> None:
        """A heading ends."""
        if tag == "h1":
            self._within = False

    def handle_data(self, data: str) -> None:
        """Words of a heading."""
        if self._within:
            self.headings[-1] += data


def _bare(text: str) -> str:
    return re.sub(r"\W+", "", text)


def page_faults(name: str, title: str, page: Page) -> list[str]:
    """A page that is not the one of its source, that loads from elsewhere, or that has links which are none."""
    found = []
    if not any(_bare(title) == _bare(heading.removesuffix("#")) for heading in page.headings):
        found.append(f"{name}: its title {title!r} is not in its built page, which another page has overwritten.")
    found += [f"{name}: it loads {path}, which is not bundled." for path in page.loads if FAR.match(path)]
    for link in page.links:
        parts = urlparse(link)
        if parts.scheme in ("http", "https") and "." not in parts.netloc:
            found.append(f"{name}: {link} is no address.")
    return found


def link_faults(folder: Path, read: dict[str, Page]) -> list[str]:
    """Links to pages, files and places that are not there."""
    found = []
    for name, page in read.items():
        for link in page.links:
            parts = urlparse(link)
            if parts.scheme or parts.netloc or link == "#":
                continue
            path = (folder / f"{name}.html").parent / unquote(parts.path) if parts.path else folder / f"{name}.html"
            target = path.resolve()
            if not target.exists():
                found.append(f"{name}: {link} leads nowhere.")
            elif parts.fragment and target.suffix == ".html":
                other = target.relative_to(folder.resolve()).with_suffix("").as_posix()
                if other in read and unquote(parts.fragment) not in read[other].places:
                    found.append(f"{name}: {link} leads to no place of its page.")
    return found


def style_faults(folder: Path) -> list[str]:
    """Style sheets that load from elsewhere."""
    found = []
    for path in folder.rglob("*.css"):
        for far in re.findall(
            r"(?:url\(|@import\s+)['\"]?((?:https?:)?//[^'\")\s]+)", path.read_text(errors="replace")
        ):
            found.append(f"{path.name}: it loads {far}, which is not bundled.")
    return found


def reference_faults(documented: set[str]) -> list[str]:
    """Public names without an entry, and fields of recipes that their docstring does not explain."""
    from dataclasses import fields

    from dpsparse import recipes

    found = []
    grouped = {room for group in rooms.GROUPS.values() for room in group}
    for room in rooms.rooms():
        if room in rooms.ELSEWHERE:
            continue
        if room not in grouped:
            found.append(f"reference: the room dpsparse.{room} has no page.")
        found += [
            f"reference: dpsparse.{room}.{name} is missing."
            for name in rooms.listed(room)
            if rooms.home(room, name) not in documented
        ]
    for name in recipes.names():
        kind = recipes.get(name)
        said = recipes.describe(name)
        found += [
            f"reference: the field {field.name} of the recipe {name} is not explained."
            for field in fields(kind)  # type: ignore[arg-type]
            if not re.search(rf"^(?:\w+, )*{field.name}(?:, \w+)*(?: :.*)?$", said, flags=re.MULTILINE)
        ]
    return found


def command_faults(page: str) -> list[str]:
    """Commands and options that the page of the command line does not show."""
    return [f"command_line: {word} is missing." for word in sorted(commands.words()) if word not in page]


def check(app: Sphinx, exception: Exception | None) -> None:
    """Everything above, once the pages are written."""
    if exception is not None or app.builder.name != "html":
        return
    out, found = Path(app.outdir), []
    read = {name: Page((out / f"{name}.html").read_text()) for name in sorted(app.env.found_docs)}
    for name, page in read.items():
        found += page_faults(name, app.env.titles[name].astext(), page)
    found += link_faults(out, read)
    found += style_faults(out / "_static")
    found += reference_faults(set(app.env.get_domain("py").objects))  # type: ignore[attr-defined]
    found += command_faults((out / "command_line.html").read_text())
    if found:
        raise ExtensionError("The pages are not as they should be:\n" + "\n".join(f"  {fault}" for fault in found))


def setup(app: Sphinx) -> dict[str, bool]:
    """Join Sphinx."""
    app.connect("build-finished", check, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
