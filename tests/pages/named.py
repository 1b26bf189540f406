"""Which back-ticked words of pages and docstrings are places of the tree, and whether they are there.

A *path* is a word that ends in .py or .md, ends in a slash, or begins with a folder of the repository; it is
there if it is the end of a path in the tree (`queries/losses/poisson.py`, `tests/mutants/`; * stands for anything). `file.py::test` also
needs the test. A *dotted name* is one that begins with dpsparse, or with one of its packages, or with benchmarks: modules are
followed, then what a module defines or imports. A *bare name* in a docstring is there if its file mentions it in code, if it
is a module beside it or above, or if anything in the package is called so. What others define is in `OTHERS`.

Nothing is imported: extras need not be installed.
"""

from __future__ import annotations

import ast
import builtins
import fnmatch
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from pages.block import ROOT, pages

SRC = ROOT / "src" / "dpsparse"
FOLDERS = ("src", "tests", "docs", "benchmarks", "examples")
#: Names of Python, of other libraries and of formats, and what stands for something that a reader puts in.
OTHERS = {
    "ColumnTransformer",
    "DPSF",
    "DPSL",
    "age",
    "cross_val_score",
    "decimal",
    "docs/_build/html",
    "docs/guarantees/NAME.md",
    "benchmarks/papers/pNNN_*.py",
    "recipe__",
    "synchronous_commit",
    "torch",
    "unk",
    "years",
}
TICKED = re.compile(r"(?<![`:\w])(``?)([^`\n]+?)\1(?!`)")
PATH = re.compile(rf"[\w.\-*]+(/[\w.\-*]+)*\.(py|md)(::\w+)?|[\w.\-]+(/[\w.\-]+)*/|({'|'.join(FOLDERS)})(/[\w.\-*]+)+")
DOTTED = re.compile(r"([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+)(\(.*\))?")
BARE = re.compile(r"([A-Za-z_]\w*)(\(\))?")
#: Ends of files that readers have, which look like attributes.
FILES = (".json", ".html", ".toml", ".txt", ".svg", ".npz", ".csv", ".parquet", ".db", ".yaml", ".lock", ".png", ".npy")


def ticked(text: str) -> list[str]:
    """Back-ticked words, single and double, outside of blocks and roles."""
    text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    return [found[1] for found in TICKED.findall(re.sub(r":\w+:`[^`]*`", "", text))]


def docstrings(path: Path) -> Iterator[str]:
    """All of a file."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            text = ast.get_docstring(node, clean=False)
            if text:
                yield text


@cache
def paths() -> tuple[str, ...]:
    """Files and folders of the tree."""
    inside = [p for folder in FOLDERS for p in (ROOT / folder).rglob("*") if "__pycache__" not in p.parts]
    return (*(p.relative_to(ROOT).as_posix() for p in inside), *(p.name for p in ROOT.iterdir()))


def path_is_there(word: str) -> bool:
    """Whether a path is the end of one in the tree, and a test after :: is defined in it."""
    name, _, test = word.rstrip("/").partition("::")
    found = [p for p in paths() if fnmatch.fnmatch(p, name) or fnmatch.fnmatch(p, f"*/{name}")]
    return any(not test or f"def {test}(" in (ROOT / p).read_text() for p in found)


@cache
def mentioned(path: Path) -> frozenset[str]:
    """Identifiers in the code of a file: defined, used, imported, passed by keyword, or the whole of a string."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.Name(id=name):
                names.add(name)
            case ast.arg(arg=name) | ast.keyword(arg=str(name)) | ast.Attribute(attr=name):
                names.add(name)
            case ast.Constant(value=str(text)) if text.isidentifier():
                names.add(text)
            case ast.alias(name=name, asname=other):
                names |= {*name.split("."), other or name}
    return frozenset(names)


@cache
def defined() -> frozenset[str]:
    """What anything in the package is called: functions, classes, constants, fields, and values that are words."""
    names: set[str] = set()
    for path in SRC.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                    names.add(name)
                case ast.Assign(targets=[ast.Name(id=name) | ast.Attribute(attr=name)]):
                    names.add(name)
                case ast.AnnAssign(target=ast.Name(id=name) | ast.Attribute(attr=name)):
                    names.add(name)
                case ast.Constant(value=str(text)) if text.isidentifier():
                    names.add(text)
    return frozenset(names)


def followed(start: Path, parts: list[str]) -> bool:
    """Whether names lead from a folder to a module, and from there to what it mentions."""
    for k, part in enumerate(parts):
        if (start / part).is_dir():
            start = start / part
        elif (start / f"{part}.py").is_file():
            addresses = {p.stem for p in SRC.glob("*/addresses/*.py")}  # modules below a public address
            known = mentioned(start / f"{part}.py") | defined() | addresses
            return known.issuperset(parts[k + 1 :])
        else:
            init = start / "__init__.py"
            return init.is_file() and part in mentioned(init) and all(p in defined() for p in parts[k + 1 :])
    return True


def name_is_there(word: str, file: Path | None) -> bool:
    """Whether a dotted name that begins with us is there; True for all others."""
    parts = word.split(".")
    if parts[0] in ("dpsparse", "benchmarks"):
        return followed(SRC.parent if parts[0] == "dpsparse" else ROOT, parts)
    homes = [SRC] if file is None else [SRC, file.parent]
    homes = [home for home in homes if (home / parts[0]).is_dir() or (home / f"{parts[0]}.py").is_file()]
    # `ledger.verify` may speak of an object that is called as its package is
    return not homes or any(followed(home, parts) for home in homes) or parts[-1] in defined()


def bare_name_is_there(word: str, file: Path) -> bool:
    """Whether a name in a docstring of this file means something."""
    beside = {p.stem for folder in (file.parent, file.parent.parent, SRC) for p in folder.iterdir()}
    return word in mentioned(file) or word in beside or word in defined() or hasattr(builtins, word)


def missing(text: str, file: Path | None = None) -> list[str]:
    """Back-ticked words of a text that are places of the tree, and are not there; `file`: whose docstring it is."""
    found = []
    for word in ticked(text):
        if word in OTHERS:
            continue
        if PATH.fullmatch(word):
            there = path_is_there(word)
        elif (dotted := DOTTED.fullmatch(word)) and not word.endswith(FILES):
            there = name_is_there(dotted[1], file)
        elif file is not None and (bare := BARE.fullmatch(word)):
            there = bare_name_is_there(bare[1], file)
        else:
            there = True
        found += [] if there else [word]
    return found


def texts() -> Iterator[tuple[str, str, Path | None]]:
    """Every page and every docstring: where, the text, and the file of a docstring."""
    for page in (*pages(), "CONTRIBUTING.md", "SECURITY.md"):
        yield page, (ROOT / page).read_text(), None
    for file in sorted(SRC.rglob("*.py")):
        for text in docstrings(file):
            yield file.relative_to(ROOT).as_posix(), text, file
