"""Numbers that decide how fits behave stand in `algorithms/constants/*.toml`, each with where it comes from."""

import ast
import re
import tomllib
from pathlib import Path
from typing import get_type_hints

import pytest

import dpsparse
from dpsparse.algorithms import constants as package
from dpsparse.algorithms.constants import Constants, constants
from dpsparse.algorithms.polish_schedule import Rule as PolishRule
from dpsparse.recipes.dual_averaging import AveragingRule

BASE = Path(dpsparse.__file__).parent
FILES = sorted(Path(package.__file__).parent.glob("*.toml"))
SOURCES = [
    *BASE.glob("algorithms/**/*.py"),
    *BASE.glob("recipes/**/*.py"),
    *BASE.glob("report/**/*.py"),
    BASE / "fitting/shapes.py",
]
FIELDS = {"value", "meaning", "origin", "chosen_on", "confirmed_on", "half", "double"}
#: Numbers of formulas: small integers and their inverses, powers of ten for percents, guards against a division by zero.
PLAIN = {0, 1, 2, 3, 4, 0.5, -1, 10, 100, 1e-12, 1e-300}
#: Others that may stand in code, by the end of the path: which, and why.
THEOREM = "constants of a theorem, quoted beside it"
BASELINE = "documented default of a parameter of a loop without noise: how long it may run, and when it has converged"
ROUNDING = "below rounding, or where exp would overflow"
ALLOWED = {
    "algorithms/column_locations.py": ({1e-9, 1e3}, ROUNDING),
    "algorithms/converged.py": ({8, 1500, 1e-6, 1e-3}, BASELINE),
    "algorithms/one_step.py": ({0.25}, "largest curvature of the logistic loss"),
    "algorithms/polish_schedule.py": ({1e9}, ROUNDING),
    "algorithms/polish_steps.py": (
        {41, 350, 40, 1e-150},
        "nodes and bisections of an integral to rounding; " + ROUNDING,
    ),
    "algorithms/proximal.py": ({20, 1e-9, 1e-3, 1e-2}, BASELINE),
    "algorithms/screening.py": ({0.05}, "a mean count is at least this before its logarithm is taken"),
    "algorithms/scsg.py": ({20}, ROUNDING),
    "algorithms/steps.py": ({1e-20}, ROUNDING),
    "algorithms/table_schedule.py": ({1.5}, "power of a formula"),
    "algorithms/transfer.py": ({50, 30, 1.1}, BASELINE),
    "fitting/shapes.py": ({201}, "points of a curve that is made monotone"),
    "recipes/dpsl_kt.py": ({24}, "entries that fit into memory"),
    "recipes/defaults/theory.py": ({1e-6}, "delta of from_theory where only rho is given"),
    "recipes/dp_frank_wolfe.py": ({1000}, "steps of from_theory at most"),
    "recipes/dp_gcd.py": ({0.05, 128, 8}, THEOREM),
    "recipes/dp_ight.py": ({64}, THEOREM),
    "recipes/dp_scsg_ht.py": ({32}, THEOREM),
    "recipes/dp_sgd.py": ({1000}, "steps of from_theory at most"),
    "recipes/dp_sgd_ht.py": ({12, 6}, THEOREM),
    "recipes/dp_svrg_ht.py": ({32}, THEOREM),
    "recipes/fedsgd_ht.py": ({20}, BASELINE),
    "recipes/gcd.py": ({1e-8, 2000, 200, 5000}, BASELINE),
    "recipes/ight.py": ({200, 1e-6}, BASELINE),
    "recipes/label_ldp_iht.py": ({0.2, 8}, THEOREM),
    "recipes/label_ldp_lasso.py": ({200}, BASELINE),
    "recipes/lasso.py": ({5000, 1e-9}, BASELINE),
    "recipes/ldp_iht.py": ({8}, THEOREM),
    "recipes/scsg_ht.py": ({40, 1e-6}, BASELINE),
    "recipes/sgd_ht.py": ({200, 1e-6}, BASELINE),
    "recipes/two_stage.py": ({8}, "epsilon^2/8 of a selection"),
    "report/planner/forecast.py": ({9, 0.05, 0.2, 0.8, 0.95, 256}, "levels by name, rows at most, size of a cache"),
    "report/planner/formulas.py": ({60.0, 0.02, 200, 400, 8, 2001}, "nodes of an integral; " + ROUNDING),
    "report/planner/intervals.py": (
        {9, 0.025, 0.25},
        "level of the intervals; curvature of the logistic loss; rows at most",
    ),
    "report/planner/local.py": ({16, 1000}, "numbers of a long report; bytes of a kilobyte"),
    "report/planner/smallest_coefficient.py": ({9}, "odds of 90 %"),
}


