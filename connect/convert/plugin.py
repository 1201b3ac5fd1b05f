"""Declares the built-in converters and header converters."""

from __future__ import annotations

from connect.api.plugin import Plugin, PluginKind, hookimpl

KAFKA_VERSION = "4.1.0"
CONFLUENT_VERSION = "8.3.0"
_HERE = "connect.convert."
_CONNECT = "org.apache.kafka.connect."
_CONFLUENT = "io.confluent.connect."
_BOTH: tuple[tuple[str, str, str, str], ...] = (
    (
        "json.JsonConverter",
        "json.converter:json",
        "plain.config:JsonConfig",
        "JSON, with or without a schema in every message.",
    ),
    ("storage.StringConverter", "plain.raw:string", "plain.config:StringConfig", "The text of a value; reads strings."),
    ("converters.ByteArrayConverter", "plain.raw:byte_array", "plain.config:NoConfig", "Bytes as they are."),
    ("converters.BooleanConverter", "plain.primitives:boolean", "plain.config:NoConfig", "One byte, 0 or 1."),
    ("converters.ShortConverter", "plain.primitives:short", "plain.config:NoConfig", "16-bit integers, big-endian."),
    (
        "converters.IntegerConverter",
        "plain.primitives:integer",
        "plain.config:NoConfig",
        "32-bit integers, big-endian.",
    ),
    ("converters.LongConverter", "plain.primitives:long", "plain.config:NoConfig", "64-bit integers, big-endian."),
    (
        "converters.FloatConverter",
        "plain.primitives:float32",
        "plain.config:NoConfig",
        "32-bit IEEE 754 numbers, big-endian.",
    ),
    (
        "converters.DoubleConverter",
        "plain.primitives:float64",
        "plain.config:NoConfig",
        "64-bit IEEE 754 numbers, big-endian.",
    ),
)

_REGISTRY: tuple[tuple[str, str, str, str], ...] = (
    (
        "json.JsonSchemaConverter",
        "json_schema.converter:json_schema",
        "json_schema.config:JsonSchemaConfig",
        "JSON, its JSON Schemas in a schema registry.",
    ),
    (
        "protobuf.ProtobufConverter",
        "protobuf.converter:protobuf",
        "protobuf.config:ProtobufConfig",
        "Protobuf, its schemas in a schema registry.",
    ),
    ("avro.AvroConverter", "avro.converter:avro", "avro.config:AvroConfig", "Avro, its schemas in a schema registry."),
)


@hookimpl
def connect_plugins() -> list[Plugin]:
    """Return every converter under both kinds, as in Java, and the SimpleHeaderConverter."""
    plugins = []
    for name, factory, config, doc in _BOTH:
        plugins += _as_both(_CONNECT + name, factory, config, KAFKA_VERSION, doc)
    for name, factory, config, doc in _REGISTRY:
        plugins += _as_both(_CONFLUENT + name, factory, config, CONFLUENT_VERSION, doc)
    name, doc = "io.debezium.converters.CloudEventsConverter", "Change events as CloudEvents, in JSON or Avro."
    told = "Use JsonConverter with schemas.enable=false for events in JSON, AvroConverter for those in Avro."
    doc += " Sinks read them by JsonConverter with schemas.enable=false, or by AvroConverter; none can have this one."
    target = "cloudevents.converter:cloud_events"
    plugins += _as_both(name, target, "cloudevents.config:CloudEventsConfig", KAFKA_VERSION, doc, read_by=told)
    simple = _CONNECT + "storage.SimpleHeaderConverter"
    doc = "Header values as text; the type is inferred when read."
    target = "connect.convert.plain.simple_header:simple_header"
    plugins.append(
        Plugin(PluginKind.HEADER_CONVERTER, simple, target, f"{_HERE}plain.config:NoConfig", KAFKA_VERSION, doc)
    )
    return plugins


def _as_both(name: str, factory: str, config: str, version: str, doc: str, *, read_by: str = "") -> list[Plugin]:
    target, settings = _HERE + factory, _HERE + config
    return [
        Plugin(PluginKind.CONVERTER, name, target, settings, version, doc, read_by=read_by),
        Plugin(PluginKind.HEADER_CONVERTER, name, f"{target}_header", settings, version, doc, read_by=read_by),
    ]
