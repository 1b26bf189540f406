"""Stored forms: files of earlier releases are read and written again byte for byte, and hostile ones are refused.

`recorded` holds examples of every form, written before there was one codec. They never change: digests, identities of
runs and hash chains of users cover their bytes. A form that joins is one line in `FORMS` and one recorded file.
"""

import copy
import hashlib
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import dpsparse
from dpsparse.accounting.costs.base import read_cost, write_cost
from dpsparse.core import Statement
from dpsparse.core.codec import canonical_json, read, write
from dpsparse.core.plan import read_plan, write_plan
from dpsparse.core.sealed_files import content_digest
from dpsparse.estimators.intervals import Intervals
from dpsparse.estimators.model_file import model_digest
from dpsparse.ledger.state import State
from dpsparse.sites.federated.certificate import Certificate
from dpsparse.sites.federated.coordinator import Saved as FederatedServer
from dpsparse.sites.federated.protocol import Protocol as FederatedProtocol
from dpsparse.sites.local.protocol import Protocol as LocalProtocol
from dpsparse.sites.local.server import Saved as LocalServer
from dpsparse.sites.rounds.stores import AnswerClaim

RECORDED = sorted((Path(__file__).parent / "recorded").glob("*.json"))
SECRET = "secret-4711"


@dataclass(frozen=True)
class Form:
    """How one form is read from JSON types and written to text; `free`: parts that hold whatever a user gave."""

    read: Callable[[Any, Path], Any]
    write: Callable[[Any, Path], str]
    free: tuple[str, ...] = ()
    seal: Callable[[Any], Any] = lambda content: content


def plain(reads: Callable[[Any], Any], writes: Callable[[Any], Any], *free: str) -> Form:
    return Form(lambda content, _: reads(content), lambda value, _: json.dumps(writes(value)), free)


def document(kind: Any, *free: str) -> Form:
    return Form(lambda content, _: kind.from_json(json.dumps(content)), lambda value, _: value.to_json(), free)


def file(reads: Callable[[Path], Any], writes: Callable[[Any, Path], None], *free: str) -> Form:
    def read_file(content: Any, folder: Path) -> Any:
        (folder / "file").write_text(json.dumps(content))
        return reads(folder / "file")

    def write_file(value: Any, folder: Path) -> str:
        writes(value, folder / "again")
        return (folder / "again").read_text()

    seal = sealed_model if reads is dpsparse.load else sealed_server
    return Form(read_file, write_file, free, seal)


def sealed_model(content: Any) -> Any:
    if isinstance(content.get("model"), dict):
        content["model"]["digest"] = model_digest(content["model"])
    return {**content, "digest": model_digest(content)}


def sealed_server(content: Any) -> Any:
    return {"content": content["content"], "digest": content_digest(content["content"])}


MODEL = file(
    dpsparse.load,
    lambda model, path: model.save(path),
    *["params", "dictionary", "ledger", "space", "steps", "best_params", "features"],
)
FORMS = {
    "plan": plain(read_plan, write_plan, "public"),
    "cost": plain(read_cost, write_cost, "public"),
    "statement": plain(Statement.from_dict, Statement.to_dict, "ledger"),
    "state": plain(State.from_dict, State.to_dict, "kind"),
    "intervals": plain(Intervals.from_dict, Intervals.to_dict, "features"),
    "claim": plain(lambda content: read(AnswerClaim, content, "claim"), write),
    "protocol_federated": document(FederatedProtocol, "loss", "facts", "pace", "classes"),
    "protocol_local": document(LocalProtocol, "loss", "facts", "classes"),
    "certificate": document(Certificate, "ledger", "public"),
    "local-server": file(LocalServer.read, LocalServer.write),
    "federated-server": file(FederatedServer.read, FederatedServer.write),
    "model": MODEL,
    "pipeline": MODEL,
    "search": MODEL,
}
if find_spec("torch"):
    from dpsparse.sites.neural.federation import NetworkProtocol

    FORMS["protocol_network"] = document(NetworkProtocol)
else:
    RECORDED = [path for path in RECORDED if not path.stem.startswith("protocol_network")]


def form_of(path: Path) -> Form:
    return FORMS[path.stem.rpartition("-")[0]]


def content_of(path: Path) -> Any:
    return json.loads(path.read_text().partition(" ")[2] if path.stem.startswith("claim") else path.read_text())


def by_name(path: Path) -> str:
    return path.stem


def test_every_form_has_a_recorded_file():
    assert {path.stem.rpartition("-")[0] for path in RECORDED} == set(FORMS)


