"""Tells which columns Debezium's events mask, hash or cut off, and which make up the record key. Pure.

Source: Debezium 3's documentation of `column.mask.*`, `column.truncate.to.*` and `message.key.columns`. The bytes of a
text that are hashed were found in records that Debezium wrote.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from connect.lib.javatext.regex import compile_pattern
from connectors.jdbc.debezium.shared.column_rule_keys import HASHED, KEY, MASKED, TRUNCATED, hash_named, patterns
from connectors.jdbc.log.shared.column_change import ColumnChange

_SHORT_TEXT, _LONG_TEXT = b"\xac\xed\x00\x05t", b"\xac\xed\x00\x05|"
_SHORT_BYTES = 0xFFFF


@dataclass(frozen=True, slots=True)
class TextColumn:
    """Describes a column by the facts that the rules need.

    With `is_text` JDBC takes it for text, so that it may be masked. `length` is the most characters that it holds, or
    None if there is no limit. With `comes_as_text` events hold texts, so that these may be cut off.
    """

    is_text: bool
    length: int | None = None
    comes_as_text: bool = True


@dataclass(frozen=True, slots=True)
class _Rule:
    """Holds the columns that one key of the settings changes, and the change."""

    chosen: Sequence[str]
    change: Callable[[TextColumn], ColumnChange | None]

    def matches(self, name: str) -> bool:
        return any(compile_pattern(f"(?i){pattern}").fullmatch(name) for pattern in self.chosen)


class ColumnRules:
    """Holds the rules for columns that the settings of one connector have."""

    def __init__(self, given: Mapping[str, str], left_out: Callable[[str], bool]) -> None:
        """Read the rules of the settings `given`. `left_out` tells by a column's full name that no record holds it."""
        self.left_out = left_out
        self._rules = sorted(_rules(given), key=lambda pair: pair[0])
        self._keys = [*_keys(given.get("message.key.columns", ""))]

    def change(self, name: str, column: TextColumn) -> ColumnChange | None:
        """Return the change of a column, by its full name, or None if events show it as it is."""
        # The first rule that names the column counts. Rules that cut off come first, as in Debezium.
        return next((rule.change(column) for _, rule in self._rules if rule.matches(name)), None)

    def key_of(self, table: str, columns: Sequence[str]) -> tuple[str, ...]:
        """Return the columns of a table's record key as message.key.columns lists them, or none if the table's own key
        counts.
        """
        wanted = [compile_pattern(f"(?i){tables}\\.{column}") for tables, column in self._keys]
        found = (name for pattern in wanted for name in columns if pattern.fullmatch(f"{table}.{name}"))
        return tuple(dict.fromkeys(found))


def _keys(text: str) -> Iterator[tuple[str, str]]:
    for part in text.split(";"):
        found = KEY.fullmatch(part)
        if found is not None:
            yield from ((found[1], column) for column in found[2].split(","))


def _rules(given: Mapping[str, str]) -> Iterator[tuple[int, _Rule]]:
    for name, value in given.items():
        chosen = patterns(value)
        if cut := TRUNCATED.fullmatch(name):
            yield 0, _Rule(chosen, partial(_truncated, int(cut[1])))
        elif mask := MASKED.fullmatch(name):
            yield 1, _Rule(chosen, partial(_masked, "*" * int(mask[1])))
        elif hashed := HASHED.fullmatch(name):
            yield 2, _Rule(chosen, partial(_hashed, hashed[2], hashed[3], serialized=not hashed[1]))


def _truncated(size: int, column: TextColumn) -> ColumnChange | None:
    if not column.comes_as_text or (column.length is not None and column.length <= size):
        return None
    return ColumnChange({"truncateLength": str(size)}, partial(_cut, size))


def _cut(size: int, values: pa.Array) -> pa.Array:
    # Java counts a character beyond 16 bits as two, and may cut it in half. Half a character is no text, so that
    # characters are counted here.
    return pc.utf8_slice_codeunits(values, 0, size)


def _masked(mask: str, column: TextColumn) -> ColumnChange:
    def shown(values: pa.Array) -> pa.Array:
        return pa.repeat(pa.scalar(mask, values.type), len(values))

    return ColumnChange({"masked": "true"}, shown if column.is_text else _as_it_is)


def _as_it_is(values: pa.Array) -> pa.Array:
    return values


def _hashed(algorithm: str, salt: str, column: TextColumn, *, serialized: bool) -> ColumnChange:
    def digest(text: str) -> str:
        hashing = hash_named(algorithm)
        assert hashing is not None
        made = hashing(salt.encode())
        made.update(_serialized(text) if serialized else text.encode())
        return str(made.hexdigest())[: column.length]

    def shown(values: pa.Array) -> pa.Array:
        distinct = pc.unique(values.drop_null())
        if not len(distinct):
            return values
        return pa.array(map(digest, distinct.to_pylist()), values.type).take(pc.index_in(values, distinct))

    return ColumnChange({"masked": "true"}, shown if column.is_text else _as_it_is)


def _serialized(text: str) -> bytes:
    """Return the bytes that Java's ObjectOutputStream writes for a text; version 1 of the hash is made of these."""
    octets = _modified_utf8(text)
    if len(octets) > _SHORT_BYTES:
        return _LONG_TEXT + struct.pack(">Q", len(octets)) + octets
    return _SHORT_TEXT + struct.pack(">H", len(octets)) + octets


def _modified_utf8(text: str) -> bytes:
    """Return a text in Java's modified UTF-8: each surrogate is coded alone, and a zero has two bytes."""
    units = struct.unpack(f">{len(text.encode('utf-16-be')) // 2}H", text.encode("utf-16-be"))
    return "".join(map(chr, units)).encode("utf-8", "surrogatepass").replace(b"\0", b"\xc0\x80")
