"""Checks a source that reads Kafka: what it remembers goes with its rows; a record that cannot be read is one bad
row.
"""

from __future__ import annotations

from collections import deque
from contextlib import closing, suppress
from types import SimpleNamespace

import pyarrow as pa
import pytest
from fake_kafka import FakeKafka, FakeOffsets, FakeProducer, KilledError

from connect.api import schema as s
from connect.api.errors import ConfigError, RetriableError
from connect.api.records import Batch, Column, SourcePosition, TopicPartition
from connect.api.state import StateEntries, StateEntry
from connect.kafka.client.settings import admin_settings, consumer_settings
from connect.kafka.raw import RawBatch
from connect.lib.deadline import Deadline
from connect.plugins.catalog import Catalog
from connect.runtime.parts.task_parts import build_converters
from connect.runtime.records.pipeline import Encoded, SinkPipeline
from connect.runtime.records.retry import RetryBudget
from connect.runtime.records.tolerance import BadRow, Stage, Tolerance, ToleranceExceededError
from connect.runtime.settings.connector_config import SourceConnectorConfig
from connect.runtime.settings.loop_limits import LoopLimits
from connect.runtime.source.exactly_once import Boundary
from connect.runtime.source.record_path import SourceRecordPath
from connect.runtime.source.source_loop import SourceLoop
from connect.runtime.source.transactional_delivery import ExactlyOnceDelivery
from connect.runtime.task.control import Control
from connect.runtime.task.task_reports import TaskReports
from connect.runtime.topics import source_topics
from connect.runtime.topics.source_topics import KafkaTopics

NO_BROKER = {"bootstrap.servers": "127.0.0.1:1"}
JSON = {"key.converter": "JsonConverter", "value.converter": "JsonConverter", "value.converter.schemas.enable": "false"}

SCHEMAS = {"key.converter": "JsonConverter", "value.converter": "JsonConverter"}


class Remembers:
    """Gives a row and remembers it, in one batch."""

    def __init__(self, control: Control) -> None:
        self._control = control
        self.given = 0

    def poll(self, deadline: Deadline) -> Batch:
        self.given += 1
        if self.given == 3:
            self._control.ask_to_stop()
        state = StateEntries("state", 0, [StateEntry(b"seen", str(self.given).encode())])
        position = SourcePosition({"p": 0}, {"n": self.given})
        return Batch("t", Column.from_rows([self.given], s.INT32), position=position, state=state)

    def stored(self, positions: object) -> None:
        """Nothing to prune."""


class Pipeline:
    def encode(self, batch: Batch) -> Encoded:
        return Encoded([RawBatch("t", pa.array([str(row).encode() for row in batch.values.rows()], pa.binary()))])


class Topic:
    def ensure(self, topic: str, deadline: Deadline) -> None: ...

    def add(self, topic: str) -> None: ...


def test_rows_and_what_is_remembered_are_in_one_transaction_wherever_the_task_dies() -> None:
    step = 0
    while True:
        kafka, control = FakeKafka(dies_at=step), Control()
        delivery = ExactlyOnceDelivery(FakeProducer(kafka), FakeOffsets(kafka), Boundary.POLL)
        config = SourceConnectorConfig.parse({"name": "n", "connector.class": "c"})
        reports = TaskReports(used_topics=Topic())
        tolerance = Tolerance(config, reports.figures, None)
        path = SourceRecordPath(Remembers(control), "Source", Pipeline(), tolerance, RetryBudget(0), reports.figures)
        loop = SourceLoop(path, delivery, Topic(), LoopLimits(60, 1, 0.01), reports)
        with suppress(KilledError):
            loop.run(control, lambda paused: None)
        after = kafka.after_death()
        assert list(after.records["state"]) == list(after.records["t"]), f"death at step {step}"
        if after.records["t"] == [b"1", b"2", b"3"]:
            break
        step += 1
    assert step > 5


def topics(refused: list[tuple[Batch, object]]) -> KafkaTopics:
    converters = build_converters(Catalog.installed(), JSON, {})
    made = KafkaTopics(
        consumer_settings(NO_BROKER, {}, client_id="c"), admin_settings(NO_BROKER, {}, "a"), converters,
        lambda batch, rows: refused.append((batch, rows)), None,
    )  # fmt: skip
    made._raw = deque(
        [
            RawBatch(
                "t", pa.array([b'{"a":1}', b"{", b'{"a":3}'], pa.binary()), partition=2,
                offsets=pa.array([7, 8, 9], pa.int64()), next_offset=10,
            )
        ]
    )  # fmt: skip
    return made


def test_a_record_that_cannot_be_read_is_given_up_with_its_bytes() -> None:
    refused: list = []
    found = topics(refused)
    rows = []
    while found._raw or found._ready:
        batch = found.poll(Deadline.after(0.0))
        assert batch is not None
        rows += batch.values.rows()
        last = batch.consumed
    assert rows == [{"a": 1}, {"a": 3}]
    assert last is not None
    assert last.next_offset == 10
    ((given, errors),) = refused
    assert list(errors) == [1]
    assert given.values.rows()[1] == b"{"


