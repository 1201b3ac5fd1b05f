"""Adds the columns that rows need to one Iceberg table, and commits rows in snapshots that tell the progress.

A snapshot is committed only if the table has not changed since its progress was read. A writer that loses this race
reads the progress again, and leaves out rows that another writer has committed meanwhile. So no row is added twice by a
former owner that goes on writing, or after a commit whose answer was lost.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from connect.api.errors import ConfigError, ConnectError, RetriableError, SchemaError
from connect.api.records import TopicPartition
from connect.lib.deadline import Deadline
from connectors.s3.iceberg.catalog import catalog_errors, require_reachable
from connectors.s3.iceberg.columns import fitted, merged, plain, valued
from connectors.s3.iceberg.data_files import write_rows
from connectors.s3.iceberg.java_values import as_java, unknown_fields
from connectors.s3.iceberg.offset_runs import end_of
from connectors.s3.iceberg.pending_rows import Pending
from connectors.s3.iceberg.progress import OFFSETS, TableProgress
from connectors.s3.iceberg.snapshots import is_committed
from connectors.s3.iceberg.start_offsets import StartOffsets
from connectors.s3.iceberg.stored_progress import told_by
from connectors.s3.settings.config import S3SinkConfig
from connectors.s3.settings.iceberg_sink_config import IcebergSinkConfig

if TYPE_CHECKING:
    import pyarrow as pa
    from pyiceberg.catalog import Catalog
    from pyiceberg.manifest import DataFile
    from pyiceberg.table import Table

TopicIds = Mapping[str, str | None]
"""Holds Kafka's id of each topic, or None if the brokers give none."""
_log = logging.getLogger(__name__)
_FIRST_WAIT_S: Final = 0.05
_WAIT_MAX_S: Final = 2.0
_UNKNOWN_MAX: Final = 20
"""As many fields that a table lacks are told."""


