"""A canary in the password of every address: it must sing nowhere, in no message, text, page, log or pickle."""

from __future__ import annotations

import copy
import logging
import pickle
import traceback

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.base import clone
from sklearn.utils import estimator_html_repr

from dpsparse import Ledger, NoisyCount, PrivateScaler, PrivateSearch, SparseClassifier, SparseRegressor
from dpsparse.cli import main
from dpsparse.core import LedgerError, LedgerNotWrittenError
from dpsparse.estimators.steps import make_private_pipeline
from dpsparse.ledger import check_ledger, reserve
from dpsparse.ledger.address import VARIABLE, Secret, read_address
from dpsparse.ledger.postgres import PostgresStore
from truth import postgres
from truth.ledgers import bill

CANARY = "hunter2SECRET"
HALVES = ("hunter2", "SECRET")
#: Nobody listens there.
DEAF = "127.0.0.1:1"

#: Addresses that libpq and people read alike, and that are taken.
GOOD = {
    "plain": f"postgresql://app:{CANARY}@{DEAF}/nodb",
    "other scheme": f"postgres://app:{CANARY}@{DEAF}/nodb",
    "escaped": f"postgresql://app:hunter2%40%2F%23%3F%25SECRET@{DEAF}/nodb",
    "colon": f"postgresql://app:hunter2:SECRET@{DEAF}/nodb",
    "parameter": f"postgresql://app@{DEAF}/nodb?password={CANARY}&connect_timeout=2",
    "key": f"postgresql://app@{DEAF}/nodb?sslpassword={CANARY}",
    "no user": f"postgresql://:{CANARY}@{DEAF}/nodb",
    "several hosts": f"postgresql://app:{CANARY}@{DEAF},[::1]:1/nodb",
}
#: Addresses that can be read in two ways, or not at all.
BAD = {
    "at": f"postgresql://app:hunter2@SECRET@{DEAF}/nodb",
    "slash": f"postgresql://app:hunter2/SECRET@{DEAF}/nodb",
    "slash after a number": f"postgresql://app:1234/{CANARY}@{DEAF}/nodb",
    "hash": f"postgresql://app:hunter2#SECRET@{DEAF}/nodb",
    "hash after a number": f"postgresql://app:12#{CANARY}@{DEAF}/nodb",
    "question": f"postgresql://app:hunter2?SECRET@{DEAF}/nodb",
    "question after a number": f"postgresql://app:12?{CANARY}@{DEAF}/nodb",
    "percent": f"postgresql://app:hunter2%SECRET@{DEAF}/nodb",
    "space": f"postgresql://app:hunter2 SECRET@{DEAF}/nodb",
    "bracket": f"postgresql://app:hunter2[SECRET@{DEAF}/nodb",
    "line": f"postgresql://app:hunter2\nSECRET@{DEAF}/nodb",
    "unknown parameter": f"postgresql://app@{DEAF}/nodb?passwd={CANARY}",
    "at in a parameter": f"postgresql://app@{DEAF}/nodb?password=hunter2@SECRET",
    "ampersand in a parameter": f"postgresql://app@{DEAF}/nodb?password=hunter2&SECRET",
    "port": f"postgresql://app:{CANARY}@127.0.0.1:x/nodb",
    "driver": f"postgresql+psycopg://app:{CANARY}@h/db",
    "mysql": f"mysql://app:{CANARY}@h/db",
    "one slash": f"postgres:/app:{CANARY}@h/db",
    "capital": f"Postgresql://app:{CANARY}@h/db",
    "bytes": f"postgresql://app:{CANARY}@h/db".encode(),
    "list": [f"postgresql://app:{CANARY}@h/db"],
}

X = np.random.default_rng(0).uniform(-1, 1, (60, 3))
Y = X[:, 0]


def silent(text: object) -> None:
    said = text.decode("latin1") if isinstance(text, bytes) else str(text)
    assert not any(half in said for half in HALVES), said


