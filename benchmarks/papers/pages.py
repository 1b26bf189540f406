"""Pages of docs/papers, made of the results in benchmarks/results and of nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from dpsparse.bench import Results, ScaledStudy

ROOT = Path(__file__).resolve().parents[2]
RESULTS, DOCS = ROOT / "benchmarks" / "results", ROOT / "docs" / "papers"


def keep(study: ScaledStudy, results: Results) -> None:
    """Write results where pages look for them."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    results.write(RESULTS / f"{study.name}.parquet")


def write(known: Mapping[str, ScaledStudy]) -> None:
    """Write all pages and figures."""
