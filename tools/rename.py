"""Move packages and rename names over the whole tree, as `tools/names.toml` says.

    python tools/rename.py --check     # what it would do, and what it cannot resolve; writes nothing
    python tools/rename.py             # do it, with `git mv`; a second run changes nothing

Needs libcst and ruff. Every rename is keyed by the module that defines a name, and follows the binding: through relative, absolute and
lazy imports, re-exports, `__all__`, attributes of modules, and patches by name in tests. A name that would be captured in some scope
keeps its old local name there (`import New as old`); one that would collide where it is defined is not renamed, and reported.
Attributes go by name, so that one is renamed only where every class that defines it is listed. In strings, comments and pages dotted
module names, paths of files and names in back-ticks follow. Quoted lines of `tests/mutants` follow the edits of the file they quote.
"""

from __future__ import annotations

import argparse
import ast
import collections
import itertools
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import libcst as cst
from libcst.metadata import (
    Assignment,
    ClassScope,
    GlobalScope,
    ImportAssignment,
    MetadataWrapper,
    PositionProvider,
    Scope,
    ScopeProvider,
)

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "dpsparse"
#: Files that are rewritten, besides those of the package.
SPREAD = ("tests", "benchmarks", "docs", "examples")
PAGES = {".md", ".toml", ".in", ".json", ".yaml", ".yml", ".txt", ".html", ".cfg", ".rst"}
ALONE = (
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "MANIFEST.in",
    "Makefile",
    "pyproject.toml",
    "conftest.py",
)
#: What stands before the name of a package in a path that is put together.
FOLDERS = r"(\b(SOURCE|HOME)|\"dpsparse\"|dpsparse\.__file__\)\.parent)$"
#: Results of runs: their words are facts of the past.
LEFT_ALONE = ("benchmarks/results/", "docs/_build/", "docs/coverage.json", "requirements", "tools/")


# ------------------------------------------------------------------------------------------------ the map


@dataclass(frozen=True)
class Names:
    """What `names.toml` says."""

    modules: dict[str, str]
    faces: dict[str, str]
    facades: dict[str, str]
    outgoing: list[str]
    addresses: list[str]
    packages: dict[str, str]
    names: dict[str, str]
    strings: list[str]
    attributes: dict[str, dict[str, object]]
    tests: dict[str, str]
    texts: list[dict[str, str]]
    files: dict[str, str]
    contracts: str

    @classmethod
    def read(cls, path: Path) -> Names:
        """Read the file; every section may be missing."""
        found = tomllib.loads(path.read_text(encoding="utf8"))
        return cls(
            modules={f"{PACKAGE}.{k}": f"{PACKAGE}.{v}" for k, v in found.get("modules", {}).items()},
            faces={f"{PACKAGE}.{k}": f"{PACKAGE}.{v}" for k, v in found.get("faces", {}).items()},
            facades={f"{PACKAGE}.{k}": f"{PACKAGE}.{v}" for k, v in found.get("facades", {}).items()},
            outgoing=[f"{PACKAGE}.{k}" for k in found.get("outgoing", {}).get("facades", [])],
            addresses=[f"{PACKAGE}.{k}" for k in found.get("addresses", {}).get("modules", [])],
            packages={f"{PACKAGE}.{k}": v for k, v in found.get("packages", {}).items()},
            names={f"{PACKAGE}.{k}": v for k, v in found.get("names", {}).items()},
            strings=found.get("strings", {}).get("names", []),
            attributes=found.get("attributes", {}),
            tests=found.get("tests", {}),
            texts=found.get("texts", []),
            files=found.get("files", {}),
            contracts=found.get("contracts", {}).get("text", ""),
        )


@dataclass
class Module:
    """A module of the package before the run: what it defines, and what it takes from where."""

    name: str
    path: Path
    package: bool
    defined: set[str] = field(default_factory=set)
    taken: dict[str, tuple[str, str | None]] = field(default_factory=dict)
    members: dict[str, set[str]] = field(default_factory=dict)


class Tree:
    """The package as it is, and where everything goes."""

    def __init__(self, root: Path, names: Names) -> None:
        self.root, self.names = root, names
        self.source = root / "src" / PACKAGE
        self.modules = {m.name: m for m in self._modules()}
        for module in self.modules.values():
            self._index(module)
        self.refused: set[tuple[str, str]] = set()
        self.problems: list[str] = []

    def _modules(self) -> Iterator[Module]:
        for path in sorted(self.source.rglob("*.py")):
            parts = list(path.relative_to(self.source.parent).with_suffix("").parts)
            package = parts[-1] == "__init__"
            if _is_facade(path):  # made by an earlier run
                continue
            yield Module(".".join(parts[:-1] if package else parts), path, package)

    def _index(self, module: Module) -> None:
        tree = ast.parse(module.path.read_text(encoding="utf8"))
        todo: list[ast.stmt] = list(tree.body)
        while todo:
            node = todo.pop(0)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                module.defined.add(node.name)
                if isinstance(node, ast.ClassDef):
                    module.members[node.name] = _members(node)
            elif isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                module.defined |= {n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)}
            elif isinstance(node, ast.TypeAlias if hasattr(ast, "TypeAlias") else ()):
                module.defined.add(node.name.id)
            elif isinstance(node, ast.ImportFrom):
                target = self.absolute(module.name, module.package, node.level, node.module or "")
                for alias in node.names:
                    module.taken[alias.asname or alias.name] = (target, alias.name)
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    bound = alias.asname or alias.name.split(".")[0]
                    module.taken[bound] = (alias.name if alias.asname else alias.name.split(".")[0], None)
            else:
                for name in ("body", "orelse", "finalbody"):
                    todo += getattr(node, name, [])
                for handler in getattr(node, "handlers", []):
                    todo += handler.body

    @staticmethod
    def absolute(module: str, package: bool, level: int, target: str) -> str:
        """The absolute name of what an import names."""
        if not level:
            return target
        base = module.split(".") if package else module.split(".")[:-1]
        base = base[: len(base) - (level - 1)]
        return ".".join([*base, *([target] if target else [])])

    # ---------------------------------------------------------------- where things are

    def resolve(
        self, module: str, name: str, seen: frozenset[tuple[str, str]] = frozenset()
    ) -> tuple[str, str | None] | None:
        """The module that defines a name, and the name; (module, None) where the name is a module; None: not ours."""
        found = self.modules.get(module)
        if found is None:
            return None
        if (module, name) in seen:  # `from . import name` of a package
            return (f"{module}.{name}", None) if f"{module}.{name}" in self.modules else None
        if name in found.taken and name not in found.defined:
            source, inner = found.taken[name]
            if inner is None:
                return (source, None) if source in self.modules else None
            return self.resolve(source, inner, seen | {(module, name)})
        if name in found.defined:
            return module, name
        return (f"{module}.{name}", None) if f"{module}.{name}" in self.modules else None

    def place(self, module: str) -> str:
        """The new name of a module."""
        if module in self.names.faces:
            return self.names.faces[module]
        return self._moved(module)

    def _moved(self, module: str) -> str:
        parts = module.split(".")
        for count in range(len(parts), 0, -1):
            prefix = ".".join(parts[:count])
            if prefix in self.names.modules:
                return ".".join([self.names.modules[prefix], *parts[count:]])
        return module

    def renamed(self, module: str, name: str) -> str:
        """The new name of what a module defines."""
        if (module, name) in self.refused:
            return name
        return self.names.names.get(f"{module}.{name}", name)

    def new_path(self, module: Module) -> Path:
        """Where a module's file goes."""
        new = self.place(module.name).split(".")
        package = module.package and module.name not in self.names.faces
        base = self.root / "src"
        return base.joinpath(*new, "__init__.py") if package else base.joinpath(*new[:-1], f"{new[-1]}.py")

    @cached_property
    def homes(self) -> dict[str, list[str]]:
        """Modules that define a name."""
        found = collections.defaultdict(list)
        for module in self.modules.values():
            for name in module.defined:
                found[name].append(module.name)
        return dict(found)

    def unique(self, name: str) -> tuple[str, str] | None:
        """The one module that defines a name with a new name, where no other module defines it."""
        homes = self.homes.get(name, [])
        return (homes[0], name) if len(homes) == 1 and self.renamed(homes[0], name) != name else None

    @cached_property
    def moved_files(self) -> dict[str, str]:
        """Old and new paths of all files of the package that move, within `src/dpsparse`."""
        found = {}
        for module in self.modules.values():
            new = self.new_path(module)
            if new != module.path:
                found[str(module.path.relative_to(self.source))] = str(new.relative_to(self.source))
        for path in sorted(
            p for p in self.source.rglob("*") if p.is_file() and p.suffix != ".py" and "__pycache__" not in p.parts
        ):
            folder = ".".join([PACKAGE, *path.relative_to(self.source).parent.parts])
            new_folder = self._moved(folder)
            if new_folder != folder:
                new = self.root / "src" / Path(*new_folder.split(".")) / path.name
                found[str(path.relative_to(self.source))] = str(new.relative_to(self.source))
        return found

    @cached_property
    def moved_folders(self) -> dict[str, str]:
        """Old and new folders of packages."""
        found = {}
        for module in self.modules.values():
            if module.package and module.name != PACKAGE and self._moved(module.name) != module.name:
                found["/".join(module.name.split(".")[1:])] = "/".join(self._moved(module.name).split(".")[1:])
        return found

    @cached_property
    def moved_tests(self) -> dict[str, str]:
        """Old and new paths of files of tests, within `tests`."""
        found = {}
        base = self.root / "tests"
        for old, new in self.names.tests.items():
            for path in sorted((base / old).rglob("*")) if (base / old).is_dir() else []:
                if path.is_file() and "__pycache__" not in path.parts:
                    found[str(path.relative_to(base))] = str(Path(new) / path.relative_to(base / old))
        taken: dict[str, list[str]] = collections.defaultdict(list)
        for old, new in found.items():
            taken[new].append(old)
        for new, olds in taken.items():
            here = (base / new).exists() and new not in found
            if len(olds) + here > 1 and not new.endswith("__init__.py"):
                raise SystemExit(f"tests: {', '.join(olds)} would all be {new}")
        return found

    def members_of(self, attribute: str) -> set[str]:
        """Classes that have a member of this name, as module.Class."""
        return {f"{m.name}.{c}" for m in self.modules.values() for c, held in m.members.items() if attribute in held}

    @cached_property
    def attributes(self) -> dict[str, str]:
        """Attributes that can be renamed by name alone: all classes that have them are listed."""
        found = {}
        for old, entry in self.names.attributes.items():
            listed = {f"{PACKAGE}.{c}" for c in entry["classes"]}  # type: ignore[attr-defined]
            holders = self.members_of(old)
            new = str(entry["new"])
            if not holders or entry.get("own"):
                continue
            if holders - listed:
                self.problems.append(
                    f"attribute {old} -> {new}: also of {', '.join(sorted(holders - listed))}; not renamed"
                )
            elif any(new in self.modules[h.rpartition(".")[0]].members[h.rpartition(".")[2]] for h in holders):
                self.problems.append(f"attribute {old} -> {new}: one of its classes has {new} already; not renamed")
            else:
                found[old] = new
        return found


