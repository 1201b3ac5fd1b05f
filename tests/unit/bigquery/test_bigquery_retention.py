"""Deletes are remembered as long as the setting says, also by a table that is there already."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import pytest
from bigquery_oracle import Message
from plain_bigquery import PlainBigQuery
from test_bigquery_compaction import Life, Prompt

from connectors.bigquery.warehouse import jobs

DAY_MS = 86_400_000
RETENTION = "dedup.tombstone.retention.ms"
MEMORIES = ["_orders_cleared", "_orders_deletes"]


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> PlainBigQuery:
    monkeypatch.setattr(jobs, "_FIRST_LOOK_S", 0.0001)
    return PlainBigQuery(Prompt(1))


def merged(service: PlainBigQuery, offset: int, **others: str) -> None:
    life = Life(service, **{"dedup.mode": "merge", "dedup.order.by": "version", **others})
    life.load([Message(0, offset, 1, 0), Message(0, offset + 1, 1, 0, text=None)])


def kept_ms(service: PlainBigQuery) -> list[int]:
    resources: list[dict[str, Any]] = [service.tables[name].resource for name in MEMORIES]
    return [int(resource["timePartitioning"]["expirationMs"]) for resource in resources]


@pytest.mark.parametrize(("retention_ms", "partition_ms"), [(1, 2), (DAY_MS // 2, 2), (DAY_MS, 2), (7 * DAY_MS, 8)])
def test_a_partition_of_a_day_outlives_its_last_delete(service, retention_ms, partition_ms):
    """BigQuery counts from the day's beginning, and the last delete may come at its end."""
    merged(service, 0, **{RETENTION: str(retention_ms)})
    assert kept_ms(service) == [partition_ms * DAY_MS] * 2


def test_a_longer_retention_is_that_of_tables_that_are_there(service):
    merged(service, 0)
    assert kept_ms(service) == [8 * DAY_MS] * 2
    merged(service, 2, **{RETENTION: str(60 * DAY_MS)})
    assert kept_ms(service) == [61 * DAY_MS] * 2
    merged(service, 4)  # another connector's shorter one takes nothing away
    assert kept_ms(service) == [61 * DAY_MS] * 2
    for name in MEMORIES:
        del service.tables[name].resource["timePartitioning"]["expirationMs"]
    merged(service, 6)
    assert ["expirationMs" in service.tables[name].resource["timePartitioning"] for name in MEMORIES] == [False, False]


@pytest.mark.parametrize("retention_ms", [2**63 - 1, 2**63 - DAY_MS])
def test_deletes_may_be_remembered_for_ever(service, retention_ms):
    """A larger number is none that BigQuery takes."""
    merged(service, 0, **{RETENTION: str(retention_ms)})
    assert kept_ms(service) == [2**63 - 1] * 2


@pytest.mark.parametrize("default_ms", [None, 30 * DAY_MS])
def test_a_log_does_not_expire_by_the_default_of_its_dataset(service, default_ms):
    life = Life(service)
    dataset = SimpleNamespace(location="EU", default_table_expiration_ms=default_ms)
    life.client.get_dataset = lambda *_, **__: dataset  # type: ignore[method-assign]
    life.warehouse.look()
    life.load([Message(0, 1, 1, 0)])
    expires = {name for name, table in service.tables.items() if "expirationTime" in table.resource}
    beside = {name for name in service.tables if name.startswith("_")}
    assert beside >= {"_orders_log", "_orders_deletes"}
    assert expires == (beside if default_ms else set())
    if default_ms:
        kept_ms = int(service.tables["_orders_log"].resource["expirationTime"]) - time.time() * 1000
        assert kept_ms > 36_000 * DAY_MS
