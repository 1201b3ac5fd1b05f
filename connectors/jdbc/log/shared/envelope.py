"""Makes Debezium's change events column by column: before, after, source, op and times, with keys and tombstones. Pure.

Source of the format: the event schemas in Debezium 3's documentation of its PostgreSQL and MariaDB connectors.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from connect.api import schema as s
from connect.api.arrow import arrow_schema, arrow_type
from connect.api.records import Batch, Column, Header
from connectors.jdbc.log.shared.column_change import ColumnChanges, changed_row, changed_rows, name_of
from connectors.jdbc.log.shared.source_block import repeated, source_block
from connectors.jdbc.log.shared.transactions import EVENTS_OF_CHANGE

Indices = npt.NDArray[np.int64]
CREATE, UPDATE, DELETE, READ, TRUNCATE = range(5)
CODES = ("c", "u", "d", "r", "t")
_TOMBSTONE = 9
_NONE = -1
_INT64, _STRING = s.INT64.as_optional(), s.STRING.as_optional()
_SNAPSHOT = s.Schema(
    s.Type.STRING,
    optional=True,
    name="io.debezium.data.Enum",
    version=1,
    parameters={"allowed": "true,first,first_in_data_collection,last_in_data_collection,last,false,incremental"},
    default="false",
)
_COMMON = {
    "version": s.STRING, "connector": s.STRING, "name": s.STRING, "ts_ms": s.INT64, "snapshot": _SNAPSHOT,
    "db": s.STRING, "sequence": _STRING, "ts_us": _INT64, "ts_ns": _INT64,
}  # fmt: skip
TRANSACTION_BLOCK = s.Schema(
    s.Type.STRUCT,
    optional=True,
    name="event.block",
    version=1,
    fields=(
        s.Field("id", s.STRING), s.Field("total_order", s.INT64), s.Field("data_collection_order", s.INT64)
    ),
)  # fmt: skip

_TRANSACTION_TYPE = arrow_type(TRANSACTION_BLOCK)
_OPERATIONS = pa.array(CODES)


def source_schema(connector: str, members: Mapping[str, s.Schema]) -> s.Schema:
    """Return the schema of `source`: the common members and the database's own."""
    fields = tuple(s.Field(name, schema) for name, schema in {**_COMMON, **members}.items())
    return s.Schema(s.Type.STRUCT, name=f"io.debezium.connector.{connector}.Source", version=1, fields=fields)


@dataclass(frozen=True)
class EventFormat:
    """Describes the events of one table with its present columns. `key` names the columns that tell its rows apart.

    `optional` is True if the schema says that a record may be null, as tombstones are. `chosen_key` names the columns
    of the record key if they are not those of `key`. `changes` holds the columns that events show in another form.
    `schemas` begins the names of schemas, or is empty if the topic's name does.
    """

    topic: str
    row: s.Schema
    key: tuple[str, ...]
    source: s.Schema
    optional: bool = True
    chosen_key: tuple[str, ...] = ()
    changes: ColumnChanges = dataclasses.field(default_factory=dict)
    schemas: str = ""

    @property
    def record_key(self) -> tuple[str, ...]:
        """Return the names of the columns of the record key."""
        return self.chosen_key or self.key

    @cached_property
    def schema(self) -> s.Schema:
        """Return the schema of the envelope."""
        row = changed_row(self.row, self.changes).as_optional(True)
        members = {
            "before": row, "after": row, "source": self.source, "transaction": TRANSACTION_BLOCK, "op": s.STRING,
            "ts_ms": _INT64, "ts_us": _INT64, "ts_ns": _INT64,
        }  # fmt: skip
        fields = tuple(s.Field(name, schema) for name, schema in members.items())
        return s.Schema(s.Type.STRUCT, name=f"{self.schemas or self.topic}.Envelope", version=2, fields=fields)

    @cached_property
    def fields(self) -> list[pa.Field]:
        """Return the envelope's members in Arrow."""
        return list(arrow_schema(self.schema))

    @cached_property
    def source_fields(self) -> list[pa.Field]:
        """Return the source block's members in Arrow."""
        return list(arrow_schema(self.source))

    @cached_property
    def value_schema(self) -> s.Schema:
        """Return the schema of the record value: an envelope, or null for a tombstone."""
        return self.schema.as_optional(self.optional)

    @cached_property
    def key_schema(self) -> s.Schema:
        """Return the schema of the record key."""
        fields = {f.name: f.schema for f in self.row.fields}
        named = {name_of(name, self.changes): fields[name] for name in self.record_key}
        return s.struct(named, name=f"{self.schemas or self.topic}.Key")

    @cached_property
    def key_fields(self) -> list[pa.Field]:
        """Return the members of the record key in Arrow."""
        return list(arrow_schema(self.key_schema))


