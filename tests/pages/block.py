"""Blocks of code in pages: what they are, and how they run as a reader would run them."""

from __future__ import annotations

import re
import shlex
import sys
import tomllib
from dataclasses import dataclass
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import click
from click.testing import CliRunner

import dpsparse_verify
from dpsparse.cli import main

ROOT = Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^(?P<fence>```+)(?P<language>[^`\n]*)\n(?P<text>.*?)^(?P=fence)$", flags=re.MULTILINE | re.DOTALL)
#: Files that a page shows.
INCLUDE = re.compile(r"^:::\{literalinclude\} (?P<path>\S+)\n(?P<options>(?::.*\n)*?):::$", flags=re.MULTILINE)
#: Stands on the line above a block that does not run.
REASON = re.compile(r"<!-- not run: (?P<reason>.+?) -->\n\Z")
#: Languages that run, those whose blocks are files where their first line names one, and those that are for reading.
RUNS, FILES, READ = ("python", "console", "sh"), ("yaml", "json", "csv"), ("text", "sql", "toml", "diff")


@dataclass(frozen=True)
class Block:
    """One block of a page, by the line on which it begins."""

    page: str
    line: int
    language: str
    text: str
    reason: str

    @property
    def commands(self) -> list[str]:
        """Commands of a shell's block, one for each line that a reader types; output of a ``console`` is left out."""
        lines = self.text.replace("\\\n", " ").splitlines()
        if self.language == "console":
            lines = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
        return [line for line in lines if line.strip() and not line.startswith("#")]


def pages() -> list[str]:
    """Every page that somebody wrote, from the root of the repository; those that are made from the code are left out."""
    made = ("docs/_build", "docs/reference/")
    found = (path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md"))
    return ["README.md", *sorted(name for name in found if not name.startswith(made))]


def blocks(page: str) -> list[Block]:
    """The blocks of a page in their order; directives of Sphinx are none."""
    text, found = (ROOT / page).read_text(), []
    for match in FENCE.finditer(text):
        if match["language"].startswith("{"):
            continue
        reason = REASON.search(text[: match.start()])
        line = text.count("\n", 0, match.start()) + 1
        found.append(Block(page, line, match["language"], match["text"], reason["reason"] if reason else ""))
    return found


def shown(page: str) -> dict[str, object]:
    """What a page shows of real files: the objects that it includes by name, and all names of the files that it includes whole.

    Files of the package are left out: a reader imports them.
    """
    names: dict[str, object] = {}
    for match in INCLUDE.finditer((ROOT / page).read_text()):
        path = ((ROOT / page).parent / match["path"]).resolve()
        if path.suffix != ".py" or ROOT / "src" in path.parents or ROOT / "benchmarks" in path.parents:
            continue
        one = re.search(r":pyobject: (\w+)", match["options"])
        found = module(path)
        names |= {one[1]: vars(found)[one[1]]} if one else {k: v for k, v in vars(found).items() if k[0] != "_"}
    return names


def module(path: Path) -> ModuleType:
    """A file as a module, run as if it had been imported under a name that no other file has."""
    name = f"shown_{path.parent.name}_{path.stem}"
    spec = spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    found = module_from_spec(spec)
    sys.modules[name] = found
    spec.loader.exec_module(found)
    return found


def run_page(page: str) -> str:
    """Run the blocks of a page in the working folder, Python's in one namespace; what commands printed."""
    names: dict[str, object] = {**shown(page), "__name__": "page"}
    said = []
    for block in blocks(page):
        if block.reason:
            continue
        if block.language == "python":
            code = "\n" * block.line + block.text
            exec(compile(code, page, "exec"), names)
        elif block.language in FILES and block.text.startswith("# "):
            first, _, content = block.text.partition("\n")
            Path(first.removeprefix("# ").strip()).write_text(content)
        elif block.language in RUNS:
            said += [run_command(command) for command in block.commands]
    return "\n".join(said)


def run_command(command: str) -> str:
    """Run one command of ours and compare its exit code with what the page says, 0 if nothing; others are looked up."""
    program, *arguments = shlex.split(command, comments=True)
    if program == "dpsparse":
        expected = re.search(r"#.*exit code (\d)", command)
        found = CliRunner().invoke(main, arguments)
        assert found.exit_code == (int(expected[1]) if expected else 0), f"{command}\n{found.output}"
        return found.output
    if program == "dpsparse-verify":
        expected = re.search(r"#.*exit code (\d)", command)
        assert dpsparse_verify.main(arguments) == (int(expected[1]) if expected else 0), command
        return ""
    look_up(command)
    return ""


def look_up(command: str) -> None:
    """That a command which does not run here exists: options of ours, targets of make, modules and scripts of the repository."""
    program, *arguments = shlex.split(command, comments=True)
    if program == "dpsparse":
        parse(arguments)
    elif program == "make":
        targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
        named = [word for word in arguments if "=" not in word]
        assert set(named) <= set(targets), f"{command}: the Makefile has no such target"
    elif program == "python" and arguments[0] == "-m":
        path = ROOT / arguments[1].replace(".", "/")
        ours = (ROOT / arguments[1].split(".")[0]).is_dir()
        assert path.is_dir() or path.with_suffix(".py").exists() if ours else find_spec(arguments[1]), command
    elif program == "pip":
        extras = re.fullmatch(r"dpsparse\[([\w,]+)\]", arguments[-1])
        known = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
        assert extras is not None, f"{command}: name a package of ours with its extras"
        assert set(extras[1].split(",")) <= set(known), f"{command}: pyproject.toml has no such extra"
    elif program == "python":
        assert (ROOT / arguments[0]).exists(), command
    else:
        raise AssertionError(f"{command}: say why it does not run, in <!-- not run: ... --> above the block")


def parse(arguments: list[str]) -> None:
    """Read a command line of ours without running it; files that it names need not be there."""
    command: click.Command = main
    rest = list(arguments)
    while isinstance(command, click.Group):
        context = click.Context(command)
        assert {*rest[:1]} & {*command.list_commands(context)}, f"there is no command {rest[:1]}"
        command = command.get_command(context, rest.pop(0))
    known = {name for p in command.params if isinstance(p, click.Option) for name in (*p.opts, *p.secondary_opts)}
    given = {word.partition("=")[0] for word in rest if word.startswith("--") or re.fullmatch(r"-[a-z]", word)}
    assert given <= known, f"{command.name} has no {sorted(given - known)}"
