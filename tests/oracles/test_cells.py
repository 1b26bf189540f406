"""Counts and moments of scored rows: slow truth, and constants that no half would cover."""

import math

import numpy as np
import pytest

from builders import Rows, exact_sum, measured
from dpsparse.core import Adjacency, PrivacyError
from dpsparse.core.facts import Facts, Target
from dpsparse.losses import KnownLink, Logistic, Squared
from dpsparse.queries.kinds import CellCounts, CellMoments, Cells

RNG = np.random.default_rng(0)
#: Two margins, the number of a group.
X = np.column_stack([RNG.uniform(-4, 4, (60, 2)), np.arange(60) % 3])
NUMBERS = RNG.uniform(-2, 2, 60)
TWO, THREE = np.arange(60) % 2.0, np.arange(60) % 3.0
FACTS = Facts(n_rows=60, n_features=3, lower=-8.0, upper=8.0, row_norm=20.0, target=Target(bound=2.0))
ONE = Cells(margins=np.array([0]))
GROUPS = Cells(margins=np.array([0]), group=2, groups=2)
FULL = Cells(margins=np.array([0]), group=2, groups=2, classes=2, edges=np.array([-1.0, 1.0]))
SEVERAL = Cells(margins=np.array([0, 1]), classes=3)
BINS = Cells(margins=np.array([0]), edges=np.array([-1.0, 1.0]))

QUESTIONS = {
    "rows": (CellCounts(ONE), NUMBERS, Squared()),
    "rows of groups": (CellCounts(GROUPS), NUMBERS, Squared()),
    "rows of all cells": (CellCounts(FULL), TWO, Logistic()),
    "correct": (CellMoments(GROUPS, "correct", squares=False), TWO, Logistic()),
    "correct of two": (CellMoments(SEVERAL, "correct", squares=False), TWO, Logistic()),
    "log-loss": (CellMoments(ONE, "log-loss", 3.0), TWO, Logistic()),
    "brier": (CellMoments(FULL, "brier", 1.0), TWO, Logistic()),
    "brier of two": (CellMoments(SEVERAL, "brier", 2.0), TWO, Logistic()),
    "absolute": (CellMoments(GROUPS, "absolute", 2.0), NUMBERS, Squared()),
    "squared": (CellMoments(ONE, "squared", 4.0), NUMBERS, Squared()),
    "linked": (CellMoments(ONE, "absolute", 2.0), NUMBERS, KnownLink("tanh")),
    "squared within": (CellMoments(ONE, "squared", 4.0, within=0.3), NUMBERS, Squared()),
    "linked within": (CellMoments(ONE, "absolute", 2.0, within=0.3), NUMBERS, KnownLink("tanh")),
    "target": (CellMoments(ONE, "target", 2.0), NUMBERS, Squared()),
    "excess": (CellMoments(ONE, "excess", 1.0, centre=0.3, ratio=0.5), NUMBERS, Squared()),
    "excess within": (CellMoments(ONE, "excess", 0.6, centre=0.3, ratio=2.0, within=0.3), NUMBERS, Squared()),
    "place": (CellMoments(BINS, "place", squares=False), TWO, Logistic()),
}
#: Records that pull in all directions: margins, group, target.
ADVERSARIAL = [
    (np.array([a, b, g]), y)
    for a, b in ((8.0, -8.0), (-8.0, 8.0), (1e9, 1e9), (0.9999, 0.0), (-0.9999, 0.0), (0.0, 0.0))
    for g in (0.0, 1.0, 2.0)
    for y in (0.0, 1.0, 2.0, -2.0, 1e9)
] + [(np.full(3, np.nan), 0.0), (np.zeros(3), np.nan)]


def chances(margins):
    p = 1 / (1 + np.exp(-margins))
    return p if p.size == 1 else p / p.sum()


def fared(q, m, y, loss):
    """t of one record, spelled out."""
    p = chances(m)
    if q.value == "correct":
        return 1.0 if (int(np.argmax(m)) if m.size > 1 else int(m[0] > 0)) == y else -1.0
    if q.value == "log-loss":
        found = -math.log(p[0] if y else 1 - p[0])
    elif q.value == "brier":
        found = (p[0] - y) ** 2 if p.size == 1 else sum((p[k] - (k == y)) ** 2 for k in range(p.size))
    elif q.value == "target":
        return y / q.top
    elif q.value == "place":
        ends = [0.0, *(1 / (1 + math.exp(-e)) for e in q.cells.edges), 1.0]
        k = sum(m[0] >= e for e in q.cells.edges)
        return 2 * (p[0] - ends[k]) / (ends[k + 1] - ends[k]) - 1
    else:
        guess = np.tanh(m[0]) if isinstance(loss, KnownLink) else m[0]
        guess = min(max(guess, -q.within), q.within)
        if q.value == "excess":
            return min(max(((guess - y) ** 2 - q.ratio * (y - q.centre) ** 2) / q.top, -1), 1)
        found = abs(guess - y) ** (2 if q.value == "squared" else 1)
    return 2 * min(found, q.top) / q.top - 1


