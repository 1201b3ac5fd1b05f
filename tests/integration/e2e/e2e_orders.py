"""Runs an application that writes rows all the time, and configures the source that reads them."""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path
from typing import Self

ROWS_PER_S = 200


class Writer:
    """Inserts rows all the time, as an application would."""

    def __init__(self, path: Path, rows_per_s: int = ROWS_PER_S) -> None:
        self._path = path
        self._batch = rows_per_s // 10
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.rows = 0
        with sqlite3.connect(path) as connection:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, name TEXT NOT NULL, amount INTEGER)")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def add_column(self, name: str) -> None:
        """Add a column to the table; rows have a value in it from now on."""
        connection = sqlite3.connect(self._path, timeout=30)
        with connection:
            connection.execute(f"ALTER TABLE orders ADD COLUMN {name} INTEGER DEFAULT 7")
        connection.close()

    def stop(self) -> int:
        """End the writer, and return how many rows there are. Their ids are 1 to this number."""
        self._stop.set()
        self._thread.join(60)
        return self.rows

    def _run(self) -> None:
        connection = sqlite3.connect(self._path, timeout=30)
        while not self._stop.wait(0.1):
            batch = [(f"order {self.rows + i}", (self.rows + i) % 7 or None) for i in range(self._batch)]
            with connection:
                connection.executemany("INSERT INTO orders (name, amount) VALUES (?, ?)", batch)
            self.rows += len(batch)
        connection.close()


def source_config(path: Path, topic_prefix: str, **more: str) -> dict[str, str]:
    """Return the configuration of a source that reads each row once, in transactions."""
    return {
        "connector.class": "JdbcSourceConnector", "connection.url": f"sqlite:///{path}",
        "mode": "incrementing", "incrementing.column.name": "id", "table.whitelist": "orders",
        "topic.prefix": topic_prefix, "poll.interval.ms": "100", "exactly.once.support": "required", **more,
    }  # fmt: skip
