"""Fitted estimators in a notebook: scikit-learn's diagram, and under it what was guaranteed."""

from __future__ import annotations

import warnings
from os import PathLike
from typing import TYPE_CHECKING

from ..io.scikit import check_is_fitted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from onnx import ModelProto
    from sklearn.pipeline import Pipeline

    from ..report.content import Report
    from .linear import SparseLinear
    from .summary import ModelCard


#: Curves that a notebook shows.
SHOWN_CURVES = 4


class StatementMixin:
    """Shows and reports on the statement of a fitted estimator; not for direct use.

    It shows the statement and the intervals under the estimator's diagram, makes a report about the
    estimator, and draws its statement.
    """

    @property
    def report_(self) -> Report:
        """One page for a reviewer: shown in a notebook, written by ``report_.save("report.html")``.

        See `dpsparse.report`.
        """
        from ..report.content import report_of

        if "statement_" not in vars(self):
            raise AttributeError("there is no report yet: fit the estimator first.")
        return report_of(self)

    def plot(self, where: str | PathLike[str] | Axes | None = None) -> Axes:
        """Draw the coefficients of the fitted model, with intervals where it has some.

        On the current axes of pyplot, on given ones, or in a file; returns the axes. Needs the extra `plots`.
        `statement_.plot()` draws the guarantee, and `plan(...).plot()` what to expect.
        """
        from ..report.fitted_model import plot_coefficients

        if "statement_" not in vars(self):
            raise AttributeError("there is nothing to plot yet: fit the estimator first.")
        return plot_coefficients(self._shown_model(), where)

    def to_sklearn(self) -> Pipeline:
        """The fitted model as a plain scikit-learn pipeline, which predicts the same.

        Its steps encode a table (for a model with a data dictionary), clip rows to the declared bounds, and apply a
        logistic regression, one for each class versus the rest, or a linear regression, with the coefficients set. For
        joblib, MLflow, skl2onnx and whatever else takes scikit-learn models. It refuses to be fitted.
        """
        from .exported import to_sklearn

        if "statement_" not in vars(self):
            raise AttributeError("there is no model to export yet: fit the estimator first.")
        return to_sklearn(self)

    def to_onnx(self) -> ModelProto:
        """The fitted model as an ONNX graph that computes in double precision; needs skl2onnx.

        The input is ``X``, doubles of shape (rows, n_features). A model with a data dictionary has one input of shape
        (rows, 1) for each feature: doubles for numbers, truth values (0 or 1) and dates (days since 1970-01-01), with
        NaN for a gap; texts for categories, spelled as the dictionary has them, with the empty text for a gap.
        """
        from .exported import to_onnx

        if "statement_" not in vars(self):
            raise AttributeError("there is no model to export yet: fit the estimator first.")
        return to_onnx(self)

    def card(self) -> ModelCard:
        """A model card from the statement: ``print(model.card())``, or ``model.card().save("card.md")``.

        Markdown with the front matter that model hubs read, or JSON by the ending ``.json``.
        """
        from .summary import card_of

        if "statement_" not in vars(self):
            raise AttributeError("there is no model card yet: fit the estimator first.")
        return card_of(self)

    def save(self, path: str | PathLike[str]) -> None:
        """Write what was fitted and its statement to a JSON file (no pickle); read it back with `dpsparse.load`.

        The file appears whole or not at all, and takes the place of no file but one of the same kinds.

        Raises
        ------
        DataError
            If there is another file, a coefficient is not finite, which JSON has no word for, or a step of a
            pipeline has no plain form: it is named.
        """
        from .model_file import write_sealed

        check_is_fitted(self, "statement_")
        write_sealed(path, self.stored())

    def stored(self) -> object:
        """What a file of this estimator holds."""
        raise NotImplementedError

    def _shown_model(self) -> SparseLinear:
        from .summary import shown_model

        found: SparseLinear = shown_model(self)
        return found

    def _repr_html_(self) -> str:
        from sklearn.utils import estimator_html_repr

        stated = vars(self).get("statement_")
        said = "" if stated is None else stated._repr_html_()
        if "intervals_" in vars(self):
            said += vars(self)["intervals_"]._repr_html_()
        shown = self._shown_model() if stated is not None else None
        if shown is not None and getattr(shown, "basis_", None) is not None:
            from ..report.fitted_model import shape_picture

            said += "".join(shape_picture(shape).svg() for shape in shown.shapes_[:SHOWN_CURVES])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # about sections of our docstrings that it does not know
            return f"{estimator_html_repr(self)}{said}"

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}