class LakeTable:
    """Makes, changes and fills one table.

    The task thread owns it. It does not ask the catalogue before the first call.
    """

    def __init__(self, catalog: Catalog, name: str, config: S3SinkConfig, connector: str) -> None:
        self.name = name
        self.start_offsets = StartOffsets(name, connector)
        self._catalog = catalog
        self._config = config
        self._opened: Table | None = None
        self._progress = TableProgress()
        self._unknown: list[str] = []

    def admit(self, rows: pa.StructType) -> pa.StructType:
        """Return the columns in which rows of this type are written. If needed, the table is made or changed.

        SchemaError: its columns have other types. RetriableError: the catalogue cannot be reached.
        """
        with catalog_errors(self._config):
            table = self._opened or self._loaded()
            if table is None and not self._config.creates_tables:
                raise ConfigError(
                    f"There is no table {self.name}.", key="iceberg.tables.auto-create-enabled",
                    fix="Make it, or set iceberg.tables.auto-create-enabled=true.",
                )  # fmt: skip
            table = table or self._made(merged(_no_columns(), rows))
            require_reachable(self._config, self.name, table)
            self._opened = table
            while (wanted := merged(columns := _columns(table), rows)) != columns:
                self._evolve(table, wanted)
            return columns

    def converted(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Return the rows with the types of the table's columns as Java's sink converts them, if Java's keys are set.

        SchemaError: a value cannot be converted. RetriableError: the catalogue cannot be reached.
        """
        import pyarrow as pa

        if not isinstance(self._config, IcebergSinkConfig):
            return rows
        with catalog_errors(self._config):
            table = self._opened or self._loaded()
        if table is None:
            return rows
        columns = _columns(table)
        if not self._config.evolves_schema:
            self._note_unknown(pa.struct(list(rows.schema)), columns)
        return as_java(rows, columns, evolves=self._config.evolves_schema)

    def _note_unknown(self, rows: pa.StructType, columns: pa.StructType) -> None:
        new = [name for name in unknown_fields(rows, columns) if name not in self._unknown]
        if not new or len(self._unknown) >= _UNKNOWN_MAX:
            return
        self._unknown += new
        _log.warning("Table %s lacks the fields %s: rows are written without them.", self.name, ", ".join(new))

    @property
    def notes(self) -> list[str]:
        """Return what people should know of rows, or parts of rows, that were left out."""
        names = ", ".join(self._unknown[:_UNKNOWN_MAX])
        lacking = f"Table {self.name} lacks the fields {names}: rows are written without them, as in Java. To add such "
        fix = "fields to the table, set iceberg.tables.evolve-schema-enabled=true."
        return [*self.start_offsets.notes, *([lacking + fix] if names else [])]

    def is_there(self) -> bool:
        """Return True if the catalogue has the table. RetriableError: it cannot be reached."""
        with catalog_errors(self._config):
            return self._opened is not None or self._loaded() is not None

    def begin(self, partition: TopicPartition, first: int, next_offset: int) -> None:
        """Note that admitted rows from the offset `first` on are read, of a poll that ends at `next_offset`."""
        assert self._opened is not None, "rows are admitted before they are read on"
        if not self.start_offsets.knows(partition, next_offset):
            self.start_offsets.begin(partition, first, next_offset, told_by(self._opened).progress)

    def append(self, pending: Pending, topic_ids: TopicIds, deadline: Deadline) -> int:
        """Commit the rows that the table does not have, in one snapshot. Return how many rows it had already.

        RetriableError: it is not known if the rows are in the table; the next call finds out.
        """
        table = self._opened
        assert table is not None, "rows are admitted before they are appended"
        left, files, spec_id, wait_s = pending, list["DataFile"](), None, _FIRST_WAIT_S
        with catalog_errors(self._config):
            while True:
                table.refresh()
                require_reachable(self._config, self.name, table)
                self._progress = self._read_progress(table, pending, topic_ids)
                rest = left.outside({at: self.start_offsets.held(at, self._progress) for at in left.pieces})
                if rest is not left:
                    self.start_offsets.tell_doubts(self._progress, left)
                if not rest:
                    return pending.rows
                if rest is not left or table.spec().spec_id != spec_id:
                    files, left, spec_id = self._written(table, rest), rest, table.spec().spec_id
                reached = self.start_offsets.reached(self._progress, left, topic_ids)
                if is_committed(table, reached, files):
                    self._progress = reached
                    return pending.rows - left.rows
                if not deadline.wait(random.uniform(wait_s / 2, wait_s)):
                    raise RetriableError(f"Other writers of table {self.name} came first until the time was over.")
                wait_s = min(2 * wait_s, _WAIT_MAX_S)

    def _read_progress(self, table: Table, pending: Pending, topic_ids: TopicIds) -> TableProgress:
        told = told_by(table)
        found = told.progress
        for topic, topic_id in topic_ids.items():
            found.require_same_log(self.name, topic, topic_id)
        for partition in pending.pieces:
            before = end_of(self._progress.own(self.start_offsets.connector, partition) or ())
            now = end_of(self.start_offsets.held(partition, found))
            where = f"{partition.topic}-{partition.partition}"
            if now < before:
                raise ConnectError(
                    f"Table {self.name} had the rows of {where} before offset {before}, and has those before {now}: "
                    "somebody took it back to an earlier snapshot.",
                    fix="Restart the connector to go on from here; alter its offsets to have the rows again.",
                )
            first = pending.first_offset(partition)
            if not told.is_certain and first is not None and first < now:
                raise ConnectError(
                    f"The property {OFFSETS} of table {self.name} says that it has the rows of {where} before offset "
                    f"{now}. But the snapshots that said so have expired, and others have changed its rows since, or "
                    f"took it back: nothing tells whether the rows from offset {first} on are in it.",
                    fix=f"Look into the table. Where they are there, alter the connector's offsets to {now}; where "
                    f"they are not, remove the table's property {OFFSETS}, and they are written.",
                )
        if told.taken_back is not None and not self._progress.topics:
            self._warn(found, told.taken_back, pending)
        return found

    def _warn(self, found: TableProgress, before: TableProgress, pending: Pending) -> None:
        """Log a warning about rows that a former task had committed and that are not in the table any more."""
        held = self.start_offsets.held
        ends = {at: (end_of(held(at, found)), end_of(held(at, before))) for at in pending.pieces}
        gone = [f"{topic}-{number}: {now} to {end - 1}" for (topic, number), (now, end) in ends.items() if now < end]
        if gone:
            _log.warning(
                "Table %s was taken back to an earlier snapshot, or begun anew: it has not the rows of these offsets "
                "any more (%s). Alter the connector's offsets to have them again.",
                self.name, ", ".join(gone),
            )  # fmt: skip

    def _written(self, table: Table, pending: Pending) -> list[DataFile]:
        import pyarrow as pa

        for batch in pending.batches:
            self._admit_again(table, batch)
        columns = _columns(table)
        return write_rows(table, pa.Table.from_batches([fitted(batch, columns) for batch in pending.batches]))

    def _admit_again(self, table: Table, rows: pa.RecordBatch) -> None:
        """Give the table the columns of admitted rows that somebody has renamed or dropped since, as to rows that come.

        A column is left out if it has no value in these rows: they may have it only because the table had it.
        """
        import pyarrow as pa

        columns = _columns(table)
        if merged(columns, pa.struct(list(rows.schema))) == columns:
            return
        kinds = valued(rows.to_struct_array())
        if isinstance(self._config, IcebergSinkConfig) and not self._config.evolves_schema:
            self._note_unknown(kinds, columns)
        else:
            self.admit(kinds)

    def _identifier(self) -> tuple[str, ...]:
        return tuple(self.name.split("."))

    def _loaded(self) -> Table | None:
        from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError

        try:
            return self._catalog.load_table(self._identifier())
        except (NoSuchTableError, NoSuchNamespaceError):
            return None

    def _made(self, columns: pa.StructType) -> Table:
        import pyarrow as pa
        from pyiceberg.exceptions import CommitFailedException, TableAlreadyExistsError

        self._catalog.create_namespace_if_not_exists(self._identifier()[:-1])
        codec = self._config.parquet_codec
        properties = {
            "write.parquet.compression-codec": "uncompressed" if codec == "none" else codec,
            # Each commit adds a manifest and a metadata file. These properties limit their number.
            "commit.manifest-merge.enabled": "true",
            "write.metadata.delete-after-commit.enabled": "true",
        }
        try:
            with (
                self._catalog.create_table_transaction(
                    self._identifier(), pa.schema(list(columns)), properties=properties
                ) as transaction,
                transaction.update_spec() as spec,
            ):
                for field in self._config.partition_fields:
                    spec.add_field(field.source, field.transform)
        except (TableAlreadyExistsError, CommitFailedException):
            pass  # another task of this connector made it
        except ValueError as error:
            raise ConfigError(f"Table {self.name} cannot be made: {error}", key="iceberg.partition.by") from error
        return self._catalog.load_table(self._identifier())

    def _evolve(self, table: Table, wanted: pa.StructType) -> None:
        import pyarrow as pa
        from pyiceberg.exceptions import CommitFailedException, ValidationError

        if not self._config.evolves_schema:
            is_javas = isinstance(self._config, IcebergSinkConfig)
            key = "iceberg.tables.evolve-schema-enabled" if is_javas else "iceberg.evolve.schema"
            raise SchemaError(
                f"Table {self.name} would need other columns for these rows: {_difference(_columns(table), wanted)}.",
                key=key,
                fix=f"Change the table, or set {key}=true.",
            )
        try:
            with table.update_schema() as update:
                update.union_by_name(pa.schema(list(wanted)))
        except CommitFailedException:
            table.refresh()  # another task may have done the same
        except (ValidationError, ValueError) as error:
            raise SchemaError(f"Table {self.name} cannot get the columns of these rows: {error}") from error


def _columns(table: Table) -> pa.StructType:
    import pyarrow as pa
    from pyiceberg.io.pyarrow import schema_to_pyarrow

    found = plain(pa.struct(list(schema_to_pyarrow(table.schema(), include_field_ids=False))))
    assert isinstance(found, pa.StructType)
    return found


def _no_columns() -> pa.StructType:
    import pyarrow as pa

    return pa.struct([])


def _difference(columns: pa.StructType, wanted: pa.StructType) -> str:
    return ", ".join(f"{field.name} {field.type}" for field in wanted if field not in list(columns))
