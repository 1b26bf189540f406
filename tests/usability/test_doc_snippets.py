"""The examples of the guides run as they stand, one after the other."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.mark.parametrize(
    "page",
    [
        "private_search.md",
        "preparation.md",
        "files.md",
        "evaluation.md",
        "federated.md",
        "intervals.md",
        "from_logistic_regression.md",
    ],
)
def test_the_examples_of_a_page_run(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(), flags=re.DOTALL)
    assert blocks
    exec("\n".join(blocks), {})
    assert "differential privacy" in capsys.readouterr().out
