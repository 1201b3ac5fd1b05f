"""Drives mode=log without Kafka: it polls, stores offsets as JSON, and builds the tables again from the events."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import sqlalchemy as sa
from jdbc_drive import OffsetStore
from jdbc_server import FULL, Server

from connect.api.errors import RetriableError
from connect.api.records import Batch
from connect.lib.deadline import Deadline
from connectors.jdbc.log.task import JdbcLogTask
from connectors.jdbc.source.task import JdbcSourceTask

PATIENCE_S = 60.0


class LogRun:
    """Runs a connector on the server's log, with its own slot and publication. `rebuilt` maps tables to keys to
    rows.
    """

    def __init__(self, server: Server, *tables: str, **settings: object) -> None:
        self.server = server
        self.store = OffsetStore()
        self.name = server.table
        self.batches: list[Batch] = []
        self.events: list[tuple[str, Any, Any]] = []
        self.settings: dict[str, object] = {
            "mode": "log", "topic__prefix": self.name, "slot__name": self.name, "publication__name": self.name,
            "table__whitelist": ",".join(tables or (server.table,)), "timestamp__granularity": "micros_long",
            **settings,
        }  # fmt: skip
        self.task: JdbcLogTask | JdbcSourceTask | None = None

    def open(self, **settings: object) -> None:
        self.task = self.server.opened(self.store, **{**self.settings, **settings})

    def poll(self, timeout_s: float = 0.2) -> Batch | None:
        """Return the next batch, and store it as a flush would."""
        assert self.task is not None
        batch = None
        with suppress(RetriableError):
            batch = self.task.poll(Deadline.after(timeout_s))
        if batch is not None:
            self.take(batch)
        return batch

    def take(self, batch: Batch) -> None:
        """Store a polled batch, as a flush would."""
        assert self.task is not None
        self.store.store(batch)
        assert batch.position is not None
        assert all(isinstance(v, str | int) for v in batch.position.offset.values()), "primitives only"
        self.task.stored([batch.position])
        if "kind" not in batch.position.partition:
            # Batches that only tell the columns of tables are left out.
            self.batches.append(batch)
        keys = batch.keys.rows() if batch.keys is not None else [None] * len(batch)
        self.events += [(batch.topic, k, v) for k, v in zip(keys, batch.values.rows(), strict=True)]

    def until(self, done: Callable[[], object]) -> None:
        """Poll until `done` returns True."""
        deadline = Deadline.after(PATIENCE_S)
        while not done():
            assert not deadline.expired, f"{len(self.events)} events in {PATIENCE_S} s: {self.events[-1:]}"
            self.poll()

    def until_events(self, count: int) -> list[tuple[str, Any, Any]]:
        """Return the events once there are at least `count`."""
        self.until(lambda: len(self.events) >= count)
        return self.events

    def rebuilt(self, topic: str) -> dict[str, Any]:
        """Return the table as a reader by key sees it: the last row of each key that is not deleted."""
        rows: dict[str, Any] = {}
        for name, key, value in self.events:
            if name == topic:
                text = json.dumps(key, default=str)
                rows.pop(text, None)
                if value is not None and value["op"] != "d":
                    rows[text] = value["after"]
        return rows

    def topic(self, table: str | None = None) -> str:
        schema = FULL[self.server.name].partition(".")[0]
        return f"{self.name}.{schema}.{table or self.server.table}"

    def close(self) -> None:
        if self.task is not None:
            self.task.close()


@contextmanager
def log_run(server: Server, *tables: str, **settings: object) -> Iterator[LogRun]:
    """Yield a run, and drop its slot in the end, as the server keeps its log for every slot."""
    run = LogRun(server, *tables, **settings)
    try:
        yield run
    finally:
        run.close()
        forget(server)


def forget(server: Server) -> None:
    """Drop slot and publication."""
    if server.name != "postgres":
        return
    server.run(
        f"SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE slot_name = '{server.table}'",
        f"DROP PUBLICATION IF EXISTS {server.table}",
    )
    deadline = Deadline.after(PATIENCE_S)
    drop = f"SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = '{server.table}'"
    while True:
        try:
            server.run(drop)
        except sa.exc.OperationalError:
            # The server's process for it may still be ending.
            assert deadline.wait(0.05)
            continue
        return
