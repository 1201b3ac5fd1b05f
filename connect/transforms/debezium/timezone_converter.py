"""Changes the zone of times in change events (io.debezium.transforms.TimezoneConverter).

A text with a zone names the same moment in the other zone afterwards. Debezium writes a database's local times as
numbers, as if they were in UTC; such a number becomes the moment at which the other zone has this local time. Source of
the rules: Debezium 3.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final

from connect.api import schema as s
from connect.api.errors import SchemaError
from connect.api.records import Batch, Column
from connect.api.schema import Schema
from connect.transforms.settings.debezium_config import TimezoneConverterConfig, ZoneRule
from connect.transforms.structure.structs import is_struct, masked_by, struct_array

if TYPE_CHECKING:
    import pyarrow as pa

_DEBEZIUMS: Final = "io.debezium.time."
_TICKS_PER_S: Final = {
    f"{_DEBEZIUMS}Timestamp": 10**3, f"{_DEBEZIUMS}MicroTimestamp": 10**6, f"{_DEBEZIUMS}NanoTimestamp": 10**9,
    s.TIMESTAMP: 10**3,
}  # fmt: skip
_ZONED, _ZONED_TIME = f"{_DEBEZIUMS}ZonedTimestamp", f"{_DEBEZIUMS}ZonedTime"
_MOMENT = re.compile(r"(?P<local>[^.]*\d)(?:\.(?P<fraction>\d{1,9}))?(?P<zone>Z|[+-]\d\d:\d\d(?::\d\d)?)")
_EPOCH: Final = dt.datetime.fromisoformat("1970-01-01")
_CYCLE_S: Final = 146_097 * 86_400
"""After this many seconds, which are 400 years, the calendar and the rules of zones repeat themselves."""
_FIRST_S, _END_S = -62_135_596_800, 253_402_300_800
"""These are the first second of the year 1, and the first one behind the year 9999."""
Convert = Callable[["pa.Array"], "pa.Array"]


@dataclass(frozen=True, slots=True)
class _Choice:
    """Tells which fields of `before`, `after` and `source` are converted. None stands for all fields of time types."""

    named: Collection[str] | None
    is_excluded: bool = False

    def takes(self, side: str, name: str) -> bool:
        """Tell if a field of a side (`before`, `after` or `source`) is converted. No field of `source` is, unless one
        is named.
        """
        is_named = self.named is not None and (
            f"{side}.{name}" in self.named or (side != "source" and name in self.named)
        )
        if side == "source" and not any(one.startswith("source.") for one in self.named or ()):
            return False
        return self.named is None or is_named != self.is_excluded


class TimezoneConverter:
    """Converts the fields of change events that the lists choose. It is owned by one task thread."""

    def __init__(self, config: TimezoneConverterConfig) -> None:
        self._zone = config.zone
        self._rules: Sequence[ZoneRule] = config.include or config.exclude
        self._is_excluding = bool(config.exclude)

    def apply(self, batch: Batch) -> list[Batch]:
        """Return the batch with other times under the same schema; rows that are no change events stay as they are."""
        schema = batch.values.schema
        if schema is None or not is_struct(schema) or not (schema.name or "").endswith(".Envelope"):
            return [batch]
        events = batch.values.arrow()
        tables = _tables(events, schema)
        for table in dict.fromkeys(tables):
            choice = self._choice(batch.topic, table)
            if choice is not None:
                events = self._converted(events, schema, choice, [one == table for one in tables])
        return [replace(batch, values=Column.from_arrow(events, schema))]

    def _choice(self, topic: str, table: str | None) -> _Choice | None:
        """Return which fields of a table's events are converted; None if no field is."""
        if not self._rules:
            return _Choice(None)
        for prefix, name in (("topic", topic), ("source", table), ("", topic), ("", table)):
            found = [rule for rule in self._rules if rule.prefix == prefix and rule.name == name]
            if found:
                named = frozenset(rule.field for rule in found if rule.field)
                if not named:
                    return None if self._is_excluding else _Choice(None)
                return _Choice(named, self._is_excluding)
        return _Choice(None) if self._is_excluding else None

    def _converted(
        self, events: pa.StructArray, schema: Schema, choice: _Choice, wanted: Sequence[bool]
    ) -> pa.StructArray:
        import pyarrow as pa
        import pyarrow.compute as pc

        members = (
            list(events.flatten()) if not events.null_count else [events.field(i) for i in range(len(schema.fields))]
        )
        for side in ("before", "after", "source"):
            inside = schema.field(side)
            if inside is None or not is_struct(inside):
                continue
            at = schema.field_index[side]
            rows = masked_by(members[at], events)
            columns = []
            for i, field in enumerate(inside.fields):
                convert, column = self._conversion(field.schema), masked_by(rows.field(i), rows)
                if convert is not None and choice.takes(side, field.name):
                    changed = _by_distinct(column, convert)
                    column = changed if all(wanted) else pc.if_else(pa.array(wanted), changed, column)
                columns.append(column)
            members[at] = struct_array(columns, inside, rows)
        return struct_array(members, schema, events)

    def _conversion(self, schema: Schema) -> Convert | None:
        if schema.name == _ZONED:
            return partial(_texts, convert=self._moment)
        if schema.name == _ZONED_TIME:
            return partial(_texts, convert=self._time)
        ticks = _TICKS_PER_S.get(schema.name or "")
        return None if ticks is None else partial(self._numbers, ticks_per_s=ticks)

    def _numbers(self, column: pa.Array, ticks_per_s: int) -> pa.Array:
        import pyarrow as pa

        told = column.cast(pa.int64()).to_pylist()
        made = [None if n is None else n - self._offset_s(n // ticks_per_s) * ticks_per_s for n in told]
        return pa.array(made, pa.int64()).cast(column.type)

    def _offset_s(self, local_s: int) -> int:
        """Return how many seconds the zone is ahead of UTC at a local time. Beyond Python's years, a time 400 years
        nearer counts.
        """
        local_s = max(local_s, _FIRST_S)
        if local_s >= _END_S:
            local_s -= ((local_s - _END_S) // _CYCLE_S + 1) * _CYCLE_S
        offset = self._zone.utcoffset(_EPOCH + dt.timedelta(seconds=local_s))
        return 0 if offset is None else int(offset.total_seconds())

    def _moment(self, local: dt.datetime, offset: dt.timedelta) -> tuple[dt.datetime, dt.timedelta]:
        # Debezium asks for the zone's offset at the text's local time, not at the moment that the text names.
        other = self._zone.utcoffset(local) or dt.timedelta()
        return local - offset + other, other

    def _time(self, local: dt.datetime, offset: dt.timedelta) -> tuple[dt.datetime, dt.timedelta]:
        # A time without a date gets the offset that the zone has today.
        other = dt.datetime.now(dt.UTC).astimezone(self._zone).utcoffset() or dt.timedelta()
        return local - offset + other, other


def _tables(events: pa.StructArray, schema: Schema) -> list[str | None]:
    source = schema.field("source")
    if source is None or not is_struct(source) or source.field("table") is None:
        return [None] * len(events)
    blocks = masked_by(events.field(schema.field_index["source"]), events)
    tables: list[str | None] = masked_by(blocks.field(source.field_index["table"]), blocks).to_pylist()
    return tables


def _by_distinct(column: pa.Array, convert: Convert) -> pa.Array:
    """Return the column with each distinct value converted once."""
    coded = column.dictionary_encode()
    return convert(coded.dictionary).take(coded.indices)


def _texts(
    column: pa.Array, convert: Callable[[dt.datetime, dt.timedelta], tuple[dt.datetime, dt.timedelta]]
) -> pa.Array:
    import pyarrow as pa

    return pa.array([None if text is None else _text(text, convert) for text in column.to_pylist()], column.type)


def _text(text: str, convert: Callable[[dt.datetime, dt.timedelta], tuple[dt.datetime, dt.timedelta]]) -> str:
    """Return an ISO 8601 text in another zone. The fraction of its second is kept as text, as it may be finer than
    Python's.
    """
    found = _MOMENT.fullmatch(text)
    if found is None:
        raise SchemaError(f"{text!r} is no time with a zone.")
    try:
        is_time = "T" not in found["local"]
        local = dt.datetime.fromisoformat(f"1970-01-02T{found['local']}" if is_time else found["local"])
        moved, offset = convert(local, _offset_of(found["zone"]))
    except (ValueError, OverflowError) as error:
        raise SchemaError(f"{text!r} is no time between the years 1 and 9999: {error}.") from None
    fraction = (found["fraction"] or "").rstrip("0")
    written = moved.time().isoformat("seconds") if is_time else moved.isoformat(timespec="seconds")
    return f"{written}{'.' if fraction else ''}{fraction}{_offset_text(offset)}"


def _offset_of(text: str) -> dt.timedelta:
    return (
        dt.timedelta()
        if text == "Z"
        else dt.datetime.fromisoformat(f"1970-01-01T00:00:00{text}").utcoffset() or dt.timedelta()
    )


def _offset_text(offset: dt.timedelta) -> str:
    return "Z" if not offset else dt.datetime(1970, 1, 2, tzinfo=dt.timezone(offset)).isoformat()[19:]
