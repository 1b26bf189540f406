"""``dpsparse report``: one page for the people who decide about a release."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from .exits import NoPromise, Refusal
from .options import command
from .output import check_file, echo, print_json, write_text, writing

if TYPE_CHECKING:
    from ..ledger import Ledger
    from ..report import Report


@command()
def report(
    model: Path | None = None,
    *,
    out: Annotated[Path, "-o"] = Path("report.html"),
    ledger: str | None = None,
    audit: Path | None = None,
    score: Path | None = None,
    search: Path | None = None,
    bench: Path | None = None,
    card: Path | None = None,
    registry: Path | None = None,
    nist: Path | None = None,
    json_: bool = False,
) -> None:
    """Write one HTML page about MODEL: may it be released, what is guaranteed, what is not, and what speaks against it.

    The page needs no network, and nothing reads data to make it. The exit code is 7 where the answer is no.

    \b
    Examples:
      dpsparse report model.json -o report.html --ledger sqlite:///budget.db
      dpsparse report model.json --card card.md --registry entry.json --nist nist.md
      dpsparse report --search search.json
      dpsparse report --ledger sqlite:///budget.db -o ledger.html
      dpsparse report --bench out/own-mine.parquet -o bench.html

    Parameters
    ----------
    out
        The page.
    ledger
        Address of a ledger: it is asked whether it paid for MODEL; without MODEL, the page is about it.
    audit
        What dpsparse audit --json printed.
    score
        What dpsparse score --json printed.
    search
        A saved search, in place of MODEL.
    bench
        Results of dpsparse bench, as Parquet, in place of MODEL.
    card
        Also write a model card: .md, or .json for machines.
    registry
        Also write an entry for the DP Deployments Registry, as JSON.
    nist
        Also write, for each block of NIST SP 800-226, what is shown and what a person must confirm: .md or .json.
    """
    from ..report import report_of_file

    if sum(given is not None for given in (model, search, bench)) > 1:
        raise Refusal("give one of MODEL, --search and --bench.")
    inputs = [path for path in (model, search, bench, audit, score) if path is not None]
    check_file(out, inputs=inputs)
    beside = {"--card": card, "--registry": registry, "--nist": nist}
    outputs = {option: path for option, path in beside.items() if path is not None}
    for option, path in outputs.items():
        check_file(path, option, inputs=[*inputs, out, *(other for other in outputs.values() if other is not path)])
    subject, book = model or search, _ledger(ledger)
    if subject is None:
        if outputs:
            raise Refusal(f"{', '.join(outputs)}: give a MODEL or a --search with it.")
        if audit is not None or score is not None:
            raise Refusal("--audit and --score belong to a MODEL.")
        write_text(out, _page_without_model(bench, book))
        print_json({"page": out}) if json_ else echo(f"The page is in {out}.")
        return
    scores = _read(score, "--score")
    found = report_of_file(subject, ledger=book, audit=_read(audit, "--audit"), scores=scores)
    write_text(out, found.html())
    if card is not None:
        from ..estimators.files import load

        with writing(card, "--card"):
            load(subject, edited=True).card().save(card)
    _say(found, out, registry, _registers(found, registry, nist), json_)
    if not found.values["statement"].private:
        raise NoPromise(f"{subject} carries no guarantee for anyone in the data; its caveats say why.")
    if found.verdict.light == "no":
        raise NoPromise(f"{subject} must not be released: {_reasons(found)[0]}")


def _ledger(address: str | None) -> Ledger | None:
    from ..ledger import Ledger

    return None if address is None else Ledger(address)


def _page_without_model(bench: Path | None, book: Ledger | None) -> str:
    """The page about results of a comparison, or about a ledger."""
    from ..report import bench_page, ledger_page

    if bench is not None:
        from ..report.bench import Results

        return bench_page(Results.read(bench))
    if book is None:
        raise Refusal("give a MODEL, --search, --bench or --ledger. dpsparse report --help shows examples.")
    return ledger_page(book)


def _reasons(found: Report) -> list[str]:
    return [f"{check.what}: {check.said}" for check in found.verdict.reasons]


def _say(found: Report, out: Path, registry: Path | None, to_fill_in: tuple[str, ...], as_json: bool) -> None:
    """Print the verdict and where the page is."""
    from ..report.verdict import RELEASE

    verdict, reasons = found.verdict, _reasons(found)
    headline = f"{verdict.word} {verdict.headline}"
    if as_json:
        print_json({"page": out, "release": RELEASE[verdict.light], "headline": headline, "reasons": reasons})
        return
    open_points = [f"To be filled in {registry}: {', '.join(to_fill_in)}."] if to_fill_in else []
    lines = [f"May it be released? {headline}", *(f"  {r}" for r in reasons), f"The page is in {out}.", *open_points]
    echo("\n".join(lines))


def _registers(found: Report, registry: Path | None, nist: Path | None) -> tuple[str, ...]:
    """Write what registers ask; what a person has to fill in. A model without a guarantee has no entry."""
    from ..report.registers import left_open, nist_blocks, nist_page, registry_entry

    if nist is not None:
        as_text = nist.suffix.lower() != ".json"
        write_text(nist, nist_page(found) if as_text else json.dumps({"blocks": nist_blocks(found)}, indent=2) + "\n")
    if registry is None or not found.values["statement"].private:
        return ()
    entry = registry_entry(found)
    write_text(registry, json.dumps(entry, indent=2) + "\n")
    return left_open(entry)


def _read(path: Path | None, option: str) -> Mapping[str, Any] | None:
    """A JSON object that another command printed."""
    if path is None:
        return None
    from ..core.regular_files import parse_json, read_bytes

    try:
        found = parse_json(read_bytes(path, 2**26, "a JSON file").decode("utf-8"))
    except ValueError:
        found = None
    if not isinstance(found, dict) or "error" in found:
        raise Refusal(f"{option}: {path} was expected to hold what the command printed with --json.")
    return found
