"""Others compact a table, delete from it, expire its snapshots and take it back: what a task believes then."""

from __future__ import annotations

import pytest
from iceberg_lake import Lake, rows, soon

from connect.api.errors import ConnectError
from connect.api.optional.compaction import Compaction
from connect.api.records import TopicPartition
from connectors.s3.iceberg.connector import IcebergSinkConnector
from connectors.s3.iceberg.progress import OFFSETS
from connectors.s3.iceberg.sink import IcebergSinkTask

pytestmark = pytest.mark.thorough

ZERO = TopicPartition("orders", 0)


def write(lake: Lake, task: IcebergSinkTask, start: int, stop: int) -> int:
    """Put rows and commit them; the offset that Kafka is told."""
    task.put(rows(0, start, stop), soon())
    return lake.flush(task)[ZERO]


def filled(lake: Lake) -> IcebergSinkTask:
    """A task that has written thirty rows in three snapshots."""
    task = lake.task()
    for start in (0, 10, 20):
        write(lake, task, start, start + 10)
    return task


def numbers(lake: Lake) -> list[int]:
    return [n for _, n in lake.numbers()]


def without_property(lake: Lake) -> None:
    with lake.catalog().load_table("lake.orders").transaction() as transaction:
        transaction.remove_properties(OFFSETS)


def test_a_rewritten_table_whose_snapshots_have_expired_has_its_offsets(lake):
    running = filled(lake)
    lake.rewrite()
    assert len(lake.catalog().load_table("lake.orders").snapshots()) == 1
    assert write(lake, running, 30, 40) == 40
    lake.rewrite()
    lake.rewrite()
    assert write(lake, lake.task(), 0, 50) == 50
    assert numbers(lake) == list(range(50))


def test_rows_that_follow_are_written_though_nobody_can_tell_what_others_did(lake):
    running = filled(lake)
    lake.rewrite(deletes="n = 5")
    assert write(lake, running, 30, 40) == 40
    lake.rewrite(deletes="n = 6")
    assert write(lake, lake.task(), 40, 50) == 50
    assert write(lake, lake.task(), 0, 60) == 60, "with the next commit it is certain again"
    assert numbers(lake) == [n for n in range(60) if n not in {5, 6}]


def test_rows_that_may_be_there_stop_the_task_until_somebody_has_looked(lake):
    filled(lake).close()
    lake.rewrite(deletes="n = 5")
    with pytest.raises(ConnectError, match=r"nothing tells whether the rows from offset 25 on") as raised:
        write(lake, lake.task(), 25, 40)
    assert "alter the connector's offsets to 30" in str(raised.value.fix)
    assert write(lake, lake.task(), 30, 40) == 40
    assert numbers(lake) == [n for n in range(40) if n != 5]


def test_rows_that_a_rollback_took_away_are_not_taken_for_rows_that_are_there(lake):
    filled(lake).close()
    lake.roll_back(1)
    lake.rewrite()
    with pytest.raises(ConnectError, match="took it back"):
        write(lake, lake.task(), 10, 40)
    without_property(lake)
    assert write(lake, lake.task(), 20, 40) == 40
    assert numbers(lake) == list(range(40))


def test_a_task_that_comes_behind_a_rollback_says_which_rows_are_gone_and_takes_them_again(lake, caplog):
    filled(lake).close()
    lake.roll_back(1)
    again = lake.task()
    assert write(lake, again, 15, 40) == 40
    said = (
        "Table lake.orders was taken back to an earlier snapshot, or begun anew: it has not the rows of these offsets "
        "any more (orders-0: 20 to 29). Alter the connector's offsets to have them again."
    )
    assert [record.getMessage() for record in caplog.records].count(said) == 1
    assert numbers(lake) == list(range(40))
    lake.rewrite()
    assert write(lake, lake.task(), 0, 41) == 41
    assert numbers(lake) == list(range(41))


def test_a_property_that_was_taken_away_comes_with_the_next_commit(lake):
    running = filled(lake)
    without_property(lake)
    write(lake, running, 30, 40)
    lake.rewrite()
    assert write(lake, lake.task(), 0, 41) == 41
    assert numbers(lake) == list(range(41))


def test_our_own_compaction_leaves_what_is_in_doubt_in_doubt(lake):
    filled(lake).close()
    lake.rewrite(deletes="n = 5")
    task = lake.task()
    for start in (30, 35):
        write(lake, task, start, start + 5)
    task.close()
    lake.rewrite(deletes="n = 6")
    lake.catalog().load_table("lake.orders").append(lake.table().slice(0, 3))
    connector = IcebergSinkConnector(lake.config())
    for group in connector.compaction_groups(Compaction(target_bytes=2**20)):
        assert connector.compact(group) is not None
    lake.expire()
    with pytest.raises(ConnectError, match="nothing tells"):
        write(lake, lake.task(), 0, 50)
