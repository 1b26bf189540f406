"""Names that could steer a terminal are escaped wherever a command prints them."""

from __future__ import annotations

import numpy as np
import pytest
from click.testing import CliRunner

from dpsparse.cli import main
from dpsparse.core.printable import printable

TITLE = "\x1b]0;title\x07"
NAMES = (TITLE, "\u202egpj.exe", "a\x9bb", "b\u2028c")


@pytest.mark.parametrize("name", NAMES)
def test_controls_are_escaped_and_letters_are_not(name):
    shown = printable(f"caf\u00e9 {name}\n\tx")
    assert shown.isprintable() or set(shown) - {c for c in shown if c.isprintable()} == {"\n", "\t"}
    assert shown.startswith("caf\u00e9 ")


def test_a_column_that_would_set_the_title_of_a_terminal(tmp_path):
    rows = np.random.default_rng(0).uniform(-1, 1, (200, 2))
    lines = [f"{TITLE},y", *(f"{a:.3f},{b:.3f}" for a, b in rows)]
    (tmp_path / "rows.csv").write_text("\n".join(lines))
    out = str(tmp_path / "m.json")
    given = ["--target", "y", "--task", "regression", "--feature-bound=-1,1", "--target-bound", "1", "--epsilon", "50"]
    for words in (["fit", str(tmp_path / "rows.csv"), *given, "--out", out], ["show", out]):
        ran = CliRunner().invoke(main, words)
        assert ran.exit_code == 0, ran.output
        assert "\x1b" not in ran.output
        assert "\x07" not in ran.output
        assert "\\x1b]0;title\\x07" in ran.output