def silent_error(error: BaseException | None) -> None:
    """An error, its notes, and every error that it came from or that it hides."""
    seen = set()
    waiting = [error]
    while waiting:
        one = waiting.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        silent(repr(one))
        silent(vars(one))
        silent("".join(traceback.format_exception_only(one)))
        waiting += [one.__cause__, one.__context__]


def refused(use) -> BaseException:
    with pytest.raises((ValueError, TypeError)) as failure:
        use()
    silent_error(failure.value)
    return failure.value


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    """A server that does not listen is not waited for."""
    monkeypatch.setattr("dpsparse.ledger.address.PATIENCE", 0.0)
    monkeypatch.setattr("dpsparse.ledger.postgres.PAUSE", 0.001)


@pytest.fixture(autouse=True)
def log(caplog):
    caplog.set_level(logging.DEBUG)
    yield
    silent(caplog.text)


@pytest.fixture(autouse=True)
def needs_driver():
    pytest.importorskip("psycopg", reason="the extra 'postgres' is not installed")


@pytest.mark.parametrize("address", BAD.values(), ids=BAD)
def test_what_can_be_read_in_two_ways_is_refused_without_a_word_of_it(address):
    refused(lambda: Ledger(address))
    refused(lambda: check_ledger(address, "trial"))
    refused(lambda: SparseRegressor(feature_bound=1.0, target_bound=1.0, ledger=address, dataset="d").fit(X, Y))


USES = {
    "create": lambda ledger: ledger.create("d", 1.0, 1e-6),
    "remaining": lambda ledger: ledger.remaining("d"),
    "spent": lambda ledger: ledger.spent("d"),
    "reserve": lambda ledger: ledger.reserve("d", bill(0.1)),
    "verify": lambda ledger: ledger.verify(),
    "export": lambda ledger: ledger.export(),
    "cite": lambda ledger: ledger.cite("d", 1),
    "paying": lambda ledger: reserve(ledger, "d", bill(0.1), label="x", seeded=False).__enter__(),
}


@pytest.mark.parametrize("address", GOOD.values(), ids=GOOD)
def test_a_ledger_says_nothing_of_its_password(address):
    ledger = Ledger(address)
    for text in (repr(ledger), str(ledger), ledger.address, repr(read_address(address)), f"{ledger!r:>80}"):
        silent(text)
    for name in ("__dict__", "__slots__", "_address"):
        silent(getattr(ledger, name, ""))
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        silent(pickle.dumps(ledger, protocol))
        silent(pickle.dumps(read_address(address), protocol))
    secret = Secret(CANARY)
    for text in (repr(secret), str(secret), f"{secret}", repr({"password": secret}), pickle.dumps(secret)):
        silent(text)
    assert copy.deepcopy(ledger) == ledger == pickle.loads(pickle.dumps(ledger))


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("address", [GOOD[k] for k in ("plain", "escaped", "parameter")])
def test_no_failure_holds_the_password(address, use, monkeypatch):
    monkeypatch.setattr("dpsparse.ledger.postgres.KNOCK", 2)
    found = refused(lambda: USES[use](Ledger(address)))
    assert isinstance(found, LedgerError)
    assert found.__context__ is None


def test_what_the_driver_says_is_dropped_where_it_holds_the_password(monkeypatch):
    import psycopg

    def chatty(conninfo, **given):
        raise psycopg.OperationalError(f"connection to {conninfo} with {given} failed")

    monkeypatch.setattr(psycopg, "connect", chatty)
    for address in GOOD.values():
        failure = refused(lambda a=address: Ledger(a).remaining("d"))
        assert failure.__context__ is None


def estimators(address):
    model = SparseRegressor(feature_bound=1.0, target_bound=1.0, ledger=address, dataset="d")
    yield model
    yield SparseClassifier(feature_bound=1.0).set_params(ledger=address, dataset="d")
    yield PrivateScaler(epsilon=1.0, feature_bound=1.0, ledger=address, dataset="d")
    yield NoisyCount(epsilon=1.0, ledger=address, dataset="d")
    plain = SparseRegressor(feature_bound=1.0, target_bound=1.0)
    yield PrivateSearch(plain, {"recipe": ["dp_ight"]}, ledger=address, dataset="d")
    yield make_private_pipeline(plain, epsilon=1.0, ledger=address, dataset="d")


