"""Pages of docs/papers, made of the results in benchmarks/results and of nothing else.

python -m benchmarks.papers --pages
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from dpsparse.report.bench import Results
from dpsparse.report.bench.results import mean_and_error
from dpsparse.report.bench.study import GRID

from . import blocks
from .cells import number
from .claims import COLUMNS, HONEST, OUTCOMES, ClaimLine, claim_lines
from .contract import above_zero, grid_notes, rising
from .figures import FIGURES
from .rates import rates
from .study import PaperStudy

ROOT = Path(__file__).resolve().parents[2]
RESULTS, DOCS = ROOT / "benchmarks" / "results", ROOT / "docs" / "papers"

#: Number: what the paper is, and its figures and tables with results, in its order.
PAPERS = {
    "000": ("DP-IGHT", "Wang and Gu, IJCAI 2019", ("000-figure-1", "000-table-2", "000-table-3")),
    "001": ("DPSL-KT", "Wang and Gu, AAAI 2020", ("001-figure-2", "001-table-2", "001-table-3")),
    "002": (
        "DP-GCD",
        "Mangold, Bellet, Salmon and Tommasi, AISTATS 2023",
        ("002-figure-1", "002-figure-2", "002-table-3", "002-table-4", "002-figure-3", "002-figure-4"),
    ),
    "003": ("LDP-IHT", "Wang and Xu, ICML 2019", ("003-figure-1", "003-figure-2")),
    "004": (
        "DP-SGD-HT and DP-SCSG-HT",
        "Liang, Tong, Ding, Pan and Bi, 2022",
        ("004-table-3", "004-table-4", "004-table-5", "004-figure-1", "004-figure-2", "004-figure-3"),
    ),
}
#: What has a page of its own: it is run in another environment, across sites.
ELSEWHERE = {"004-figure-3": "It has a page of its own: [](../federated_figure.md)."}
#: Methods of ours whose rules changed after their runs, with what of them changed. One that is run again in all studies leaves this list.
LATER = {
    "paths now end at a noise of 1.1 typical margins, not .75, and the clip of classes on dense rows is wider": (
        "DP-IGHT dense",
        "DP-GD-HT",
        "DP-SGD",
        "DP-SGD, dense model",
        "DP-SGD-HT",
        "DP-SCSG-HT",
    ),
    "the same, where it takes whole gradients, as on texts": ("DP-IGHT", "DP-IHT"),
    "the inner steps of an epoch are also together no longer than one step": ("DP-SCSG-HT",),
    "coefficients are now drawn back by what noise gives by chance": ("Label-LDP-IHT", "Label-LDP-IHT, dense model"),
    "on texts it now takes more vertices, and in classes a larger ball": ("Frank-Wolfe",),
}
#: Methods of `LATER` whose grid stands for a loop of its own, which no rule of ours changes.
OWN_GRIDS = ("DP-SGD",)
HEAD = (
    "<!-- Made by python -m benchmarks.papers --pages from benchmarks/results. Do not edit. -->",
    "",
)


def kept(name: str) -> Results | None:
    """Results of a study, if there are any."""
    path = RESULTS / f"{name}.parquet"
    return Results.read(path) if path.is_file() else None


def write(known: Mapping[str, PaperStudy]) -> None:
    """Write all pages and figures."""
    DOCS.mkdir(parents=True, exist_ok=True)
    for name, text in pages(known).items():
        (DOCS / name).write_text(text, encoding="utf-8")
    for name, study in known.items():
        results = kept(name)
        if results is not None and study.figures:
            study.draw(results, DOCS / f"{name}.svg")
    blocks.write()


def pages(known: Mapping[str, PaperStudy]) -> dict[str, str]:
    """Text of every page by file name."""
    found = {f"{number}.md": "\n".join(page(number, known)) + "\n" for number in PAPERS}
    found["index.md"] = "\n".join(index(known)) + "\n"
    found["rates.md"] = "\n".join([*HEAD, *rates()]) + "\n"
    return found


def page(number: str, known: Mapping[str, PaperStudy]) -> Iterator[str]:
    """One paper."""
    title, authors, names = PAPERS[number]
    yield from HEAD
    yield f"# Paper {number}: {title}"
    yield ""
    yield (
        f"{authors}. Every figure and table with results, in the order in which an author would look: the paper's own numbers beside the printed loop with the "
        "printed noise (**NOT PRIVATE** at these budgets: [](../papers.md)), the same loop with the noise off, and then honest noise for all methods under one accounting (replace-one), at the best "
        "point of a grid and at public defaults. Best points are chosen on the metric that is shown, as in the paper, which is optimistic. Data, splits and noise "
        "are seeded. Numbers are means ± one standard error."
    )
    yield from later(names)
    for name in names:
        yield ""
        results = kept(name)
        if name not in known or results is None:
            yield f"## {name}"
            yield ""
            yield ELSEWHERE.get(name, "Not run yet: there are no results in `benchmarks/results`.")
            continue
        yield from section(known[name].at_scale("quick" if results.scale == "quick" else "full"), results)


def later(names: Iterable[str]) -> Iterator[str]:
    """A sentence that names the rows which were run before our rules changed."""
    there = {cell.method for name in names for cell in getattr(kept(name), "errors", {})}
    told = []
    for what, methods in LATER.items():
        rows = [row for method in methods for row in _rows(method) if row in there]
        if rows:
            told.append(f"{', '.join(f'*{row}*' for row in rows)} ({what})")
    if told:
        yield ""
        yield f"These rows were run before defaults of ours changed, and not again since: {'; '.join(told)}."


def _rows(method: str) -> Iterator[str]:
    yield method
    if method not in OWN_GRIDS:
        yield method + GRID


def section(study: PaperStudy, results: Results) -> Iterator[str]:
    """One figure or table: pictures, the paper's claims one by one, then all numbers, folded."""
    option = " --scale quick" if results.scale == "quick" else ""
    yield f"## {study.where}"
    yield ""
    yield f"{study.title}. Delta {'1/n²' if study.delta is None else format(study.delta, 'g')}."
    if results.scale == "quick":
        yield ""
        yield "**Quick run**: a few seeds, budgets and grid points, to show that it runs to the end. It decides little."
    elif results.scale != "full":
        yield ""
        yield f"**Not complete**: {results.scale}. The rest of the runs is not there yet."
    yield ""
    for end in study.figures:
        yield f"![{study.where}]({study.name}{end}.svg)"
        yield ""
    lead = list(study.lead(results))
    yield from [*lead, ""] if lead else lead
    yield from verdicts(study, results)
    yield ""
    yield from folded("All numbers", numbers(study, results))
    yield ""
    yield from folded("Grids, and where their best points stand", grid_notes(study, results))
    yield ""
    yield from above_zero(study, results)
    yield from rising(study, results)
    yield from (f"- {note}" for note in study.notes)
    refused = sum(not math.isfinite(errors.get(study.metric, 0.0)) for errors in results.errors.values())
    if refused:
        yield f"- {refused} runs at grid points were refused, since no noise could make them private, or did not end in numbers. They are never the best."
    facts = ", ".join(f"{key} {value}" for key, value in sorted(results.machine.items()))
    yield f"- Runs: {len(results.errors)}. Made with {facts}."
    yield ""
    yield "```sh"
    yield f"dpsparse bench {study.name}{option}     # every number of this section"
    yield "```"