def _is_facade(path: Path) -> bool:
    """Whether a file is a public address that a run made, and no module of its own."""
    return "The public address" in path.read_text(encoding="utf8").split("\n", 1)[0]


def _members(node: ast.ClassDef) -> set[str]:
    """Methods, fields, and attributes that are set on self."""
    found = set()
    for inner in node.body:
        if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef):
            found.add(inner.name)
            me = inner.args.args[0].arg if inner.args.args else ""
            for n in ast.walk(inner):
                if (
                    isinstance(n, ast.Attribute)
                    and isinstance(n.ctx, ast.Store)
                    and isinstance(n.value, ast.Name)
                    and n.value.id == me
                ):
                    found.add(n.attr)
        elif isinstance(inner, ast.AnnAssign) and isinstance(inner.target, ast.Name):
            found.add(inner.target.id)
        elif isinstance(inner, ast.Assign):
            found |= {t.id for t in inner.targets if isinstance(t, ast.Name)}
    return found


# ------------------------------------------------------------------------------------------------ edits of a text


class Edits:
    """Replacements of spans of one text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.starts = [0, *itertools.accumulate(len(line) for line in text.splitlines(keepends=True))]
        self.spans: dict[tuple[int, int], str] = {}
        self.tokens: dict[str, set[str]] = collections.defaultdict(set)

    def offset(self, line: int, column: int) -> int:
        """Where a line and a column are in the text."""
        return self.starts[line - 1] + column

    def put(self, start: int, end: int, new: str) -> None:
        """Replace a span; the same replacement twice is one."""
        if self.text[start:end] == new:
            return
        known = self.spans.get((start, end))
        if known is not None and known != new:
            raise ValueError(f"two replacements of {self.text[start:end]!r}: {known!r} and {new!r}")
        self.spans[start, end] = new
        if self.text[start:end].isidentifier() and new.isidentifier():
            self.tokens[self.text[start:end]].add(new)

    def apply(self, start: int = 0, end: int | None = None) -> str:
        """The text with its replacements, or the part of it that a span of the old text became."""
        end = len(self.text) if end is None else end
        parts, here = [], start
        for (a, b), new in sorted(self.spans.items()):
            if b <= start or a >= end:
                continue
            if a < here:
                if a < start:
                    return ""
                raise ValueError(f"replacements overlap at {self.text[a:b]!r}")
            parts += [self.text[here:a], new]
            here = b
        return "".join([*parts, self.text[here:end]])


# ------------------------------------------------------------------------------------------------ prose: strings, comments, pages


class Prose:
    """Dotted names, paths and back-ticked names in text that is not code."""

    DOTTED = re.compile(rf"(?<![\w./]){PACKAGE}((?:\.\w+)+)")
    FILE = re.compile(r"(?<![\w.-])((?:(?:\.\./)*src/)?dpsparse/)?((?:[a-z_]+/)+[\w*]+\.\w+)(?![\w])")
    FOLDER = re.compile(r"(?<![\w./-])((?:(?:\.\./)*src/)?dpsparse/)((?:[a-z_]+/)+)(?=\*|[`\"' ]|$)")
    BARE_FOLDER = re.compile(r"`((?:[a-z_]+/)+)`")
    TEST = re.compile(r"(?<![\w.-])(tests/)?([a-z_]+)/(\w+\.py)\b")
    TEST_FOLDER = re.compile(r"(?<![\w./-])tests/([a-z_]+)(?=[\s`\"'/]|$)(?!/\w)")
    TICKED = re.compile(r"(?<!`)(`{1,2})([A-Za-z_][\w.]*)(\([^`]*\))?(\1)(?!`)")
    ROLE = re.compile(r"(?<=`)(~?)([A-Za-z_][\w.]*)(?=`)")

    def __init__(self, tree: Tree, inside: bool, public: bool = False) -> None:
        self.tree, self.inside, self.public = tree, inside, public

    def dotted(self, parts: list[str]) -> list[str] | None:
        """A dotted name of ours (without the package), as it is called afterwards; None: not ours."""
        for count in range(len(parts), 0, -1):
            module = ".".join([PACKAGE, *parts[:count]])
            if module not in self.tree.modules:
                continue
            rest = parts[count:]
            face = module in self.tree.names.faces or module in self.tree.names.facades
            kept = module in self.tree.names.facades or (
                module in self.tree.names.faces and self.tree.names.faces[module] == module
            )
            address = self.public and module in self.tree.names.addresses
            if address or (face and kept and module not in self.tree.names.outgoing and not self.inside):
                new = parts[:count]
            else:
                new = self.tree.place(module).split(".")[1:]
            if rest:
                home = self.tree.resolve(module, rest[0])
                if home is not None and home[1] is not None:
                    if (
                        face
                        and (self.inside or module in self.tree.names.outgoing)
                        and self.tree.place(module) == module
                    ):
                        new = self.tree.place(home[0]).split(".")[1:]  # a face that only outsiders use
                    rest = [self.tree.renamed(*home), *(self.tree.attributes.get(p, p) for p in rest[1:])]  # type: ignore[arg-type]
            return [*new, *rest]
        return None

    def edit(self, edits: Edits, start: int, text: str, local: dict[str, str]) -> None:
        """Note the replacements within a piece of text that begins at an offset."""
        done: list[tuple[int, int]] = []

        def put(a: int, b: int, new: str) -> None:
            if not any(a < y and x < b for x, y in done):
                done.append((a, b))
                edits.put(start + a, start + b, new)

        for found in self.DOTTED.finditer(text):
            new = self.dotted(found[1].split(".")[1:])
            if new is not None:
                put(found.start(), found.end(), ".".join([PACKAGE, *new]))
        for found in self.FILE.finditer(text):
            moved = self.tree.moved_files.get(found[2]) or self._starred(found[2])
            if moved and not text[: found.start()].endswith("tests/"):
                put(found.start(2), found.end(2), moved)
        for found in self.FOLDER.finditer(text):
            moved = self.tree.moved_folders.get(found[2].rstrip("/"))
            if moved:
                put(found.start(2), found.end(2), moved + "/")
        for found in self.BARE_FOLDER.finditer(text):
            moved = self.tree.moved_folders.get(found[1].rstrip("/"))
            if moved:
                put(found.start(1), found.end(1), moved + "/")
        for found in self.TEST.finditer(text):
            moved = self.tree.moved_tests.get(f"{found[2]}/{found[3]}")
            if moved:
                put(found.start(2), found.end(3), moved)
        for found in self.TEST_FOLDER.finditer(text):
            moved = self.tree.names.tests.get(found[1])
            if moved and (self.tree.root / "tests" / found[1]).is_dir():
                put(found.start(1), found.end(1), moved)
        for pattern in (self.TICKED, self.ROLE):
            for found in pattern.finditer(text):
                new = self._ticked(found[2], local)
                if new:
                    put(found.start(2), found.end(2), new)

    def _starred(self, path: str) -> str | None:
        folder, _, name = path.rpartition("/")
        if "*" not in name or folder not in self.tree.moved_folders:
            return None
        return f"{self.tree.moved_folders[folder]}/{name}"

    def _ticked(self, name: str, local: dict[str, str]) -> str | None:
        """A name in back-ticks: dotted from a package of ours, bound in the file, or defined once in the tree."""
        parts = name.split(".")
        if len(parts) > 1 and f"{PACKAGE}.{parts[0]}.{parts[1]}" in self.tree.modules:
            new = self.dotted(parts)
            return ".".join(new) if new else None
        first = local.get(parts[0])
        if first is None and (home := self.tree.unique(parts[0])) and (parts[0][0].isupper() or "_" in parts[0]):
            first = self.tree.renamed(*home)
        rest = [self.tree.attributes.get(p, p) if "_" in p or first is not None else p for p in parts[1:]]
        new = ".".join([first or parts[0], *rest])
        return new if new != name else None


# ------------------------------------------------------------------------------------------------ code


class Code:
    """The edits of one Python file."""

    def __init__(self, tree: Tree, path: Path) -> None:
        self.tree, self.path = tree, path
        self.text = path.read_text(encoding="utf8")
        self.edits = Edits(self.text)
        self.inside = path.is_relative_to(tree.source)
        self.public = _public(tree.root, path)
        self.module = next((m for m in tree.modules.values() if m.path == path), None)
        self.name = self.module.name if self.module else ""
        self.notes: list[str] = []
        self.colliding: set[tuple[str, str]] = set()
        wrapper = MetadataWrapper(cst.parse_module(self.text), unsafe_skip_copy=True)
        found = wrapper.resolve_many([PositionProvider, ScopeProvider])
        self.positions, scopes = found[PositionProvider], found[ScopeProvider]
        self.scopes: list[Scope] = list({id(s): s for s in scopes.values() if s is not None}.values())
        self.root = wrapper.module
        self.scope_of = scopes
        self.kinds: dict[type, list[cst.CSTNode]] = collections.defaultdict(list)
        for node in self.positions:
            self.kinds[type(node)].append(node)
        #: Attributes by what they are attributes of; dotted names of imports are none.
        self.outer = {id(node.value): node for node in self.kinds[cst.Attribute]}
        named = [n.module for n in self.kinds[cst.ImportFrom]] + [a.name for a in self.kinds[cst.ImportAlias]]
        self.in_imports = {
            id(inner) for node in named if isinstance(node, cst.Attribute) for inner in _find(node, (cst.Attribute,))
        }

    # ---------------------------------------------------------------- places

    def span(self, node: cst.CSTNode) -> tuple[int, int] | None:
        """Offsets of a node; None inside of a quoted annotation."""
        at = self.positions.get(node)
        if at is None:
            return None
        return self.edits.offset(at.start.line, at.start.column), self.edits.offset(at.end.line, at.end.column)

    def put(self, node: cst.CSTNode, new: str) -> None:
        """Replace a node."""
        if (span := self.span(node)) is not None:
            self.edits.put(*span, new)

    # ---------------------------------------------------------------- the whole

    def run(self) -> Edits:
        """Find all edits."""
        if self.module and "parents[" in self.text and self.name.count(".") != self.tree.place(self.name).count("."):
            self.notes.append(
                f"{self.path.relative_to(self.tree.root)}: it counts its parents, and is elsewhere afterwards"
            )
        self.local: dict[str, str] = {}
        self._bindings()
        self._modules_by_attribute()
        self._walk()
        return self.edits

    def _bindings(self) -> None:
        """Imports, and names that are bound at the top or by an import, with everything that refers to them."""
        plans: list[tuple[Scope, Assignment, str, str]] = []
        self.imported: dict[tuple[int, str], tuple[str, str | None]] = {}
        rewrites: dict[int, tuple[cst.ImportFrom | cst.Import, list[tuple[cst.ImportAlias, str, str, bool]]]] = {}
        for node in [*self.kinds[cst.ImportFrom], *self.kinds[cst.Import]]:
            aliases = self._import_from(node) if isinstance(node, cst.ImportFrom) else self._import(node)
            if aliases is not None:
                rewrites[id(node)] = (node, aliases)
        bound: dict[tuple[int, str], str] = {}
        for key, (_, aliases) in rewrites.items():
            for alias, _, name, is_kept in aliases:
                old = alias.evaluated_name if isinstance(alias.evaluated_name, str) else ""
                if alias.asname is None and name != old and not is_kept:
                    bound[key, old] = name
        for scope in self.scopes:
            for one in scope.assignments:
                if isinstance(one, ImportAssignment):
                    new = bound.get((id(one.node), one.name))
                elif isinstance(scope, GlobalScope) and isinstance(one, Assignment) and self.name:
                    new = (
                        self.tree.renamed(self.name, one.name)
                        if self.tree.resolve(self.name, one.name) == (self.name, one.name)
                        else None
                    )
                else:
                    new = None
                if new is not None and new != one.name:
                    plans.append((scope, one, one.name, new))
        effective = {(id(scope), old): new for scope, _, old, new in plans}
        kept: set[tuple[int, str]] = set()
        for scope, one, old, new in plans:
            clash = self._clash(scope, one, old, new, effective)
            if clash and isinstance(one, ImportAssignment):
                kept.add((id(one.node), old))
                self.notes.append(f"{self.where(one.node)}: {new} is imported as {old}: {clash}")
            elif clash:
                self.colliding.add((self.name, old))
                self.notes.append(f"{self.where(one.node)}: {old} -> {new} collides: {clash}")
        # a name that two imports of one scope bind keeps its name in both
        for scope, one, old, _new in plans:
            others = [o for o in scope[old] if isinstance(o, ImportAssignment)]
            if isinstance(one, ImportAssignment) and any(
                (id(o.node), old) in kept or (id(o.node), old) not in bound for o in others
            ):
                kept.add((id(one.node), old))
        for scope, one, old, new in plans:
            if isinstance(one, ImportAssignment):
                if (id(one.node), old) in kept:
                    continue
            else:
                node = one.node
                self.put(node.name if isinstance(node, cst.FunctionDef | cst.ClassDef | cst.TypeAlias) else node, new)
            for access in one.references:
                self._rename_access(access.node, old, new)
            if isinstance(scope, GlobalScope):
                self.local[old] = new
        for key, (node, aliases) in rewrites.items():
            self._write_import(node, [(a, m, n, k or (key, a.evaluated_name) in kept) for a, m, n, k in aliases])

    def where(self, node: cst.CSTNode) -> str:
        """The file and line of a node, for notes."""
        at = self.positions.get(node)
        return f"{self.path.relative_to(self.tree.root)}:{at.start.line if at else '?'}"

    def _rename_access(self, node: cst.CSTNode, old: str, new: str) -> None:
        while isinstance(node, cst.Attribute):
            node = node.value
        if isinstance(node, cst.Name) and node.value == old:
            self.put(node, new)

    def _clash(self, scope: Scope, one: Assignment, old: str, new: str, effective: dict[tuple[int, str], str]) -> str:
        """Why a binding cannot have a new name; empty: it can."""

        def binds(at: Scope) -> bool:
            return any(effective.get((id(at), a.name), a.name) == new and a.name != old for a in at.assignments)

        if binds(scope):
            return f"{new} is bound in the same scope"
        for access in one.references:
            at: Scope | None = access.scope
            while at is not None and at is not scope:
                if binds(at) and (
                    at is access.scope or not isinstance(at, ClassScope)
                ):  # methods do not see names of their class
                    return f"{new} is bound where {old} is used"
                at = at.parent if at.parent is not at else None
        for at in self.scopes:
            if not _within(at, scope):
                continue
            for access in at.accesses:
                node = access.node
                while isinstance(node, cst.Attribute):
                    node = node.value
                if isinstance(node, cst.Name) and node.value == new:
                    homes = {id(a.scope) for a in access.referents}
                    if (
                        all(effective.get((id(a.scope), a.name), a.name) != new for a in access.referents)
                        and access.referents
                    ):
                        continue
                    if not any(h == id(s) for h in homes for s in _below(at, scope)):
                        return f"{new} of an outer scope is used"
        return ""

    # ---------------------------------------------------------------- imports

    def _import_from(self, node: cst.ImportFrom) -> list[tuple[cst.ImportAlias, str, str, bool]] | None:
        """For each name of an import of ours: the alias, its new module, its new name, and whether the old local name must stay."""
        level = len(node.relative)
        target = _dotted(node.module)
        if level and not self.inside:
            return None
        source = self.tree.absolute(self.name, bool(self.module and self.module.package), level, target)
        if source not in self.tree.modules:
            return None
        if isinstance(node.names, cst.ImportStar):
            if self.tree.place(source) != source and not self._stays(source):
                self.notes.append(f"{self.where(node)}: import * of {source}")
            return None
        found = []
        for alias in node.names:
            name = str(alias.evaluated_name)
            home = self.tree.resolve(source, name)
            if home is None:  # bound in some other way, or a module that is made
                found.append((alias, self._face(source, None), name, False))
            elif home[1] is None:
                direct = home[0] == f"{source}.{name}"
                new = self.tree.place(home[0]) if direct else f"{self.tree.place(source)}.{name}"
                found.append((alias, new.rpartition(".")[0], new.rpartition(".")[2], False))
            else:
                found.append((alias, self._face(source, home[0]), self._exported(source, name, home), False))
            self.imported[id(node), alias.evaluated_alias or name] = (source, name)
        return found

    def _exported(self, source: str, name: str, home: tuple[str, str | None]) -> str:
        """What a module calls a name that it re-exports: renamed with it, unless it was taken under another name."""
        taken = self.tree.modules[source].taken.get(name)
        if taken is not None and taken[1] != name and name not in self.tree.modules[source].defined:
            return name
        return self.tree.renamed(home[0], home[1] or name)

    def _stays(self, source: str) -> bool:
        """Whether files outside of the package go on using this address."""
        if self.public and source in self.tree.names.addresses:
            return True
        facade = source in self.tree.names.facades or self.tree.names.faces.get(source) == source
        return facade and not self.inside and source not in self.tree.names.outgoing

    def _face(self, source: str, home: str | None) -> str:
        """From which module a name is imported afterwards: the one it was imported from, or the one that defines it."""
        if self._stays(source):
            return source
        new = self.tree.place(source)
        if home is None or home == source:
            return new
        if self.tree.names.faces.get(source) == source:  # a face for outsiders
            return self.tree.place(home)
        here = self.tree.place(self.name) if self.name else ""
        joined = here.startswith(f"{new}.") and not self.name.startswith(f"{source}.")
        return self.tree.place(home) if joined and self.tree.modules[source].package else new

    def _import(self, node: cst.Import) -> list[tuple[cst.ImportAlias, str, str, bool]] | None:
        for alias in node.names:
            name = str(alias.evaluated_name)
            if name.split(".", maxsplit=1)[0] != PACKAGE or name == PACKAGE:
                continue
            new = self.tree.place(name) if name in self.tree.modules and not self._stays(name) else name
            if new != name:
                self.put(alias.name, new)
        return None

    def _write_import(
        self, node: cst.ImportFrom | cst.Import, aliases: list[tuple[cst.ImportAlias, str, str, bool]]
    ) -> None:
        """Write an import from its new modules; in place where there is only one."""
        assert isinstance(node, cst.ImportFrom)
        level = len(node.relative)
        modules = list(dict.fromkeys(module for _, module, _, _ in aliases))
        if len(modules) == 1:
            start = self.span(node)[0]  # type: ignore[index]
            head = re.match(r"from\s+([.\w\s]*?)\s+import\b", self.text[start:])
            assert head is not None
            self.edits.put(start + head.start(1), start + head.end(1), self._spelled(modules[0], level))
            for alias, _, name, kept in aliases:
                old = str(alias.evaluated_name)
                if name != old:
                    self.put(alias.name, f"{name} as {old}" if kept and alias.asname is None else name)
            return
        start, end = self.span(node)  # type: ignore[misc]
        if "#" in self.text[start:end]:
            self.notes.append(f"{self.where(node)}: a comment inside of an import that was split is lost")
        line = self.text.rfind("\n", 0, start) + 1
        indent = self.text[line:start]
        lines = []
        for module in modules:
            taken = []
            for alias, of, name, kept in aliases:
                if of == module:
                    old = str(alias.evaluated_name)
                    local = alias.evaluated_alias or (old if kept and name != old else None)
                    taken.append(f"{name} as {local}" if local else name)
            lines.append(f"from {self._spelled(module, level)} import {', '.join(taken)}")
        if indent.strip():
            self.notes.append(f"{self.where(node)}: an import behind a semicolon was split")
        comment = re.match(r"  #[^\n]*", self.text[end:])
        self.edits.put(start, end, f"{comment[0] if comment else ''}\n{indent}".join(lines))

    def _spelled(self, module: str, level: int) -> str:
        """A module as an import names it: relative where it was relative."""
        if not level or not self.module:
            return module
        new = self.tree.place(self.name)
        package = self.module.package and self.name not in self.tree.names.faces
        base = new.split(".") if package else new.split(".")[:-1]
        target = module.split(".")
        common = 0
        while common < min(len(base), len(target)) and base[common] == target[common]:
            common += 1
        return "." * (len(base) - common + 1) + ".".join(target[common:])

    # ---------------------------------------------------------------- attributes of modules

    def _module_of(self, node: cst.BaseExpression) -> tuple[str, bool] | None:
        """The module that an expression names, and whether it is named through the package itself."""
        if isinstance(node, cst.Name):
            scope = self.scope_of.get(node)
            if scope is None:
                return None
            try:
                homes = list(scope[node.value])
            except KeyError:
                return None
            found = set()
            for one in homes:
                if not isinstance(one, ImportAssignment):
                    return None
                if isinstance(one.node, cst.Import):
                    for alias in one.node.names:
                        name = str(alias.evaluated_name)
                        if alias.evaluated_alias == node.value:
                            found.add(name)
                        elif alias.asname is None and name.split(".", maxsplit=1)[0] == node.value:
                            found.add(node.value)
                else:
                    source = self.imported.get((id(one.node), node.value))
                    home = self.tree.resolve(*source) if source else None
                    if home is None or home[1] is not None:
                        return None
                    found.add(home[0])
            return (found.pop(), True) if len(found) == 1 and found <= set(self.tree.modules) | {PACKAGE} else None
        if isinstance(node, cst.Attribute):
            base = self._module_of(node.value)
            if base is None:
                return None
            home = self.tree.resolve(base[0], node.attr.value)
            if home is None and f"{base[0]}.{node.attr.value}" in self.tree.modules:
                home = (f"{base[0]}.{node.attr.value}", None)
            return (home[0], True) if home is not None and home[1] is None else None
        return None

    def _foreign(self, node: cst.BaseExpression) -> bool:
        """Whether an expression is a name that is imported from another library: `os.walk` is no attribute of ours."""
        scope = self.scope_of.get(node) if isinstance(node, cst.Name) else None
        if scope is None:
            return False
        try:
            homes = list(scope[node.value])  # type: ignore[attr-defined]
        except KeyError:
            return False
        return bool(homes) and all(isinstance(one, ImportAssignment) and not self._ours(one.node) for one in homes)

    def _ours(self, node: cst.CSTNode) -> bool:
        if isinstance(node, cst.ImportFrom):
            return bool(node.relative) or _dotted(node.module).split(".")[0] in (
                PACKAGE,
                "benchmarks",
                "truth",
                "builders",
            )
        return any(str(a.evaluated_name).split(".")[0] == PACKAGE for a in node.names)  # type: ignore[attr-defined]

    def _modules_by_attribute(self) -> None:
        """`module.Name`, `dpsparse.package.module.Name`, and patches by name: (module, "Name")."""
        for node in self.kinds[cst.Attribute]:
            if id(node) in self.in_imports:
                continue
            base = self._module_of(node.value)
            if base is None:
                continue
            home = self.tree.resolve(base[0], node.attr.value)
            if home is not None and home[1] is not None:
                new = self._exported(base[0], node.attr.value, home)
                if new != node.attr.value:
                    self.put(node.attr, new)
            elif home is not None and isinstance(node.value, cst.Name | cst.Attribute):
                self._dotted_module(node, base[0], home[0])
        for node in self.kinds[cst.Call]:
            if len(node.args) < 2 or not isinstance(node.args[1].value, cst.SimpleString):
                continue
            base = self._module_of(node.args[0].value)
            text = node.args[1].value
            name = text.evaluated_value
            if base is not None and isinstance(name, str):
                home = self.tree.resolve(base[0], name)
                if home is not None and home[1] is not None and (new := self._exported(base[0], name, home)) != name:
                    self.put(text, f'"{new}"')

    def _dotted_module(self, node: cst.Attribute, base: str, module: str) -> None:
        """`dpsparse.package` or `package.module` as an expression, where the module moves."""
        root = node
        while isinstance(root, cst.Attribute):
            root = root.value  # type: ignore[assignment]
        if isinstance(root, cst.Name) and root.value == PACKAGE:
            new = module if self._stays(module) else self.tree.place(module)
            if new != module:
                outer = self.outer.get(id(node))
                inner = self._module_of(outer) if outer is not None else None
                if inner is None:
                    self.put(node, new)
        elif self.tree.place(module) != f"{self.tree.place(base)}.{node.attr.value}":
            self.notes.append(
                f"{self.where(node)}: {node.attr.value} as an attribute of {base} moves to {self.tree.place(module)}"
            )

    # ---------------------------------------------------------------- strings, comments, attributes

    def _walk(self) -> None:
        self._paths()
        prose = Prose(self.tree, False, self.public)  # what users read names public addresses, also within the package
        strings = {
            n.rpartition(".")[2]: self.tree.names.names[f"{PACKAGE}.{n}"]
            for n in self.tree.names.strings
            if self._still(n)
        }
        listed = self._listed()
        kinds = (cst.SimpleString, cst.FormattedStringText, cst.Comment, cst.Attribute, cst.ClassDef, cst.Call)
        for node in itertools.chain.from_iterable(self.kinds[k] for k in kinds):
            if isinstance(node, cst.SimpleString | cst.FormattedStringText | cst.Comment):
                self._text(node, prose, strings, listed)
            elif isinstance(node, cst.Attribute):
                if (
                    (new := self.tree.attributes.get(node.attr.value))
                    and id(node) not in self.in_imports
                    and self._module_of(node.value) is None
                    and not self._foreign(node.value)
                ):
                    self.put(node.attr, new)
            elif isinstance(node, cst.ClassDef):
                self._class(node)
            else:
                self._call(node)

    def _still(self, name: str) -> bool:
        module, _, old = f"{PACKAGE}.{name}".rpartition(".")
        return module in self.tree.modules and self.tree.renamed(module, old) != old

    def _listed(self) -> set[int]:
        """Strings of `__all__`."""
        return {
            id(text)
            for node in self.kinds[cst.Assign]
            if any(isinstance(t.target, cst.Name) and t.target.value == "__all__" for t in node.targets)
            for text in _find(node.value, (cst.SimpleString,))
        }

    def _text(self, node: cst.CSTNode, prose: Prose, strings: dict[str, str], listed: set[int]) -> None:
        span = self.span(node)
        if span is None or span in self.edits.spans:
            return
        raw = self.text[span[0] : span[1]]
        if isinstance(node, cst.SimpleString):
            value = node.evaluated_value
            if id(node) in listed and not self.name:
                return
            if id(node) in listed and isinstance(value, str):
                home = self.tree.resolve(self.name, value)
                if home is not None and home[1] is not None:
                    self.edits.put(*span, raw.replace(value, self._exported(self.name, value, home)))
                return
            if "mutants" in self.path.parts and value in self.tree.moved_files:
                self.edits.put(*span, raw.replace(str(value), self.tree.moved_files[str(value)]))
                return
            if isinstance(value, str) and value in strings:
                self.edits.put(*span, raw.replace(value, strings[value]))
                return
            if isinstance(value, str) and re.fullmatch(r"[a-z_]+(\.\w+)+", value) and value.count(".") >= 2:
                new = prose.dotted(value.split("."))
                if new is not None and f"{PACKAGE}.{'.'.join(value.split('.')[:2])}" in self.tree.modules:
                    self.edits.put(*span, raw.replace(value, ".".join(new)))
                    return
        if isinstance(node, cst.SimpleString) and not self.inside and not raw.endswith('"""'):
            for found in re.finditer(r"(?<=[a-z] )[A-Z]\w+\b", raw):  # messages that name a kind of query
                if found[0] in strings:
                    self.edits.put(span[0] + found.start(), span[0] + found.end(), strings[found[0]])
        if isinstance(node, cst.SimpleString) and node.evaluated_value in self._distinctive:
            self.notes.append(f"{self.where(node)}: {raw} is no path that was followed, and may be a package")
        prose.edit(self.edits, span[0], raw, self.local)

    @cached_property
    def _distinctive(self) -> set[str]:
        """Names of packages that move and are no common words; only where code speaks of packages."""
        common = {"answers", "bench", "data", "datasets", "fits", "local", "losses", "privacy", "storage", "tables"}
        return set() if self.inside else {name for name in self.tree.moved_folders if "/" not in name} - common

    def _paths(self) -> None:
        """`SOURCE / "package"`, `... / "dpsparse" / "package"`: folders of the package."""
        for node in self.kinds[cst.BinaryOperation]:
            if not isinstance(node.operator, cst.Divide) or not isinstance(node.right, cst.SimpleString):
                continue
            span, left = self.span(node.right), self.span(node.left)
            moved = self.tree.moved_folders.get(str(node.right.evaluated_value))
            if moved and span and left and re.search(FOLDERS, self.text[left[0] : left[1]]):
                self.edits.put(*span, f'"{moved}"')

    def _own(self, node: cst.ClassDef) -> dict[str, str]:
        """Members that this class alone gives another name: where `own` is set, uses through `self` within it are renamed."""
        found = {}
        for old, entry in self.tree.names.attributes.items():
            if entry.get("own") and f"{self.name}.{node.name.value}" in {f"{PACKAGE}.{c}" for c in entry["classes"]}:  # type: ignore[attr-defined]
                found[old] = str(entry["new"])
        for inner in _find(node, (cst.Attribute,)) if found else ():
            if isinstance(inner.value, cst.Name) and inner.value.value in ("self", "cls") and inner.attr.value in found:
                self.put(inner.attr, found[inner.attr.value])
        return found

    def _class(self, node: cst.ClassDef) -> None:
        """Members of a class, and their lines in its docstring."""
        if not isinstance(node.body, cst.IndentedBlock):
            return
        changed, own = {}, self._own(node)
        for line in node.body.body:
            names: list[cst.Name] = []
            if isinstance(line, cst.FunctionDef):
                names = [line.name]
            elif isinstance(line, cst.SimpleStatementLine):
                for small in line.body:
                    if isinstance(small, cst.AnnAssign) and isinstance(small.target, cst.Name):
                        names.append(small.target)
                    elif isinstance(small, cst.Assign):
                        names += [t.target for t in small.targets if isinstance(t.target, cst.Name)]
            for name in names:
                if (new := own.get(name.value) or self.tree.attributes.get(name.value)) is not None:
                    self.put(name, new)
                    changed[name.value] = new
        first = node.body.body[0] if node.body.body else None
        if changed and isinstance(first, cst.SimpleStatementLine) and isinstance(first.body[0], cst.Expr):
            span = self.span(first.body[0].value)
            if span is not None:
                for found in re.finditer(r"^( +)(\w+(?:, \w+)*)( :)", self.text[span[0] : span[1]], flags=re.MULTILINE):
                    for word in re.finditer(r"\w+", found[2]):
                        if word[0] in changed:
                            at = span[0] + found.start(2)
                            self.edits.put(at + word.start(), at + word.end(), changed[word[0]])

    def _call(self, node: cst.Call) -> None:
        """Fields by keyword, in calls of classes and of `replace`."""
        name = node.func.attr.value if isinstance(node.func, cst.Attribute) else getattr(node.func, "value", "")
        if not isinstance(name, str):
            return
        for arg in node.args:
            if arg.keyword is None or arg.keyword.value not in self.tree.attributes:
                continue
            entry = self.tree.names.attributes[arg.keyword.value]
            classes = {str(c).rpartition(".")[2] for c in entry["classes"]}  # type: ignore[attr-defined]
            if name in classes or name in ("replace", "cls", "with_"):
                self.put(arg.keyword, self.tree.attributes[arg.keyword.value])
        if name in ("setattr", "getattr", "object", "hasattr", "delattr") and len(node.args) >= 2:
            text = node.args[1].value
            new = self.tree.attributes.get(str(text.evaluated_value)) if isinstance(text, cst.SimpleString) else None
            if new is not None and self.span(text) not in self.edits.spans:
                self.put(text, f'"{new}"')


