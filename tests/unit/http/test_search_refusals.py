"""A search server's refusal of a document is a bad row; every other refusal ends the task."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest
from api_server import ApiServer, api

from connect.api import schema as s
from connect.api.errors import ConfigError, ConnectError, RejectedRowsError, RetriableError
from connect.api.records import Batch, Column, Consumed, TopicPartition
from connect.lib.deadline import Deadline
from connect.testing.fakes import FakeSinkContext
from connectors.http.search.config import SearchSinkConfig
from connectors.http.search.opensearch_config import OpenSearchSinkConfig
from connectors.http.search.sink import SearchSinkTask

TP = TopicPartition("orders", 0)


@pytest.fixture
def server() -> Iterator[ApiServer]:
    with api() as running:
        yield running


def put(server: ApiServer, error: dict[str, Any], status: int, on_malformed: str) -> SearchSinkTask:
    """Put two records, of which the server takes the first and refuses the second."""
    items = [
        {"index": {"_id": "orders+0+0", "status": 201}},
        {"index": {"_id": "orders+0+1", "status": status, "error": error}},
    ]
    server.answers = [b'{"orders":{}}', json.dumps({"items": items}).encode()]
    config = SearchSinkConfig.parse({
        "connection.url": server.url, "key.ignore": "true", "behavior.on.malformed.documents": on_malformed,
    })  # fmt: skip
    task = SearchSinkTask(config)
    task.open(FakeSinkContext())
    values = Column.from_rows([{"n": 1}, {"n": "x"}], None)
    task.put(Batch("orders", values, consumed=Consumed(TP, pa.array([0, 1], pa.int64()), 2)), Deadline.after(10))
    return task


@pytest.mark.parametrize("on_malformed", ["ignore", "warn", "fail"])
@pytest.mark.parametrize(
    ("kind", "status", "ends"),
    [
        ("cluster_block_exception", 403, ConfigError),
        ("security_exception", 403, ConfigError),
        ("index_closed_exception", 400, ConnectError),
        ("index_not_found_exception", 404, ConnectError),
        ("es_rejected_execution_exception", 429, RetriableError),
        ("unavailable_shards_exception", 503, RetriableError),
    ],
)
def test_a_refusal_that_is_not_of_the_document_leaves_nothing_out(
    server: ApiServer, on_malformed: str, kind: str, status: int, ends: type[Exception]
) -> None:
    with pytest.raises(ends, match=kind) as refused:
        put(server, {"type": kind, "reason": "why"}, status, on_malformed)
    assert not isinstance(refused.value, RejectedRowsError)


@pytest.mark.parametrize(
    "kind",
    [
        "strict_dynamic_mapping_exception",
        "mapper_parsing_exception",
        "document_parsing_exception",
        "illegal_argument_exception",
        "action_request_validation_exception",
    ],
)
def test_a_malformed_document_is_left_out_or_a_bad_row(server: ApiServer, kind: str) -> None:
    task = put(server, {"type": kind, "reason": "why"}, 400, "ignore")
    assert task.flush(Deadline.after(1)) == {TP: 2}
    with pytest.raises(RejectedRowsError, match=kind) as refused:
        put(server, {"type": kind, "reason": "why"}, 400, "fail")
    assert list(refused.value.rows) == [1]


def refusal(kind: str) -> bytes:
    """Return the answer to a bulk request that is refused as a whole."""
    error = {"type": kind, "reason": "Validation Failed: 1: id is too long"}
    return json.dumps({"error": {**error, "root_cause": [error]}, "status": 400}).encode()


def taken(*ids: str, status: int = 201, error: dict[str, Any] | None = None) -> bytes:
    told = {"status": status} | ({"error": error} if error else {})
    return json.dumps({"items": [{"index": {"_id": one, **told}} for one in ids]}).encode()


def keyed(keys: list[str]) -> Batch:
    offsets = pa.array(range(len(keys)), pa.int64())
    values = Column.from_rows([{"n": 1}] * len(keys), None)
    return Batch("orders", values, Column.from_rows(keys, None), consumed=Consumed(TP, offsets, len(keys)))


def keyed_task(server: ApiServer, **keys: str) -> tuple[SearchSinkTask, FakeSinkContext]:
    given = {name.replace("_", "."): value for name, value in keys.items()}
    task = SearchSinkTask(OpenSearchSinkConfig.parse({"connection.url": server.url, **given}))
    context = FakeSinkContext()
    task.open(context)
    return task, context


def test_a_request_that_is_refused_for_one_id_is_one_bad_row(server: ApiServer) -> None:
    whole = refusal("action_request_validation_exception")
    server.statuses = [200, 400, 200, 400, 400, 200]
    server.answers = [b'{"orders":{}}', whole, taken("a", "b"), whole, whole, taken("d")]
    task, _ = keyed_task(server)
    with pytest.raises(RejectedRowsError, match="id is too long") as refused:
        task.put(keyed(["a", "b", "c" * 513, "d"]), Deadline.after(10))
    assert list(refused.value.rows) == [2]
    assert task.flush(Deadline.after(1)) == {TP: 4}


def test_a_request_that_is_refused_for_no_document_ends_the_task(server: ApiServer) -> None:
    server.statuses = [200, 400]
    server.answers = [b'{"orders":{}}', refusal("illegal_argument_exception")]
    task, _ = keyed_task(server)
    with pytest.raises(ConnectError, match="illegal_argument_exception") as refused:
        task.put(keyed(["a", "b"]), Deadline.after(10))
    assert not isinstance(refused.value, RejectedRowsError)
    assert len(server.asked) == 2


CONFLICT = {"type": "version_conflict_engine_exception", "reason": "current version [9] is higher"}


@pytest.mark.parametrize("behavior", [None, "ignore", "Warn"])
def test_records_that_a_later_version_stands_against_are_counted(server: ApiServer, behavior: str | None) -> None:
    task, context = keyed_task(server, **({"behavior_on_version_conflict": behavior} if behavior else {}))
    server.answers = [b'{"orders":{}}', *[taken("a", "b", status=409, error=CONFLICT)] * 2]
    for _ in range(2):
        task.put(keyed(["a", "b"]), Deadline.after(10))
    assert task.flush(Deadline.after(1)) == {TP: 2}
    assert "a later one: 4." in context.noted[0]
    assert "current version [9]" in context.noted[0]


def test_a_conflict_of_versions_is_reported_or_ends_the_task_as_it_is_asked_for(server: ApiServer) -> None:
    server.answers = [b'{"orders":{}}', taken("a", status=409, error=CONFLICT)]
    with pytest.raises(RejectedRowsError, match="version_conflict"):
        keyed_task(server, behavior_on_version_conflict="report")[0].put(keyed(["a"]), Deadline.after(10))
    server.answers = [b'{"orders":{}}', taken("a", status=409, error=CONFLICT)]
    with pytest.raises(ConnectError, match="version_conflict") as refused:
        keyed_task(server, behavior_on_version_conflict="fail")[0].put(keyed(["a"]), Deadline.after(10))
    assert not isinstance(refused.value, RejectedRowsError | RetriableError)


def test_a_conflict_is_counted_once_where_the_batch_is_tried_again(server: ApiServer) -> None:
    task, context = keyed_task(server, batch_size="1")
    busy = {"type": "es_rejected_execution_exception", "reason": "busy"}
    old = taken("a", status=409, error=CONFLICT)
    server.answers = [b'{"orders":{}}', old, taken("b", status=429, error=busy), old, taken("b")]
    with pytest.raises(RetriableError):
        task.put(keyed(["a", "b"]), Deadline.after(10))
    task.put(keyed(["a", "b"]), Deadline.after(10))
    assert "a later one: 1." in context.noted[0]


def test_what_the_task_itself_wrote_before_is_no_conflict(server: ApiServer) -> None:
    task, context = keyed_task(server, behavior_on_version_conflict="fail", batch_size="1")
    busy = {"type": "es_rejected_execution_exception", "reason": "busy"}
    server.answers = [
        b'{"orders":{}}', taken("a"), taken("b", status=429, error=busy),
        taken("a", status=409, error=CONFLICT), taken("b"),
    ]  # fmt: skip
    with pytest.raises(RetriableError):
        task.put(keyed(["a", "b"]), Deadline.after(10))
    task.put(keyed(["a", "b"]), Deadline.after(10))
    assert (task.flush(Deadline.after(1)), context.noted) == ({TP: 2}, ())
    server.answers = [taken("a", status=409, error=CONFLICT), taken("b")]
    with pytest.raises(ConnectError, match="version_conflict"):
        task.put(keyed(["a", "b"]), Deadline.after(10))


def test_aivens_report_makes_malformed_documents_bad_rows(server: ApiServer) -> None:
    error = {"type": "mapper_parsing_exception", "reason": "why"}
    server.answers = [b'{"orders":{}}', taken("a", status=400, error=error)]
    with pytest.raises(RejectedRowsError, match="why"):
        keyed_task(server, behavior_on_malformed_documents="report")[0].put(keyed(["a"]), Deadline.after(10))


@pytest.mark.parametrize("status", [503, 500, 401])
def test_a_server_that_does_not_tell_of_a_data_stream_gets_no_document(server: ApiServer, status: int) -> None:
    server.statuses = [status]
    server.answers = [b"{}", b"{}", b"{}"]
    task, _ = keyed_task(server, data_stream_enabled="true")
    with pytest.raises(ConfigError if status == 401 else RetriableError):
        task.put(keyed(["a"]), Deadline.after(10))
    assert server.paths() == [("GET", "/_data_stream/orders")]


@pytest.mark.parametrize("status", [200, 404, 403])
def test_a_user_who_may_see_no_data_stream_is_asked_for_the_name_as_in_java(server: ApiServer, status: int) -> None:
    server.statuses = [403, status]
    task, _ = keyed_task(server, data_stream_enabled="true")
    # Nothing answers to a bulk request as a search server does.
    with pytest.raises(ConfigError, match="refuses access" if status == 403 else "tells of|no Elasticsearch"):
        task.put(keyed(["a"]), Deadline.after(10))
    made = [
        ("GET", "/_index_template/orders-connector-data-stream-template"),
        ("PUT", "/_data_stream/orders"),
    ]  # fmt: skip
    begin = [("GET", "/_data_stream/orders"), ("HEAD", "/orders")]
    ways = {200: [*begin, ("POST", "/_bulk")], 404: [*begin, *made, ("POST", "/_bulk")], 403: begin}
    assert server.paths() == ways[status]


@pytest.mark.parametrize(
    ("properties", "status", "puts"),
    [({"@timestamp": {"type": "date"}}, 200, True), ({"n": {"type": "long"}}, 200, False), ({}, 403, False)],
)
def test_a_data_stream_without_fields_gets_the_mapping_later(
    server: ApiServer, properties: dict[str, Any], status: int, puts: bool
) -> None:
    server.statuses = [200, status]
    stream = {".ds-orders-000001": {"mappings": {"properties": properties}}}
    server.answers = [b"{}", json.dumps(stream).encode(), *[b"{}"] * puts]
    task, _ = keyed_task(server, data_stream_enabled="true")
    row = s.struct({"n": s.INT64, "at": s.Schema(s.Type.INT64, name=s.TIMESTAMP)})
    values = Column.from_rows([{"n": 1, "at": datetime.fromtimestamp(5, UTC)}], row)
    one = Batch("orders", values, consumed=Consumed(TP, pa.array([3], pa.int64()), 4))
    with pytest.raises(ConfigError, match="no Elasticsearch"):
        task.put(replace(one, timestamps_ms=pa.array([7], pa.int64())), Deadline.after(10))
    asked = [("GET", "/_data_stream/orders"), ("GET", "/orders/_mapping")]
    assert server.paths() == [*asked, *[("PUT", "/orders/_mapping")] * puts, ("POST", "/_bulk")]


def test_a_record_whose_document_a_data_stream_has_is_counted_unless_it_was_sent_before(server: ApiServer) -> None:
    conflict = {"_id": "orders+0+0", "status": 409, "error": CONFLICT}
    busy = {"_id": "orders+0+0", "status": 429, "error": {"type": "es_rejected_execution_exception"}}
    server.answers = [b"{}", *(json.dumps({"items": [{"create": one}]}).encode() for one in (busy, conflict, conflict))]
    task, context = keyed_task(server, data_stream_enabled="true")
    with pytest.raises(RetriableError):
        task.put(keyed(["a"]), Deadline.after(10))
    task.put(keyed(["a"]), Deadline.after(10))
    assert context.noted == ()
    task.put(keyed(["a"]), Deadline.after(10))
    assert "passed over, as their documents are there: 1." in context.noted[0]