def folded(title: str, lines: Iterable[str]) -> Iterator[str]:
    """Lines behind a title that opens them."""
    yield "<details>"
    yield f"<summary>{title}</summary>"
    yield ""
    yield from lines
    yield ""
    yield "</details>"


def numbers(study: PaperStudy, results: Results) -> Iterator[str]:
    """Every mean with its standard error, and what the paper prints."""
    for place, data in enumerate(dict.fromkeys(cell.data for cell in _ordered(study, results))):
        if place:
            yield ""
        yield from table(study, results, data)
    if study.name in FIGURES:
        yield ""
        yield from printed(study.name)


def _ordered(study: PaperStudy, results: Results) -> list:
    order = {name: k for k, name in enumerate(dict.fromkeys(d for part in study.parts for d in part.sets))}
    return sorted(results.errors, key=lambda cell: (order.get(cell.data, len(order)), cell))


def table(study: PaperStudy, results: Results, data: str) -> Iterator[str]:
    """One dataset: methods against budgets."""
    here = [cell for cell in results.errors if cell.data == data]
    epsilons = sorted({cell.epsilon for cell in here} - {math.inf})
    order = list(dict.fromkeys(m for part in study.parts for m in part.methods))
    exact = any(cell.epsilon == math.inf for cell in here)
    columns = ([math.inf] if exact else []) + epsilons
    heads = ["no noise" if e == math.inf else f"ε = {e:g}" for e in columns]
    yield f"| {data}: {study.metric} | {' | '.join(heads)} | seeds |"
    yield "|---" * (len(heads) + 2) + "|"
    for method in [name for name in order if any(cell.method == name for cell in here)]:
        cells, seeds = [], 0
        for epsilon in columns:
            values = results.values(data, method, epsilon, study.metric, None if method.endswith(GRID) else 0.0)
            cells.append(number(*mean_and_error(values.values())) if values else "")
            seeds = max(seeds, len(values))
        yield f"| {method} | {' | '.join(cells)} | {seeds} |"


