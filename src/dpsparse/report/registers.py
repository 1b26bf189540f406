"""What registers and guidelines ask about a release: the DP Deployments Registry and NIST SP 800-226.

Both are filled in from the statement; what only a person knows is left empty, or marked for confirmation.
"""

from __future__ import annotations

from typing import Any

from ..core import Statement
from ..core.attacker import in_percent
from ..core.words import neighbours, one_of_many, other_words, paragraph
from .content import Report


def registry_entry(report: Report) -> dict[str, Any]:
    """An entry for the DP Deployments Registry (registry.opendp.org), in the fields of its template of 2026.

    Texts that are empty are for a person to fill in: see `left_open`.
    """
    said: Statement = report.values["statement"]
    selected = len(report.values["model"]["selected"])
    return {
        "url_slug": "",
        "deployment": {
            "basic": {
                "name": "",
                "data_curators": [{"data_curator_name": "", "data_curator_type": ""}],
                "description": f"A linear model with {said.loss} loss and {selected} nonzero coefficients, fitted by "
                f"dpsparse with recipe {said.recipe}.",
                "intended_use": "",
                "data_product_type": "Machine learning model",
                "data_product_region": "",
                "data_product_sector": "",
                "publication_date": "",
            },
            **_guarantee(said, report.values["about_bounds"]),
            "deployment_model": {
                "model_name": "Local" if said.unit.endswith("(local model)") else "Central",
                "model_name_details": "",
                "trust_assumptions": "; ".join(said.assumptions),
                "actors": "",
                "release_type": "",
                "release_type_details": _payment(said),
                "data_source_type": "",
                "data_source_type_details": "",
                "access_type": "Non-interactive",
                "access_type_details": "The model file is published; everything in it was computed from noisy answers.",
            },
            "implementation": _implementation(said),
            "administrative": {"evidence_sources": {}, "status": "Draft", "registry_authors": [""], "tier": ""},
        },
    }


def _guarantee(said: Statement, about_bounds: str) -> dict[str, Any]:
    """The fields about the variant of differential privacy, and about the privacy loss."""
    pure, counted = said.delta == 0, "" if said.adjacency == "add-remove" else "the number of records, "
    return {
        "dp_variant": {
            "variant_name": "Pure DP" if pure else "Approximate DP",
            "data_domain": about_bounds,
            "unprotected_quantities": f"{counted}the names of columns, the declared bounds, categories and labels, "
            "and the settings of the fit",
        },
        "privacy_loss": {
            "privacy_unit": said.unit,
            "privacy_unit_details": f"{said.adjacency}: neighbouring datasets differ by {_neighbours(said)}.",
            "number_of_privacy_units": 1,
            "privacy_parameters": {"epsilon": said.epsilon} | ({} if pure else {"delta": said.delta}),
            "privacy_parameters_details": f"{paragraph(said)} {other_words(said)}",
        },
    }


def _implementation(said: Statement) -> dict[str, str]:
    return {
        "preprocessing_and_hyperparameter_tuning": "; ".join(said.notes),
        "mechanisms": _mechanisms(said),
        "composition": said.accountant,
        "post_processing": "Coefficients and predictions are computed from the noisy answers alone.",
        "justification": "",
        "utility": "",
        "additional_information": ", ".join(f"{name} {version}" for name, version in said.versions.items()),
    }


def left_open(entry: object, path: str = "") -> tuple[str, ...]:
    """The fields of an entry that a person has to fill in."""
    if isinstance(entry, dict):
        return tuple(one for name, value in entry.items() for one in left_open(value, f"{path}.{name}".lstrip(".")))
    if isinstance(entry, list):
        return tuple(one for value in entry for one in left_open(value, path))
    return (path,) if entry == "" else ()


def nist_blocks(report: Report) -> list[dict[str, str]]:
    """For each block of the pyramid of NIST SP 800-226: what is shown here, and what a person must confirm.

    Blocks are those of its first figure, from the top: the strength of the guarantee, how it is
    reached and what it costs, and its conditions.
    """
    said: Statement = report.values["statement"]
    found, who = {check.what: check.said for check in report.verdict.checks}, one_of_many(said.unit)
    one_id = f"Each {who} has only one id." if who else "No person has more than one row."
    blocks = _shown(said, found)
    return [{"block": name, "shown": blocks[name], "confirm": CONFIRM.get(name, one_id)} for name in blocks]


#: What a person must confirm in each block; for the unit of privacy it depends on the unit.
CONFIRM = {
    "Privacy parameters": "A person who is responsible for the data agreed to these numbers, and to the total for this "
    "dataset, before the fit.",
    "Algorithms and correctness": "The software is the released version that the statement names; its proofs and "
    "audits were read.",
    "Utility": "The model is accurate enough for its purpose, on held-out data and under a guarantee of its own.",
    "Bias": "Errors for small groups, which noise affects most, were considered.",
    "Access control": "Records, ledger and the machine of the fit are protected; a copy of the ledger's head is kept "
    "elsewhere.",
    "Trust models": "Each of these assumptions is true; the people who ran the fit were allowed to see the records.",
    "Side channels": "Times, memory use and logs of the fit stay confidential.",
    "Data collection exposure": "Collecting, storing and linking the records was lawful, and no more was collected "
    "than was needed.",
}


def _shown(said: Statement, found: dict[str, str]) -> dict[str, str]:
    """What is shown in each block; `found` is what each check of the verdict says."""
    local = "(local model)" in said.unit
    return {
        "Privacy parameters": f"epsilon {said.epsilon:.4g}, delta {said.delta:.3g}, {said.adjacency}; an attacker's "
        f"best guess is right at most {in_percent(said.attacker_success)} of the time. {_payment(said)}",
        "Unit of privacy": f"{said.unit}; neighbouring datasets differ by {_neighbours(said)}.",
        "Algorithms and correctness": f"{_mechanisms(said)}. Composed by: {said.accountant}. {found['Settings']} "
        f"{found['Audit']}",
        "Utility": found["Usefulness"],
        "Bias": "Nothing about groups of people is measured here: dpsparse score --group does so, under the budget.",
        "Access control": f"{found['File']} {found['Ledger']}",
        "Trust models": "Local: each device randomises its own report."
        if local
        else "Central: one computer held the records. " + "; ".join(said.assumptions),
        "Side channels": "Noise is drawn on an integer lattice from cryptographic randomness, and no seed was used. "
        "Time, memory use and logs are not covered.",
        "Data collection exposure": "Nothing: the statement begins with the records as they were given to the fit.",
    }


def nist_page(report: Report) -> str:
    """The blocks as Markdown, with boxes for what a person must confirm."""
    lines = [f"# NIST SP 800-226: {report.values['name']}", "", f"{report.verdict.word} {report.verdict.headline}", ""]
    for one in nist_blocks(report):
        lines += [f"## {one['block']}", "", one["shown"], "", f"- [ ] {one['confirm']}", ""]
    return "\n".join(lines)


def _neighbours(said: Statement) -> str:
    return neighbours(said.adjacency, said.unit).rstrip(",")


def _mechanisms(said: Statement) -> str:
    noises = ", ".join(dict.fromkeys(ask.noise for ask in said.asks))
    return f"{sum(ask.times for ask in said.asks)} noisy answers ({noises} noise)"


def _payment(said: Statement) -> str:
    if said.ledger is None:
        return "No ledger was charged, so there is no record of other releases."
    return f"Charged to dataset {said.ledger['dataset']!r} as entry {said.ledger['entry']} of its ledger."
