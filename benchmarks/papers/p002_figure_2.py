"""002, Figure 2: histograms of the optimum's entries, and alpha for which it is (alpha, 5)-quasi-sparse."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dpsparse.report.bench import Cell, Results, StudyClaim
from dpsparse.report.bench.study import ON_CURVE

from .cases import case_of
from .gcd import NOTES, SMOOTH, SPARSE, GCDStudy
from .methods import EXACT
from .study import Part

BINS = 30


@dataclass(frozen=True, kw_only=True)
class Histograms(GCDStudy):
    """Optima: nothing is private, and nothing random but the synthetic data."""

    metric: str = "alpha"
    shared: str | None = None

    def run(self, cell: Cell) -> dict[str, float]:
        """Counts in 30 bins from 0 to the largest entry; alpha is the sixth largest entry, so that five are above."""
        w = case_of(cell.data, cell.seed).optimum
        assert w is not None
        size = np.sort(np.abs(w))[::-1]
        held, _ = np.histogram(size, bins=BINS, range=(0.0, float(size[0])))
        found = {"nonzero": float(np.count_nonzero(w)), "largest": float(size[0]), "alpha": float(size[5])}
        return found | {f"count{ON_CURVE}{k}": float(count) for k, count in enumerate(held)}

    def claims(self) -> Sequence[StudyClaim]:
        """None: the paper's figure has no numbers to compare with."""
        return []

    def draw(self, results: Results, path: Path) -> None:
        """One histogram for each problem, of the first seed."""
        from dpsparse.plots import histograms, save

        values, alphas = {}, {}
        for cell, found in sorted(results.errors.items()):
            if cell.seed == 0:
                middle = (np.arange(BINS) + 0.5) * found["largest"] / BINS
                counts = [int(found[f"count{ON_CURVE}{k}"]) for k in range(BINS)]
                values[cell.data], alphas[cell.data] = np.repeat(middle, counts), found["alpha"]
        save(histograms(values, alphas), path)


STUDY = Histograms(
    name="002-figure-2",
    title="Sizes of the entries of the eight optima",
    where="Figure 2",
    parts=(Part(sets=(*SMOOTH, *SPARSE), methods=(f"optimum{EXACT}",), epsilons=(), seeds=1, quick=1),),
    notes=(*NOTES[1:2], "Without privacy throughout. Alpha is the sixth largest entry: five stand above it."),
)
