"""Puts the rows of a table of MariaDB or MySQL in order for its first read.

The order is needed to go on behind the last row after a break, and to find out if a row of the log was read already.
Rows come in the order of their key if its values can be compared here, or, for text, by the server, which knows
collations. If the key has other types, or if there is no key, rows come in the order of a digest of their values, which
the server and this module make in the same way.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Final

import numpy as np
import pyarrow as pa
import sqlalchemy as sa

from connectors.jdbc.database.query import BoundValue, Source, select
from connectors.jdbc.log.shared.snapshot_segments import EVERY_KEY, Key, KeyRange
from connectors.jdbc.values.types import Raw
from connectors.jdbc.values.zone_columns import DAY_US

_WHOLE: Final = frozenset({"tinyint", "smallint", "mediumint", "int", "bigint", "year"})
_TEXT: Final = frozenset({"char", "varchar", "tinytext", "text", "mediumtext", "longtext"})
_BYTES: Final = frozenset({"binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob"})
_MOMENTS: Final = frozenset({"date", "datetime", "timestamp"})
_COMPARED: Final = _WHOLE | _TEXT | _BYTES | _MOMENTS | {"decimal"}
"""The types whose values can be ordered as the server does: by the texts that `texts` makes, or by asking the
server.
"""
_DIGESTED: Final = _COMPARED | {"enum", "set", "uuid"}
"""The types whose values the server writes as text exactly as `texts` does."""
_ZERO_DATE, _ZERO_TIME = "0000-00-00", "0000-00-00 00:00:00.000000"
_YEAR_0_DAYS: Final = -719_528
_DIGEST = "sha256"
_PATTERNS = {"date": "%Y-%m-%d", "datetime": "%Y-%m-%d %H:%i:%s.%f", "timestamp": "%Y-%m-%d %H:%i:%s.%f"}


@dataclass(frozen=True, slots=True)
class OrderColumn:
    """Describes a column that gives rows their order. `kind` is its type's name; text has a `charset` and a
    `collation`.
    """

    name: str
    kind: str
    raw: Raw
    charset: str = ""
    collation: str = ""

    @property
    def is_text(self) -> bool:
        """Return True if the server alone knows the order of its values."""
        return self.kind in _TEXT

    def number(self, text: str) -> int | Decimal | None:
        """Return the number that a text of `texts` stands for, or None if the column's type is not numeric."""
        if self.kind in _WHOLE:
            return int(text)
        return Decimal(text) if self.kind == "decimal" else None

    def compared(self, text: str, other: str) -> int:
        """Compare two values by their texts, of a column whose values are no texts.

        Return 1 if `text` is behind `other`, 0 if both are equal, and -1 if `text` is before `other`.
        """
        one, two = self.number(text), self.number(other)
        if one is None or two is None:
            # Texts of moments and of bytes have the order of the values.
            return (text > other) - (text < other)
        return (one > two) - (one < two)


@dataclass(frozen=True, slots=True)
class RowOrder:
    """Describes the order in which a table's rows are read.

    Rows are ordered by the values of `columns`, or with `is_digest` by a digest of these. Without columns there is no
    order, and a read that breaks off has to begin again.
    """

    columns: tuple[OrderColumn, ...] = ()
    is_digest: bool = False

    @classmethod
    def of(cls, columns: Sequence[OrderColumn], key: Sequence[str]) -> RowOrder:
        """Return the order of a table with these columns."""
        by_name = {column.name: column for column in columns}
        of_key = tuple(by_name[name] for name in key)
        if key and all(column.kind in _COMPARED for column in of_key):
            return cls(of_key)
        if key and all(column.kind in _DIGESTED for column in of_key):
            return cls(of_key, is_digest=True)
        return cls(tuple(column for column in columns if column.kind in _DIGESTED), is_digest=True)

    @property
    def by(self) -> tuple[str, ...]:
        """Return texts that identify this order among other orders of the table, or none if there is no order."""
        told = tuple(" ".join((column.name, column.kind, column.collation)).strip() for column in self.columns)
        return (_DIGEST, *told) if self.is_digest and told else told

    def statement(self, source: Source, after: Key, keys: KeyRange = EVERY_KEY) -> sa.Select[Any]:
        """Return the statement that reads all rows behind a key in this order, or all rows if the key is empty.

        If the order is a digest, the digest is one more column at the end. `keys` limits the one column of the order.
        """
        if not self.columns:
            return select(source)
        if self.is_digest:
            digest = _digest(source, self.columns)
            last = [BoundValue.at(sa.literal(text)) for text in after]
            return select(source, (digest,), after=last, extra=(digest.label(_DIGEST),))
        order = [source.column(column.name) for column in self.columns]
        last = [BoundValue.at(_literal(column, text)) for column, text in zip(self.columns, after, strict=False)]
        limits = [] if keys.begin is None else [order[0] >= sa.literal(keys.begin)]
        limits += [] if keys.end is None else [order[0] < sa.literal(keys.end)]
        return select(source, order, after=last, conditions=limits)

    def last(self, source: Source) -> sa.Select[Any]:
        """Return the statement that reads the last row in this order."""
        statement = self.statement(source, ())
        order = [_digest(source, self.columns)] if self.is_digest else [source.column(c.name) for c in self.columns]
        return statement.order_by(None).order_by(*(column.desc() for column in order)).limit(1)

    def keys(self, values: Mapping[str, Sequence[Any] | pa.Array]) -> list[Key]:
        """Return the places of rows in this order, from the values of its columns as a driver or the log gives them."""
        columns = [texts(values[column.name]) for column in self.columns]
        if self.is_digest:
            of_columns = [
                [_sha256(t, column) for t in found] for found, column in zip(columns, self.columns, strict=True)
            ]
            return [(_hashed(",".join(parts).encode()),) for parts in zip(*of_columns, strict=True)]
        return [tuple("" if text is None else text for text in row) for row in zip(*columns, strict=True)]


