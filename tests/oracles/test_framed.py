"""Questions about rows in a frame: exact sums, a sensitivity that is reached and never passed, refusals."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

from builders import Rows, choice_scores, exact_sum, halved_constants, measured
from dpsparse.accounting import price
from dpsparse.core import Adjacency, Ask, Budget, Noise, Plan, PrivacyError
from dpsparse.core.facts import Facts, Projection, Target
from dpsparse.core.mechanisms import Randomness
from dpsparse.losses import Logistic, Squared
from dpsparse.oracles import CentralOracle
from dpsparse.queries.choices import quantile_counts
from dpsparse.queries.framed import gradient_part
from dpsparse.queries.kinds import Hessian, ProjectedGradient, ProjectedModel, Quantile
from dpsparse.queries.rules import measure
from dpsparse.rows.frames import FramedBlock, FrameLattice, framed
from dpsparse.rows.lattice import Lattice
from dpsparse.rows.shard import Shard
from dpsparse.rows.units import WEIGHTS
from truth.neighbours import loss_per_scale, neighbours
from truth.rows import KINDS, Table, table

RELATIONS = ("replace-one", "add-remove")
RNG = np.random.default_rng(3)
SUPPORT = np.array([7, 2, 5, 11])
CENTRE = np.array([0.2, -0.1, 0.0, 0.4])
FRAMES = {
    "plain": Projection(support=SUPPORT, centre=CENTRE, length=0.6, constant=0.3),
    "moved": Projection(
        support=np.arange(12), centre=np.round(np.linspace(-0.6, 0.7, 12), 3), length=0.6, constant=0.3
    ),
    "turned": Projection(support=SUPPORT, centre=CENTRE, matrix=RNG.normal(0, 1, (4, 4)), length=0.6, constant=0.3),
    "steep": Projection(
        support=SUPPORT, centre=CENTRE, matrix=np.diag([1e-3, 1.0, 30.0, 1e3]), length=0.6, constant=0.3
    ),
    "line": Projection(support=SUPPORT, centre=CENTRE, matrix=RNG.normal(0, 1, (4, 1))),
}
GRADIENTS = {n: ProjectedGradient(ProjectedModel(f, RNG.normal(0, 1, f.size), 0.3), 0.4) for n, f in FRAMES.items()}
HESSIANS = {n: Hessian(g.model, 0.4, 0.9) for n, g in GRADIENTS.items()}


def oracle_of(given: Table, question, relation="replace-one", loss=None) -> CentralOracle:
    noise = Noise.GAUSSIAN if isinstance(question, ProjectedGradient | Hessian) else Noise.GUMBEL
    priced = price(Plan(asks=(Ask(name="q", noise=noise),)), Budget.zcdp(0.5).under(relation))
    return CentralOracle(Rows(given.X, given.y, given.facts), loss or Squared(), priced, Randomness(0))


def priced_loss(question, one: Table, two: Table, relation: str, loss=None) -> tuple[float, float]:
    """How far the query moved over its noise, and what was paid for."""
    paid: list[float] = []

    def run(given: Table) -> None:
        oracle = oracle_of(given, question, relation, loss)
        oracle.answer(question, "q")
        paid.append(oracle.priced.cost("q").strength)

    [found] = loss_per_scale(run, one, two)
    return found, paid[0]


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", GRADIENTS)
def test_nothing_moves_further_between_neighbours_than_was_priced(relation, name):
    loss = Logistic() if name == "turned" else Squared()
    for kind in KINDS:
        for one, two in neighbours(table(kind, n=20, intercept=0.5, curvature=loss.curvature), relation):
            found, paid = priced_loss(GRADIENTS[name], one, two, relation, loss)
            assert found <= paid * (1 + 1e-9)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", HESSIANS)
def test_no_hessian_moves_further_between_neighbours_than_was_priced(relation, name):
    loss = Squared() if name == "plain" else Logistic()
    for kind in KINDS:
        for one, two in neighbours(table(kind, n=20, intercept=0.5, curvature=loss.curvature), relation):
            found, paid = priced_loss(HESSIANS[name], one, two, relation, loss)
            assert found <= paid * (1 + 1e-9)


LINE = ProjectedModel(
    Projection(support=np.array([0, 1]), centre=np.zeros(2), matrix=np.array([[2.0], [0.0]])), np.zeros(1), 0.0
)
PLANE = ProjectedModel(Projection(support=np.array([0, 1]), centre=np.zeros(2)), np.zeros(2), 0.0)
WORST = {
    "gradient": (ProjectedGradient(LINE, 0.5), ([1.0, 0.0], -9.0), ([1.0, 0.0], 9.0)),
    "hessian": (Hessian(PLANE, 9.0, 1.0), ([1.0, 0.0], 0.0), ([0.0, 1.0], 0.0)),
    "rows": (Quantile("rows", LINE, 0.5, np.array([0.5, 1.5, 2.5])), ([0.1, 0.0], 0.0), ([1.0, 0.0], 0.0)),
}


def loss_of_worst(name: str, relation: str) -> tuple[float, float]:
    question, (x, y), (other_x, other_y) = WORST[name]
    facts = Facts(n_rows=20, n_features=2, target=Target(bound=9.0), row_norm=1.0, upper=1.0, lower=-1.0)
    sizes = np.r_[np.full(3, 0.1), np.full(12, 0.5), np.full(4, 1.0)] * (name == "rows")
    rest = np.column_stack([sizes, np.zeros(19)])
    one, two = (
        Table(np.vstack([rest, np.array([a])]), np.r_[np.zeros(19), b], facts) for a, b in ((x, y), (other_x, other_y))
    )
    two = two if relation == "replace-one" else one.only(slice(0, 19))
    return priced_loss(question, one, two, relation)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", WORST)
def test_the_worst_neighbours_use_up_the_price(name, relation):
    found, paid = loss_of_worst(name, relation)
    assert 0.999 * paid < found <= paid * (1 + 1e-9)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", WORST)
def test_control_a_halved_constant_is_caught(name, relation):
    with halved_constants():
        found, paid = loss_of_worst(name, relation)
    assert found > 1.9 * paid


# ------------------------------------------------------------------------------------------------ sums


def in_frame(given: Table, frame: Projection) -> np.ndarray:
    """The rows of a table in the coordinates of a frame, in floats."""
    x = given.X.toarray() if sp.issparse(given.X) else np.asarray(given.X, dtype=float)
    x = np.clip(x, given.facts.lower, given.facts.upper)
    x = x * np.minimum(1, given.facts.row_norm / np.maximum(np.linalg.norm(x, axis=1), 1e-12))[:, None]
    a = (x - given.facts.shift)[:, frame.support] - frame.centre
    a = (a if frame.matrix is None else a @ frame.matrix) / frame.length
    return np.column_stack([a, np.full(len(a), frame.constant)])[:, : frame.size]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["plain", "moved", "turned", "line"])
def test_hessians_are_those_of_the_definition(kind, name):
    """Rows within the norm times the root of the second derivative, without those that the clip holds."""
    question = HESSIANS[name]
    given = table(kind, n=37, intercept=0.5, curvature=0.25)
    given = Table(given.X, (given.y > 0).astype(float), given.facts)
    z = in_frame(given, question.model.frame)
    p, norms = 1 / (1 + np.exp(-(z @ question.model.w + 0.3))), np.linalg.norm(z, axis=1)
    bent = 4 * p * (1 - p) * (np.abs(p - given.y) * norms <= question.clip)
    b = z * (np.sqrt(bent) * np.minimum(1, question.norm / norms))[:, None]
    assert np.any(bent)
    row, column = np.triu_indices(question.model.frame.size)
    wanted = (b.T @ b)[row, column] * np.where(row == column, 1.0, np.sqrt(2))
    found = measured(question, Rows(given.X, given.y, given.facts), Logistic())
    np.testing.assert_allclose(found.values, wanted, atol=0.03)
    exact = Rows(given.X, given.y, given.facts, lattice=False)
    np.testing.assert_allclose(exact_sum(question, exact, Logistic()), wanted, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", GRADIENTS)
def test_sums_are_those_of_the_definition(kind, name):
    question = GRADIENTS[name]
    w = question.model.w
    given = table(kind, n=37, intercept=0.5)
    rows, z = Rows(given.X, given.y, given.facts), in_frame(given, question.model.frame)
    slope = z @ w + 0.3 - np.clip(given.y, -given.facts.target_bound, given.facts.target_bound)
    slope *= np.minimum(1, question.clip / np.maximum(np.abs(slope) * np.linalg.norm(z, axis=1), 1e-300))
    found = measured(question, rows, Squared())
    np.testing.assert_allclose(found.values, slope @ z, atol=0.02 * 37 * question.clip / 10)
    exact = Rows(given.X, given.y, given.facts, lattice=False)
    np.testing.assert_allclose(exact_sum(question, exact, Squared()), slope @ z, rtol=1e-6, atol=1e-9)


def rows_of(found: FramedBlock) -> np.ndarray:
    """Coordinates but the constant one, written out."""
    return found.z if found.centre is None else found.z - found.centre


@pytest.mark.parametrize("midpoint", [False, True])
def test_rows_that_a_frame_only_moves_answer_as_rows_that_are_written_out(midpoint):
    """Dense rows are moved, sparse ones written out: the same bytes, with records that count as nothing among them."""
    given = table("dense shifted" if midpoint else "dense", n=90, intercept=0.5)
    X = given.X.copy()
    X[[3, 50]] = np.nan
    question, lattice = GRADIENTS["moved"], Lattice(given.facts)
    lengths = Quantile("rows", question.model, 0.7, np.geomspace(0.01, 5, 40))
    sizes = Quantile("gradients", question.model, 0.6, np.geomspace(0.01, 5, 40))
    found = []
    for rows in (X, sp.csr_matrix(X)):
        shard = Shard(lattice, [(rows[:40], given.y[:40]), (rows[40:], given.y[40:])])
        assert [block.centre is None for block in shard.framed(question.model.frame)] == [sp.issparse(rows)] * 2
        parts = [gradient_part(question, measure(question, lattice), shard, Squared())]
        parts += [quantile_counts(asked, shard, Squared()) for asked in (lengths, sizes)]
        found.append([part.tolist() for part in parts])
    assert found[0] == found[1]
    assert found[0][1][-1] == 88 * WEIGHTS


@pytest.mark.parametrize("name", FRAMES)
def test_rows_of_a_frame_are_whole_numbers_whose_products_and_squares_are_exact(name):
    given = table("dense", n=37, intercept=0.5)
    rows = Rows(given.X, given.y, given.facts)
    [block] = rows.only.blocks
    on = FrameLattice(FRAMES[name], rows.lattice)
    found = framed(block, on)
    for i in (0, 17, 36):
        away = [int(v) - int(c) for v, c in zip(block.x[i, on.frame.support], on.centre, strict=True)]
        matrix = np.eye(len(away)) if on.matrix is None else on.matrix
        products = [sum(a * int(m) for a, m in zip(away, column, strict=True)) for column in matrix.T]
        whole = [round(Fraction(p, int(on.coarse))) for p in products]
        assert rows_of(found)[i].tolist() == whole
        assert int(found.squares[i]) == sum(v * v for v in whole) + int(on.height) ** 2
    assert np.abs(rows_of(found)).max() <= 2.0**24
    w = RNG.normal(0, 1, on.frame.size)
    iterate = on.rounded(w)
    product = [int(v) for v in np.r_[rows_of(found)[5], [on.height] * on.frame.free]]
    expected = sum(v * int(c) for v, c in zip(product, iterate.whole, strict=True)) * (iterate.scale * on.unit)
    assert found.margins(w, 0.0)[5] == expected


def test_wide_frames_stay_within_what_floats_hold():
    """A frame that stretches a thousand columns a thousand times: entries, squares and products within their bits."""
    d = 1000
    facts = Facts(n_rows=5, n_features=d, row_norm=float(np.sqrt(d)), upper=1.0, lower=-1.0)
    frame = Projection(support=np.arange(d), centre=np.ones(d), matrix=1e3 * np.ones((d, d)), length=1e-3, constant=0.3)
    on = FrameLattice(frame, Lattice(facts))
    [block] = Rows(-np.ones((5, d)), np.zeros(5), facts).only.blocks
    found = framed(block, on)
    assert found.squares.max() <= 2.0**50
    assert float((found.z.astype(object) ** 2).sum(axis=1).max()) + on.height**2 == found.squares.max()


def test_lengths_of_rows_are_those_in_the_frame():
    X = np.zeros((10, 2))
    X[:4, 0] = [0.1, 0.2, 0.3, 0.4]
    rows = Rows(X, np.zeros(10), Facts(n_rows=10, n_features=2))
    question = Quantile("rows", LINE, 0.5, np.array([0.3, 0.5, 1.0]))
    scores, moved = choice_scores(question, rows, Squared(), Adjacency.REPLACE_ONE)
    assert scores.tolist() == [-1.0, 0.0, 0.0]
    assert moved == 2.0


# ------------------------------------------------------------------------------------------------ refusals


def test_frames_that_cannot_be_are_refused():
    with pytest.raises(ValueError, match="one finite centre"):
        Projection(support=np.array([0]), centre=np.array([np.nan]))
    with pytest.raises(ValueError, match="one finite row"):
        Projection(support=np.array([0]), centre=np.zeros(1), matrix=np.ones((2, 1)))
    with pytest.raises(ValueError, match="positive length"):
        Projection(support=np.array([0]), centre=np.zeros(1), length=0.0)


@pytest.mark.parametrize(
    ("frame", "clip", "match"),
    [
        (Projection(support=np.array([0, 0]), centre=np.zeros(2)), 0.5, "each once"),
        (Projection(support=np.array([40]), centre=np.zeros(1)), 0.5, "within"),
        (Projection(support=np.array([0]), centre=np.zeros(1)), 0.0, "positive"),
        (Projection(support=np.array([0]), centre=np.array([1e30])), 0.5, "too far"),
    ],
)
def test_questions_that_no_bound_covers_are_refused(frame, clip, match):
    given = table("dense", n=20)
    question = ProjectedGradient(ProjectedModel(frame, np.zeros(frame.size), 0.0), clip)
    with pytest.raises(PrivacyError, match=match):
        oracle_of(given, question).answer(question, "q")


def test_a_frame_does_not_follow_its_arrays():
    support, centre = np.array([0, 1]), np.zeros(2)
    frame = Projection(support=support, centre=centre)
    centre[0], support[0] = 9.0, 1
    assert frame.centre.tolist() == [0.0, 0.0]
    assert frame.support.tolist() == [0, 1]
    with pytest.raises(ValueError, match="read-only"):
        frame.centre[0] = 1.0


@pytest.mark.parametrize("name", FRAMES)
def test_rows_that_were_mapped_for_another_length_or_constant_are_those_mapped_anew(name):
    given, model = table("dense", n=90, intercept=0.5), GRADIENTS[name].model
    X = given.X.copy()
    X[[3, 50]] = np.nan
    lattice = Lattice(given.facts)
    fresh, known = (Shard(lattice, [(X, given.y)]) for _ in range(2))
    first = replace(model.frame, length=1.7 * model.frame.length, constant=0.0)
    [before], [found] = known.framed(first), known.framed(model.frame)
    [expected] = fresh.framed(model.frame)
    assert (found.z is before.z) is (before.on.coarse == found.on.coarse)
    assert found.squares.tolist() == expected.squares.tolist()
    assert found.factor_cap.tolist() == expected.factor_cap.tolist()
    w = np.linspace(-1, 1, model.frame.size)
    assert found.margins(w, 0.5).tolist() == expected.margins(w, 0.5).tolist()


def test_control_rows_of_another_matrix_are_mapped_anew():
    given, frame = table("dense", n=9, intercept=0.5), GRADIENTS["turned"].model.frame
    shard = Shard(Lattice(given.facts), [(given.X, given.y)])
    [before], [found] = shard.framed(frame), shard.framed(replace(frame, matrix=1.01 * frame.matrix))
    assert found.z is not before.z
    assert found.z.tolist() != before.z.tolist()
