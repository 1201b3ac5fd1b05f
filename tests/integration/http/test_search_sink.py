"""Checks what the search sink leaves in a real OpenSearch: versions, mappings, deletes, merged fields, refused
documents.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
import requests

from connect.api import schema as s
from connect.api.errors import ConfigError, RejectedRowsError
from connect.api.records import Batch, Column, Consumed, TopicPartition
from connect.lib.deadline import Deadline
from connect.testing.fakes import FakeSinkContext
from connect.tools.services.opensearch import OpenSearchService
from connectors.http.search.config import SearchSinkConfig
from connectors.http.search.opensearch_config import OpenSearchSinkConfig
from connectors.http.search.sink import SearchSinkConnector, SearchSinkTask

pytestmark = pytest.mark.integration
ROW = s.struct({"id": s.INT64, "name": s.STRING.as_optional(), "at": s.Schema(s.Type.INT64, name=s.TIMESTAMP)})


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with OpenSearchService() as service:
        yield service.endpoint.url


def batch(topic: str, values: Sequence[Any], keys: Sequence[Any], start: int = 0) -> Batch:
    offsets = pa.array(range(start, start + len(values)), pa.int64())
    consumed = Consumed(TopicPartition(topic, 0), offsets, start + len(values))
    return Batch(topic, Column.from_rows(values, None), Column.from_rows(keys, None), consumed=consumed)


def task_on(url: str, **keys: str) -> tuple[SearchSinkTask, FakeSinkContext]:
    own = {name.replace("_", "."): value for name, value in keys.items()}
    context = FakeSinkContext()
    task = SearchSinkTask(SearchSinkConfig.parse({"connection.url": url, "read.timeout.ms": "60000", **own}))
    task.open(context)
    return task, context


def aiven_task_on(url: str, **keys: str) -> SearchSinkTask:
    own = {name.replace("_", "."): value for name, value in keys.items()}
    task = SearchSinkTask(OpenSearchSinkConfig.parse({"connection.url": url, "read.timeout.ms": "60000", **own}))
    task.open(FakeSinkContext())
    return task


def timed(one: Batch, time_ms: int = 7) -> Batch:
    return replace(one, timestamps_ms=pa.array([time_ms] * len(one), pa.int64()))


def streams(url: str) -> dict[str, Any]:
    found = requests.get(f"{url}/_data_stream", timeout=60).json()["data_streams"]
    return {stream["name"]: stream["timestamp_field"]["name"] for stream in found}


def kinds(url: str, name: str) -> dict[str, str]:
    """Return the types of the fields of an index, or of a data stream's one index."""
    (found,) = requests.get(f"{url}/{name}/_mapping", timeout=60).json().values()
    return {field: told["type"] for field, told in found["mappings"]["properties"].items()}


def instant(ms: int) -> datetime:
    return datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=ms)


def documents(url: str, index: str) -> dict[str, Any]:
    requests.post(f"{url}/{index}/_refresh", timeout=60)
    hits = requests.get(f"{url}/{index}/_search", timeout=60).json()["hits"]["hits"]
    return {hit["_id"]: hit["_source"] for hit in hits}


def test_an_older_record_that_comes_late_changes_nothing(url: str) -> None:
    task, _ = task_on(url, behavior_on_null_values="delete")
    task.put(batch("late", [{"n": 5}, {"n": 6}, None], ["a", "b", "c"], start=5), Deadline.after(60))
    task.put(batch("late", [{"n": 1}, None, {"n": 3}], ["a", "b", "c"], start=1), Deadline.after(60))
    assert documents(url, "late") == {"a": {"n": 5}, "b": {"n": 6}}


def test_records_without_keys_are_there_once(url: str) -> None:
    task, _ = task_on(url, key_ignore="true")
    for _ in range(2):
        task.put(batch("nokeys", [{"n": 1}, {"n": 2}], [None, None]), Deadline.after(60))
    assert documents(url, "nokeys") == {"nokeys+0+0": {"n": 1}, "nokeys+0+1": {"n": 2}}


def test_fields_are_merged_by_upsert(url: str) -> None:
    task, _ = task_on(url, write_method="upsert")
    task.put(batch("merged", [{"n": 1}, {"m": 2}], ["a", "a"]), Deadline.after(60))
    assert documents(url, "merged") == {"a": {"n": 1, "m": 2}}


