"""Checks that small files of an Iceberg table become large ones, while readers and tasks go on as if nothing was
done.
"""

from __future__ import annotations

import contextlib
import random

import pytest
from click.testing import CliRunner
from command_files import sink_file, worker_file
from iceberg_lake import DiedError, Lake, Run, rows, soon, values

from connect.api.errors import RetriableError
from connect.api.optional.compaction import CompactedFiles, Compaction
from connect.cli import main
from connectors.s3.iceberg.connector import IcebergSinkConnector
from connectors.s3.iceberg.progress import OFFSETS

pytestmark = pytest.mark.thorough

WISH = Compaction(target_bytes=2**20)


def compact(lake: Lake, wish: Compaction = WISH) -> list[CompactedFiles]:
    connector = IcebergSinkConnector(lake.config())
    return [done for group in connector.compaction_groups(wish) if (done := connector.compact(group)) is not None]


def files(lake: Lake) -> int:
    return len(list(lake.catalog().load_table("lake.orders").scan().plan_files()))


def small_files(lake: Lake, count: int) -> list[tuple[int, int]]:
    task = lake.task()
    for number in range(count):
        task.put(rows(number % 2, number // 2 * 10, number // 2 * 10 + 10), soon())
        lake.flush(task)
    task.close()
    return lake.numbers()


def test_small_files_become_one_per_partition_in_one_snapshot_each(lake):
    lake.settings = {"iceberg_partition_by": "p"}
    before = small_files(lake, 8)
    offsets = lake.catalog().load_table("lake.orders").current_snapshot().summary[OFFSETS]
    wanted = IcebergSinkConnector(lake.config()).compaction_groups(WISH)
    assert [(group.where, len(group.files)) for group in wanted] == [("lake.orders", 4), ("lake.orders", 4)]
    assert files(lake) == 8
    assert [(one.where, one.files_before, one.files_after, one.rows) for one in compact(lake)] == [
        ("lake.orders", 4, 1, 40), ("lake.orders", 4, 1, 40),
    ]  # fmt: skip
    assert files(lake) == 2
    assert lake.numbers() == before
    table = lake.catalog().load_table("lake.orders")
    assert len(table.snapshots()) == 8 + 2
    assert table.current_snapshot().summary[OFFSETS] == offsets
    for snapshot in table.snapshots()[-2:]:
        assert table.scan(snapshot_id=snapshot.snapshot_id).to_arrow().num_rows == len(before)
    assert compact(lake) == []


def test_files_of_half_the_target_are_left_alone(lake):
    small_files(lake, 4)
    sizes = [task.file.file_size_in_bytes for task in lake.catalog().load_table("lake.orders").scan().plan_files()]
    assert compact(lake, Compaction(min(sizes) * 2)) == []
    assert [one.files_before for one in compact(lake, Compaction(max(sizes) * 2 + 2))] == [2, 2]


def test_rows_written_before_a_column_came_have_it_behind_a_compaction(lake):
    task = lake.task()
    task.put(values([{"n": 1}]), soon())
    lake.flush(task)
    task.put(values([{"n": 2, "new": "x"}], 1), soon())
    lake.flush(task)
    (done,) = compact(lake)
    assert done.files_before == 2
    assert lake.table().sort_by("n").to_pylist() == [{"n": 1, "new": None}, {"n": 2, "new": "x"}]


@pytest.mark.parametrize("fault", ["dies before", "dies behind", "lost answer", "away", "lost race"])
def test_whatever_becomes_of_its_commit_each_row_is_there_once(lake, commits, fault):
    before = small_files(lake, 6)
    commits.faults = [fault]
    try:
        compact(lake)
    except (DiedError, RetriableError):
        assert lake.numbers() == before
    compact(lake)
    assert lake.numbers() == before
    assert files(lake) == 1


def test_a_task_that_commits_meanwhile_keeps_its_rows_and_its_offsets(lake, commits):
    small_files(lake, 4)
    task = lake.task()
    task.put(rows(0, 20, 30), soon())
    commits.faults = ["meanwhile"]
    commits.meanwhile = lambda: lake.flush(task) and None
    compact(lake)
    again = lake.task()
    again.put(rows(0, 20, 35), soon())
    lake.flush(again)
    assert lake.numbers() == [(0, n) for n in range(35)] + [(1, n) for n in range(20)]


@pytest.mark.parametrize("seed", range(3))
def test_tasks_that_die_and_compactions_that_die_leave_each_row_once(lake, commits, seed):
    run, chance = Run(lake, commits, 500 + seed, 200), random.Random(seed)
    while min(run.committed) < 200 and run.chance.random() < 0.85:
        run.live()
        commits.faults = [chance.choice(["", "dies before", "dies behind", "lost race", "away"])]
        with contextlib.suppress(DiedError, RetriableError):
            compact(lake)
        commits.faults = []
    run.finish()
    compact(lake)
    run.check()


def test_the_command_compacts_what_a_configuration_names(lake, tmp_path):
    before = small_files(lake, 5)
    file, worker = sink_file(tmp_path, lake.config().originals), worker_file(tmp_path)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    refused = CliRunner().invoke(main, ["compact", file, "--worker", worker_file(elsewhere)])
    assert (refused.exit_code, "allowed.paths" in refused.output) == (1, True)
    assert CliRunner().invoke(main, ["compact", file, "--dry-run"]).exit_code == 0, "the person's own rights"
    done = CliRunner().invoke(main, ["compact", file, "--worker", worker])
    assert done.exit_code == 0, done.output
    assert "lake.orders: 5 files of" in done.output
    assert lake.numbers() == before


def test_of_two_compactions_of_the_same_files_one_finds_them_gone(lake):
    before = small_files(lake, 4)
    one, other = IcebergSinkConnector(lake.config()), IcebergSinkConnector(lake.config())
    (group,) = one.compaction_groups(WISH)
    assert one.compact(group) is not None
    assert other.compact(group) is None
    assert lake.numbers() == before


def test_tables_of_other_names_are_left_alone(lake):
    small_files(lake, 4)
    lake.settings = {"iceberg_table": "lake.other"}
    assert compact(lake) == []
    lake.settings = {"iceberg_table": "lake.or${topic}s"}
    assert [one.where for one in compact(lake)] == ["lake.orders"]
    lake.settings = {"iceberg_table": "nowhere.${topic}"}
    assert compact(lake) == []
