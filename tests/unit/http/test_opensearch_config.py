"""Checks that Aiven's keys of the OpenSearch sink mean what they mean in its connector."""

from __future__ import annotations

import json
import ssl
from typing import Any

import pyarrow as pa
import pytest

from connect.api.errors import ConfigError, SchemaError
from connect.api.records import Batch, Column, Consumed, TopicPartition
from connectors.http.search.config import SearchSinkConfig
from connectors.http.search.documents import Documents
from connectors.http.search.opensearch_config import OpenSearchSinkConfig

URL = {"connection.url": "http://os:9200"}


def parsed(**keys: str) -> OpenSearchSinkConfig:
    return OpenSearchSinkConfig.parse({**URL, **{name.replace("_", "."): value for name, value in keys.items()}})


def heads(config: SearchSinkConfig, topic: str = "orders") -> list[dict[str, Any]]:
    """Return the first line of the action of each record: two rows of one key, and its tombstone."""
    consumed = Consumed(TopicPartition(topic, 0), pa.array(range(3), pa.int64()), 3)
    values = Column.from_rows([{"n": 1}, {"n": 2}, None], None)
    batch = Batch(topic, values, Column.from_rows(["k", "k", "k"], None), consumed=consumed)
    actions, bad = Documents(config).actions(batch)
    assert bad == {}
    return [json.loads(action.lines.splitlines()[0]) for action in actions]


@pytest.mark.parametrize(
    ("topic", "name", "of_aiven"),
    [
        ("Orders", "orders", "orders"), ("_orders", "orders", "orders"), ("-orders", "orders", "orders"),
        (".", "dot", "dot"), ("..", "dotdot", "dotdot"), (".orders", ".orders", ".orders"), ("a:b", "a:b", "a_b"),
        ("o" * 260, "o" * 255, "o" * 255),
    ],
)  # fmt: skip
def test_an_index_is_called_as_in_java(topic: str, name: str, of_aiven: str) -> None:
    assert Documents(SearchSinkConfig.parse(URL)).index_of(topic) == name
    assert Documents(parsed()).index_of(topic) == of_aiven


@pytest.mark.parametrize("topic", ["_", "__orders", "-_orders"])
def test_a_topic_whose_name_is_none_of_an_index_is_named(topic: str) -> None:
    with pytest.raises(SchemaError, match="no index can be named"):
        Documents(SearchSinkConfig.parse(URL)).index_of(topic)


def test_the_namespace_of_a_data_stream_has_at_most_100_characters() -> None:
    config = SearchSinkConfig.parse({**URL, "data.stream.type": "LOGS", "data.stream.dataset": "shop"})
    assert Documents(config).index_of("T" * 120) == f"logs-shop-{'t' * 100}"


@pytest.mark.parametrize(
    ("keys", "topic", "stream"),
    [
        ({}, "Clicks", "clicks"), ({"data_stream_prefix": "logs-shop"}, "_clicks", "logs-shop-clicks"),
        ({"data_stream_type": "logs", "data_stream_dataset": "shop"}, "clicks", "logs-shop-clicks"),
    ],
)  # fmt: skip
def test_documents_go_to_data_streams_where_these_are_enabled(keys: dict[str, str], topic: str, stream: str) -> None:
    config = parsed(data_stream_enabled="true", **keys)
    assert heads(config, topic) == [{"create": {"_index": stream, "_id": f"{topic}+0+{i}"}} for i in range(2)]
    template = config.template_of(stream)
    assert template is not None
    assert template.name == f"{stream}-connector-data-stream-template"


def test_a_prefix_alone_makes_no_data_stream() -> None:
    assert [head["index"]["_index"] for head in heads(parsed(data_stream_prefix="logs"))] == ["orders", "orders"]


