"""A writer of chunks that froze and wakes up behind its successor writes no row over one of the successor's."""

from __future__ import annotations

import itertools

import pytest

from connect.api.optional.bulk import BulkChunk
from connect.api.records import Batch, Column
from connect.lib.deadline import Deadline
from connectors.cassandra.sink import sink
from connectors.cassandra.sink.config import CassandraSinkConfig
from connectors.cassandra.sink.sink import CassandraBulkWriter
from connectors.cassandra.sink.writer import Outcome, TableWriter

CHUNK = BulkChunk("job", "t-0-000001", True)
ROWS = [Batch("t", Column.from_rows([{"id": i} for i in range(50)], None))]


class NoLetters:
    """Takes the rows that the tables cannot hold: there are none."""


def writer() -> CassandraBulkWriter:
    given = {"contact.points": "127.0.0.1", "keyspace": "k", "topics": "t", "chunk.column": "chunk"}
    return CassandraBulkWriter(CassandraSinkConfig.parse(given), NoLetters())


def test_rows_of_an_older_writer_are_older_than_those_of_a_later_one_whenever_they_are_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sent: list[int] = []

    def send(self: TableWriter, batch: Batch, times, deadline: Deadline, chunk: str | None = None) -> Outcome:
        sent.extend(times.next() for _ in range(len(batch)))
        return Outcome(len(batch), {})

    monkeypatch.setattr(sink.TableWriter, "write", send)
    seconds = itertools.count(1_700_000_000)
    monkeypatch.setattr("time.time_ns", lambda: next(seconds) * 10**9)
    frozen, later = writer(), writer()
    later.write(CHUNK, ROWS, Deadline.after(10))
    theirs, sent = sent, []
    frozen.write(CHUNK, ROWS, Deadline.after(10))
    assert max(sent) < min(theirs)
    before = max(sent)
    frozen.write(CHUNK, ROWS, Deadline.after(10))
    assert min(sent[len(ROWS[0]) :]) > before, "rows that it writes again are newer than before"