@dataclass(frozen=True, slots=True)
class ProvisionalPlaces:
    """Holds, for each change, the name and number of its transaction, and in `orders` its order in the transaction.

    `transactions.py` makes the real places of events from these.
    """

    ids: pa.StringArray
    numbers: Indices
    orders: Indices


@dataclass(frozen=True, slots=True)
class ChangedRows:
    """Holds changes of one table in order, with the operation of each change in `ops`.

    `before` has a row for each change whose index is in `old`, and `after` for each change in `new`. `source` holds the
    members of the source block by name, each with a value per change or one for all. `full_before` is True if updates
    show the whole row before them. `transactions` names those of the changes, or None if events do not tell their
    transactions.
    """

    ops: npt.NDArray[np.uint8]
    old: Indices
    before: pa.StructArray | None
    new: Indices
    after: pa.StructArray
    source: Mapping[str, object]
    full_before: bool = False
    transactions: ProvisionalPlaces | None = None


@dataclass(frozen=True, slots=True)
class OtherKey:
    """Holds a second key for an event of a row whose key was changed: the old one (`is_old`) or the new one."""

    is_old: bool
    key: object
    schema: s.Schema


Headers = Callable[[int, Mapping[int, OtherKey]], Sequence[Sequence[Header]]]
"""Makes the headers of a number of events; the mapping holds the other key of events whose row changed its key."""


@dataclass(frozen=True)
class EventRules:
    """Holds what the configuration says about events. With `keyless`, tombstones are sent for rows without a key, too.

    With `skips_unchanged`, an update is not sent if it changed no column that events show. With `skips_statements`,
    `skipped` names what was done to a row, and not its events: an update that changed the key has a delete and a create
    as its events, which are both sent unless updates are skipped.
    """

    tombstones: bool = True
    skipped: frozenset[str] = frozenset({"t"})
    headers: Headers | None = None
    keyless: bool = False
    skips_unchanged: bool = False
    skips_statements: bool = False

    @cached_property
    def kept(self) -> npt.NDArray[np.bool_]:
        """Return a mask by operation: True if its events are sent. A tombstone is sent if the delete before it is."""
        return np.array([code not in self.skipped for code in (*CODES, *"....", "d")])


@dataclass(frozen=True, slots=True)
class _Events:
    change: Indices
    op: npt.NDArray[np.uint8]
    before: Indices
    after: Indices
    other: Indices
    """This is where the other key of a row is if its key changed: in `after` for its delete, else in `before`."""


def batch(form: EventFormat, rows: ChangedRows, rules: EventRules) -> Batch | None:
    """Return the records of changes, without a position; None when all are skipped."""
    events = _events(form, rows, rules)
    size = len(events.change)
    if not size:
        return None
    values = Column.from_arrow(_values(form, rows, events), form.value_schema)
    headers = rules.headers(size, _moves(form, rows, events)) if rules.headers else None
    return Batch(form.topic, values, keys=_keys(form, rows, events), headers=headers)


