"""A store of its own for each test."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from iceberg_lake import Commits, Lake
from pyiceberg.catalog.sql import SqlCatalog
from s3_http_store import Store


@pytest.fixture
def store() -> Iterator[Store]:
    with Store() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))  # seconds until it sees that it is to end
        thread.start()
        yield server
        server.ended.set()
        server.released.set()
        server.shutdown()
        thread.join()


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


@pytest.fixture
def commits(monkeypatch: pytest.MonkeyPatch) -> Commits:
    found = Commits()
    monkeypatch.setattr(SqlCatalog, "commit_table", found.around(SqlCatalog.commit_table))
    return found
