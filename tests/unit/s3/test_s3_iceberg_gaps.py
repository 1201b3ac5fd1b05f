"""A table tells which rows each connector has added: rows that were passed over are added, and no row comes twice."""

from __future__ import annotations

import logging

import pytest
from iceberg_lake import Lake, rows, soon

from connect.api.records import TopicPartition
from connect.testing.fakes import FakeSinkContext
from connectors.s3.iceberg.offset_runs import RUNS_MAX
from connectors.s3.iceberg.progress import OFFSETS, TableProgress
from connectors.s3.iceberg.sink import IcebergSinkTask

ZERO = TopicPartition("orders", 0)


def life(lake: Lake, *spans: tuple[int, int], connector: str = "c") -> FakeSinkContext:
    """One life of a task, which commits the rows of each of these spans in a snapshot of its own."""
    task, ctx = born(lake, connector)
    for start, stop in spans:
        task.put(rows(0, start, stop), soon())
        lake.flush(task)
    task.close()
    return ctx


def born(lake: Lake, connector: str) -> tuple[IcebergSinkTask, FakeSinkContext]:
    task, ctx = IcebergSinkTask(lake.config(), now_ms=lambda: lake.clock_ms), FakeSinkContext(connector=connector)
    task.open(ctx)
    return task, ctx


def numbers(lake: Lake) -> list[int]:
    return [n for _, n in lake.numbers()]


def progress(lake: Lake) -> TableProgress:
    return TableProgress.parsed(lake.catalog().load_table("lake.orders").current_snapshot().summary[OFFSETS])


def make_old(lake: Lake, end: int) -> None:
    """Let the table tell its progress as an earlier version did, which knew neither connectors nor runs."""
    table = lake.catalog().load_table("lake.orders")
    text = f'{{"orders":{{"id":"orders","next":{{"0":{end}}}}}}}'
    with table.transaction() as transaction:
        transaction.set_properties({OFFSETS: text})
        with transaction.update_snapshot(snapshot_properties={OFFSETS: text}).fast_append():
            pass


@pytest.mark.parametrize("spans", [[(0, 100)], [(0, 30), (30, 75), (75, 100)], [(10, 45), (45, 50), (50, 55)]])
def test_rows_before_a_late_beginning_are_added_after_a_reset(lake, spans):
    life(lake, (40, 60), (60, 70))
    life(lake, *spans)
    assert numbers(lake) == list(range(spans[0][0], max(70, spans[-1][1])))
    assert progress(lake).own("c", ZERO) == ((spans[0][0], max(70, spans[-1][1])),)


def test_rows_that_altered_offsets_passed_over_are_added_after_a_reset(lake):
    for span in ((0, 20), (50, 70), (90, 95)):
        life(lake, span)
    assert progress(lake).own("c", ZERO) == ((0, 20), (50, 70), (90, 95))
    life(lake, (10, 60), (60, 80))
    assert numbers(lake) == [*range(80), *range(90, 95)]
    life(lake, (0, 100))
    assert numbers(lake) == list(range(100))


def test_rows_that_are_read_again_are_not_added_again(lake):
    life(lake, (0, 20), (20, 40))
    life(lake, (10, 30), (30, 50))
    assert numbers(lake) == list(range(50))


def test_two_connectors_that_begin_together_add_all_their_rows(lake):
    (fast, _), (slow, ctx) = born(lake, "fast"), born(lake, "slow")
    fast.put(rows(0, 0, 10), soon())
    slow.put(rows(0, 0, 4), soon())
    lake.flush(fast)
    lake.flush(slow)
    slow.put(rows(0, 4, 12), soon())
    lake.flush(slow)
    assert numbers(lake) == sorted([*range(10), *range(12)])
    assert not ctx.noted
    life(lake, (0, 15), connector="fast")
    life(lake, (6, 14), connector="slow")
    assert numbers(lake) == sorted([*range(15), *range(14)])


def test_a_connector_with_another_name_goes_on_and_says_so(lake, caplog):
    life(lake, (0, 20), connector="former")
    ctx = life(lake, (0, 10), (10, 30), connector="present")
    assert numbers(lake) == list(range(30))
    words = "Rows of orders-0 before offset 20 are not added to table lake.orders: connector former has added rows"
    assert words in ctx.noted[0]
    assert caplog.text.count(words) == 1
    assert not life(lake, (0, 40), connector="present").noted, "its own rows are no news"
    assert numbers(lake) == list(range(40))


def test_a_second_connector_adds_all_behind_what_was_there_when_it_came(lake):
    life(lake, (0, 20), connector="first")
    task, _ = born(lake, "second")
    task.put(rows(0, 15, 22), soon())
    life(lake, (20, 30), connector="first")
    lake.flush(task)
    task.put(rows(0, 22, 30), soon())
    lake.flush(task)
    assert numbers(lake) == sorted([*range(30), *range(20, 30)])


def test_rows_of_an_earlier_version_count_for_who_comes_first_and_the_doubt_is_told(lake, caplog):
    life(lake, (5, 20))
    make_old(lake, 20)
    caplog.set_level(logging.WARNING)
    ctx = life(lake, (0, 10), (10, 25), connector="first")
    assert numbers(lake) == list(range(5, 25))
    assert "an earlier version added rows of these offsets and did not tell where it began" in ctx.noted[0]
    assert progress(lake).own("first", ZERO) == ((-1, 20), (20, 25))
    assert life(lake, (0, 30), connector="first").noted == ctx.noted
    assert not life(lake, (22, 35), connector="first").noted, "of these rows the table tells where they began"
    assert numbers(lake) == list(range(5, 35))


def test_a_task_goes_on_beside_one_of_an_earlier_version(lake):
    """The earlier version writes its progress without connectors, as a rolling upgrade has both for a while."""
    task, _ = born(lake, "c")
    for start in (0, 10, 20):
        task.put(rows(0, start, start + 10), soon())
        lake.flush(task)
        make_old(lake, start + 10)
    task.close()
    assert numbers(lake) == list(range(30))


def test_a_table_has_a_limited_number_of_runs(lake, caplog):
    caplog.set_level(logging.INFO)
    for number in range(RUNS_MAX + 1):
        life(lake, (number * 10, number * 10 + 9))
    assert len(progress(lake).own("c", ZERO)) == RUNS_MAX
    assert "counts rows of orders-0 from offset 9 to 9 as added" in caplog.text
    life(lake, (0, RUNS_MAX * 10))
    assert numbers(lake) == [n for n in range(RUNS_MAX * 10 + 9) if n != 9]
