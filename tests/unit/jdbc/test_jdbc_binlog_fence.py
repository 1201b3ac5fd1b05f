"""Checks which transactions of a binary log the first read of a table has seen."""

from __future__ import annotations

import json

import pytest

from connectors.jdbc.log.binlog.packets import Gtid
from connectors.jdbc.log.binlog.position import BinlogPosition, SnapshotEnd, ahead_of, read_binlog_offset
from connectors.jdbc.log.shared.snapshot_segments import Fence, Segment

SERVER = "3e11fa47-71ca-11e1-9e33-c80aa9429562"


@pytest.mark.parametrize(
    ("file", "end", "is_seen"),
    [
        ("binlog.999999", 200, True),
        ("binlog.999999", 201, False),
        ("binlog.1000000", 4, False),
        ("binlog.999998", 900, True),
    ],
)
def test_without_identifiers_files_and_places_tell(file: str, end: int, is_seen: bool):
    assert SnapshotEnd("binlog.999999", 200).holds(file, end, None) == is_seen
    assert SnapshotEnd("binlog.999999", 200).holds(file, end, Gtid("0-1-5", "0", 5, False)) == is_seen


@pytest.mark.parametrize(("domain", "number", "is_seen"), [("0", 7, True), ("0", 8, False), ("3", 1, False)])
def test_identifiers_tell_on_every_server_of_a_replication(domain: str, number: int, is_seen: bool):
    fence = SnapshotEnd("binlog.000009", 900, {"0": "0-1-7"})
    for file in ("binlog.000001", "binlog.000999"):
        assert fence.holds(file, 4, Gtid(f"{domain}-2-{number}", domain, number, False)) == is_seen


@pytest.mark.parametrize(("number", "is_seen"), [(1, True), (5, True), (6, False), (7, True), (8, False)])
def test_a_set_tells_of_transactions_that_are_missing_in_it(number: int, is_seen: bool):
    fence = SnapshotEnd("binlog.000009", 900, {SERVER: f"{SERVER}:1-5:7"})
    assert fence.holds("binlog.000001", 4, Gtid(f"{SERVER}:{number}", SERVER, number, False)) == is_seen


def test_a_place_in_the_first_read_comes_back_from_its_offset():
    later = SnapshotEnd("binlog.000009", 900, {"0": "0-1-7", "3": "3-1-1"})
    fences = {
        "shop.a": Fence(("id int",), (Segment(later),)),
        "shop.c": Fence(("id int",), (Segment(None, ("7",)), Segment(later))),
    }
    position = BinlogPosition(
        "binlog.000008", 4, snapshot_done=("shop.b",), snapshot_table="shop.c", snapshot_key=("9",), fences=fences
    )
    offset = position.offset()
    assert all(isinstance(value, str | int) for value in offset.values()), "an offset holds primitives only"
    assert read_binlog_offset(json.loads(json.dumps(offset))) == position


def test_an_offset_of_an_older_version_has_one_snapshot_for_each_table():
    offset = {"file": "f.9", "pos": 4, "fences": json.dumps({"shop.a": ["f.10", 900, "0-1-7"]})}
    assert read_binlog_offset(offset).fences == {
        "shop.a": Fence((), (Segment(SnapshotEnd("f.10", 900, {"0": "0-1-7"})),))
    }


def test_a_fence_ends_behind_the_last_of_its_snapshots():
    fence = Fence(
        (), (Segment(None, ("1",)), Segment(SnapshotEnd("f.10", 900), ("2",)), Segment(SnapshotEnd("f.11", 50)))
    )
    for file, pos, is_ahead in [("f.9", 999, True), ("f.11", 49, True), ("f.11", 50, False)]:
        assert bool(ahead_of({"shop.a": fence}, file, pos)) == is_ahead
    assert not ahead_of({"shop.a": Fence()}, "", 0), "no change is in the snapshot behind which the log begins"