@pytest.mark.parametrize("path", RECORDED, ids=by_name)
def test_a_recorded_file_is_read_and_written_byte_for_byte(path, tmp_path):
    form, text = form_of(path), path.read_text()
    again = form.write(form.read(content_of(path), tmp_path), tmp_path)
    if path.stem.startswith("claim"):
        text = text.partition(" ")[2].rstrip("\n")
        again = json.dumps(json.loads(again), sort_keys=True)
    if path.stem.startswith(("plan", "cost")):  # parts of sealed texts, which are canonical
        text, again = canonical_json(json.loads(text)), canonical_json(json.loads(again))
    assert hashlib.sha256(again.encode()).digest() == hashlib.sha256(text.encode()).digest()


# ------------------------------------------------------------------------------------------------ hostile files


def leaves(content: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Paths of all values that are neither lists nor objects, and of those that are empty."""
    inner = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    if not inner or (isinstance(content, list) and len(content) > 30):
        yield path
        return
    for name, value in inner:
        yield from leaves(value, (*path, name))


def at(content: Any, path: tuple[Any, ...]) -> Any:
    for name in path:
        content = content[name]
    return content


def changed(content: Any, path: tuple[Any, ...], value: Any) -> Any:
    found = copy.deepcopy(content)
    at(found, path[:-1])[path[-1]] = value
    return found


def nested(depth: int) -> Any:
    found: Any = []
    for _ in range(depth):
        found = [found]
    return found


def refuse(form: Form, content: Any, folder: Path, what: object) -> None:
    sealed = form.seal(content)
    with pytest.raises(ValueError, match=r".") as caught:
        form.read(sealed, folder)
    assert type(caught.value).__module__.startswith("dpsparse."), (what, caught.value)
    assert SECRET not in str(caught.value), what
    assert "4711" not in str(caught.value), what


@pytest.mark.parametrize("path", RECORDED, ids=by_name)
def test_a_value_of_another_type_is_refused_wherever_it_stands(path, tmp_path):
    form, content = form_of(path), content_of(path)
    for where in leaves(content):
        held = at(content, where)
        if not where or where[0] == "digest" or where[-1] == "digest" or {*map(str, where)} & set(form.free):
            continue
        for wrong in ({SECRET: 4711}, nested(60), 10**400, 4711 if isinstance(held, str) else SECRET):
            if isinstance(wrong, dict) and isinstance(held, dict):
                continue
            refuse(form, changed(content, where, wrong), tmp_path, (where, type(wrong)))


@pytest.mark.parametrize("path", RECORDED, ids=by_name)
def test_a_field_too_many_or_too_few_is_refused(path, tmp_path):
    form, content = form_of(path), content_of(path)
    outer = ("content",) if "content" in content else ()
    more = changed(content, (*outer, SECRET), 1)
    refuse(form, more, tmp_path, "more")
    lacking = {path[len(outer)] for path in leaves(content) if path[: len(outer)] == outer} & {
        *(
            "asks",
            "parts",
            "kind",
            "epsilon",
            "totals",
            "features",
            "protocol",
            "nonce",
            "run",
            "class",
            "statement",
            "model",
        )
    }
    assert lacking
    for name in lacking:
        less = copy.deepcopy(content)
        del at(less, outer)[name]
        refuse(form, less, tmp_path, name)


FILES = {"local-server": LocalServer.read, "federated-server": FederatedServer.read}
FILES |= dict.fromkeys(("model", "pipeline", "search"), dpsparse.load)
TEXTS = {"protocol_federated": FederatedProtocol, "protocol_local": LocalProtocol, "certificate": Certificate}


@pytest.mark.parametrize("name", [*FILES, *TEXTS])
@pytest.mark.parametrize("damage", ["truncated", "NaN", "1e999", "twice", "deep", "bytes"])
def test_a_text_that_is_no_json_is_refused(name, damage, tmp_path):
    [path, *_] = [path for path in RECORDED if path.stem.startswith(f"{name}-")]
    text = json.dumps(content_of(path))
    start = text.index(": ") + 2
    bad = {
        "truncated": text[: len(text) // 2],
        "NaN": f'{text[:start]}NaN, "{SECRET}": {text[start:]}',
        "1e999": f'{text[:start]}1e999, "{SECRET}": {text[start:]}',
        "twice": f"{text[:-1]}, {text[1:]}",
        "deep": "[" * 100_000,
        "bytes": "\ud800",
    }[damage]
    (tmp_path / "file").write_bytes(bad.encode("utf-8", "surrogatepass"))
    with pytest.raises(ValueError, match=r".") as caught:
        FILES[name](tmp_path / "file") if name in FILES else TEXTS[name].from_json(bad)
    assert type(caught.value).__module__.startswith("dpsparse.")
    assert SECRET not in str(caught.value)


def test_reading_is_not_recursive_beyond_its_depth():
    [path] = [path for path in RECORDED if path.stem == "statement-1"]
    with pytest.raises(ValueError, match="too deep"):
        Statement.from_dict({**content_of(path), "ledger": {"a": nested(sys.getrecursionlimit() // 2)}})
