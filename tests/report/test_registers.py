"""What registers and guidelines ask: every field is there, facts are those of the statement, and the rest is left open."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

from dpsparse import SparseClassifier
from dpsparse.cli import main
from dpsparse.report import report_of
from dpsparse.report.registers import left_open, nist_blocks, registry_entry

#: Fields of the registry's template (opendp/deployments-registry-data, tests/good_deployments/template.yaml, 2026).
FIELDS = {
    "basic": "name data_curators description intended_use data_product_type data_product_region data_product_sector "
    "publication_date",
    "dp_variant": "variant_name data_domain unprotected_quantities",
    "privacy_loss": "privacy_unit privacy_unit_details number_of_privacy_units privacy_parameters "
    "privacy_parameters_details",
    "deployment_model": "model_name model_name_details trust_assumptions actors release_type release_type_details "
    "data_source_type data_source_type_details access_type access_type_details",
    "implementation": "preprocessing_and_hyperparameter_tuning mechanisms composition post_processing justification "
    "utility additional_information",
    "administrative": "evidence_sources status registry_authors tier",
}
BLOCKS = [
    "Privacy parameters",
    "Unit of privacy",
    "Algorithms and correctness",
    "Utility",
    "Bias",
    "Access control",
    "Trust models",
    "Side channels",
    "Data collection exposure",
]


def fitted(units=None, **options):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (600, 4))
    model = SparseClassifier(**{"feature_bound": 1.0, "classes": [0, 1], "delta": 1e-6, **options})
    return model.fit(X, (X[:, 0] > 0).astype(int), **({} if units is None else {"units": units}))


def test_an_entry_has_the_fields_of_the_registry_and_the_facts_of_the_statement():
    model = fitted()
    entry = registry_entry(report_of(model))
    assert set(entry) == {"url_slug", "deployment"}
    assert {part: " ".join(fields) for part, fields in entry["deployment"].items()} == FIELDS
    said, parts = model.statement_, entry["deployment"]
    assert parts["privacy_loss"]["privacy_parameters"] == {"epsilon": said.epsilon, "delta": 1e-6}
    assert parts["privacy_loss"]["privacy_unit"] == "one row"
    assert parts["dp_variant"]["variant_name"] == "Approximate DP"
    assert parts["deployment_model"]["model_name"] == "Central"
    assert parts["implementation"]["mechanisms"].startswith(f"{sum(ask.times for ask in said.asks)} noisy answers")
    assert json.loads(json.dumps(entry, allow_nan=False)) == entry


def test_a_person_fills_in_what_no_statement_knows():
    opened = left_open(registry_entry(report_of(fitted())))
    assert {
        "deployment.basic.intended_use",
        "deployment.basic.data_curators.data_curator_name",
        "deployment.implementation.justification",
        "deployment.administrative.registry_authors",
    } <= set(opened)
    assert not any(path.startswith("deployment.privacy_loss") for path in opened)


def test_pure_privacy_has_no_delta_and_units_are_named():
    exact = fitted()
    exact.statement_ = replace(exact.statement_, delta=0.0)
    pure = registry_entry(report_of(exact))["deployment"]
    assert pure["dp_variant"]["variant_name"] == "Pure DP"
    assert set(pure["privacy_loss"]["privacy_parameters"]) == {"epsilon"}
    model = fitted(units=np.arange(600) // 2, unit="patient")
    said = registry_entry(report_of(model))["deployment"]["privacy_loss"]
    assert said["privacy_unit"] == "one patient: all rows with the same id"
    assert "any one patient" in said["privacy_unit_details"]
    [unit] = [one for one in nist_blocks(report_of(model)) if one["block"] == "Unit of privacy"]
    assert unit["confirm"] == "Each patient has only one id."


def test_every_block_says_what_is_shown_and_what_a_person_confirms():
    blocks = nist_blocks(report_of(fitted()))
    assert [one["block"] for one in blocks] == BLOCKS
    assert all(len(one["shown"]) > 20 and one["confirm"].endswith(".") for one in blocks)


def test_the_command_writes_both_and_a_model_without_a_guarantee_has_no_entry(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fitted().save("model.json")
    done = CliRunner().invoke(main, ["report", "model.json", "--registry", "entry.json", "--nist", "nist.md"])
    assert done.exit_code == 0, done.output
    assert "To be filled in entry.json: url_slug" in done.output
    assert (tmp_path / "nist.md").read_text().count("- [ ] ") == len(BLOCKS)
    with pytest.warns(UserWarning, match="not private"):
        fitted(random_state=0).save("seeded.json")
    done = CliRunner().invoke(main, ["report", "seeded.json", "--registry", "seeded-entry.json", "--nist", "n.json"])
    assert done.exit_code == 7
    assert not (tmp_path / "seeded-entry.json").exists()
