"""Checks the parts of the kit: the offset store, the thread that owns a task, leaks, waivers, and the row
generators.
"""

from __future__ import annotations

import math
import threading
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from connect.api import schema as s
from connect.api.arrow import arrow_type
from connect.api.errors import RetriableError
from connect.api.records import Batch, Column, SourcePosition, TopicPartition
from connect.testing.fakes import FakeSinkContext, FakeSourceContext, OffsetStore
from connect.testing.leaks import leaks_of
from connect.testing.rows import make_rows
from connect.testing.sink import SinkSuite
from connect.testing.sink_run import FakeLog, SinkRun
from connect.testing.source import SourceSuite
from connect.testing.strategies import TYPE_CASES, schemas, values
from connect.testing.task_thread import OverdueError, TaskThread
from connectors.file.plugin import SINK

PARTITION = {"table": "a", "shard": 1}


def test_an_offset_comes_back_as_the_offsets_topic_gives_it() -> None:
    store = OffsetStore()
    store.store([SourcePosition(PARTITION, {"id": 1}), SourcePosition(PARTITION, {"id": 2**63 - 1, "at": None})])
    context = FakeSourceContext(store=store)
    assert context.stored_offset({"shard": 1, "table": "a"}) == {"id": 2**63 - 1, "at": None}
    assert context.stored_offset({"table": "b"}) is None


def test_why_part_of_the_work_waits_is_one_line() -> None:
    context = FakeSourceContext()
    context.explain("Table a is left aside.")
    assert context.explained == "Table a is left aside."
    context.explain(None)
    assert context.explained is None
    with pytest.raises(AssertionError, match="one line"):
        context.explain("a\nb")


def test_an_offset_of_none_forgets_the_place() -> None:
    store = OffsetStore()
    store.store([SourcePosition(PARTITION, {"id": 1}), SourcePosition(PARTITION, None)])
    assert store.stored_offset(PARTITION) is None


def test_a_copied_store_goes_its_own_way() -> None:
    store = OffsetStore()
    copy = store.copy()
    copy.store([SourcePosition(PARTITION, {"id": 1})])
    assert store.offsets == {}


@pytest.mark.parametrize(
    ("offset", "told"),
    [
        ({"at": b"x"}, "position.offset.at is a bytes"),
        ({"at": [1]}, "position.offset.at is a list"),
        ({"at": {"b": 1}}, "position.offset.at is a dict"),
        ({"id": 2**63}, "64 bits"),
        ({1: 2}, "keys of a stored offset are text"),
    ],
)
def test_an_offset_that_is_no_json_is_named(offset: dict, told: str) -> None:
    with pytest.raises(AssertionError, match=told):
        OffsetStore().store([SourcePosition(PARTITION, offset)])


def test_an_offset_that_is_no_number_is_refused() -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        OffsetStore().store([SourcePosition(PARTITION, {"at": math.nan})])


def test_a_sink_context_keeps_what_was_rejected() -> None:
    context = FakeSinkContext()
    reason = ValueError("bad")
    context.reject(Batch("t", Column.from_rows(["a", "b"], s.STRING)), {1: reason})
    context.request_flush()
    context.request_flush(within_s=2.5)
    context.gauge("lag_s", 1.5)
    assert [(r.record.value, r.reason) for r in context.rejected] == [("b", reason)]
    assert (context.flush_requests, context.flush_within_s) == (2, 2.5)
    assert context.gauges == {"lag_s": 1.5}


def test_a_sink_that_asks_for_a_flush_in_the_past_is_caught() -> None:
    with pytest.raises(AssertionError, match=r"a flush 1\.5 s ago"):
        FakeSinkContext().request_flush(within_s=-1.5)


