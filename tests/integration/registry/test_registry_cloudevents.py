"""Checks CloudEvents in Avro on a real registry: Confluent's deserializer reads them, and their schemas are
Debezium's.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext

from connect.api import schema as s
from connect.api.records import Column
from connect.tools.services import RegistryEndpoint

CONVERTER = "io.debezium.converters.CloudEventsConverter"
ROW = s.struct({"a": s.INT32.as_optional()}, name="shop.public.t.Value", optional=True)
SOURCE = s.struct(
    {
        "version": s.STRING, "connector": s.STRING, "name": s.STRING, "ts_ms": s.INT64,
        "snapshot": s.STRING.as_optional(), "db": s.STRING, "sequence": s.STRING.as_optional(),
        "txId": s.INT64.as_optional(), "lsn": s.INT64.as_optional(),
    },
    name="io.debezium.connector.postgresql.Source",
)  # fmt: skip
EVENT = s.struct({"before": ROW, "after": ROW, "source": SOURCE, "op": s.STRING}, name="shop.public.t.Envelope")
ROWS = [
    {
        "before": None, "after": {"a": number}, "op": "c",
        "source": {
            "version": "3.7.0.Final", "connector": "postgresql", "name": "shop", "ts_ms": 1_795_502_726_358,
            "snapshot": None, "db": "orders", "sequence": None, "txId": 7, "lsn": number,
        },
    }
    for number in (1, 2)
]  # fmt: skip


@pytest.mark.parametrize("form", ["json", "avro"])
def test_confluents_deserializer_reads_events_and_their_data(
    make_converter: Callable[..., Any], registry: RegistryEndpoint, peer: SchemaRegistryClient, unique: str, form: str
) -> None:
    given = {"avro.schema.registry.url": registry.url, "data.serializer.type": "avro", "serializer.type": form}
    written = make_converter(CONVERTER, **given).encode(unique, Column.from_rows(ROWS, EVENT)).to_pylist()
    read, value = AvroDeserializer(peer), SerializationContext(unique, MessageField.VALUE)
    for number, text in enumerate(written, 1):
        event = read(text, value) if form == "avro" else json.loads(text)
        data = event["data"] if form == "avro" else base64.b64decode(event["data"])
        assert read(data, value) == {"before": None, "after": {"a": number}}
        assert event["id"] == f"name:shop;lsn:{number};txId:7;sequence:null"
        assert event["dataschema"] == f"{registry.url}/schemas/ids/{int.from_bytes(data[1:5], 'big')}"
        assert (event["datacontenttype"], event["iodebeziumlsn"]) == ("application/avro", str(number))
    subject = f"{unique}-data-value" if form == "avro" else f"{unique}-value"
    assert json.loads(peer.get_latest_version(subject).schema.schema_str)["name"] == "Data"
    if form == "avro":
        schema = json.loads(peer.get_latest_version(f"{unique}-value").schema.schema_str)
        assert schema["connect.name"] == "shop.orders.CloudEvents.Envelope"
        kinds = {field["name"]: field["type"] for field in schema["fields"]}
        assert (kinds["data"], kinds["iodebeziumtsms"]) == ("bytes", "string")
        assert kinds["iodebeziumlsn"] == kinds["iodebeziumtxid"] == ["null", "string"]
