"""The worked examples run, print what their pages show, and say what is true of the data that they drew."""

from __future__ import annotations

import re
import runpy
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from pages.block import ROOT

EXAMPLES = ROOT / "examples"
SHOWN = ROOT / "docs" / "examples"
#: What must be in an output, whatever the noise.
TRUTHS = {
    "association": ["differential privacy", "8 of the 8 causal variants found", "association.png"],
    "clinical_table": [
        "6 features become 11 columns",
        "useful",
        "per year",
        "was paid for by entry",
        "May it be released?",
    ],
    "survival_study": ["life table of 20 intervals", "hazard ratio", "Saved: survival.csv", "May it be released?"],
    "genomics": ["epsilon 1: hopeless", "70 people: 0.5", "4,000 people: useful", "10 of the ten genes found"],
    "text": ["60,000 features", "1,000 features used", "dual_averaging"],
    "three_hospitals": ["features found: [2, 7]", "differential privacy"],
    "cluster": ["features found: [3, 11]", "the same bytes as in memory: True"],
    "own_recipe": ["[0 1]", "noisy_descent", "differential privacy"],
}
#: Those that take long in a quick suite; the others are run with every change.
SLOW = {"genomics", "text", "cluster"}


def labels(text: str) -> list[str]:
    """Lines by what stands before their first number or colon; long statements by their first words."""
    return [re.split(r"-?\d|[:(]", line)[0].strip()[:40] for line in text.splitlines() if line.strip()]


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else []) for name in TRUTHS]
)
def test_an_example_prints_what_its_page_shows(name, tmp_path, monkeypatch, capsys):
    if name == "cluster" and find_spec("distributed") is None:
        pytest.skip("Dask is not installed: pip install 'dpsparse[dask]'")
    from dpsparse import recipes
    from dpsparse.recipes import registry

    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DPSPARSE_DATA", raising=False)
    monkeypatch.setattr(registry, "REGISTRY", dict(recipes.REGISTRY))
    monkeypatch.setattr(sys, "argv", [name])
    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    printed = capsys.readouterr().out
    assert [truth for truth in TRUTHS[name] if truth not in printed] == []
    assert labels(printed) == labels((SHOWN / f"{name}.txt").read_text())


def test_every_example_has_a_page_that_shows_it():
    scripts = {path.stem for path in EXAMPLES.glob("*.py")}
    assert scripts == set(TRUTHS)
    for name in scripts:
        assert f"../../examples/{name}.py" in (SHOWN / f"{name}.md").read_text()
        assert f"({name}.md)" in (SHOWN / "index.md").read_text()


def test_an_example_is_short():
    assert [path.name for path in EXAMPLES.glob("*.py") if len(path.read_text().splitlines()) > 120] == []


def test_nothing_of_this_machine_is_shown():
    home = str(Path.home())
    assert [path.name for path in SHOWN.glob("*.txt") if home in path.read_text() or "/tmp" in path.read_text()] == []