def entries(table: dict[str, object], group: str = "") -> dict[str, dict[str, object]]:
    """All entries of a file, by their place."""
    found: dict[str, dict[str, object]] = {}
    for name, held in table.items():
        if isinstance(held, dict) and "value" in held:
            found[group + name] = held
        elif isinstance(held, dict) and name != "defaults":
            found |= entries(held, f"{group}{name}.")
    return found


TABLES = {path.stem: tomllib.loads(path.read_text(encoding="utf-8")) for path in FILES}
ENTRIES = {(file, place): entry for file, table in TABLES.items() for place, entry in entries(table).items()}


@pytest.mark.parametrize("file", TABLES)
def test_every_constant_says_what_it_is_and_where_it_comes_from(file: str) -> None:
    defaults = TABLES[file]["defaults"]
    assert defaults["half"] == defaults["double"] == "not measured"  # a measurement belongs to one constant
    for place, entry in entries(TABLES[file]).items():
        known = defaults | entry
        assert set(known) == FIELDS, place
        assert all(isinstance(known[name], str) and known[name] for name in FIELDS - {"value"}), place
        values = known["value"] if isinstance(known["value"], list) else [known["value"]]
        assert {type(value) for value in values} <= {int, float, bool}, place


OBJECTS = {name: held for name, held in vars(package).items() if isinstance(held, Constants)}
CODE = "\n".join(path.read_text(encoding="utf-8") for path in SOURCES)
NAMED = set(re.findall(rf"\b({'|'.join(OBJECTS)})\.((?:whole|pair|several)\.)?(\w+)", CODE))


def test_every_constant_is_used() -> None:
    used = {f"{OBJECTS[name].place}.{constant}" for name, _, constant in NAMED}
    fields = set(re.findall(r"\.(\w+)", CODE)) | set(re.findall(r'"(\w+)"', CODE))  # of groups, as fields of an object
    idle = [f"{file}.{place}" for file, place in ENTRIES if not ("." in place and place.split(".")[1] in fields)]
    assert not set(idle) - used


def test_names_in_the_code_exist_and_have_their_type() -> None:
    assert len(NAMED) > 200
    for name, view, constant in NAMED:
        held = getattr(OBJECTS[name], view[:-1]) if view else OBJECTS[name]
        value = getattr(held, constant)
        assert view != "pair." or len(value) == 2, constant


@pytest.mark.parametrize(
    ("kind", "file", "group"),
    [(PolishRule, "select_polish", group) for group in ("numbers", "classes", "few_class_records")]
    + [
        (AveragingRule, "dual_averaging", group)
        for group in (
            "classes",
            "numbers",
            "class_documents",
            "number_documents",
            "many_classes",
            "many_class_documents",
        )
    ],
)
def test_rules_are_made_of_their_group(kind: type, file: str, group: str) -> None:
    values, kinds = constants(file, group).values, get_type_hints(kind)
    assert kind(**values)
    assert all(type(value) is kinds[name] or type(value) in kinds[name].__args__ for name, value in values.items())


def test_a_constant_of_another_type_is_refused() -> None:
    with pytest.raises(AttributeError, match="tables has no constant 'steps' of the type float"):
        package.TABLES.steps  # noqa: B018
    with pytest.raises(AttributeError, match="no constant 'no such name'"):
        getattr(package.TABLES.whole, "no such name")


def test_numbers_that_decide_stand_in_the_files_and_not_in_the_code() -> None:
    found: dict[str, set[float]] = {}
    for path in SOURCES:
        place = path.relative_to(BASE).as_posix()
        if place.startswith("report/") and not place.startswith("report/planner/"):
            continue
        nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
        index = {id(n) for s in nodes if isinstance(s, ast.Subscript) for n in ast.walk(s.slice)}
        numbers = {
            n.value
            for n in nodes
            if isinstance(n, ast.Constant)
            and type(n.value) in (int, float)
            and n.value not in PLAIN
            and id(n) not in index
        }
        if numbers:
            found[place] = numbers
    new = {place: numbers - ALLOWED.get(place, (set(), ""))[0] for place, numbers in found.items()}
    assert not {place: numbers for place, numbers in new.items() if numbers}, "put them into algorithms/constants"
    gone = {place: allowed - found.get(place, set()) for place, (allowed, _) in ALLOWED.items()}
    assert not {place: numbers for place, numbers in gone.items() if numbers}, "strike them from ALLOWED"
