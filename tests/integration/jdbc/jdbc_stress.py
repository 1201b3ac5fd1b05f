"""Runs writers with long and overlapping transactions, some rolled back, and readers that crash, and compares them."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import sqlalchemy as sa
from jdbc_drive import OffsetStore

from connect.api.errors import RetriableError
from connect.lib.deadline import Deadline
from connectors.jdbc.source.task import JdbcSourceTask

WRITERS = 8
_CRASHES_PER_S = 0.7
MODES = {
    "incrementing": {"mode": "incrementing", "incrementing__column__name": "id"},
    "timestamp": {"mode": "timestamp", "timestamp__column__name": "ts"},
    "both": {"mode": "timestamp+incrementing", "timestamp__column__name": "ts", "incrementing__column__name": "id"},
}
COLUMNS = {
    "postgres": "id BIGSERIAL PRIMARY KEY, ts TIMESTAMPTZ(6) NOT NULL, version INT NOT NULL",
    "mariadb": "id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY, ts TIMESTAMP(6) NOT NULL, version INT NOT NULL",
}
SERIES = {"postgres": "generate_series(1, {n}) AS s (seq)", "mariadb": "seq_1_to_{n}"}
"""This SQL gives the numbers 1 to n, by database."""
Row = tuple[int, int]
"""Holds the id and the version of a row."""


@dataclass
class Committed:
    """Holds what the writers' committed transactions have left behind; guarded by its lock."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    versions: dict[int, int] = field(default_factory=dict)
    failures: list[BaseException] = field(default_factory=list)


class Writer(threading.Thread):
    """Runs a session that inserts rows, and updates its own rows."""

    def __init__(self, engine: sa.Engine, table: str, seed: int, writing: Deadline, committed: Committed) -> None:
        super().__init__(daemon=True)
        self._engine = engine
        self._table = table
        self._random = random.Random(seed)
        self._writing = writing
        self._committed = committed
        self._own: dict[int, int] = {}

    def owns(self, versions: dict[int, int]) -> None:
        """Take rows that exist before the session starts, and that only this session updates."""
        self._own |= versions

    def run(self) -> None:
        try:
            with self._engine.connect() as connection:
                while not self._writing.expired:
                    self._transaction(connection)
        except BaseException as error:  # noqa: BLE001 - the test shows it
            with self._committed.lock:
                self._committed.failures.append(error)

    def _transaction(self, connection: sa.Connection) -> None:
        draw = self._random
        changed: dict[int, int] = {}
        connection.exec_driver_sql("SELECT 1")
        for _ in range(draw.randint(1, 4)):
            # A savepoint makes a subtransaction, which has its own transaction id in PostgreSQL.
            with connection.begin_nested() if draw.random() < 0.4 else _nothing():
                if self._own and draw.random() < 0.3:
                    row = draw.choice(list(self._own))
                    changed[row] = changed.get(row, self._own[row]) + 1
                    connection.exec_driver_sql(
                        f"UPDATE {self._table} SET ts = CURRENT_TIMESTAMP(6), version = {changed[row]} WHERE id = {row}"
                    )
                else:
                    changed[self._insert(connection)] = 1
            threading.Event().wait(draw.uniform(0.0, 0.03))
        if draw.random() < 0.06:
            threading.Event().wait(draw.uniform(0.5, 2.5))
        if draw.random() < 0.2:
            connection.rollback()
            return
        connection.commit()
        self._own |= changed
        with self._committed.lock:
            self._committed.versions |= changed

    def _insert(self, connection: sa.Connection) -> int:
        sql = f"INSERT INTO {self._table} (ts, version) VALUES (CURRENT_TIMESTAMP(6), 1) RETURNING id"
        return int(connection.exec_driver_sql(sql).scalar_one())


class _nothing:  # noqa: N801 - used as a function, as contextlib.nullcontext is
    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...


class Reader(threading.Thread):
    """Runs a task that is killed at random. Rows count once their offset is stored with them, as in a transaction."""

    def __init__(
        self,
        open_task: Callable[[OffsetStore], JdbcSourceTask],
        seed: int,
        *,
        crashes: bool,
        store: OffsetStore | None = None,
    ) -> None:
        """Take the function that opens a task. `store` is one that several readers share, as the tasks of a connector
        do.
        """
        super().__init__(daemon=True)
        self.open_task = open_task
        self.random = random.Random(seed)
        self._crashes = crashes
        self._store = store or OffsetStore()
        self.ended = threading.Event()
        self.delivered: Counter[Row] = Counter()
        self.crashed = 0
        self.failure: BaseException | None = None

    def run(self) -> None:
        try:
            while not self.ended.is_set():
                self.life(self._store)
        except BaseException as error:  # noqa: BLE001 - the test shows it
            self.failure = error

    def life(self, store: OffsetStore) -> None:
        """Run the task from one start to its end."""
        task = self.open_task(store)
        ends_s = time.monotonic() + (self.random.expovariate(_CRASHES_PER_S) if self._crashes else 3600.0)
        try:
            while not self.ended.is_set():
                try:
                    batch = task.poll(Deadline.after(0.05))
                except RetriableError:
                    # The framework would poll again.
                    continue
                if time.monotonic() > ends_s:
                    self.crashed += 1
                    return
                if batch is not None:
                    store.store(batch)
                    self.delivered.update((row["id"], row["version"]) for row in batch.values.rows())
        finally:
            task.close()

    def end(self) -> None:
        self.ended.set()
        self.join(30.0)


def lost(committed: Committed, reader: Reader, *, updates: bool) -> list[Row]:
    """Return the rows whose last version did not come, or without `updates` the rows of which no version came."""
    with committed.lock:
        wanted = dict(committed.versions)
    if updates:
        return [row for row in wanted.items() if row not in reader.delivered]
    came = {row for row, _ in reader.delivered}
    return [row for row in wanted.items() if row[0] not in came]
