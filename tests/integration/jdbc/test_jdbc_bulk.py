"""Reads in bulk while six writers commit: with following behind it, every row comes once. A naive mark loses rows."""

from __future__ import annotations

import json
import threading
from collections import Counter
from contextlib import closing

import pytest
import sqlalchemy as sa
from jdbc_drive import OffsetStore
from jdbc_server import Server
from jdbc_stress import COLUMNS, MODES, SERIES, Committed, Row, Writer

from connect.api.allowed_paths import EVERYWHERE
from connect.api.optional.bulk import BulkPlan, BulkReader, Split, SplitSize
from connect.api.records import Batch, Column
from connect.lib.deadline import Deadline
from connectors.jdbc.source import bulk
from connectors.jdbc.source.connector import JdbcSourceConnector

ROWS = 600
WRITERS = 6
WRITING_S = 2.5


def filled(server: Server) -> None:
    series = SERIES[server.name].format(n=ROWS)
    server.run(
        f"CREATE TABLE {{t}} ({COLUMNS[server.name]})",
        f"INSERT INTO {{t}} (ts, version) SELECT CURRENT_TIMESTAMP(6) - INTERVAL '1' MINUTE, 1 FROM {series}",
    )


def connector(server: Server, mode: str) -> JdbcSourceConnector:
    settings = {"settle__time__ms": None, "timestamp__granularity": "micros_long", "batch__max__rows": 20}
    return server.connector(**MODES[mode], **settings)


def read(planned: JdbcSourceConnector, plan: BulkPlan) -> Counter[Row]:
    """Every split, after its way through JSON, by a reader of its own, as another machine would."""
    came: Counter[Row] = Counter()
    for split in plan.splits:
        reader = planned.bulk_reader()
        sent = Split(split.id, json.loads(json.dumps(split.bounds)), split.rows)
        for batch in reader.read(sent, None):
            came.update((row["id"], row["version"]) for row in batch.values.rows())
        assert reader.count(sent) <= sum(came.values())
        reader.close()
    return came


@pytest.mark.parametrize("mode", MODES)
def test_what_was_read_in_bulk_and_what_is_followed_have_every_row_once(server: Server, mode: str):
    filled(server)
    committed = Committed(versions=dict.fromkeys(range(1, ROWS + 1), 1))
    engine = sa.create_engine(server.engine.url, pool_size=WRITERS)
    writing = Deadline.after(WRITING_S)
    writers = [Writer(engine, server.table, seed, writing, committed) for seed in range(WRITERS)]
    for number, writer in enumerate(writers):
        writer.owns(dict.fromkeys(range(number + 1, ROWS, 40), 1))
        writer.start()
    planned = connector(server, mode)
    plan = planned.plan_bulk(SplitSize(100, 2**20), Deadline.after(60))
    assert len(plan.splits) > 3
    came = read(planned, plan)
    for writer in writers:
        writer.join(WRITING_S + 30)
    engine.dispose()
    assert not committed.failures

    store = OffsetStore()
    for position in plan.following:
        store.store(Batch("", Column.from_rows([], None), position=position))
    (config,) = planned.task_configs(1)
    task = planned.task({**config, **EVERYWHERE})
    task.open(store)
    deadline = Deadline.after(60)
    try:
        while missing(committed, came, by_id=mode == "incrementing") and not deadline.expired:
            batch = task.poll(Deadline.after(0.1))
            if batch is not None:
                store.store(batch)
                came.update((row["id"], row["version"]) for row in batch.values.rows())
    finally:
        task.close()
    assert missing(committed, came, by_id=mode == "incrementing") == []
    assert [row for row, times in came.items() if times > 1] == []


def missing(committed: Committed, came: Counter[Row], *, by_id: bool) -> list[Row]:
    """The rows that did not come: by their newest version, or where updates are not followed by their id."""
    ids = {row for row, _ in came}
    return [row for row in committed.versions.items() if (row[0] not in ids if by_id else row not in came)]


def test_a_mark_at_the_largest_id_loses_a_row_and_ours_does_not(server: Server):
    filled(server)
    slow = server.engine.connect()
    insert = f"INSERT INTO {server.table} (ts, version) VALUES (CURRENT_TIMESTAMP(6), 1)"
    slow.exec_driver_sql(insert)
    server.run(insert.replace(server.table, "{t}"))
    with server.engine.connect() as naive:
        (mark,) = naive.exec_driver_sql(f"SELECT max(id) FROM {server.table}").one()
        read_naively = {row[0] for row in naive.exec_driver_sql(f"SELECT id FROM {server.table} WHERE id <= {mark}")}

    planned, found = connector(server, "incrementing"), list[BulkPlan]()
    planning = threading.Thread(
        target=lambda: found.append(planned.plan_bulk(SplitSize(100, 2**20), Deadline.after(60)))
    )
    planning.start()
    planning.join(1.0)
    assert not found, "the mark is not known while an older transaction is open"
    slow.commit()
    slow.close()
    planning.join(30)
    (plan,) = found

    with server.engine.connect() as reading:
        later = {row[0] for row in reading.exec_driver_sql(f"SELECT id FROM {server.table} WHERE id > {mark}")}
        everything = {row[0] for row in reading.exec_driver_sql(f"SELECT id FROM {server.table}")}
    assert everything - (read_naively | later) == {mark - 1}, "the slow transaction's row"
    ours = {row for row, _ in read(planned, plan)}
    assert plan.following[0].offset == {"incrementing": mark}
    assert ours == everything


