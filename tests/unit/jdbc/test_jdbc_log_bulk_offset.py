"""Checks what a bulk read under mode=log leaves to its connector: how large splits are, and their snapshots in one
offset.
"""

from __future__ import annotations

import json
import random
from dataclasses import replace

import pytest

from connect.api.errors import ConnectError
from connect.api.optional.bulk import ReadSplit, SplitSize
from connect.api.records import SourcePosition
from connectors.jdbc.follow.splits import TableSize, split_at
from connectors.jdbc.log.bulk.log_bulk import SPLITS_AT_MOST, Keyed, LogBulk, LogBulkReader, split_size
from connectors.jdbc.log.shared.position import LogPosition, SnapshotPlace, partition_of, read_offset
from connectors.jdbc.log.shared.snapshot_segments import Fence, Segment
from connectors.jdbc.log.shared.snapshot_visibility import SnapshotVisibility
from connectors.jdbc.settings.config import JdbcSourceConfig
from connectors.jdbc.settings.table_choice import TableName

TABLES = [TableName("public", name) for name in ("a", "b")]
CONFIG = JdbcSourceConfig.parse(
    {"connection.url": "jdbc:postgresql://localhost/db", "mode": "log", "topic.prefix": "p", "table.whitelist": "a,b"}
)
BEGUN = [SourcePosition(partition_of("p"), LogPosition(77).offset())]


def read(table: TableName, cuts: list[int], by: tuple[str, ...] = ("id",)) -> list[ReadSplit]:
    """Splits of a table, each read in a snapshot of its own."""
    done = []
    for number, split in enumerate(split_at(table, {}, cuts)):
        fence = Fence(by, (Segment(SnapshotVisibility(f"{number}:{number}:", number)),))
        position = LogPosition(77, snapshot=SnapshotPlace((), table.full, ("1",)), fences={table.full: fence})
        done.append(ReadSplit(split.as_split, json.loads(json.dumps(position.offset()))))
    return done


def test_the_snapshots_of_all_splits_are_in_the_offset_in_the_order_of_their_keys():
    done = read(TABLES[0], [-5, 10]) + read(TABLES[1], [])
    random.Random(1).shuffle(done)
    (following,) = LogBulk(CONFIG).behind(BEGUN, done)
    assert following.partition == {"server": "p"}
    position = read_offset(following.offset or {})
    assert (position.commit_lsn, position.snapshot) == (77, None)
    assert position.fences["public.a"].bounds == (("-6",), ("9",))
    assert [seen.lsn for seen in position.fences["public.a"].seen] == [0, 1, 2]
    assert position.fences["public.b"].bounds == ()


def test_splits_of_one_snapshot_are_one_segment():
    seen = SnapshotVisibility("7:7:", 7)
    done = [
        ReadSplit(split, {**offset, **LogPosition(77, fences={"public.a": Fence(("id",), (Segment(seen),))}).offset()})
        for split, offset in read(TABLES[0], [-5, 10])
    ]
    (following,) = LogBulk(CONFIG).behind(BEGUN, done)
    assert read_offset(following.offset or {}).fences["public.a"] == Fence(("id",), (Segment(seen),))


class Server:
    """Holds snapshot 7, and knows a table of whole-number keys of which 10 was read last."""

    database = None
    is_open = True

    def hold(self) -> list[int]:
        return [7]

    def keyed(self, table: TableName) -> Keyed:
        del table
        return Keyed([], "id")

    def last_key(self, offset: object) -> tuple[str, ...]:
        del offset
        return ("10",)

    def close(self) -> None:
        self.is_open = False


def test_a_held_snapshot_is_in_the_bounds_of_splits_and_in_none_of_their_pieces(monkeypatch: pytest.MonkeyPatch):
    server = Server()
    monkeypatch.setattr("connectors.jdbc.log.bulk.log_bulk.server_of", lambda _: server)
    held = LogBulk(CONFIG).hold()
    (planned,) = (one.as_split for one in split_at(TABLES[0], {}, [100])[:1])
    placed = held.placed(planned)
    assert placed == replace(planned, bounds={**planned.bounds, "snapshot": [7]})
    kept, *rest = LogBulkReader(CONFIG).divide(placed, {}, 3)
    assert (kept.bounds["to"], rest[-1].bounds["to"]) == (11, 100)
    # They are kept for runs in which the snapshot is gone.
    assert not any("snapshot" in piece.bounds for piece in (kept, *rest))
    held.close()
    assert not server.is_open


def test_splits_in_different_orders_stop_the_job():
    done = read(TABLES[0], [10])[:1] + read(TABLES[0], [10], ("other",))[1:]
    with pytest.raises(ConnectError, match=r"key of table public\.a was changed"):
        LogBulk(CONFIG).behind(BEGUN, done)


def test_splits_of_huge_tables_are_larger_so_that_an_offset_can_hold_their_snapshots():
    small = SplitSize(30_000, 2**25)
    assert split_size(small, [TableSize(1_000_000, 10**8)]) == small
    large = split_size(small, [TableSize(4_000_000_000, 5 * 10**11), TableSize(10, 0)])
    assert 4_000_000_000 / large.rows < SPLITS_AT_MOST
    assert 5 * 10**11 / large.size_bytes < SPLITS_AT_MOST
