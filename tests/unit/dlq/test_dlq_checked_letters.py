"""A sink's letter is checked by what its connector does to the record that it was made of, and not to the letter."""

from __future__ import annotations

import pyarrow as pa
import pytest

from connect.dlq.current_pipelines import LetterRefusedError, _checked_by, _refuse
from connect.dlq.letter import Letter, letters_in
from connect.kafka.raw import RawBatch
from connect.plugins.catalog import Catalog
from connect.runtime.parts.task_parts import build_chain, build_converters
from connect.runtime.records.pipeline import SinkPipeline
from connect.runtime.settings.connector_config import SinkConnectorConfig

JSON = "org.apache.kafka.connect.json.JsonConverter"
STRING = "org.apache.kafka.connect.storage.StringConverter"
CAST_OF_ORDERS = {
    "transforms": "cast",
    "transforms.cast.type": "org.apache.kafka.connect.transforms.Cast$Value",
    "transforms.cast.spec": "int8",
    "transforms.cast.predicate": "orders",
    "predicates": "orders",
    "predicates.orders.type": "org.apache.kafka.connect.transforms.predicates.TopicNameMatches",
    "predicates.orders.pattern": "orders",
}


def pipeline(**settings: str) -> SinkPipeline:
    raw = {
        "name": "n", "connector.class": "c", "topics": "orders", "key.converter": STRING, "value.converter": STRING,
        **settings,
    }  # fmt: skip
    config, catalog = SinkConnectorConfig.parse(raw), Catalog.installed()
    return SinkPipeline(build_chain(catalog, config, {}), build_converters(catalog, raw, {}), _refuse)


def letter(value: bytes, topic: str, **own_headers: bytes) -> Letter:
    context = {"topic": topic, "partition": "2", "offset": "9", "connector.name": "n", "stage": "TASK_PUT"}
    told = [(f"__connect.errors.{name}", text.encode()) for name, text in context.items()]
    raw = RawBatch(
        "dlq", pa.array([value], pa.binary()), headers=[[*own_headers.items(), *told]],
        timestamps_ms=pa.array([5], pa.int64()), partition=0, offsets=pa.array([17], pa.int64()), next_offset=18,
    )  # fmt: skip
    return letters_in(raw)[0]


def test_transforms_that_look_at_the_topic_see_that_of_the_record():
    sink = pipeline(**CAST_OF_ORDERS)
    with pytest.raises(LetterRefusedError, match="Still bad: TRANSFORMATION"):
        _checked_by(sink, letter(b"300", "orders"))
    (mended,) = _checked_by(sink, letter(b"300", "others"))
    assert (mended.topic, mended.partition, mended.values.to_pylist(), mended.offsets) == ("others", 2, [b"300"], None)


def test_a_converter_of_headers_gets_those_of_the_record_alone():
    sink = pipeline(**{"header.converter": JSON})
    (mended,) = _checked_by(sink, letter(b"v", "orders", trace=b'{"schema":null,"payload":1}'))
    assert mended.headers == [[("trace", b'{"schema":null,"payload":1}')]]
    with pytest.raises(LetterRefusedError, match="Still bad: HEADER_CONVERTER"):
        _checked_by(sink, letter(b"v", "orders", trace=b"{"))
