"""A clinical table, from its dictionary to the page for the reviewer: python examples/clinical_table.py [FOLDER]."""

from __future__ import annotations

import contextlib
import csv
import shutil
import sys
from pathlib import Path

import numpy as np

from dpsparse.cli import main as dpsparse

#: Written from the codebook of the study, before anybody looked at a row.
DICTIONARY = Path(__file__).with_suffix(".yaml")


def write_patients(path: Path, count: int, seed: int) -> None:
    """A made-up hospital's export: ids, gaps, impossible dates, foreign labels, and a free text that nobody may read."""
    rng = np.random.default_rng(seed)
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["patient", "age", "sex", "stage", "crp", "smoker", "surgery", "note", "relapse"])
        for i in range(count):
            age, crp = rng.normal(62, 12), rng.lognormal(2, 1)
            stage, smokes = rng.choice(["I", "II", "III", "IV"]), rng.random() < 0.3
            margin = 0.06 * (age - 62) + 0.03 * (crp - 10) + 1.5 * (stage == "IV") + 0.8 * smokes - 0.5
            table.writerow(
                [
                    f"P{i:05d}",
                    rng.choice([f"{age:.0f}", "unknown"], p=[0.97, 0.03]),
                    rng.choice(["f", "m", "n/k"], p=[0.5, 0.49, 0.01]),
                    stage,
                    rng.choice([f"{crp:.1f}", "", "<0.5", "haemolysed"], p=[0.8, 0.15, 0.04, 0.01]),
                    "yes" if smokes else "no",
                    rng.choice(["2019-04-30", "2021-11-02", "2023-99-99", ""]),
                    "seen by Dr. Smith",
                    "yes" if rng.random() < 1 / (1 + np.exp(-margin)) else "no",
                ]
            )


def run(command: str) -> None:
    """A command as it would be typed, and what it prints."""
    print(f"\n$ dpsparse {command}", flush=True)
    dpsparse(command.split(), standalone_mode=False)


def main(folder: Path) -> None:
    """Check the dictionary, plan, fit within a ledger, score on other patients, write the report."""
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(DICTIONARY, folder / "codebook.yaml")
    write_patients(folder / "patients.csv", 6000, seed=7)
    write_patients(folder / "others.csv", 2000, seed=8)
    with contextlib.chdir(folder):
        run("dictionary check codebook.yaml patients.csv")
        run("plan --dictionary codebook.yaml --n-rows 6000 --epsilon 1 --delta 1e-6")
        run("ledger create sqlite:///budget.db patients --epsilon 3 --delta 1e-6")
        run("ledger create sqlite:///budget.db others --epsilon 1 --delta 1e-6")
        run(
            "fit patients.csv --dictionary codebook.yaml --epsilon 1 --delta 1e-6 "
            "--ledger sqlite:///budget.db --dataset patients --label relapse --out relapse.json"
        )
        run(
            "score relapse.json others.csv --metrics accuracy,auc --epsilon 0.9 --delta 1e-6 "
            "--ledger sqlite:///budget.db --dataset others"
        )
        run("ledger verify sqlite:///budget.db --model relapse.json")
        run("report relapse.json --ledger sqlite:///budget.db --out report.html")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "out/clinical_table"))