@pytest.mark.parametrize(("failures", "within_s", "is_raised"), [(2, 30.0, False), (1, 0.0, True)])
def test_a_flush_that_fails_for_now_is_called_again_while_there_is_time(
    monkeypatch: pytest.MonkeyPatch, failures: int, within_s: float, is_raised: bool
) -> None:
    run, partition = SinkRun(SINK, {}), TopicPartition("t", 0)
    left = ["not now"] * failures

    def flush() -> None:
        if left:
            raise RetriableError(left.pop())
        run.claimed[partition] = 5

    monkeypatch.setattr(run, "flush", flush)
    if is_raised:
        with pytest.raises(RetriableError, match="not now"):
            run.flush_until({partition: 5}, within_s=within_s)
    else:
        assert run.flush_until({partition: 5}, within_s=within_s)
    run.close()


def test_every_call_is_made_on_one_thread_that_is_not_the_tests() -> None:
    thread = TaskThread("unit")
    seen = {thread.call("ident", threading.get_ident) for _ in range(3)}
    thread.end()
    assert len(seen) == 1
    assert threading.get_ident() not in seen


def test_a_call_that_hangs_is_named_and_one_that_fails_raises() -> None:
    thread, never = TaskThread("unit"), threading.Event()
    with pytest.raises(ZeroDivisionError):
        thread.call("divide", lambda: 1 / 0)
    with pytest.raises(OverdueError, match=r"flush did not return within 0.05 s\. Wait less\."):
        thread.call("flush", never.wait, limit_s=0.05, fix="Wait less.")
    never.set()
    thread.end()


@pytest.mark.thorough
def test_what_is_left_once_is_a_cache_and_what_grows_is_a_leak(tmp_path: Path) -> None:
    (tmp_path / "f").touch()
    kept: list = []
    assert leaks_of(lambda: kept or kept.append((tmp_path / "f").open())) == []
    leaks = leaks_of(lambda: kept.append((tmp_path / "f").open()), settle_s=0.1)
    for file in kept:
        file.close()
    assert len(leaks) == 1
    assert leaks[0].startswith("3 files more after 3 runs")


def test_a_log_is_cut_into_batches_from_what_is_committed() -> None:
    log = FakeLog("t", {0: make_rows(5), 1: make_rows(2, start=5)})
    batches = [(b.partition, b.consumed.offsets.to_pylist(), b.consumed.next_offset) for b in log.batches(2)]
    assert batches == [(0, [0, 1], 2), (1, [0, 1], 2), (0, [2, 3], 4), (0, [4], 5)]
    rest = list(log.batches(10, {TopicPartition("t", 0): 4, TopicPartition("t", 1): 2}))
    assert [[r.value["id"] for r in b.rows()] for b in rest] == [[4]]
    assert log.ends == {TopicPartition("t", 0): 5, TopicPartition("t", 1): 2}


def test_rows_hold_the_values_that_connectors_lose() -> None:
    rows = make_rows(30, start=100, ties=7)
    assert [row["id"] for row in rows] == list(range(100, 130))
    assert max(row["tie"] for row in rows) == 4
    assert {None, ""} <= {row["text"] for row in rows}
    assert 2**53 + 1 in {row["whole"] for row in rows}


@pytest.mark.thorough
@given(schemas().flatmap(lambda schema: st.tuples(st.just(schema), st.lists(values(schema), max_size=3))))
def test_generated_values_fit_their_schema(case: tuple) -> None:
    schema, rows = case
    assert len(pa.array(rows, arrow_type(schema))) == len(rows)


def test_the_edges_are_covered() -> None:
    flat = [value for case in TYPE_CASES.values() for value in case.values]
    assert any(isinstance(v, bytes) and len(v) == 2**20 for v in flat)
    assert any(isinstance(v, float) and math.isnan(v) for v in flat)
    assert {case.schema.type for case in TYPE_CASES.values()} == set(s.Type)


@pytest.mark.parametrize("suite", [SourceSuite, SinkSuite])
def test_a_waiver_of_a_test_that_is_not_there_is_refused(suite: type) -> None:
    with pytest.raises(TypeError, match="test_nothing"):
        type("TestIt", (suite,), {"waivers": {"test_nothing": "no such test"}})