def _moves(form: EventFormat, rows: ChangedRows, events: _Events) -> dict[int, OtherKey]:
    found = {}
    for event in np.flatnonzero(events.other != _NONE).tolist():
        is_old = events.op[event] == CREATE
        struct = rows.before if is_old else rows.after
        assert struct is not None
        row = struct[int(events.other[event])]
        key = {name_of(name, form.changes): row[name].as_py() for name in form.record_key}
        found[event] = OtherKey(is_old, key, form.key_schema)
    return found


def _events(form: EventFormat, rows: ChangedRows, rules: EventRules) -> _Events:
    count = len(rows.ops)
    old_at, new_at = np.full(count, _NONE, np.int64), np.full(count, _NONE, np.int64)
    old_at[rows.old] = np.arange(len(rows.old))
    new_at[rows.new] = np.arange(len(rows.new))
    moved = _moved(form, rows, old_at, new_at)
    deleted = rows.ops == DELETE
    change, op, step = np.arange(count), rows.ops.copy(), np.zeros(count, np.int64)
    op[moved] = DELETE
    if moved.any() or deleted.any():
        # A change of the key becomes a delete under the old key and a create under the new key, so that compaction and
        # sinks that go by keys see both.
        gone = np.flatnonzero((moved | deleted) & (bool(form.record_key) or rules.keyless) & rules.tombstones)
        come = np.flatnonzero(moved)
        change = np.r_[change, gone, come]
        op = np.r_[op, np.full(len(gone), _TOMBSTONE, np.uint8), np.full(len(come), CREATE, np.uint8)]
        step = np.r_[step, np.full(len(gone), 1), np.full(len(come), 2)]
        order = np.argsort(change * 3 + step, kind="stable")
        change, op = change[order], op[order]
    kept = rules.kept[rows.ops[change] if rules.skips_statements else op]
    if rules.skips_unchanged and rows.full_before:
        kept &= ~_unchanged(rows, old_at, new_at)[change]
    if not kept.all():
        change, op = change[kept], op[kept]
    shows_old = (op == DELETE) | ((op == UPDATE) & rows.full_before) | (op == _TOMBSTONE)
    before = np.where(shows_old, old_at[change], _NONE)
    after = np.where((op == CREATE) | (op == UPDATE) | (op == READ), new_at[change], _NONE)
    other = np.where(moved[change], np.where(op == CREATE, old_at[change], new_at[change]), _NONE)
    return _Events(change, op, before, after, other)


def _moved(form: EventFormat, rows: ChangedRows, old_at: Indices, new_at: Indices) -> npt.NDArray[np.bool_]:
    """Return the updates that changed the row's key."""
    moved = np.zeros(len(rows.ops), bool)
    both = np.flatnonzero((rows.ops == UPDATE) & (old_at >= 0))
    if not len(both) or rows.before is None:
        return moved
    for name in form.record_key:
        was = rows.before.field(name).take(pa.array(old_at[both]))
        now = rows.after.field(name).take(pa.array(new_at[both]))
        # Where the old row has its key alone, null stands for a value that is not known.
        moved[both] |= _changed(was, now) if rows.full_before else _different(was, now)
    return moved


def _unchanged(rows: ChangedRows, old_at: Indices, new_at: Indices) -> npt.NDArray[np.bool_]:
    """Return the updates that left all columns as they were."""
    unchanged = (rows.ops == UPDATE) & (old_at >= 0)
    both = np.flatnonzero(unchanged)
    if not len(both) or rows.before is None:
        return np.zeros(len(rows.ops), bool)
    for was, now in zip(rows.before.flatten(), rows.after.flatten(), strict=True):
        old, new = was.take(pa.array(old_at[both])), now.take(pa.array(new_at[both]))
        unchanged[both] &= ~_changed(old, new)
    found: npt.NDArray[np.bool_] = unchanged
    return found


def _changed(was: pa.Array, now: pa.Array) -> npt.NDArray[np.bool_]:
    """Return where values differ; null and a value differ, too."""
    changed: npt.NDArray[np.bool_] = pc.xor(was.is_null(), now.is_null()).to_numpy(zero_copy_only=False)
    return changed | _different(was, now)


