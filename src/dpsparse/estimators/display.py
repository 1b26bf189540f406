"""Fitted estimators in a notebook: scikit-learn's diagram, and under it what was promised."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from sklearn.utils import estimator_html_repr

if TYPE_CHECKING:
    from ..report import Report


class Stated:
    """Shows the statement of a fitted estimator and its intervals, under its diagram, and reports about it; not for direct use."""

    @property
    def report_(self) -> Report:
        """One page for a reviewer: shown in a notebook, written by ``report_.save("report.html")``; see `dpsparse.report`."""
        from ..report import report_of

        if "statement_" not in vars(self):
            raise AttributeError("there is no report yet: fit the estimator first.")
        return report_of(self)

    def _repr_html_(self) -> str:
        stated = vars(self).get("statement_")
        said = "" if stated is None else stated._repr_html_()
        if "intervals_" in vars(self):
            said += vars(self)["intervals_"]._repr_html_()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # about sections of our docstrings that it does not know
            return f"{estimator_html_repr(self)}{said}"

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}
