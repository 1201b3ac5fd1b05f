"""One row that no record can hold is one dead letter; where bad rows are not tolerated the task names it and stops."""

from __future__ import annotations

import pytest
from jdbc_drive import OffsetStore, batches
from jdbc_log import log_run
from jdbc_server import Server

from connect.api.errors import ConnectError
from connect.lib.deadline import Deadline

SERVERS = pytest.mark.parametrize("server", ["postgres", "mariadb"], indirect=True)
BAD = {
    "postgres": {
        "DATE": ("'infinity'", "zero.date.handling"),
        "TIMESTAMP": ("'-infinity'", "zero.date.handling"),
        "TIMESTAMPTZ": ("'12024-01-02 03:04:05.123456Z'", "years"),
        "NUMERIC(9,2)": ("'NaN'", "without loss"),
        "TIME": ("'24:00:00'", "without loss"),
    },
    "mariadb": {
        "DATE": ("'0000-00-00'", "zero.date.handling"),
        "DATETIME": ("'2024-00-10 01:02:03'", "zero.date.handling"),
        "TIME": ("'-838:59:59'", "time of day"),
        "BIGINT UNSIGNED": ("18446744073709551615", "bigint.unsigned.handling.mode"),
    },
}
GOOD = {"DATE": "'2024-02-29'", "TIME": "'01:02:03'", "BIGINT UNSIGNED": "7", "NUMERIC(9,2)": "1.5"}
CASES = pytest.mark.parametrize(
    ("server", "kind"), [(name, kind) for name, kinds in BAD.items() for kind in kinds], indirect=["server"]
)


def _fill(server: Server, kind: str, ids: range, bad: set[int]) -> None:
    value = BAD[server.name][kind][0]
    good = GOOD.get(kind, "'2024-02-29 01:02:03'")
    lines = ["SET SESSION sql_mode = ''"] if server.name == "mariadb" else []
    server.run(*lines, *(f"INSERT INTO {{t}} VALUES ({i}, {value if i in bad else good}, 'row {i}')" for i in ids))


@CASES
@pytest.mark.parametrize("reader", ["auto", "generic"])
def test_a_polled_row_that_fits_no_type_is_one_dead_letter(server: Server, kind: str, reader: str):
    server.run(f"CREATE TABLE {{t}} (id INT PRIMARY KEY, v {kind}, name VARCHAR(20))")
    _fill(server, kind, range(1, 31), {1, 9, 10, 30})
    store = OffsetStore()
    store.tolerates = True
    settings = {
        "mode": "incrementing", "incrementing__column__name": "id", "batch__max__rows": 7, "reader": reader,
        "timestamp__granularity": "nanos_long",
    }  # fmt: skip
    task = server.opened(store, **settings)
    read = batches(task, store)
    task.close()
    assert [row["id"] for batch in read for row in batch.values.rows()] == [
        i for i in range(1, 31) if i not in {1, 9, 10, 30}
    ]
    assert [(row["id"], row["name"]) for row, _ in store.rejected] == [(str(i), f"row {i}") for i in (1, 9, 10, 30)]
    assert all(row["v"] for row, _ in store.rejected), "the value itself is kept"
    reason = store.rejected[1][1]
    assert all(part in reason for part in ("'v'", server.table, "id=9")), reason
    again = server.opened(store, **settings)
    assert [batch for batch in batches(again, store) if len(batch)] == []
    assert len(store.rejected) == 4, "the place is behind a bad row at the end, too"
    again.close()


@SERVERS
def test_a_bad_row_that_is_not_tolerated_stops_the_task_at_its_place(server: Server):
    server.run("CREATE TABLE {t} (id INT PRIMARY KEY, v DATE, name VARCHAR(20))")
    _fill(server, "DATE", range(1, 10), {5})
    store = OffsetStore()
    settings = {"mode": "incrementing", "incrementing__column__name": "id", "batch__max__rows": 3}
    task = server.opened(store, **settings)
    with pytest.raises(ConnectError) as stopped:
        batches(task, store)
    task.close()
    assert all(part in str(stopped.value) for part in ("'v'", server.table, "id=5"))
    server.run("UPDATE {t} SET v = '2024-02-29' WHERE id = 5")
    task = server.opened(store, **settings)
    ids = [row["id"] for batch in batches(task, store) for row in batch.values.rows()]
    assert sorted(ids) == list(range(4, 10))
    task.close()


@SERVERS
def test_a_column_that_was_widened_makes_no_row_bad(server: Server):
    server.run(
        "CREATE TABLE {t} (id INT PRIMARY KEY, v DECIMAL(4,2), name VARCHAR(20))",
        "INSERT INTO {t} VALUES (1, 1.5, 'a')",
    )
    store = OffsetStore()
    store.tolerates = True
    task = server.opened(store, mode="incrementing", incrementing__column__name="id")
    assert [row["id"] for batch in batches(task, store) for row in batch.values.rows()] == [1]
    change = "MODIFY v DECIMAL(9,4)" if server.name == "mariadb" else "ALTER v TYPE DECIMAL(9,4)"
    server.run(f"ALTER TABLE {{t}} {change}", "INSERT INTO {t} VALUES (2, 12345.6789, 'b')")
    read = batches(task, store)
    task.close()
    # PostgreSQL writes the whole table anew: the newest rows may come again.
    assert [row["id"] for batch in read for row in batch.values.rows()] in ([2], [1, 2])
    assert store.rejected == []


@CASES
def test_a_row_of_the_log_that_fits_no_type_is_one_dead_letter(server: Server, kind: str):
    server.run(f"CREATE TABLE {{t}} (id INT PRIMARY KEY, v {kind}, name VARCHAR(20))")
    _fill(server, kind, range(1, 21), {1, 9, 10, 20})
    with log_run(server, max__batch__size=7, timestamp__granularity="nanos_long") as run:
        run.store.tolerates = True
        run.open()
        run.until_events(16)
        _fill(server, kind, range(21, 41), {21, 29, 30, 40})
        server.run("UPDATE {t} SET name = 'new' WHERE id IN (2, 9)", "INSERT INTO {t} VALUES (99, NULL, 'last')")
        run.until(lambda: any(key["id"] == 99 for _, key, _ in run.events))
        bad = [1, 9, 10, 20, 21, 29, 30, 40, 9]
        assert [row["id"] for row, _ in run.store.rejected] == [str(i) for i in bad]
        assert [key["id"] for _, key, _ in run.events] == [i for i in range(1, 41) if i not in bad] + [2, 99]
        reason = run.store.rejected[1][1]
        assert all(part in reason for part in ("'v'", server.table, "id=9")), reason


@SERVERS
def test_a_bad_row_of_the_log_that_is_not_tolerated_stops_the_task(server: Server):
    server.run("CREATE TABLE {t} (id INT PRIMARY KEY, v DATE, name VARCHAR(20))")
    _fill(server, "DATE", range(1, 4), {2})
    with log_run(server) as run:
        run.open()
        with pytest.raises(ConnectError) as stopped:
            run.until_events(3)
        assert all(part in str(stopped.value) for part in ("'v'", server.table, "id=2"))
        assert run.task is not None
        assert run.task.poll(Deadline.after(0.1)) is None or run.events == []
