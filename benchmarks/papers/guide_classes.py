"""docs/choose.md: many classes, one multinomial model beside one versus the rest."""

import warnings
from functools import lru_cache

from benchmarks import many_classes
from benchmarks.settings import Setting
from dpsparse import SparseClassifier
from dpsparse.report.bench import Cell

from .guide import Measures

JOINT, APART = "one multinomial model", "one versus the rest, same budget"
FILES = {"news20": "news20.npz", "mnist 12k": "mnist.npz"}


@lru_cache(maxsize=1)
def setting_of(data: str) -> Setting:
    """Rows with their split; the noise alone differs between seeds."""
    return many_classes.CASES[data].make()


class Classes(Measures):
    """Test errors with `auto` and no `sparsity`, delta 1e-5."""

    def file(self, data: str) -> str | None:
        """Texts or digits."""
        return FILES[data]

    def run(self, cell: Cell) -> dict[str, float]:
        """One fit."""
        setting = setting_of(cell.data)
        assert setting.test is not None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = SparseClassifier(
                epsilon=cell.epsilon,
                delta=many_classes.DELTA,
                loss=many_classes.APART if cell.method == APART else None,
                random_state=cell.seed,
                **setting.bounds,
            ).fit(setting.X, setting.y)
        return {self.metric: float(1 - model.score(*setting.test))}


STUDY = Classes(
    name="guide-classes",
    title="Many classes: one multinomial model beside one versus the rest",
    places=(
        ("mnist 12k", JOINT, (1.0, 2.0, 4.0)),
        ("mnist 12k", APART, (1.0, 4.0)),
        ("news20", JOINT, (1.0, 2.0, 4.0)),
        ("news20", APART, (4.0,)),
    ),
    metric="test error",
    quick_places=(("mnist 12k", JOINT, (1.0, 4.0)), ("mnist 12k", APART, (4.0,))),
)
