"""Runs six sessions that change a table in their own transactions, and checks the events of the changes."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterable
from typing import Any, Self

import sqlalchemy as sa

WRITERS = 6


class TableWriters:
    """Runs sessions that insert, update, delete and move rows, each its own rows, and roll some transactions back."""

    def __init__(self, url: sa.URL, table: str, rows: int) -> None:
        """Take the table, which has `rows` rows as (id, version), from id 1 on. A row's version grows with each
        change.
        """
        self._table = table
        self._rows = rows
        self._engine = sa.create_engine(url, pool_size=WRITERS)
        self._ending = threading.Event()
        self._changed = threading.Condition()
        self._committed = 0
        self._failures: list[BaseException] = []
        self._threads = [threading.Thread(target=self._run, args=(n,), daemon=True) for n in range(WRITERS)]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.end()
        self._engine.dispose()

    def end(self) -> None:
        self._ending.set()
        for thread in self._threads:
            thread.join(60)
        assert not self._failures

    def wait_for(self, transactions: int) -> None:
        """Wait until this many more `transactions` are committed."""
        with self._changed:
            wanted = self._committed + transactions
            assert self._changed.wait_for(lambda: self._committed >= wanted or self._failures, 60)
        assert not self._failures

    def _run(self, number: int) -> None:
        draw, version = random.Random(number), 0
        try:
            with self._engine.connect() as connection:
                connection.execution_options(isolation_level="READ COMMITTED")
                while not self._ending.is_set():
                    for _ in range(draw.randint(1, 6)):
                        version += 1
                        self._change(connection, draw, number, version)
                    if draw.random() < 0.2:
                        connection.rollback()
                        continue
                    connection.commit()
                    with self._changed:
                        self._committed += 1
                        self._changed.notify_all()
        except BaseException as error:  # noqa: BLE001 - the test shows it
            with self._changed:
                self._failures.append(error)
                self._changed.notify_all()

    def _change(self, connection: sa.Connection, draw: random.Random, number: int, version: int) -> None:
        table = self._table
        one, other = (draw.randrange(-20, self._rows // WRITERS + 40) * WRITERS + number for _ in range(2))
        free = f"WHERE NOT EXISTS (SELECT 1 FROM (SELECT id FROM {table}) x WHERE x.id = {other})"
        connection.exec_driver_sql(
            draw.choice(
                [
                    f"INSERT INTO {table} SELECT {other}, {version} FROM (SELECT 1 AS one) o {free}",
                    f"UPDATE {table} SET version = version + 1 WHERE id = {one}",
                    f"DELETE FROM {table} WHERE id = {one}",
                    f"UPDATE {table} SET id = {other}, version = version + 1 {free} AND id = {one}",
                ]
            )
        )


def require_order(events: Iterable[tuple[Any, str, int | None]]) -> None:
    """Fail if events are missing or doubled: no row may go back to an old version, and each change must fit the row
    before.

    `events` has in order the key, the operation (r, c, u, d) and the version of the row after it.
    """
    there: dict[Any, int | None] = {}
    for key, operation, version in events:
        if operation == "d":
            assert key in there, f"{key} is deleted, and is not there"
            del there[key]
            continue
        before = there.get(key)
        assert (key in there) == (operation == "u"), f"{key}: {operation}, and there is {before}"
        if before is not None and version is not None:
            assert before < version, f"{key} goes from {before} to {version}"
        there[key] = version
