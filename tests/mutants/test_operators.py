"""Mutants made from syntax: what each operator does, and what is left alone."""

from __future__ import annotations

import ast

import pytest

from mutants.operators import mutants
from mutants.run import SRC, drawn, population


def made(text: str) -> dict[str, set[str]]:
    """Texts of all mutants by operator, as Python writes them."""
    found: dict[str, set[str]] = {}
    for mutant in mutants("a.py", text):
        found.setdefault(mutant.operator, set()).add(ast.unparse(ast.parse(mutant.applied(text))))
    return found


@pytest.mark.parametrize(
    ("text", "operator", "expected"),
    [
        ("x = a < b", "edge", {"x = a <= b"}),
        ("x = a == b", "edge", {"x = a != b"}),
        ("x = a is None", "edge", {"x = a is not None"}),
        ("x = 8", "half", {"x = 4"}),
        ("x = 8", "double", {"x = 16"}),
        ("x = 8", "one more", {"x = 9"}),
        ("x = 8", "one less", {"x = 7"}),
        ("x = 0", "one more", {"x = 1"}),
        ("x = 0.5", "half", {"x = 0.25"}),
        ("x = True", "not", {"x = False"}),
        ("x = a - b", "arithmetic", {"x = a + b"}),
        ("x = 2 ** a", "arithmetic", {"x = 2 * a"}),
        ("x = a << b", "arithmetic", {"x = a >> b"}),
        ("x += y", "arithmetic", {"x -= y"}),
        ("x += y", "no update", {"pass"}),
        ("x = a and b", "and or", {"x = a or b"}),
        ("x = a and b and c", "no clause", {"x = b and c", "x = a and c", "x = a and b"}),
        ("x = -a", "no sign", {"x = a"}),
        ("x = not a", "no sign", {"x = a"}),
        ("if a:\n    b()", "negated", {"if not a:\n    b()"}),
        ("while a < b:\n    c()", "negated", {"while not a < b:\n    c()"}),
        ("x = a if b else c", "negated", {"x = a if not b else c"}),
        ("if a:\n    raise E('no')", "no check", {"pass"}),
        ("if a:\n    b()\n    raise E('no')", "no error", {"if a:\n    b()\n    pass"}),
        ("f(a)", "no call", {"pass"}),
        ("x = np.clip(a, b, c)", "no bound", {"x = a"}),
        ("x = np.minimum(a, b)", "min max", {"x = np.maximum(a, b)"}),
        ("x = max(a, b)", "min max", {"x = min(a, b)"}),
        ("x = np.trunc(a)", "rounding", {"x = np.rint(a)"}),
        ("x = math.sqrt(a * b)", "no function", {"x = a * b"}),
        ("x = f(a, b=c, d=e)", "no keyword", {"x = f(a, d=e)", "x = f(a, b=c)"}),
        ("def f(a=4):\n    pass", "double", {"def f(a=8):\n    pass"}),
    ],
)
def test_an_operator_changes_one_thing(text, operator, expected):
    assert made(text)[operator] == expected


@pytest.mark.parametrize(
    "text",
    [
        '"""A text of 3 lines."""',
        "def f():\n    '''Return 2.'''",
        "x: dict[str, Literal[3]]",
        "def f(a: Literal[2]) -> Literal[4]:\n    pass",
        "@cache(maxsize=8)\ndef f():\n    pass",
        "x = f'{n - 1} of {n:.3f}'",
        "if TYPE_CHECKING:\n    f(2)",
        "def __repr__(self):\n    return a + 2",
        "T = TypeVar('T', bound=int)",
        "x = zip(a, b, strict=True)",
        "x = np.zeros(n, dtype=np.float64)",
        "x = 'a' + b",
        "import a",
    ],
)
def test_what_cannot_change_behaviour_is_left_alone(text):
    assert made(text) == {}


def test_messages_of_errors_and_warnings_are_left_alone():
    assert set(made("def f():\n    raise E(f'{n - 1}', 3, code=4)")) == {"no error"}
    assert set(made("warnings.warn(a + 3, W, stacklevel=2)")) == {"no call"}
    assert set(made("if a < b:\n    raise E(n - 7)")) == {"edge", "negated", "no check"}


def test_a_name_stays_when_code_moves_and_ends_when_its_line_changes():
    text = "def f(a):\n    b = a + 1\n    return b < 3\n"
    moved = "import os\n\n\ndef f(a):\n    c = 0.0\n    b = a + 1\n    return b < 3\n"
    names, others = ({m.name for m in mutants("a.py", t)} for t in (text, moved))
    assert names <= others
    changed = {m.name for m in mutants("a.py", text.replace("b < 3", "b < 4"))}
    assert {n for n in names if "arithmetic" in n} <= changed
    assert not {n for n in names if "edge" in n} & changed


def test_equal_lines_of_a_function_have_names_of_their_own():
    found = [m.name for m in mutants("a.py", "def f():\n    g(1)\n    g(1)\n")]
    assert len(set(found)) == len(found)
    assert len(found) == 2 * 3


def test_letters_beyond_ascii_do_not_move_a_change():
    assert made("x = 'é' if a < b else 'ü'")["edge"] == {"x = 'é' if a <= b else 'ü'"}


def test_trusted_files_have_mutants_with_names_of_their_own():
    found = population()
    assert len({m.name for m in found}) == len(found) > 10_000
    files = {m.file for m in found}
    assert {
        "core/plan.py",
        "accounting/pricing.py",
        "oracles/central.py",
        "rows/lattice.py",
        "ledger/chain.py",
    } <= files


def check(found):
    texts = {name: (SRC / name).read_text() for name in {m.file for m in found}}
    trees = {name: ast.dump(ast.parse(text)) for name, text in texts.items()}
    for mutant in found:
        assert ast.dump(ast.parse(mutant.applied(texts[mutant.file]))) != trees[mutant.file], mutant


def test_mutants_compile_and_differ():
    check(drawn(population(), 200, seed=0))


@pytest.mark.slow
def test_every_mutant_compiles_and_differs():
    check(population())
