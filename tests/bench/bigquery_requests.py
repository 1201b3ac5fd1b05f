"""Measures what rows cost on their way into requests of the Storage Write API: as changes in protobuf, and in Arrow.

Nothing is sent: the client of this module acknowledges each request, as the emulator takes more CPU than the sink.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pyarrow as pa
from google.cloud.bigquery_storage_v1.types import AppendRowsRequest, AppendRowsResponse
from rich.table import Table

from connect.api.records import TopicPartition
from connectors.bigquery.dedup.rules import (
    INSERT_ID,
    IS_APPEND,
    IS_DELETE,
    KAFKA_OFFSET,
    KAFKA_PARTITION,
    KAFKA_TIMESTAMP,
    KAFKA_TOPIC,
    DedupColumns,
    PathColumn,
)
from connectors.bigquery.dedup.sealed_batch import Piece, SealedBatch
from connectors.bigquery.rows.paths import Path, Root
from connectors.bigquery.rows.table_schema import ColumnSchema, ColumnType
from connectors.bigquery.rows.types import arrow_type_of
from connectors.bigquery.warehouse.storage import StorageWriter
from connectors.bigquery.write.appending import DefaultStream, Writer, rows_of
from connectors.bigquery.write.cdc_upserts import Capture
from tests.bench.measure import RUNS, Figure, measure

ROWS, BATCH = 200_000, 500
PLACE = TopicPartition("orders", 3)
COLUMNS = (
    ColumnSchema("id", ColumnType.INTEGER), ColumnSchema("text", ColumnType.STRING),
    ColumnSchema("price", ColumnType.FLOAT), ColumnSchema("open", ColumnType.BOOLEAN),
    ColumnSchema("at", ColumnType.TIMESTAMP), ColumnSchema("amount", ColumnType.NUMERIC),
    ColumnSchema(KAFKA_TIMESTAMP, ColumnType.TIMESTAMP), ColumnSchema(KAFKA_PARTITION, ColumnType.INTEGER),
    ColumnSchema(KAFKA_OFFSET, ColumnType.INTEGER), ColumnSchema(KAFKA_TOPIC, ColumnType.STRING),
)  # fmt: skip
DEDUP = DedupColumns(
    (PathColumn(Path.parse("id"), "id", is_own=False),),
    (PathColumn(Path(Root.TIMESTAMP), KAFKA_TIMESTAMP, is_own=True),),
)
WAYS = {"cdc, protobuf": Capture, "default stream, Arrow": DefaultStream}


class Acknowledging:
    """Google's client, as far as appends go. Requests are serialized, as for the wire."""

    def append_rows(self, requests: Iterator[AppendRowsRequest], **_: Any) -> Iterator[AppendRowsResponse]:
        for request in requests:
            AppendRowsRequest.serialize(request)
            yield AppendRowsResponse(append_result={})


def measure_requests() -> list[dict[str, Any]]:
    """An entry per way, of the fastest run."""
    batch = SealedBatch("orders", tuple(_pieces()), COLUMNS, DEDUP, None)
    entries = []
    for name, way in WAYS.items():
        writer = way(StorageWriter(Acknowledging(), "p", "d", timeout_s=60))
        figure = min((_run(writer, batch) for _ in range(RUNS)), key=lambda figure: figure.cpu_s)
        entries.append(
            {"name": name, "rows": ROWS, "rows_per_s": int(figure.rows_per_s),
             "cpu_s_per_m": round(figure.cpu_s_per_mrow, 2)}
        )  # fmt: skip
    return entries


def requests_table(entries: list[dict[str, Any]]) -> Table:
    table = Table("way", "rows", "rows/s", "cpu s per M rows", title=f"{len(COLUMNS)} columns into requests")
    for entry in entries:
        table.add_row(*(str(entry[name]) for name in ("name", "rows", "rows_per_s", "cpu_s_per_m")))
    return table


def _run(writer: Writer, batch: SealedBatch) -> Figure:
    def work() -> int:
        rows = rows_of(batch)
        if isinstance(writer, DefaultStream):
            rows = rows.append_column(INSERT_ID, pa.nulls(len(rows), pa.string()))
        assert not writer.write(batch, rows)
        return len(rows)

    return measure(work)


def _pieces() -> Iterator[Piece]:
    for first in range(0, ROWS, BATCH):
        numbers = range(first, first + BATCH)
        offsets = pa.array(numbers, pa.int64())
        times = offsets.cast(pa.timestamp("us", "UTC"))
        values = (
            offsets, [f"the text of message {n} {'x' * 60}" for n in numbers], [n / 7 for n in numbers],
            [n % 2 == 0 for n in numbers], times, [Decimal(n) / 4 for n in numbers], times, [3] * BATCH, offsets,
            [PLACE.topic] * BATCH,
        )  # fmt: skip
        arrays = [pa.array(v, arrow_type_of(column)) for v, column in zip(values, COLUMNS, strict=True)]
        marks = [pa.repeat(False, BATCH)] * 2
        names = [*(column.name for column in COLUMNS), IS_DELETE, IS_APPEND]
        yield Piece(PLACE, pa.table([*arrays, *marks], names), offsets)
