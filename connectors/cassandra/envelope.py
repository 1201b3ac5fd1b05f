"""Turns the events into Debezium's form: before, after, source, op, ts_ms, `range`, `deletion`. A transform; pure.

| op | of | before | after |
| --- | --- | --- | --- |
| c | insert | null | key and columns |
| u | update, static | null | key and columns |
| r | snapshot | null | key and columns |
| d | delete, partition_delete, range_delete | the key, as far as it is told | null |

A column that a statement did not write is null in `after`, also where the row has a value: a commit log holds what was
written, not rows. With `columns=cells`, as in Debezium's own connector for Cassandra, each is `value`, `deletion_ts`
and `set`, so that null says "not written"; with `columns=values` it is the value alone.

A batch may delete a row and write it anew. That is one event of op c or u, whose `deletion` tells up to which writetime
all that the row had before is gone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from connect.api import schema as s
from connect.api.arrow import arrow_type
from connect.api.config import Config
from connect.api.errors import RejectedRowsError, SchemaError
from connect.api.records import Batch, Column
from connectors.cassandra.envelope_config import CELLS, EnvelopeConfig

OPS: Final = {"insert": "c", "update": "u", "static": "u", "snapshot": "r", "delete": "d", "partition_delete": "d",
              "range_delete": "d"}  # fmt: skip
_EVENT_MEMBERS: Final = ("op", "key", "columns", "deletion", "range", "source", "writetime_us", "event_id")


class DebeziumEnvelope:
    """Turns events of the agent, the source or the deduplicating connector into Debezium's form."""

    def __init__(self, config: Config) -> None:
        assert isinstance(config, EnvelopeConfig)
        self._with_cells = config.columns == CELLS

    def apply(self, batch: Batch) -> Sequence[Batch]:
        """Return the same rows in Debezium's form. Raise RejectedRowsError when some rows are no events."""
        if not len(batch):
            return [batch]
        if batch.values.schema is None:
            return [replace(batch, values=Column.from_rows(self._rows(batch), None))]
        return [replace(batch, values=self._columns(batch))]

    def _rows(self, batch: Batch) -> list[Any]:
        made: list[Any] = []
        bad: dict[int, Exception] = {}
        for number, row in enumerate(batch.values.rows()):
            if row is None:
                made.append(None)
                continue
            missing = [n for n in _EVENT_MEMBERS if n not in row] if isinstance(row, Mapping) else list(_EVENT_MEMBERS)
            if missing:
                bad[number] = SchemaError(f"The record is no event of Cassandra: it lacks {', '.join(missing)}.")
                continue
            made.append(self._row(row, batch.topic))
        if bad:
            raise RejectedRowsError(bad)
        return made

    def _row(self, event: Mapping[str, Any], topic: str) -> Mapping[str, Any]:
        columns = {name: self._shown(change) for name, change in (event["columns"] or {}).items()}
        is_delete = OPS[event["op"]] == "d"
        ts_ms = event["writetime_us"] // 1000
        source = {**event["source"], **_told(topic, event["op"]), "ts_ms": ts_ms, "event_id": event["event_id"]}
        return {
            "before": dict(event["key"]) if is_delete else None,
            "after": None if is_delete else {**event["key"], **columns},
            "source": source,
            "op": OPS[event["op"]],
            "ts_ms": ts_ms,
            "range": event["range"],
            "deletion": event["deletion"],
        }

    def _shown(self, change: Mapping[str, Any] | None) -> Any:
        if change is None:
            return None
        if "deleted" not in change:
            return {"value": change, "deletion_ts": None, "set": True} if self._with_cells else change
        if not self._with_cells:
            return change["value"]
        local_s = change["local_deletion_s"]
        return {"value": change["value"], "deletion_ts": None if local_s is None else local_s * 1000, "set": True}

    def _columns(self, batch: Batch) -> Column:
        schema, array = batch.values.schema, batch.values.arrow()
        assert schema is not None
        missing = [name for name in _EVENT_MEMBERS if schema.field(name) is None]
        if missing:
            raise SchemaError(f"The record is no event of Cassandra: its schema lacks {', '.join(missing)}.")
        ops = pc.struct_field(array, ["op"])
        op = pa.array(list(OPS.values())).take(pc.index_in(ops, pa.array(list(OPS))))
        is_delete = pc.fill_null(pc.equal(op, "d"), False)
        keys, columns = _fields(array, schema, "key"), self._shown_columns(array, schema)
        before = _struct(keys, f"{schema.name}.Before", pc.invert(is_delete))
        after = _struct({**keys, **columns}, f"{schema.name}.After", is_delete)
        ts_ms = pc.floor(pc.divide(pc.cast(pc.struct_field(array, ["writetime_us"]), pa.int64()), 1000))
        moments = (s.INT64, pc.cast(ts_ms, pa.int64()))
        source = _struct(self._source(batch, array, schema, ops, moments), "connect.cassandra.Origin", None)
        passed_on = {name: (schema.field(name), pc.struct_field(array, [name])) for name in ("range", "deletion")}
        members = {
            "before": before, "after": after, "source": source, "op": (s.STRING, op), "ts_ms": moments,
            **{name: (part, data) for name, (part, data) in passed_on.items() if part is not None},
        }  # fmt: skip
        name = f"{(schema.name or batch.topic).removesuffix('.Event')}.Envelope"
        made, data = _struct(members, name, pc.is_null(array) if array.null_count else None)
        return Column.from_arrow(data, made.as_optional(schema.optional))

    def _source(
        self, batch: Batch, array: pa.Array, schema: s.Schema, ops: pa.Array, moments: tuple[s.Schema, pa.Array]
    ) -> dict[str, tuple[s.Schema, pa.Array]]:
        told = {
            name: (s.STRING, pa.repeat(pa.scalar(text), len(batch))) for name, text in _told(batch.topic, "").items()
        }
        snapshot = pc.if_else(pc.equal(ops, "snapshot"), "true", "false")
        ids = (s.STRING, pc.struct_field(array, ["event_id"]))
        fields = _fields(array, schema, "source")
        return {**fields, **told, "snapshot": (s.STRING, snapshot), "event": (s.STRING, ops), "ts_ms": moments,
                "event_id": ids}  # fmt: skip

    def _shown_columns(self, array: pa.Array, schema: s.Schema) -> dict[str, tuple[s.Schema, pa.Array]]:
        shown = {}
        for name, (change, data) in _fields(array, schema, "columns").items():
            cell = change.field("deleted") is not None
            value = change.field("value") if cell else change
            assert value is not None
            values = pc.struct_field(data, ["value"]) if cell else data
            if not self._with_cells:
                shown[name] = value.as_optional(), values
                continue
            locals_s = pc.struct_field(data, ["local_deletion_s"]) if cell else pa.nulls(len(data), pa.int64())
            members = {
                "value": (value.as_optional(), values),
                "deletion_ts": (s.INT64.as_optional(), pc.multiply(locals_s, 1000)),
                "set": (s.BOOLEAN, pa.repeat(pa.scalar(True), len(data))),
            }
            made, structs = _struct(members, f"{change.name}.Shown", pc.is_null(data))
            shown[name] = made, structs
        return shown


