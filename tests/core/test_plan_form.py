"""Plans as JSON: every recipe's plan, and made-up ones, come back without a changed digit."""

import dataclasses
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import prepared_for
from dpsparse import SparseClassifier, SparseRegressor, recipes
from dpsparse.core import Ask, Noise, Plan, PoissonRows, PrivacyError, RandomTurns
from dpsparse.core.codec import FormError, canonical_json
from dpsparse.core.plan import read_plan, write_plan

PRIVATE = sorted(name for name, cls in recipes.REGISTRY.items() if cls.private)


def same(one: Plan, two: Plan) -> bool:
    """Equal plans; public arrays are compared by their values and types."""
    for a, b in zip(one.public.items(), two.public.items(), strict=True):
        if a[0] != b[0] or type(a[1]) is not type(b[1]) or not np.array_equal(a[1], b[1]):
            return False
        if isinstance(a[1], np.ndarray) and a[1].dtype != b[1].dtype:
            return False
    plain = [dataclasses.replace(p, public={}, branches=()) for p in (one, two)]
    names = [name for name, _ in one.branches] == [name for name, _ in two.branches]
    return plain[0] == plain[1] and names and all(map(same, dict(one.branches).values(), dict(two.branches).values()))


def through_text(plan: Plan) -> Plan:
    return read_plan(json.loads(canonical_json(write_plan(plan))))


def prepared(name: str, models: int = 1):
    shared = {"recipe": name, "sparsity": 4, "feature_bound": 1.0, "epsilon": 2.0, "delta": 1e-5}
    found = None
    for make in (
        lambda: SparseRegressor(target_bound=2.0, accept=recipes.get(name).needs, **shared),
        lambda: SparseClassifier(accept=recipes.get(name).needs, **shared),
        lambda: SparseRegressor(target_bound=2.0, alpha=1.0, accept=recipes.get(name).needs, **shared),
    ):
        try:
            found = prepared_for(make(), 400, 30, sparse=False, models=models)
            break
        except (ValueError, TypeError) as error:
            found = error
    if isinstance(found, Exception):
        raise found
    return found


@pytest.mark.parametrize("name", PRIVATE)
def test_the_plan_of_every_recipe_comes_back_unchanged(name):
    ready = prepared(name)
    for plan in (ready.plan, ready.priced.plan, ready.plan.repeated(3)):
        assert same(through_text(plan), plan)


def plans(depth: int = 1):
    names = st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "Z")), min_size=1, max_size=8)
    numbers = st.floats(1e-12, 1e12)

    @st.composite
    def ask(draw, name):
        times = draw(st.integers(1, 4))
        kind = draw(st.sampled_from([Noise.GAUSSIAN, Noise.GUMBEL, Noise.LAPLACE, Noise.OBJECTIVE]))
        extra = {}
        if kind is Noise.GAUSSIAN and draw(st.booleans()):
            extra["rows"] = PoissonRows(draw(st.floats(1e-9, 0.999)))
        if kind is Noise.GAUSSIAN and draw(st.booleans()):
            label = str(draw(st.uuids()))  # laws of one plan have different names, or share one draw
            extra["law"] = RandomTurns(draw(st.integers(1, 5)), draw(numbers), draw(st.integers(1, 3)), label)
        elif draw(st.booleans()):
            extra["schedule"] = tuple(draw(numbers) for _ in range(times))
        if kind is Noise.OBJECTIVE:
            extra["offset"] = draw(numbers)
        draws = 1 if "law" in extra else draw(st.integers(1, 3))
        return Ask(name=name, noise=kind, times=times, draws=draws, share=draw(numbers), **extra)

    @st.composite
    def plan(draw, left):
        asked = draw(st.lists(names, min_size=1, max_size=3, unique=True))
        asks = tuple(draw(ask(name)) for name in asked)
        order = tuple(a.name for a in asks for _ in range(a.times)) if draw(st.booleans()) else ()
        public = draw(
            st.dictionaries(names, st.one_of(st.integers(), numbers, st.tuples(st.integers(), numbers)), max_size=2)
        )
        branches = ()
        if left:
            branches = tuple((name, draw(plan(left - 1))) for name in draw(st.lists(names, max_size=2, unique=True)))
        return Plan(asks=asks, order=order, public=public, branches=branches, interleaved=draw(st.booleans()))

    return plan(depth)


@given(plans())
def test_any_plan_comes_back_unchanged(plan):
    assert through_text(plan) == plan


def test_a_plan_of_another_version_is_refused():
    content = write_plan(Plan(asks=(Ask(name="a", noise=Noise.GAUSSIAN),)))
    for other in (4, 0, None, "2"):
        with pytest.raises(FormError, match="this release reads versions up to 3"):
            read_plan({**content, "version": other})


def test_a_plan_of_the_first_version_is_read():
    plan = Plan(asks=(Ask(name="a", noise=Noise.GAUSSIAN, times=3),), interleaved=True)
    content = write_plan(plan)
    del content["models"]
    assert read_plan({**content, "version": 1}) == plan


def test_public_things_without_a_stored_form_are_refused():
    plan = Plan(asks=(Ask(name="a", noise=Noise.GAUSSIAN),), public={"model": object()})
    with pytest.raises(PrivacyError, match="public 'model' of type object"):
        write_plan(plan)


@pytest.mark.parametrize(
    "value",
    [
        np.inf,
        [1, 2],
        {"tuple": [np.nan]},
        {"array": ["3"], "dtype": "float64"},
        {"array": "inf", "dtype": "float64"},
        {"array": [1e999], "dtype": "float64"},
        {"array": [1.5], "dtype": "int64"},
        {"array": [True], "dtype": "int64"},
        {"array": [1], "dtype": "float64"},
        {"array": [300], "dtype": "uint8"},
        {"array": [1.0], "dtype": "double"},
        {"array": [1.0], "dtype": "float64", "more": 1},
        {"array": [1.0]},
    ],
    ids=str,
)
def test_public_values_of_a_stored_plan_are_not_converted(value):
    content = write_plan(Plan(asks=(Ask(name="a", noise=Noise.GAUSSIAN),), public={"order": np.arange(2)}))
    assert np.array_equal(read_plan(content).public["order"], np.arange(2)), "the control"
    with pytest.raises(FormError, match="must hold numbers, texts, tuples and arrays"):
        read_plan({**content, "public": {"order": value}})
