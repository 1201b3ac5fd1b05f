"""A validation looks at many tables side by side, and ends by its deadline."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest
from google.api_core import exceptions as api

from connect.api.errors import RetriableError
from connect.lib.deadline import Deadline
from connectors.bigquery.settings.config import BigQuerySinkConfig
from connectors.bigquery.tables.preflight import check
from connectors.bigquery.warehouse.warehouse import Warehouse

AT_ONCE = 4
TOPICS = [f"t{number}" for number in range(3 * AT_ONCE)]


class Client:
    """BigQuery without tables. It answers when so many ask at the same time, and notes how long each would wait."""

    def __init__(self) -> None:
        self.waits_s: list[float] = []
        self._together = threading.Barrier(AT_ONCE, timeout=30)

    def get_dataset(self, _: str, **__: Any) -> Any:
        return SimpleNamespace(location="EU")

    def query(self, _: str, **__: Any) -> Any:
        return SimpleNamespace(total_bytes_processed=0)

    def get_table(self, name: str, *, timeout: float, **_: Any) -> Any:
        self.waits_s.append(timeout)
        self._together.wait()
        raise api.NotFound(name)


def test_tables_of_many_topics_are_looked_at_side_by_side_by_one_deadline():
    client = Client()
    config = BigQuerySinkConfig.parse({
        "project": "p", "defaultDataset": "d", "topics": ",".join(TOPICS), "dedup.fields": "id",
        "threadPoolSize": str(AT_ONCE),
    })  # fmt: skip
    warehouse = Warehouse(client, "p", "d", timeout_s=900)
    with warehouse.within(Deadline.after(60)):
        check(config, warehouse)
    assert len(client.waits_s) == len(TOPICS)
    assert max(client.waits_s) <= 60, "no look outlasts the validation"


def test_a_failed_look_is_told():
    warehouse = Warehouse(Client(), "p", "d", timeout_s=1)

    def ask(thing: int) -> int:
        if thing == 2:
            raise RetriableError("the service is away")
        return thing

    assert warehouse.side_by_side(ask, [0, 1], 2) == [0, 1]
    assert warehouse.side_by_side(ask, [], 2) == []
    with pytest.raises(RetriableError, match="is away"):
        warehouse.side_by_side(ask, [0, 1, 2, 3], 2)