def _find(root: cst.CSTNode, kinds: tuple[type, ...]) -> Iterator[cst.CSTNode]:
    todo = [root]
    while todo:
        node = todo.pop()
        if isinstance(node, kinds):
            yield node
        todo.extend(node.children)


def _dotted(node: cst.BaseExpression | None) -> str:
    if node is None:
        return ""
    if isinstance(node, cst.Attribute):
        return f"{_dotted(node.value)}.{node.attr.value}"
    return str(getattr(node, "value", ""))


def _within(inner: Scope, outer: Scope) -> bool:
    return outer in _chain(inner)


def _chain(scope: Scope) -> list[Scope]:
    found = [scope]
    while found[-1].parent is not None and found[-1].parent is not found[-1]:
        found.append(found[-1].parent)
    return found


def _below(inner: Scope, outer: Scope) -> list[Scope]:
    """Scopes from the inner one up to, not including, the outer one."""
    chain = _chain(inner)
    return chain[: chain.index(outer)]


# ------------------------------------------------------------------------------------------------ mutants that quote


class Quotes:
    """Lines of source files that `tests/mutants` quotes: `changed(file, tests, (name, old, new), ...)`."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.files = sorted((tree.root / "tests" / "mutants").glob("*.py"))

    def calls(self, path: Path) -> Iterator[tuple[str, list[tuple[cst.BaseExpression, cst.BaseExpression]]]]:
        """Files that are quoted, with pairs of what stands there and what replaces it."""
        module = MetadataWrapper(cst.parse_module(path.read_text(encoding="utf8")), unsafe_skip_copy=True)
        self.positions = module.resolve(PositionProvider)
        constants = {
            a.targets[0].target.value: _literal(a.value)
            for a in _find(module.module, (cst.Assign,))
            if isinstance(a.targets[0].target, cst.Name) and _literal(a.value) is not None
        }
        for call in _find(module.module, (cst.Call,)):
            if _dotted(call.func) not in ("changed", "Mutant") or len(call.args) < 3:
                continue
            values = [a.value for a in call.args]
            if _dotted(call.func) == "changed":
                file, tuples = values[0], [v for v in values[2:] if isinstance(v, cst.Tuple) and len(v.elements) == 3]
                pairs = [(t.elements[1].value, t.elements[2].value) for t in tuples]
            else:
                file, pairs = values[1], [(values[2], values[3])]
            name = _literal(file) if not isinstance(file, cst.Name) else constants.get(file.value)
            if name is not None:
                yield name, pairs

    def edit(self, sources: dict[str, Edits], now: dict[str, str]) -> list[str]:
        """Rewrite the quotes; `sources`: edits by old path, `now`: formatted texts by old path. Returns what could not be followed."""
        lost = []
        for path in self.files:
            if path not in self.before:
                continue
            text, calls = self.before[path]
            edits = Edits(text)
            for file, pairs in calls:
                if file not in sources:
                    continue
                for (span_a, old), (span_b, new) in pairs:
                    found = self._follow(sources[file], now[file], old, new)
                    if found is None:
                        lost.append(f"{path.name}: {file}: {old!r}")
                        continue
                    for span, before, after in ((span_a, old, found[0]), (span_b, new, found[1])):
                        if before != after:
                            edits.put(*span, _quoted(after))
            self.edited[path] = edits
        return lost

    def remember(self) -> None:
        """Read all quotes, before anything changes."""
        self.before: dict[Path, tuple[str, list]] = {}
        self.edited: dict[Path, Edits] = {}
        for path in self.files:
            text = path.read_text(encoding="utf8")
            where = Edits(text)
            calls = []
            for file, pairs in self.calls(path):
                spans = []
                for old, new in pairs:
                    a, b = _literal(old), _literal(new)
                    if a is not None and b is not None:
                        spans.append(((self._span(where, old), a), (self._span(where, new), b)))
                calls.append((file, spans))
            self.before[path] = (text, calls)

    def _span(self, where: Edits, node: cst.CSTNode) -> tuple[int, int]:
        at = self.positions[node]
        return where.offset(at.start.line, at.start.column), where.offset(at.end.line, at.end.column)

    def _follow(self, edits: Edits, now: str, old: str, new: str) -> tuple[str, str] | None:
        if edits.text.count(old) != 1:
            return None
        at = edits.text.index(old)
        wanted = edits.apply(at, at + len(old))
        replaced = self._tokens(edits, new)
        if now.count(wanted) == 1:
            return wanted, replaced
        parts = [re.escape(p) for p in re.findall(r"\w+|[^\w\s]", wanted)]
        lead, tail = re.match(r"\s*", wanted)[0], re.search(r"\s*$", wanted)[0]  # type: ignore[index]
        found = list(re.finditer(re.escape(lead) + r",?\s*".join(parts) + re.escape(tail), now)) if parts else []
        return (found[0][0], replaced) if len(found) == 1 else None

    @staticmethod
    def _tokens(edits: Edits, text: str) -> str:
        return re.sub(r"\b[A-Za-z_]\w*\b", lambda m: _only(edits.tokens.get(m[0]), m[0]), text)


def _only(found: set[str] | None, otherwise: str) -> str:
    return next(iter(found)) if found and len(found) == 1 else otherwise


def _literal(node: cst.BaseExpression) -> str | None:
    if isinstance(node, cst.SimpleString | cst.ConcatenatedString):
        value = node.evaluated_value
        return value if isinstance(value, str) else None
    return None


def _quoted(text: str) -> str:
    body = json.dumps(text, ensure_ascii=False)
    return f"'{text}'" if '"' in text and "'" not in text and "\\" not in body.replace('\\"', "") else body


# ------------------------------------------------------------------------------------------------ the run

_TREE: Tree


def _start(tree: Tree) -> None:
    global _TREE  # noqa: PLW0603
    _TREE = tree


def _edit_code(path: Path) -> tuple[Path, dict[tuple[int, int], str], list[str], set[tuple[str, str]]]:
    code = Code(_TREE, path)
    edits = code.run()
    return path, edits.spans, code.notes, code.colliding


def _public(root: Path, path: Path) -> bool:
    """Whether users read this file: pages and examples."""
    return path.relative_to(root).parts[0] in ("docs", "examples") or path.parent == root


def _edit_page(tree: Tree, path: Path) -> Edits:
    edits = Edits(path.read_text(encoding="utf8"))
    prose = Prose(tree, False, _public(tree.root, path))
    prose.edit(edits, 0, edits.text, {})
    if path.suffix == ".md":
        for start, block in _blocks(edits.text):
            local = _imported(tree, edits.text)
            for found in re.finditer(r"(?<![\w.\"'])[A-Za-z_]\w*", block):
                if found[0] in local:
                    edits.put(start + found.start(), start + found.end(), local[found[0]])
    return edits


def _blocks(text: str) -> Iterator[tuple[int, str]]:
    """Fenced blocks of Python on a page."""
    for found in re.finditer(
        r"^(`{3,}|:{3,})\{?(?:code-block\} ?)?(?:python|pycon)[^\n]*\n(.*?)^\1", text, flags=re.MULTILINE | re.DOTALL
    ):
        yield found.start(2), found[2]


def _imported(tree: Tree, text: str) -> dict[str, str]:
    """Names that the blocks of a page import from us, and what they become."""
    found = {}
    for one in re.finditer(rf"from ({PACKAGE}(?:\.\w+)*) import \(?([\w, \n]+)", text):
        for name in re.findall(r"\w+", one[2].split("\n\n")[0]):
            home = tree.resolve(one[1], name)
            if home is not None and home[1] is not None and tree.renamed(home[0], home[1]) != name:
                found[name] = tree.renamed(home[0], home[1])
    return found


class Run:
    """One run over a tree."""

    def __init__(self, root: Path, names: Names, workers: int) -> None:
        self.tree = Tree(root, names)
        self.root, self.names, self.workers = root, names, workers
        self.quotes = Quotes(self.tree)

    def files(self) -> tuple[list[Path], list[Path]]:
        """Python files and pages, as git lists them."""
        listed = _git(self.root, "ls-files", "-z").split("\0")
        chosen = [
            name
            for name in listed
            if name
            and not name.startswith(LEFT_ALONE)
            and (name.startswith((f"src/{PACKAGE}/", *(f"{s}/" for s in SPREAD))) or name in ALONE)
            and (self.root / name).is_file()
        ]
        code = [self.root / n for n in chosen if n.endswith(".py")]
        pages = [self.root / n for n in chosen if Path(n).suffix in PAGES or n == "Makefile"]
        return code, pages

    def done(self) -> bool:
        """Whether nothing is left of what the file names."""
        return not (
            self.tree.moved_files
            or self.tree.moved_tests
            or any(map(self._defined, self.names.names))
            or self.tree.attributes
        )

    def prepare(self) -> None:
        """Find all edits; names that collide where they are defined are left out, and then everything is found anew."""
        code, pages = self.files()
        self.quotes.remember()
        self.tree.attributes  # noqa: B018  finds problems
        homes = {k.rpartition(".")[0] for k in self.names.names}
        self._missing()
        definers = [p for p in code if (m := self._module_at(p)) and m in homes]
        while True:
            found = self._all(definers)
            colliding = set().union(*(c for *_, c in found)) - self.tree.refused
            if not colliding:
                break
            self.tree.refused |= colliding
            self.tree.problems += [note for *_, notes, _ in found for note in notes if " collides: " in note]
        self.edits: dict[Path, Edits] = {}
        self.notes: list[str] = []
        for path, spans, notes, _ in self._all(code):
            edits = Edits(path.read_text(encoding="utf8"))
            for span, new in spans.items():
                edits.put(*span, new)
            self.edits[path] = edits
            self.notes += notes
        for path in pages:
            self.edits[path] = _edit_page(self.tree, path)

    def _missing(self) -> None:
        for key in self.names.names:
            module, _, name = key.rpartition(".")
            defined = self.tree.modules[module].defined if module in self.tree.modules else {name}
            if not defined & {name, self.names.names[key]}:
                self.tree.problems.append(f"{key} is not defined there; nothing is renamed")

    def _module_at(self, path: Path) -> str | None:
        return next((m.name for m in self.tree.modules.values() if m.path == path), None)

    def _all(
        self, paths: Iterable[Path]
    ) -> list[tuple[Path, dict[tuple[int, int], str], list[str], set[tuple[str, str]]]]:
        with ProcessPoolExecutor(self.workers, initializer=_start, initargs=(self.tree,)) as pool:
            return list(pool.map(_edit_code, paths, chunksize=8))

    def describe(self) -> None:
        """Say what would be done."""
        moved = self.tree.moved_files
        for old, new in moved.items():
            print(f"move  {old} -> {new}")
        for old, new in self.tree.moved_tests.items():
            print(f"move  tests/{old} -> tests/{new}")
        done = [
            k for k, v in self.names.names.items() if self._defined(k) and self.tree.renamed(*k.rsplit(".", 1)) == v
        ]
        for key in done:
            print(f"name  {key} -> {self.names.names[key]}")
        for old, new in self.tree.attributes.items():
            print(f"attribute  .{old} -> .{new}")
        changed = sum(bool(e.spans) for e in self.edits.values())
        for note in self.notes:
            print(f"note  {note}")
        for problem in self.tree.problems:
            print(f"NOT RESOLVED  {problem}")
        print(
            f"{len(moved)} files of the package and {len(self.tree.moved_tests)} of its tests move; {len(done)} names and "
            f"{len(self.tree.attributes)} attributes are renamed in {changed} files; {len(self.tree.problems)} not resolved"
        )

    def _defined(self, key: str) -> bool:
        module, _, name = key.rpartition(".")
        return module in self.tree.modules and name in self.tree.modules[module].defined

    def write(self, ruff: str) -> None:
        """Write the edits, move the files, add facades, contracts and texts, and put imports in order."""
        fresh = bool(self.tree.moved_files)
        sources = {
            str(m.path.relative_to(self.tree.source)): self.edits[m.path]
            for m in self.tree.modules.values()
            if m.path in self.edits
        }
        for path, edits in self.edits.items():
            if edits.spans:
                path.write_text(edits.apply(), encoding="utf8")
        self._move()
        if fresh:
            self._facades()
            self._contracts()
        self._texts()
        _ruff(ruff, self.root, "check", "-q", "--select", "I", "--fix", ".")
        _ruff(ruff, self.root, "check", "-q", "--select", "RUF022", "--fix", f"src/{PACKAGE}")
        _ruff(ruff, self.root, "format", "-q", ".")
        if fresh:
            self._quotes(sources)
            _ruff(ruff, self.root, "format", "-q", "tests/mutants")

    def _move(self) -> None:
        pairs = [(f"src/{PACKAGE}/{a}", f"src/{PACKAGE}/{b}") for a, b in self.tree.moved_files.items()]
        pairs += [(f"tests/{a}", f"tests/{b}") for a, b in self.tree.moved_tests.items()]
        taken = {a for a, _ in pairs}
        for old, new in pairs:
            target = self.root / new
            if target.exists() and new not in taken and not (new.endswith("__init__.py") and new.startswith("tests/")):
                raise SystemExit(f"{old} cannot move to {new}, which exists")
        for old, new in pairs:  # over names that nothing has, since one file may go where another one was
            if new.endswith("__init__.py") and new.startswith("tests/") and (self.root / new).exists():
                _git(self.root, "rm", "-qf", old)
                continue
            (self.root / new).parent.mkdir(parents=True, exist_ok=True)
            _git(self.root, "mv", old, f"{new}.moving")
        for _, new in pairs:
            if (self.root / f"{new}.moving").exists():
                _git(self.root, "mv", f"{new}.moving", new)
        for old in sorted({str(Path(a).parent) for a, _ in pairs}, key=len, reverse=True):
            folder = self.root / old
            if folder.is_dir() and not [p for p in folder.rglob("*") if p.is_file() and p.suffix != ".pyc"]:
                subprocess.run(["rm", "-rf", str(folder)], check=True)

    def _facades(self) -> None:
        for name, text in self.names.packages.items():
            path = self.root / "src" / Path(*name.split(".")) / "__init__.py"
            if not path.exists():
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(f'"""{text.strip()}"""\n', encoding="utf8")
                _git(self.root, "add", str(path))
        for old, home in self.names.facades.items():
            path = self.root / "src" / PACKAGE / f"{old.rpartition('.')[2]}.py"
            target = self.root / "src" / Path(*home.split("."))
            file = target / "__init__.py" if target.is_dir() else target.with_suffix(".py")
            doc = ast.get_docstring(ast.parse(file.read_text(encoding="utf8"))) or ""
            first = doc.split("\n\n")[0].replace("\n", " ").rstrip(".")
            listed = "__all__" in file.read_text(encoding="utf8")
            again = f"from .{home.removeprefix(PACKAGE + '.')} import __all__  # noqa: F401\n" if listed else ""
            path.write_text(
                f'"""{first}. The public address of `{home}`."""\n\n'
                f"from .{home.removeprefix(PACKAGE + '.')} import *  # noqa: F403\n{again}",
                encoding="utf8",
            )
            _git(self.root, "add", str(path))
        for name, text in self.names.files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf8")
            _git(self.root, "add", str(path))

    def _contracts(self) -> None:
        path = self.root / "pyproject.toml"
        text = path.read_text(encoding="utf8")
        head, found, _ = text.partition("[tool.importlinter]")
        if self.names.contracts and found:
            path.write_text(head + self.names.contracts.lstrip("\n"), encoding="utf8")

    def _texts(self) -> None:
        """Replacements that the file spells out, for tables of package names and the like."""
        for entry in self.names.texts:
            path = self.root / entry["file"]
            if not path.is_file():
                continue
            text = path.read_text(encoding="utf8")
            new = (
                re.sub(entry["old"], entry["new"], text, flags=re.MULTILINE | re.DOTALL)
                if entry.get("pattern")
                else text.replace(entry["old"], entry["new"])
            )
            if new != text:
                path.write_text(new, encoding="utf8")
            elif entry["new"] not in text and not entry.get("pattern"):
                print(f"NOT RESOLVED  text of {entry['file']}: {entry['old'][:80]!r} is not there")

    def _quotes(self, sources: dict[str, Edits]) -> None:
        now = {
            old: (self.tree.source / self.tree.moved_files.get(old, old)).read_text(encoding="utf8") for old in sources
        }
        lost = self.quotes.edit(sources, now)
        for path, quoted in self.quotes.edited.items():
            if not path.exists() or not quoted.spans:
                continue
            prose = self.edits[path]
            both = Edits(prose.text)
            spans = sorted(quoted.spans)
            for span, new in {**quoted.spans, **prose.spans}.items():
                inside = any(a <= span[0] and span[1] <= b and (a, b) != span for a, b in spans)
                if not inside:
                    both.put(*span, quoted.spans.get(span, new))
            path.write_text(both.apply(), encoding="utf8")
        for one in lost:
            print(f"NOT RESOLVED  quote of {one}")


def _git(root: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=True).stdout


def _ruff(ruff: str, root: Path, *arguments: str) -> None:
    subprocess.run([ruff, *arguments], cwd=root, check=False)


def main() -> int:
    """Run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="say what would be done, and write nothing")
    parser.add_argument("--root", type=Path, default=ROOT, help="the tree to rename in")
    parser.add_argument("--names", type=Path, default=Path(__file__).with_name("names.toml"))
    parser.add_argument("--ruff", default=".venv/bin/ruff")
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    run = Run(given.root.resolve(), Names.read(given.names), given.workers)
    if run.done():
        print("nothing to move or to rename")
        return 0
    run.prepare()
    run.describe()
    if not given.check:
        run.write(given.ruff)
    return 0


if __name__ == "__main__":
    sys.exit(main())