def test_a_deleted_document_stays_deleted_where_records_are_written_again(url: str) -> None:
    task, _ = task_on(url, write_method="upsert", behavior_on_null_values="delete")
    for _ in range(3):
        task.put(
            batch("merged-deletes", [{"n": 1}, {"m": 2}, None, {"o": 3}], ["a", "a", "a", "b"]), Deadline.after(60)
        )
        assert documents(url, "merged-deletes") == {"b": {"o": 3}}


def test_an_id_that_is_too_long_is_one_bad_row(url: str) -> None:
    task, _ = task_on(url)
    keys = ["a", "é" * 256, "é" * 256 + "x", "b", "x" * 600]
    with pytest.raises(RejectedRowsError, match="too long") as refused:
        task.put(batch("long-ids", [{"n": n} for n in range(5)], keys), Deadline.after(60))
    assert list(refused.value.rows) == [2, 4]
    assert sorted(documents(url, "long-ids")) == ["a", "b", "é" * 256]


def test_records_older_than_the_document_are_counted(url: str) -> None:
    task, context = task_on(url)
    task.put(batch("older", [{"n": 5}, {"n": 6}], ["a", "b"], start=5), Deadline.after(60))
    assert context.noted == ()
    task.put(batch("older", [{"n": 1}, {"n": 3}], ["a", "c"], start=1), Deadline.after(60))
    assert "a later one: 1." in context.noted[0]
    assert documents(url, "older") == {"a": {"n": 5}, "b": {"n": 6}, "c": {"n": 3}}


def test_a_refused_document_is_a_bad_row_or_left_out(url: str) -> None:
    rows = [{"n": 1}, {"n": "no number"}, {"n": 3}]
    task, _ = task_on(url)
    task.put(batch("refused", [{"n": 0}], ["z"]), Deadline.after(60))
    with pytest.raises(RejectedRowsError, match="mapper_parsing_exception") as refused:
        task.put(batch("refused", rows, ["a", "b", "c"], start=1), Deadline.after(60))
    assert list(refused.value.rows) == [1]
    lenient, context = task_on(url, behavior_on_malformed_documents="warn")
    lenient.put(batch("refused", rows, ["d", "e", "f"], start=4), Deadline.after(60))
    assert sorted(documents(url, "refused")) == ["a", "c", "d", "f", "z"]
    assert "left out: 1" in context.noted[0]


def test_an_index_gets_the_mapping_of_the_schema(url: str) -> None:
    task, _ = task_on(url)
    offsets = pa.array([], pa.int64())
    empty = Batch("Mapped", Column.from_rows([], ROW), consumed=Consumed(TopicPartition("Mapped", 0), offsets, 3))
    task.put(empty, Deadline.after(60))
    row = {"id": 1, "name": "x", "at": None}
    one = batch("Mapped", [row], ["k"])
    values = Column.from_arrow(pa.array([{"id": 1, "name": "x"}]))
    task.put(Batch("Mapped", values, one.keys, consumed=one.consumed), Deadline.after(60))
    found = requests.get(f"{url}/mapped/_mapping", timeout=60).json()["mapped"]["mappings"]["properties"]
    assert (found["id"]["type"], found["name"]["type"]) == ("long", "text")
    assert found["name"]["fields"]["keyword"] == {"type": "keyword", "ignore_above": 256}


def test_check_tells_what_answers(url: str) -> None:
    SearchSinkConnector(SearchSinkConfig.parse({"connection.url": url})).check(Deadline.after(60))
    with pytest.raises(ConfigError, match="Nobody answers"):
        SearchSinkConnector(SearchSinkConfig.parse({"connection.url": "http://127.0.0.1:1"})).check(Deadline.after(60))
    with pytest.raises(ConfigError, match="lets no configuration name the host"):
        SearchSinkConfig.parse({"connection.url": url, "allowed.hosts": "other"})


def test_a_data_stream_of_aivens_keys_is_made_and_has_the_documents(url: str) -> None:
    rows = [{"id": 1, "name": "a", "at": 5}, {"id": 2, "name": None, "at": 6}]
    values = Column.from_rows([{**row, "at": instant(row["at"])} for row in rows], ROW)
    one = timed(replace(batch("_Clicks", rows, ["k", "k"]), values=values))
    for _ in range(2):
        aiven_task_on(url, data_stream_enabled="true", data_stream_prefix="logs-shop").put(one, Deadline.after(60))
    assert streams(url)["logs-shop-clicks"] == "@timestamp"
    assert documents(url, "logs-shop-clicks") == {
        f"_Clicks+0+{i}": {**row, "@timestamp": 7} for i, row in enumerate(rows)
    }
    assert kinds(url, "logs-shop-clicks")["at"] == "date"


