r"""A simulated cohort: genotypes with a known truth, for the demonstration and for tests.

Marker j has a minor allele frequency :math:`p_j \sim U(0.05, 0.5)` and person i carries :math:`x_{ij} \in \{0, 1, 2\}`
copies in Hardy-Weinberg proportions, independently of all other markers (no linkage). A few causal markers act on two
outcomes through :math:`g_i = \sum_j b_j (x_{ij} - 2 p_j)`:

.. math:: y_i = g_i + \sqrt{1 - h^2}\,\varepsilon_i, \qquad P(z_i = 1) = \frac{1}{1 + e^{-\lambda g_i}}

The effects :math:`b_j` have random signs; in standard deviations, :math:`|b_j|\sqrt{2 p_j (1-p_j)}`, they lie within a
factor 7/3 of each other, and together they explain :math:`h^2` = `HERITABILITY` of the variance of y, which is 1. With
:math:`\lambda = \pi / \sqrt{3 h^2}` they explain half of the variance of the latent logistic scale too.

These effects are strong: with 20 causal markers one explains 2.5 % of the variance on average, and an odds ratio per
allele is about 2. Most markers found in real studies explain far less, and a private fit would need more people.
"""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...core import checks
from ...core.facts import Vector

#: Part of the variance of the continuous outcome that the causal markers explain.
HERITABILITY = 0.5
#: Name of the genotype file within its folder.
FILE_NAME = "cohort-genotypes.npy"
#: Entries that are generated at once.
BLOCK_ENTRIES = 2**22


@dataclass(frozen=True, eq=False, repr=False)
class Cohort:
    """A simulated cohort. The genotypes stay on disk.

    Attributes
    ----------
    path : Path
        The genotypes, an int8 ``.npy`` file of shape (n_rows, n_features).
    continuous : array of float
        Continuous outcome, of mean 0 and variance 1 in the simulated population.
    binary : array of int8
        Binary outcome, 0 or 1, about half of each.
    causal : array of int
        Columns of the causal markers, in increasing order.
    effects, log_odds : array of float
        Their true effects per allele on the continuous outcome, and on the log-odds of the binary one.
    frequencies : array of float
        Minor allele frequency of every marker, in the population. Public, as those of reference panels are.
    names : tuple of str
        Names of the markers.
    feature_bound, target_bound
        Public bounds: genotypes are 0, 1 or 2 by definition, and a standardised outcome beyond 4 is clipped.
    """

    path: Path
    continuous: Vector
    binary: NDArray[np.int8]
    causal: NDArray[np.intp]
    effects: Vector
    log_odds: Vector
    frequencies: Vector
    names: tuple[str, ...]
    feature_bound: ClassVar[tuple[float, float]] = (0.0, 2.0)
    target_bound: ClassVar[float] = 4.0

    def genotypes(self) -> NDArray[np.int8]:
        """The genotypes, mapped from disk and read-only."""
        return np.load(self.path, mmap_mode="r", allow_pickle=False)  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        return f"Cohort({self.continuous.size} people, {len(self.names)} markers, {self.causal.size} causal)"


def simulate(
    n_rows: int = 20000,
    n_features: int = 5000,
    causal: int = 20,
    seed: int = 0,
    *,
    folder: str | Path | None = None,
    on_rows: Callable[[int], object] | None = None,
) -> Cohort:
    """Simulate a cohort and write its genotypes block by block, so that memory stays small.

    Parameters
    ----------
    n_rows, n_features : int
        People and markers.
    causal : int
        Markers that act on the outcomes.
    seed : int
        The same seed gives the same cohort.
    folder : str, Path or None
        Where the genotypes go, under `FILE_NAME`; None: a new temporary folder.
    on_rows : callable or None
        Called with the number of people just written, for a progress bar.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     cohort = simulate(n_rows=100, n_features=50, causal=3, folder=folder)
    ...     print(cohort, cohort.genotypes().dtype)
    Cohort(100 people, 50 markers, 3 causal) int8
    """
    for value, what in ((n_rows, "n_rows"), (n_features, "n_features"), (causal, "causal")):
        checks.whole(value, what)
    if causal > n_features:
        raise ValueError(f"causal must be at most n_features ({n_features}), got {causal}.")
    design, people, luck = (np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(3))
    frequencies = design.uniform(0.05, 0.5, n_features)
    chosen = np.sort(design.choice(n_features, causal, replace=False))
    p = frequencies[chosen]
    standardised = design.choice([-1.0, 1.0], causal) * design.uniform(0.6, 1.4, causal)
    standardised *= math.sqrt(HERITABILITY) / float(np.linalg.norm(standardised))
    effects = standardised / np.sqrt(2 * p * (1 - p))

    path = Path(tempfile.mkdtemp(prefix="dpsparse-") if folder is None else folder) / FILE_NAME
    score = np.empty(n_rows)
    genotypes = _allocate(path, n_rows, n_features)
    none, one = ((1 - frequencies) ** 2).astype(np.float32), (1 - frequencies**2).astype(np.float32)
    rows = max(1, BLOCK_ENTRIES // n_features)
    for start in range(0, n_rows, rows):
        part = slice(start, min(start + rows, n_rows))
        u = people.random((part.stop - start, n_features), dtype=np.float32)
        block = (u >= none).astype(np.int8)
        block += u >= one
        genotypes[part] = block
        score[part] = (block[:, chosen] - 2 * p) @ effects
        if on_rows is not None:
            on_rows(part.stop - start)
    genotypes.flush()
    del genotypes

    slope = math.pi / math.sqrt(3 * HERITABILITY)
    return Cohort(
        path=path,
        continuous=score + math.sqrt(1 - HERITABILITY) * luck.standard_normal(n_rows),
        binary=(luck.random(n_rows) < 1 / (1 + np.exp(-slope * score))).astype(np.int8),
        causal=chosen,
        effects=effects,
        log_odds=slope * effects,
        frequencies=frequencies,
        names=tuple(f"marker_{j:0{len(str(n_features - 1))}d}" for j in range(n_features)),
    )


def _allocate(path: Path, n_rows: int, n_features: int) -> np.memmap[Any, np.dtype[np.int8]]:
    """A mapped file whose space on the disk is taken: a full disk is an OSError here and not a crash later."""
    path.unlink(missing_ok=True)  # an older cohort that is still mapped somewhere stays whole
    genotypes = np.lib.format.open_memmap(path, mode="w+", dtype=np.int8, shape=(n_rows, n_features))
    allocate = getattr(os, "posix_fallocate", None)  # not on every system
    if allocate is not None:
        try:
            with path.open("r+b") as file:
                allocate(file.fileno(), 0, path.stat().st_size)
        except OSError:
            del genotypes
            path.unlink()
            raise
    return genotypes
