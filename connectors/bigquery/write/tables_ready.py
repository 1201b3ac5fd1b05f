"""Finds or creates the tables of records, with columns for every field. One thread at a time works on each table.

A table is asked for once, and again when a record with another schema comes.
"""

from __future__ import annotations

import logging
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

from connect.api import schema as s
from connect.api.errors import ConfigError, ConnectError, RejectedRowsError, SchemaError
from connect.api.records import Batch
from connectors.bigquery.dedup.dedup_values import cell, own_columns
from connectors.bigquery.dedup.refusals import in_table, no_key
from connectors.bigquery.dedup.rules import DedupColumns, Deletes, NullKey, check_key_type, key_column_problem, placed
from connectors.bigquery.dedup.side_tables import cleared_table, deletes_table
from connectors.bigquery.dedup.staged_rows import Admission
from connectors.bigquery.dedup.window import PARTITIONABLE, Late, Window, parse_window
from connectors.bigquery.merge.merge_line import MergeLine
from connectors.bigquery.modes.mode import Mode
from connectors.bigquery.rows.extras import has_keys
from connectors.bigquery.rows.paths import Root, has_row_numbers, schema_of
from connectors.bigquery.rows.rounded import may_round
from connectors.bigquery.rows.table_schema import Columns, ColumnSchema, by_name
from connectors.bigquery.rows.types import TypeRules, column_of
from connectors.bigquery.settings.config import BigQuerySinkConfig
from connectors.bigquery.tables.key_changes import check_keys, keys_hash, require_keys
from connectors.bigquery.tables.mode_changes import check_change
from connectors.bigquery.tables.new_tables import (
    made_for_deletes,
    new_cleared_table,
    new_deletes_table,
    new_log_table,
    new_table,
)
from connectors.bigquery.tables.rounded_decimals import RoundedDecimals
from connectors.bigquery.tables.table_columns import (
    Allowed,
    Needed,
    UnusableSchemaError,
    check_told_apart,
    completed,
    member,
    value_columns,
    widened,
)
from connectors.bigquery.tables.views_beside import ViewsBeside
from connectors.bigquery.warehouse.table_facts import TableFacts
from connectors.bigquery.warehouse.warehouse import Warehouse
from connectors.bigquery.write.table_buffers import Rotation, TableBuffer
from connectors.bigquery.write.table_keys import note_keys
from connectors.bigquery.write.table_modes import TableModes

_log = logging.getLogger(__name__)
_KNOWN_MOST = 64
"""At most so many schemas of a table's records are remembered at a time."""
_EVERYTHING = Allowed(new_columns=True, relaxation=True)
_Shape = tuple[s.Schema | None, s.Schema | None, bool]
"""The schemas of values and keys, and True if a record may have several rows."""


@dataclass(frozen=True, slots=True)
class ReadyTable:
    """Holds the buffer of a table that can take a batch, and the admission that makes rows of the records."""

    buffer: TableBuffer
    admission: Admission


class _Needs(NamedTuple):
    """Says which columns rows need of an existing table, and in which columns their keys are."""

    dedup: DedupColumns
    needed: Needed


