"""dedup.mode=cdc: records as upserts and deletes by the table's primary key, which BigQuery applies itself. On threads.

BigQuery keeps of a key the change of the largest sequence number, whenever it comes, so replays and changes out of
order are harmless. The number is the record's order: its field, partition, offset and, as two topics may share these,
topic.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any, Final

from connectors.bigquery.dedup import IS_DELETE, KAFKA_OFFSET, KAFKA_PARTITION, KAFKA_TOPIC
from connectors.bigquery.proto_rows import descriptor_of, messages_of, order_sections
from connectors.bigquery.sealed import Refusals, SealedBatch
from connectors.bigquery.storage import StorageWriter
from connectors.bigquery.table_schema import ColumnSchema, ColumnType, by_name

if TYPE_CHECKING:
    import pyarrow as pa

CHANGE_TYPE: Final = "_CHANGE_TYPE"
SEQUENCE: Final = "_CHANGE_SEQUENCE_NUMBER"
ORDERED: Final = frozenset({ColumnType.INTEGER, ColumnType.TIMESTAMP, ColumnType.DATE, ColumnType.DATETIME})
"""Types of the order field that a sequence number holds."""
_MARKS: Final = (ColumnSchema(CHANGE_TYPE, ColumnType.STRING), ColumnSchema(SEQUENCE, ColumnType.STRING))


class Capture:
    """Sends batches of changes. A row becomes a Python object here, as the API takes protobuf alone."""

    def __init__(self, storage: StorageWriter) -> None:
        self._storage = storage

    def write(self, batch: SealedBatch, rows: pa.Table) -> Refusals:
        """Return once BigQuery has every change, but for those refused."""
        import pyarrow as pa
        import pyarrow.compute as pc

        known = by_name(batch.columns)
        columns = tuple(known[name.lower()] for name in rows.column_names if name.lower() in known)
        deletes = pa.chunked_array([table[IS_DELETE].combine_chunks() for table in batch.tables])
        changes = (
            rows.select([column.name for column in columns])
            .append_column(CHANGE_TYPE, pc.if_else(deletes, "DELETE", "UPSERT"))
            .append_column(SEQUENCE, pa.array(_sequences(batch, rows), pa.string()))
        )
        described = (*columns, *_MARKS)
        descriptor: Any = descriptor_of(described)
        return self._storage.append_messages(batch.target, descriptor, messages_of(changes, described, descriptor))

    def close(self) -> None:
        """Close the channel."""
        self._storage.close()


def _sequences(batch: SealedBatch, rows: pa.Table) -> list[str]:
    """The sequence number of each row."""
    import pyarrow as pa

    values = rows[batch.dedup.order[0].column].combine_chunks()
    if pa.types.is_date32(values.type):
        values = values.cast(pa.int32())
    orders = order_sections(values.cast(pa.int64()).to_pylist())
    topics = {topic: f"{zlib.crc32(topic.encode()):x}" for topic in rows[KAFKA_TOPIC].unique().to_pylist()}
    places = zip(*(rows[name].to_pylist() for name in (KAFKA_PARTITION, KAFKA_OFFSET, KAFKA_TOPIC)), strict=True)
    return [
        f"{order}/{partition:x}/{offset:x}/{topics[topic]}"
        for order, (partition, offset, topic) in zip(orders, places, strict=True)
    ]
