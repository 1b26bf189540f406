"""Peers in environments of their own, kept running so that they take turns with us."""

from __future__ import annotations

import json
import subprocess
import sys
import venv
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import scipy.sparse as sp

from .clock import Times

HERE = Path(__file__).parent
#: What each peer needs, in the order in which it is installed.
Needs = Mapping[str, tuple[tuple[str, ...], ...]]
NEEDS: Needs = {
    "opacus": (("torch==2.13.0",), ("opacus==1.6.*", "scipy")),
    "diffprivlib": (("diffprivlib==0.6.*", "scikit-learn<=1.7.99"),),
    "interpret": (("interpret-core==0.7.*",),),
}


def python_of(folder: str | Path, name: str) -> Path:
    """The interpreter of a peer's environment."""
    return Path(folder) / name / "bin" / "python"


def install(folder: str | Path, needs: Needs = NEEDS) -> None:
    """Make the environments that are not there."""
    for name, steps in needs.items():
        python = python_of(folder, name)
        if not python.exists():
            venv.create(python.parent.parent, with_pip=True)
        for step in steps:
            subprocess.run([python, "-m", "pip", "install", "-q", *step], check=True)


def store(path: Path, train: tuple[Any, np.ndarray], test: tuple[Any, np.ndarray]) -> None:
    """Rows in float32 as a file that every peer reads."""
    content: dict[str, Any] = {"y": train[1], "y_test": test[1]}
    for suffix, X in (("", train[0]), ("_test", test[0])):
        if sp.issparse(X):
            X = X.tocsr().astype(np.float32)
            content |= {n + suffix: getattr(X, n) for n in ("data", "indices", "indptr", "shape")}
        else:
            content["X" + suffix] = np.asarray(X, dtype=np.float32)
    np.savez(path, **content)


class Peer:
    """A peer's process: fits when it is told to."""

    def __init__(self, folder: str | Path, name: str, rows: Path, scripts: Path = HERE) -> None:
        script = scripts / f"peer_{name}.py"
        self._process = subprocess.Popen(
            [python_of(folder, name), script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._say(str(rows))

    def _say(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def ask(self, **given: Any) -> dict[str, Any]:
        """One fit with these settings, and all that the peer tells of it."""
        self._say(json.dumps(given))
        assert self._process.stdout is not None
        told: dict[str, Any] = json.loads(self._process.stdout.readline())
        return told

    def fit(self, **given: Any) -> Times:
        """One fit with these settings, timed."""
        told = self.ask(**given)
        return Times(told["processor"], told["clock"], told)

    def __enter__(self) -> Peer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self._process.terminate()
        self._process.wait()


if __name__ == "__main__":
    install(sys.argv[1])
