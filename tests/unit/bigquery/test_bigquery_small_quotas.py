"""Runs a service with small quotas: each that validation warns of is reached, waited for and told, and no row is
lost.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest
from bigquery_oracle import Message, batch_of
from bigquery_sql import SqlTable, config
from google.api_core import exceptions as api
from google.cloud.bigquery_storage_v1.types import AppendRowsRequest, AppendRowsResponse
from google.rpc import code_pb2
from plain_bigquery import DATASET, PROJECT, PlainBigQuery, StoredJob
from plain_bigquery_client import PlainClient
from test_bigquery_changes import sealed
from test_bigquery_compaction import Prompt

from connect.api.errors import ConnectError, RetriableError
from connect.lib.deadline import Deadline
from connect.testing.fakes import FakeSinkContext
from connectors.bigquery import sink
from connectors.bigquery.settings.config import BigQuerySinkConfig
from connectors.bigquery.sink import BigQuerySinkTask
from connectors.bigquery.warehouse import jobs
from connectors.bigquery.warehouse.storage import StorageWriter
from connectors.bigquery.warehouse.warehouse import Warehouse
from connectors.bigquery.write.appending import DefaultStream, Writer, rows_of
from connectors.bigquery.write.cdc_upserts import Capture

pytestmark = [pytest.mark.quick, pytest.mark.timeout(600)]
DAY_S: Final = 86_400
LOADS: Final = {
    "reason": "quotaExceeded",
    "message": "Your table exceeded quota for imports or query appends per table",
}


class Quota:
    """So much in a time that slides. refused: how often it was asked for more."""

    def __init__(self, most: int, window_s: float, now_s: Callable[[], float]) -> None:
        self._most, self._window_s, self._now_s = most, window_s, now_s
        self._taken: list[tuple[float, int]] = []
        self.refused = 0

    def takes(self, amount: int) -> bool:
        since_s = self._now_s() - self._window_s
        self._taken = [(at_s, taken) for at_s, taken in self._taken if at_s > since_s]
        if sum(taken for _, taken in self._taken) + amount > self._most:
            self.refused += 1
            return False
        self._taken.append((self._now_s(), amount))
        return True


class SmallBigQuery(PlainBigQuery):
    """It takes few load jobs a day of a table and of the project, and few rows a minute by insertAll."""

    def __init__(self, now_s: Callable[[], float], **most: int) -> None:
        super().__init__(Prompt(1))
        self.of_table = defaultdict[str, Quota](lambda: Quota(most.get("table", 10**9), DAY_S, now_s))
        self.of_project = Quota(most.get("project", 10**9), DAY_S, now_s)
        self.inserts = Quota(most.get("inserted_rows", 10**9), 60, now_s)

    @property
    def refused(self) -> int:
        return sum(quota.refused for quota in (self.of_project, self.inserts, *self.of_table.values()))

    def load(self, name: str, parquet: bytes, job: StoredJob, *, replaces: bool) -> None:
        super().load(name, parquet, job, replaces=replaces)
        if not (self.of_project.takes(1) and self.of_table[name].takes(1)):
            job.end = lambda: LOADS

    def insert(self, name: str, rows: list[dict[str, Any]]) -> None:
        if not self.inserts.takes(len(rows)):
            raise api.Forbidden("Exceeded rate limits for streaming inserts", errors=[{"reason": "quotaExceeded"}])
        super().insert(name, rows)


class Clock:
    now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


WAYS = {
    "table, load jobs": ({"enableBatchLoad": "orders", "gcsBucketName": "b", "batchLoadIntervalSec": "1"},
                         {"table": 2}, "orders", DAY_S / 8),
    "table, log": ({"dedup.fields": "id", "dedup.mode": "compact", "dedup.merge.interval.ms": "1"},
                   {"table": 2}, "orders_latest", DAY_S / 8),
    "project, log": ({"dedup.fields": "id", "dedup.mode": "compact", "dedup.merge.interval.ms": "1"},
                     {"project": 2}, "orders_latest", DAY_S / 8),
    "project, staging": ({"dedup.fields": "id", "dedup.mode": "merge", "dedup.merge.interval.ms": "1"},
                         {"project": 2}, "orders", DAY_S / 8),
    "insertAll": ({}, {"inserted_rows": 4}, "orders", 8),
    "insertAll, view": ({"dedup.fields": "id", "dedup.mode": "view"}, {"inserted_rows": 4}, "orders_latest", 8),
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_what_the_service_refuses_by_a_quota_waits_is_told_and_lands_once_there_is_room(monkeypatch, way):
    settings, most, shown, step_s = WAYS[way]
    monkeypatch.setattr(jobs, "_FIRST_LOOK_S", 0.0001)
    clock = Clock()
    service = SmallBigQuery(clock, **most)
    monkeypatch.setattr(
        sink, "open_warehouse", lambda _: Warehouse(PlainClient(service), PROJECT, DATASET, timeout_s=9)
    )
    given = {"project": PROJECT, "defaultDataset": DATASET, "timePartitioningType": "NONE", **settings}
    task, context = BigQuerySinkTask(BigQuerySinkConfig.parse(given), now_s=clock), FakeSinkContext()
    task.open(context)
    told: set[str] = set()
    for number in range(4):
        batch = batch_of([Message(0, 2 * number, 2 * number, 0), Message(0, 2 * number + 1, 2 * number + 1, 0)])
        assert batch.consumed is not None
        task.put(batch, Deadline.after(30))
        deadline = Deadline.after(60)
        while True:
            try:
                claimed = task.flush(Deadline.after(10))
            except RetriableError as error:
                told.add(str(error))
            else:
                if claimed[batch.consumed.topic_partition] == batch.consumed.next_offset:
                    break
            waits = context.explained or ""
            told.add(waits)
            clock.now_s += step_s if "quota" in waits.lower() or "rate limits" in waits else 0.02
            assert deadline.wait(0.005), f"nothing comes of it: {told}"
    task.close()
    assert service.refused, "the quota is never reached"
    reasons = [text for text in told if text.startswith("Table orders waits, and is tried again.")]
    assert any("quota" in text or "rate limits" in text for text in reasons), told
    assert sorted(row["id"] for row in service.rows(shown)) == list(range(8))


class SmallStream:
    """Google's client for streams, whose quota takes few requests; the connection or an answer says so."""

    def __init__(self, quota: Quota, code: str, *, by_answer: bool) -> None:
        self._quota, self._code, self._by_answer = quota, code, by_answer
        self.taken = 0

    def append_rows(self, requests: Iterator[AppendRowsRequest], **_: Any) -> Iterator[AppendRowsResponse]:
        for _request in requests:
            if self._quota.takes(1):
                self.taken += 1
                yield AppendRowsResponse(append_result={})
            elif self._by_answer:
                status = {"code": code_pb2.Code.Value(self._code), "message": "Exceeds 'AppendRows throughput' quota"}
                yield AppendRowsResponse(error=status)
            else:
                raise api.ResourceExhausted("Exceeds 'AppendRows throughput' quota")