@pytest.mark.filterwarnings("ignore:Unknown section")  # scikit-learn's page of an estimator reads our docstrings
@pytest.mark.parametrize("address", GOOD.values(), ids=GOOD)
def test_estimators_say_nothing_of_the_password(address):
    for model in estimators(address):
        for one in (model, clone(model), copy.deepcopy(model)):
            silent(repr(one))
            silent(one.get_params())
            silent(one._repr_html_())
            silent(estimator_html_repr(one))
            silent(pickle.dumps(one))
            silent(vars(one))
            assert one.ledger == Ledger(address)
            assert one.ledger._address.secrets  # copies in memory can still connect


def test_a_failing_fit_says_nothing_of_the_password():
    for model in estimators(GOOD["plain"]):
        refused(lambda one=model: one.fit(X, Y))


@pytest.mark.parametrize("address", [v for v in (*GOOD.values(), *BAD.values()) if isinstance(v, str)])
def test_the_command_line_says_nothing_of_the_password(address, tmp_path, monkeypatch):
    monkeypatch.setattr("dpsparse.ledger.postgres.KNOCK", 2)
    np.savez(tmp_path / "trial.npz", X=X, y=Y)
    budget = ["--epsilon", "1", "--delta", "1e-6"]
    options = ["--task", "regression", "--feature-bound", "1", "--target-bound", "1"]
    for words in (
        ["ledger", "show", address],
        ["ledger", "show", address, "trial", "more"],
        ["ledger", "create", address, "trial", *budget],
        ["ledger", "create", "trial", address, *budget],
        ["ledger", "show", f"sqlite:///{tmp_path}/budget.db", address],
        ["ledger", "verify", address],
        ["ledger", "export", address],
        ["fit", str(tmp_path / "trial.npz"), *options, "--ledger", address, "--dataset", "trial"],
        ["fit", str(tmp_path / "trial.npz"), *options, "--ledger", "sqlite:///x.db", "--dataset", address],
    ):
        result = CliRunner().invoke(main, words)
        assert result.exit_code not in (0, 1), words
        silent(result.output)
        silent_error(result.exception)
    monkeypatch.setenv(VARIABLE, address)
    result = CliRunner().invoke(main, ["ledger", "show", "trial"])
    assert result.exit_code not in (0, 1)
    silent(result.output)


@pytest.fixture(scope="module")
def server():
    with postgres.running() as address:
        yield address


@pytest.fixture
def address(server):
    with postgres.fresh_database(server) as made:
        yield made.replace("tester@", f"tester:{CANARY}@")


def test_a_ledger_with_a_password_lives_its_life_in_silence(address, monkeypatch):
    import psycopg

    ledger = Ledger(address)
    ledger.create("d", 1.0, 1e-6)
    model = SparseRegressor(feature_bound=1.0, target_bound=1.0, epsilon=0.2, delta=1e-6, recipe="dp_ight")
    model.set_params(ledger=address, dataset="d").fit(X, Y)
    for text in (repr(model), model.statement_, model.statement_.to_json(), ledger.export(), ledger.cite("d", 3)):
        silent(text)
    silent(pickle.dumps(model))
    refused(lambda: ledger.reserve("d", bill(2.0)))
    refused(lambda: ledger.spent("other"))
    refused(lambda: ledger.create("d", 1.0, 1e-6))

    def lost(self, connection):
        connection.close()
        raise psycopg.OperationalError(f"server closed the connection to {CANARY}")

    monkeypatch.setattr(PostgresStore, "_commit", lost)
    monkeypatch.setattr("dpsparse.ledger.postgres.PAUSE", 0.0)
    assert isinstance(refused(lambda: ledger.reserve("d", bill(0.1))), LedgerNotWrittenError)


def test_a_pickle_that_left_its_password_behind_says_so():
    ledger = pickle.loads(pickle.dumps(Ledger(GOOD["plain"])))
    assert "PGPASSFILE" in str(refused(lambda: ledger.remaining("d")))
