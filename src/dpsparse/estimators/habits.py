"""Habits that leak, named at the time: clones of one estimator that are fitted again and again, with nobody counting."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field

from ..fits import FitRequest, Shape, substituted
from ..privacy.errors import RepeatedFitWarning

#: Folds of a cross-validation differ in size by a few rows.
CLOSE_ROWS, CLOSE_PART = 2, 0.01

WORDS = (
    "clones of one estimator were fitted again on data of the same shape, and no ledger counts them. If it is the same data, as in GridSearchCV, "
    "cross_val_score, CalibratedClassifierCV or bagging, every fit spends {own}: {count} of them cost {total}, and the "
    "statement of each knows only its own. Use PrivateSearch to choose settings, private_score to test a model, and ledger=, dataset= to count every "
    "fit. This is said once."
)


@dataclass(eq=False)
class Family:
    """An estimator and its clones: public shapes on which they were fitted, and whether it was said."""

    shapes: list[Shape] = field(default_factory=list)
    said: bool = False

    def note(self, request: FitRequest, shape: Shape, stacklevel: int) -> None:
        """Count a fit, and warn, once, when a second one has the shape of an earlier.

        Shapes are public: under add-remove adjacency the number of rows is the one that was declared.
        """
        if request.ledger is not None or not request.recipe.private or substituted():
            return
        again = sum(_alike(known, shape) for known in self.shapes)
        self.shapes.append(shape)
        if again and not self.said:
            self.said = True
            warnings.warn(_words(request, again + 1), RepeatedFitWarning, stacklevel=stacklevel)


def _words(request: FitRequest, count: int) -> str:
    epsilon = request.budget_for(None)[0].epsilon
    own = "its own budget" if epsilon is None else f"its own epsilon = {epsilon:g}"
    total = f"{count} times as much" if epsilon is None else f"about {count * epsilon:g}"
    return WORDS.format(own=own, count=count, total=total)


def _alike(one: Shape, two: Shape) -> bool:
    close = max(CLOSE_ROWS, CLOSE_PART * two.n_rows)
    return one.n_features == two.n_features and abs(one.n_rows - two.n_rows) <= close
