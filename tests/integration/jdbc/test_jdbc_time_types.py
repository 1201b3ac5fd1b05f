"""Checks time.precision.mode on real servers: Debezium's types by query and by log, every digit of a second kept."""

from __future__ import annotations

import pytest
from jdbc_drive import OffsetStore, batches
from jdbc_log import log_run
from jdbc_server import Server

from connect.api.schema import Schema

TIMES = {
    "postgres": (
        "d DATE, t TIME, t0 TIME(0), z TIMETZ, at TIMESTAMP, at3 TIMESTAMP(3), moment TIMESTAMPTZ",
        ("'0001-01-01', '23:59:59.999999', '12:00:01', '12:00:00.5+02', '2024-02-29 12:34:56.123456', "
        "'9999-12-31 23:59:59.999', '2024-02-29 12:34:56.1+01'"),
        {
            "d": -719_162, "t": 86_399_999_999, "t0": 43_201_000, "z": "10:00:00.5Z", "at": 1_709_210_096_123_456,
            "at3": 253_402_300_799_999, "moment": "2024-02-29T11:34:56.100000Z",
        },
    ),
    "mariadb": (
        "d DATE, t TIME(6), t0 TIME, at DATETIME(6), at3 DATETIME(3), y YEAR",
        "'0001-01-01', '23:59:59.999999', '12:00:01', '2024-02-29 12:34:56.123456', '9999-12-31 23:59:59.999', 1901",
        {
            "d": -719_162, "t": 86_399_999_999, "t0": 43_201_000, "at": 1_709_210_096_123_456,
            "at3": 253_402_300_799_999, "y": 1901,
        },
    ),
}  # fmt: skip


ADAPTIVE = {"time__precision__mode": "adaptive"}


def made(server: Server) -> tuple[str, dict[str, object]]:
    """A table with one row; what further rows are inserted by, and what they are read as."""
    columns, values, wanted = TIMES[server.name]
    server.run(f"CREATE TABLE {{t}} (id INT PRIMARY KEY, {columns})", f"INSERT INTO {{t}} VALUES (1, {values})")
    return values, wanted


def type_names(schema: Schema) -> list[str]:
    return [(schema.field(name).name or "").removeprefix("io.debezium.time.") for name in ("d", "t", "t0", "at", "at3")]


NAMES = ["Date", "MicroTime", "Time", "MicroTimestamp", "Timestamp"]


@pytest.mark.parametrize("reader", ["auto", "generic"])
def test_every_digit_of_a_second_is_kept(server, reader):
    _, wanted = made(server)
    task = server.opened(OffsetStore(), mode="bulk", poll__interval__ms=600_000, reader=reader, **ADAPTIVE)
    (batch,) = batches(task, OffsetStore())
    task.close()
    (row,) = batch.values.rows()
    assert {name: row[name] for name in wanted} == wanted
    assert type_names(batch.values.schema) == NAMES


def test_the_log_gives_the_same(server):
    values, wanted = made(server)
    with log_run(server) as run:
        run.open(timestamp__granularity="connect_logical", **ADAPTIVE)
        run.until_events(1)
        server.run(f"INSERT INTO {{t}} VALUES (2, {values})")
        rows = [value["after"] for _, _, value in run.until_events(2)]
        schema = next(batch for batch in run.batches if len(batch)).values.schema
    assert [{name: row[name] for name in wanted} for row in rows] == [wanted, wanted]
    assert type_names(schema.field("after")) == NAMES
