"""The ring is cut without gaps, shared without overlaps, and gone on with at a stored place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from uuid import UUID

import pytest

from connect.api.errors import ConnectError, RetriableError
from connect.api.records import SourcePosition
from connect.lib.deadline import Deadline
from connectors.cassandra.cql.cql_types import CqlType
from connectors.cassandra.cql.errors import TombstonesError
from connectors.cassandra.cql.owners import NO_NODES, OwnedPart
from connectors.cassandra.cql.page_size import PageSize
from connectors.cassandra.cql.pages import Page
from connectors.cassandra.cql.splits import (
    GREATEST_TOKEN,
    LEAST_TOKEN,
    SplitProgress,
    count_in,
    cut,
    progress_of,
    share_of,
)
from connectors.cassandra.cql.statements import Query, range_query, rest_of_partition
from connectors.cassandra.cql.tables import Table, TableColumn
from connectors.cassandra.source.config import CassandraSourceConfig
from connectors.cassandra.source.connector import CassandraSourceConnector
from connectors.cassandra.source.split_reader import SplitReader
from connectors.cassandra.source.splits_at_once import Reading, SplitsAtOnce
from connectors.cassandra.source.sweeps import Sweep

TABLE = Table(
    UUID(int=1),
    "ks",
    'Odd "Table"',
    [TableColumn("a", CqlType("int")), TableColumn("B", CqlType("int"))],
    [TableColumn("c", CqlType("int")), TableColumn("D", CqlType("int"), descending=True)],
    [TableColumn("s", CqlType("int"))],
    [TableColumn("r", CqlType("int"))],
)


@pytest.mark.parametrize("count", [1, 2, 7, 60, 1000])
def test_every_token_is_in_exactly_one_split(count: int) -> None:
    splits = cut(TABLE, count)
    assert len(splits) == count
    assert splits[0].after == LEAST_TOKEN
    assert splits[-1].upto == GREATEST_TOKEN
    assert all(one.upto == other.after for one, other in pairwise(splits))
    sizes = {split.upto - split.after for split in splits}
    assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize("shares", [1, 2, 3, 7])
def test_every_split_is_in_exactly_one_share(shares: int) -> None:
    splits = cut(TABLE, 7)
    shared = [split for share in range(shares) for split in share_of(splits, share, shares)]
    assert sorted(splits, key=lambda s: s.after) == sorted(shared, key=lambda s: s.after)


ONE = (b"\x00\x00\x00\x01", b"", b"\xff")


@pytest.mark.parametrize(
    "change",
    [{}, {"token": None}, {"partition_key": ONE[:2]}, {"partition_key": ONE[:2], "clustering": ONE[1:]}],
)
def test_a_place_is_read_back_from_its_offset(change: dict[str, object]) -> None:
    split = cut(TABLE, 4)[1]
    for token in (split.after, split.after + 5, split.upto):
        progress = replace(SplitProgress(token), **{**change, "token": token})
        assert progress_of(split, dict(progress.offset)) == progress
    finished = SplitProgress(split.upto, finished=True)
    assert progress_of(split, finished.offset) == finished
    assert progress_of(split, None) == SplitProgress(split.after)


@pytest.mark.parametrize(
    "wrong",
    [
        {}, {"token": "1"}, {"token": True}, {"token": LEAST_TOKEN}, {"token": GREATEST_TOKEN},
        {"token": 0, "partition_key": "AA=="}, {"token": 0, "partition_key": "?,?"},
        {"token": 0, "partition_key": "AA==,AA==", "clustering": "AA=="},
    ],
)  # fmt: skip
def test_an_offset_that_is_no_place_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ConnectError, match=r"offset of ks\.Odd \"Table\" has .*Reset the connector's offsets"):
        progress_of(cut(TABLE, 4)[2], wrong)


SELECT = 'SELECT token("a", "B"), "a", "B", "c", "D", "s", "r" FROM "ks"."Odd ""Table""" WHERE '
IN_PARTITION = SELECT + '"a" = ? AND "B" = ? AND '


def test_names_are_quoted_and_values_bound() -> None:
    query = range_query(cut(TABLE, 1)[0], -1)
    assert query.text == SELECT + 'token("a", "B") > ? AND token("a", "B") <= ?'
    assert query.parameters == [b"\xff" * 8, b"\x7f" + b"\xff" * 7]


def test_what_is_behind_a_row_in_its_partition_follows_the_order_of_each_column() -> None:
    key, clustering = (b"k1", b"k2"), (b"c1", b"d1")
    queries = rest_of_partition(TABLE, SplitProgress(0, key, clustering))
    assert [(query.text, list(query.parameters)) for query in queries] == [
        (IN_PARTITION + '"c" = ? AND "D" < ?', [*key, *clustering]),
        (IN_PARTITION + '"c" > ?', [*key, b"c1"]),
    ]
    assert rest_of_partition(TABLE, SplitProgress(0, key)) == []
    assert rest_of_partition(TABLE, SplitProgress(0)) == []


