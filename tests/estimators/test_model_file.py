"""Model files: what is written comes back; what was edited, damaged or made up does not, and nothing else is replaced."""

import json
import os
import stat
import threading
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

import dpsparse
from dpsparse import SparseClassifier, SparseRegressor
from dpsparse.core.errors import DataError, ModelEditedError, PrivacyError
from dpsparse.estimators.model_file import EDITED, model_digest
from dpsparse.recipes import DPIGHT

rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, (200, 6))
Y = X @ [1.0, -1, 0, 0, 0, 0]


@pytest.fixture(scope="module")
def regressor():
    return SparseRegressor(epsilon=1.0, sparsity=2, feature_bound=1.0, target_bound=2.0, recipe="dp_ight").fit(X, Y)


@pytest.fixture(scope="module")
def classifier():
    labels = np.array(["a", "b", "c"])[np.digitize(Y, [-0.5, 0.5])]
    return SparseClassifier(epsilon=4.0, sparsity=2, feature_bound=1.0, recipe=DPIGHT(steps=3)).fit(X, labels)


def stored(model, path) -> dict:
    model.save(path)
    return json.loads(path.read_text())


def write(path, content, *, seal=True):
    if seal:
        content["digest"] = model_digest(content)
    path.write_text(json.dumps(content))
    return path


# ------------------------------------------------------------------------------------------------ the digest


EDITS = {
    "epsilon": lambda c: c["statement"].update(epsilon=0.01),
    "a caveat": lambda c: c["statement"]["caveats"].append("x"),
    "a coefficient": lambda c: c["coef"]["value"].__setitem__(0, 0.5),
    "the intercept": lambda c: c.update(intercept=0.25),
    "a setting": lambda c: c["params"].update(epsilon=9.0),
    "the ledger": lambda c: c["statement"].update(ledger={"dataset": "x", "entry": 1}),
    "no digest": lambda c: c.pop("digest"),
    "the first version": lambda c: (c.pop("digest"), c.update(version=1)),
}


@pytest.mark.parametrize("edit", EDITS)
def test_an_edited_file_does_not_load_and_says_so_first_where_it_is_asked_for(tmp_path, regressor, edit):
    content = stored(regressor, tmp_path / "m.json")
    EDITS[edit](content)
    write(tmp_path / "m.json", content, seal=False)
    with pytest.raises(ModelEditedError, match="edited after it was saved"):
        dpsparse.load(tmp_path / "m.json")
    model = dpsparse.load(tmp_path / "m.json", edited=True)
    assert str(model.statement_).startswith(f"CAVEAT: {EDITED}")


def test_spaces_and_the_order_of_names_are_no_edit(tmp_path, regressor):
    content = stored(regressor, tmp_path / "m.json")
    (tmp_path / "m.json").write_text(json.dumps(dict(reversed(content.items())), indent=4))
    assert np.array_equal(dpsparse.load(tmp_path / "m.json").coef_, regressor.coef_)


def test_the_record_of_the_ledger_is_kept_whatever_its_fields(tmp_path, regressor):
    record = {"dataset": "trial", "entry": 3, "ledger": "f00", "head": "ab" * 32, "run_id": None}
    regressor = SparseRegressor(**regressor.get_params()).fit(X, Y)
    regressor.statement_ = replace(regressor.statement_, ledger=record)
    regressor.save(tmp_path / "m.json")
    assert dpsparse.load(tmp_path / "m.json").statement_.ledger == record


# ------------------------------------------------------------------------------------------------ the schema


def at(*path):
    def change(content, value):
        for name in path[:-1]:
            content = content[name]
        content[path[-1]] = value

    return change


deep: list = []
for _ in range(50):
    deep = [deep]