def test_a_row_with_a_negative_id_and_the_marks_own_timestamp_is_followed(server: Server):
    filled(server)
    planned = connector(server, "both")
    (begin,) = planned.plan_bulk(SplitSize(1000, 2**30), Deadline.after(60)).following
    assert begin.offset is not None
    at = {"postgres": "to_timestamp({})", "mariadb": "FROM_UNIXTIME({})"}[server.name]
    mark_s = int(str(begin.offset["timestamp"])) // 1000
    server.run(f"INSERT INTO {{t}} (id, ts, version) VALUES (-7, {at.format(mark_s)}, 1)")
    store = OffsetStore()
    store.store(Batch("", Column.from_rows([], None), position=begin))
    (config,) = planned.task_configs(1)
    task = planned.task({**config, **EVERYWHERE})
    task.open(store)
    with closing(task):
        found: list[int] = []
        deadline = Deadline.after(30)
        while not found and not deadline.expired:
            batch = task.poll(Deadline.after(0.2))
            found += [] if batch is None else [row["id"] for row in batch.values.rows()]
    assert found == [-7]


def test_a_table_with_another_key_is_one_split_that_goes_on_where_it_was(server: Server):
    server.run(
        "CREATE TABLE {t} (name VARCHAR(10) PRIMARY KEY, ts TIMESTAMP(6) NOT NULL)",
        "INSERT INTO {t} VALUES " + ", ".join(f"('n{i:04}', '2024-01-01 00:00:00')" for i in range(50)),
    )
    planned = server.connector(mode="timestamp", timestamp__column__name="ts", settle__time__ms=None)
    plan = planned.plan_bulk(SplitSize(10, 2**20), Deadline.after(60))
    assert len(plan.splits) == 1
    assert any("one lane reads the whole of it" in warning for warning in plan.warnings)
    reader = planned.bulk_reader()
    whole = [row["name"] for batch in reader.read(plan.splits[0], None) for row in batch.values.rows()]
    assert whole == [f"n{i:04}" for i in range(50)]
    reader.close()


def test_a_column_that_comes_between_two_splits_is_in_the_rows_of_the_second_and_the_catalog_is_asked_once(
    server: Server, monkeypatch: pytest.MonkeyPatch
):
    filled(server)
    planned = connector(server, "incrementing")
    plan = planned.plan_bulk(SplitSize(100, 2**20), Deadline.after(60))
    asked: list[str] = []
    assembling = bulk.assembled
    monkeypatch.setattr(bulk, "assembled", lambda *given: asked.append("catalog") or assembling(*given))
    reader = planned.bulk_reader()
    first, second, third, *_ = plan.splits
    before = {field for split in (first, second) for field in names_of(reader, split)}
    assert before == {"id", "ts", "version"}
    assert len(asked) == 1
    server.run("ALTER TABLE {t} ADD COLUMN note VARCHAR(20) NOT NULL DEFAULT 'new'")
    assert set(names_of(reader, third)) == {"id", "ts", "version", "note"}
    assert len(asked) == 2
    reader.close()


def names_of(reader: BulkReader, split: Split) -> list[str]:
    """The columns of a split's rows."""
    rows = [row for batch in reader.read(split, None) for row in batch.values.rows()]
    assert len(rows) == reader.count(split) > 0
    return list(rows[0])


@pytest.mark.parametrize("settings", [MODES["both"], MODES["both"] | {"reader": "generic"}, {"mode": "log"}])
def test_a_reader_has_as_many_connections_as_its_connector_says_and_none_when_it_is_closed(
    server: Server, settings: dict[str, str]
):
    filled(server)
    planned = server.connector(**settings, slot__name=server.table)
    (split, *_) = planned.plan_bulk(SplitSize(100, 2**20), Deadline.after(60)).splits
    before = server.connections
    reader = planned.bulk_reader()
    pages = iter(reader.read(split, None))
    assert len(next(pages)) > 0
    assert server.connections - before == planned.connections_per_reader
    reader.close()
    assert server.connections == before
