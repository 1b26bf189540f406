"""Wrong changes of trusted code, made from its syntax: a bound dropped, a comparison moved, a constant doubled.

`mutants(file, text)` yields every mutant of a file. A mutant replaces one piece of source and leaves
the rest as it is. Its name is made of file, function, operator and a digest of the lines before and
after: it stays while code moves within its function, and ends when its line changes.

What cannot change behaviour is left alone: docstrings and other texts, annotations, messages of
errors and warnings, `__repr__` and `__str__`, blocks for type checkers, and `zip(strict=...)`.
"""

from __future__ import annotations

import ast
import copy
import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

CLIPS = {"clip", "min", "max", "minimum", "maximum"}
OPPOSITE = {"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum"}
ROUNDING = {"trunc": "rint", "floor": "ceil", "ceil": "floor", "rint": "floor"}
#: Functions that are replaced by their first argument.
DROPPED = {"sqrt", "abs", "absolute", "sorted", "expm1", "log1p"}
EDGE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult,
    ast.LShift: ast.RShift, ast.RShift: ast.LShift, ast.BitAnd: ast.BitOr,
}  # fmt: skip
#: Keyword arguments that change nothing where the program is right.
IDLE_KEYWORDS = {"strict", "stacklevel", "copy"}
#: Calls whose arguments are words or types.
WORDS = {"warn", "TypeVar", "cast", "debug", "info"}
#: Fields of nodes that hold types, and what wraps a function.
TYPES = {"annotation", "returns", "decorator_list", "type_params"}
#: Arrays of these functions are float64 without being told.
FLOATS = {"zeros", "ones", "empty"}


@dataclass(frozen=True)
class Mutant:
    """One wrong change: `source[start:stop]` becomes `new`."""

    file: str
    function: str
    operator: str
    line: int
    start: int
    stop: int
    new: str
    before: str
    after: str
    again: int

    @property
    def name(self) -> str:
        """File, function, operator, digest of both lines; a number if a function has these lines again."""
        lines = digest("\0".join((self.file, self.function, self.before.strip(), self.after.strip())))
        return f"{self.file}:{self.function} {self.operator} {lines}" + f"-{self.again}" * (self.again > 1)

    def applied(self, text: str) -> str:
        """The file with the change."""
        data = text.encode()
        return (data[: self.start] + self.new.encode() + data[self.stop :]).decode()


