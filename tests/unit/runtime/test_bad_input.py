"""Checks what a person reads when a record is bad: where, what, and what to do. The records before it go on."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest

from connect.api import schema as s
from connect.api.records import Batch, Column
from connect.kafka.raw import RawBatch
from connect.plugins.catalog import Catalog
from connect.runtime.parts.task_parts import build_converters
from connect.runtime.records.chain import Link
from connect.runtime.records.pipeline import SinkPipeline, SourcePipeline
from connect.runtime.records.record_sizes import RecordSizes, RecordTooLargeError
from connect.runtime.records.source_letters import SourceDeadLetters
from connect.runtime.records.tolerance import Tolerance, ToleranceExceededError
from connect.runtime.settings.connector_config import SinkConnectorConfig, SourceConnectorConfig
from connect.runtime.settings.internal_topics import ReservedTopics
from connect.runtime.settings.worker_config import WorkerConfig
from connect.runtime.task.task_id import TaskId
from connect.runtime.task.task_metrics import TaskFigures

JSON, STRING = "org.apache.kafka.connect.json.JsonConverter", "org.apache.kafka.connect.storage.StringConverter"
WORKER = WorkerConfig.parse({
    "bootstrap.servers": "127.0.0.1:1", "group.id": "g", "config.storage.topic": "c", "offset.storage.topic": "o",
    "status.storage.topic": "s", "key.converter": JSON, "value.converter": JSON,
})  # fmt: skip
SCHEMALESS = {"value.converter": JSON, "value.converter.schemas.enable": "false"}
ENVELOPED = {"value.converter": JSON}


def sink(settings, links=()):
    raw = {"name": "n", "connector.class": "c", "topics": "orders", "key.converter": STRING, **settings}
    tolerance = Tolerance(SinkConnectorConfig.parse(raw), TaskFigures(), None)
    return SinkPipeline(list(links), build_converters(Catalog.installed(), raw, {}), tolerance.give_up)


def records(*values):
    offsets = pa.array(range(40, 40 + len(values)), pa.int64())
    data = pa.array(values, pa.binary())
    return RawBatch("orders", data, partition=3, offsets=offsets, next_offset=40 + len(values))


def envelope(kind, payload):
    return b'{"schema":{"type":"%s"},"payload":%s}' % (kind.encode(), payload.encode())


@pytest.mark.parametrize(
    ("settings", "good", "bad", "said"),
    [
        (SCHEMALESS, b'{"a":1}', b"\xff\xfe", "serialization error: the bytes are no UTF-8 text at byte 0 (invalid"),
        (SCHEMALESS, b'{"a":1}', b'{"a":"\xff"}', "the bytes are no UTF-8 text at byte 6 (invalid start byte). Mend"),
        (SCHEMALESS, b'{"a":1}', b'{"a":1} tail', "there is more behind the JSON value, from character 8 on. Mend"),
        (SCHEMALESS, b'{"a":1}', b'{"a":1', "Expecting ',' delimiter: line 1 column 7 (char 6). Mend"),
        (SCHEMALESS, b'{"a":1}', b'{"a":1e400}', "1E+400 is out of range for float64"),
        (
            {"value.converter": STRING},
            b"a",
            b"\xc3\x28",
            "The bytes are no utf-8 text at byte 0: invalid continuation byte.",
        ),
        (ENVELOPED, envelope("int8", "1"), envelope("int8", "300"), "300 is out of range for int8."),
        (ENVELOPED, envelope("int32", "1"), envelope("int32", "2147483648"), "2147483648 is out of range for int32."),
        (ENVELOPED, envelope("int64", "1"), envelope("int64", str(2**63)), f"{2**63} is out of range for int64."),
        (ENVELOPED, envelope("float", "1.5"), envelope("float", "1e39"), "1E+39 is out of range for float32."),
        (ENVELOPED, envelope("string", '"a"'), envelope("int32", '"abc"'), "expected int32, found STRING 'abc'."),
        (ENVELOPED, envelope("string", '"a"'), b'{"a":1}', 'requires \\"schema\\" and \\"payload\\"'),
    ],
)
def test_a_record_that_cannot_be_read_is_named_with_its_place(settings, good, bad, said):
    with pytest.raises(ToleranceExceededError) as caught:
        sink(settings).decode(records(good, bad, good))
    text = str(caught.value)
    assert text.startswith("Tolerance exceeded in error handler: VALUE_CONVERTER by org.apache.kafka.connect.")
    assert said in text.replace('"schema"', '\\"schema\\"').replace('"payload"', '\\"payload\\"')
    assert "orders-3@41" in text
    assert text.endswith("or set errors.tolerance=all with errors.deadletterqueue.topic.name to set it aside.")
    (batch,) = sink({**settings, "errors.tolerance": "all"}).decode(records(good, bad, good))
    assert batch.consumed.offsets.to_pylist() == [40, 42]
    assert batch.consumed.next_offset == 43


class Raises:
    def apply(self, batch):
        if any(row["a"] == 2 for row in batch.values.rows()):
            raise KeyError("who knows")
        return [batch]


class Gives:
    def __init__(self, made):
        self.made = made

    def apply(self, batch):
        return self.made(batch)


@pytest.mark.parametrize(
    ("transform", "said"),
    [
        (Raises(), "TRANSFORMATION by my.Transform failed for orders-3@41: KeyError: 'who knows'"),
        (Gives(lambda batch: None), "my.Transform gave a NoneType where it must give a list of batches."),
        (Gives(lambda batch: batch), "my.Transform gave a Batch where it must give a list of batches."),
        (Gives(lambda batch: ["x"]), "my.Transform gave a list with a str where it must give a list of batches."),
        (Gives(lambda batch: [replace(batch, consumed=None)]), "a batch without `consumed`"),
    ],
)
def test_a_transform_that_raises_or_gives_nonsense_is_named(transform, said):
    values = [b'{"a":1}', b'{"a":2}', b'{"a":3}']
    with pytest.raises(ToleranceExceededError) as caught:
        sink(SCHEMALESS, [Link("my.Transform", transform)]).decode(records(*values))
    assert said in str(caught.value)


def source(limit_bytes, **settings):
    raw = {"name": "n", "connector.class": "c", "key.converter": STRING, "value.converter": STRING, **settings}
    converters = build_converters(Catalog.installed(), raw, {})
    sizes = RecordSizes(limit_bytes, {"orders": "2000"}.get)
    letters = SourceDeadLetters("dlq", TaskId("n", 0), converters.header, context_headers=True, sizes=sizes)
    tolerance = Tolerance(SourceConnectorConfig.parse(raw), TaskFigures(), letters.add)
    return SourcePipeline([], converters, tolerance.give_up, letters, sizes=sizes, reserved=ReservedTopics(WORKER))


def texts(*sizes):
    return Batch("orders", Column.from_rows(["x" * size for size in sizes], s.STRING))


def test_a_record_that_is_too_large_is_told_with_both_limits():
    with pytest.raises(ToleranceExceededError) as caught:
        source(1000).encode(texts(900, 1001))
    assert (
        "KAFKA_PRODUCE by org.apache.kafka.clients.producer.KafkaProducer failed for orders: RecordTooLargeError: "
        "The record of 1001 bytes is too large. The producer takes max.request.size=1000 bytes, "
        "topic orders max.message.bytes=2000. Raise both, or make the record smaller."
    ) in str(caught.value)


def test_a_record_that_is_too_large_is_set_aside_with_its_start():
    encoded = source(20_000, **{"errors.tolerance": "all"}).encode(texts(900, 30_000, 5))
    assert [len(value) for raw in encoded.rows for value in raw.values.to_pylist()] == [900, 5]
    (letter,) = encoded.letters
    headers = dict(letter.headers[0])
    assert len(letter.values[0].as_py()) == 10_000
    assert headers["__connect.errors.source.format"] == b"text"
    assert headers["__connect.errors.stage"] == b"KAFKA_PRODUCE"


def test_what_the_broker_refuses_is_told_with_both_limits():
    from connect.api.errors import ConnectError

    sizes = RecordSizes(5000, {"orders": "2000"}.get)
    sizes.check(RawBatch("orders", pa.array([b"x"], pa.binary())))
    refused = ConnectError("Failed writing.", key="producer.override.max.request.size", fix="Raise it.")
    found = sizes.explained(refused)
    assert isinstance(found, RecordTooLargeError)
    assert str(found) == (
        "Failed writing. The producer takes max.request.size=5000 bytes, topic orders max.message.bytes=2000. Raise it."
    )
    other = ConnectError("Something else.")
    assert sizes.explained(other) is other
