"""What a report says, gathered as plain values."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..estimators.linear import SparseLinear
from ..estimators.summary import in_units, keeps_dictionary, summary
from ..ledger import Ledger
from ..ledger.cited import Cited
from ..planner.summary import PlanSummary
from ..privacy import DataError, Statement
from ..privacy.attacker import in_percent
from ..privacy.errors import LedgerTamperedError
from ..privacy.words import details, paragraph
from ..regular_files import write_whole
from .page import number, render
from .pictures import Axis, Line, plot
from .promise import Learned, learned
from .verdict import Check, Light, Verdict, decide

#: Budgets and multiples of the rows in the table of what would be expected elsewhere.
EPSILONS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
MULTIPLES = (0.5, 1.0, 2.0, 5.0, 10.0)
#: Coefficients that are listed; a model with more says how many are left out.
LISTED = 200


@dataclass(frozen=True, eq=False)
class Report:
    """One page about one release.

    Attributes
    ----------
    verdict : Verdict
        The answer to "may I release this?", with the checks that it follows from.
    values : mapping
        Everything that the page shows, as plain values and pictures.
    """

    verdict: Verdict
    values: Mapping[str, Any]

    def html(self) -> str:
        """The page: one file, which needs no network."""
        return render("report.html", {**self.values, "verdict": self.verdict})

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page; the file appears whole or not at all."""
        write_whole(Path(path), self.html())

    def _repr_html_(self) -> str:
        import html

        return f'<iframe srcdoc="{html.escape(self.html())}" style="width:100%;height:640px;border:1px solid #ccc" title="Report"></iframe>'


def report_of(
    model: Any,
    *,
    digest: str | None = None,
    edited: bool = False,
    ledger: Ledger | None = None,
    audit: Mapping[str, Any] | None = None,
    scores: Mapping[str, Any] | None = None,
    name: str = "",
) -> Report:
    """Gather what is known about a fitted model, private pipeline or search.

    Parameters
    ----------
    model : SparseClassifier, SparseRegressor, PrivatePipeline or PrivateSearch
        Fitted.
    digest : str or None
        Of the file that it was loaded from.
    edited : bool
        Whether the digest does not fit.
    ledger : Ledger or None
        Asked whether it paid for the model.
    audit, scores : mapping or None
        What ``dpsparse audit --json`` and ``dpsparse score --json`` printed.
    name : str
        What the model is called on the page.
    """
    statement: Statement | None = getattr(model, "statement_", None)
    if statement is None:
        raise DataError("there is nothing to report: the model was not fitted.")
    inner = _linear(model)
    planned = _planned(inner, statement)
    payment, entry = _payment(statement, ledger)
    verdict = decide(statement, edited=edited, payment=payment, audit=audit, outlook=_expected(planned))
    found = learned(statement)
    values = {
        "name": name or type(inner).__name__,
        "statement": statement,
        "caveats": statement.caveats,
        "promise": paragraph(statement),
        "details": details(statement),
        "success": in_percent(found.success),
        "beliefs": found.beliefs,
        "tradeoff": _tradeoff(found, statement),
        "model": summary(inner),
        "effects": in_units(inner) if keeps_dictionary(inner) else (),
        "coefficients": _coefficients(inner),
        "intervals": vars(inner).get("intervals_"),
        "left_out": max(0, len(inner.support_) - LISTED),
        "asks": _asks(statement),
        "digest": digest,
        "ledger": statement.ledger,
        "entry": entry,
        "audit": audit,
        "scores": scores,
        "planned": planned,
        "what_if": _what_if(planned),
        "forecast": _forecast(planned, statement),
        "search": getattr(model, "best_params_", None),
    }
    return Report(verdict, values)


def _linear(model: Any) -> SparseLinear:
    """The linear model inside: that of a search, the last step of a pipeline, or itself."""
    found = getattr(model, "best_estimator_", model)
    found = found.steps[-1][1] if hasattr(found, "steps") else found
    if not isinstance(found, SparseLinear):
        raise DataError(f"a report is about models of dpsparse, and this is a {type(found).__name__}.")
    return found


def _planned(model: SparseLinear, statement: Statement) -> PlanSummary | None:
    """What the planner expects of such a fit, from public facts; None where it cannot be planned again."""
    from ..planner import Assumed, summarise

    if not statement.priced:
        return None
    try:
        return summarise(model.fitted_request(), statement.n_rows, model.n_features_in_, Assumed())
    except (ValueError, TypeError):  # a recipe that is not installed here, or bounds of another step
        return None


