"""Which variants go with a disease? A private selection from a PLINK file. python examples/association.py."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from dpsparse import SparseClassifier
from dpsparse.io.datasets.cohort import simulate
from dpsparse.readers import open_rows

PEOPLE, VARIANTS, CHROMOSOMES = 12_000, 1_500, 5


def write_plink(folder: Path) -> tuple[np.ndarray, list[int]]:
    """A simulated cohort as .bed, .bim and .fam; returns minor allele frequencies and the causal variants."""
    cohort = simulate(PEOPLE, VARIANTS, causal=8, seed=3, folder=folder)
    code = np.array([3, 2, 0], dtype=np.uint8)[cohort.genotypes()]  # 0, 1 and 2 copies of A1
    packed = (code.reshape(-1, 4, VARIANTS) << np.array([0, 2, 4, 6], dtype=np.uint8)[:, None]).sum(1, dtype=np.uint8)
    (folder / "cohort.bed").write_bytes(b"\x6c\x1b\x01" + packed.T.tobytes())
    each = VARIANTS // CHROMOSOMES
    lines = [f"{1 + j // each}\trs{j}\t0\t{1000 * (1 + j % each)}\tA\tG\n" for j in range(VARIANTS)]
    (folder / "cohort.bim").write_text("".join(lines))
    (folder / "cohort.fam").write_text("".join(f"0 p{i} 0 0 0 {1 + y}\n" for i, y in enumerate(cohort.binary)))
    return cohort.frequencies, cohort.causal.tolist()


def main() -> None:
    """Fit on the file, and draw what was selected along the genome."""
    frequencies, causal = write_plink(Path())
    rows = open_rows("cohort.bed", fill=0.0)  # a missing genotype counts as no copy: a public rule
    # a genotype has 0, 1 or 2 copies; classes 1 and 2 are PLINK's codes for controls and cases
    model = SparseClassifier(epsilon=2.0, delta=1e-6, sparsity=8, feature_bound=(0, 2), classes=[1, 2]).fit(rows)
    print(model.statement_)

    # effects in standard deviations of the variants, from public frequencies: all of this is free
    effect = np.abs(np.ravel(model.coef_)) * np.sqrt(2 * frequencies * (1 - frequencies))
    chosen = [int(j) for j in np.argsort(-effect)[: model.support_.size]]
    for j in chosen:
        truth = "causal" if j in causal else "not causal"
        print(f"{rows.names[j]}: effect {effect[j]:.2f} ({truth} in this simulation)")
    print(f"{len(set(chosen) & set(causal))} of the {len(causal)} causal variants found")

    figure, axes = plt.subplots(figsize=(9, 3.2), layout="constrained")
    chromosome = np.arange(VARIANTS) * CHROMOSOMES // VARIANTS
    axes.scatter(np.arange(VARIANTS), effect, s=6, c=np.where(chromosome % 2, "#4c78a8", "#9ecae9"))
    axes.scatter(chosen, effect[chosen], s=36, c="#b00020", label="selected, epsilon = 2")
    axes.scatter(causal, np.full(len(causal), -0.03), marker="^", c="black", s=24, label="causal in the simulation")
    for j in chosen:
        axes.annotate(rows.names[j], (j, effect[j]), xytext=(0, 5), textcoords="offset points", rotation=35, fontsize=8)
    axes.set_xticks(
        (np.arange(CHROMOSOMES) + 0.5) * VARIANTS / CHROMOSOMES, [f"chr {c + 1}" for c in range(CHROMOSOMES)]
    )
    axes.set(
        ylabel="|effect|, log-odds per SD", title=f"A private selection among {VARIANTS:,} variants, {PEOPLE:,} people"
    )
    axes.margins(y=0.15)
    figure.legend(loc="outside lower center", fontsize=8, ncols=2)
    figure.savefig("association.png", dpi=110)
    print("The picture is in association.png.")


if __name__ == "__main__":
    main()