WRONG = [
    (at("coef", "value"), [None, 1.0]),
    (at("coef", "value"), ["1", 1.0]),
    (at("coef", "value"), [True, 1.0]),
    (at("coef", "value"), [10**400, 1.0]),
    (at("coef", "value"), [1.0]),
    (at("coef", "column"), [-1, 1]),
    (at("coef", "column"), [1, 1]),
    (at("coef", "column"), [0, 6]),
    (at("coef", "column"), [0.0, 1.0]),
    (at("coef", "row"), [0, 1]),
    (at("coef", "shape"), [7]),
    (at("coef", "shape"), [1, 6]),
    (at("coef", "shape"), [10**12]),
    (at("coef", "shape"), []),
    (at("coef"), []),
    (at("n_features_in"), 10**12),
    (at("n_features_in"), True),
    (at("feature_names_in"), ["a"]),
    (at("feature_names_in"), [1] * 6),
    (at("intercept"), None),
    (at("intercept"), "0"),
    (at("intercept"), [0.0]),
    (at("classes"), [0, 1]),
    (at("class"), "SparseClassifier"),
    (at("class"), "Pipeline"),
    (at("params"), []),
    (at("params", "unknown"), 1),
    (at("params", "accept"), deep),
    (at("params", "loss"), [None]),
    (at("params", "loss"), "hinge"),
    (at("params", "budget"), {"rho": "1"}),
    (at("params", "budget"), {"mu": [1.0]}),
    (at("statement"), None),
    (at("statement", "epsilon"), "1"),
    (at("statement", "epsilon"), -1.0),
    (at("statement", "delta"), 2.0),
    (at("statement", "private"), 1),
    (at("statement", "caveats"), "none"),
    (at("statement", "asks"), [{}]),
    (at("statement", "asks"), {}),
    (at("statement", "asks", 0, "noise"), "loud"),
    (at("statement", "more"), 1),
    (at("statement", "ledger"), 3),
    (at("statement", "versions"), {"a": 1}),
    (at("more"), 1),
]


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_a_file_of_another_form_is_refused_though_its_digest_fits(tmp_path, regressor, number):
    content = stored(regressor, tmp_path / "m.json")
    change, value = WRONG[number]
    change(content, value)
    with pytest.raises(DataError, match="damaged"):
        dpsparse.load(write(tmp_path / "m.json", content))


@pytest.mark.parametrize("classes", [["a"], ["a", "a", "c"], ["b", "a", "c"], ["a", "b", 3], ["a", "b"], None])
def test_classes_have_one_kind_and_one_model_each(tmp_path, classifier, classes):
    content = stored(classifier, tmp_path / "m.json")
    content["classes"] = classes
    with pytest.raises(DataError, match="damaged"):
        dpsparse.load(write(tmp_path / "m.json", content))


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        '{"a":' * 100_000,
        "NaN",
        '{"format": "dpsparse-model", "format": "dpsparse-model"}',
        "1" * 5000,
        "\ud800",
    ],
)
def test_texts_that_are_no_json_are_refused(tmp_path, text):
    (tmp_path / "m.json").write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(DataError, match=r"not a dpsparse model|not valid JSON"):
        dpsparse.load(tmp_path / "m.json")


def test_more_coefficients_than_a_machine_holds_are_refused(tmp_path, classifier):
    content = stored(classifier, tmp_path / "m.json")
    content["n_features_in"] = 2**26
    content["coef"]["shape"] = [3, 2**26]
    with pytest.raises(DataError, match="damaged"):
        dpsparse.load(write(tmp_path / "m.json", content))


@pytest.mark.parametrize("number", ["NaN", "1e999", "-Infinity"])
def test_a_number_that_is_not_finite_is_refused(tmp_path, regressor, number):
    regressor.save(tmp_path / "m.json")
    text = (tmp_path / "m.json").read_text()
    (tmp_path / "m.json").write_text(text.replace('"intercept": ', f'"intercept": {number}, "_": ', 1))
    with pytest.raises(DataError, match="not valid JSON"):
        dpsparse.load(tmp_path / "m.json")


def mutated(data: bytes, rng: np.random.Generator) -> bytes:
    out = bytearray(data)
    for _ in range(int(rng.integers(1, 4))):
        place = int(rng.integers(len(out)))
        kind = int(rng.integers(5))
        if kind == 0:
            out[place] = int(rng.integers(256))
        elif kind == 1:
            del out[place : place + int(rng.integers(1, 40))]
        elif kind == 2:
            out[place:place] = out[place : place + int(rng.integers(1, 40))]
        elif kind == 3:
            out = out[: max(place, 1)]
        else:
            out[place : place + 1] = rng.choice([b"0", b"-", b"9", b"null", b"[", b"}", b'"', b"1e999", b"true"])
    return bytes(out)


def survive(tmp_path, models, count: int, seed: int) -> None:
    """Whatever loads is the model that was saved; everything else is a DataError. With and without a new digest, nothing else is raised."""
    rng = np.random.default_rng(seed)
    originals = []
    for model in models:
        model.save(tmp_path / "m.json")
        originals.append((model, (tmp_path / "m.json").read_bytes()))
        (tmp_path / "m.json").unlink()
    for number in range(count):
        model, data = originals[number % len(originals)]
        (tmp_path / "x.json").write_bytes(mutated(data, rng))
        try:
            loaded = dpsparse.load(tmp_path / "x.json")
        except DataError:
            pass
        else:
            assert np.array_equal(loaded.coef_, model.coef_)
            assert loaded.statement_ == model.statement_
        try:
            loaded = dpsparse.load(tmp_path / "x.json", edited=True)
        except DataError:
            continue
        assert np.all(np.isfinite(loaded.decision_function(X) if hasattr(loaded, "classes_") else loaded.predict(X)))