@pytest.mark.parametrize(
    ("keys", "values", "key"), [("{", '{"a":1}', "key"), ('{"schema":null,"payload":1}', "\0\0", "value")]
)
@pytest.mark.parametrize("count", [1, 3])
def test_where_no_record_from_the_first_on_can_be_read_the_converter_is_told(
    keys: str, values: str, key: str, count: int, caplog: pytest.LogCaptureFixture
) -> None:
    place, refused = TopicPartition("t", 2), []
    records = RawBatch(
        "t", pa.array([values.encode()] * count, pa.binary()), pa.array([keys.encode()] * count, pa.binary()),
        partition=2, offsets=pa.array(range(count), pa.int64()), next_offset=count,
    )  # fmt: skip
    found = topics(refused)
    with closing(found):
        found.read({place: None})
        found._raw.append(records)
        batch = found.poll(Deadline.after(0.0))
        assert batch is not None
        assert (len(batch), batch.consumed.next_offset) == (0, count), "they are read, and set aside by the tolerance"
        told = f"first {count} records of t-2 can be read by {key}.converter"
        ((_, errors),) = refused
        assert list(errors) == list(range(count))
        assert all(told in str(error) and error.key == f"{key}.converter" for error in errors.values())
        assert told in caplog.text
        # Behind what was read before they are bad rows like any others.
        found.read({place: 0})
        found._raw.append(records)
        found.poll(Deadline.after(0.0))
        _, errors = refused[1]
        assert [told in str(error) for error in errors.values()] == [False] * count


def test_a_row_that_is_bad_by_the_configuration_ends_the_task_with_its_fix() -> None:
    error = ConfigError("Another wrote it.", key="value.converter", fix="Give the value.converter of the writer.")
    ended = ToleranceExceededError(BadRow(Stage.TASK_POLL, "Source", error, "t"))
    assert ended.key == "value.converter"
    assert str(ended).endswith("Another wrote it. Give the value.converter of the writer.")


def test_state_without_transactions_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"exactly\.once\.support"):
        topics([]).make_state("state", 1, Deadline.after(0.0))


def state_of(*ends: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> tuple[KafkaTopics, list[int]]:
    """Topics whose state partition has each of these ends and committed ends in turn, and the ends that are read to."""
    found, read, asked = topics([]), [], iter(ends)
    now = [next(asked)]

    def end_offsets(places, deadline, *, committed_only=False):
        end, committed = now[0]
        if committed_only:
            now[0] = next(asked, now[0])
        return dict.fromkeys(places, committed if committed_only else end)

    def spans(settings, wanted, deadline):
        read.extend(span.end for span in wanted.values())
        return ()

    found._admin = SimpleNamespace(
        beginning_offsets=lambda places, deadline: dict.fromkeys(places, 0), end_offsets=end_offsets
    )
    monkeypatch.setattr(source_topics, "read_spans", spans)
    return found, read


def test_the_transactions_of_others_that_began_since_are_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several tasks write by turns, so that one of them has a transaction open at each moment."""
    found, read = state_of((10, 4), (20, 9), (30, 14), (40, 24), monkeypatch=monkeypatch)
    for _ in range(2):
        with pytest.raises(RetriableError, match="up to offset 10"):
            list(found.state("state", 0, Deadline.after(0.0)))
    assert list(found.state("state", 0, Deadline.after(0.0))) == []
    assert read == [10]
    with pytest.raises(RetriableError, match="up to offset 40"):
        list(found.state("state", 0, Deadline.after(0.0)))


def test_the_end_of_a_state_topic_made_anew_is_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    found, read = state_of((10, 4), (2, 2), monkeypatch=monkeypatch)
    with pytest.raises(RetriableError):
        list(found.state("state", 0, Deadline.after(0.0)))
    list(found.state("state", 0, Deadline.after(0.0)))
    assert read == [2]


def test_committed_entries_alone_are_read_in_front_of_an_open_transaction(monkeypatch: pytest.MonkeyPatch) -> None:
    found, read = state_of((10, 4), monkeypatch=monkeypatch)
    list(found.state("state", 0, Deadline.after(0.0), committed_only=True))
    assert read == [4]


def test_a_bad_row_is_given_up_once_where_partitions_are_added_between_the_batches_of_a_read() -> None:
    """All partitions are read anew then, each from behind the batches that were taken."""
    of = '{"schema":{"type":"%s","optional":false},"payload":%s}'
    values = [of % ("int32", 1), "{", of % ("string", '"a"'), "[", of % ("int32", 2), "("]
    place, refused = TopicPartition("t", 2), []
    found = topics(refused)
    found._pipeline = SinkPipeline([], build_converters(Catalog.installed(), SCHEMAS, {}), found._bad.extend)

    def records(first: int) -> RawBatch:
        offsets = pa.array(range(first, 6), pa.int64())
        rows = pa.array([value.encode() for value in values[first:]], pa.binary())
        return RawBatch("t", rows, partition=2, offsets=offsets, next_offset=6)

    with closing(found):
        found._raw = deque([records(0)])
        rows = []
        while found._raw or found._ready:
            batch = found.poll(Deadline.after(0.0))
            assert batch is not None
            rows += batch.values.rows()
            next_offset = batch.consumed.next_offset
            if next_offset < 6:
                found.read({place: next_offset})
                found._raw.append(records(next_offset))
    assert rows == [1, "a", 2]
    given_up = [given.values.rows()[i].decode() for given, errors in refused for i in errors]
    assert sorted(given_up) == ["(", "[", "{"]
