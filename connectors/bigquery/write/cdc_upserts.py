"""Sends records as upserts and deletes by the table's primary key, which BigQuery applies itself (dedup.mode=cdc).

Several threads use it. BigQuery keeps the change of a key that has the largest sequence number, whenever it comes, so
replays and changes out of order are harmless. The number is made of what a MERGE compares: the field of the order, then
time, partition and offset, and the topic, as two topics may share these.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any, Final

from connectors.bigquery.dedup.rules import IS_DELETE, KAFKA_TIMESTAMP
from connectors.bigquery.dedup.sealed_batch import Refusals, SealedBatch
from connectors.bigquery.rows.proto_rows import descriptor_of, messages_of, order_sections, sections
from connectors.bigquery.rows.table_schema import ColumnSchema, ColumnType, by_name
from connectors.bigquery.warehouse.storage import StorageWriter

if TYPE_CHECKING:
    import pyarrow as pa

CHANGE_TYPE: Final = "_CHANGE_TYPE"
SEQUENCE: Final = "_CHANGE_SEQUENCE_NUMBER"
_PARTITION_BITS: Final = 20
"""One section is shared: its lower bits are those of the partition, and the others those of the time in milliseconds.

A sequence number has only four sections of 64 bits.
"""
_LONGEST_MS: Final = 2 ** (63 - _PARTITION_BITS) - 1
"""Times that are further from 1970 than 278 years count as this one; no clock shows such times."""
_MARKS: Final = (ColumnSchema(CHANGE_TYPE, ColumnType.STRING), ColumnSchema(SEQUENCE, ColumnType.STRING))


class Capture:
    """Sends batches of changes as protobuf, as the API takes no Arrow for them."""

    def __init__(self, storage: StorageWriter) -> None:
        self._storage = storage

    def write(self, batch: SealedBatch, rows: pa.Table) -> Refusals:
        """Send the changes of a batch, and return the refused rows once BigQuery has all others."""
        import pyarrow as pa
        import pyarrow.compute as pc

        known = by_name(batch.columns)
        columns = tuple(known[name.lower()] for name in rows.column_names if name.lower() in known)
        deletes = pa.chunked_array([table[IS_DELETE].combine_chunks() for table in batch.tables])
        changes = (
            rows.select([column.name for column in columns])
            .append_column(CHANGE_TYPE, pc.if_else(deletes, "DELETE", "UPSERT"))
            .append_column(SEQUENCE, _sequences(batch, rows))
        )
        described = (*columns, *_MARKS)
        descriptor: Any = descriptor_of(described)
        return self._storage.append_messages(batch.target, descriptor, messages_of(changes, described, descriptor))

    def close(self) -> None:
        """Close the channel."""
        self._storage.close()


def _sequences(batch: SealedBatch, rows: pa.Table) -> pa.ChunkedArray:
    """Return the sequence number of each row."""
    import pyarrow as pa
    import pyarrow.compute as pc

    values = rows[batch.dedup.as_in(batch.columns).order[0].column].combine_chunks()
    if pa.types.is_date32(values.type):
        values = values.cast(pa.int32())
    orders, first, found = order_sections(values.cast(pa.int64())), 0, []
    times_ms = pc.divide(rows[KAFKA_TIMESTAMP].combine_chunks().cast(pa.int64()), 1000).fill_null(-_LONGEST_MS)
    times_ms = pc.max_element_wise(pc.min_element_wise(times_ms, _LONGEST_MS), -_LONGEST_MS)
    for piece in batch.pieces:
        size = len(piece.offsets)
        topic = f"{zlib.crc32((piece.partition.topic + (piece.topic_id or '')).encode()):x}"
        times = pc.shift_left(times_ms.slice(first, size), _PARTITION_BITS)
        places = (order_sections(pc.add(times, piece.partition.partition)), sections(piece.offsets), topic)
        found.append(pc.binary_join_element_wise(orders.slice(first, size), *places, "/"))
        first += size
    return pa.chunked_array(found, pa.string())
