"""Changes tables on a thread while mode=log follows them."""

from __future__ import annotations

import random
import threading

import sqlalchemy as sa
from jdbc_server import Server

MANY = {"postgres": "generate_series(1, {}) AS s(i)", "mariadb": "(SELECT seq AS i FROM seq_1_to_{}) s"}
"""Maps the server's name to a FROM clause that gives the numbers from 1 on as `i`."""


class Writer(threading.Thread):
    """Changes two tables in transactions that mix them, until it is told to end."""

    def __init__(self, server: Server, seed: int) -> None:
        super().__init__(daemon=True)
        self._server = server
        self._random = random.Random(seed)
        self._ended = threading.Event()
        self._next = 10_000
        self.committed = 0
        self.failure: BaseException | None = None

    def run(self) -> None:
        try:
            with self._server.engine.connect() as connection:
                while not self._ended.is_set():
                    self._transaction(connection)
        except BaseException as error:  # noqa: BLE001 - the test shows it
            self.failure = error

    def _transaction(self, connection: sa.Connection) -> None:
        draw, table = self._random, self._server.table
        many = MANY[self._server.name].format(30)
        for _ in range(draw.randint(1, 40)):
            name = draw.choice([table, f"{table}_b"])
            row = draw.randint(1, 400)
            self._next += 1
            connection.exec_driver_sql(
                draw.choice(
                    [
                        f"INSERT INTO {name} VALUES ({self._next}, {self._next}, 'new')",
                        f"INSERT INTO {name} SELECT {self._next * 100} + i, i, 'many' FROM {many}",
                        f"UPDATE {name} SET version = version + 1, name = 'v{self._next}' WHERE id = {row}",
                        f"UPDATE {name} SET id = {-self._next} WHERE id = {row}",
                        f"DELETE FROM {name} WHERE id = {row}",
                    ]
                )
            )
        if draw.random() < 0.15:
            connection.rollback()
        else:
            connection.commit()
            self.committed += 1

    def end(self) -> None:
        self._ended.set()
        self.join(30)
        assert self.failure is None, self.failure


def content(server: Server, table: str) -> dict[int, tuple[int, str]]:
    with server.engine.connect() as connection:
        return {r[0]: (r[1], r[2]) for r in connection.exec_driver_sql(f"SELECT id, version, name FROM {table}")}


def two_tables(server: Server, count: int) -> list[str]:
    names = [server.table, f"{server.table}_b"]
    for name in names:
        server.run(
            f"CREATE TABLE {name} (id BIGINT PRIMARY KEY, version BIGINT NOT NULL, name TEXT)",
            f"INSERT INTO {name} SELECT i, 0, concat('row ', i) FROM {MANY[server.name].format(count)}",
        )
    return names
