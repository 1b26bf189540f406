"""The comparison of the README, taken over from the page: python docs/extensions/readme.py writes it."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
START, END = "<!-- peers: made from docs/peers.md by python docs/extensions/readme.py -->", "<!-- peers end -->"
#: What stands around it on the page.
SHOWN = ("<!-- readme -->", "<!-- readme end -->")


def table(page: str) -> str:
    """The part of the page that the README shows."""
    return page.partition(SHOWN[0])[2].partition(SHOWN[1])[0].strip()


def updated(readme: str, page: str) -> str:
    """The README with the table of the page."""
    before, _, rest = readme.partition(START)
    return f"{before}{START}\n{table(page)}\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    path = ROOT / "README.md"
    path.write_text(updated(path.read_text(), (ROOT / "docs" / "peers.md").read_text()))