def test_mutated_files_neither_load_nor_leave_a_traceback(tmp_path, regressor, classifier):
    survive(tmp_path, (regressor, classifier), 150, seed=1)


@pytest.mark.slow
def test_a_thousand_mutated_files(tmp_path, regressor, classifier):
    survive(tmp_path, (regressor, classifier), 1000, seed=2)


# ------------------------------------------------------------------------------------------------ unknown recipes


@dataclass(frozen=True, kw_only=True)
class Mine(DPIGHT):
    name: ClassVar[str] = "mine"
    extra: float = 1.5


def test_a_model_of_a_recipe_that_is_not_installed_loads_and_predicts(tmp_path):
    model = SparseRegressor(epsilon=1.0, feature_bound=1.0, target_bound=2.0, recipe=Mine(steps=3)).fit(X, Y)
    model.save(tmp_path / "m.json")
    loaded = dpsparse.load(tmp_path / "m.json")
    assert np.array_equal(loaded.predict(X), model.predict(X))
    assert loaded.statement_ == model.statement_
    with pytest.raises(PrivacyError, match="'mine', which is not installed"):
        loaded.fit(X, Y)
    loaded.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_text() == (tmp_path / "m.json").read_text()
    loaded.set_params(recipe="dp_ight").fit(X, Y)


# ------------------------------------------------------------------------------------------------ writing


@pytest.mark.parametrize("content", [b"a,b\n1,2\n", b"SQLite format 3\0", b"{}", b'{"format": "other"}'])
def test_saving_replaces_nothing_but_a_model(tmp_path, regressor, content):
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(DataError, match="not replaced"):
        regressor.save(path)
    assert path.read_bytes() == content
    (tmp_path / "link").symlink_to(path)
    with pytest.raises(DataError, match="not replaced"):
        regressor.save(tmp_path / "link")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "link"]


def test_saving_replaces_a_model_and_an_empty_file(tmp_path, regressor, classifier):
    (tmp_path / "m.json").touch()
    regressor.save(tmp_path / "m.json")
    classifier.save(tmp_path / "m.json")
    assert hasattr(dpsparse.load(tmp_path / "m.json"), "classes_")


def test_a_write_that_fails_leaves_the_older_model(tmp_path, regressor, monkeypatch):
    regressor.save(tmp_path / "m.json")
    before = (tmp_path / "m.json").read_bytes()
    monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError(28, "no space")))
    with pytest.raises(OSError, match="no space"):
        regressor.save(tmp_path / "m.json")
    assert (tmp_path / "m.json").read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["m.json"]


def test_the_mask_of_the_process_is_never_set(tmp_path, regressor, monkeypatch):
    before = os.umask(0o027)
    try:
        monkeypatch.setattr(os, "umask", lambda _: pytest.fail("the mask belongs to the whole process"))
        regressor.save(tmp_path / "m.json")
    finally:
        monkeypatch.undo()
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "m.json").stat().st_mode) == 0o640


@pytest.mark.parametrize("kind", ["fifo", "device", "folder", "link"])
def test_what_is_no_ordinary_file_is_not_opened(tmp_path, kind, regressor):
    path = tmp_path / "m.json"
    {
        "fifo": lambda: os.mkfifo(path),
        "device": lambda: path.symlink_to("/dev/zero"),
        "folder": path.mkdir,
        "link": lambda: path.symlink_to(path),
    }[kind]()
    found: list = []

    def use():
        for act in (lambda: dpsparse.load(path), lambda: regressor.save(path)):
            try:
                act()
            except DataError as error:
                found.append(str(error))

    thread = threading.Thread(target=use, daemon=True)
    thread.start()
    thread.join(timeout=60)
    assert len(found) == 2
    assert all("m.json" in message for message in found)


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs a file that opens and does not read")
def test_a_file_that_opens_and_does_not_read_is_refused():
    with pytest.raises(DataError, match="could not be read"):
        dpsparse.load("/proc/self/mem")


def test_a_file_beyond_the_limit_is_refused(tmp_path, regressor):
    regressor.save(tmp_path / "m.json")
    with pytest.raises(DataError, match="bytes, and at most 100 are read"):
        dpsparse.load(tmp_path / "m.json", largest=100)