def slow_truth(q, ys, loss):
    counts = isinstance(q, CellCounts)
    out = np.zeros((1 if counts or not q.squares else 2, *q.cells.shape))
    for x, y in zip(X, ys, strict=True):
        g = int(x[2]) if q.cells.group is not None else 0
        c = int(y) if q.cells.classes > 1 else 0
        if g >= q.cells.groups or c >= q.cells.classes:
            continue
        place = (g, c, int(sum(x[0] >= e for e in q.cells.edges)))
        t = 1.0 if counts else fared(q, x[: q.cells.margins.size], y, loss)
        out[0][place] += t
        if len(out) == 2:
            out[1][place] += t**2 - 0.5
    return out.ravel()


@pytest.mark.parametrize("name", QUESTIONS)
def test_answers_are_the_sums_over_cells(name):
    question, y, loss = QUESTIONS[name]
    rows = Rows(X, y, FACTS)
    truth = slow_truth(question, y, loss)
    np.testing.assert_allclose(measured(question, rows, loss).values, truth, atol=60 * 2e-3)
    np.testing.assert_allclose(exact_sum(question, rows, loss), truth, atol=60 * 2e-3)
    np.testing.assert_allclose(measured(question, rows, loss).values, exact_sum(question, rows, loss), atol=60 * 2e-6)


@pytest.mark.parametrize("relation", list(Adjacency), ids=str)
@pytest.mark.parametrize("name", QUESTIONS)
def test_no_record_moves_an_answer_by_more_than_stated_and_half_of_it_would_be_too_little(name, relation):
    question, y, loss = QUESTIONS[name]

    def values(x, t):
        return measured(question, Rows(np.vstack([X[:20], x[None], X[21:]]), np.r_[y[:20], t, y[21:]], FACTS), loss)

    records = [values(x, t) for x, t in ADVERSARIAL]
    stated = records[0].reach.l2(relation)
    rest = np.arange(60) != 20
    if relation is Adjacency.ADD_REMOVE:
        others = [measured(question, Rows(X[rest], y[rest], FACTS), loss).values]
    else:
        others = [r.values for r in records]
    moves = [np.linalg.norm(a.values - b) for a in records for b in others]
    entries = [np.max(np.abs(a.values - b) / records[0].reach.linf(relation)) for a in records for b in others]
    assert max(moves) <= stated * (1 + 1e-12)
    assert max(entries) <= 1 + 1e-12
    assert max(moves) > 0.75 * stated


def test_rests_make_margins_finer_than_the_lattice():
    fine = Cells(margins=np.array([0]), rests=np.array([1]), scale=2.0**-10, edges=np.array([0.75 + 2.0**-10]))
    rows = Rows(np.array([[0.75, 0.5, 0.0], [0.75, 1.5, 0.0]]), np.zeros(2), FACTS.with_(n_rows=2))
    np.testing.assert_allclose(measured(CellCounts(fine), rows, Squared()).values, [1.0, 1.0])


@pytest.mark.parametrize(
    ("question", "message"),
    [
        (CellCounts(Cells(margins=np.array([0]), group=0, groups=2)), "each once"),
        (CellCounts(Cells(margins=np.array([7]))), "within"),
        (CellCounts(Cells(margins=np.zeros(0, dtype=np.intp))), "column of margins"),
        (CellCounts(Cells(margins=np.array([0]), rests=np.array([1, 2]))), "as many of their rests"),
        (CellCounts(Cells(margins=np.array([0]), groups=0)), "at least one group"),
        (CellCounts(Cells(margins=np.array([0]), edges=np.array([1.0, 1.0]))), "increasing edges"),
        (CellMoments(ONE, "hinge"), "one of correct"),
        (CellMoments(ONE, "squared", 0.0), "top of moments .* must be positive"),
        (CellMoments(ONE, "squared", 1.0, within=0.0), "positive range"),
        (CellMoments(ONE, "squared", 1.0, within=math.nan), "positive range"),
        (CellMoments(ONE, "excess", 1.0, centre=math.nan), "finite numbers"),
    ],
)
def test_bad_questions_are_refused(question, message):
    with pytest.raises(PrivacyError, match=message):
        measured(question, Rows(X, NUMBERS, FACTS), Squared())
