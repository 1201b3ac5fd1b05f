"""Data files, and the snapshots that take them into a table or out of it. The library's own retries are not used."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING

from connectors.s3.iceberg.partitions import split
from connectors.s3.iceberg.progress import OFFSETS, Progress

if TYPE_CHECKING:
    import pyarrow as pa
    from pyiceberg.manifest import DataFile
    from pyiceberg.table import Table


def write_rows(table: Table, rows: pa.Table) -> list[DataFile]:
    """Rows, which have the table's columns, as data files; they are the table's only once a snapshot names them."""
    from pyiceberg.io.pyarrow import write_file
    from pyiceberg.table import WriteTask

    own = uuid.uuid4()
    tasks = (
        WriteTask(own, number, table.schema(), part.to_batches(), partition_key=partition)
        for number, (partition, part) in enumerate(split(rows, table.metadata))
    )
    return list(write_file(table.io, table.metadata, tasks))


def is_committed(
    table: Table, progress: Progress, new_files: Sequence[DataFile], old_files: Sequence[DataFile] = ()
) -> bool:
    """One try at a snapshot behind the one that the table was at when it was refreshed; False: it has another one.

    It has the new files and not the old ones, and says how far the table is with it.
    """
    from pyiceberg.exceptions import CommitFailedException
    from pyiceberg.table import Table, TableProperties

    # The library's own retries would put these rows behind whatever came first, and take its offsets back.
    properties = {**table.metadata.properties, TableProperties.COMMIT_NUM_RETRIES: "0"}
    once = Table(
        table.name(), table.metadata.model_copy(update={"properties": properties}), table.metadata_location, table.io,
        table.catalog,
    )  # fmt: skip
    transaction = once.transaction()
    update = transaction.update_snapshot(snapshot_properties={OFFSETS: progress.text})
    change = update.overwrite() if old_files else update.merge_append()
    for file in old_files:
        change.delete_data_file(file)
    for file in new_files:
        change.append_data_file(file)
    change.commit()
    try:
        transaction.commit_transaction()
    except CommitFailedException:
        return False
    return True