def _sha256(text: str | None, column: OrderColumn) -> str:
    if text is None:
        return "-"
    return _hashed(bytes.fromhex(text) if column.kind in _BYTES else text.encode())


def _hashed(value: bytes) -> str:
    return hashlib.sha256(value).hexdigest()


def texts(values: Sequence[Any] | pa.Array) -> list[str | None]:
    """Return the values of a column as texts; a driver's and the log's values give the same. Bytes are hexadecimal
    digits.
    """
    if isinstance(values, pa.Array) and pa.types.is_date32(values.type):
        return _moments(values.cast(pa.int32()), "D", _YEAR_0_DAYS, _ZERO_DATE)
    if isinstance(values, pa.Array) and pa.types.is_timestamp(values.type):
        return _moments(values.cast(pa.int64()), "us", _YEAR_0_DAYS * DAY_US, _ZERO_TIME)
    return [_text(value) for value in (values.to_pylist() if isinstance(values, pa.Array) else values)]


def _moments(numbers: pa.Array, unit: str, first: int, zero: str) -> list[str | None]:
    # A zero date is a number before the first year.
    real = np.maximum(numbers.fill_null(0).to_numpy().astype(np.int64), first)
    written = real.astype(f"datetime64[{unit}]").astype(str)
    return [
        None if value is None else zero if value < first else str(text).replace("T", " ")
        for value, text in zip(numbers.to_pylist(), written, strict=True)
    ]


def _text(value: Any) -> str | None:
    match value:
        case None | str():
            return value
        case bool():
            return str(int(value))
        case bytes() | bytearray():
            return value.hex()
        case Decimal():
            return format(value, "f")
        case datetime():
            return value.isoformat(" ", "microseconds")[:26]
        case date():
            return value.isoformat()
    return str(value)


def _literal(column: OrderColumn, text: str) -> sa.ColumnElement[Any]:
    if column.kind in _BYTES:
        return sa.literal(bytes.fromhex(text), sa.LargeBinary)
    number = column.number(text)
    return sa.literal(text if number is None else number)


def _digest(source: Source, columns: Sequence[OrderColumn]) -> sa.ColumnElement[str]:
    # SHA-2 is used, as MySQL has no SHA1 from 9.6 on.
    parts = [sa.func.ifnull(sa.func.sha2(_written(source.column(c.name), c), 256), "-") for c in columns]
    return sa.func.sha2(sa.func.concat_ws(",", *parts), 256)


def _written(column: sa.ColumnElement[Any], told: OrderColumn) -> sa.ColumnElement[Any]:
    """Return SQL of the part that a value has in a digest: its text, as `texts` makes it, or its bytes."""
    if told.kind in _MOMENTS:
        zero = _ZERO_DATE if told.kind == "date" else _ZERO_TIME
        is_none = sa.or_(sa.func.month(column) == 0, sa.func.dayofmonth(column) == 0)
        return sa.case((is_none, zero), else_=sa.func.date_format(column, _PATTERNS[told.kind]))
    if told.kind in _BYTES:
        return column
    if told.kind in _WHOLE or told.kind == "decimal":
        # Adding zero takes away the leading zeros of ZEROFILL.
        return sa.cast(column.op("+")(sa.literal_column("0")), sa.CHAR)
    return sa.func.convert(column.op("USING")(sa.literal_column("utf8mb4")))