def digest(text: str) -> str:
    """A short name of a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def mutants(file: str, text: str) -> Iterator[Mutant]:
    """All mutants of a file, in the order of its text; no two give the same program."""
    source, again, seen, starts = text.encode(), Counter[tuple[str, ...]](), set(), [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for function, node, condition in places(ast.parse(text)):
        start = starts[node.lineno - 1] + node.col_offset
        stop = starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)
        first, last = starts[node.lineno - 1], starts[node.end_lineno or 0]
        for operator, new in changes(node, condition):
            written = ast.unparse(new)
            if isinstance(new, ast.expr) and not isinstance(new, ast.Name | ast.Call):
                written = f"({written})"
            if (start, stop, written) in seen:
                continue
            seen.add((start, stop, written))
            before = source[first:last].decode().strip("\n")
            after = (source[first:start] + written.encode() + source[stop:last]).decode().strip("\n")
            same = (function, operator, before.strip(), after.strip())
            again[same] += 1
            yield Mutant(file, function, operator, node.lineno, start, stop, written, before, after, again[same])


Place = tuple[str, ast.expr | ast.stmt, bool]


def places(tree: ast.Module) -> Iterator[Place]:
    """What may be changed: function or class around it, expression or statement, whether it decides a branch."""

    def inside(node: ast.AST, function: str) -> Iterator[Place]:
        for field, value in ast.iter_fields(node):
            for child in value if isinstance(value, list) else [value]:
                if field in TYPES or not isinstance(child, ast.AST) or _words_only(child):
                    continue
                own = function
                if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                    own = f"{function}.{child.name}".lstrip(".")
                known = _is_message(child) or (isinstance(child, ast.Raise) and _is_check(node))
                if isinstance(child, ast.expr | ast.stmt) and not known:
                    yield own or "(module)", child, field == "test"
                if not (isinstance(child, ast.Raise) or _is_message(child)):
                    yield from inside(child, own)

    return inside(tree, "")


def changes(node: ast.AST, condition: bool = False) -> Iterator[tuple[str, ast.expr | ast.stmt]]:
    """What may go wrong at a node: name of the operator, and what takes the node's place."""
    if condition and isinstance(node, ast.expr) and not isinstance(node, ast.Constant):
        yield "negated", _negated(node)
    match node:
        case ast.Constant(bool() as value):
            yield "not", ast.Constant(not value)
        case ast.Constant(int() as value):
            yield "one more", ast.Constant(value + 1)
            if value:
                yield "one less", ast.Constant(value - 1)
                yield "double", ast.Constant(value * 2)
                yield "half", ast.Constant(value // 2)
        case ast.Constant(float() as value) if value:
            yield "double", ast.Constant(value * 2)
            yield "half", ast.Constant(value / 2)
        case ast.Compare(left, [operator], right) if type(operator) in EDGE:
            yield "edge", ast.Compare(left, [EDGE[type(operator)]()], right)
        case ast.BinOp(left, operator, right) if type(operator) in ARITHMETIC and not _is_text(left, right):
            yield "arithmetic", ast.BinOp(left, ARITHMETIC[type(operator)](), right)
        case ast.AugAssign(target, operator, value):
            yield "no update", ast.Pass()
            if type(operator) in ARITHMETIC and not _is_text(value):
                yield "arithmetic", ast.AugAssign(target, ARITHMETIC[type(operator)](), value)
        case ast.BoolOp(operator, values):
            yield "and or", ast.BoolOp(ast.Or() if isinstance(operator, ast.And) else ast.And(), values)
            for number in range(len(values)):
                kept = values[:number] + values[number + 1 :]
                yield "no clause", kept[0] if len(kept) == 1 else ast.BoolOp(operator, kept)
        case ast.UnaryOp(ast.Not() | ast.USub(), operand):
            yield "no sign", operand
        case ast.If() if _is_check(node):
            yield "no check", ast.Pass()
        case ast.Raise():
            yield "no error", ast.Pass()
        case ast.Expr(ast.Call()):
            yield "no call", ast.Pass()
        case ast.Call():
            yield from _changed_calls(node)


def _changed_calls(node: ast.Call) -> Iterator[tuple[str, ast.expr]]:
    name = called(node)
    if name in CLIPS and len(node.args) >= 2 and not isinstance(node.args[0], ast.Starred):
        yield "no bound", node.args[0]
    if name in OPPOSITE:
        yield "min max", _renamed(node, OPPOSITE[name])
    if name in ROUNDING:
        yield "rounding", _renamed(node, ROUNDING[name])
    if name in DROPPED and len(node.args) == 1:
        yield "no function", node.args[0]
    for number, keyword in enumerate(node.keywords):
        default = name in FLOATS and keyword.arg == "dtype" and ast.unparse(keyword.value) in ("float", "np.float64")
        if keyword.arg is not None and keyword.arg not in IDLE_KEYWORDS and not default:
            kept = node.keywords[:number] + node.keywords[number + 1 :]
            yield "no keyword", ast.Call(node.func, node.args, kept)


def called(node: ast.Call) -> str:
    """The last part of the name of what is called; empty if it has none."""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def _renamed(node: ast.Call, name: str) -> ast.Call:
    new = copy.deepcopy(node)
    if isinstance(new.func, ast.Attribute):
        new.func.attr = name
    else:
        new.func = ast.Name(name, ast.Load())
    return new


def _negated(node: ast.expr) -> ast.expr:
    match node:
        case ast.UnaryOp(ast.Not(), operand):
            return operand
        case ast.Compare(
            left, [ast.Eq() | ast.NotEq() | ast.Is() | ast.IsNot() | ast.In() | ast.NotIn() as one], right
        ):
            return ast.Compare(left, [EDGE[type(one)]()], right)
    return ast.UnaryOp(ast.Not(), node)


def _is_check(node: ast.AST) -> bool:
    """Whether a statement only refuses: `if ...: raise ...`."""
    return isinstance(node, ast.If) and not node.orelse and all(isinstance(line, ast.Raise) for line in node.body)


def _is_text(*nodes: ast.expr) -> bool:
    return any(isinstance(n, ast.JoinedStr) or isinstance(getattr(n, "value", None), str) for n in nodes)


def _words_only(node: ast.AST) -> bool:
    """Whether nothing below a node can change what is computed."""
    if isinstance(node, ast.If):
        return ast.unparse(node.test).endswith("TYPE_CHECKING")
    if isinstance(node, ast.keyword):
        return node.arg in IDLE_KEYWORDS
    return isinstance(node, ast.JoinedStr) or getattr(node, "name", "") in ("__repr__", "__str__")


def _is_message(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and called(node) in WORDS
