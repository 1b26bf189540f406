"""Write docs/papers_defaults.md from measured lines."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.defaults.cells import Line, spread

HEAD = """# The papers' recipes with their defaults

Every private recipe of the papers with its defaults: nothing is tuned, an intercept is fitted (not for counts and links, which are
simulated without one). Is any worse than predicting a constant at epsilon 4, or than itself with less budget? And with a practically unlimited budget
(epsilon 10,000), is it within 1 % of its non-private baseline? Written by `python -m benchmarks.defaults --page`; replace-one, delta 1e-6.

Classes (pneumonia, mnist, covtype): misclassification rate on held-out data. Numbers (california, meltingpoint): mean squared error divided by the
variance. imdb: half the mean squared error of a rating. Poisson and tanh: relative error of the coefficients. Means over noise seeds, and
their standard errors in brackets, in units of the last digit. A goal counts as *missed* beyond two standard errors; those of a comparison
include the choice of the test rows, which are the same for both sides. Large data sets are cut to the rows named here. Data sets and recipes
without a line have not been measured with the present rules.
"""


def shown(values: Sequence[float]) -> str:
    """A mean with its standard error in units of the last digit."""
    mean = float(np.mean(values))
    if not np.isfinite(mean):
        return "-"
    text = f"{mean:.4f}" if mean < 10 else f"{mean:.1f}"
    return f"{text}({round(spread(values) * (1e4 if mean < 10 else 10))})" if len(values) > 1 else text


def page(lines: Sequence[Line]) -> str:
    """One table for each data set, and what was missed."""
    text = [HEAD]
    missed = [f"{line.recipe} on {line.data}: {', '.join(line.wrong)}" for line in lines if line.wrong]
    many = sum(np.isfinite(line.means[0]) for line in lines)
    text += [f"{many} lines, {len(missed)} with a goal missed{':' if missed else '.'}", ""]
    text += [f"- {words}." for words in missed] + [""] * bool(missed)
    for name in dict.fromkeys(line.data for line in lines):
        found = [line for line in lines if line.data == name]
        first = found[0]
        text += [f"## {name}: {first.rows} x {first.columns}, constant {first.constant:.4f}", ""]
        text += ["| recipe | " + " | ".join(f"eps {e:g}" for e in first.epsilons) + " | non-private | missed |"]
        text += ["|" + "---|" * (len(first.epsilons) + 3)]
        for line in found:
            twin = "" if line.twin_error is None else f"{line.twin} {line.twin_error:.4f}"
            cells = " | ".join(shown(v) for v in line.errors)
            text.append(f"| {line.recipe} | {cells} | {twin} | {', '.join(line.wrong)} |")
        text.append("")
    return "\n".join(text)