def stamps(config: OpenSearchSinkConfig, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    consumed = Consumed(TopicPartition("t", 0), pa.array(range(len(rows)), pa.int64()), len(rows))
    times = pa.array([7] * len(rows), pa.int64())
    actions, _ = Documents(config).actions(
        Batch("t", Column.from_rows(rows, None), timestamps_ms=times, consumed=consumed)
    )
    return [json.loads(action.lines.splitlines()[1]) for action in actions]


def test_a_document_has_its_own_timestamp_or_that_of_the_record() -> None:
    config = parsed(data_stream_enabled="true")
    assert stamps(config, [{"n": 1}, {"@timestamp": 3}]) == [{"n": 1, "@timestamp": 7}, {"@timestamp": 3}]


def test_documents_stay_as_they_are_where_another_field_tells_the_time() -> None:
    config = parsed(data_stream_enabled="true", data_stream_timestamp_field="at")
    assert stamps(config, [{"at": 3}, {"n": 1}]) == [{"at": 3}, {"n": 1}]
    template = config.template_of("t")
    assert template is not None
    assert template.timestamp_field == "at"


@pytest.mark.parametrize("ignored", [{"key_ignore": "true"}, {"topic_key_ignore": "orders"}])
def test_ids_are_keys_though_keys_are_ignored_where_the_strategy_says_so(ignored: dict[str, str]) -> None:
    found = heads(parsed(**ignored, key_ignore_id_strategy="record.key", behavior_on_null_values="delete"))
    assert [(kind, head["_id"], head["version"]) for action in found for kind, head in action.items()] == [
        ("index", "k", 0), ("index", "k", 1), ("delete", "k", 2),
    ]  # fmt: skip


@pytest.mark.parametrize("strategy", ["none", "topic.partition.offset"])
def test_ids_are_places_in_kafka_by_the_other_strategies(strategy: str) -> None:
    found = heads(parsed(key_ignore="true", key_ignore_id_strategy=strategy))
    assert found == [{"index": {"_index": "orders", "_id": f"orders+0+{i}"}} for i in range(2)]


def test_deletes_without_keys_are_taken_and_told() -> None:
    config = parsed(key_ignore="true", behavior_on_null_values="delete")
    assert [note.key for note in config.notes()] == ["behavior.on.null.values"]
    with_keys = parsed(key_ignore="true", behavior_on_null_values="delete", key_ignore_id_strategy="record.key")
    assert list(with_keys.notes()) == []
    with pytest.raises(ConfigError, match=r"key\.ignore=false"):
        SearchSinkConfig.parse({**URL, "key.ignore": "true", "behavior.on.null.values": "delete"})


def test_what_is_not_done_is_told() -> None:
    config = OpenSearchSinkConfig.parse(
        {**URL, "routing.enabled": "true", "routing.type": "none", "aws.access_key_id": "id"}
    )
    assert [note.key for note in config.notes()] == ["routing.enabled", "aws.access_key_id"]


def test_the_upsert_of_a_data_stream_is_refused_by_the_name_of_its_key() -> None:
    with pytest.raises(ConfigError) as refused:
        parsed(data_stream_enabled="true", index_write_method="upsert")
    assert [problem.key for problem in refused.value.problems] == ["index.write.method"]


def test_tls_is_spoken_as_aivens_keys_say() -> None:
    assert parsed().tls() == (None, True)
    context, checks_host = parsed(connection_ssl_endpoint_identification_algorithm="").tls()
    assert context is not None
    assert (context.verify_mode, checks_host) == (ssl.CERT_REQUIRED, False)


def test_any_certificate_will_do_where_nothing_else_is_trusted() -> None:
    config = parsed(connection_trust_all_certificates="true")
    context, checks_host = config.tls()
    assert context is not None
    assert (context.verify_mode, context.check_hostname, checks_host) == (ssl.CERT_NONE, False, False)
    assert [note.key for note in config.notes()] == ["connection.trust.all.certificates"]


MAPPED = {**URL, "topic.to.external.resource.mapping": "orders:o"}


def test_what_somebody_else_has_made_is_written_to_as_it_is() -> None:
    ignored = {"behavior.on.null.values": "ignore"}
    stream = SearchSinkConfig.parse({**MAPPED, **ignored, "external.resource.usage": "alias_datastream"})
    assert heads(stream) == [{"create": {"_index": "o", "_id": f"orders+0+{i}"}} for i in range(2)]
    with pytest.raises(ConfigError, match="Topic others has no index"):
        Documents(stream).index_of("others")
    index = SearchSinkConfig.parse({**MAPPED, **ignored, "external.resource.usage": "INDEX"})
    assert [head["index"]["_index"] for head in heads(index)] == ["o", "o"]


def test_another_use_of_what_is_there_is_refused_but_for_aiven() -> None:
    with pytest.raises(ConfigError, match="ALIAS_DATASTREAM"):
        SearchSinkConfig.parse({**URL, "external.resource.usage": "table"})
    assert Documents(parsed(external_resource_usage="index")).index_of("orders") == "orders"
