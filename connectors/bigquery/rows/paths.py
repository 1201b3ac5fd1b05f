"""Finds the places in records that settings name: fields of the value or the key, headers, coordinates. Pure.

`id` and `order.id` are fields of the value, `__key` and `__key.id` the key or a field of it, `__header.x` a header;
`__topic`, `__topic_id`, `__partition`, `__offset` and `__timestamp` are the record's coordinates in Kafka; `__row`
numbers the rows that a transform made of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from connect.api import schema as s
from connect.api.arrow import connect_schema
from connect.api.errors import ConnectError, SchemaError
from connect.api.records import Batch, Column

if TYPE_CHECKING:
    import pyarrow as pa


class Root(StrEnum):
    """Names the part of a record in which a path begins, as it is written. VALUE is left out in a path."""

    VALUE = "value"
    KEY = "__key"
    HEADER = "__header"
    TOPIC = "__topic"
    TOPIC_ID = "__topic_id"
    PARTITION = "__partition"
    OFFSET = "__offset"
    TIMESTAMP = "__timestamp"
    ROW = "__row"


COORDINATES: Final = frozenset({Root.TOPIC, Root.TOPIC_ID, Root.PARTITION, Root.OFFSET, Root.TIMESTAMP, Root.ROW})


@dataclass(frozen=True, slots=True)
class Path:
    """Holds a parsed path. `names` are those of the field and its members, outermost first, or a header's one name."""

    root: Root
    names: tuple[str, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Path:
        """Parse a path. ValueError says what is wrong with the text."""
        head, _, rest = text.partition(".")
        roots = set(Root) - {Root.VALUE}
        # Debezium's transforms add fields such as __deleted and __lsn to the value.
        if head not in roots and not get_close_matches(head, roots, cutoff=0.8):
            names = tuple(text.split("."))
            if not all(names):
                raise ValueError(f"{text!r} is no path of a field: a name between two dots is empty")
            return cls(Root.VALUE, names)
        if head not in roots:
            known = ", ".join(root for root in Root if root is not Root.VALUE)
            raise ValueError(f"{text!r} is no path, but looks like one of {known}")
        root = Root(head)
        if root is Root.HEADER:
            if not rest:
                raise ValueError("__header needs the name of a header, as in __header.id")
            return cls(root, (rest,))
        if root is not Root.KEY and rest:
            raise ValueError(f"{head} has no fields")
        return cls(root, tuple(rest.split(".")) if rest else ())

    def __str__(self) -> str:
        return ".".join(self.names if self.root is Root.VALUE else (self.root, *self.names))


@dataclass(frozen=True, slots=True)
class Found:
    """Holds the values at a path and their schema: one value for each row, null where a row has none."""

    values: pa.Array
    schema: s.Schema


_BIG: Final = s.INT64
_TIME: Final = s.TIMESTAMP_SCHEMA


def find(batch: Batch, path: Path) -> Found:
    """Find the values at a path. SchemaError: the records have no such field."""
    import pyarrow as pa

    size = len(batch)
    consumed = batch.consumed
    assert consumed is not None
    match path.root:
        case Root.TOPIC:
            return Found(pa.repeat(pa.scalar(consumed.topic_partition.topic), size), s.STRING)
        case Root.TOPIC_ID:
            return Found(pa.repeat(pa.scalar(consumed.topic_id, pa.string()), size), s.STRING.as_optional())
        case Root.PARTITION:
            return Found(pa.repeat(pa.scalar(consumed.topic_partition.partition, pa.int64()), size), _BIG)
        case Root.OFFSET:
            return Found(consumed.offsets, _BIG)
        case Root.ROW:
            numbers = consumed.row_numbers
            return Found(pa.repeat(pa.scalar(0, pa.int64()), size) if numbers is None else numbers, _BIG)
        case Root.TIMESTAMP:
            times = batch.timestamps_ms if batch.timestamps_ms is not None else pa.nulls(size, pa.int64())
            return Found(times.cast(pa.timestamp("ms", "UTC")), _TIME)
        case Root.HEADER:
            return _header(batch, path.names[0])
        case Root.KEY:
            if batch.keys is None:
                return Found(pa.nulls(size, pa.string()), s.STRING.as_optional())
            return _member(batch, batch.keys, path)
    return _member(batch, batch.values, path)


def has_row_numbers(batch: Batch) -> bool:
    """Return True if a transform may have made several rows of a record."""
    return batch.consumed is not None and batch.consumed.row_numbers is not None


def schema_of(column: Column) -> s.Schema:
    """Return the schema of a column, or one made of its Arrow type where it has none."""
    return column.schema if column.schema is not None else connect_schema(column.arrow().type)


def _member(batch: Batch, column: Column, path: Path) -> Found:
    import pyarrow as pa
    import pyarrow.compute as pc

    values, schema = column.arrow(), schema_of(column)
    if schema.type is not s.Type.STRUCT and values.null_count == len(values):  # tombstones of topics without a schema
        return Found(pa.nulls(len(values)), s.STRING.as_optional())
    for name in path.names:
        index = schema.field_index.get(name) if schema.type is s.Type.STRUCT else None
        if index is None:
            where = "keys" if path.root is Root.KEY else "values"
            known = ", ".join(f.name for f in schema.fields) or f"a {schema.name or schema.type}"
            raise SchemaError(
                f"The {where} of topic {batch.topic} have no such field; they have {known}.",
                field=str(path),
                fix="Name another field in dedup.fields, dedup.order.by or dedup.delete, where this one is named.",
            )
        values, schema = pc.struct_field(values, index), schema.fields[index].schema
    return Found(values, schema)


def unreadable_headers(batch: Batch, paths: Iterable[Path]) -> dict[int, ConnectError]:
    """Return an error for each row that has a header at one of these paths which is no text, by the row's index."""
    found: dict[int, ConnectError] = {}
    for path in paths:
        if path.root is not Root.HEADER:
            continue
        for row, value in enumerate(_header_values(batch, path.names[0])):
            if value is not None and _text(value) is None:
                found[row] = ConnectError(
                    f"{place_of(batch, row)}: {path} is not UTF-8 text.",
                    key="header.converter",
                    fix="Set a header converter that reads it, or name another field where this one is named.",
                )
    return found


def place_of(batch: Batch, row: int) -> str:
    """Return topic, partition and offset of a record, for people."""
    assert batch.consumed is not None
    return f"{batch.consumed.topic_partition.topic}-{batch.partition}@{batch.consumed.offsets[row].as_py()}"


def _header(batch: Batch, name: str) -> Found:
    """Return the values of a header: null where a row has none, or one that is no text (see `unreadable_headers`)."""
    import pyarrow as pa

    found = [None if value is None else _text(value) for value in _header_values(batch, name)]
    return Found(pa.array(found, pa.string()), s.STRING.as_optional())


def _header_values(batch: Batch, name: str) -> Iterator[Any]:
    """Yield the value of a header for each row; the last of a name counts, as with Kafka's `lastHeader`.

    Headers are Python objects per row already.
    """
    for headers in batch.headers or [()] * len(batch):
        yield next((header.value for header in reversed(headers) if header.key == name), None)


def _text(value: Any) -> str | None:
    if not isinstance(value, bytes):
        return str(value)
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return None
