"""One or more questions of every kind that is a sum or a choice, and facts that answer them."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpsparse.core.facts import Clip, Facts, Projection
from dpsparse.queries.kinds import (
    CellCounts,
    CellMoments,
    Cells,
    CentredGradient,
    CentredModel,
    ClippedShare,
    ColumnMeans,
    ColumnQuantile,
    Correlation,
    Count,
    CountWithin,
    Curvature,
    Gradient,
    GradientChange,
    Gram,
    GroupEnergies,
    Hessian,
    IntervalContrast,
    JointGradient,
    MeanAbsolute,
    MeanLoss,
    MeanRowNorm,
    MeanSquares,
    ModalEntry,
    ProjectedGradient,
    ProjectedModel,
    Quantile,
    ResidualMean,
    ScoreMoments,
    Unread,
    WeightedGradient,
)

D = 9
RNG = np.random.default_rng(0)
W = RNG.normal(0, 1, D + 1)
CLIP = Clip(0.5)
SUPPORT = np.array([7, 2, 5])
MODEL = CentredModel(SUPPORT, np.array([0.2, -0.1, 0.0]), np.array([0.7, -1.3, 0.25]), 0.3)
FRAMES = {
    "plain": Projection(support=SUPPORT, centre=MODEL.centre, length=0.7, constant=0.3),
    "turned": Projection(
        support=SUPPORT, centre=MODEL.centre, matrix=RNG.normal(0, 1, (3, 3)), length=0.7, constant=0.3
    ),
    "line": Projection(support=np.arange(D), centre=np.linspace(-0.3, 0.3, D), matrix=RNG.normal(0, 1, (D, 1))),
}
CELLS = Cells(margins=np.array([3]), group=5, groups=2, edges=np.array([-0.2, 0.1]))
FINE = Cells(margins=np.array([3, 8]), rests=np.array([1, 4]), scale=0.25, classes=3)
QUESTIONS: dict[str, Any] = {
    "gradient": Gradient(W, CLIP),
    "gradient of a sparse model": Gradient(np.where(np.arange(D + 1) == 3, 0.7, 0.0), CLIP),
    "gradient on a support": Gradient(W, Clip(0.5, 0.1, 0.3), np.array([3, 9])),
    "change": GradientChange(W, 0.5 * W, CLIP, 0.2),
    "weighted": WeightedGradient(W, np.geomspace(0.1, 3.0, D + 1), 0.5),
    "weighted on a support": WeightedGradient(W, np.array([0.3, 2.0]), 0.5, np.array([9, 4])),
    "joint": JointGradient(np.outer(W, [1.0, -0.5, 0.2]), np.geomspace(0.1, 3.0, D + 1), 0.5),
    "joint on a support": JointGradient(np.outer(W, [1.0, 2.0]), np.array([0.3, 2.0]), 0.5, np.array([9, 4])),
    "energies": GroupEnergies(np.arange(D) % 4, 5),
    "squares": MeanSquares(),
    "absolute": MeanAbsolute(),
    "size": MeanRowNorm(np.geomspace(0.1, 3.0, D + 1), 0.7),
    "residual": ResidualMean(MODEL, 0.7),
    "means": ColumnMeans(SUPPORT),
    "means of short rows": ColumnMeans(SUPPORT, 0.4, MODEL.centre),
    **{
        f"framed {n}": ProjectedGradient(ProjectedModel(f, RNG.normal(0, 1, f.size), 0.2), 0.4)
        for n, f in FRAMES.items()
    },
    **{
        f"hessian {n}": Hessian(ProjectedModel(f, np.linspace(-0.5, 0.5, f.size), 0.2), 0.6, 0.9)
        for n, f in FRAMES.items()
    },
    **{
        f"{of} in a frame": Quantile(of, ProjectedModel(FRAMES["turned"], W[:4], 0.2), 0.6, np.geomspace(0.05, 5.0, 9))
        for of in ("rows", "gradients")
    },
    "gram": Gram(SUPPORT, MODEL.centre, 0.6),
    "curvature": Curvature(MODEL, 0.4, 0.8),
    "centred": CentredGradient(MODEL, 0.4),
    "correlation": Correlation(MODEL, 0.6, 0.3),
    "contrast": IntervalContrast(MODEL, 0.6, np.linspace(-1.2, 0.3, D), np.linspace(-0.8, 1.1, D)),
    "score": ScoreMoments(MODEL, np.array([0.5, 2.0, 1.0]), True, 0.6, 0.9, 0.8, 0.2),
    "within": CountWithin(MODEL, 0.5),
    "loss": MeanLoss(W[None], "squared", 0.7),
    "count": Count(),
    "clipped": ClippedShare(),
    "cells not understood": Unread(),
    "cells": CellCounts(CELLS),
    "cells of classes": CellCounts(FINE),
    "moments": CellMoments(CELLS, "squared", 2.0),
    "moments of classes": CellMoments(FINE, "brier", 2.0),
    "excess": CellMoments(CELLS, "excess", 1.5, centre=0.4, ratio=0.3),
    "places": CellMoments(CELLS, "place", squares=False),
    "slopes": Quantile("slopes", MODEL, 0.4, np.geomspace(0.05, 3.0, 9)),
    "targets": Quantile("targets", MODEL, 0.5, np.linspace(-3, 3, 11)),
    "column": ColumnQuantile("column", 4, -1, 0.9, np.linspace(-1, 1, 9)),
    "largest": ColumnQuantile("rows", 0, 1, 0.7, np.geomspace(0.1, 1.0, 7)),
    "typical": ModalEntry(0.5, np.geomspace(0.02, 1.0, 12)),
    "typical from a centre": ModalEntry(0.5, np.geomspace(0.02, 1.0, 12), np.linspace(-0.5, 0.7, D)),
}
FACTS = Facts(
    n_rows=61,
    n_features=D,
    lower=-1.0,
    upper=1.0,
    row_norm=1.4,
    target_bound=3.0,
    intercept=0.5,
    curvature=1.0,
    counts_clipped=True,
    counts_unread=11,
)
