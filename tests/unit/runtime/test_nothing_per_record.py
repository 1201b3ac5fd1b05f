"""Checks that no line of the product runs once per record: what a task counts, tells and times grows with batches
alone.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

import pyarrow as pa
import pytest
from fake_kafka import FakeConsumer, FakeKafka, FakeOffsets

import connect
from connect.api import schema as s
from connect.api.records import Batch, Column, SourcePosition, TopicPartition
from connect.kafka.produce.receipt import Receipt
from connect.kafka.raw import RawBatch
from connect.plugins.catalog import Catalog
from connect.runtime.parts.task_parts import build_converters
from connect.runtime.records.pipeline import SinkPipeline, SourcePipeline
from connect.runtime.records.retry import RetryBudget
from connect.runtime.records.tolerance import Tolerance
from connect.runtime.settings.connector_config import SinkConnectorConfig, SourceConnectorConfig
from connect.runtime.settings.internal_topics import ReservedTopics
from connect.runtime.settings.loop_limits import LoopLimits, SinkLimits
from connect.runtime.settings.worker_config import WorkerConfig
from connect.runtime.sink.record_path import SinkRecordPath
from connect.runtime.sink.sink_loop import SinkLoop
from connect.runtime.source.delivery import AtLeastOnceDelivery
from connect.runtime.source.record_path import SourceRecordPath
from connect.runtime.source.source_loop import SourceLoop
from connect.runtime.task.control import Control
from connect.runtime.task.task_metrics import TaskFigures
from connect.runtime.task.task_reports import TaskReports
from connect.runtime.topics.topic_creation import BrokersTopics

PRODUCT = str(Path(connect.__file__).parent)
STRING = "org.apache.kafka.connect.storage.StringConverter"
CONFIG = {
    "name": "n", "connector.class": "c", "topics": "t", "key.converter": STRING, "value.converter": STRING,
}  # fmt: skip
CONVERTERS = build_converters(Catalog.installed(), CONFIG, {})
WORKER = WorkerConfig.parse({
    "bootstrap.servers": "k:9092", "group.id": "g", "key.converter": STRING, "value.converter": STRING,
    "config.storage.topic": "a", "offset.storage.topic": "b", "status.storage.topic": "c",
})  # fmt: skip
TP = TopicPartition("t", 0)
BATCHES = 5
FEW, MANY = 10, 2000


@contextmanager
def lines_of_the_product() -> Iterator[Counter[str]]:
    """Count each line that runs in files of the product, also in a loop on one line, by its place."""
    found: Counter[str] = Counter()

    def each(frame: FrameType, event: str, _: Any) -> Any:
        if event == "line":
            found[f"{Path(frame.f_code.co_filename).relative_to(PRODUCT)}:{frame.f_lineno}"] += 1
        return each

    def begin(frame: FrameType, event: str, argument: Any) -> Any:
        return each(frame, event, argument) if frame.f_code.co_filename.startswith(PRODUCT) else None

    before = sys.gettrace()
    sys.settrace(begin)
    try:
        yield found
    finally:
        sys.settrace(before)


class TimedConsumer(FakeConsumer):
    """Its records have times, of which latency and lag are told."""

    def _read(self, tp: TopicPartition, most: int | None) -> Any:
        raw = super()._read(tp, most)
        return replace(raw, timestamps_ms=pa.array(range(len(raw)), pa.int64()))


class ColumnarSink:
    """Takes whole batches, and says that they are durable."""

    def __init__(self) -> None:
        self.claims: dict[TopicPartition, int] = {}
        self.rows = 0

    def assigned(self, _partitions: Any) -> None: ...

    def revoked(self, _partitions: Any) -> None: ...

    def put(self, batch: Batch, _deadline: Any) -> None:
        self.rows += len(batch)
        self.claims[batch.consumed.topic_partition] = batch.consumed.next_offset

    def flush(self, _deadline: Any) -> dict[TopicPartition, int]:
        return dict(self.claims)


class BatchProducer:
    """Takes whole batches, as native code does, and acknowledges them at once."""

    def __init__(self) -> None:
        self.rows = self.outstanding = 0

    def send(self, batch: RawBatch, _deadline: Any, receipt: Receipt) -> None:
        receipt.expect()
        self.rows += len(batch)
        receipt.acknowledge()

    def check(self) -> None: ...

    def flush(self, _deadline: Any) -> None: ...

    def close(self, _timeout_s: float = 0.0) -> None: ...


class ColumnarSource:
    """Gives batches of so many rows, then asks to be stopped."""

    def __init__(self, rows: int, control: Control) -> None:
        self.rows, self.control, self.left = rows, control, BATCHES

    def poll(self, _deadline: Any) -> Batch | None:
        if not self.left:
            self.control.ask_to_stop()
            return None
        self.left -= 1
        column = Column.from_arrow(pa.array(["row"] * self.rows), s.STRING)
        return Batch("t", column, position=SourcePosition({"p": 1}, {"n": BATCHES - self.left}))

    def stored(self, _positions: Any) -> None: ...


def sink(rows: int) -> TaskFigures:
    kafka, control, figures = FakeKafka(), Control(), TaskFigures()
    config = SinkConnectorConfig.parse(CONFIG)
    tolerance = Tolerance(config, figures, None)
    pipeline = SinkPipeline([], CONVERTERS, tolerance.give_up)
    path = SinkRecordPath(ColumnarSink(), "Sink", pipeline, tolerance, RetryBudget(0), None)
    consumer = TimedConsumer(kafka, control, {TP: [b"row"] * rows * BATCHES}, [rows] * BATCHES)
    loop = SinkLoop(consumer, path, SinkLimits(0, 5, 0.001, max_records=MANY, put_timeout_s=5), TaskReports(figures))
    loop.run(control, lambda _paused: None, ["t"])
    assert kafka.committed == {TP: rows * BATCHES}
    return figures


def source(rows: int) -> TaskFigures:
    kafka, control = FakeKafka(), Control()
    reports, config = TaskReports(), SourceConnectorConfig.parse(CONFIG)
    producer = BatchProducer()
    delivery = AtLeastOnceDelivery(producer, FakeOffsets(kafka))
    tolerance = Tolerance(config, reports.figures, None)
    pipeline = SourcePipeline(
        [], CONVERTERS, tolerance.give_up, figures=reports.figures, reserved=ReservedTopics(WORKER)
    )
    task = ColumnarSource(rows, control)
    path = SourceRecordPath(task, "Source", pipeline, tolerance, RetryBudget(0), reports.figures)
    SourceLoop(path, delivery, BrokersTopics(), LoopLimits(0, 5, 0.001), reports).run(control, lambda _paused: None)
    delivery.close()
    assert (producer.rows, kafka.offsets) == (rows * BATCHES, {'{"p":1}': {"n": BATCHES}})
    return reports.figures


@pytest.mark.parametrize("run", [sink, source])
def test_lines_run_by_the_batch_and_not_by_the_record(run: Callable[[int], TaskFigures]) -> None:
    run(FEW)  # What is imported and made once is there.
    with lines_of_the_product() as few:
        assert run(FEW).snapshot()["rows_total"] == FEW * BATCHES
    with lines_of_the_product() as many:
        assert run(MANY).snapshot()["rows_total"] == MANY * BATCHES
    assert sum(few.values()) > 100 * BATCHES, "the product's lines are counted"
    # Times differ by a look or two; a line that runs by the record runs 10,000 times.
    more = {place: count for place, count in (many - few).items() if count > BATCHES * FEW}
    assert more == {}