@pytest.mark.parametrize("mode", ["cdc", "stream"])
@pytest.mark.parametrize(
    ("code", "by_answer"),
    [("RESOURCE_EXHAUSTED", False), ("RESOURCE_EXHAUSTED", True), ("INTERNAL", True), ("ABORTED", True)],
)
def test_what_a_stream_refuses_by_a_quota_is_sent_again(mode, code, by_answer):
    clock = Clock()
    client = SmallStream(Quota(1, 1.0, clock), code, by_answer=by_answer)
    storage = StorageWriter(client, PROJECT, DATASET, timeout_s=1)
    writer: Writer = Capture(storage) if mode == "cdc" else DefaultStream(storage)
    batch = sealed(SqlTable(config(mode="cdc")), [Message(0, 0, 1, 0)])
    rows = rows_of(batch)
    if mode == "stream":
        rows = rows.append_column("_insert_id", [["a"]])
    assert writer.write(batch, rows) == {}
    with pytest.raises(RetriableError, match="AppendRows throughput"):
        writer.write(batch, rows)
    clock.now_s += 2
    assert writer.write(batch, rows) == {}
    assert client.taken == 2


def test_what_a_stream_refuses_for_good_ends_the_task():
    client = SmallStream(Quota(0, math.inf, Clock()), "INVALID_ARGUMENT", by_answer=True)
    writer = Capture(StorageWriter(client, PROJECT, DATASET, timeout_s=1))
    batch = sealed(SqlTable(config(mode="cdc")), [Message(0, 0, 1, 0)])
    with pytest.raises(ConnectError, match="refused rows of table orders") as refused:
        writer.write(batch, rows_of(batch))
    assert not isinstance(refused.value, RetriableError)
