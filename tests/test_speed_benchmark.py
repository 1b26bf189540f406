"""What the benchmark of speed tells is what was measured."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest
from benchmarks.speed.clock import Times, exponent, interleave
from benchmarks.speed.goals import Line
from benchmarks.speed.page import page, plot


def test_ways_take_turns_and_the_least_counts():
    order: list[str] = []
    seconds = {"a": iter([3.0, 1.0, 2.0]), "b": iter([5.0, 6.0, 4.0])}

    def way(name: str):
        def run() -> Times:
            order.append(name)
            return Times(next(seconds[name]), 9.0, name)

        return run

    found = interleave({name: way(name) for name in seconds}, 3)
    assert order == ["a", "b", "b", "a", "a", "b"]
    assert (found["a"].processor, found["b"].processor) == (1.0, 4.0)


def test_the_exponent_is_a_slope_with_its_error():
    sizes = [1.0, 2.0, 4.0, 8.0, 16.0]
    assert exponent(sizes, [3 * s**1.5 for s in sizes]) == pytest.approx((1.5, 0.0), abs=1e-12)
    assert exponent(sizes, [1.0, 2.2, 3.8, 8.4, 15.5])[1] > 0.01


@pytest.mark.parametrize(
    ("value", "ends", "reached"),
    [(1.0, {"most": 1.0}, True), (1.1, {"most": 1.0}, False), (2.0, {"least": 3.0}, False), (2.0, {}, None)],
)
def test_a_goal_is_reached_or_not(value, ends, reached):
    assert Line(goal=1, what="x", value=value, unit="s", **ends).reached is reached


def test_the_page_says_what_was_missed():
    lines = [Line(goal=4, what="noise", value=1.4, unit="x", most=1.25).to_dict()]
    machine = {"processor": "p", "cores": 2, "load": 0.1, "read": 10.0}
    text = page({"machine": machine, "lines": lines, "curves": {}})
    assert "| 4 | noise | 1.4 x | at most 1.25 | missed |" in text


def test_the_plot_is_a_picture_with_every_curve():
    curve = {"size": [1.0, 2.0, 4.0], "seconds": [1.0, 2.0, 4.1]}
    root = ET.fromstring(plot({"rows": curve, "steps": curve}))
    names = [node.text for node in root.iter() if node.tag.endswith("text")]
    assert {"rows", "steps"} <= set(names)
