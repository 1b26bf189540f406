"""A survival study, from a CSV to hazard ratios and the page for the reviewer: python examples/survival_study.py."""

from __future__ import annotations

import contextlib
import csv
import shutil
import sys
from pathlib import Path

import numpy as np

from dpsparse.cli import main as dpsparse

#: Written from the protocol of the study: five years of follow-up, one row for each patient.
DICTIONARY = Path(__file__).with_suffix(".yaml")


def write_study(path: Path, count: int, seed: int) -> None:
    """A made-up study: treated patients die half as often, each ten years of age raise the hazard by 65 %."""
    rng = np.random.default_rng(seed)
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["patient", "age", "sex", "stage", "treated", "years", "died"])
        for i in range(count):
            age, treated = rng.normal(62, 11), rng.random() < 0.5
            stage = rng.choice(["I", "II", "III"])
            margin = 0.05 * (age - 62) + 0.9 * (stage == "III") - 0.7 * treated
            death, end = rng.exponential(9 / np.exp(margin)), min(rng.uniform(1, 9), 5.0)
            row = [f"P{i:05d}", f"{age:.0f}", rng.choice(["f", "m"]), stage, "yes" if treated else "no"]
            table.writerow([*row, f"{min(death, end):.2f}", "yes" if death <= end else "no"])


def run(command: str) -> None:
    """A command as it would be typed, and what it prints."""
    print(f"\n$ dpsparse {command}", flush=True)
    dpsparse(command.split(), standalone_mode=False)


def main(folder: Path) -> None:
    """Check the dictionary, fit within a ledger, predict survival, write the report, and score on other patients."""
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(DICTIONARY, folder / "protocol.yaml")
    write_study(folder / "study.csv", 6000, seed=3)
    with contextlib.chdir(folder):
        run("dictionary check protocol.yaml study.csv")
        run("ledger create sqlite:///budget.db study --epsilon 2 --delta 1e-6")
        run(
            "fit study.csv --dictionary protocol.yaml --epsilon 1 --delta 1e-6 --ledger sqlite:///budget.db "
            "--dataset study --label deaths --no-resume --out deaths.json"
        )
        run("predict deaths.json study.csv --times 1,5 --out survival.csv")
        run("report deaths.json --ledger sqlite:///budget.db --out report.html")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "out/survival_study"))
