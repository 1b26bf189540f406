r"""Which columns of a fit are curves, and of how many terms: from public facts alone, before a row is read.

With N = n mu the level of the budget and d columns after expansion, a column of numbers has five
terms where N/(2d) is at least 40, three where it is at least 8, and stays a line otherwise. All
columns of a fit have the same number of terms. ``smooth``, of a fit or of a column in a dictionary,
asks for at least three.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..algorithms.constants import SHAPES, TABLES
from ..core import Budget, checks
from ..core.facts import Vector
from ..ops import entries_of_groups, groups_of, largest_groups
from ..rows.bounds import read_bounds
from ..rows.declared import ColumnBounds, declared_columns
from ..rows.shapes import ASKED, Basis, Curve, NumberColumn
from ..rows.shapes import SHAPES as KINDS

if TYPE_CHECKING:
    from .request import FitRequest, Shape

Groups = NDArray[np.intp]
#: Points of a curve that is made monotone.
MONOTONE_POINTS = 201


def read_shapes(given: object) -> str | Mapping[str | int, str]:
    """The argument `shapes`: a word for all columns, or a word by column."""
    if isinstance(given, Mapping):
        for shape in given.values():
            checks.one_of(shape, "shapes of a column", KINDS)
        return dict(given)
    return checks.one_of(given, "shapes", ASKED)


def read_groups(given: object) -> tuple[tuple[str | int, ...], ...]:
    """The argument `groups`: lists of columns, by name or number."""
    if given is None:
        return ()
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise TypeError(f"groups must be a list of lists of columns, got {type(given).__name__}.")
    return tuple(tuple(group) for group in given)


def with_shapes(request: FitRequest, shape: Shape) -> tuple[FitRequest, Shape]:
    """The request and the shape of the rows behind the map of `shapes`; as they are where all columns are lines.

    Bounds become those of the terms. `sparsity` counts groups: recipes get as many terms as these have on
    average, of which they make groups again (`ops.groups_of`), and `keep_groups` counts them afterwards.
    """
    declared = declared_columns(request.feature_bound, request.carried)
    basis = request.basis if request.basis is not None else _basis(request, shape, declared)
    members = _groups(request, shape.n_features, basis, declared)
    if members is not None and request.sparsity is not None:
        request = replace(request, sparsity=entries_of_groups(request.sparsity, members))
    request = replace(request, members=members)
    if basis is None:
        return request, shape
    lower, upper, norm = read_bounds(request.feature_bound, request.row_norm, shape.n_features)
    lower, upper, norm = basis.bounds(lower, upper, norm, structural=bool(declared.numbers))
    expanded = replace(request, feature_bound=(lower, upper), row_norm=norm, basis=basis)
    return expanded, replace(shape, n_features=basis.width)


def refuse_shapes(request: FitRequest) -> None:
    """Refuse curves and groups where rows are read elsewhere, by a protocol that sends no map of a record."""
    if request.basis is not None:
        raise ValueError(
            "sites and devices read columns as lines: leave shapes='line', and shape: line in dictionaries."
        )
    if request.members is not None:
        raise ValueError("sites and devices select single columns: leave groups=None, and group out of dictionaries.")


# ------------------------------------------------------------------------------------------------ curves


def _basis(request: FitRequest, shape: Shape, declared: ColumnBounds) -> Basis | None:
    """The map of rows of this shape; None where all columns are lines."""
    asked = request.shapes
    if asked == "line" and all(column.shape in (None, "line") for column in declared.numbers):
        return None
    obstacle = _obstacle(request, shape)
    forced = asked == "smooth" or isinstance(asked, Mapping) or any(c.shape for c in declared.numbers)
    if obstacle and forced:
        raise ValueError(f"columns can only bend in dense rows with bounds of their own: {obstacle}")
    if obstacle:
        return None
    lower, upper, _ = read_bounds(request.feature_bound, request.row_norm, shape.n_features)
    ends = np.array(lower * np.ones(shape.n_features)), np.array(upper * np.ones(shape.n_features))
    columns = declared.numbers or _undeclared(request.names, *ends)
    kinds = {column.column: _kind(column, request, ends, bool(declared.numbers)) for column in columns}
    _refuse_unknown(asked, columns)
    wanted = [column for column in columns if kinds[column.column] != "line"]
    if asked == "smooth" and not wanted:
        raise ValueError(
            "shapes='smooth' found no column that can bend: columns with the bounds [0, 1] are taken for "
            "0/1 columns, and categories do not bend. Name the columns: shapes={'age': 'smooth'}."
        )
    terms = _number_of_terms(request, shape, len(wanted))
    curves = []
    for column in wanted:
        kind = kinds[column.column]
        few = SHAPES.whole.few_terms if kind != "auto" else 1
        own = max(terms, few)
        if own > 1:
            decay = SHAPES.many_decay if own >= SHAPES.whole.many_terms else SHAPES.few_decay
            low, high = (float(end[column.column]) for end in ends)
            curves.append(Curve(column, "smooth" if kind == "auto" else kind, own, decay, low, high))
    bent = {curve.of.column for curve in curves}
    others = tuple(column for column in declared.numbers if column.column not in bent)
    return Basis(shape.n_features, tuple(curves), others) if curves else None


def _obstacle(request: FitRequest, shape: Shape) -> str:
    """Why no column can bend; empty where they can."""
    if shape.sparse:
        return "the rows are sparse. Use dense rows, or shapes='line'."
    if request.feature_bound is None:
        return "only row_norm is declared. Declare feature_bound, or use shapes='line'."
    if request.start is not None or request.feature_center is not None:
        return "start and feature_center speak of lines. Leave them out, or use shapes='line'."
    return ""


def _undeclared(names: Sequence[str] | None, lower: Vector, upper: Vector) -> tuple[NumberColumn, ...]:
    """Columns of rows that no dictionary describes."""
    called = [f"column {j}" for j in range(lower.size)] if names is None else list(names)
    return tuple(NumberColumn(j, called[j], float(lower[j]), float(upper[j])) for j in range(lower.size))


def _kind(column: NumberColumn, request: FitRequest, ends: tuple[Vector, Vector], described: bool) -> str:
    """What a column is asked to be: its declared shape, that of `shapes`, or "auto"."""
    asked = request.shapes
    if column.shape is not None:
        return column.shape
    if isinstance(asked, Mapping):
        return str(asked.get(column.name, asked.get(column.column, "line")))
    indicator = not described and ends[0][column.column] == 0 and ends[1][column.column] == 1
    return "line" if indicator else str(asked)


def _refuse_unknown(asked: object, columns: Sequence[NumberColumn]) -> None:
    known = {column.name for column in columns} | {column.column for column in columns}
    unknown = [name for name in asked if name not in known] if isinstance(asked, Mapping) else []
    if unknown:
        raise ValueError(f"shapes names {unknown[0]!r}, which is no column of numbers of these rows.")


def _number_of_terms(request: FitRequest, shape: Shape, bent: int) -> int:
    """How many terms the budget carries; 1 for lines. A baseline without privacy has as many as there are."""
    level = math.inf
    if request.recipe.private:
        level = _level(request, shape)
    for terms, least in ((SHAPES.whole.many_terms, SHAPES.many), (SHAPES.whole.few_terms, SHAPES.few)):
        if level >= 2 * least * (shape.n_features + (terms - 1) * bent):
            return terms
    return 1


def _level(request: FitRequest, shape: Shape) -> float:
    """N = n mu of the rows that make one model."""
    budget, _ = request.budget_for(shape.n_rows)
    one = budget if shape.models == 1 else Budget.zcdp(budget.as_rho() / shape.models, budget.relation)
    rows = shape.n_rows / 2 if request.intervals else shape.n_rows
    return TABLES.gaussian_part * rows * one.as_mu() * 2 / budget.kappa


# ------------------------------------------------------------------------------------------------ groups


def _groups(request: FitRequest, n_features: int, basis: Basis | None, declared: ColumnBounds) -> Groups | None:
    """The group of each column behind the map: terms of a curve, and columns that are declared to belong together.

    None where every column is by itself.
    """
    own = np.arange(n_features)
    names = {column.name: column.column for column in declared.numbers}
    names |= {name: j for j, name in enumerate(request.names or ())}
    for group in (*declared.groups, *request.groups):
        places = [_place(member, names, n_features) for member in group]
        own[np.isin(own, own[places])] = min(own[places])
    own = own if basis is None else own[basis.parents]
    found, numbered = np.unique(own, return_inverse=True)
    return np.asarray(numbered, dtype=np.intp) if found.size < own.size else None


def _place(member: object, names: Mapping[str, int], n_features: int) -> int:
    if isinstance(member, str) and member in names:
        return names[member]
    if isinstance(member, int | np.integer) and 0 <= member < n_features:
        return int(member)
    raise ValueError(f"groups names {member!r}, which is no column of these rows.")


def keep_groups(w: Vector, members: Groups | None, sparsity: int | None) -> Vector:
    """Coefficients with no more groups than allowed, those of the largest l2 norm: post-processing.

    For recipes that select single columns; others have no more.

    Parameters
    ----------
    w : array of shape (dimension,) or (dimension, classes)
        The constant, where there is one, comes last and stays.
    members : array of shape (n_features,) or None
        The group of each feature.
    sparsity : int or None
        As in `with_shapes`.
    """
    if members is None or sparsity is None:
        return w
    sizes = np.linalg.norm(np.atleast_2d(w.T), axis=0)[: members.size]
    dropped = np.ones(members.size, dtype=bool)
    dropped[largest_groups(sizes, members, groups_of(sparsity, members))] = False
    kept = w.copy()
    kept[: members.size][dropped] = 0.0
    return kept


# ------------------------------------------------------------------------------------------------ monotone curves


def monotone(curve: Curve, coef: Vector) -> Vector:
    r"""The nearest coefficients of a curve that only rises, or only falls, whichever is nearer.

    With D the differences of the terms along a grid, the curve rises where :math:`Dc \ge 0`, a cone.
    In the metric of the curve's values, its projection is what remains of c without its projection on
    the polar cone, a least squares problem with weights that are not negative (Moreau).
    """
    from scipy.optimize import nnls  # takes long to import, and most fits do not need it

    found = np.atleast_2d(coef)
    design = curve.at(np.linspace(curve.of.low, curve.of.high, MONOTONE_POINTS))
    design = design - design.mean(axis=0)
    root = np.linalg.cholesky(design.T @ design / len(design))  # of the Gram matrix of values: L L'
    steps = np.linalg.solve(root, np.diff(design, axis=0).T)  # D in orthonormal coordinates L' c, transposed
    made = []
    for c in found:
        own = root.T @ c
        both = [own + sign * steps @ nnls(sign * steps, -own)[0] for sign in (1.0, -1.0)]
        made.append(np.linalg.solve(root.T, min(both, key=lambda v: float(np.sum((v - own) ** 2)))))
    return np.asarray(made[0] if coef.ndim == 1 else made)


def with_monotone(basis: Basis | None, coef: Vector) -> Vector:
    """Coefficients of one model in which curves that are declared monotone are."""
    if basis is None:
        return coef
    found = coef.copy()
    for curve in basis.curves:
        if curve.kind == "monotone":
            found[basis.place(curve)] = monotone(curve, coef[basis.place(curve)])
    return found
