"""Turns Debezium's change events into the rows after the change (io.debezium.transforms.ExtractNewRecordState).

Source of the rules: Debezium 3's documentation of the class. Records that are no change events pass unchanged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from connect.api import schema as s
from connect.api.errors import SchemaError
from connect.api.records import Batch, Column, Header
from connect.api.schema import Field, Schema, Type
from connect.transforms.settings.extra_config import UnwrapConfig
from connect.transforms.structure.structs import constant, is_struct, masked_by, rebuilt, struct_array

if TYPE_CHECKING:
    import pyarrow as pa

DELETED: Final = "__deleted"
_ENVELOPE: Final = ("before", "after", "op")
_UNTOUCHED, _ROW, _DELETE, _TOMBSTONE = range(4)


_OF_ENVELOPE = frozenset({"op", "ts_ms", "ts_us", "ts_ns"})


@dataclass(frozen=True, slots=True)
class _Added:
    """Holds a member of the envelope that is added to the row, and the name that it gets there."""

    path: tuple[str, ...]
    name: str


class Unwrap:
    """Replaces Debezium change events by the rows after the change. It is owned by one task thread."""

    def __init__(self, config: UnwrapConfig) -> None:
        self._deletes = config.deletes
        self._drops_tombstones = config.drops_tombstones
        self._fields = _added(config.add_fields, config.add_fields_prefix)
        self._headers = _added(config.add_headers, config.add_headers_prefix)
        self._route = config.route_by_field

    def apply(self, batch: Batch) -> list[Batch]:
        """Return rows, rewritten deletes and tombstones in order; records that are no change events stay as they
        are.
        """
        schema = batch.values.schema
        if schema is not None and not _is_envelope(schema):
            return [batch]
        ops = _ops(batch.values)
        if schema is None and all(op is None for op in ops):
            return self._tombstones(batch)
        kept = [i for i, op in enumerate(ops) if not self._drops(op)]
        if not kept:
            return []
        part = batch if len(kept) == len(batch) else batch.take(kept)
        headers = self._with_headers(part) if self._headers else part.headers
        made = replace(part, values=self._unwrapped(part.values, [ops[i] for i in kept]), headers=headers)
        return self._routed(made) if self._route else [made]

    def _tombstones(self, batch: Batch) -> list[Batch]:
        rows = batch.values.rows()
        kept = [i for i, row in enumerate(rows) if row is not None or not self._drops_tombstones]
        return [] if not kept else [batch if len(kept) == len(batch) else batch.take(kept)]

    def _drops(self, op: str | None) -> bool:
        if op is None:
            return self._drops_tombstones
        # As in Debezium: an event of a truncation has neither row nor key, and would be a tombstone of no key.
        return op == "t" or (op == "d" and self._deletes == "drop")

    def _unwrapped(self, column: Column, ops: Sequence[str | None]) -> Column:
        if column.schema is None:
            return Column.from_rows([self._map_row(row) for row in column.rows()], None)
        made = self._schema(column.schema)
        if column.is_arrow:
            return Column.from_arrow(self._array(column.arrow(), column.schema, made, ops), made)
        return Column.from_rows([self._struct_row(row, column.schema) for row in column.rows()], made)

    def _schema(self, envelope: Schema) -> Schema:
        after = _member(envelope, "after")
        fields = [*after.fields]
        if self._deletes == "rewrite":
            fields.append(Field(DELETED, s.STRING.as_optional()))
        fields += [Field(added.name, _at(envelope, added.path).as_optional()) for added in self._fields]
        # Tombstones of the same topic have this schema, too, so it is optional.
        return rebuilt(after, fields).as_optional()

    def _array(
        self, array: pa.StructArray, envelope: Schema, made: Schema, ops: Sequence[str | None]
    ) -> pa.StructArray:
        import pyarrow as pa
        import pyarrow.compute as pc

        deleted = pa.array([op == "d" for op in ops], pa.bool_())
        state = masked_by(array.field(envelope.field_index["after"]), array)
        if self._deletes == "rewrite":
            before = masked_by(array.field(envelope.field_index["before"]), array)
            size = len(array)
            places = pc.if_else(deleted, pa.array(range(size, 2 * size)), pa.array(range(size)))
            state = pa.concat_arrays([state, before if before.type == state.type else before.cast(state.type)]).take(
                places
            )
        elif pc.any(deleted).as_py():
            state = state.take(
                pc.if_else(deleted, pa.scalar(None, pa.int64()), pa.array(range(len(array)), pa.int64()))
            )
        columns = list(state.flatten())
        if self._deletes == "rewrite":
            columns.append(pc.if_else(deleted, "true", "false"))
        columns += [self._added_column(array, envelope, added.path) for added in self._fields]
        return struct_array(columns, made, state)

    def _added_column(self, array: pa.Array, envelope: Schema, path: tuple[str, ...]) -> pa.Array:
        column, schema = array, envelope
        for step in path:
            if not is_struct(schema) or schema.field(step) is None:
                return constant(None, s.STRING.as_optional(), len(array))
            column = masked_by(column.field(schema.field_index[step]), column)
            schema = _member(schema, step)
        return column

    def _struct_row(self, row: Mapping[str, Any] | None, envelope: Schema) -> dict[str, Any] | None:
        if row is None:
            return None
        state = self._state(row)
        if state is None:
            return None
        kept = {field.name: state.get(field.name) for field in _member(envelope, "after").fields}
        return {**kept, **self._additions(row)}

    def _map_row(self, row: Any) -> Any:
        if not _is_event(row):
            return row
        state = self._state(row)
        return None if state is None else {**state, **self._additions(row)}

    def _state(self, row: Mapping[str, Any]) -> Mapping[str, Any] | None:
        if row.get("op") != "d":
            after: Mapping[str, Any] | None = row.get("after")
            return after
        before: Mapping[str, Any] | None = row.get("before")
        return before if self._deletes == "rewrite" else None

    def _additions(self, row: Mapping[str, Any]) -> dict[str, Any]:
        deleted = {DELETED: "true" if row.get("op") == "d" else "false"} if self._deletes == "rewrite" else {}
        return {**deleted, **{added.name: _value_at(row, added.path) for added in self._fields}}

    def _with_headers(self, batch: Batch) -> list[Sequence[Header]]:
        """Return the rows' headers with the added ones.

        A header is a Python object in every batch, so they are made row by row.
        """
        schema = batch.values.schema
        before = batch.headers if batch.headers is not None else [()] * len(batch)
        made: list[Sequence[Header]] = []
        for own, row in zip(before, batch.values.rows(), strict=True):
            found = [
                Header(added.name, _value_at(row, added.path), None if schema is None else _at(schema, added.path))
                for added in self._headers
                if isinstance(row, Mapping)
            ]
            made.append((*own, *found))
        return made

    def _routed(self, batch: Batch) -> list[Batch]:
        """Return the rows in runs of one topic each; a tombstone keeps its topic."""
        topics = [
            str(row[self._route]) if isinstance(row, Mapping) and row.get(self._route) is not None else batch.topic
            for row in batch.values.rows()
        ]
        cuts = [0, *(i for i in range(1, len(topics)) if topics[i] != topics[i - 1]), len(topics)]
        return [replace(batch.slice(start, stop), topic=topics[start]) for start, stop in pairwise(cuts)]


def _is_envelope(schema: Schema) -> bool:
    return is_struct(schema) and all(schema.field(name) is not None for name in _ENVELOPE)


def _ops(column: Column) -> list[str | None]:
    """Return the operation of each row: None for a tombstone, and an empty text for a map that is no change event."""
    if column.is_arrow and column.schema is not None:
        array = column.arrow()
        ops: list[str | None] = masked_by(array.field(column.schema.field_index["op"]), array).to_pylist()
        valid = array.is_valid().to_pylist()
        return [(op or "") if there else None for op, there in zip(ops, valid, strict=True)]
    of_schema = column.schema is not None
    return [
        None if row is None else str(row.get("op") or "") if of_schema or _is_event(row) else ""
        for row in column.rows()
    ]


def _is_event(row: Any) -> bool:
    return isinstance(row, Mapping) and all(name in row for name in _ENVELOPE)


def _added(names: Sequence[str], prefix: str) -> list[_Added]:
    """Return the members of the envelope to add, with their names.

    `op` becomes __op, `table` __table, `source.table` __source_table, `source.table:t` __t.
    """
    made = []
    for text in names:
        path, _, name = text.partition(":")
        steps = tuple(path.split("."))
        # As in Debezium, a name without dots is a member of the source block, unless the envelope itself has it.
        place = steps if len(steps) > 1 or path in _OF_ENVELOPE else ("source", *steps)
        made.append(_Added(place, prefix + (name or path.replace(".", "_"))))
    return made


def _member(schema: Schema, name: str) -> Schema:
    found = schema.field(name)
    if found is None:
        raise SchemaError(f"Unknown field: {name}")
    return found


def _at(schema: Schema, path: tuple[str, ...]) -> Schema:
    """Return the schema of a member of the envelope; one that it does not have becomes an optional text, which is
    null.
    """
    for step in path:
        found = schema.field(step) if schema.type is Type.STRUCT else None
        if found is None:
            return s.STRING.as_optional()
        schema = found
    return schema


def _value_at(row: Any, path: tuple[str, ...]) -> Any:
    for step in path:
        row = row.get(step) if isinstance(row, Mapping) else None
    return row
