"""The reference: one page for each room, with every name that the room lists. Made from the code when the pages are built."""

from __future__ import annotations

import ast
import contextlib
import importlib
import inspect
import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import dpsparse

SOURCE = Path(dpsparse.__file__).parent
#: Rooms by who needs them.
GROUPS = {
    "For users": [
        "audit",
        "datasets",
        "estimators",
        "estimators.score",
        "estimators.search",
        "estimators.steps",
        "federated",
        "ledger",
        "local",
        "losses",
        "neural",
        "plots",
        "readers",
        "recipes",
        "report",
        "report.bench",
        "report.planner",
        "tables",
    ],
    "For those who extend or examine": [
        "accounting",
        "algorithms",
        "core",
        "core.mechanisms",
        "fitting",
        "oracles",
        "queries.kinds",
        "queries.minimisers",
        "queries.rules",
        "rows",
        "rows.hosts",
    ],
}
#: Homes of the packages that have a public address of their own.
HOMES = {
    "datasets": "io.datasets",
    "federated": "sites.federated",
    "local": "sites.local",
    "losses": "queries.losses",
    "neural": "sites.neural",
    "plots": "report.figures",
    "tables": "io.dictionary",
}
#: Rooms that have a page of another kind.
ELSEWHERE = {"cli": "command_line", "io": "readers", "queries": "queries.kinds", "sites": "federated"}
#: Members that a class has from scikit-learn or from a base are named here; of others those that they define.
LINEAR = "fit, predict, summary, predict_interval, plan, request, save, report_"
MEMBERS = {
    "SparseRegressor": LINEAR,
    "SparseClassifier": LINEAR + ", predict_proba, decision_function",
    "PrivateSearch": "fit, predict, score, plan, save",
    "PrivatePipeline": "fit, plan, save",
}
#: Modules beside the rooms that a page of docs/extend uses, with the names that it needs.
MODULES = {
    "dpsparse.estimators.intervals": ["Interval", "Intervals"],
    "dpsparse.core.facts": ["Clip", "Facts"],
    "dpsparse.federated.devices": ["device_app", "run_devices"],
    "dpsparse.federated.flower": ["client_app", "server_app"],
    "dpsparse.ops": ["hard_threshold", "soft_threshold"],
    "dpsparse.readers.cluster": ["open_cluster"],
}


def face(room: str) -> str:
    """The file that lists the names of a room."""
    path = SOURCE.joinpath(*HOMES.get(room, room).split("."))
    return (path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).read_text()


def listed(room: str) -> list[str]:
    """Names that a room lists, read from its file: an engine of an extra need not be installed."""
    for node in ast.parse(face(room)).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            return sorted(ast.literal_eval(node.value), key=str.lower)
    raise ValueError(f"dpsparse.{room} lists no names.")


def first_sentence(room: str) -> str:
    """What a room says of itself in its first line."""
    text = ast.get_docstring(ast.parse(face(room))) or ""
    return re.split(r"(?<=[.:])\s", text.replace("``", "`"))[0].rstrip(":")


def home(room: str, name: str) -> str:
    """Where a name is documented: at the top, or in the room that defines it, or here."""
    if name in dpsparse.__all__:
        return f"dpsparse.{name}"
    try:
        thing = getattr(importlib.import_module(f"dpsparse.{room}"), name)
    except ImportError:  # an engine of an extra
        return f"dpsparse.{room}.{name}"
    made_in = str(getattr(thing, "__module__", "")).split(".")
    if (
        made_in[0] == "dpsparse"
        and len(made_in) > 2
        and made_in[1] not in (room, *ELSEWHERE)
        and name in listed(made_in[1])
    ):
        return f"dpsparse.{made_in[1]}.{name}"
    return f"dpsparse.{_first(room, name, thing)}.{name}"


def _first(room: str, name: str, thing: object) -> str:
    """The first package for users that lists the same class; sites and devices share some."""
    if not inspect.isclass(thing) or room not in GROUPS["For users"]:
        return room
    for other in GROUPS["For users"][: GROUPS["For users"].index(room)]:
        if name in listed(other) and getattr(importlib.import_module(f"dpsparse.{other}"), name, None) is thing:
            return other
    return room


def directive(path: str) -> list[str]:
    """The lines that document one name."""
    module, _, name = path.rpartition(".")
    thing = None
    with contextlib.suppress(ImportError):  # an engine of an extra
        thing = getattr(importlib.import_module(module), name)
    ours = str(getattr(thing, "__module__", "")).startswith("dpsparse")
    if (inspect.isclass(thing) and ours) or (thing is None and name[0].isupper()):
        members = MEMBERS.get(name, "")
        return [f".. autoclass:: {path}", f"   :members: {members}".rstrip()]
    if (inspect.isfunction(thing) and ours) or thing is None:
        return [f".. autofunction:: {path}"]
    return [f".. py:data:: {path}", "", f"   {comment(path)}", ""]


def comment(path: str) -> str:
    """What stands above a constant or the name of a type, behind ``#:``."""
    room, name = path.split(".")[1], path.rpartition(".")[2]
    for file in sorted((SOURCE / room).rglob("*.py")):
        found = re.search(rf"((?:^#: .*\n)+)(?:type )?{name}\b.*=", file.read_text(), flags=re.MULTILINE)
        if found:
            return " ".join(line.removeprefix("#: ") for line in found[1].strip().splitlines())
    return "The name of a type."