def _told(topic: str, event: str) -> dict[str, str]:
    """Return the members of `source` that the topic's name tells, and those that the kind of event tells, if given."""
    *_, keyspace, table = ("", "", *topic.split("."))
    told = {"connector": "cassandra", "keyspace": keyspace, "table": table}
    return {**told, "snapshot": str(event == "snapshot").lower(), "event": event} if event else told


def _fields(array: pa.Array, schema: s.Schema, name: str) -> dict[str, tuple[s.Schema, pa.Array]]:
    """Return the schema and the array of each field of a member of the value, by the field's name.

    Where the member is null, its fields are null.
    """
    inner = schema.field(name)
    assert inner is not None
    return {f.name: (f.schema, pc.struct_field(array, [name, f.name])) for f in inner.fields}


def _struct(
    members: Mapping[str, tuple[s.Schema, pa.Array]], name: str, null: pa.Array | None
) -> tuple[s.Schema, pa.Array]:
    schema = s.struct({n: schema for n, (schema, _) in members.items()}, name=name, optional=null is not None)
    arrays = [pc.cast(data, arrow_type(part)) if data.type != arrow_type(part) else data
              for part, data in members.values()]  # fmt: skip
    return schema, pa.StructArray.from_arrays(arrays, fields=list(arrow_type(schema)), mask=null)
