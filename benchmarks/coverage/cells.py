"""The cells that intervals are judged by: a law of data and a budget each, the most important first."""

from __future__ import annotations

from dataclasses import dataclass

#: What panels have in common, and their laws of errors.
PANEL = {"rows": 5, "d": 10, "s": 3, "k": 5}
SIMPLE = ("normal", "logistic")


@dataclass(frozen=True)
class Cell:
    """One law of data and one budget.

    `verdict` says what is expected: ``pass``, ``fail``, or ``width`` where only coverage is judged. With `rows` above 1
    a cell is a panel: `n` persons with 1 to ``2 rows - 1`` rows each and random intercepts. `by_unit` says whether the
    fit is told whose rows they are.
    """

    group: str
    n: int
    epsilon: float
    d: int = 50
    s: int = 5
    k: int = 10
    design: str = "uniform"
    errors: str = "normal"
    target: str = "mean"
    bound: float = 4.0
    split: bool = True
    adjacency: str = "replace-one"
    verdict: str = "pass"
    width: float | None = None
    rows: int = 1
    by_unit: bool = True

    @property
    def name(self) -> str:
        extras = [self.errors] * (self.errors != "normal") + [f"bound {self.bound:g} sd"] * (self.bound != 4.0)
        extras += ["no split"] * (not self.split) + [self.adjacency] * (self.adjacency != "replace-one")
        extras += [f"{self.rows} rows a person"] * (self.rows > 1) + ["taken for independent"] * (not self.by_unit)
        kind = "" if self.errors == "logistic" else f" {self.target}"
        return f"{self.group}: {self.design} n={self.n} d={self.d} s={self.s} epsilon={self.epsilon:g}{kind} {' '.join(extras)}".rstrip()


def cells() -> tuple[Cell, ...]:
    """The cells that intervals are judged by."""
    robust = [
        (5000, 4, 1.15),
        (5000, 2, 1.35),
        (5000, 1, 1.6),
        (20000, 4, 1.06),
        (20000, 2, 1.12),
        (20000, 1, 1.25),
        (20000, 0.5, 1.7),
    ]
    mean = [(5000, 4, 1.35), (5000, 2, 1.65), (5000, 1, 2.8), (20000, 4, 1.2), (20000, 1, 1.5)]
    logit = [
        (5000, 4, 1.2),
        (5000, 2, 1.5),
        (5000, 1, 2.4),
        (20000, 4, 1.06),
        (20000, 2, 1.15),
        (20000, 1, 1.4),
        (20000, 0.5, 2.1),
    ]
    found = [Cell("mean", n, e, width=w) for n, e, w in mean]
    found += [Cell("logistic", n, e, errors="logistic", width=w) for n, e, w in logit]
    found += [Cell("control", 5000, 4, d=500, split=False, verdict="fail")]
    found += [Cell("robust", n, e, target="robust", width=w) for n, e, w in robust]
    for errors in ("t3", "heteroscedastic", "moderate skew"):
        found += [Cell("stress", 5000, e, errors=errors) for e in (4, 1)]
    for design in ("genotypes", "AR .5", "equicorrelated .3"):
        found += [Cell("stress", 5000, e, design=design) for e in (4, 1)]
    found += [Cell("stress", 5000, e, bound=2.0) for e in (4, 1)]
    found += [Cell("stress", 20000, e, errors="extreme skew", verdict="fail") for e in (4, 1)]
    found += [Cell("wide", 5000, 4, d=2000, s=20, k=25)]
    found += [Cell("add-remove", 5000, e, adjacency="add-remove") for e in (4, 1)]
    found += [Cell("small", 1000, e) for e in (4, 1)]
    for design in ("own columns", "half own"):
        found += [Cell("panel", 4000, e, errors=errors, design=design, **PANEL) for errors in SIMPLE for e in (3, 1)]
    found += [
        Cell("panel", 4000, e, errors=errors, design="own columns", verdict="fail", by_unit=False, **PANEL)
        for errors in SIMPLE
        for e in (3, 1)
    ]
    return tuple(found)
