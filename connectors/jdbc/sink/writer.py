"""Puts batches into tables. If a table refuses some rows, all others are written all the same."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from operator import itemgetter
from typing import Final, TypeVar

import pyarrow as pa
import sqlalchemy as sa

from connect.api.errors import ConnectError, RetriableError, SchemaError
from connect.api.optional.rows_of_one_record import RowsOfOneRecord
from connect.api.records import Batch, Column
from connect.lib.halving import refused_rows
from connectors.jdbc.sink.alike_rows import Fields, alike, alike_by_key, alike_in_turn, fields_of
from connectors.jdbc.sink.changes import changes_of, deletes_first, writes_before_delete
from connectors.jdbc.sink.database import DeniedError, RefusedAtCommitError, TargetDatabase
from connectors.jdbc.sink.deferred_constraints import late_refusals
from connectors.jdbc.sink.refusals import RefusedRowsError
from connectors.jdbc.sink.settings.config import JdbcSinkConfig
from connectors.jdbc.sink.shape import Member, array_of, shape_of, written_fields
from connectors.jdbc.sink.statements import SinkStatements, StatementRows
from connectors.jdbc.sink.target_tables import ColumnTypes, Target, TargetTables
from connectors.jdbc.sink.texts import Zones

Bad = dict[int, Exception]
"""Holds why rows are bad, by their numbers in the batch."""
_log = logging.getLogger(__name__)
T = TypeVar("T")
_REFUSALS: Final = (SchemaError, RefusedRowsError)


@dataclass(frozen=True, slots=True)
class Admitted:
    """Holds the rows of a batch that are to be written, their numbers in the batch, and the rows known to be bad."""

    rows: Batch
    numbers: Sequence[int]
    bad: Bad

    def only(self, numbers: Sequence[int]) -> Admitted:
        """Return only the rows, good and bad, that have one of these numbers."""
        wanted = frozenset(numbers)
        kept = [place for place, number in enumerate(self.numbers) if number in wanted]
        rows = self.rows if len(kept) == len(self.numbers) else self.rows.take(kept)
        bad = {number: why for number, why in self.bad.items() if number in wanted}
        return Admitted(rows, [self.numbers[place] for place in kept], bad)


def statements_of(config: JdbcSinkConfig, database: TargetDatabase, *, shows_times: bool = False) -> SinkStatements:
    """Return the statements that write this kind of database. With `shows_times` Debezium's times are no numbers."""
    return database.writing.sql(Zones(config.zone, config.date_zone, shows_times))


