"""How large the code is, and whether it stays so: sizes of a tree, as a table or as JSON.

    python size.py [--src src/dpsparse] [--json sizes.json] [--no-trace]      # print; write
    python size.py --limits limits.json                                       # exit code 1 where a number is above its limit
    python size.py --against before.json                                      # what changed
    python size.py --tiers tiers.json                                         # and code lines of files by patterns: {"kernel": ["core/*", ...]}

`limits.json` holds {"trusted_code": 9000, "code:rows": 3500, ...}: names as they are printed, or code lines of a package. Counted by `ast` and `tokenize`; nothing is imported but for the trace,
which fits one synthetic table (2000 x 200, auto) in a process of its own and counts the functions of the package that are called.
Every number is a fact about files; whether it is good is said by the limits.
"""

from __future__ import annotations

import argparse
import ast
import collections
import io
import json
import os
import re
import subprocess
import sys
import tokenize
from fnmatch import fnmatch
from pathlib import Path

#: Packages in which a mistake breaks a guarantee; `--tiers` counts them by files, as they are read.
TRUSTED = ("core", "accounting", "ledger", "rows", "queries", "oracles")
#: Where numbers decide how accurate fits are, and no guarantee rests on them.
TUNED = ("algorithms", "recipes")
#: Numbers that nobody has to explain.
PLAIN = {0, 1, 2, 3, 4, 0.5, -1, 10, 100, 1e-12, 1e-300}
#: Words that are no words of the field, in names.
METAPHORS = [
    "till",
    "purse",
    "desk",
    "book",
    "door",
    "doors",
    "room",
    "house",
    "walk",
    "walked",
    "stride",
    "pace",
    "told",
    "lent",
    "loan",
    "twin",
    "rival",
    "fared",
    "apart",
    "aside",
    "held",
    "beheld",
    "strangers",
    "company",
    "companies",
    "behind",
    "word",
    "nobody",
    "meant",
    "habits",
    "surroundings",
]
LOOP_LINES, WIDE = 15, 120


# ------------------------------------------------------------------------------------------------ one file