class Server:
    """Answers each query with the pages that a test gives it, and keeps what was asked."""

    def __init__(self, *pages: Page | Exception, keys: list[tuple[bytes, ...]] | None = None) -> None:
        self._pages = list(pages)
        self._keys = keys or []
        self.asked: list[tuple[str, int, bytes | None]] = []
        self.queries: list[Query] = []
        self.parts: list[OwnedPart] = []
        self.refused: dict[int, Exception] = {}
        """By number from 1: questions that fail before there is an answer to wait for."""

    def ask(self, query: Query, rows: int, state: bytes | None) -> Server:
        self.asked.append((query.text, rows, state))
        self.queries.append(query)
        if len(self.asked) in self.refused:
            raise self.refused[len(self.asked)]
        return self

    def when_done(self, ring: Callable[[], None]) -> None:
        ring()

    def page(self) -> Page:
        page = self._pages.pop(0)
        if isinstance(page, Exception):
            raise page
        return page

    def keys(self, query: Query) -> list[tuple[bytes, ...]]:
        return self._keys

    def owned_parts(self, keyspace: str, after: int, upto: int) -> list[OwnedPart]:
        return [*self.parts, OwnedPart(upto, NO_NODES)]


def page(rows: int = 0, size: int = 0, then: bytes | None = None) -> Page:
    return Page(bytes(size), rows, 1, then)


def now() -> Deadline:
    return Deadline.after(5)


def test_a_page_that_does_not_come_is_asked_for_again_from_the_same_place_with_half_its_rows() -> None:
    away = RetriableError("slow")
    server = Server(page(100, 1000, b"s1"), away, away, page(1, 10, b"s2"), page())
    reader = SplitReader(server, cut(TABLE, 1)[0], SplitProgress(0), PageSize(100, 10**6))
    assert reader.next(now()) is not None
    for _ in range(2):
        with pytest.raises(RetriableError):
            reader.next(now())
    while not reader.finished:
        assert reader.next(now()) is not None
    assert [(rows, state) for _, rows, state in server.asked] == [
        (100, None), (100, b"s1"), (50, b"s1"), (25, b"s1"), (50, b"s2")
    ]  # fmt: skip


def test_a_page_that_came_counts_though_no_node_takes_the_next_question() -> None:
    server = Server(page(3, 9), page(2, 9), page(1, 9))
    server.refused = dict.fromkeys((2, 3), RetriableError("no node answers"))
    reader = SplitReader(server, cut(TABLE, 1)[0], SplitProgress(0, (b"a", b"1"), (b"c1", b"d1")), PageSize(9, 10**6))
    first = reader.next(now())
    with pytest.raises(RetriableError):
        reader.next(now())
    others = [reader.next(now()), reader.next(now())]
    assert [found.rows for found in (first, *others) if found is not None] == [3, 2, 1]
    assert reader.finished


def test_pages_of_large_rows_have_few_of_them() -> None:
    size = PageSize(5000, 1000)
    assert size.rows == 100
    size.came(100, 100_000)
    assert size.rows == 1
    size.came(1, 10)
    assert size.rows == 8
    for _ in range(5):
        size.came(10, 10)
    assert size.rows == 1000
    size.came(0, 0)
    assert size.rows == 1000


def test_partitions_that_share_the_token_and_come_behind_are_read_whole() -> None:
    before, this, behind = (b"a", b"1"), (b"b", b"1"), (b"c", b"1")
    server = Server(page(), page(), page(), page(), keys=[behind, this, before])
    reader = SplitReader(server, cut(TABLE, 1)[0], SplitProgress(0, this, (b"c1", b"d1")), PageSize(9, 9))
    while not reader.finished:
        reader.next(now())
    texts = [text.removeprefix(SELECT) for text, _, _ in server.asked]
    assert texts == [
        '"a" = ? AND "B" = ? AND "c" = ? AND "D" < ?',
        '"a" = ? AND "B" = ? AND "c" > ?',
        '"a" = ? AND "B" = ?',
        'token("a", "B") > ? AND token("a", "B") <= ?',
    ]


def test_a_page_that_takes_longer_than_the_deadline_is_waited_for_by_the_next_call() -> None:
    class Slow(Server):
        def when_done(self, ring: Callable[[], None]) -> None:
            self.ring = ring

    server = Slow(page())
    reader = SplitReader(server, cut(TABLE, 1)[0], SplitProgress(0), PageSize(9, 9))
    assert reader.next(Deadline.after(0.01)) is None
    server.ring()
    assert reader.next(now()) is not None
    assert len(server.asked) == 1


def test_each_part_of_a_split_is_asked_of_the_nodes_that_have_it() -> None:
    server, split = Server(page(3, 9, b"s1"), page(1, 9), page(2, 9)), cut(TABLE, 4)[2]
    server.parts = [OwnedPart(split.after + 100, frozenset("a"))]
    reader = SplitReader(server, split, SplitProgress(split.after + 5), PageSize(9, 10**6))
    assert [found.rows for found in (reader.next(now()), reader.next(now()), reader.next(now())) if found] == [3, 1, 2]
    assert reader.finished
    bounds = [[int.from_bytes(part, "big", signed=True) for part in query.parameters] for query in server.queries]
    middle = split.after + 100
    assert bounds == [[split.after + 5, middle], [split.after + 5, middle], [middle, split.upto]]
    assert [query.owners for query in server.queries] == [frozenset("a"), frozenset("a"), NO_NODES]


