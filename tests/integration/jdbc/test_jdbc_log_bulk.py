"""Reads in bulk under mode=log while six writers commit: with the log behind it, each row and change comes once."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any

import pytest
from jdbc_log import LogRun, log_run
from jdbc_server import Server
from table_writers import TableWriters, require_order

from connect.api.errors import ConfigError, ConnectError, RetriableError, SchemaError
from connect.api.optional.bulk import DivisibleReader, ReadSplit, Split, SplitSize
from connect.api.records import Batch, Column, SourcePosition
from connect.lib.deadline import Deadline
from connectors.jdbc.log.shared.position import read_offset
from connectors.jdbc.source.connector import JdbcSourceConnector

ROWS = 600
PAIR = (-ROWS // 4, ROWS * 3 // 2)
"""Two rows at both ends of the table, where no writer is: each transaction that changes one changes both alike."""
SERIES = {
    "postgres": "generate_series(1, {}) AS s(i)",
    "mariadb": "(SELECT seq AS i FROM seq_1_to_{}) s",
    "mysql": "(WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {}) SELECT i FROM n) s",
}
"""Numbers from 1 as `i`."""


def connector(run: LogRun) -> JdbcSourceConnector:
    return run.server.connector(**run.settings)


def read(planned: JdbcSourceConnector, split: Split, after: Any = None, at_most: int = 1000) -> Iterator[Batch]:
    """A split, after its way through JSON, by a reader of its own, as another machine would."""
    reader = planned.bulk_reader()
    try:
        sent = Split(split.id, json.loads(json.dumps(split.bounds)), split.rows)
        for number, batch in enumerate(reader.read(sent, after), 1):
            yield batch
            if number == at_most:
                return
    finally:
        reader.close()


def fill(server: Server, rows: int = ROWS) -> None:
    server.run(
        "CREATE TABLE {t} (id BIGINT PRIMARY KEY, version BIGINT NOT NULL)",
        f"INSERT INTO {{t}} SELECT i, 0 FROM {SERIES[server.name].format(rows)}",
    )


def read_all(
    run: LogRun, planned: JdbcSourceConnector, splits: Sequence[Split], writers: TableWriters
) -> list[ReadSplit]:
    """Every split while its table changes; each second one is broken off behind its first batch."""
    done = []
    for number, split in enumerate(random.Random(7).sample(splits, len(splits))):
        last: Any = None
        for at_most in (1, 1000) if number % 2 else (1000,):
            for batch in read(planned, split, last, at_most):
                last = json.loads(json.dumps(dict(batch.position.offset)))  # type: ignore[union-attr]
                take(run, batch)
            writers.wait_for(3)
            change_pair(run.server)
        done.append(ReadSplit(split, last))
    return done


def insert_pair(server: Server) -> None:
    server.run(*(f"INSERT INTO {{t}} VALUES ({row}, 0)" for row in PAIR))


def change_pair(server: Server) -> None:
    server.run(f"UPDATE {{t}} SET version = version + 1 WHERE id IN {PAIR}")


def take(run: LogRun, batch: Batch) -> None:
    if len(batch):
        assert batch.keys is not None
        run.events += [(batch.topic, k, v) for k, v in zip(batch.keys.rows(), batch.values.rows(), strict=True)]


def follow(run: LogRun, positions: list[SourcePosition], **changed: object) -> None:
    open_at(run, positions, **changed)
    run.until(lambda: run.poll() is None and content(run) == rebuilt(run))


def open_at(run: LogRun, positions: list[SourcePosition], **changed: object) -> None:
    for position in positions:
        offset = {name: value for name, value in {**position.offset, **changed}.items() if value}  # type: ignore[dict-item]
        run.store.store(Batch("", Column.from_rows([], None), position=SourcePosition(position.partition, offset)))
    run.open()


def read_up_to(split: Split, batch: Batch) -> ReadSplit:
    """Return the split as it is stored once a batch of it is written."""
    assert batch.position is not None
    return ReadSplit(split, dict(batch.position.offset or {}))


def content(run: LogRun) -> dict[int, int]:
    with run.server.engine.connect() as connection:
        return {row[0]: row[1] for row in connection.exec_driver_sql(f"SELECT id, version FROM {run.server.table}")}


def content_in(server: Server, split: Split) -> dict[int, int]:
    """The table in the snapshot in which a split is to be read, seen by a session of any program."""
    name = split.bounds["snapshot"][0]  # type: ignore[index]
    with server.engine.connect().execution_options(isolation_level="REPEATABLE READ") as connection:
        connection.exec_driver_sql(f"SET TRANSACTION SNAPSHOT '{name}'")
        return {row[0]: row[1] for row in connection.exec_driver_sql(f"SELECT id, version FROM {server.table}")}


def changes(run: LogRun) -> Iterator[tuple[Any, str, int | None]]:
    for _, key, value in run.events:
        if value is not None:
            yield key["id"], value["op"], value["after"] and value["after"]["version"]


def rebuilt(run: LogRun) -> dict[int, int]:
    return {row["id"]: row["version"] for row in run.rebuilt(run.topic()).values()}


@pytest.mark.parametrize("fenced", [True, False])
def test_what_was_read_in_bulk_and_the_log_behind_it_are_the_table_with_each_change_once(server: Server, fenced: bool):
    read_and_follow(server, fenced=fenced)


def read_and_follow(server: Server, *, fenced: bool) -> None:
    fill(server)
    insert_pair(server)
    with log_run(server, max__batch__size=40) as run, TableWriters(server.engine.url, server.table, ROWS) as writers:
        planned = connector(run)
        plan = planned.plan_bulk(SplitSize(60, 2**20), Deadline.after(60))
        assert len(plan.splits) > 5
        begun = planned.begin_bulk(plan, Deadline.after(60))
        with server.engine.connect() as late, server.engine.connect() as undone:
            for session, row in ((late, ROWS * 2), (undone, ROWS * 2 + 1)):
                session.exec_driver_sql(f"INSERT INTO {server.table} VALUES ({row}, 0)")
            done = read_all(run, planned, plan.splits, writers)
            late.commit()
            undone.rollback()
        assert rebuilt(run)[PAIR[0]] != rebuilt(run)[PAIR[1]], "each split is read at another moment"
        writers.wait_for(10)
        writers.end()
        following = planned.following_behind(begun, done)
        if fenced:
            follow(run, list(following))
            require_order(changes(run))
            assert ROWS * 2 in content(run)
        else:
            # Without the snapshots of the splits changes come that the rows hold already.
            follow(run, list(following), fences=None)
            with pytest.raises(AssertionError):
                require_order(changes(run))


@pytest.mark.parametrize("server", ["postgres"], indirect=True)
def test_in_one_snapshot_all_rows_are_of_one_moment_and_each_change_behind_it_comes_once(server: Server):
    fill(server)
    insert_pair(server)
    with log_run(server, max__batch__size=40) as run, TableWriters(server.engine.url, server.table, ROWS) as writers:
        planned = connector(run)
        plan = planned.plan_bulk(SplitSize(60, 2**20), Deadline.after(60))
        assert len(plan.splits) > 5
        begun = planned.begin_bulk(plan, Deadline.after(60))
        writers.wait_for(10)
        change_pair(server)
        with server.engine.connect() as late, closing(planned.hold_snapshot(Deadline.after(60))) as held:
            late.exec_driver_sql(f"INSERT INTO {server.table} VALUES ({ROWS * 2}, 0)")
            placed = [held.placed(split) for split in plan.splits]
            there = content_in(server, placed[0])
            done = read_all(run, planned, placed, writers)
            late.commit()
        writers.wait_for(10)
        writers.end()
        assert rebuilt(run) == there
        assert there[PAIR[0]] == there[PAIR[1]]
        (following,) = planned.following_behind(begun, done)
        (fence,) = read_offset(following.offset or {}).fences.values()
        assert len(fence.segments) == 1
        follow(run, [following])
        require_order(changes(run))
        assert ROWS * 2 in content(run)


@pytest.mark.parametrize("server", ["postgres"], indirect=True)
@pytest.mark.parametrize("ends", ["its session", "its table's file"])
def test_behind_a_snapshot_that_is_gone_the_rest_is_read_in_later_ones_with_each_change_once(server: Server, ends: str):
    fill(server, 100)
    with log_run(server, max__batch__size=20) as run:
        planned = connector(run)
        plan = planned.plan_bulk(SplitSize(50, 2**20), Deadline.after(60))
        first, second = plan.splits
        begun = planned.begin_bulk(plan, Deadline.after(60))
        done = []
        with closing(planned.hold_snapshot(Deadline.after(60))) as held:
            server.run("UPDATE {t} SET version = 1")
            (batch,) = read(planned, held.placed(first), at_most=1)
            take(run, batch)
            after = batch.position.offset  # type: ignore[union-attr]
            if ends == "its session":
                held.close()
            else:
                server.run("ALTER TABLE {t} ALTER COLUMN version TYPE NUMERIC(18)", "UPDATE {t} SET version = 2")
            with pytest.raises(ConnectError) as refused:
                list(read(planned, held.placed(first), after))
            assert not isinstance(refused.value, RetriableError)
            assert "in a later snapshot" in str(refused.value)
        for split, place in ((second, None), (first, after)):
            for batch in read(planned, split, place):
                take(run, batch)
            done.append(read_up_to(split, batch))
        assert {version for _, _, version in changes(run)} == {0, 1 if ends == "its session" else 2}
        follow(run, list(planned.following_behind(begun, done)))
        require_order(changes(run))


@pytest.mark.parametrize("server", ["mariadb"], indirect=True)
def test_a_server_whose_sessions_share_no_snapshot_says_so_before_anything_is_read(server: Server):
    fill(server, 10)
    with log_run(server) as run:
        planned = connector(run)
        plan = planned.plan_bulk(SplitSize(1000, 2**20), Deadline.after(60))
        for refused in (lambda: planned.in_one_snapshot(plan), lambda: planned.hold_snapshot(Deadline.after(60))):
            with pytest.raises(ConfigError, match="MariaDB and MySQL show a snapshot to no other session") as told:
                refused()
            assert told.value.key == "handover.mode"


def test_a_table_with_another_key_is_one_split_that_goes_on_where_it_was(server: Server):
    server.run("CREATE TABLE {t} (id VARCHAR(10) PRIMARY KEY, version BIGINT NOT NULL)")
    server.run("INSERT INTO {t} VALUES " + ", ".join(f"('n{i:04}', 0)" for i in range(50)))
    with log_run(server, max__batch__size=20) as run:
        planned = connector(run)
        plan = planned.plan_bulk(SplitSize(10, 2**20), Deadline.after(60))
        (split,) = plan.splits
        assert any("one lane reads the whole of it" in warning for warning in plan.warnings)
        begun = planned.begin_bulk(plan, Deadline.after(60))
        (first,) = read(planned, split, at_most=1)
        take(run, first)
        server.run("UPDATE {t} SET version = 1", "UPDATE {t} SET id = 'z' WHERE id = 'n0003'")
        for batch in read(planned, split, first.position.offset):  # type: ignore[union-attr]
            take(run, batch)
        assert len(run.events) == 51, "the row that moved was read at both places"
        done = read_up_to(split, batch)
        follow(run, list(planned.following_behind(begun, [done])))
        require_order(changes(run))


def test_a_chunk_with_more_rows_than_planned_is_cut_and_an_empty_table_is_followed_from_its_first_row(server: Server):
    server.run("CREATE TABLE {t} (id BIGINT PRIMARY KEY, version BIGINT NOT NULL)")
    with log_run(server, max__batch__size=20) as run:
        planned = connector(run)
        plan = planned.plan_bulk(SplitSize(10, 2**20), Deadline.after(60))
        (split,) = plan.splits
        server.run(f"INSERT INTO {{t}} SELECT i, 0 FROM {SERIES[server.name].format(100)}")
        begun = planned.begin_bulk(plan, Deadline.after(60))
        (first,) = read(planned, split, at_most=1)
        take(run, first)
        offset = dict(first.position.offset)  # type: ignore[union-attr, arg-type]
        reader = planned.bulk_reader()
        kept, *rest = reader.divide(split, offset, 4)  # type: ignore[attr-defined]
        reader.close()
        assert (kept.bounds["to"], len(rest)) == (21, 4)
        done = [ReadSplit(kept, offset)]
        server.run("UPDATE {t} SET version = 1 WHERE id > 10")
        for piece in reversed(rest):
            for batch in read(planned, piece):
                take(run, batch)
            done.append(read_up_to(piece, batch))
        assert len(run.events) == 100
        follow(run, list(planned.following_behind(begun, done)))
        assert len(run.events) == 110, "the changes of rows that were read before them"
        require_order(changes(run))


@pytest.mark.parametrize("server", ["mariadb"], indirect=True)
def test_columns_that_a_table_had_when_the_job_began_are_known_to_the_connector_behind_it(server: Server):
    server.run("CREATE TABLE {t} (id BIGINT PRIMARY KEY, version BIGINT NOT NULL)", "INSERT INTO {t} VALUES (1, 0)")
    with log_run(server) as run:
        planned = connector(run)
        plan = planned.plan_bulk(SplitSize(10, 2**20), Deadline.after(60))
        begun = planned.begin_bulk(plan, Deadline.after(60))
        done = []
        for split in plan.splits:
            *_, last = read(planned, split)
            done.append(read_up_to(split, last))
        server.run(
            "INSERT INTO {t} VALUES (2, 5)",
            "ALTER TABLE {t} CHANGE version other BIGINT UNSIGNED, ADD version BIGINT FIRST",
            "INSERT INTO {t} VALUES (7, 3, 18446744073709551)",
            "ALTER TABLE {t} DROP other",
            "INSERT INTO {t} VALUES (8, 4)",
        )
        open_at(run, list(planned.following_behind(begun, done)))
        assert [value["after"] for _, _, value in run.until_events(3)] == [
            {"id": 2, "version": 5},
            {"version": 7, "id": 3, "other": 18446744073709551},
            {"version": 8, "id": 4},
        ]


def test_a_key_that_is_changed_while_its_table_is_read_stops_the_job(server: Server):
    fill(server, 60)
    with log_run(server, max__batch__size=20) as run:
        planned = connector(run)
        plan = planned.plan_bulk(SplitSize(1000, 2**20), Deadline.after(60))
        planned.begin_bulk(plan, Deadline.after(60))
        (first,) = read(planned, plan.splits[0], at_most=1)
        drop = "DROP PRIMARY KEY" if server.name != "postgres" else "DROP CONSTRAINT {t}_pkey"
        server.run(f"ALTER TABLE {{t}} {drop}", "ALTER TABLE {t} ADD PRIMARY KEY (id, version)")
        with pytest.raises(ConnectError, match=r"key of table .* was changed while its rows were read"):
            list(read(planned, plan.splits[0], first.position.offset))  # type: ignore[union-attr]


@pytest.mark.parametrize("server", ["postgres"], indirect=True)
def test_a_slot_that_cannot_be_made_or_is_read_by_somebody_is_said_with_what_to_do(server: Server):
    fill(server, 10)
    with log_run(server) as run:
        planned = connector(run)
        plan = planned.plan_bulk(SplitSize(1000, 2**20), Deadline.after(60))
        with server.engine.connect() as open_:
            open_.exec_driver_sql(f"INSERT INTO {server.table} VALUES (11, 0)")
            for _ in range(2):
                with pytest.raises(ConnectError, match="waits for the open transactions of session"):
                    planned.begin_bulk(plan, Deadline.after(0.5))
        (begun,) = planned.begin_bulk(plan, Deadline.after(60))
        assert planned.begin_bulk(plan, Deadline.after(60)) == [begun], "a driver that died is followed by another one"
        run.open()
        run.until_events(10)
        # A row that comes by the log tells that its slot is read by now.
        server.run("INSERT INTO {t} VALUES (12, 0)")
        run.until_events(11)
        with pytest.raises(ConnectError, match="is read by somebody"):
            planned.begin_bulk(plan, Deadline.after(60))


def test_rows_that_no_record_can_hold_are_told_before_the_batch_that_is_behind_them(server: Server):
    bad = {
        "postgres": "UPDATE {t} SET d = 'infinity'",
        "mariadb": "SET STATEMENT sql_mode = '' FOR UPDATE {t} SET d = 0",
    }
    server.run(
        "CREATE TABLE {t} (id BIGINT PRIMARY KEY, d DATE)",
        f"INSERT INTO {{t}} SELECT i, DATE '2026-01-31' FROM {SERIES[server.name].format(60)}",
        f"{bad[server.name]} WHERE id IN (5, 41)",
    )
    with log_run(server, max__batch__size=20) as run:
        planned = connector(run)
        (split,) = planned.plan_bulk(SplitSize(1000, 2**20), Deadline.after(60)).splits
        planned.begin_bulk(planned.plan_bulk(SplitSize(1000, 2**20), Deadline.after(60)), Deadline.after(60))
        with pytest.raises(SchemaError, match="'d'"):
            list(read(planned, split))
        reader = planned.bulk_reader()
        came: list[int | str] = []
        reader.reject_by(  # type: ignore[attr-defined]
            lambda batch, reasons: came.extend(batch.values.rows()[i]["id"] for i in reasons)
        )
        for batch in reader.read(split, None):
            came.extend(row["after"]["id"] for row in batch.values.rows())
        reader.close()
    assert [one for one in came if isinstance(one, int)] == [i for i in range(1, 61) if i not in {5, 41}]
    assert came.index("5") < came.index(20)
    assert came.index(40) < came.index("41") < came.index(60)


@pytest.mark.parametrize("reader", ["auto", "generic"])
@pytest.mark.parametrize("key", ["BIGINT", "VARCHAR(10)"])
@pytest.mark.parametrize("server", ["mariadb"], indirect=True)
def test_a_chunk_that_is_cut_while_its_rows_come_gives_every_row(server: Server, key: str, reader: str):
    server.run(f"CREATE TABLE {{t}} (id {key} PRIMARY KEY, version BIGINT NOT NULL)")
    server.run(f"INSERT INTO {{t}} SELECT 10000 + i, 0 FROM {SERIES[server.name].format(5000)}")
    with log_run(server, max__batch__size=100, reader=reader) as run:
        planned = connector(run)
        (split,) = planned.plan_bulk(SplitSize(10_000, 2**30), Deadline.after(60)).splits
        with closing(planned.bulk_reader()) as rows:
            read_rows = 0
            for number, batch in enumerate(rows.read(split, None)):
                read_rows += len(batch)
                if number == 0:
                    assert isinstance(rows, DivisibleReader)
                    assert batch.position is not None
                    assert batch.position.offset is not None
                    pieces = rows.divide(split, batch.position.offset, 4)
        assert (bool(pieces), read_rows) == (key == "BIGINT", 5000)
