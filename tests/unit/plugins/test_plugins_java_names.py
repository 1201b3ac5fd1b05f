"""Checks that the plug-ins which a configuration for Kafka Connect names are here, by the Java class's own name."""

from __future__ import annotations

import pytest

from connect.api.plugin import PluginKind
from connect.plugins.catalog import Catalog

pytestmark = pytest.mark.thorough

KAFKA, CONFLUENT = "org.apache.kafka.connect.", "io.confluent.connect."
TRANSFORMS = f"{KAFKA}transforms."
BOTH_SIDES = (
    "Cast", "ExtractField", "Flatten", "HeaderFrom", "HoistField", "InsertField", "MaskField", "ReplaceField",
    "SetSchemaMetadata", "TimestampConverter",
)  # fmt: skip
PLAIN = ("DropHeaders", "Filter", "InsertHeader", "RegexRouter", "TimestampRouter", "ValueToKey")
CONVERTERS = (
    f"{KAFKA}json.JsonConverter", f"{KAFKA}storage.StringConverter",
    *(f"{KAFKA}converters.{kind}Converter"
      for kind in ("ByteArray", "Boolean", "Short", "Integer", "Long", "Float", "Double")),
    f"{CONFLUENT}avro.AvroConverter", f"{CONFLUENT}protobuf.ProtobufConverter", f"{CONFLUENT}json.JsonSchemaConverter",
)  # fmt: skip
NAMES = (
    *((f"{TRANSFORMS}{name}${side}", PluginKind.TRANSFORMATION) for name in BOTH_SIDES for side in ("Key", "Value")),
    *((f"{TRANSFORMS}{name}", PluginKind.TRANSFORMATION) for name in PLAIN),
    ("io.debezium.transforms.ExtractNewRecordState", PluginKind.TRANSFORMATION),
    *((f"{TRANSFORMS}predicates.{name}", PluginKind.PREDICATE)
      for name in ("TopicNameMatches", "HasHeaderKey", "RecordIsTombstone")),
    *((name, PluginKind.CONVERTER) for name in CONVERTERS),
    *((name, PluginKind.HEADER_CONVERTER) for name in (*CONVERTERS, f"{KAFKA}storage.SimpleHeaderConverter")),
    (f"{CONFLUENT}jdbc.JdbcSourceConnector", PluginKind.SOURCE),
    (f"{CONFLUENT}s3.S3SinkConnector", PluginKind.SINK),
    (f"{KAFKA}file.FileStreamSourceConnector", PluginKind.SOURCE),
    (f"{KAFKA}file.FileStreamSinkConnector", PluginKind.SINK),
)  # fmt: skip


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return Catalog.installed()


@pytest.mark.parametrize(("name", "kind"), NAMES, ids=str)
def test_a_java_class_is_here_and_can_be_made(catalog: Catalog, name: str, kind: PluginKind) -> None:
    plugin = catalog.find(name, kind)
    assert plugin is not None
    assert callable(Catalog.load(plugin))
