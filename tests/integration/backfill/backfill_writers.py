"""Runs sessions that change a table during its backfill, and keep a list of the changes in the same transactions."""

from __future__ import annotations

import itertools
import random
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import sqlalchemy as sa
from backfill_truth import Change

_WRITERS: Final = 2
_PAUSE_S: Final = 0.01
"""A session waits this many seconds between its transactions, so that their timestamps differ in milliseconds."""


class ChangedTable:
    """Holds a table of (id, v, w, ts, text) and the list of its changes: v is the version of a change, w its writer."""

    def __init__(self, url: sa.URL, name: str, shape: str) -> None:
        """Take the table's name. `shape` is `key` (the id), `text` (another column is the key) or `none`."""
        self.name, self.shape = name, shape
        self.versions = itertools.count(1)
        self.engine = sa.create_engine(url, pool_pre_ping=True)
        key = {"key": ("PRIMARY KEY", ""), "text": ("", "PRIMARY KEY"), "none": ("", "")}[shape]
        self._run(
            f"CREATE TABLE {name} (id BIGSERIAL {key[0]}, v BIGINT NOT NULL, w SMALLINT NOT NULL, "
            f"ts TIMESTAMPTZ(3) NOT NULL DEFAULT now(), name TEXT NOT NULL DEFAULT md5(random()::text) {key[1]})",
            f"ALTER TABLE {name} REPLICA IDENTITY FULL",
            f"CREATE TABLE {name}_said (row BIGINT, version BIGINT, kind TEXT)",
        )

    def fill(self, ids: Sequence[int], *, known: int) -> None:
        """Insert rows with these ids; the server's statistics only count the first `known`."""
        for begin, end in ((0, known), (known, len(ids))):
            rows = [{"id": row, "v": next(self.versions), "w": row % _WRITERS} for row in ids[begin:end]]
            if rows:
                with self.engine.begin() as connection:
                    hour_ago = "now() - INTERVAL '1 hour'"
                    connection.execute(
                        sa.text(f"INSERT INTO {self.name} (id, v, w, ts) VALUES (:id, :v, :w, {hour_ago})"), rows
                    )
                    connection.execute(sa.text(f"INSERT INTO {self.name}_said VALUES (:id, :v, 'c')"), rows)
            with self.engine.connect() as connection:
                if begin == 0:
                    connection.execution_options(isolation_level="AUTOCOMMIT").exec_driver_sql(f"ANALYZE {self.name}")
        self._run(f"SELECT setval('{self.name}_id_seq', {max(0, *ids) + 1000})")

    @contextmanager
    def held_row(self) -> Iterator[None]:
        """Insert a row in a transaction that is open until the block ends; another row has a later id."""
        with self.engine.connect() as held:
            self._insert(held)
            with self.engine.begin() as later:
                self._insert(later)
            yield
            held.commit()

    def changes(self) -> list[Change]:
        """Return all changes that were committed."""
        with self.engine.connect() as connection:
            return [Change(*row) for row in connection.exec_driver_sql(f"SELECT * FROM {self.name}_said")]

    def drop(self) -> None:
        """Drop the table, and a replication slot of its name."""
        slot = f"FROM pg_replication_slots WHERE slot_name = '{self.name}'"
        self._run(f"SELECT pg_terminate_backend(active_pid) {slot} AND active")
        self._run(f"DROP TABLE {self.name}, {self.name}_said", f"DROP PUBLICATION IF EXISTS {self.name}")
        self.engine.dispose()

    def _insert(self, connection: sa.Connection) -> None:
        """Insert a row that no writer changes."""
        version = next(self.versions)
        made = sa.text(f"INSERT INTO {self.name} (v, w) VALUES ({version}, {_WRITERS}) RETURNING id")
        row = connection.execute(made).scalar_one()
        connection.execute(sa.text(f"INSERT INTO {self.name}_said VALUES ({row}, {version}, 'c')"))

    def _run(self, *statements: str) -> None:
        with self.engine.begin() as connection:
            for statement in statements:
                connection.exec_driver_sql(statement)


class Writers:
    """Runs sessions until they are ended; a session whose server is away comes back."""

    def __init__(self, table: ChangedTable, seed: str, kinds: str) -> None:
        """Take the table. `kinds` has those of c, u and d that the sessions make."""
        self._table, self._kinds = table, kinds
        self._ending = threading.Event()
        self._failures: list[BaseException] = []
        self._threads = [
            threading.Thread(target=self._run, args=(n, random.Random(f"{seed} {n}")), daemon=True)
            for n in range(_WRITERS)
        ]
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        """Wait for the last transactions of the sessions, and raise the error with which one has failed."""
        self._ending.set()
        for thread in self._threads:
            thread.join(90)
        if self._failures:
            raise self._failures[0]

    def _run(self, number: int, draw: random.Random) -> None:
        try:
            while not self._ending.is_set():
                try:
                    self._session(number, draw)
                except sa.exc.DBAPIError:
                    self._ending.wait(0.5)  # the server is away
        except BaseException as error:  # noqa: BLE001 - `end` raises it
            self._failures.append(error)

    def _session(self, number: int, draw: random.Random) -> None:
        with self._table.engine.connect() as connection:
            while not self._ending.wait(_PAUSE_S + draw.random() * 0.3):
                mine = sa.text(f"SELECT id FROM {self._table.name} WHERE w = {number} ORDER BY id")
                rows = [row for (row,) in connection.execute(mine)]
                connection.rollback()
                for _ in range(draw.randint(1, 5)):
                    self._change(connection, draw, number, rows)
                if draw.random() < 0.1:
                    self._ending.wait(draw.random() * 2)  # other sessions commit rows with later ids meanwhile
                if draw.random() < 0.15:
                    connection.rollback()
                else:
                    connection.commit()

    def _change(self, connection: sa.Connection, draw: random.Random, number: int, rows: list[int]) -> None:
        name, version = self._table.name, next(self._table.versions)
        kind = draw.choice(self._kinds) if rows else "c"
        given: dict[str, Any] = {"v": version, "w": number, "id": draw.choice(rows) if rows else 0}
        if kind == "c":
            made = sa.text(f"INSERT INTO {name} (v, w) VALUES (:v, :w) RETURNING id")
            given["id"] = connection.execute(made, given).scalar_one()
        elif kind == "u":
            connection.execute(sa.text(f"UPDATE {name} SET v = :v, ts = now() WHERE id = :id"), given)
        else:
            rows.remove(given["id"])
            connection.execute(sa.text(f"DELETE FROM {name} WHERE id = :id"), given)
        connection.execute(sa.text(f"INSERT INTO {name}_said VALUES (:id, :v, '{kind}')"), given)