def test_a_page_of_too_many_deleted_rows_is_asked_for_with_fewer_and_given_up_with_one() -> None:
    flood = TombstonesError("too many tombstones")
    server = Server(flood, flood, page(1, 10, b"s1"), flood, flood, flood)
    reader = SplitReader(server, cut(TABLE, 1)[0], SplitProgress(0), PageSize(8, 10**6))
    found = reader.next(now())
    assert found is not None
    assert found.rows == 1
    with pytest.raises(
        ConnectError, match=r'table ks\.Odd "Table" more rows were deleted.*tombstone_failure'
    ) as raised:
        reader.next(now())
    assert not isinstance(raised.value, RetriableError), "nobody tries it again"
    assert [rows for _, rows, _ in server.asked] == [8, 4, 2, 4, 2, 1]


def test_pages_of_one_size_that_fail_together_halve_it_once() -> None:
    size = PageSize(64, 10**6)
    for _ in range(3):
        size.failed(64)
    assert size.rows == 32
    size.failed(32)
    assert size.rows == 16


class Asked(Server):
    """Rings when a test says so."""

    def when_done(self, ring: Callable[[], None]) -> None:
        self.ring = ring


def test_the_split_whose_page_comes_first_is_next_and_none_is_passed_over() -> None:
    splits, cuts = SplitsAtOnce(3), cut(TABLE, 3)
    servers = [Asked(page(1, 9, b"s"), page(2, 9, b"s"), page(3, 9)) for _ in range(3)]
    for server, split in zip(servers, cuts, strict=True):
        reader = SplitReader(server, split, SplitProgress(split.after), PageSize(9, 9), ring=splits.ring)
        splits.add(Reading(reader, Sweep()))
    assert splits.is_full

    def turn() -> int | None:
        reading = splits.ready(Deadline.after(0.05))
        if reading is None:
            return None
        reading.reader.next(Deadline.after(0.0))
        return cuts.index(reading.reader.split)

    assert [turn(), turn(), turn()] == [0, 1, 2], "each is asked for its first page"
    assert turn() is None
    servers[2].ring()
    assert turn() == 2
    assert turn() is None
    for server in servers:
        server.ring()
    assert sorted((turn() or 0, turn() or 0, turn() or 0)) == [0, 1, 2]
    splits.remove_table(TABLE)
    assert not len(splits)


def test_a_split_whose_pages_come_at_once_takes_no_turn_of_the_others() -> None:
    splits, cuts = SplitsAtOnce(3), cut(TABLE, 3)
    for split in cuts:
        server = Server(*(page(1, 9, b"s") for _ in range(9)))
        splits.add(
            Reading(SplitReader(server, split, SplitProgress(split.after), PageSize(9, 9), ring=splits.ring), Sweep())
        )
    turns = []
    for _ in range(9):
        reading = splits.ready(now())
        assert reading is not None
        reading.reader.next(now())
        turns.append(cuts.index(reading.reader.split))
    assert turns == [0, 1, 2] * 3


def stored_of(count: int, *numbers: int) -> list[SourcePosition]:
    """The places of these splits, of a table cut into `count`."""
    splits = cut(TABLE, count)
    return [SourcePosition(splits[i].partition, SplitProgress(splits[i].upto, finished=True).offset) for i in numbers]


@pytest.mark.parametrize("count", [1, 2, 3, 7, 60, 997, 100_000])
def test_one_stored_place_tells_into_how_many_ranges_a_table_was_cut(count: int) -> None:
    for position in stored_of(count, 0, count // 2, count - 1):
        assert count_in([position]) == count


def test_places_of_nothing_known_tell_no_number() -> None:
    odd = {"after": LEAST_TOKEN + 5, "upto": GREATEST_TOKEN // 2}
    partitions: list[dict[str, object]] = [
        {},
        {"file": "a"},
        {"after": "1", "upto": 2},
        {"after": 5, "upto": 5},
        {"after": -(2**70), "upto": 1},
    ]
    assert count_in([SourcePosition(partition, {"token": 1}) for partition in [*partitions, odd]]) is None
    assert count_in([SourcePosition(position.partition, None) for position in stored_of(7, 1)]) is None


def test_tables_stay_cut_as_they_were_when_their_places_were_stored() -> None:
    keys = {"name": "c", "contact.points": "127.0.0.1", "keyspace": "ks"}

    def planned(stored: list[SourcePosition], splits: str, tasks: int) -> list[tuple[str, str]]:
        connector = CassandraSourceConnector(CassandraSourceConfig.parse({**keys, "table.splits": splits}))
        connector.resume(stored)
        return [(task["table.splits"], task["share.of"]) for task in connector.task_configs(tasks)]

    assert planned([], "120", 2) == [("120", "2")] * 2
    assert planned(stored_of(3, 0, 1), "120", 7) == [("3", "3")] * 3
    assert planned([*stored_of(60, 4), *stored_of(120, 0, 1)], "7", 1) == [("120", "1")]
