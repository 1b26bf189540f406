"""A table as people have them: ids, dates, categories, gaps and wrong cells."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

LABS = ("crp", "ldl", "hba1c", "sodium", "creatinine", "albumin")
HEADER = ("patient_id", "admitted", "sex", "smoker", "age", "bmi", *LABS, "readmitted")
#: Lower and upper limits, from a handbook.
LIMITS = {
    "age": (18, 100),
    "bmi": (12, 60),
    "crp": (0, 200),
    "ldl": (20, 300),
    "hba1c": (3, 15),
    "sodium": (110, 160),
    "creatinine": (0, 10),
    "albumin": (1, 6),
}
DICTIONARY = "format: dpsparse-dictionary\nversion: 1\ncolumns:\n" + "\n".join(
    [
        "- {name: patient_id, role: id}",
        "- {name: admitted, kind: date, bounds: [2019-01-01, 2024-12-31]}",
        "- {name: sex, kind: category, categories: [F, M]}",
        "- {name: smoker, kind: boolean}",
        *(f"- {{name: {name}, kind: number, bounds: [{low}, {high}]}}" for name, (low, high) in LIMITS.items()),
        "- {name: readmitted, role: target, kind: category, categories: ['no', 'yes']}",
        "",
    ]
)


def write(path: Path, rows: int, seed: int) -> None:
    """Rows in which readmission follows age and CRP; one cell in forty is missing, and some are nonsense."""
    rng = np.random.default_rng(seed)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(HEADER)
        for i in range(rows):
            values = {
                name: rng.uniform(low + 0.2 * (high - low), high - 0.2 * (high - low))
                for name, (low, high) in LIMITS.items()
            }
            margin = 6 * (values["age"] - 59) / 41 + 6 * (values["crp"] - 100) / 100
            cells = [f"{values[name]:.2f}" for name in ("age", "bmi", *LABS)]
            for j in range(len(cells)):
                wrong = rng.random()
                cells[j] = "" if wrong < 0.02 else "pending" if wrong < 0.025 else cells[j]
            day = f"20{rng.integers(19, 25)}-{rng.integers(1, 13):02d}-{rng.integers(1, 29):02d}"
            head = [f"P{i:06d}", day, rng.choice(["F", "M", "u"], p=[0.5, 0.48, 0.02]), rng.choice(["yes", "no"])]
            writer.writerow([*head, *cells, "yes" if rng.logistic() < margin else "no"])