def _different(was: pa.Array, now: pa.Array) -> npt.NDArray[np.bool_]:
    """Return where two values differ; null counts as equal to a value."""
    if pa.types.is_nested(was.type):
        pairs = zip(was.to_pylist(), now.to_pylist(), strict=True)
        return np.array([old is not None and new is not None and old != new for old, new in pairs], bool)
    different: npt.NDArray[np.bool_] = pc.fill_null(pc.not_equal(was, now), False).to_numpy(zero_copy_only=False)
    return different


def _values(form: EventFormat, rows: ChangedRows, events: _Events) -> pa.StructArray:
    size = len(events.change)
    empty = rows.after.slice(0, 0) if rows.before is None else rows.before
    now_us = time.time_ns() // 1000
    op = _OPERATIONS.take(pa.array(np.minimum(events.op, TRUNCATE)))
    columns = [
        changed_rows(_taken(empty, events.before), form.changes),
        changed_rows(_taken(rows.after, events.after), form.changes),
        source_block(form.source_fields, rows.source, size, events.change if size != len(rows.ops) else None),
        repeated(None, _TRANSACTION_TYPE, size) if rows.transactions is None else _provisional(rows, events),
        op,
        *(pa.repeat(pa.scalar(now, pa.int64()), size) for now in (now_us // 1000, now_us, now_us * 1000)),
    ]
    mask = events.op == _TOMBSTONE
    return pa.StructArray.from_arrays(columns, fields=form.fields, mask=pa.array(mask) if mask.any() else None)


def _provisional(rows: ChangedRows, events: _Events) -> pa.StructArray:
    """Return the provisional places, from which `transactions.py` makes the real ones. Events of a moved row follow its
    steps.
    """
    assert rows.transactions is not None
    change = events.change
    step = np.arange(len(change)) - np.searchsorted(change, change)
    orders = rows.transactions.orders[change] * EVENTS_OF_CHANGE + step
    columns = [
        rows.transactions.ids.take(pa.array(change)),
        pa.array(orders),
        pa.array(rows.transactions.numbers[change]),
    ]
    return pa.StructArray.from_arrays(columns, fields=list(_TRANSACTION_TYPE))


def _taken(rows: pa.StructArray, at: Indices) -> pa.StructArray:
    if len(at) == len(rows) and (at == np.arange(len(at))).all():
        return rows
    if (at == _NONE).all():
        return repeated(None, rows.type, len(at))
    return rows.take(pa.array(at, mask=at == _NONE))


def _keys(form: EventFormat, rows: ChangedRows, events: _Events) -> Column | None:
    if not form.record_key:
        return None
    schema = form.key_schema
    fields = form.key_fields
    of_old = events.after == _NONE
    made = []
    for name in form.record_key:
        column = rows.after.field(name)
        if of_old.any() and rows.before is not None:
            at = np.where(of_old, len(column) + events.before, events.after)
            column = pa.concat_arrays([column, rows.before.field(name)]).take(pa.array(at))
        else:
            column = _taken(column, events.after)
        made.append(column)
    return Column.from_arrow(pa.StructArray.from_arrays(made, fields=fields), schema)


def truncation(
    form: EventFormat,
    source: Mapping[str, object],
    rules: EventRules,
    transactions: ProvisionalPlaces | None = None,
) -> Batch:
    """Return the one record that says a table was emptied; it has no key."""
    rows = ChangedRows(
        np.array([TRUNCATE], np.uint8),
        np.empty(0, np.int64),
        None,
        np.empty(0, np.int64),
        pa.array([], arrow_type(form.row)),
        source,
        transactions=transactions,
    )
    at: Sequence[int] = [_NONE]
    none = np.array(at, np.int64)
    events = _Events(np.zeros(1, np.int64), rows.ops, none, none, none)
    headers = rules.headers(1, {}) if rules.headers else None
    return Batch(form.topic, Column.from_arrow(_values(form, rows, events), form.value_schema), headers=headers)
