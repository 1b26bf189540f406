"""Faults of engines in our words, and raw rows that stay nowhere."""

from __future__ import annotations

import gc
from unittest.mock import MagicMock

import pytest

from dpsparse.core import DataError
from dpsparse.core.errors import RetryLaterError
from dpsparse.rows.hosts import spark


class Frame:
    """A frame of Spark as `open_collection` uses it, which notes what is cached."""

    columns = ("a", "y")

    def __init__(self, cached=False):
        self.is_cached, self.given_back = cached, 0
        self.sparkSession = MagicMock()  # its log is switched off, and its context runs

    def persist(self):
        self.is_cached = True
        return self

    def unpersist(self):
        self.given_back += 1

    def mapInArrow(self, *_):  # noqa: N802
        raise RuntimeError("org.apache.spark: a page of Java that quotes a cell")


def test_spark_forgets_a_frame_that_we_cached_after_a_failure_too():
    frame = Frame()
    with pytest.raises(DataError) as refusal:
        spark.open_collection(frame, "y")
    assert "quotes a cell" not in str(refusal.value)
    del refusal
    gc.collect()
    assert frame.given_back == 1


def test_spark_asks_nothing_of_a_context_that_has_stopped():
    frame = Frame()
    frame.sparkSession.sparkContext._jsc = None
    with pytest.raises(DataError):
        spark.open_collection(frame, "y")
    gc.collect()
    assert frame.given_back == 0


def test_spark_leaves_a_frame_that_was_cached_before():
    frame = Frame(cached=True)
    with pytest.raises(DataError):
        spark.open_collection(frame, "y")
    gc.collect()
    assert frame.given_back == 0


def test_executors_without_the_package_are_named():
    frame = Frame()
    frame.mapInArrow = lambda *_: (_ for _ in ()).throw(RuntimeError("ModuleNotFoundError: No module named 'dpsparse'"))
    with pytest.raises(DataError, match="an executor does not have this release of dpsparse"):
        spark.open_collection(frame, "y")


def test_a_lost_scheduler_is_said_in_our_words_and_passes():
    comm = pytest.importorskip("distributed.comm", reason="the extra 'dask' is not installed")
    from dpsparse.rows.hosts.dask_engine import lost_scheduler

    with pytest.raises(RetryLaterError, match="scheduler of the cluster does not answer") as error, lost_scheduler():
        raise comm.CommClosedError("ConnectionPool closing: tcp://10.0.0.5")
    assert error.value.passes
    assert "10.0.0.5" not in str(error.value)


@pytest.mark.parametrize(
    ("failure", "expected", "match", "passes"),
    [
        (
            ConnectionRefusedError(111, "refused"),
            RetryLaterError,
            "no Dask scheduler answers at tcp://10.0.0.5:1",
            True,
        ),
        (TimeoutError("30s"), RetryLaterError, "no Dask scheduler answers", True),
        (ValueError("unknown scheme"), DataError, "a Dask scheduler is named like", False),
    ],
)
def test_a_scheduler_that_does_not_answer_is_tried_again_and_a_bad_address_is_not(
    failure, expected, match, passes, monkeypatch
):
    distributed = pytest.importorskip("distributed", reason="the extra 'dask' is not installed")
    from dpsparse.rows.hosts.dask import cluster_of

    def client(*_, **__):
        raise failure

    monkeypatch.setattr(distributed, "Client", client)
    with pytest.raises(expected, match=match) as error, cluster_of("tcp://10.0.0.5:1"):
        pass
    assert getattr(error.value, "passes", False) == passes