def reference(title: str, opening: str, paths: list[str], rest: list[str]) -> str:
    """A page: a heading, an opening, the names, and what is documented elsewhere."""
    lines = [f"# {title}", "", opening, ""]
    if paths:
        lines += ["```{eval-rst}", *(line for path in paths for line in directive(path)), "```", ""]
    if rest:
        lines += ["Also listed here: " + ", ".join(f"{{py:obj}}`{path}`" for path in rest) + ".", ""]
    return "\n".join(lines)


def type_words(kind: type, name: str) -> str:
    """The type of a field, as it was written."""
    for base in kind.__mro__:
        if name in vars(base).get("__annotations__", {}):
            return str(base.__annotations__[name]).replace("|", "or")
    return ""


def field_table(kind: Any) -> list[str]:
    """Fields with types and defaults."""
    rows = [f"| `{field.name}` | {type_words(kind, field.name)} | `{field.default!r}` |" for field in fields(kind)]
    return ["", "| field | type | default |", "|---|---|---|", *rows, ""] if rows else ["", "It has no fields.", ""]


def recipe_names() -> list[str]:
    """The recipes by their own names, which their pages have."""
    from dpsparse import recipes

    return list(dict.fromkeys(recipes.get(name).name for name in recipes.names()))


def recipe_pages() -> dict[str, str]:
    """One page for each recipe, and a table of them."""
    from dpsparse import recipes

    pages, rows = {}, []
    kinds = {recipes.get(name).name: recipes.get(name) for name in recipes.names()}
    for name, kind in kinds.items():
        said = recipes.describe(name).splitlines()[0]
        said = re.sub(r":math:`(.*?)`", r"$\1$", re.sub(r"\[(\w+)\]_", r"[\1]", said)).replace("|", "\\|")
        others = [alias for alias, other in recipes.ALIASES.items() if other == name]
        rows.append(f"| [`{name}`]({name}.md) | {said} |")
        text = [f"# {name}", ""]
        text += [
            f"`recipe={name!r}`, or the object; also called {', '.join(map(repr, others))}."
            if others
            else f"`recipe={name!r}`, or the object."
        ]
        text += field_table(kind)
        text += [
            "```{eval-rst}",
            f".. autoclass:: dpsparse.recipes.{kind.__name__}",
            *(["   :members: from_theory"] if hasattr(kind, "from_theory") else []),
            "```",
            "",
        ]
        pages[f"recipes/{name}.md"] = "\n".join(text)
    head = ["# Recipes", "", "Every algorithm, its fields and their defaults. Which to take: [](../../choose.md)."]
    head += ["", "| recipe | what it does |", "|---|---|", *rows, "", "```{toctree}", ":hidden:", "", *kinds, "```", ""]
    pages["recipes/index.md"] = "\n".join(head)
    return pages


def loss_rows() -> list[str]:
    """Losses by the names that the command line and estimators take."""
    from dpsparse.queries import losses

    kinds = dict.fromkeys(type(loss) for loss in losses.LOSSES)
    rows = ["| loss | `--loss` | fields |", "|---|---|---|"]
    for kind in kinds:
        known = ", ".join(f"`{field.name}`" for field in fields(kind)) or "none"
        option = "in Python only" if kind is losses.Custom else f"`{kind.__name__.lower()}`"
        rows.append(f"| {{py:class}}`~dpsparse.losses.{kind.__name__}` | {option} | {known} |")
    return rows


def rooms() -> list[str]:
    """Every package, and every public address of a part of one, that has a page."""
    return sorted([*(room for group in GROUPS.values() for room in group), *ELSEWHERE])


def pages() -> dict[str, str]:
    """Every page of the reference, by its path below ``generated``."""
    from dpsparse import recipes

    made = recipe_pages()
    on_recipe_pages = {recipes.get(name).__name__ for name in recipes.names()}
    for room in (room for group in GROUPS.values() for room in group):
        names = listed(room)
        if room == "recipes":
            names = [name for name in names if name not in on_recipe_pages]
        opening = first_sentence(room)
        if room == "losses":
            opening = "\n".join([opening, "", *loss_rows()])
        if room == "recipes":
            opening += " Each recipe has [a page of its own](recipes/index.md)."
        here = [f"dpsparse.{room}.{name}" for name in names if home(room, name) == f"dpsparse.{room}.{name}"]
        rest = [home(room, name) for name in names if home(room, name) != f"dpsparse.{room}.{name}"]
        made[f"{room}.md"] = reference(f"dpsparse.{room}", opening, here, sorted(set(rest)))
    top = [f"dpsparse.{name}" for name in dpsparse.__all__ if name not in rooms()]
    made["top.md"] = reference("dpsparse", "Names of the package itself.", top, [])
    beside = [f"{module}.{name}" for module, names in MODULES.items() for name in names]
    made["beside.md"] = reference("Beside the rooms", "Names of single modules that pages use.", beside, [])
    return made


def contents() -> str:
    """The lists of the reference's front page."""
    lines = ["Recipes: " + ", ".join(f"[{name}](reference/recipes/{name}.md)" for name in recipe_names()) + ".", ""]
    for title, group in GROUPS.items():
        lines += ["```{toctree}", f":caption: {title}", ":maxdepth: 1", ""]
        lines += ["reference/top", "reference/recipes/index"] if title == "For users" else []
        lines += [f"reference/{room}" for room in group]
        lines += ["reference/beside"] if title != "For users" else []
        lines += ["```", ""]
    return "\n".join(lines)
