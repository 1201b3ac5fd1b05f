"""Writes data files of a table, and reads them again to compact them.

pyiceberg 0.12 itself writes, and reads, a list or map of structs that is null as an empty one. Here null stays null.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from connectors.s3.iceberg.partitions import split

if TYPE_CHECKING:
    import pyarrow as pa
    from pyiceberg.manifest import DataFile
    from pyiceberg.schema import Schema
    from pyiceberg.table import FileScanTask, Table, WriteTask
    from pyiceberg.types import IcebergType


def write_rows(table: Table, rows: pa.Table) -> list[DataFile]:
    """Write rows with the table's columns as data files. They belong to the table only once a snapshot names them."""
    from pyiceberg.io.pyarrow import write_file
    from pyiceberg.schema import sanitize_column_names
    from pyiceberg.table import WriteTask
    from pyiceberg.utils.concurrent import ExecutorFactory

    own, schema = uuid.uuid4(), table.schema()
    tasks = (
        WriteTask(own, number, schema, part.to_batches(), partition_key=partition)
        for number, (partition, part) in enumerate(split(rows, table.metadata))
    )
    if sanitize_column_names(schema) != schema:  # the files' columns have other names, which pyiceberg alone gives
        return list(write_file(table.io, table.metadata, tasks))
    return list(ExecutorFactory.get_or_create().map(lambda task: _written(table, task), tasks))


def _written(table: Table, task: WriteTask) -> DataFile:
    import pyarrow as pa
    from pyiceberg.io.fileformat import FileFormatFactory
    from pyiceberg.io.pyarrow import schema_to_pyarrow
    from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
    from pyiceberg.table import TableProperties
    from pyiceberg.table.locations import load_location_provider
    from pyiceberg.typedef import Record

    given, key = table.properties, task.partition_key
    kind = FileFormat(given.get(TableProperties.WRITE_FILE_FORMAT, TableProperties.WRITE_FILE_FORMAT_DEFAULT))
    model = FileFormatFactory.get(kind)
    name = task.generate_data_file_filename(model.file_extension())
    place = load_location_provider(table.location(), given).new_data_location(name, key)
    output = table.io.new_output(place)
    writer = model.create_writer(output, task.schema, given)
    with writer:
        writer.write(pa.Table.from_batches(task.record_batches).cast(schema_to_pyarrow(task.schema)))
    return DataFile.from_args(
        content=DataFileContent.DATA,
        file_path=place,
        file_format=kind,
        partition=key.partition if key is not None else Record(),
        file_size_in_bytes=len(output),
        sort_order_id=None,
        spec_id=table.metadata.default_spec_id,
        equality_ids=None,
        key_metadata=None,
        **writer.result().to_serialized_dict(),
    )


def read_rows(table: Table, files: Sequence[FileScanTask]) -> pa.Table | None:
    """Return the rows of data files, in the table's columns.

    Return None if pyiceberg would change a null in them, and they have not the columns of the table as it is now.
    """
    import pyarrow as pa
    from pyiceberg.expressions import AlwaysTrue
    from pyiceberg.io.pyarrow import ArrowScan, schema_to_pyarrow

    schema = table.schema()
    if not any(_has_structs(field.field_type) for field in schema.fields):
        return ArrowScan(table.metadata, table.io, schema, AlwaysTrue()).to_table(files)
    kind = schema_to_pyarrow(schema)
    parts = [part for file in files if (part := _read(table, file, schema)) is not None]
    return pa.concat_tables([part.cast(kind) for part in parts]) if len(parts) == len(files) else None


def _read(table: Table, file: FileScanTask, schema: Schema) -> pa.Table | None:
    import pyarrow.parquet as pq
    from pyiceberg.io.pyarrow import pyarrow_to_schema

    with table.io.new_input(file.file.file_path).open() as opened:
        content = pq.ParquetFile(opened)
        try:
            own = pyarrow_to_schema(content.schema_arrow)
        except ValueError:  # it has no ids of columns
            return None
        return content.read() if _ids(own) == _ids(schema) else None


def _ids(schema: Schema) -> list[tuple[str, int]]:
    return [(name, schema.find_field(name).field_id) for name in schema.column_names]


def _has_structs(kind: IcebergType, *, is_repeated: bool = False) -> bool:
    """Return True if a type has a list or map of structs."""
    from pyiceberg.types import ListType, MapType, StructType

    inner: Iterable[IcebergType] = ()
    if isinstance(kind, StructType):
        if is_repeated:
            return True
        inner = (field.field_type for field in kind.fields)
    elif isinstance(kind, ListType):
        is_repeated, inner = True, (kind.element_type,)
    elif isinstance(kind, MapType):
        is_repeated, inner = True, (kind.key_type, kind.value_type)
    return any(_has_structs(one, is_repeated=is_repeated) for one in inner)
