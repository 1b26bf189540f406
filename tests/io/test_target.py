"""Targets: labels that are none count as nothing, numbers that are none take a public value."""

import numpy as np
import pytest

from dpsparse.io.dictionary.target import NO_LABEL
from dpsparse.tables import Column, Dictionary, DictionaryError, Target


def of(**options):
    return Target(Column(name="y", role="target", **options))


def test_labels_and_their_settings():
    target = of(kind="category", categories=["no", "yes"])
    assert (target.task, target.settings) == ("classification", {"classes": ["no", "yes"]})
    found = target.read({"y": ["yes", " no ", "alice@example.org", None, 10**400]})
    assert found.tolist() == ["yes", "no", NO_LABEL, NO_LABEL, NO_LABEL]
    assert found.dtype == target.read({"y": ["yes"]}).dtype == target.read({"y": []}).dtype


def test_truth_values():
    target = of(kind="boolean")
    assert target.settings == {"classes": ["false", "true"]}
    assert target.read({"y": [1, "no", True, 2]}).tolist() == ["true", "false", "true", NO_LABEL]


def test_numbers_are_clipped_and_gaps_filled():
    target = of(kind="number", bounds=(10, 30))
    assert target.task == "regression"
    assert target.settings == {"target_bound": 10.0, "target_center": 20.0}
    assert target.read({"y": [12, "29.5", 99, "?", None]}).tolist() == [12, 29.5, 30, 20, 20]
    assert of(kind="number", bounds=(10, 30), fill=11).read({"y": [np.nan]}).tolist() == [11]


def test_a_label_cannot_be_the_mark_of_a_missing_one():
    assert list(Column(name="y", role="target", kind="category", categories=["a", NO_LABEL]).problems())


def test_a_dictionary_without_a_target_is_refused():
    with pytest.raises(DictionaryError, match="names no target"):
        Target.of(Dictionary([Column(name="a", kind="boolean")]))
