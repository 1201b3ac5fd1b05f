"""Checks what a user reads when a database refuses, and that what passes by itself is waited for and loses no row."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress

import pytest
import sqlalchemy as sa
from jdbc_drive import OffsetStore, batches, rows
from jdbc_log import LogRun, log_run
from jdbc_server import DRIVERS, FULL, Server

from connect.api.allowed_paths import EVERYWHERE
from connect.api.errors import ConfigError, ConnectError, RetriableError, SchemaError
from connect.lib.deadline import Deadline

BY_ID = {"mode": "incrementing", "incrementing__column__name": "id"}
postgres_only = pytest.mark.parametrize("server", ["postgres"], indirect=True)


def _engine_of(server: Server, user: str) -> sa.Engine:
    e = server.endpoint
    return sa.create_engine(
        sa.URL.create(DRIVERS[server.name], user, "canary-4711", e.host, e.port, e.database), poolclass=sa.NullPool
    )


def _until(attempt: Callable[[], list[dict]], wanted: list[dict]) -> list[str]:
    """Try until the rows are there, and what was said meanwhile."""
    deadline, found, said = Deadline.after(60), [], []
    while found != wanted:
        assert deadline.wait(0.02), (found, said)
        try:
            found += attempt()
        except RetriableError as error:
            said.append(error.message)
    return said


def test_a_server_that_has_no_connection_left_is_tried_again(server: Server):
    user = f"{server.table}_few"
    limit = {"postgres": "PASSWORD 'canary-4711' CONNECTION LIMIT 3", "mariadb": "IDENTIFIED BY 'canary-4711'"}
    server.run(
        "CREATE TABLE {t} (id INT PRIMARY KEY)",
        "INSERT INTO {t} VALUES (1)",
        f"CREATE USER {user} {limit[server.name]}" + " WITH MAX_USER_CONNECTIONS 3" * (server.name == "mariadb"),
        f"GRANT SELECT ON {{t}} TO {user}",
    )
    planned = server.connector(
        **BY_ID, offset__mode="confluent", connection__user=user, connection__password="canary-4711"
    )
    (config,) = planned.task_configs(1)
    engine = _engine_of(server, user)
    held = [engine.connect() for _ in range(3)]
    store, opened = OffsetStore(), []

    def read() -> list[dict]:
        task = planned.task({**config, **EVERYWHERE})
        try:
            task.open(store)
            opened.append(1)
            return rows(batches(task, store, at_most=1))
        finally:
            task.close()

    with pytest.raises(RetriableError, match=r"too many connections|max_user_connections") as error:
        read()
    assert "canary-4711" not in str(error.value)
    for connection in held:
        connection.close()
    _until(read, [{"id": 1}])


def test_a_table_that_another_has_locked_is_waited_for(server: Server):
    other = f"{server.table}_other"
    for name in (server.table, other):
        server.run(f"CREATE TABLE {name} (id INT PRIMARY KEY)", f"INSERT INTO {name} VALUES (1)")
    lock = {"postgres": "LOCK TABLE {t} IN ACCESS EXCLUSIVE MODE", "mariadb": "LOCK TABLES {t} WRITE"}
    store = OffsetStore()
    if server.name == "mariadb":
        server.run("SET GLOBAL lock_wait_timeout=1")
    task = server.opened(store, **BY_ID, offset__mode="confluent", table__whitelist=f"{server.table},{other}")
    with server.engine.connect() as locking:
        locking.exec_driver_sql(lock[server.name].format(t=server.table))
        said: list[str] = []
        topics: list[str] = []
        deadline = Deadline.after(60)
        while not said or not topics:
            assert deadline.wait(0.02)
            try:
                topics += [batch.topic for batch in batches(task, store, at_most=1)]
            except RetriableError as error:
                said.append(error.message)
        assert "lock timeout" in said[0] or "Lock wait timeout" in said[0]
        assert set(topics) == {f"db-{other}"}
        locking.exec_driver_sql("UNLOCK TABLES") if server.name == "mariadb" else locking.rollback()
    if server.name == "mariadb":
        server.run("SET GLOBAL lock_wait_timeout=86400")
    _until(lambda: rows(batches(task, store, at_most=1)), [{"id": 1}])
    task.close()


def test_a_password_that_is_another_for_a_while_is_waited_for(server: Server):
    user, wrong = f"{server.table}_user", "canary-4712"
    identified = {"postgres": "PASSWORD", "mariadb": "IDENTIFIED BY"}[server.name]
    server.run(
        "CREATE TABLE {t} (id INT PRIMARY KEY)",
        f"CREATE USER {user} {identified} 'canary-4711'",
        f"GRANT SELECT ON {{t}} TO {user}",
    )
    given = {**BY_ID, "offset__mode": "confluent", "connection__user": user, "connection__password": "canary-4711"}
    store = OffsetStore()
    task = server.opened(store, **given)
    server.run("INSERT INTO {t} VALUES (1)")
    _until(lambda: rows(batches(task, store, at_most=1)), [{"id": 1}])
    server.run(f"ALTER USER {user} {identified} '{wrong}'")
    cut_off(server, user)
    said: list[str] = []
    deadline = Deadline.after(60)
    while not any("denied" in text or "authentication failed" in text for text in said):
        assert deadline.wait(0.02), said
        try:
            task.poll(Deadline.after(0.05))
        except RetriableError as error:
            said.append(error.message)
    assert not any("canary" in text for text in said)
    assert not store.gauges["tables_failed"]
    server.run(f"ALTER USER {user} {identified} 'canary-4711'", "INSERT INTO {t} VALUES (2)")
    _until(lambda: rows(batches(task, store, at_most=1)), [{"id": 2}])
    task.close()


def cut_off(server: Server, user: str) -> None:
    with server.engine.connect() as connection:
        if server.name == "postgres":
            connection.exec_driver_sql(
                f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '{user}'"
            ).all()
            return
        found = f"SELECT id FROM information_schema.processlist WHERE user = '{user}'"
        for (number,) in connection.exec_driver_sql(found).all():
            # A session of the user may end by itself once another one is killed.
            with suppress(sa.exc.OperationalError):
                connection.exec_driver_sql(f"KILL {number}")


VALUES = {
    "postgres": ("NUMERIC(10,2)", "'NaN'", "1.5", r"amount.*(NaN|fit)"),
    "mariadb": ("BIGINT UNSIGNED", "18446744073709551615", "15", r"amount.*bigint\.unsigned\.handling\.mode=precise"),
}


def test_a_value_that_no_type_fits_stops_its_table_alone_and_is_told_by_column(server: Server, caplog):
    kind, bad, good, told = VALUES[server.name]
    other = f"{server.table}_other"
    server.run(f"CREATE TABLE {{t}} (id INT PRIMARY KEY, amount {kind})", f"INSERT INTO {{t}} VALUES (1, {bad})")
    server.run(f"CREATE TABLE {other} (id INT PRIMARY KEY)", f"INSERT INTO {other} VALUES (1)")
    store = OffsetStore()
    settings = {**BY_ID, "offset__mode": "confluent", "table__poll__interval__ms": 100}
    task = server.opened(store, **settings, table__whitelist=f"{server.table},{other}")
    topics: list[str] = []
    deadline = Deadline.after(60)
    while store.gauges.get("tables_failed") != 1 or not topics:
        assert deadline.wait(0.02)
        topics += [batch.topic for batch in batches(task, store, at_most=1)]
    assert topics == [f"db-{other}"]
    (line,) = {record.getMessage() for record in caplog.records if "left aside" in record.getMessage()}
    assert server.table in line
    alone = server.opened(OffsetStore(), **settings)
    with pytest.raises(SchemaError, match=told):
        batches(alone, OffsetStore())
    alone.close()
    server.run(f"UPDATE {{t}} SET amount = {good}")
    found: list[dict] = []
    deadline = Deadline.after(60)
    while not found:
        assert deadline.wait(0.02)
        found = rows(batches(task, store, at_most=1))
    task.close()
    assert [row["id"] for row in found] == [1]
    assert store.gauges["tables_failed"] == 0


def test_rows_of_a_clock_that_went_back_by_less_than_the_settle_time_come_once(server: Server):
    kind, clock = {"postgres": ("TIMESTAMPTZ", "now()"), "mariadb": ("TIMESTAMP(6)", "now(6)")}[server.name]
    server.run(f"CREATE TABLE {{t}} (id INT PRIMARY KEY, ts {kind} NOT NULL)", f"INSERT INTO {{t}} VALUES (1, {clock})")
    settings = {"mode": "timestamp+incrementing", "timestamp__column__name": "ts", "incrementing__column__name": "id"}
    store = OffsetStore()
    # Where rows are held back, each comes after the settle time.
    task = server.opened(store, **settings, timestamp__granularity="micros_long", settle__time__ms=2000)
    came: list[dict] = []
    for number, back in ((1, None), (2, "1.8"), (3, "0")):
        if back is not None:
            server.run(f"INSERT INTO {{t}} VALUES ({number}, {clock} - INTERVAL '{back}' SECOND)")
        deadline = Deadline.after(60)
        while number not in {row["id"] for row in came}:
            assert deadline.wait(0.02), came
            came += rows(batches(task, store, at_most=1))
    task.close()
    assert [row["id"] for row in came] == [1, 2, 3]


@pytest.mark.parametrize(
    ("settings", "member"),
    [
        (BY_ID, {"incrementing": "0 OR 1=1; DROP TABLE {t}"}),
        (
            {"mode": "timestamp", "timestamp__column__name": "ts"},
            {"timestamp": "1'; DROP TABLE {t}; --", "timestamp_nanos": 0},
        ),
    ],
)
def test_an_offset_that_is_no_number_is_none_and_never_sql(server: Server, settings, member, caplog):
    server.run(
        "CREATE TABLE {t} (id INT PRIMARY KEY, ts TIMESTAMP NOT NULL)", "INSERT INTO {t} VALUES (1, '2024-01-01')"
    )
    store = OffsetStore()
    partition = {"protocol": "1", "table": FULL[server.name].format(server.table)}
    store.offsets[json.dumps(partition)] = json.dumps(
        {name: value.format(t=server.table) if isinstance(value, str) else value for name, value in member.items()}
    )
    task = server.opened(store, **settings)
    # As where there is no offset: from the beginning.
    _until(lambda: [{"id": row["id"]} for row in rows(batches(task, store, at_most=1))], [{"id": 1}])
    task.close()
    assert f"has {next(iter(member))} of type str" in caplog.text
    assert "DROP TABLE" not in caplog.text
    with server.engine.connect() as connection:
        assert connection.exec_driver_sql(f"SELECT count(*) FROM {server.table}").scalar() == 1


@pytest.mark.parametrize(
    ("settings", "offset"),
    [
        ({"mode": "bulk"}, {"bulk_last_key": "0) OR 1=1; DROP TABLE {t}; --", "rows": 1}),
        ({"mode": "bulk"}, {"bulk_pass_finished_ms": 250_000_000_000_000, "rows": 0}),
        (
            {"mode": "timestamp", "timestamp__column__name": "ts"},
            {"timestamp": 10**18, "tie_timestamp_us": 5, "tie_key": "[{}]"},
        ),
        (BY_ID, {"incrementing": 10**20, "safe_pass": '{"ended": "1:2:3); DROP TABLE {t}"}'}),
        (BY_ID, {"initial_read": '{"mark": {"incrementing": 1}, "bounds": ["1); DROP TABLE {t}"]}'}),
    ],
)
def test_an_offset_that_nobody_can_have_stored_is_taken_as_none(server: Server, settings, offset):
    server.run(
        "CREATE TABLE {t} (id INT PRIMARY KEY, ts TIMESTAMP NOT NULL)", "INSERT INTO {t} VALUES (1, '2024-01-01')"
    )
    store = OffsetStore()
    partition = {"protocol": "1", "table": FULL[server.name].format(server.table)}
    store.offsets[json.dumps(partition)] = json.dumps(offset).replace("{t}", server.table)
    task = server.opened(store, **settings)
    _until(lambda: [{"id": row["id"]} for row in rows(batches(task, store, at_most=1))], [{"id": 1}])
    task.close()


def _cut(server: Server) -> bool:
    """End the connections that read the log; False when there is none."""
    found = {
        "postgres": "SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots "
        f"WHERE slot_name = '{server.table}' AND active_pid IS NOT NULL",
        "mariadb": "SELECT id FROM information_schema.processlist WHERE command LIKE 'Binlog Dump%%'",
    }
    with server.engine.connect() as connection:
        ids = connection.exec_driver_sql(found[server.name]).all()
        for (number,) in ids if server.name == "mariadb" else ():
            connection.exec_driver_sql(f"KILL {number}")
    return bool(ids)


def test_a_log_whose_connection_is_cut_again_and_again_is_read_on_without_a_gap(server: Server):
    server.run("CREATE TABLE {t} (id INT PRIMARY KEY)", "INSERT INTO {t} VALUES (0)")
    cuts, said = 0, []
    with log_run(server, max__batch__size=7) as run:
        run.open()
        run.until_events(1)
        for first in range(1, 61, 20):
            server.run(*(f"INSERT INTO {{t}} VALUES ({i}), ({i + 1})" for i in range(first, first + 20, 2)))
            run.until(lambda first=first: len(run.events) > first)
            cuts += _cut(server)
            deadline = Deadline.after(60)
            while len(said) < cuts:
                assert not deadline.expired
                said += _refusal(run)
        run.until_events(61)
        assert [value["after"]["id"] for _, _, value in run.events] == list(range(61))
    assert cuts >= 2
    assert all("failed" in text for text in said)


def _refusal(run: LogRun) -> list[str]:
    """What a poll failed with; what it gave instead counts."""
    try:
        batch = run.task.poll(Deadline.after(0.2))
    except RetriableError as error:
        return [error.message]
    if batch is not None:
        run.take(batch)
    return []


def test_a_table_that_is_dropped_leaves_the_log_of_the_others(server: Server, caplog):
    other = f"{server.table}_other"
    for name in (server.table, other):
        server.run(f"CREATE TABLE {name} (id INT PRIMARY KEY)", f"INSERT INTO {name} VALUES (1)")
    with log_run(server, server.table, other) as run:
        planned = server.connector(**run.settings)
        (config,) = planned.task_configs(1)

        def start() -> None:
            run.task = planned.task({**config, **EVERYWHERE})
            run.task.open(run.store)

        start()
        run.until(lambda: run.batches and "snapshot" not in run.batches[-1].position.offset)
        run.close()
        server.run(f"INSERT INTO {other} VALUES (2)", "INSERT INTO {t} VALUES (2)", "DROP TABLE {t}")
        server.run(f"INSERT INTO {other} VALUES (3)")
        start()
        run.until(lambda: any(value["after"]["id"] == 3 for _, _, value in run.events))
        assert [value["after"]["id"] for topic, _, value in run.events if topic == run.topic(other)] == [1, 2, 3]
        assert f"are gone are left out: {run.topic()[len(run.name) + 1 :]}." in caplog.text
        run.close()
        server.run(f"DROP TABLE {other}")
        start()
        with pytest.raises(ConnectError, match="do not exist"):
            run.until(lambda: False)


def test_a_table_that_may_not_be_read_is_left_aside_and_the_others_follow_the_log(server: Server):
    user, closed = f"{server.table}_user", f"{server.table}_closed"
    right = {
        "postgres": f"CREATE PUBLICATION {server.table} FOR TABLE {{t}}, {closed}",
        "mariadb": f"GRANT REPLICATION SLAVE, BINLOG MONITOR ON *.* TO {user}",
    }[server.name]
    password = "PASSWORD" if server.name == "postgres" else "IDENTIFIED BY"
    server.run(
        "CREATE TABLE {t} (id INT PRIMARY KEY)",
        f"CREATE TABLE {closed} (id INT PRIMARY KEY)",
        f"CREATE USER {user} {password} 'canary-4711'" + " REPLICATION" * (server.name == "postgres"),
        f"GRANT SELECT ON {{t}} TO {user}",
        f"GRANT INSERT ON {closed} TO {user}",
        right,
        "INSERT INTO {t} VALUES (1)",
        f"INSERT INTO {closed} VALUES (1)",
    )
    settings = {
        "connection__user": user, "connection__password": "canary-4711", "publication__autocreate__mode": "disabled",
    }  # fmt: skip
    with log_run(server, server.table, closed, **settings) as run:
        *_, note = server.connector(**run.settings).check(Deadline.after(60))
        assert "left aside" in note
        assert closed in note
        run.open()
        run.until_events(1)
        server.run(f"INSERT INTO {closed} VALUES (2)", "INSERT INTO {t} VALUES (2)")
        run.until_events(2)
        assert [(topic, value["after"]["id"]) for topic, _, value in run.events] == [(run.topic(), 1), (run.topic(), 2)]
        assert run.store.explained is not None
        assert closed in run.store.explained
        assert "Grant SELECT" in run.store.explained
        run.close()
        with pytest.raises(ConfigError) as error:
            server.connector(**{**run.settings, "table__whitelist": closed}).check(Deadline.after(60))
        assert [(p.key, closed in p.message) for p in error.value.problems] == [("table.whitelist", True)]


@postgres_only
def test_names_and_offsets_of_the_log_are_never_sql(server: Server):
    server.run("CREATE TABLE {t} (id TEXT PRIMARY KEY)", "INSERT INTO {t} VALUES ('a'), ('z')")
    evil = f"p\"; DROP TABLE {server.table}; --'"
    with log_run(server, publication__name=evil) as run:
        place = {"snapshot": True, "last_snapshot_record": False, "snapshot_done": "[]", "lsn": 1, "lsn_commit": 1}
        key = json.dumps([f"b') ; DROP TABLE {server.table}; --"])
        run.open()
        run.until_events(2)
        run.close()
        (partition,) = run.store.offsets
        stored = json.loads(run.store.offsets[partition])
        run.store.offsets[partition] = json.dumps(
            {**place, **stored, "snapshot": True, "snapshot_table": f"public.{server.table}", "snapshot_key": key}
        )
        run.open()
        run.until_events(3)
        server.run("INSERT INTO {t} VALUES ('new')")
        run.until_events(4)
        assert [value["after"]["id"] for _, _, value in run.events] == ["a", "z", "z", "new"]
        with server.engine.begin() as connection:
            connection.execute(sa.text("DROP PUBLICATION " + '"' + evil.replace('"', '""') + '"'))
