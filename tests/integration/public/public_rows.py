"""Makes rows that fit a public configuration, and writes them with Confluent's clients as its converters expect
them.
"""

from __future__ import annotations

import base64
import io
import json
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import fastavro
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient

JSON = "org.apache.kafka.connect.json.JsonConverter"
AVRO = "io.confluent.connect.avro.AvroConverter"
CLOUD_EVENTS = "io.debezium.converters.CloudEventsConverter"
STRING = "org.apache.kafka.connect.storage.StringConverter"
_NUMBERS = {
    "org.apache.kafka.connect.converters.LongConverter": ">q",
    "org.apache.kafka.connect.converters.IntegerConverter": ">i",
}
_TYPES = {int: ("int64", "long"), float: ("double", "double"), str: ("string", "string")}
FEW_ROWS = 48
"""This is a multiple of the small values of flush.size in the corpus."""


def orders(config: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return rows with all fields that transforms of the corpus name, enough for whole batches of flush.size."""
    count = max(FEW_ROWS, int(config.get("flush.size", FEW_ROWS)))
    row = {
        "product": "Oatmeal Stout", "item": "A", "amount": 0.0, "cost": 1.5, "txn_date": "Mon Jan 01 10:00:00 UTC 2024",
        "cc_num": "4111", "cc_exp": "12/30", "card_type": "visa", "fullAddress": "1 High Street",
        "delivery_address": "2 Low Street", "CREATE_TS": 1704103200000,
    }  # fmt: skip
    if any(value.startswith("org.apache.kafka.connect.transforms.Flatten") for value in config.values()):
        row["customer"] = {"name": "Ada", "city": "London"}
    gone = {*_renamed_to(config)}
    named = "item" if "product" in gone else "product"
    rows = [{"id": n, **row, "amount": n * 7.5, named: ("Stout", "Pale Ale")[n % 2]} for n in range(count)]
    return [{name: value for name, value in row.items() if name not in gone} for row in rows]


def _renamed_to(config: Mapping[str, str]) -> Iterator[str]:
    for name, value in config.items():
        if name.endswith(".renames"):
            yield from (pair.partition(":")[2] for pair in value.split(","))


def told(rows: Iterable[Mapping[str, Any]]) -> list[tuple[int, str]]:
    """Return the part of rows that is compared, whatever transforms did with the rest."""
    return sorted((int(row["id"]), str(row.get("product", row.get("item")))) for row in rows)


@dataclass(frozen=True)
class Topics:
    """Knows a Kafka whose records have schemas in a registry."""

    bootstrap_servers: str
    registry_url: str

    def fill(self, topic: str, config: Mapping[str, str], rows: Sequence[Mapping[str, Any]]) -> None:
        """Make the topic, and write the rows so that the converters of the configuration can read them."""
        admin = AdminClient(self._client())
        (made,) = admin.create_topics([NewTopic(topic, 1, 1)]).values()
        made.result(60)
        producer = Producer({**self._client(), "queue.buffering.max.messages": 200_000})
        keys, values = self._writer(topic, config, "key"), self._writer(topic, config, "value")
        for row in rows:
            producer.produce(topic, values(row), keys({"id": row["id"]}))
        assert producer.flush(60) == 0

    def read(self, topics: Iterable[str], config: Mapping[str, str]) -> list[Any]:
        """Return the values of all records of these topics; tombstones are left out."""
        consumer = Consumer({**self._client(), "group.id": "looking-on", "enable.auto.commit": False})
        try:
            texts = [text for topic in topics for text in _values(consumer, topic)]
        finally:
            consumer.close()
        return [self._decoded(config, text) for text in texts if text is not None]

    def _client(self) -> dict[str, Any]:
        return {"bootstrap.servers": self.bootstrap_servers}

    def _writer(self, topic: str, config: Mapping[str, str], part: str) -> Any:
        converter = config.get(f"{part}.converter", JSON)
        if converter == AVRO:
            return _AvroWriter(self.registry_url, f"{topic}-{part}")
        if converter == STRING:
            return lambda row: str(row["id"]) if part == "key" else json.dumps(row)
        if converter in _NUMBERS:
            return lambda row: struct.pack(_NUMBERS[converter], row["id"])
        if config.get(f"{part}.converter.schemas.enable", "true") == "false":
            return json.dumps
        return lambda row: json.dumps({"schema": _json_schema(row), "payload": row})

    def _decoded(self, config: Mapping[str, str], text: bytes) -> Any:
        converter = config.get("value.converter", JSON)
        if converter == AVRO:
            return self._avro(text)
        if converter == CLOUD_EVENTS:
            return self._event_data(config, text)
        if converter == STRING:
            return text.decode()
        value = json.loads(text)
        return value if config.get("value.converter.schemas.enable", "true") == "false" else value["payload"]

    def _avro(self, text: bytes) -> Any:
        schema = _schema_of(self.registry_url, int.from_bytes(text[1:5], "big"))
        return fastavro.schemaless_reader(io.BytesIO(text[5:]), schema, None)

    def _event_data(self, config: Mapping[str, str], text: bytes) -> Any:
        is_avro = config.get("value.converter.serializer.type") == "avro"
        data = (self._avro(text) if is_avro else json.loads(text))["data"]
        if config.get("value.converter.data.serializer.type") == "avro":
            return self._avro(data if is_avro else base64.b64decode(data))
        return data if config.get("value.converter.json.schemas.enable", "true") == "false" else data["payload"]


@cache
def _schema_of(registry_url: str, number: int) -> Any:
    found = SchemaRegistryClient({"url": registry_url}).get_schema(number).schema_str
    return fastavro.parse_schema(json.loads(found or ""))


class _AvroWriter:
    def __init__(self, registry_url: str, subject: str) -> None:
        self._registry = SchemaRegistryClient({"url": registry_url})
        self._subject = subject
        self._begin = b""
        self._schema: Any = None

    def __call__(self, row: Mapping[str, Any]) -> bytes:
        if self._schema is None:
            schema = _avro_schema(row, "Order")
            number = self._registry.register_schema(self._subject, Schema(json.dumps(schema), "AVRO"))
            self._begin, self._schema = b"\0" + number.to_bytes(4, "big"), fastavro.parse_schema(schema)
        text = io.BytesIO()
        fastavro.schemaless_writer(text, self._schema, row)
        return self._begin + text.getvalue()


def _json_schema(row: Mapping[str, Any]) -> dict[str, Any]:
    fields = [
        {"field": name, **(_json_schema(value) if isinstance(value, dict) else {"type": _TYPES[type(value)][0]})}
        for name, value in row.items()
    ]
    return {"type": "struct", "fields": fields}


def _avro_schema(row: Mapping[str, Any], name: str) -> dict[str, Any]:
    fields = [
        {"name": key, "type": _avro_schema(value, key) if isinstance(value, dict) else _TYPES[type(value)][1]}
        for key, value in row.items()
    ]
    return {"type": "record", "name": name, "fields": fields}


def _values(consumer: Consumer, topic: str) -> Iterator[bytes | None]:
    for number in consumer.list_topics(topic, timeout=30).topics[topic].partitions:
        partition = TopicPartition(topic, number, 0)
        end = consumer.get_watermark_offsets(partition, timeout=30)[1]
        if not end:
            continue
        consumer.assign([partition])
        while consumer.position([partition])[0].offset < end:
            message = consumer.poll(60.0)
            assert message is not None, f"Nothing came of {topic}-{number} before offset {end} in 60 s."
            assert message.error() is None, message.error()
            yield message.value()