def _payment(statement: Statement, ledger: Ledger | None) -> tuple[Check | None, Mapping[str, Any] | None]:
    if ledger is None or statement.ledger is None:
        return None, None
    try:
        entry = Cited(statement.ledger, statement).check(ledger)
    except LedgerTamperedError as error:
        return Check("Ledger", Light.NO, str(error), "ledger"), None
    head = ledger.verify().head
    total, spent = ledger.total(entry.dataset), ledger.spent(entry.dataset)
    facts = {
        "dataset": entry.dataset,
        "entry": entry.number,
        "label": entry.label,
        "time": entry.time,
        "status": entry.status,
        "head of the ledger": head,
        "spent of the dataset's total": f"{spent} of {total}",
    }
    said = f"Entry {entry.number} of dataset {entry.dataset!r} paid for this promise; the whole ledger verifies."
    return Check("Ledger", Light.YES, said, "ledger"), facts


def _expected(planned: PlanSummary | None) -> Check | None:
    if planned is None or planned.verdict == "unknown":
        return None
    light = Light.WAIT if planned.verdict == "hopeless" else Light.YES
    return Check("Usefulness", light, f"{planned.verdict}: {planned.why}", "planner, from public facts alone")


def _tradeoff(found: Learned, statement: Statement) -> str:
    title = (
        "How often an attacker is right about one row at most (detections), by how often they accuse wrongly"
        if statement.private
        else "Nothing is promised: an attacker may always be right"
    )
    across = Axis("wrong accusations", 0.0, 1.0)
    up = Axis("detections, at most", 0.0, 1.0)
    lines = [
        Line("the promise of this model", found.false_alarms.tolist(), found.detections.tolist()),
        Line("a guess by a coin", [0.0, 1.0], [0.0, 1.0], dashed=True),
    ]
    return plot(title, across, up, lines)


def _asks(statement: Statement) -> list[dict[str, Any]]:
    """Answers of one ask in one line; where their noise differs, from least to most."""
    found = []
    for name, noise, rate in dict.fromkeys((ask.name, ask.noise, ask.rate) for ask in statement.asks):
        group = [ask for ask in statement.asks if (ask.name, ask.noise, ask.rate) == (name, noise, rate)]
        spans = {what: _span([getattr(ask, what) for ask in group]) for what in ("scale", "sensitivity", "cost")}
        times = sum(ask.times for ask in group)
        found.append({"name": name, "noise": noise, "rate": rate, "times": times, "unit": group[0].cost_name, **spans})
    return found


def _span(values: list[float]) -> str:
    low, high = number(min(values)), number(max(values))
    return low if low == high else f"{low} to {high}"


def _coefficients(model: SparseLinear) -> list[dict[str, Any]]:
    coef = np.atleast_2d(model.coef_)
    names = vars(model).get("feature_names_in_")
    largest = max(float(np.abs(coef).max(initial=0.0)), 1e-300)
    order = sorted(model.support_, key=lambda j: -float(np.abs(coef[:, j]).max()))
    return [
        {
            "name": f"feature {j}" if names is None else str(names[j]),
            "values": coef[:, j].tolist(),
            "bar": round(100 * float(np.abs(coef[:, j]).max()) / largest),
        }
        for j in order[:LISTED]
    ]


def _what_if(planned: PlanSummary | None) -> list[dict[str, Any]]:
    """Typical test errors elsewhere, from the planner's formulas."""
    if planned is None or planned.outlook is None or planned.error is None:
        return []
    rows = []
    for multiple in MULTIPLES:
        count = max(1, round(multiple * planned.n_rows))
        errors = [planned.outlook.error(count, epsilon) for epsilon in EPSILONS]
        rows.append({"rows": count, "errors": [None if e is None else e.test.typical for e in errors]})
    return rows


def _forecast(planned: PlanSummary | None, statement: Statement) -> str:
    if planned is None or planned.outlook is None or planned.error is None:
        return ""
    epsilons = np.geomspace(0.1, 16.0, 33).tolist()
    found = [planned.outlook.error(None, epsilon) for epsilon in epsilons]
    known = [(epsilon, error.test) for epsilon, error in zip(epsilons, found, strict=True) if error is not None]
    if not known:
        return ""
    constant = planned.error.constant
    top = max(constant, *(band.high for _, band in known)) * 1.05
    x = [epsilon for epsilon, _ in known]
    lines = [
        Line(
            "typical test error, with the band of nine in ten data sets",
            x,
            [band.typical for _, band in known],
            [band.low for _, band in known],
            [band.high for _, band in known],
        ),
        Line("a constant predictor", [x[0], x[-1]], [constant, constant], dashed=True),
    ]
    title = "Expected test error by epsilon, from public facts and formulas, not from this data"
    mark = statement.epsilon if x[0] <= statement.epsilon <= x[-1] else None
    return plot(title, Axis("epsilon", x[0], x[-1], log=True), Axis("test error", 0.0, top), lines, mark)
