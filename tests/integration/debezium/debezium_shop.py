"""Runs a server of any kind with a small shop, and our connectors for it."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import pymysql
from binlog_servers import binlog_server
from debezium_bed import connected, server_of_many_slots
from debezium_ours import OurRun
from debezium_peer import postgres_config

ROWS = ("CREATE TABLE shop.orders (id int PRIMARY KEY)", "INSERT INTO shop.orders VALUES (1)")

Run = Callable[[str], object]
"""A function of this type runs a statement."""


class Shop:
    """Holds a server with a table of orders, and runs connectors for it."""

    def __init__(self, kind: str, stack: ExitStack) -> None:
        self.kind = kind
        self._probes: list[int] = []
        if kind == "postgres":
            self._endpoint = stack.enter_context(server_of_many_slots())
            self._database = stack.enter_context(connected(self._endpoint))
            self.run("CREATE SCHEMA shop", *ROWS)
        else:
            self._server = stack.enter_context(binlog_server(kind))
            self.run("CREATE DATABASE shop", *ROWS)

    def run(self, *statements: str) -> None:
        if self.kind != "postgres":
            self._server.run(*statements)
            return
        for statement in statements:
            self._database.execute(statement.encode())

    def connector(self, offsets: Mapping[str, Mapping[str, object]] | None = None, **settings: str) -> OurRun:
        return OurRun(self.config("reading", **settings), offsets)

    def config(self, name: str, bootstrap_servers: str = "kafka:9092", **settings: str) -> dict[str, str]:
        """Return the configuration of a connector of this name."""
        if self.kind == "postgres":
            return postgres_config(self._endpoint, name, **{"schema.include.list": "shop", **settings})
        return self._server.config(name, bootstrap_servers, **{"database.include.list": "shop", **settings})

    @contextmanager
    def writing(self, write: Callable[[Run, int], None]) -> Iterator[None]:
        """Let a thread write all the time: `write` gets a session, and 1, 2, 3 and so on."""
        stopping = threading.Event()

        def write_on() -> None:
            with self.session() as run:
                for number in itertools.takewhile(lambda _: not stopping.is_set(), itertools.count(1)):
                    write(run, number)

        thread = threading.Thread(target=write_on)
        thread.start()
        try:
            yield
        finally:
            stopping.set()
            thread.join()

    def until_streaming(self, readers: Sequence[Callable[[Callable[[Any], bool]], Any]], table: str) -> None:
        """Write rows of negative numbers until each reader has sent one: later rows then come from the log."""
        for reader in readers:
            written = itertools.count(len(self._probes) + 1)

            def has_probe(found: Any, written: Iterator[int] = written) -> bool:
                records = found.get(f"shop.{table}", ())
                if any(record["value"]["payload"]["after"]["id"] < 0 for record in records):
                    return True
                self._probes.append(next(written))
                self.run(f"INSERT INTO shop.{table} VALUES ({-self._probes[-1]}, 0)")
                return False

            reader(has_probe)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """Return the rows that the server answers."""
        if self.kind == "postgres":
            return list(self._database.execute(query.encode()))
        with self._server.session.cursor() as cursor:
            cursor.execute(query)
            return list(cursor.fetchall())

    @contextmanager
    def session(self) -> Iterator[Run]:
        """Yield a function that runs statements in one session."""
        if self.kind == "postgres":
            with connected(self._endpoint) as database:
                yield lambda statement: database.execute(statement.encode())
            return
        at = self._server.endpoint
        login = {"host": at.host, "port": at.port, "user": at.user, "password": at.password}
        with pymysql.connect(**login, autocommit=True) as session, session.cursor() as cursor:
            yield cursor.execute
