"""Routes rows of an outbox table as the events that they hold (io.debezium.transforms.outbox.EventRouter).

Source of the rules: Debezium 3's documentation. Records that are no change events pass unchanged, except tombstones.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from connect.api.errors import RejectedRowsError, SchemaError
from connect.api.records import Batch, Column, Header
from connect.api.schema import Field, Schema, Type, struct
from connect.transforms.routing import TopicPattern
from connect.transforms.settings.outbox_config import EventRouterConfig, Placed
from connect.transforms.structure.sides import null_rows
from connect.transforms.structure.structs import is_struct, masked_by, struct_array, unique

if TYPE_CHECKING:
    import pyarrow as pa

_log = logging.getLogger(__name__)
_LEVELS: Final = {"warn": logging.WARNING, "error": logging.ERROR}
_TICKS_PER_MS: Final = {
    "io.debezium.time.Timestamp": 1, "io.debezium.time.MicroTimestamp": 1000, "io.debezium.time.NanoTimestamp": 10**6,
}  # fmt: skip


class _Outbox:
    """Holds the rows that were inserted into an outbox table, to read their columns."""

    def __init__(self, events: pa.StructArray, schema: Schema, needed: Sequence[str]) -> None:
        after = schema.field("after")
        if after is None or not is_struct(after):
            raise SchemaError("A change event of the outbox has no row `after`.")
        missing = [name for name in needed if after.field(name) is None]
        if missing:
            raise SchemaError(
                f"The outbox has no column {', '.join(missing)}.", fix="Name its columns in table.field.* and route.*."
            )
        self.schema = after
        self._rows = masked_by(events.field(schema.field_index["after"]), events)

    def nulls(self) -> list[int]:
        """Return the events that have no row."""
        return null_rows(Column.from_arrow(self._rows, self.schema))

    def schema_of(self, name: str) -> Schema:
        """Return the schema of a column that is there."""
        return self.schema.fields[self.schema.field_index[name]].schema

    def column(self, name: str) -> pa.Array:
        """Return a column."""
        return self._rows.field(self.schema.field_index[name])

    def values(self, name: str, kind: Type) -> list[Any]:
        """Return a column's values. SchemaError: the column has another type."""
        found = self.schema_of(name)
        if found.type is not kind:
            raise SchemaError(f"The outbox's column {name} is of type {found.type}, not {kind}.", field=name)
        values: list[Any] = self.column(name).to_pylist()
        return values


