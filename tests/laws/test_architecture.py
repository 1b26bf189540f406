"""Contracts between the rooms."""

import ast
import io
import subprocess
import sys
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "dpsparse"


def test_import_contracts_hold():
    run = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout


def test_importing_the_package_does_not_import_heavy_libraries():
    code = "import sys, dpsparse; print([m for m in ('sklearn', 'scipy.stats', 'dp_accounting', 'opendp', 'numba', 'pandas') if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def global_draws(text):
    """What a file takes from the module of global generators, but for classes of generators."""
    allowed = ("Generator", "PCG64", "SeedSequence", "RandomState", "default_rng")
    nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Attribute)]
    taken = [node.attr for node in nodes if ast.unparse(node.value) in ("np.random", "numpy.random")]
    return [name for name in taken if name not in allowed]


def test_no_module_draws_from_the_global_generator():
    found = {str(path.relative_to(SOURCE)): global_draws(path.read_text()) for path in SOURCE.rglob("*.py")}
    assert {path: names for path, names in found.items() if names} == {}


def test_a_draw_from_the_global_generator_is_seen():
    """The control of the test above."""
    assert global_draws("import numpy as np\nx = np.random.normal()") == ["normal"]


#: Public generators: a random order, a random length, public auxiliary rows, a start of a power iteration.
PUBLIC_DRAWS = {"cd.py", "scsg.py", "transfer.py", "proximal.py"}


@pytest.mark.parametrize("room", ["algorithms", "recipes"])
def test_public_rooms_draw_nothing_but_their_listed_public_choices(room):
    found = {path.name for path in (SOURCE / room).rglob("*.py") if "default_rng" in path.read_text()}
    assert found <= PUBLIC_DRAWS


# ------------------------------------------------------------------------------------------------ names of other rooms


def room_of(path):
    """The room of a file: its folder, or itself at the top."""
    first = path.relative_to(SOURCE).parts[0]
    return first.removesuffix(".py")


def own_names(room):
    """Names with an underscore that some file of a room makes: functions, classes, variables, attributes."""
    found = set()
    for path in SOURCE.rglob("*.py"):
        if room_of(path) != room:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                found.add(node.name)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                found.add(node.id)
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                found.add(node.attr)
    return found


def hidden(name):
    return name.startswith("_") and not name.startswith("__")


#: Names of other libraries for which there is no public one: the log of the Java process of pyspark, and whether it runs.
NO_PUBLIC_NAME = {"_jvm", "_jsc"}