class TableWriter:
    """Puts batches into tables. Owned by the task thread."""

    def __init__(
        self, config: JdbcSinkConfig, database: TargetDatabase, new_columns: ColumnTypes | None = None
    ) -> None:
        self._config = config
        self._statements = statements_of(config, database, shows_times=new_columns is not None)
        self._database = database
        self._targets = TargetTables(config, database, self._statements, new_columns)
        self._looks_late = False
        self.may_be_there = False
        """True if rows may be in their table by an earlier try of the connector's own, and are not bad then."""
        self.were_there = 0
        """How many rows of the last batch were there so."""

    def admit(self, batch: Batch) -> Admitted:
        """Check the rows, and make their table ready for them. No transaction may be open, as tables may be changed.

        ConnectError: there is no table, or it cannot be made. RetriableError: the database is away.
        """
        bad = self._bad_at_sight(batch)
        left_out = {*bad, *(_nulls(batch.values) if self._config.handle_tombstone else ())}
        rows = batch.without(left_out)
        numbers = [number for number in range(len(batch)) if number not in left_out]
        if self._deletes_nothing(rows):
            return Admitted(batch.slice(0, 0), (), bad)
        try:
            if len(rows):
                self._targets.ready(batch.topic, None if batch.values.schema is None else shape_of(self._config, rows))
            if lost := self._lost_of_one_record(rows):
                bad |= {numbers[place]: why for place, why in lost.items()}
                numbers = [number for number in numbers if number not in bad]
                rows = rows.without(lost)
        except SchemaError as error:
            return Admitted(batch.slice(0, 0), (), bad | dict.fromkeys(numbers, error))
        return Admitted(rows, numbers, bad)

    def _deletes_nothing(self, rows: Batch) -> bool:
        """Return True if all rows are deletes, and their table is not made yet: a compacted topic may begin so."""
        is_unknown = rows.values.schema is None and len(_nulls(rows.values)) == len(rows) > 0
        return is_unknown and self._config.auto_create and self._targets.find(rows.topic) is None

    def _lost_of_one_record(self, rows: Batch) -> Bad:
        """Return why rows are bad that would replace another row of their own record, by their places."""
        if not self._config.is_keyed or rows.consumed is None or rows.consumed.row_numbers is None or not len(rows):
            return {}
        keys = [array_of(rows, member).to_pylist() for member in shape_of(self._config, rows).keys]
        seen, deletes, bad = RowsOfOneRecord(rows.consumed), set(_nulls(rows.values)), Bad()
        for place, key in enumerate(zip(*keys, strict=True)):
            if place in deletes:
                seen.deleted(place, key)
            elif None not in key and (why := seen.wrote(place, key)) is not None:
                bad[place] = why
        return bad

    def in_transaction(self, doing: str, work: Callable[[sa.Connection], T]) -> T:
        """Run `work` in a transaction; run it once more if its commit fails because of bad rows.

        In the second run `write` checks constraints itself. RetriableError: nothing is written.
        """
        try:
            with self._database.transaction(doing) as connection:
                return work(connection)
        except RefusedAtCommitError:
            self._looks_late = True
        try:
            with self._database.transaction(doing) as connection:
                return work(connection)
        except RefusedAtCommitError as error:
            raise RetriableError(error.message) from error  # rows that these rows need were changed meanwhile
        finally:
            self._looks_late = False

    def write(self, connection: sa.Connection, admitted: Admitted) -> Bad:
        """Write the rows in the open transaction. Return the bad ones, which are not written."""
        self.were_there = 0
        if not len(admitted.rows):
            return admitted.bad
        if not self.may_be_there:
            return self._write(connection, admitted)
        try:
            with self._database.part(connection):
                self._land(connection, admitted.rows)
                if self._looks_late:
                    self._database.check_constraints(connection)
        except _REFUSALS:
            self._targets.forget()
            there = self._already_there(connection, admitted.rows)
            left = [number for place, number in enumerate(admitted.numbers) if place not in there]
            self.were_there = len(there)
            return self._write(connection, admitted.only([*left, *admitted.bad]))
        return admitted.bad

    def write_all(self, connection: sa.Connection, batches: Sequence[Admitted]) -> list[Bad]:
        """Write several batches, whose rows may need rows of other batches. Return the bad rows of each."""
        if self._looks_late:
            return self._written_late(connection, batches)
        return [self.write(connection, one) for one in batches]

    def _already_there(self, connection: sa.Connection, batch: Batch) -> set[int]:
        """Return the places of rows that are in their table with the same values, without rows that come after a delete
        of their key.
        """
        try:
            shape = shape_of(self._config, batch)
            target = self._targets.ready(batch.topic, None)
            keys = self._cells(target, shape.keys, batch).to_pylist() if shape.keys else []
            nulls, deleted, places = set(_nulls(batch.values)), set(), []
            for place in range(len(batch)):
                key = tuple(keys[place].values()) if keys else ()
                if place in nulls:
                    deleted.add(key)
                elif key not in deleted:
                    places.append(place)
            rows = batch.take(places)
            fields = fields_of(rows.values, written_fields(self._config)) or [frozenset()] * len(places)
            with self._database.part(connection):
                found = {
                    numbers[place]
                    for numbers in alike(fields)
                    for place in self._there(connection, target, rows.take(numbers))
                }
        except DeniedError as error:
            _log.warning("Rows that an earlier try has written cannot be told from bad ones: %s", error.message)
            return set()
        except (SchemaError, RefusedRowsError):
            return set()  # a value has no form in the table, so that its rows have to be looked at one by one
        return {places[number] for number in found}

    def _there(self, connection: sa.Connection, target: Target, rows: Batch) -> set[int]:
        """Return the numbers of rows that are in the table with the same values; all of them have the same fields.

        None is if the table lacks one of these fields, or if a value has no form in it.
        """
        try:
            columns = self._cells(target, shape_of(self._config, rows).members, rows)
        except SchemaError:
            return set()
        keyed = _keyed(columns, target)
        found = self._statements.there(connection, target, columns.take(keyed)) if keyed else set()
        return {keyed[number] for number in found}

    def _write(self, connection: sa.Connection, admitted: Admitted) -> Bad:
        rows = admitted.rows
        if not len(rows):
            return admitted.bad
        if self._looks_late:
            (bad,) = self._written_late(connection, [admitted])
            return bad

        def land(first: int, last: int) -> None:
            with self._database.part(connection):
                self._land(connection, rows.slice(first, last))

        try:
            land(0, len(rows))
        except _REFUSALS as error:
            # Perhaps the table was changed, and no row is bad.
            self._targets.forget()
            refused = refused_rows(0, len(rows), land, _REFUSALS, error)
            return admitted.bad | {admitted.numbers[row]: why for row, why in refused}
        return admitted.bad

    def _written_late(self, connection: sa.Connection, batches: Sequence[Admitted]) -> list[Bad]:
        places = [(batch, row) for batch, one in enumerate(batches) for row in range(len(one.rows))]

        def land(numbers: Sequence[int]) -> None:
            for batch, of_batch in groupby((places[number] for number in numbers), key=itemgetter(0)):
                self._land(connection, batches[batch].rows.take([row for _, row in of_batch]))

        def tried(numbers: Sequence[int]) -> Exception | None:
            return self._database.tried(connection, lambda: land(numbers))

        refused = late_refusals(len(places), tried) if places else {}
        land([number for number in range(len(places)) if number not in refused])
        self._database.check_constraints(connection)
        bad = [dict(one.bad) for one in batches]
        for number, why in refused.items():
            batch, row = places[number]
            bad[batch][batches[batch].numbers[row]] = why
        return bad

    def empty(self, connection: sa.Connection, topic: str) -> None:
        """Delete all rows of a topic's table, if there is one."""
        target = self._targets.find(topic)
        if target is not None:
            self._statements.empty(connection, target)

    def forget_tables(self) -> None:
        """Forget what is known of tables, so that the catalog is asked again."""
        self._targets.forget()

    def _bad_at_sight(self, batch: Batch) -> Bad:
        bad: Bad = {}
        if not (self._config.delete_enabled or self._config.handle_tombstone):
            error = SchemaError(
                "The record has no value, and so no row.", key="delete.enabled",
                fix="Set delete.enabled=true with pk.mode=record_key, or drop such records by a predicate and Filter.",
            )  # fmt: skip
            bad = dict.fromkeys(_nulls(batch.values), error)
        if self._config.pk_mode == "record_key" and batch.keys is not None:
            error = SchemaError("The record has no key, which pk.mode=record_key needs.", key="pk.mode")
            bad |= dict.fromkeys(_nulls(batch.keys), error)
        return bad

    def _land(self, connection: sa.Connection, batch: Batch) -> None:
        fields = fields_of(batch.values, written_fields(self._config))
        if fields is None:
            self._land_alike(connection, batch)
            return
        for numbers in self._groups(batch, fields):
            self._land_alike(connection, batch.take(numbers))

    def _groups(self, batch: Batch, fields: Sequence[Fields]) -> list[list[int]]:
        """Return groups of rows that have the same fields; rows of each key keep their order if it counts."""
        if not (self._config.is_keyed or self._config.delete_enabled):
            return alike(fields)
        target = self._targets.ready(batch.topic, None)
        keys = self._cells(target, shape_of(self._config, batch).keys, batch)
        in_turn = not keys.num_columns or self._statements.may_meet(target, keys)
        return alike_in_turn(fields) if in_turn else alike_by_key(fields, keys)

    def _land_alike(self, connection: sa.Connection, batch: Batch) -> None:
        shape = shape_of(self._config, batch)
        target = self._targets.ready(batch.topic, None)
        missing = target.missing(shape.members)
        if missing:
            raise target.lacks(missing)
        keys = self._cells(target, shape.keys, batch)
        self._require_upsertable(target, keys)
        tombstones = _mask(_nulls(batch.values), len(batch))
        ends = [len(batch)]
        if writes_before_delete(tombstones) and self._statements.may_meet(target, keys):
            ends = deletes_first(tombstones)
        for first, last in pairwise([0, *ends]):
            of_part = keys.slice(first, last - first)
            changes = changes_of(of_part, tombstones.slice(first, last - first), is_keyed=self._config.is_keyed)
            statement_rows = max(1, self._config.batch_size)
            if len(changes.deleted):
                for rows in StatementRows(of_part.take(changes.deleted), keys.column_names).parts(statement_rows):
                    self._statements.delete(connection, target, rows)
            if not len(changes.written):
                continue
            written = batch.take([first + row for row in changes.written.to_pylist()])
            columns = self._cells(target, shape.members, written)
            mode = self._config.insert_mode
            write = getattr(self._statements, "insert" if mode == "multi" else mode)
            for rows in StatementRows(columns, keys.column_names).parts(statement_rows):
                write(connection, target, rows)

    def _require_upsertable(self, target: Target, keys: pa.Table) -> None:
        refusal = target.upsert_refusal(frozenset(keys.column_names))
        if self._config.insert_mode == "upsert" and refusal:
            raise ConnectError(refusal, key="pk.fields")

    def _cells(self, target: Target, members: Sequence[Member], batch: Batch) -> pa.Table:
        cells = {}
        for member in members:
            column = target.column(member.name)
            if column is None:
                raise target.lacks([member])
            if column.name in cells:
                raise SchemaError(f"Two fields go into column {column.name} of table {target.name.full}.")
            array = array_of(batch, member)
            if self._config.replace_null and member.schema.default is not None:
                array = array.fill_null(pa.scalar(member.schema.default, array.type))
            try:
                cells[column.name] = self._statements.cells(array, member.schema, column)
            except SchemaError as error:
                raise SchemaError(
                    error.message, field=error.field or member.name, key=error.key, fix=error.fix
                ) from error
        return pa.table(cells)


def _keyed(columns: pa.Table, target: Target) -> list[int]:
    """Return the numbers of rows that a unique key can refuse: they have all its columns, and none is NULL."""
    keys = [unique for unique in target.unique if unique <= set(columns.column_names)]
    nulls = {name: columns[name].is_null().to_pylist() for name in frozenset().union(*keys)}
    return [row for row in range(len(columns)) if any(not any(nulls[name][row] for name in key) for key in keys)]


def _nulls(column: Column) -> list[int]:
    """Return the numbers of rows that are null."""
    if column.is_arrow:
        import pyarrow.compute as pc

        found: list[int] = pc.indices_nonzero(column.arrow().is_null()).to_pylist() if column.arrow().null_count else []
        return found
    return [number for number, value in enumerate(column.rows()) if value is None]


def _mask(numbers: Sequence[int], length: int) -> pa.Array:
    places = set(numbers)
    return pa.array([number in places for number in range(length)], pa.bool_())
