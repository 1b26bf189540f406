"""What a report says, gathered as plain values."""

from __future__ import annotations

import html
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..core import DataError, Statement
from ..core.attacker import in_percent
from ..core.errors import ModelEditedError
from ..core.regular_files import write_whole
from ..core.words import details, guesses, one_of_many, other_words, paragraph
from ..estimators.files import digest_in, load
from ..estimators.intervals import Intervals, meaning
from ..estimators.linear import SparseLinear
from ..estimators.summary import about_bounds, keeps_dictionary, linear_of, shown_model, summary, survives
from ..fitting.counts import CLIPPED, NO_COEFFICIENT, SHARES
from ..ledger import Ledger
from .attacker import learned, pictures, read_offs
from .expected import EPSILONS, forecast, needed, repeat_plan, what_if
from .fitted_model import method_of, rows_of, shape_picture, whisker
from .page import format_number, render
from .verdict import Verdict, judge

#: What the page shows of an audit; what is not there is left out.
AUDIT = ("verdict", "summary", "violated", "void", "caveats", "audited", "scope", "runs", "checks", "laws", "notes")


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

    def __repr__(self) -> str:
        return f"<Report on {self.values['name']}: {self.verdict.word} {self.verdict.headline}>"

    def _repr_html_(self) -> str:
        inside = html.escape(self.html())
        return (
            f'<iframe srcdoc="{inside}" sandbox="" '
            'style="width:100%;height:640px;border:1px solid #ccc" title="Report"></iframe>'
        )


def report_of(
    model: object,
    *,
    digest: str | None = None,
    edited: bool = False,
    ledger: Ledger | None = None,
    audit: Mapping[str, Any] | None = None,
    scores: Mapping[str, Any] | None = None,
    name: str = "",
) -> Report:
    """Gather what is known about a fitted model, private pipeline or search.

    Of a model in memory there is always an open point: see `report_of_file`.

    Parameters
    ----------
    model : SparseClassifier, SparseRegressor, PrivatePipeline or PrivateSearch
        Fitted.
    digest : str or None
        Of the file that it was loaded from; None: no file was looked at.
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
        raise DataError("there is nothing to report: the model is not fitted.")
    shown, inner = shown_model(model), linear_of(model)
    planned = repeat_plan(inner, statement)
    verdict, extract = judge(
        model,
        inner,
        statement,
        planned,
        digest=digest,
        edited=edited,
        ledger=ledger,
        audit=audit,
        scores=scores,
    )
    values = {
        "name": name or type(shown).__name__,
        **_said(statement),
        "model": summary(shown),
        **_model(shown),
        "digest": digest,
        "ledger": statement.ledger,
        "extract": extract,
        "audit": None if audit is None else {**dict.fromkeys(AUDIT), **audit},
        "scores": scores,
        "planned": None if planned is None else planned.summary,
        "epsilons": EPSILONS,
        "what_if": what_if(planned),
        **needed(planned, statement),
        "forecast": forecast(planned, statement),
        "search": getattr(model, "best_params_", None),
        "search_score": getattr(model, "best_score_", None),
    }
    return Report(verdict, values)


def _said(statement: Statement) -> dict[str, Any]:
    """The guarantee in words, numbers and pictures."""
    return {
        "statement": statement,
        "caveats": statement.caveats,
        "promise": paragraph(statement),
        "details": details(statement),
        "success": in_percent(statement.attacker_success),
        "record": _record(statement),
        "several": one_of_many(statement.unit),
        "guess": guesses(statement.adjacency, statement.unit),
        "beliefs": learned(statement).beliefs,
        "read_offs": read_offs(statement),
        "pictures": pictures(statement),
        "asks": _asks(statement),
        "other_words": other_words(statement),
        "clipped": [note for note in statement.notes if CLIPPED in note],
        "unread": [note for note in statement.notes if note.startswith(SHARES) or NO_COEFFICIENT in note],
    }


def _record(statement: Statement) -> str:
    """Whom the guarantee is about: where the unit is a row, a record is one row, and a person may have several."""
    if statement.unit == "one row":
        return "one record (one row)"
    who = one_of_many(statement.unit)
    return f"one {who} (all rows with the same id)" if who else statement.unit


#: Curves that a page draws.
MOST_CURVES = 12


def _model(model: SparseLinear) -> dict[str, Any]:
    """The coefficients, and what is known of their noise."""
    rows, intervals = rows_of(model), vars(model).get("intervals_")
    reach = {
        unit: max((row.known.reach for row in rows if row.known and row.unit == unit), default=0.0) or 1.0
        for unit in {row.unit for row in rows}
    }
    marks = ["" if row.known is None else whisker(row.known, reach[row.unit]) for row in rows]
    return {
        "rows": list(zip(rows, marks, strict=True)),
        "curves": [shape_picture(shape).svg() for shape in model.shapes_[:MOST_CURVES]],
        "in_units": keeps_dictionary(model),
        "hazards": survives(model),
        "about_bounds": about_bounds(model),
        "left_out": max(0, len(model.support_) + 1 - len(rows)),
        "intervals": intervals,
        "method": "" if intervals is None else method_of(intervals),
        "coverage": "" if intervals is None else str(coverage_of(intervals)),
        "meaning": [] if intervals is None else meaning(intervals),
    }


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
    low, high = format_number(min(values)), format_number(max(values))
    return low if low == high else f"{low} to {high}"


def report_of_file(
    path: str | os.PathLike[str],
    *,
    ledger: Ledger | None = None,
    audit: Mapping[str, Any] | None = None,
    scores: Mapping[str, Any] | None = None,
) -> Report:
    """Read a saved model, private pipeline or search, check its digest, and gather what is known about it.

    An edited file is read all the same, so that there is a page that says so; its answer is no.

    Parameters
    ----------
    path : str or Path
    ledger, audit, scores
        As in `report_of`.
    """
    edited = False
    try:
        model = load(path)
    except ModelEditedError:
        edited, model = True, load(path, edited=True)
    name, digest = Path(path).name, digest_in(path)
    return report_of(model, digest=digest, edited=edited, ledger=ledger, audit=audit, scores=scores, name=name)


@dataclass(frozen=True)
class Coverage:
    """Part of intervals that contained their target, of how many intervals in how many fits."""

    part: float
    intervals: int
    fits: int

    def __str__(self) -> str:
        return (
            f"Measured on simulated data: {100 * self.part:.1f} % of {self.intervals:,} intervals of 95 % contained "
            f"their target, in {self.fits} fits (docs, page on coverage of intervals). Whether they hold here depends "
            "on the assumptions below, which nobody can measure on private rows."
        )


#: By what the intervals are about.
MEASURED = {
    "mean": Coverage(0.952, 16580, 2000),
    "robust": Coverage(0.952, 17294, 2100),
    "logistic": Coverage(0.949, 19741, 2800),
}


def coverage_of(intervals: Intervals) -> Coverage:
    """What was measured for intervals of this kind."""
    return MEASURED["logistic" if intervals.classes else intervals.target]