def foreign_names(text, room, own):
    """Names with an underscore that a file takes from another room, with their lines."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Attribute) and hidden(node.attr):
            of = node.value.id if isinstance(node.value, ast.Name) else ""
            if of not in ("self", "cls") and node.attr not in own | NO_PUBLIC_NAME:
                found.append((node.lineno, node.attr))
        elif isinstance(node, ast.ImportFrom):
            elsewhere = node.level >= 2 or (node.level == 0 and not (node.module or "").startswith(f"dpsparse.{room}"))
            found += [(node.lineno, a.name) for a in node.names if elsewhere and hidden(a.name)]
    return found


@pytest.mark.parametrize("room", sorted({room_of(p) for p in SOURCE.rglob("*.py")}))
def test_no_room_uses_an_underscore_name_of_another(room):
    own = own_names(room)
    for path in SOURCE.rglob("*.py"):
        if room_of(path) == room:
            assert foreign_names(path.read_text(), room, own) == [], path


@pytest.mark.parametrize(
    "text",
    [
        "model._oracle = recording",
        "prepared = made.model._prepare(10, 3)",
        "from ..estimators.linear import _is_number",
        "from sklearn.utils.validation import _num_samples",
    ],
)
def test_a_foreign_name_is_seen(text):
    """The control of the test above."""
    assert foreign_names(text, "audit", own_names("audit"))


def test_own_names_and_public_ones_are_not_foreign():
    text = "self._rows = 1\nother._opener\nfrom .linear import _margins\nmodel.request()\nmodel.__dict__"
    assert foreign_names(text, "fits", {"_opener"}) == []


# ------------------------------------------------------------------------------------------------ on top


@pytest.mark.parametrize("room", ["fitting", "estimators"])
def test_what_stands_on_top_is_not_imported_from_below(room):
    code = f"import sys, dpsparse.{room}; print([m for m in sys.modules if m.split('.')[:2] in (['dpsparse', 'report'], ['dpsparse', 'audit'], ['dpsparse', 'cli'])])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_the_program_of_a_fit_does_not_know_scikit_learn():
    code = "import sys, dpsparse.fitting; print('sklearn' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"


@pytest.mark.parametrize("room", ["oracles", "queries"])
def test_tests_of_types_are_rare(room):
    """Fewer than 10 in a thousand lines: tables of kinds say who does what."""
    texts = [path.read_text() for path in (SOURCE / room).rglob("*.py")]
    lines = sum(len(text.splitlines()) for text in texts)
    used = sum(isinstance(n, ast.Name) and n.id == "isinstance" for text in texts for n in ast.walk(ast.parse(text)))
    assert used < 10 * lines / 1000


def test_any_is_rare():
    """Fewer than 8 in a thousand lines: names of real types say what goes where."""
    texts = [path.read_text() for path in SOURCE.rglob("*.py")]
    lines = sum(len(text.splitlines()) for text in texts)
    used = sum(isinstance(n, ast.Name) and n.id == "Any" for text in texts for n in ast.walk(ast.parse(text)))
    assert used < 8 * lines / 1000


# ------------------------------------------------------------------------------------------------ loops

#: Code lines of a loop: an algorithm box of a paper, with its line for the path.
LOOP_LINES = 15
#: Methods of a solver class that hold a loop over its turns.
LOOPS = {"run", "run_from", "_average"}


def loop_lengths(text):
    """Code lines, without docstrings, comments and blank lines, of the loops of every class in a file."""
    silent = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    code = {line for t in tokens if t.type not in silent for line in range(t.start[0], t.end[0] + 1)}
    found = {}
    for made in ast.walk(ast.parse(text)):
        for node in made.body if isinstance(made, ast.ClassDef) else ():
            if isinstance(node, ast.FunctionDef) and node.name in LOOPS:
                first = node.body[1] if ast.get_docstring(node) is not None else node.body[0]
                found[f"{made.name}.{node.name}"] = len(code & set(range(first.lineno, node.end_lineno + 1)))
    return found


@pytest.mark.parametrize("path", sorted((SOURCE / "algorithms").glob("*.py")), ids=lambda p: p.name)
def test_no_loop_of_a_solver_is_longer_than_an_algorithm_box(path):
    assert {name: n for name, n in loop_lengths(path.read_text()).items() if n > LOOP_LINES} == {}


def test_the_loops_of_all_papers_are_measured():
    """A loop under another name would escape the law above."""
    found = {name for path in (SOURCE / "algorithms").glob("*.py") for name in loop_lengths(path.read_text())}
    papers = ("IHT", "PeeledIHT", "FedHT", "SCSG", "GreedyCD", "RandomCD", "FrankWolfe", "DualAveraging", "Descent")
    assert {f"{name}.run" for name in papers} | {"SGD.run_from", "DualAveraging._average"} <= found


@pytest.mark.parametrize(("lines", "length"), [(15, 15), (16, 16)])
def test_long_loops_are_seen(lines, length):
    """The control: docstring, comment and blank line do not count, every other line does."""
    body = "\n".join(f"        w = {i}" for i in range(lines))
    text = f'class Loop:\n    def run(self):\n        """Words.\n\n        More."""\n        # why\n\n{body}\n'
    assert loop_lengths(text) == {"Loop.run": length}


# ------------------------------------------------------------------------------------------------ one session

#: Who makes an oracle or reserves in a ledger: the session. Audits ask synthetic rows; a site reserves for all of its rounds by itself.
SESSIONS = {"make_oracle": {"fitting/session.py"}, "reserve": {"fitting/session.py"}}


@pytest.mark.parametrize("name", SESSIONS)
def test_only_the_session_leads_from_rows_to_an_oracle(name):
    found = set()
    for path in SOURCE.rglob("*.py"):
        if room_of(path) not in ("oracles", "ledger", "audit"):
            tree = ast.walk(ast.parse(path.read_text()))
            if any(isinstance(n, ast.ImportFrom) and name in [alias.name for alias in n.names] for n in tree):
                found.add(str(path.relative_to(SOURCE)))
    assert found == SESSIONS[name]
