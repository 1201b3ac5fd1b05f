"""Documents of records: what a bulk request says of each."""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from connect.api import schema as s
from connect.api.records import Batch, Column, Consumed, TopicPartition
from connectors.http.search.config import SearchSinkConfig
from connectors.http.search.documents import Documents

TP = TopicPartition("orders", 0)
ORDER = s.struct({"id": s.INT32, "price": s.decimal(18)})


def lines(values: Sequence[Any], schema: s.Schema | None = None, **keys: str) -> list[Any]:
    given = {name.replace("_", "."): value for name, value in keys.items()}
    config = SearchSinkConfig.parse({"connection.url": "http://es:9200", "key.ignore": "true", **given})
    offsets = pa.array(range(len(values)), pa.int64())
    times = pa.array([5] * len(values), pa.int64())
    batch = Batch(
        "orders", Column.from_rows(values, schema), timestamps_ms=times, consumed=Consumed(TP, offsets, len(values))
    )
    actions, bad = Documents(config).actions(batch)
    assert bad == {}
    return [line for action in actions for line in action.lines.splitlines()]


STREAM = {"data_stream_type": "logs", "data_stream_dataset": "shop"}


def test_a_document_of_a_stream_keeps_the_digits_of_its_numbers() -> None:
    row = {"id": 1, "price": Decimal("1234567890.123456789012345678")}
    action, document = lines([row], ORDER, **STREAM)
    assert json.loads(action) == {"create": {"_index": "logs-shop-orders", "_id": "orders+0+0"}}
    assert json.loads(document, parse_float=Decimal) == {"@timestamp": 5, **row}


@pytest.mark.parametrize(
    ("value", "stamp"), [({}, 5), ({"at": "noon", "b": 1}, "noon"), ({"@timestamp": 3, "b": 1}, 5)]
)
def test_a_document_of_a_stream_has_one_timestamp(value: dict[str, Any], stamp: object) -> None:
    _, document = lines([value], **STREAM, data_stream_timestamp_field="at")
    pairs = json.loads(document, object_pairs_hook=list)
    assert len(pairs) == len(dict(pairs))
    assert dict(pairs) == {**value, "@timestamp": stamp}
