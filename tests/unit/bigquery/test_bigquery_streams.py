"""A stream for each partition: who may append, what is asked before the first row, what is left out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
import pytest
from bigquery_oracle import Message, batch_of
from bigquery_sql import SqlTable, config

from connect.api.errors import ConnectError, RetriableError
from connect.api.records import TopicPartition
from connectors.bigquery.dedup.rules import INSERT_ID
from connectors.bigquery.dedup.sealed_batch import Piece, SealedBatch
from connectors.bigquery.warehouse.storage import Appended
from connectors.bigquery.write.appending import rows_of
from connectors.bigquery.write.exactly_once import CommittedStreams

LIMIT_OF_A_PART = 2


class Service:
    """A table, its streams and the notes about them, for any number of owners. `asked`: what was done, in order."""

    def __init__(self) -> None:
        self.rows: list[int] = []
        self.streams: dict[str, int] = {}
        self.ended: set[str] = set()
        self.notes: list[str] = []
        self.asked: list[str] = []
        self.refuses: set[int] = set()
        self.lose_after: int | None = None

    # What the sink's warehouse does.

    def create(self, table: Any) -> bool:
        return True

    def path(self, table: str) -> str:
        return table

    def run(self, sql: str, job_id: str, doing: str) -> None:
        names = re.findall(r"'(s\d+)'", sql)
        if sql.startswith("INSERT"):
            self.asked.append(f"note {names[0]}")
            self.notes += names
        else:
            self.notes = [name for name in self.notes if name not in names]

    def rows_of(self, sql: str, doing: str) -> list[Mapping[str, Any]]:
        if "DISTINCT stream" in sql:
            return [{"stream": name} for name in self.notes]
        self.asked.append("ask")
        least = int(re.search(r">= (\d+)", sql)[1])  # type: ignore[index]
        return [{"first": offset, "last": offset} for offset in sorted(self.rows) if offset >= least]

    # What the Storage Write API does.

    def create_stream(self, table: str) -> str:
        name = f"s{len(self.streams)}"
        self.streams[name] = 0
        return name

    def finalize(self, stream: str) -> None:
        self.asked.append(f"end {stream}")
        self.ended.add(stream)

    def append_at(self, table: str, stream: str, rows: pa.Table, offset: int) -> Iterator[Appended]:
        for first in range(0, len(rows), LIMIT_OF_A_PART):
            part = rows.slice(first, LIMIT_OF_A_PART)["_kafka_offset"].to_pylist()
            for number, place in enumerate(part, first):
                if stream in self.ended or offset != self.streams[stream]:
                    raise RetriableError(f"{stream} does not go on")
                if place in self.refuses:
                    yield Appended(number, number + 1, ConnectError("bad"))
                    continue
                self.rows.append(place)
                self.streams[stream] += 1
                if self.lose_after is not None and len(self.rows) == self.lose_after:
                    self.lose_after = None
                    raise RetriableError("the reply was lost")
                yield Appended(number, number + 1)
                offset += 1

    def close(self) -> None:
        pass


class Warehouse:
    def __init__(self, service: Service) -> None:
        self.create, self.path, self.run, self.rows = service.create, service.path, service.run, service.rows_of


@pytest.fixture
def service() -> Service:
    return Service()


@pytest.fixture(scope="module")
def table() -> SqlTable:
    return SqlTable(config())


def owner(service: Service) -> CommittedStreams:
    return CommittedStreams(Warehouse(service), service)  # type: ignore[arg-type]


def batch(table: SqlTable, *offsets: int) -> SealedBatch:
    admitted = table.admission.admit(batch_of([Message(0, offset, offset, 0) for offset in offsets]))
    rows = admitted.rows.append_column(INSERT_ID, pa.nulls(len(offsets), pa.string()))
    return SealedBatch("orders", (Piece(TopicPartition("orders", 0), rows, admitted.offsets),), table.columns,
                       table.dedup, None)  # fmt: skip


def write(streams: CommittedStreams, sealed: SealedBatch) -> Mapping[int, Exception]:
    return streams.write(sealed, rows_of(sealed))


def test_the_table_is_asked_once_no_other_owner_may_append(service, table):
    write(owner(service), batch(table, 0, 1))
    service.asked.clear()
    write(owner(service), batch(table, 1, 2, 5))
    assert service.asked == ["note s1", "end s0", "ask"]
    assert sorted(service.rows) == [0, 1, 2, 5]
    assert service.notes == ["s1"]


def test_an_owner_that_is_replaced_adds_nothing_any_more(service, table):
    zombie = owner(service)
    write(zombie, batch(table, 0, 1))
    write(owner(service), batch(table, 2, 3))
    with pytest.raises(RetriableError, match="s0 does not go on"):
        write(zombie, batch(table, 2, 3))
    assert sorted(service.rows) == [0, 1, 2, 3]
    write(zombie, batch(table, 2, 3, 4))
    assert sorted(service.rows) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("lost_after", range(1, 6))
def test_rows_whose_acknowledgement_was_lost_are_not_added_again(service, table, lost_after):
    service.lose_after = lost_after
    streams, sealed = owner(service), batch(table, 0, 1, 2, 3, 9)
    with pytest.raises(RetriableError, match="lost"):
        write(streams, sealed)
    assert write(streams, sealed) == {}
    assert sorted(service.rows) == [0, 1, 2, 3, 9]


def test_a_row_refused_before_an_acknowledgement_was_lost_is_still_told(service, table):
    service.refuses, service.lose_after = {11}, 2
    streams, sealed = owner(service), batch(table, 10, 11, 12, 13)
    with pytest.raises(RetriableError, match="lost"):
        write(streams, sealed)
    assert list(write(streams, sealed)) == [1]
    assert sorted(service.rows) == [10, 12, 13]


def test_a_row_refused_in_a_life_that_was_killed_is_found_again_by_the_next(service, table):
    service.refuses = {11}
    write(owner(service), batch(table, 10, 11, 12))
    assert list(write(owner(service), batch(table, 10, 11, 12, 13))) == [1]
    assert sorted(service.rows) == [10, 12, 13]