class TargetTables:
    """Makes the tables of a task ready for records, on any thread, but on one thread at a time for each table."""

    def __init__(
        self,
        config: BigQuerySinkConfig,
        warehouse: Warehouse,
        *,
        in_any_order: bool = False,
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """Ask nothing yet. `MergeRules` explains `in_any_order`. `now_s` is a clock in seconds that never goes back."""
        self.buffers: dict[str, TableBuffer] = {}
        """Holds the buffer of each table that is ready for rows, by the table's name."""
        self._rules = config.mode.rules_in_any_order if in_any_order else config.dedup
        self._config = config
        self._warehouse = warehouse
        self._allowed = Allowed(config.allow_new_fields, config.allow_relaxation, config.ignore_unknown)
        self._admissions: defaultdict[str, dict[_Shape, Admission]] = defaultdict(dict)
        self._without_values: set[str] = set()
        self._last_shape: tuple[Batch, _Shape] | None = None
        self._line = MergeLine(warehouse)
        self.modes = TableModes(config, warehouse, self._line, now_s)
        self.views = ViewsBeside(warehouse, self._replace_view)
        self.rounded = RoundedDecimals()

    def target(self, batch: Batch) -> str:
        """Return the name of the table that a batch's rows go into."""
        return self._config.table_names.table(batch.topic)

    def is_ready(self, batch: Batch) -> bool:
        """Return True if `prepare` needs no request: the table is known, and has the columns of the batch's rows."""
        buffer = self.buffers.get(self.target(batch))
        if buffer is None:
            return False
        try:
            is_known = self._known(buffer, self._shape_of(batch)) is not None
            return is_known or not self._lacks(buffer, self._needs(buffer, batch))
        except SchemaError:  # some rows are bad, and `prepare` says which
            return True

    def prepare(self, batch: Batch) -> ReadyTable:
        """Make the batch's table ready for its rows.

        Raise RejectedRowsError if all records lack the keys that tell rows apart, and SchemaError if the table does not
        take their columns.
        """
        target = self.target(batch)
        buffer = self.buffers.get(target)
        if buffer is None:
            self._require_keys(batch)
            buffer = self.buffers[target] = self._new_buffer(target, batch)
        return ReadyTable(buffer, self._admission(buffer, batch))

    def leaves_out(self, batch: Batch) -> bool:
        """Return True if all records are deletes and the settings ignore deletes. They need neither keys nor table."""
        return self._rules.deletes is Deletes.IGNORE and batch.values.arrow().null_count == len(batch)

    def restore(self, buffer: TableBuffer) -> None:
        """Create the buffer's table again if somebody dropped it, so that its next batches go on."""
        if self._warehouse.table(buffer.target) is None:
            _log.warning("Table %s is gone, and is made again.", buffer.target)
            for_deletes = buffer.target in self._without_values
            made = self._create(buffer.target, buffer.columns, buffer.dedup, for_deletes=for_deletes)
            buffer.columns = made.columns
            self.modes.settle(buffer.target, made)
            require_keys(self._warehouse, made, keys_hash(buffer.dedup))  # no later check of the keys follows
        self._ready_beside(buffer.target, buffer.columns, buffer.dedup.as_in(buffer.columns))

    def check_unchanged(self, buffer: TableBuffer, error: ConnectError) -> None:
        """Raise ConnectError if somebody else changed the buffer's table. It names the changed columns, as the change
        may be the reason of `error`.
        """
        table = self._warehouse.table(buffer.target)
        now = by_name(table.columns) if table is not None else {}
        changed = [c.name for c in buffer.columns if (found := now.get(c.name.lower())) is None or found.type != c.type]
        if changed:
            raise ConnectError(
                f"Table {self._config.table_path(buffer.target)} was changed by somebody else while rows were on "
                f"their way: column {', '.join(changed)} is gone or has another type. {error.message}",
                fix="Restart the task, which looks at the table anew and reads the rows again.",
            ) from error

    def _require_keys(self, batch: Batch) -> None:
        """Refuse a batch without keys if keys tell rows apart and no record has shown the schema of the keys yet.

        Raise RejectedRowsError with all its rows, or ConnectError if the settings let such records end the task.
        """
        rules = self._rules
        named = [path for path in rules.fields if path.root is Root.KEY]
        if has_keys(batch) or not named:
            return
        is_null = batch.values.arrow().is_null().to_pylist()
        refused = [row for row in range(len(batch)) if not (is_null[row] and rules.deletes is Deletes.IGNORE)]
        if rules.null_key is not NullKey.DLQ:
            raise no_key(batch, refused[0], named[0], is_final=True)
        raise RejectedRowsError({row: no_key(batch, row, named[0], is_final=False) for row in refused})

    def _new_buffer(self, target: str, batch: Batch) -> TableBuffer:
        """Make a table ready for the first rows that come for it, and return its new buffer."""
        config, dedup = self._config, self._dedup_columns(batch)
        columns = self._ready(target, batch, dedup)
        _check_key_columns(config.table_path(target), columns, dedup)
        mode, half_bytes = self.modes.of(target), max(1, config.buffer_max_bytes // 2)
        rotation = Rotation(mode.batch_rows, half_bytes, mode.batch_interval_s(batch.topic))
        return TableBuffer(target, columns, dedup, rotation, self._window(target, columns))

    def _admission(self, buffer: TableBuffer, batch: Batch) -> Admission:
        """Return the admission that makes rows of the batch, once the buffer's table has the columns that they need."""
        shape = self._shape_of(batch)
        known = self._known(buffer, shape)
        if known is not None:
            return known
        needs = self._needs(buffer, batch)
        if self._lacks(buffer, needs):
            columns = self._ready(buffer.target, batch, needs.dedup)
            buffer.columns = buffer.columns if columns == buffer.columns else columns
        config, path = self._config, self._config.table_path(buffer.target)
        admission = Admission(
            buffer.columns, self._rules, needs.dedup.as_in(buffer.columns), config.field_names, buffer.window,
            config.extras, config.mode.insert_id, name=path,
            may_round=may_round(schema_of(batch.values), buffer.columns),
        )  # fmt: skip
        admissions = self._admissions[buffer.target]
        if len(admissions) >= _KNOWN_MOST:
            admissions.clear()
        admissions[shape] = admission
        return admission

    def _shape_of(self, batch: Batch) -> _Shape:
        """Return the schemas of a batch's records, found once for `is_ready` and the `prepare` that follows it."""
        last = self._last_shape
        if last is None or last[0] is not batch:
            last = self._last_shape = batch, (_shape(batch), _key_schema(batch), has_row_numbers(batch))
        return last[1]

    def _known(self, buffer: TableBuffer, shape: _Shape) -> Admission | None:
        """Return the admission of earlier records of the same schemas; None if the table has other columns since."""
        known = self._admissions[buffer.target].get(shape)
        return known if known is not None and known.table is buffer.columns else None

    def _needs(self, buffer: TableBuffer, batch: Batch) -> _Needs:
        dedup = self._dedup_columns(batch) if has_keys(batch) else buffer.dedup
        if dedup != buffer.dedup:
            raise SchemaError(
                f"Records of topic {batch.topic} have keys of other fields than those before, so that dedup.fields="
                f"{','.join(self._config.dedup_fields)} means other columns of table {buffer.target} now.",
                key="dedup.fields",
                fix="Name the fields one by one, as in __key.id.",
            )
        return _Needs(dedup, self._needed(buffer.target, batch, dedup))

    def _lacks(self, buffer: TableBuffer, needs: _Needs) -> bool:
        """Return True if the table lacks columns for these rows, as far as the buffer knows its columns."""
        path = self._config.table_path(buffer.target)
        return widened(path, buffer.columns, needs.needed, _EVERYTHING) is not buffer.columns

    def _dedup_columns(self, batch: Batch) -> DedupColumns:
        return placed(self._rules, self._config.field_names, _key_schema(batch), self._config.key_column)

    def _window(self, target: str, columns: Columns) -> Window | None:
        config = self._config
        length_ms = parse_window(config.dedup_window)
        if length_ms is None:
            return None
        column = by_name(columns).get(config.partition_field.lower())
        if column is None or column.type not in PARTITIONABLE:
            raise ConfigError(
                f"Table {target} has no column {config.partition_field} that is a date or a timestamp, by which "
                "dedup.window could search it.",
                key="timestampPartitionFieldName",
                fix="Name the column by which the table is partitioned, or set dedup.window=none.",
            )
        return Window(column.name, column.type, length_ms, Late(config.dedup_late))

    def _needed(self, target: str, batch: Batch, dedup: DedupColumns) -> Needed:
        """Return the columns that the batch needs. Raise SchemaError if no table can have them, or no key."""
        try:
            return self._columns(batch, dedup)
        except SchemaError as error:
            raise in_table(self._config.table_path(target), error) from None

    def _columns(self, batch: Batch, dedup: DedupColumns) -> Needed:
        """Return the columns for the records' fields and for dedup."""
        types = self._config.type_rules
        for placed_key in dedup.keys:
            check_key_type(placed_key.path, cell(batch, placed_key.path).schema, batch.topic)
        wanted = value_columns(batch, types)
        dedup = dedup.with_row_numbers() if has_row_numbers(batch) else dedup
        own = (*self._config.extras.columns(batch, types), *own_columns(dedup, self._rules, batch, types))
        _check_names(batch.topic, wanted, own)
        if not wanted:
            # The batch has only deletes: their keys need columns, too.
            types = replace(types, nullable=True)
            own = (*own, *self._columns_of_deletes(batch, dedup, types))
        elif self._config.mode.rows_may_lack_values:
            wanted = tuple(column.relaxed() for column in wanted)
        return Needed(wanted, own, frozenset(p.column.lower() for p in dedup.keys))

    def _columns_of_deletes(self, batch: Batch, dedup: DedupColumns, types: TypeRules) -> Iterator[ColumnSchema]:
        """Yield the columns of keys and order that are fields of the value, for records that have no value.

        A field of the order that no record shows has no column yet.
        """
        keys = {p.column for p in dedup.keys}
        for p in {p.column: p for p in (*dedup.keys, *dedup.order)}.values():
            if p.path.root is Root.VALUE and not p.is_own:
                found = cell(batch, p.path)
                if p.column in keys or found.values.null_count < len(found.values):
                    yield column_of(p.column, found.schema, types, str(p.path))

    def _ready(self, target: str, batch: Batch, dedup: DedupColumns) -> Columns:
        """Find or create the table, and give it the columns that it lacks."""
        path, needed = self._config.table_path(target), self._needed(target, batch, dedup)
        table = self._warehouse.table(target)
        if table is None:
            columns = (*needed.values, *needed.own)
            table = self._create(target, columns, dedup, for_deletes=not needed.values)
        else:
            check_change(self._config, self._warehouse, table)
            self._config.mode.check_table(path, table.primary_key, dedup)
            check_keys(self._config, self._warehouse, table, dedup)
        self.modes.settle(target, table)
        if needed.values:
            self._without_values.discard(target)
        else:
            self._without_values.add(target)
        columns, allowed = table.columns, replace(self._allowed, first_values=made_for_deletes(table))
        if widened(path, columns, needed, allowed) is not columns:
            columns = self._warehouse.change_columns(target, lambda now: widened(path, now, needed, allowed))
            _log.info("Table %s has the columns %s now.", target, ", ".join(column.name for column in columns))
        note_keys(self._config, self._warehouse, self._line, table, dedup)
        dedup = dedup.as_in(columns)
        self._ready_beside(target, columns, dedup)
        # A view shows the columns that its table had when it was created, so it is created again for new ones.
        mode = self.modes.of(target)

        def views() -> Mapping[str, str]:
            beside = self._memories(target, mode) if mode.owns_table or mode.keeps_log else {}
            return mode.views_beside(target, self._warehouse, columns, dedup, beside)

        for name, text in views().items():
            self.views.make(name, text, target, columns, partial(lambda name: views()[name], name))
        return columns

    def _replace_view(self, name: str, statement: str, target: str) -> None:
        """Run the statement that makes a view. For a table with a log it runs in the table's line of merges, so that
        it cannot replace a view that another mode has made since.
        """
        if self.modes.of(target).keeps_log:
            self._line.run(target, statement, f"making view {name}")
        else:
            self._warehouse.define(name, statement)

    def _memories(self, target: str, mode: Mode) -> Mapping[str, Columns]:
        """Return the columns, by table name, of the tables in which others have remembered deletes."""
        own = {deletes_table(target): mode.remembers_deletes, cleared_table(target): mode.remembers_clears}
        looked = ((name, self._warehouse.table(name)) for name, is_own in own.items() if not is_own)
        return {name: found.columns for name, found in looked if found is not None}

    def _ready_beside(self, target: str, columns: Columns, dedup: DedupColumns) -> None:
        """Create the log and the tables that remember deletes, or give them the columns that they lack."""
        mode = self.modes.of(target)
        tables = [new_deletes_table(self._config, target, columns, dedup)] if mode.remembers_deletes else []
        if mode.remembers_clears:
            tables.append(new_cleared_table(self._config, target, columns, dedup))
        if mode.keeps_log:
            tables.append(new_log_table(self._config, target, columns))
        for table in tables:
            if not self._warehouse.create(table):
                with_all = partial(completed, wanted=table.columns)
                self._warehouse.change_columns(table.name, with_all, expiration_ms=table.expiration_ms)

    def _create(self, target: str, columns: Columns, dedup: DedupColumns, *, for_deletes: bool) -> TableFacts:
        """Create the table, and return it; return the other one if somebody else created it at the same time."""
        table = new_table(self._config, target, columns, dedup, for_deletes=for_deletes)
        found = None if self._warehouse.create(table) else self._warehouse.table(target)
        if found is not None:
            return found
        _log.info("Created table %s with the columns %s.", target, ", ".join(column.name for column in columns))
        return TableFacts(target, columns, table.labels or {}, "")


def _check_names(topic: str, values: Columns, own: Columns) -> None:
    check_told_apart(topic, own, "")
    clash = sorted(set(by_name(values)) & set(by_name(own)))
    if clash:
        raise UnusableSchemaError(
            f"Records of topic {topic} have fields that are named like columns which the connector adds: "
            f"{', '.join(clash)}.",
            fix="Choose other names in kafkaKeyFieldName and kafkaDataFieldName, or rename the fields by a transform.",
        )


def _check_key_columns(table: str, columns: Columns, dedup: DedupColumns) -> None:
    for key in dedup.keys:
        problem = key_column_problem(member(columns, key.column))
        if problem is not None:
            raise ConfigError(f"Table {table}: {problem}", key="dedup.fields")


def _key_schema(batch: Batch) -> s.Schema | None:
    """Return the schema of the keys; None if no record has a key."""
    return schema_of(batch.keys) if batch.keys is not None and has_keys(batch) else None


def _shape(batch: Batch) -> s.Schema | None:
    """Return the schema of the values; None if all records are tombstones, whose schema may look like that of texts."""
    schema = schema_of(batch.values)
    is_empty = schema.type is not s.Type.STRUCT and batch.values.arrow().null_count == len(batch)
    return None if is_empty else schema
