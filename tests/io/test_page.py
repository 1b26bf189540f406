"""The page "Your table" does what it says: files, commands and Python, in their order."""

import re
import shlex
from pathlib import Path

from click.testing import CliRunner

from dpsparse.cli import main

PAGE = Path(__file__).resolve().parents[2] / "docs" / "tables.md"


def test_the_page_runs_as_it_stands(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    said = []
    for language, block in re.findall(r"```(python|yaml|console)\n(.*?)```", PAGE.read_text(), flags=re.DOTALL):
        if language == "python":
            exec(block, names)
        elif language == "yaml":
            first, _, content = block.partition("\n")
            Path(first.removeprefix("# ")).write_text(content)
        else:
            for command in block.replace("\\\n", " ").strip().split("\n"):
                program, *arguments = shlex.split(command.removeprefix("$ "))
                assert program == "dpsparse"
                found = CliRunner().invoke(main, arguments)
                assert found.exit_code == 0, found.output
                said.append(found.output)
    printed = capsys.readouterr().out
    assert "Still to be filled in: 6" in said[0]
    assert "6 features become 11 columns" in said[1]
    assert "per year" in said[3]
    assert "crp is missing     0.00   1.00" in printed
    assert "differential privacy" in printed
    assert "per mg/l" in printed
    assert not any("P00" in text or "Smith" in text for text in (*said, printed))