def printed(name: str) -> Iterator[str]:
    """What the paper prints."""
    found = FIGURES[name]
    columns = sorted({e for row in found.values.values() for e in row}, key=lambda e: (e != math.inf, e))
    heads = ["no noise" if e == math.inf else f"ε = {e:g}" for e in columns]
    yield f"| as the paper prints it: {found.data} | {' | '.join(heads)} |"
    yield "|---" * (len(heads) + 1) + "|"
    for method, row in found.values.items():
        yield f"| {method} | {' | '.join(format(row[e], 'g') if e in row else '' for e in columns)} |"
    yield ""
    yield f"From {found.where}."


def verdicts(study: PaperStudy, results: Results) -> Iterator[str]:
    """The paper's claims, one in a line: at which epsilons each holds, with its noise and with honest noise, and why it may not."""
    lines = claim_lines(study, results)
    if study.claims_of:
        yield f"The same runs as those of {study.claims_of}, where the paper's claims about them stand."
        return
    if not lines:
        yield "The paper's figure has no ordering that these runs could decide."
        return
    count = Counter(line.outcome(HONEST) for line in lines)
    text = f"**{len(lines)} claim{'s' if len(lines) != 1 else ''} of the paper**, on paired seeds, with two standard errors (more for small samples, with the same error probability). Honest noise: "
    text += ", ".join(f"{count[word]} {word}" for word in OUTCOMES if count[word]) + "."
    with_printed = [line for line in lines if line.verdicts["printed noise"]]
    if with_printed:
        text += f" With the noise that the paper prints: {_printed_outcomes(with_printed)}."
    yield text
    yield ""
    columns = [name for name in COLUMNS if any(line.verdicts[name] for line in lines)]
    yield f"| the paper's claim | data | {' | '.join(columns)} | why not |"
    yield "|---" * (len(columns) + 3) + "|"
    for line in lines:
        yield f"| {line.text} | {line.data} | {' | '.join(line.cell(name) for name in columns)} | {line.reason} |"


def _printed_outcomes(lines: list[ClaimLine]) -> str:
    count = Counter(line.outcome(COLUMNS[:1]) for line in lines)
    return ", ".join(f"{count[word]} {word}" for word in OUTCOMES if count[word])


def index(known: Mapping[str, PaperStudy]) -> Iterator[str]:
    """All studies with their verdicts in numbers."""
    yield from HEAD
    yield "# The papers' figures and tables, reproduced"
    yield ""
    yield (
        "One page for each paper, generated from results in `benchmarks/results` (Parquet, with seeds, versions and facts of the machine). "
        "`make papers` runs everything and resumes an interrupted run; `make bench` runs the quick scale. What the papers' own noise costs, and how their theorems were read: "
        "[](../papers.md). Their rates, with corrected constants: [](rates.md)."
    )
    yield ""
    yield (
        "Claims are counted once, whatever the number of epsilons and of repetitions in the paper. *Hold*: at every epsilon that was run, with honest noise, at the paper's grid and at our defaults."
    )
    yield ""
    yield f"| study | what | scale | runs | claims | {' | '.join(OUTCOMES)} | with printed noise |"
    yield "|---" * (6 + len(OUTCOMES)) + "|"
    for number_, (_, _, names) in PAPERS.items():
        for name in names:
            results = kept(name)
            if name not in known or results is None:
                yield f"| [{name}]({number_}.md) | | {'elsewhere' if name in ELSEWHERE else 'not run yet'} |{' |' * (3 + len(OUTCOMES))}"
                continue
            lines = claim_lines(known[name], results)
            count = Counter(line.outcome(HONEST) for line in lines)
            tried = [line for line in lines if line.verdicts["printed noise"]]
            yield (
                f"| [{name}]({number_}.md) | {known[name].title} | {results.scale} | {len(results.errors)} | {len(lines)} | "
                f"{' | '.join(str(count[word]) for word in OUTCOMES)} | {_printed_outcomes(tried)} |"
            )
    yield ""
    yield "```{toctree}"
    yield ":maxdepth: 1"
    yield ":hidden:"
    yield ""
    yield from PAPERS
    yield "rates"
    yield "```"
