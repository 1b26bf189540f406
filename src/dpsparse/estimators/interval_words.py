"""Intervals as a person reads them: a table like those of statistics packages, and plain words under it."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from ..core import Statement

if TYPE_CHECKING:
    from .intervals import Intervals

#: What the flag says to a person.
FLAGS = {
    "good": "The noise leaves useful intervals.",
    "clipped": "Enough residuals or rows were clipped that these intervals may be about another "
    "line than that of the mean: compare with a model on a log scale or with transformed features, "
    "or bring more rows or budget.",
    "wide": "The noise of the Gram matrix is near its smallest eigenvalue: intervals are valid and "
    "wide. Ask for fewer coefficients, or bring more rows.",
    "too many": "There are too many coefficients for this noise: intervals are valid and of little "
    "use. Ask for fewer coefficients, or bring more rows or budget.",
}
NONE = "No feature was selected, so there is nothing to give an interval for."


def summary(intervals: Intervals, statement: Statement | None) -> str:
    """The table, and what it means."""
    if not intervals.columns:
        return NONE
    width = max(len(str(name)) for name in intervals.features) + 2
    low, high = (1 - intervals.level) / 2, (1 + intervals.level) / 2
    head = (
        f"{'':<{width}}{'coef':>11}{'std err':>11}{'z':>9}{'P>|z|':>9}{f'[{low:.4g}':>12}{f'{high:.4g}]':>12}  FDR 10%"
    )
    line = "-" * len(head)
    rows = []
    for row in intervals:
        z = row.estimate / row.standard_error if row.standard_error else 0.0
        mark = "  nonzero" if row.rejected else ""
        rows.append(
            f"{row.feature!s:<{width}}{row.estimate:>11.4g}{row.standard_error:>11.4g}{z:>9.2f}{row.p:>9.3f}"
            f"{row.low:>12.4g}{row.high:>12.4g}{mark}"
        )
    title = _title(intervals, statement)
    return "\n".join([*title, line, head, line, *rows, line, *meaning(intervals)])


def _title(intervals: Intervals, statement: Statement | None) -> list[str]:
    kind = "logistic regression" if intervals.classes else "linear regression"
    said = "" if statement is None else f", ({statement.epsilon:.4g}, {statement.delta:.3g})-DP, {statement.adjacency}"
    caveats = [] if statement is None else [f"CAVEAT: {c}." for c in statement.caveats]
    bands = "" if intervals.critical is None else f"; bands for all together, {intervals.critical:.3g} standard errors"
    facts = (
        f"{_counted(intervals)}: about {intervals.n_rows}   intervals: {intervals.level:.4g}   flag: {intervals.flag}"
    )
    facts += "" if intervals.classes else f"   target: {intervals.target}   residuals clipped at: {intervals.clip:.4g}"
    return [*caveats, f"Private {kind} on {len(intervals.columns)} selected features{said}{bands}", facts]


def meaning(intervals: Intervals) -> list[str]:
    """What the intervals are about, what they depend on, and what was clipped; sentences."""
    if not intervals.columns:
        return [NONE]
    what = "log-odds" if intervals.classes else "coefficient"
    said = [
        f"Each {what} is that of the best {'logistic' if intervals.classes else 'linear'} model on "
        "the selected features: its effect given the other selected features.",
        f"Selection and intervals used different {_counted(intervals)}, about {intervals.n_rows} of them for the "
        "intervals; standard errors hold sampling and privacy noise.",
        _independent(intervals.unit),
        "Rows that lie far out in the selected features weigh less, at most "
        f"{100 * intervals.beyond:.2g} % of them: where the truth is not linear, the line is that of the others.",
    ]
    if not intervals.classes:
        said.append(
            f"Residuals were clipped at {intervals.clip:.4g}; about "
            f"{100 * (1 - intervals.kept):.2g} % were beyond. {_target(intervals.target)}"
        )
    if intervals.asked is not None:
        said.append(
            f"{intervals.asked} coefficients were asked for, and at most {len(intervals.columns)} "
            "are given: more could not be told from noise."
        )
    return [*said, FLAGS[intervals.flag]]


def _counted(intervals: Intervals) -> str:
    """What samples are counted in: rows, or ids of units that may have several."""
    return f"{intervals.unit} ids" if intervals.unit else "rows"


def _independent(unit: str) -> str:
    """What has to be independent, and what need not be."""
    if not unit:
        return "They hold for independent rows and many of them; errors may have any size from row to row."
    return (
        f"They hold for many ids that are independent of each other; the errors of one {unit}'s rows may have any size "
        "and depend on each other in any way (cluster-robust)."
    )


def _target(target: str) -> str:
    if target == "robust":
        return (
            "The target is a robust line: where errors are skewed and their size depends on the "
            "features it differs from the mean, and these intervals are of the former."
        )
    return (
        "Where errors are strongly skewed and their size depends on the features, clipping moves "
        "the target away from the mean: use a log scale there."
    )


def interval_page(intervals: Intervals) -> str:
    """A little HTML: the table, and what it means."""
    if not intervals.columns:
        return f"<p>{html.escape(NONE)}</p>"
    heads = ("", "coef", "std err", "P&gt;|z|", f"{intervals.level:.0%} interval", "", "FDR 10 %")
    rows = [
        f"<tr><th>{html.escape(str(row.feature))}</th><td>{row.estimate:.4g}</td>"
        f"<td>{row.standard_error:.4g}</td><td>{row.p:.3f}</td>"
        f"<td>{row.low:.4g}</td><td>{row.high:.4g}</td><td>{'nonzero' if row.rejected else ''}</td></tr>"
        for row in intervals
    ]
    said = "".join(f"<p>{html.escape(sentence)}</p>" for sentence in meaning(intervals))
    return f"<div><table><tr>{''.join(f'<th>{head}</th>' for head in heads)}</tr>{''.join(rows)}</table>{said}</div>"