class File:
    """What a file holds, by lines and by syntax."""

    def __init__(self, path: Path, base: Path) -> None:
        self.path = path.relative_to(base)
        parts = self.path.parts
        self.package = parts[0] if len(parts) > 1 else "(top)"
        text = path.read_text(encoding="utf8")
        self.tree, self.lines = ast.parse(text), text.count("\n")
        self.doc = self._docstrings()
        self.code = self._code(text) - self.doc
        self.wide = sum(len(line) > WIDE for line in text.splitlines())
        nodes = list(ast.walk(self.tree))
        self.functions = [n for n in nodes if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
        self.classes = [n for n in nodes if isinstance(n, ast.ClassDef)]
        names = collections.Counter(n.id for n in nodes if isinstance(n, ast.Name))
        self.any, self.isinstance = names["Any"], names["isinstance"]
        self.ignores = text.count("type: ignore") + text.count("pyright: ignore")
        self.imports = sum(
            (n.end_lineno or 0) - n.lineno + 1 for n in nodes if isinstance(n, ast.Import | ast.ImportFrom)
        )
        self.literals = self._literals(nodes)
        self.public = [
            n.name
            for n in self.tree.body
            if isinstance(n, ast.FunctionDef | ast.ClassDef) and not n.name.startswith("_")
        ]

    def _docstrings(self) -> set[int]:
        found: set[int] = set()
        for node in ast.walk(self.tree):
            if (
                isinstance(node, ast.Expr)
                and isinstance(node.value, ast.Constant)
                and isinstance(node.value.value, str)
            ):
                found.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
        return found

    def _code(self, text: str) -> set[int]:
        found: set[int] = set()
        empty = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type not in empty:
                found.update(range(token.start[0], token.end[0] + 1))
        return found

    def _literals(self, nodes: list[ast.AST]) -> int:
        """Numbers that decide something: written in code, not plain, not inside an index."""
        inside = {id(n) for s in nodes if isinstance(s, ast.Subscript) for n in ast.walk(s.slice)}
        return sum(
            isinstance(n, ast.Constant)
            and type(n.value) in (int, float)
            and n.value not in PLAIN
            and id(n) not in inside
            for n in nodes
        )

    def length(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
        """Code lines of a function's body."""
        return len([line for line in range(node.body[0].lineno, (node.end_lineno or 0) + 1) if line in self.code])


# ------------------------------------------------------------------------------------------------ all files


def measure(base: Path) -> dict[str, object]:
    files = [File(p, base) for p in sorted(base.rglob("*.py")) if "__pycache__" not in p.parts]
    trusted = [f for f in files if f.package in TRUSTED]
    tuned = [f for f in files if f.package in TUNED or "planner" in f.path.parts]
    lengths = sorted(f.length(n) for f in files for n in f.functions)
    loops = {
        f"{f.path}:{c.name}.{n.name}": f.length(n)
        for f in files
        if f.package == "algorithms"
        for c in f.classes
        for n in c.body
        if isinstance(n, ast.FunctionDef) and n.name.lstrip("_") in ("run", "run_from")
    }
    homes = collections.defaultdict(set)
    for f in files:
        for name in f.public:
            homes[name].add(f.package)
    users = importers(files)
    packages = {f.package for f in files} - {"(top)"}
    identifiers = collections.Counter(
        word for f in files for n in (*f.functions, *f.classes) for word in _words(n.name) if word in METAPHORS
    )
    return {
        "files": len(files),
        "packages": len(packages),
        "lines": sum(f.lines for f in files),
        "code": sum(len(f.code) for f in files),
        "docstring": sum(len(f.doc) for f in files),
        "imports": sum(f.imports for f in files),
        "functions": len(lengths),
        "classes": sum(len(f.classes) for f in files),
        "public_names": sum(len(f.public) for f in files),
        "trusted_files": len(trusted),
        "trusted_code": sum(len(f.code) for f in trusted),
        "trusted_functions": sum(len(f.functions) for f in trusted),
        "longest_function": lengths[-1],
        "functions_over_30": sum(n > 30 for n in lengths),
        "loops_over_15": sum(n > LOOP_LINES for n in loops.values()),
        "longest_loop": max(loops.values(), default=0),
        "tuned_literals": sum(f.literals for f in tuned),
        "any": sum(f.any for f in files),
        "isinstance": sum(f.isinstance for f in files),
        "type_ignores": sum(f.ignores for f in files),
        "wide_lines": sum(f.wide for f in files),
        "files_under_60": sum(f.lines < 60 and f.path.name != "__init__.py" for f in files),
        "modules_with_one_caller": sum(len(users[m]) == 1 for m in users),
        "names_in_two_packages": sum(len(h) > 1 for h in homes.values()),
        "metaphors_in_names": sum(identifiers.values()),
        "json_forms": sum(
            bool(re.search(r"def (to|from)_(json|dict|plain)|_(to|from)_dict", ast.unparse(f.tree))) for f in files
        ),
        "details": {
            "by_package": {
                p: {
                    "files": sum(f.package == p for f in files),
                    "code": sum(len(f.code) for f in files if f.package == p),
                }
                for p in sorted({f.package for f in files})
            },
            "by_file": {str(f.path): len(f.code) for f in files},
            "loops": dict(sorted(loops.items(), key=lambda item: -item[1])),
            "metaphors": dict(identifiers.most_common()),
        },
    }


def importers(files: list[File]) -> dict[str, set[str]]:
    """Which modules name each module in an import; through a package's `__init__`, the module that defines the name."""
    modules = {".".join(f.path.with_suffix("").parts): f for f in files if f.path.name != "__init__.py"}
    defined = {(f.package, name): m for m, f in modules.items() for name in f.public}
    found: dict[str, set[str]] = {m: set() for m in modules}
    for f in files:
        here, own = list(f.path.with_suffix("").parts), ".".join(f.path.with_suffix("").parts)
        package = here[:-1]
        for node in ast.walk(f.tree):
            if not isinstance(node, ast.ImportFrom) or not node.level or f.path.name == "__init__.py":
                continue
            target = [*package[: len(package) - node.level + 1], *(node.module.split(".") if node.module else [])]
            for alias in node.names:
                name = ".".join([*target, alias.name])
                name = name if name in modules else ".".join(target)
                name = name if name in modules else defined.get((target[0] if target else "", alias.name), "")
                if name in found and name != own:
                    found[name].add(own)
    return found


def _words(name: str) -> list[str]:
    return [w.lower() for w in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)]


TRACE = """
import json, sys, threading, warnings
import numpy as np
warnings.simplefilter("ignore")
from dpsparse import SparseRegressor
rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, (2000, 200))
y = np.clip(X[:, :5].sum(1) + .1 * rng.standard_normal(2000), -3, 3)
seen, crossings, depth, deepest = set(), 0, 0, 0
def profile(frame, event, arg):
    global crossings, depth, deepest
    name = frame.f_code.co_filename
    if "dpsparse" not in name or frame.f_code.co_name.startswith("<"):
        return
    if event == "call":
        depth += 1
        deepest = max(deepest, depth)
        seen.add((name.split("dpsparse/")[-1], frame.f_code.co_qualname, frame.f_code.co_firstlineno))
        back = frame.f_back
        crossings += back is not None and back.f_code.co_filename != name and "dpsparse" in back.f_code.co_filename
    elif event == "return":
        depth -= 1
model = SparseRegressor(epsilon=1.0, delta=1e-6, feature_bound=1.0, target_bound=3.0, sparsity=5, random_state=0)
model.fit(X, y)
sys.setprofile(profile)
model.fit(X, y)
sys.setprofile(None)
files = {f for f, *_ in seen}
print(json.dumps({"fit_functions": len(seen), "fit_files": len(files), "fit_packages": len({f.split("/")[0] for f in files}),
                  "fit_depth": deepest, "fit_crossings": crossings}))
"""


def trace(base: Path) -> dict[str, int]:
    """Functions, files and packages that one fit goes through."""
    environment = os.environ | {
        "PYTHONPATH": str(base.parent.resolve()),
        "DPSPARSE_THREADS": "1",
        "OMP_NUM_THREADS": "1",
    }
    run = subprocess.run([sys.executable, "-c", TRACE], env=environment, capture_output=True, text=True, check=False)
    if run.returncode:
        print(f"no trace: {run.stderr.strip().splitlines()[-1]}", file=sys.stderr)
        return {}
    return json.loads(run.stdout.splitlines()[-1])


# ------------------------------------------------------------------------------------------------ command


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--src", type=Path, default=Path("src/dpsparse"))
    parser.add_argument("--json", type=Path)
    parser.add_argument("--limits", type=Path)
    parser.add_argument("--against", type=Path)
    parser.add_argument("--tiers", type=Path)
    parser.add_argument("--no-trace", action="store_true")
    given = parser.parse_args()
    sizes = measure(given.src)
    details = sizes.pop("details")
    sizes |= {} if given.no_trace else trace(given.src)
    for tier, patterns in (json.loads(given.tiers.read_text()) if given.tiers else {}).items():
        unused = [p for p in patterns if not any(fnmatch(n, p.removeprefix("!")) for n in details["by_file"])]
        if unused:
            parser.error(f"no file is one of the tier {tier!r} by the patterns {', '.join(unused)}")
        out = [p[1:] for p in patterns if p.startswith("!")]
        chosen = [
            n
            for n in details["by_file"]
            if any(fnmatch(n, p) for p in patterns) and not any(fnmatch(n, p) for p in out)
        ]
        sizes[f"tier_{tier}"] = sum(details["by_file"][name] for name in chosen)
    if given.json:
        given.json.write_text(json.dumps(sizes | {"details": details}, indent=1) + "\n")
    before = json.loads(given.against.read_text()) if given.against else {}
    limits = json.loads(given.limits.read_text()) if given.limits else {}
    packages = {f"code:{name}": held["code"] for name, held in details["by_package"].items()}
    found = sizes | packages
    broken = [name for name, limit in limits.items() if name in found and found[name] > limit]
    for name, value in sizes.items():
        change = f"{value - before[name]:+8}" if name in before else ""
        limit = f"  limit {limits[name]}" + ("  ABOVE" if name in broken else "") if name in limits else ""
        print(f"{name:26}{value:8}{change}{limit}")
    for name in sorted(set(limits) & set(packages)):
        print(f"{name:26}{packages[name]:8}  limit {limits[name]}" + ("  ABOVE" if name in broken else ""))
    over = {name: n for name, n in details["loops"].items() if n > LOOP_LINES}
    print(f"loops over {LOOP_LINES} lines: " + ", ".join(f"{name} {n}" for name, n in over.items()))
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
