"""Checks what rows of Spark become for Kafka: by topic, tombstones kept, and nothing guessed."""

from __future__ import annotations

import pyarrow as pa
import pytest

from connect.api.errors import ConnectError
from connect.spark import kafka_sink
from connect.spark.sink import records_of


def batch(**columns: list[object]) -> pa.RecordBatch:
    return pa.record_batch({name: pa.array(values, pa.string()) for name, values in columns.items()})


def test_rows_go_to_the_topic_of_the_sink_or_to_their_own():
    rows = batch(key=["a", "b", "c"], value=["1", None, "3"], topic=["x", None, "x"])
    made = {raw.topic: (raw.keys.to_pylist(), raw.values.to_pylist()) for raw in records_of(rows, "t")}
    assert made == {"x": ([b"a", b"c"], [b"1", b"3"]), "t": ([b"b"], [None])}
    (plain,) = records_of(batch(value=["1"]), "t")
    assert (plain.topic, plain.keys, plain.values.to_pylist()) == ("t", None, [b"1"])


def test_a_row_without_a_topic_is_refused():
    with pytest.raises(ConnectError, match="rows without a topic"):
        list(records_of(batch(value=["1"]), None))


def test_settings_of_the_client_are_hidden_and_reach_each_client():
    sink = kafka_sink("totals", "k:9092", topic="t", client={"sasl.jaas.config": "hunter2"})
    assert "hunter2" not in repr(sink)
    assert sink.client_settings["producer.sasl.jaas.config"] == "hunter2"
