"""Groups the rows for a table by its partitions, as a data file has rows of one partition only."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa
    from pyiceberg.partitioning import PartitionKey
    from pyiceberg.table.metadata import TableMetadata


def split(rows: pa.Table, metadata: TableMetadata) -> Iterator[tuple[PartitionKey | None, pa.Table]]:
    """Yield each partition with its rows in order. A table that is not partitioned has the partition None."""
    spec, schema = metadata.spec(), metadata.schema()
    if spec.is_unpartitioned():
        yield None, rows
        return
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyiceberg.partitioning import PartitionFieldValue, PartitionKey

    names = [f"partition {number}" for number in range(len(spec.fields))]
    values = []
    for field in spec.fields:
        column = schema.find_column_name(field.source_id)
        assert column is not None
        transform = field.transform.pyarrow_transform(schema.find_field(field.source_id).field_type)
        values.append(transform(pc.struct_field(pa.chunked_array(rows.to_struct_array()), column.split("."))))
    numbers = pa.array(range(rows.num_rows), pa.int64())
    keys = pa.table([*values, numbers], names=[*names, "row"])
    for found in keys.group_by(names, use_threads=False).aggregate([("row", "list")]).to_pylist():
        fields = [
            PartitionFieldValue(field, found[name]) for field, name in zip(spec.fields, names, strict=True)
        ]  # fmt: skip
        yield PartitionKey(fields, spec, schema), rows.take(pa.array(found["row_list"], pa.int64()))
