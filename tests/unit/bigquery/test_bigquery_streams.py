"""Checks a stream for each partition: who may append, what is asked before the first row, what is left out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from bigquery_oracle import Message, batch_of
from bigquery_sql import SqlTable, config

from connect.api.errors import ConnectError, RetriableError
from connect.api.records import TopicPartition
from connectors.bigquery.dedup.rules import INSERT_ID
from connectors.bigquery.dedup.sealed_batch import Piece, SealedBatch
from connectors.bigquery.rows.table_schema import ColumnSchema, ColumnType
from connectors.bigquery.warehouse.storage import Appended
from connectors.bigquery.warehouse.table_facts import TableFacts
from connectors.bigquery.write import held_rows
from connectors.bigquery.write.appending import rows_of
from connectors.bigquery.write.exactly_once import CommittedStreams

LIMIT_OF_A_PART = 2


class Service:
    """A table, its streams and the notes about them, for any number of owners. `asked`: what was done, in order."""

    def __init__(self) -> None:
        self.rows: list[int] = []
        self.places: list[tuple[int, int]] = []
        """The offset and the number of each row."""
        self.streams: dict[str, int] = {}
        self.ended: set[str] = set()
        self.notes: list[str] = []
        self.asked: list[str] = []
        self.refuses: set[int] = set()
        self.lose_after: int | None = None
        self.is_numbered = False

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
        assert ("_kafka_row" in sql) == self.is_numbered
        return [
            {"number": number, "first": offset, "last": offset}
            for offset, number in sorted(self.places)
            if offset >= least
        ]

    def table(self, name: str) -> TableFacts:
        columns = (ColumnSchema("_kafka_row", ColumnType.INTEGER),) if self.is_numbered else ()
        return TableFacts(name, columns, {}, "")

    # What the Storage Write API does.

    def create_stream(self, table: str) -> str:
        name = f"s{len(self.streams)}"
        self.streams[name] = 0
        return name

    def finalize(self, stream: str) -> None:
        self.asked.append(f"end {stream}")
        self.ended.add(stream)

    def append_at(self, table: str, stream: str, rows: pa.Table, offset: int) -> Iterator[Appended]:
        numbers = rows["_kafka_row"].to_pylist() if "_kafka_row" in rows.column_names else [0] * len(rows)
        self.is_numbered = self.is_numbered or any(numbers)
        for first in range(0, len(rows), LIMIT_OF_A_PART):
            part = rows.slice(first, LIMIT_OF_A_PART)["_kafka_offset"].to_pylist()
            for number, place in enumerate(part, first):
                if stream in self.ended or offset != self.streams[stream]:
                    raise RetriableError(f"{stream} does not go on")
                if place in self.refuses:
                    yield Appended(number, number + 1, ConnectError("bad"))
                    continue
                self.rows.append(place)
                self.places.append((place, numbers[number]))
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
        self.table = service.table


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


def numbered(table: SqlTable, *places: tuple[int, int]) -> SealedBatch:
    """A batch of rows of which some share their record."""
    sealed = batch(table, *(offset for offset, _ in places))
    (piece,) = sealed.pieces
    rows = piece.rows.append_column("_kafka_row", pa.array([number for _, number in places], pa.int64()))
    return replace(sealed, pieces=(replace(piece, rows=rows),))


@pytest.mark.parametrize("is_same_owner", [True, False])
@pytest.mark.parametrize("lost_after", range(1, 7))
def test_rows_of_one_record_are_each_added_once(service, table, lost_after, is_same_owner):
    service.lose_after = lost_after
    streams = owner(service)
    places = [(4, 0), (5, 1), (5, 2), (5, 3), (6, 1), (6, 2)]
    with pytest.raises(RetriableError, match="lost"):
        write(streams, numbered(table, *places))
    streams = streams if is_same_owner else owner(service)
    assert write(streams, batch(table, 4)) == {}
    assert write(streams, numbered(table, *places)) == {}
    assert service.places == places


def test_a_refused_row_is_told_and_not_the_others_of_its_record(service, table):
    service.refuses = {5}
    assert list(write(owner(service), numbered(table, (4, 0), (5, 2)))) == [1]
    service.refuses = set()
    assert write(owner(service), numbered(table, (4, 0), (5, 1), (5, 2))) == {}
    assert service.places == [(4, 0), (5, 1), (5, 2)]


def test_rows_that_lie_among_those_of_an_earlier_batch_are_added(service, table):
    """One read gives batches whose rows alternate, as routing by a field does."""
    streams = owner(service)
    for offsets in ((1, 3), (2, 4), (1, 2, 3, 4), (7, 5), (6,)):
        assert write(streams, batch(table, *offsets)) == {}
    assert sorted(service.rows) == [1, 2, 3, 4, 5, 6, 7]
    assert service.asked.count("ask") == 1


def test_what_was_forgotten_of_many_gaps_is_asked_for(service, table, monkeypatch):
    monkeypatch.setattr(held_rows, "_RUNS_MOST", 4)
    streams = owner(service)
    for first in (0, 8, 16):
        write(streams, batch(table, *range(first, first + 8, 2)))
    assert service.asked.count("ask") == 1
    write(streams, batch(table, 1, 2, 3))
    assert service.asked.count("ask") == 2
    write(streams, batch(table, *range(24)))
    assert sorted(service.rows) == list(range(24))


def test_a_record_before_the_first_one_is_asked_for(service, table):
    write(owner(service), batch(table, 3, 4))
    streams = owner(service)
    write(streams, batch(table, 6))
    write(streams, batch(table, 3, 5, 6))
    assert sorted(service.rows) == [3, 4, 5, 6]
