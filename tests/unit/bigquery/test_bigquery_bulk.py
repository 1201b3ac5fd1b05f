"""A chunk of a backfill is in its table once, whoever writes it and how often."""

from __future__ import annotations

import io
from collections import Counter
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pyarrow.parquet as pq
import pytest
import requests
from bigquery_oracle import Message, batch_of
from bigquery_sql import SqlTable, config, texts
from google.api_core import exceptions as api

from connect.api.errors import ConfigError, RetriableError
from connect.api.optional.bulk import BulkChunk
from connect.api.records import TopicPartition
from connect.lib.deadline import Deadline
from connect.testing.fakes import FakeSinkContext
from connectors.bigquery.dedup.merge_sql import Merge
from connectors.bigquery.dedup.sealed_batch import Piece, SealedBatch
from connectors.bigquery.settings.config import BigQuerySinkConfig
from connectors.bigquery.warehouse.warehouse import Warehouse
from connectors.bigquery.write.bulk import BigQueryBulkWriter
from connectors.bigquery.write.chunk_loads import ChunkLoads

CHUNK = BulkChunk("job", "orders-0-000000", is_stable=True)
MADE_MS = 1


class Google:
    """Google's client, as far as jobs go. refuses: an id that no load job takes. lost: answers that do not come."""

    def __init__(self, *, refuses: int | None = None, lost: int = 0) -> None:
        self.refuses = refuses
        self.lost = lost
        self.jobs: dict[str, Any] = {}
        self.loaded: Counter[int] = Counter()
        self.tables: set[str] = set()

    def load_table_from_file(self, file: io.BytesIO, table: str, *, job_id: str, job_config: Any, **_: Any) -> Any:
        ids = pq.read_table(file)["id"].to_pylist()
        is_bad = self.refuses in ids
        if job_id not in self.jobs and not is_bad and table.endswith(".orders"):
            self.loaded.update(ids)
        error = {"reason": "invalid", "message": "a bad row"} if is_bad else None
        return self._submit(job_id, job_config, error, len(ids))

    def get_job(self, job_id: str, **_: Any) -> Any:
        if job_id not in self.jobs:
            raise api.NotFound(job_id)
        return self.jobs[job_id]

    def create_table(self, table: Any, **_: Any) -> None:
        self.tables.add(table.table_id)

    def delete_table(self, table: str, **_: Any) -> None:
        self.tables.discard(table.rpartition(".")[2])

    def _submit(self, job_id: str, job_config: Any, error: dict[str, str] | None, rows: int) -> Any:
        if job_id in self.jobs:
            raise api.Conflict("Already Exists")
        self.jobs[job_id] = SimpleNamespace(
            job_id=job_id, state="DONE", error_result=error, output_rows=rows, labels=job_config.labels,
            dml_stats=None, total_bytes_billed=0,
        )  # fmt: skip
        if self.lost:
            self.lost -= 1
            raise requests.exceptions.ConnectionError("the answer was lost")
        return self.jobs[job_id]


@pytest.fixture(scope="module")
def table() -> SqlTable:
    return SqlTable(config(mode="none"))


def batch(table: SqlTable, *ids: int) -> SealedBatch:
    admission = replace(table.admission, insert_id=table.settings.mode.insert_id)
    admitted = admission.admit(batch_of([Message(0, place, number, 0) for place, number in enumerate(ids)]))
    piece = Piece(TopicPartition("orders", 0), admitted.rows, admitted.offsets)
    return SealedBatch("orders", (piece,), table.columns, table.dedup, None)


def life(google: Google) -> Warehouse:
    return Warehouse(google, "p", "d", timeout_s=1)


def land(google: Google, rows: SealedBatch, *, chunk: BulkChunk = CHUNK, made_ms: int = MADE_MS) -> Any:
    return ChunkLoads(life(google), "tmp").write(chunk, rows, made_ms)


def test_a_chunk_that_several_lives_write_is_there_once(table):
    google = Google()
    for _ in range(3):
        assert land(google, batch(table, 1, 2, 3)) == (3, {})
    assert google.loaded == Counter([1, 2, 3])


def test_a_chunk_whose_records_compaction_removed_since_is_not_loaded_beside_itself(table):
    google = Google()
    land(google, batch(table, 1, 2, 3))
    assert land(google, batch(table, 2, 3)) == (3, {}), "what the table has counts"
    assert google.loaded == Counter([1, 2, 3])


def test_a_load_whose_answer_was_lost_is_found_by_the_next_life(table):
    google = Google(lost=1)
    with pytest.raises(RetriableError):
        land(google, batch(table, 1, 2))
    assert land(google, batch(table, 1, 2)) == (2, {})
    assert google.loaded == Counter([1, 2])


def test_rows_that_are_refused_are_named_each_time_and_the_others_are_there_once(table):
    google = Google(refuses=3)
    for _ in range(2):
        rows, refused = land(google, batch(table, 1, 2, 3, 4))
        assert (rows, list(refused)) == (3, [2])
    assert google.loaded == Counter([1, 2, 4])
    assert google.tables == set(), "tables of trials are dropped"


def test_a_table_that_was_made_anew_is_loaded_again_and_so_is_another_chunk(table):
    google = Google()
    land(google, batch(table, 1))
    land(google, batch(table, 1), made_ms=MADE_MS + 1)
    land(google, batch(table, 2), chunk=BulkChunk("job", "orders-0-000001", is_stable=True))
    assert google.loaded == Counter({1: 2, 2: 1})


def test_chunks_in_any_order_leave_the_earliest_record_with_keep_first():
    class InAnyOrder(SqlTable):
        def merge_of(self, staged: tuple[str, ...]) -> Merge:
            return replace(super().merge_of(staged), takes_earlier=True)

    made = InAnyOrder(config(keep="first"))
    for message in (Message(0, 5, 1, 50, text="b"), Message(0, 1, 1, 10, text="a"), Message(0, 9, 1, 90, text="c")):
        made.merge([[message]])
    assert texts(made.rows()) == [(1, "a")]


def settings(**others: str) -> BigQuerySinkConfig:
    given = {"project": "p", "defaultDataset": "d", "dedup.fields": "id"}
    return BigQuerySinkConfig.parse(given | {name.replace("_", "."): value for name, value in others.items()})


def test_deletes_that_are_forgotten_are_refused_as_chunks_come_in_any_order():
    with pytest.raises(ConfigError) as caught:
        BigQueryBulkWriter(settings(dedup_tombstone_retention_ms="0"), FakeSinkContext())
    assert caught.value.problems[0].key == "dedup.tombstone.retention.ms"
    BigQueryBulkWriter(settings(dedup_tombstone_retention_ms="0", dedup_delete="soft"), FakeSinkContext()).close()


def test_rows_without_offsets_are_refused_where_offsets_tell_rows_apart():
    writer = BigQueryBulkWriter(settings(dedup_null_key="append"), FakeSinkContext())
    with pytest.raises(ConfigError, match="have no offsets"):
        writer.write(BulkChunk("job", "c", is_stable=False), [], Deadline.after(1))
