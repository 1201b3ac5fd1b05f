"""Checks which keys of a topic count as gone behind a backfill that wrote every row there is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

import pyarrow as pa
import pytest

from connect.api.errors import ConnectError
from connect.api.records import TopicPartition
from connect.backfill.job.markers import HEADER_JOB
from connect.backfill.verify import missing
from connect.backfill.verify.found_rows import of_keys
from connect.kafka.consume.log_reader import OffsetRange
from connect.kafka.raw import RawBatch
from connect.lib.deadline import Deadline

PLACE, SPAN, BEGAN_MS = TopicPartition("t", 2), OffsetRange(0, 100), 1000


def record(key: bytes | None, value: bytes | None, at_ms: int = 1, job: str | None = None) -> tuple[Any, ...]:
    headers = [] if job is None else [(HEADER_JOB, job.encode())]
    return key, value, at_ms, headers


def gone(monkeypatch: pytest.MonkeyPatch, *records: tuple[Any, ...]) -> list[bytes]:
    """The keys whose rows are looked for."""

    def read(*_: object) -> Iterator[RawBatch]:
        # Two batches, as a topic comes in many.
        for start, stop in ((0, 2), (2, len(records))):
            keys, values, times, headers = ([r[i] for r in records[start:stop]] for i in range(4))
            yield RawBatch(
                "t", pa.array(values, pa.binary()), keys=pa.array(keys, pa.binary()), headers=headers,
                timestamps_ms=pa.array(times, pa.int64()), partition=2,
                offsets=pa.array(range(start, stop), pa.int64()), next_offset=stop,
            )  # fmt: skip

    monkeypatch.setattr(missing, "read_spans", read)
    offsets = missing._gone({}, PLACE, SPAN, "job", BEGAN_MS)
    return list(missing._keys({}, PLACE, SPAN, offsets))


def test_a_key_that_the_job_did_not_write_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    found = gone(
        monkeypatch,
        record(b"gone", b"1"),
        record(b"kept", b"1"),
        record(b"gone", b"2"),
        record(b"kept", b"1", 2000, "job"),
    )
    assert found == [b"gone"]


def test_a_key_that_somebody_wrote_since_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    assert gone(monkeypatch, record(b"a", b"1"), record(b"a", b"2", BEGAN_MS)) == []
    assert gone(monkeypatch, record(b"a", b"1"), record(b"a", b"2", BEGAN_MS - 1)) == [b"a"]


def test_what_has_a_tombstone_and_what_has_no_key_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    assert gone(monkeypatch, record(b"a", b"1"), record(b"a", None), record(None, b"1")) == []


def test_another_jobs_record_is_no_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    assert gone(monkeypatch, record(b"a", b"1", job="earlier"), record(b"b", b"1", job="job")) == [b"a"]


class Source:
    """Has some rows, and others from some question on."""

    def __init__(self, *questions: set[bytes]) -> None:
        self._questions = list(questions)

    def records(self, topic: str, keys: Sequence[bytes]) -> Iterator[RawBatch]:
        there = [key for key in keys if key in self._questions[0]]
        self._questions.pop(0)
        yield RawBatch(topic, pa.array([b"row"] * len(there), pa.binary()), keys=pa.array(there, pa.binary()))


class Log:
    """What is written, and when it is known to be there."""

    def __init__(self) -> None:
        self.newest: dict[bytes, bytes | None] = {}
        self.partitions: set[int | None] = set()
        self.tombstone_times_ms: list[int] = []

    def send(self, batch: RawBatch, deadline: Deadline) -> None:
        assert batch.keys is not None
        self.partitions.add(batch.partition)
        if batch.values.null_count:
            assert batch.timestamps_ms is not None
            self.tombstone_times_ms += batch.timestamps_ms.to_pylist()
        self.newest.update(zip(batch.keys.to_pylist(), batch.values.to_pylist(), strict=True))

    def flush(self, deadline: Deadline) -> None: ...


@pytest.mark.parametrize(
    ("questions", "newest", "count"),
    [
        (({b"b"}, set()), {b"a": None, b"c": None}, 2),
        (({b"a", b"b", b"c"},), {}, 0),
        # Its row came while its tombstone was written: whoever wrote it may have sent it before the tombstone.
        ((set(), {b"c"}), {b"a": None, b"b": None, b"c": b"row"}, 2),
    ],
)
def test_a_key_whose_row_came_meanwhile_is_not_deleted(
    questions: tuple[set[bytes], ...], newest: dict[bytes, bytes | None], count: int
) -> None:
    log = Log()
    written = missing._delete(PLACE, [b"a", b"b", b"c"], cast("Any", Source(*questions)), cast("Any", log), BEGAN_MS)
    assert (log.newest, written) == (newest, count)
    assert set(log.tombstone_times_ms) == ({BEGAN_MS} if newest else set()), "newer than a row that came back"
    assert log.partitions <= {2}


def test_a_row_that_is_found_under_other_bytes_of_its_key_is_an_error_and_no_missing_row() -> None:
    def raw(*keys: bytes | None) -> RawBatch:
        return RawBatch("t", pa.array([b"row"] * len(keys), pa.binary()), keys=pa.array(keys, pa.binary()))

    assert of_keys(raw(b"a", None, b"b"), {b"a", b"b", b"c"}).keys.to_pylist() == [b"a", b"b"]
    with pytest.raises(ConnectError, match="1 rows that the source has would have other bytes"):
        of_keys(raw(b"a", b"b in another schema"), {b"a", b"b"})
