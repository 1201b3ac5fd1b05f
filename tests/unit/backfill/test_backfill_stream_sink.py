"""A lane of the streaming sink writes a batch once, also when it is replayed and when an older run of it wakes up."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pyarrow as pa
import pytest
from fake_lane import TOPIC, Broker, Producer

from connect.api.errors import ConnectError
from connect.backfill.job.chunk import Step
from connect.kafka.client.errors import FencedError
from connect.spark import kafka_sink as sink_of
from connect.spark.sink import KafkaSink, WrittenBatch

ROWS = [pa.record_batch({"value": pa.array([str(n) for n in range(start, start + 10)])}) for start in (0, 10)]
EVERY_ROW = Counter(range(20))


class ClosableProducer(Producer):
    def close(self) -> None:
        pass


@pytest.fixture
def broker(monkeypatch) -> Broker:
    broker = Broker()
    module = "connect.spark.sink"
    monkeypatch.setattr(f"{module}.BatchProducer", lambda own: ClosableProducer(broker, own["transactional.id"]))

    def last_batch(sink: KafkaSink, lane: int) -> WrittenBatch | None:
        found = broker.committed.get("numbers-markers", [])
        return WrittenBatch.of(found[-1][1]) if found else None

    monkeypatch.setattr(KafkaSink, "_last_batch", last_batch)
    return broker


SINK = sink_of("numbers", "k:9092", topic=TOPIC, lanes=1)


def test_a_batch_that_is_replayed_is_skipped_and_the_next_one_is_written(broker: Broker):
    assert SINK.write_lane(0, 0, ROWS).column("rows").to_pylist() == [20]
    assert SINK.write_lane(0, 0, ROWS).column("rows").to_pylist() == [0]
    assert Counter(broker.rows) == EVERY_ROW
    SINK.write_lane(0, 1, ROWS)
    assert Counter(broker.rows) == EVERY_ROW + EVERY_ROW
    with pytest.raises(ConnectError, match="batch 1 already, and is given batch 0"):
        SINK.write_lane(0, 0, ROWS)


def test_a_batch_of_another_query_is_no_replay(broker: Broker):
    SINK.write_lane(0, 0, ROWS, "one")
    assert SINK.write_lane(0, 0, ROWS, "one").column("rows").to_pylist() == [0]
    assert SINK.write_lane(0, 0, ROWS).column("rows").to_pylist() == [0], "nobody knows whose it is"
    for batch in (0, 1):
        with pytest.raises(ConnectError, match=rf"batch 0 of query one .*batch {batch} of query two"):
            SINK.write_lane(0, batch, ROWS, "two")
    assert Counter(broker.rows) == EVERY_ROW


def test_a_marker_of_a_release_that_knew_no_queries_counts():
    assert WrittenBatch.of(b'{"batch":3}') == WrittenBatch(3, "")


@pytest.mark.parametrize("step", [Step.FENCED, Step.MARKERS_READ, Step.ROWS_SENT])
def test_an_older_run_that_wakes_up_behind_its_successor_writes_nothing(broker: Broker, step: Step):
    woken = []

    def sleep_meanwhile(at: Step, _lane: int, _batch: int) -> None:
        if at is step and not woken:
            woken.append(at)
            SINK.write_lane(0, 0, ROWS)

    late = replace(SINK, on_step=sleep_meanwhile)
    if step is Step.FENCED:
        # It looks when the other one is done.
        assert late.write_lane(0, 0, ROWS).column("rows").to_pylist() == [0]
    else:
        with pytest.raises(FencedError):
            late.write_lane(0, 0, ROWS)
    assert woken
    assert Counter(broker.rows) == EVERY_ROW