class EventRouter:
    """Replaces inserts into an outbox by their events; drops its deletes and updates. A task thread owns it."""

    def __init__(self, config: EventRouterConfig) -> None:
        self._topics = TopicPattern(config.topic_regex, config.topic_replacement)
        self._on_update = config.old_on_update or config.on_update
        self._id, self._key = config.event_id, config.event_key
        self._payload = config.old_payload or config.payload
        self._time = config.timestamp
        self._version = config.old_version or config.version
        self._route_by = config.route_by
        self._has_tombstones = config.has_tombstones
        self._headers = _at("header", config.placed)
        self._envelope = _at("envelope", config.placed)
        self._partition = next((placed.column for placed in _at("partition", config.placed)), "")
        named = (self._id, self._key, self._payload, self._route_by, self._time, self._version)
        self._needed = [name for name in (*named, *(placed.column for placed in config.placed)) if name]

    def apply(self, batch: Batch) -> list[Batch]:
        """Return the events, in one batch for each topic."""
        import pyarrow.compute as pc

        schema = batch.values.schema
        if schema is None or not is_struct(schema) or not (schema.name or "").endswith(".Envelope"):
            made = batch.without(null_rows(batch.values))
            return [made] if len(made) else []
        events = batch.values.arrow()
        ops = masked_by(events.field(schema.field_index["op"]), events)
        self._tell(pc.indices_nonzero(pc.equal(ops, "u")).to_pylist(), batch.topic)
        kept = pc.indices_nonzero(pc.and_(ops.is_valid(), pc.invert(pc.is_in(ops, _dropped())))).to_pylist()
        return self._events(batch.take(kept), schema, kept) if kept else []

    def _tell(self, updates: Sequence[int], topic: str) -> None:
        if updates and self._on_update == "fatal":
            error = SchemaError(
                f"An UPDATE of the outbox reached topic {topic}.", fix="Insert rows alone, or set "
                "table.op.invalid.behavior to warn.",
            )  # fmt: skip
            raise RejectedRowsError(dict.fromkeys(updates, error))
        if updates:
            _log.log(_LEVELS[self._on_update], "%d updates of the outbox in topic %s dropped.", len(updates), topic)

    def _events(self, batch: Batch, schema: Schema, places: Sequence[int]) -> list[Batch]:
        events = batch.values.arrow()
        outbox = _Outbox(events, schema, self._needed)
        routes = outbox.values(self._route_by, Type.STRING)
        lacking = {i: f"{self._route_by} is null" for i, route in enumerate(routes) if route is None}
        lacking |= dict.fromkeys(outbox.nulls(), "`after` is null")
        if lacking:
            raise RejectedRowsError(
                {places[i]: SchemaError(f"An event of the outbox has no topic: {why}.") for i, why in lacking.items()}
            )
        made = replace(
            batch,
            keys=Column.from_arrow(outbox.column(self._key), outbox.schema_of(self._key)),
            values=self._values(outbox),
            headers=self._with_headers(batch, outbox),
            timestamps_ms=self._times(events, schema, outbox),
        )
        return self._parted(made, outbox, routes)

    def _values(self, outbox: _Outbox) -> Column:
        import pyarrow.compute as pc

        payload, schema = outbox.column(self._payload), outbox.schema_of(self._payload)
        if self._has_tombstones:
            schema = schema.as_optional()
            if schema.type is Type.STRING:
                payload = pc.if_else(pc.equal(pc.utf8_trim_whitespace(payload), ""), None, payload)
        if not self._envelope:
            return Column.from_arrow(payload, schema)
        beside = (Field(placed.name, outbox.schema_of(placed.column)) for placed in self._envelope)
        made = struct(unique((Field("payload", schema), *beside))).as_optional(self._has_tombstones)
        columns = [payload, *(outbox.column(placed.column) for placed in self._envelope)]
        like = payload if self._has_tombstones else payload.is_valid()
        return Column.from_arrow(struct_array(columns, made, like), made)

    def _with_headers(self, batch: Batch, outbox: _Outbox) -> list[Sequence[Header]]:
        """Return the headers of each row. A header is a Python object in every batch, so they are made row by row."""
        before = batch.headers if batch.headers is not None else [()] * len(batch)
        added = []
        for placed in (Placed(self._id, "header", "id"), *self._headers):
            schema = outbox.schema_of(placed.column)
            rows = Column.from_arrow(outbox.column(placed.column), schema).rows()
            added.append([Header(placed.name, value, schema) for value in rows])
        return [(*old, *new) for old, new in zip(before, zip(*added, strict=True), strict=True)]

    def _times(self, events: pa.StructArray, schema: Schema, outbox: _Outbox) -> pa.Int64Array:
        import pyarrow.compute as pc

        of_event = events.field(schema.field_index["ts_ms"])
        if not self._time:
            return of_event
        found = outbox.schema_of(self._time)
        ticks = _TICKS_PER_MS.get(found.name or "")
        if ticks is None:
            raise SchemaError(
                f"The outbox's column {self._time} is no time: its type is {found.name or found.type}.",
                field=self._time, fix=f"It must be one of {', '.join(_TICKS_PER_MS)}.",
            )  # fmt: skip
        return pc.coalesce(pc.divide(outbox.column(self._time), ticks), of_event)

    def _parted(self, batch: Batch, outbox: _Outbox, routes: Sequence[str]) -> list[Batch]:
        """Return a batch for each route, partition and version, each with its rows in order."""
        # If a sink reads an outbox topic, its rows keep the partition that they were read from.
        own = [None if batch.consumed is None else batch.partition] * len(batch)
        partitions = outbox.values(self._partition, Type.INT32) if self._partition else own
        none = [None] * len(batch)
        versions = outbox.values(self._version, Type.INT32) if self._version and self._envelope else none
        groups: dict[tuple[str, int | None, int | None], list[int]] = {}
        for i, group in enumerate(zip(routes, partitions, versions, strict=True)):
            groups.setdefault(group, []).append(i)
        return [
            replace(
                self._named(batch.take(rows) if len(groups) > 1 else batch, outbox.schema.name, route, version),
                topic=self._topic(route), partition=partition,
            )
            for (route, partition, version), rows in groups.items()
        ]  # fmt: skip

    def _topic(self, route: str) -> str:
        topic = self._topics.replaced(route)
        return route if topic is None else topic

    def _named(self, batch: Batch, table: str | None, route: str, version: int | None) -> Batch:
        """Return the batch with the name and version of its envelope's schema."""
        schema = batch.values.schema
        if not self._envelope or schema is None:
            return batch
        before, dot, last = (table or "").rpartition(".")
        name = f"{before}{dot}{route}.{last}" if last else route
        return replace(
            batch, values=Column.from_arrow(batch.values.arrow(), replace(schema, name=name, version=version))
        )


def _at(place: str, all_placed: Sequence[Placed]) -> list[Placed]:
    return [placed for placed in all_placed if placed.place == place]


def _dropped() -> pa.StringArray:
    import pyarrow as pa

    return pa.array(["d", "u"])