def test_a_template_that_is_there_is_taken_for_a_data_stream(url: str) -> None:
    body = {"index_patterns": ["given*"], "data_stream": {}, "template": {"settings": {"number_of_replicas": 0}}}
    requests.put(f"{url}/_index_template/mine", json=body, timeout=60).raise_for_status()
    task = aiven_task_on(url, data_stream_enabled="true", data_streams_existing_index_template_name="mine")
    task.put(timed(batch("given-clicks", [{"n": 1}], ["k"])), Deadline.after(60))
    assert documents(url, "given-clicks") == {"given-clicks+0+0": {"n": 1, "@timestamp": 7}}
    templates = requests.get(f"{url}/_index_template", timeout=60).json()["index_templates"]
    assert "given-clicks-connector-data-stream-template" not in {template["name"] for template in templates}


def test_a_data_stream_takes_the_time_from_the_field_that_is_named(url: str) -> None:
    task = aiven_task_on(url, data_stream_enabled="true", data_stream_timestamp_field="at")
    task.put(timed(batch("of-their-own", [{"at": 5}], ["k"])), Deadline.after(60))
    assert streams(url)["of-their-own"] == "at"
    assert documents(url, "of-their-own") == {"of-their-own+0+0": {"at": 5}}


def test_documents_have_their_keys_as_ids_where_the_strategy_says_so(url: str) -> None:
    task = aiven_task_on(url, key_ignore="true", key_ignore_id_strategy="record.key", behavior_on_null_values="delete")
    task.put(batch("by-key", [{"n": 1}, {"n": 2}, {"n": 3}, None], ["a", "a", "b", "b"]), Deadline.after(60))
    assert documents(url, "by-key") == {"a": {"n": 2}}


def test_an_index_gets_the_mapping_of_rows_that_come_behind_tombstones(url: str) -> None:
    task, _ = task_on(url, behavior_on_null_values="delete")
    for start in range(2):
        task.put(batch("late-schema", [None], ["a"], start=start), Deadline.after(60))
    values = Column.from_rows([{"id": 1, "name": None, "at": instant(5)}], ROW)
    task.put(replace(batch("late-schema", [None], ["a"], start=2), values=values), Deadline.after(60))
    assert kinds(url, "late-schema") == {"id": "long", "name": "text", "at": "date"}


def test_a_data_stream_that_tombstones_made_gets_the_mapping_of_rows_behind_them(url: str) -> None:
    keys = {"data_stream_enabled": "true", "behavior_on_null_values": "ignore"}
    aiven_task_on(url, **keys).put(timed(batch("late-stream", [None], ["a"])), Deadline.after(60))
    assert "late-stream" in streams(url)
    values = Column.from_rows([{"id": 1, "name": None, "at": instant(5)}], ROW)
    for start in (1, 2):
        one = timed(replace(batch("late-stream", [None], ["a"], start=start), values=values))
        aiven_task_on(url, **keys).put(one, Deadline.after(60))
    assert kinds(url, "late-stream") == {"@timestamp": "date", "id": "long", "name": "text", "at": "date"}
    assert len(documents(url, "late-stream")) == 2


def test_a_data_stream_that_somebody_else_has_made_takes_documents(url: str) -> None:
    body = {"index_patterns": ["theirs"], "data_stream": {}}
    requests.put(f"{url}/_index_template/theirs", json=body, timeout=60).raise_for_status()
    requests.put(f"{url}/_data_stream/theirs", timeout=60).raise_for_status()
    task, _ = task_on(url, topic_to_external_resource_mapping="t:theirs", external_resource_usage="DATASTREAM")
    task.put(timed(batch("t", [{"n": 1}], ["k"])), Deadline.after(60))
    assert documents(url, "theirs") == {"t+0+0": {"n": 1, "@timestamp": 7}}


def test_an_index_that_somebody_else_has_to_make_is_not_made(url: str) -> None:
    task, _ = task_on(url, topic_to_external_resource_mapping="t:nowhere", external_resource_usage="INDEX")
    with pytest.raises(ConfigError, match="no index or alias nowhere"):
        task.put(batch("t", [{"n": 1}], ["k"]), Deadline.after(60))
    assert requests.head(f"{url}/nowhere", timeout=60).status_code == 404
