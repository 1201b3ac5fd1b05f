"""Keys of converters and of clients that nobody takes are told, and no others."""

from __future__ import annotations

import pytest
from sample_plugins import FILE_SINK, FILE_SOURCE, JSON, STRING, catalog, worker_config

from connect.cluster.validation.check import Validator
from connect.cluster.validation.client_settings import client_notes
from connect.plugins.catalog import Catalog


def told(cls: str, **keys: str) -> tuple[str, ...]:
    given = {"name": "k", "connector.class": cls, "topics" if cls == FILE_SINK else "topic": "a", **keys}
    return Validator(catalog(), worker_config()).validate(given).notes


def test_a_misspelt_key_of_a_converter_is_told() -> None:
    (note,) = told(FILE_SOURCE, **{"value.converter": JSON, "value.converter.schemas.enabel": "x"})
    assert note == (
        f"value.converter.schemas.enabel: {JSON} has no such key, so it has no effect. "
        "Is value.converter.schemas.enable meant?"
    )


@pytest.mark.parametrize("key", ["schemas.enable", "plugin.version", "converter.type"])
def test_what_other_converters_take_is_not_told(key: str) -> None:
    assert told(FILE_SOURCE, **{"value.converter": STRING, f"value.converter.{key}": "x"}) == ()


@pytest.mark.parametrize(
    ("cls", "key", "meant"),
    [
        (FILE_SOURCE, "producer.override.linger.msx", "linger.ms"),
        (FILE_SOURCE, "producer.override.max.requets.size", "max.request.size"),
        (FILE_SINK, "consumer.override.fetch.min.byts", "fetch.min.bytes"),
    ],
)
def test_a_misspelt_setting_of_a_client_is_told(cls: str, key: str, meant: str) -> None:
    prefix = ".".join(key.split(".")[:2])
    (note,) = told(cls, **{key: "5"})
    assert note == f"{key}: the client has no such setting, so it has no effect. Is {prefix}.{meant} meant?"


@pytest.mark.parametrize("key", ["linger.ms", "metric.reporters", "max.block.ms", "security.protocol"])
def test_settings_that_a_client_has_or_needs_not_are_not_told(key: str) -> None:
    value = "PLAINTEXT" if key == "security.protocol" else "5"
    assert told(FILE_SOURCE, **{f"producer.override.{key}": value}) == ()


def test_settings_of_a_consumer_that_a_source_does_not_have_are_told() -> None:
    keys = {"consumer.override.max.poll.records": "5", "consumer.override.fetch.min.bytes": "1"}
    (note,) = told(FILE_SOURCE, **keys)
    assert note == (
        "consumer.override.fetch.min.bytes, consumer.override.max.poll.records: no effect without "
        "offsets.storage.topic, as the worker reads the offsets of its sources by its own client."
    )
    assert told(FILE_SINK, **keys) == ()
    assert told(FILE_SOURCE, **keys, **{"offsets.storage.topic": "own"}) == ()
    assert told(FILE_SOURCE, **keys, **{"producer.override.bootstrap.servers": "k2:9092"}) == ()


def test_settings_of_the_consumer_of_a_source_that_reads_topics_are_not_told() -> None:
    given = {"consumer.override.max.poll.records": "5"}
    plugins = Catalog.installed()
    found = {
        name: [*client_notes(plugins.connector(name), given, worker_config())]
        for name in ("CassandraDedupConnector", "JdbcSourceConnector")
    }
    assert {name: len(notes) for name, notes in found.items()} == {
        "CassandraDedupConnector": 0,
        "JdbcSourceConnector": 1,
    }
