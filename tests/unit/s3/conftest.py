"""A store of its own for each test."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from s3_http_store import Store


@pytest.fixture
def store() -> Iterator[Store]:
    with Store() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.ended.set()
        server.released.set()
        server.shutdown()
        thread.join()
