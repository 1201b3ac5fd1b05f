"""Draws changes of tables: any kind of statement, any type, now and then a value that is none of its type."""

from __future__ import annotations

import random
import struct
from collections.abc import Sequence

from mutation_writer import START, Base

from connectors.cassandra.cql.cql_types import CqlType
from connectors.cassandra.cql.tables import Table
from connectors.cassandra.log.events.mutation import (
    Bound,
    Cell,
    Clustering,
    ComplexColumn,
    Deletion,
    Liveness,
    Marker,
    PartitionUpdate,
    Row,
)

SIZES = {"int": 4, "bigint": 8, "timestamp": 8, "time": 8, "date": 4, "tinyint": 1,
         "smallint": 2, "boolean": 1, "uuid": 16, "timeuuid": 16, "varint": 9, "blob": 5, "inet": 4}  # fmt: skip
WRITETIMES = (5, -5, 2**63 - 1, -(2**63) + 1)


class DrawnChanges:
    """Draws them from a seeded source."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance

    def base(self) -> Base:
        """What the numbers of a mutation are counted from."""
        return START if self._may() else (self._writetime(), self._local(), self._chance.randrange(10**6))

    def updates(self, tables: Sequence[Table]) -> list[PartitionUpdate]:
        """Those of one mutation, mostly of one table."""
        chosen = tables if self._may(5) else [self._chance.choice(tables)]
        return [self._update(table) for table in chosen]

    def _update(self, table: Table) -> PartitionUpdate:
        parts = [self._octets(column.type) for column in table.partition_key]
        key = parts[0] if len(parts) == 1 else b"".join(len(p).to_bytes(2, "big") + p + b"\0" for p in parts)
        rows: list[Row | Marker] = []
        for _ in range(self._chance.randrange(4)):
            rows += self._ranges(table) if self._may(4) else [self._row(table)]
        static = self._row(table, is_static=True) if self._may() else None
        return PartitionUpdate(table, key, self._deletion() if self._may(5) else None, static, rows)

    def _ranges(self, table: Table) -> list[Row | Marker]:
        """Ranges that follow on each other, rows among them, or a bound of a range whose other bound is not there."""
        found: list[Row | Marker] = []
        deleted: Deletion | None = None
        prefix: Clustering = ()
        for bound in self._chance.choices(list(Bound), k=self._chance.randint(1, 6)):
            ends, after = bound.is_boundary or not bound.is_start, self._deletion() if bound.is_start else None
            prefix = self._prefix(table, prefix)
            found.append(Marker(bound, prefix, deleted if ends else None, None if self._may(9) else after))
            deleted = self._deletion() if self._may(4) else after
            if self._may(4):
                found.append(self._row(table))
        return found

    def _prefix(self, table: Table, before: Clustering) -> Clustering:
        """Values of the first clustering columns, some of them those of the bound before."""
        values = tuple(self._clustering(column.type) for column in table.clustering)
        values = (*before, *values[len(before) :]) if self._may() else values
        return values[: self._chance.randint(0, len(values))]

    def _row(self, table: Table, *, is_static: bool = False) -> Row:
        live = self._liveness() if self._may() else None
        static = {column.name for column in table.static}
        names = [name for name in table.value_types if (name in static) == is_static]
        chosen = self._chance.sample(names, self._chance.choice([0, 1, len(names) // 2, len(names)]))
        columns = {name: self._change(table.value_types[name], live) for name in chosen}
        clustering = () if is_static else tuple(self._clustering(column.type) for column in table.clustering)
        return Row(clustering, live, self._deletion() if self._may(4) else None, columns)

    def _change(self, cql: CqlType, live: Liveness | None) -> Cell | ComplexColumn:
        if not cql.is_multicell:
            return self._cell(cql, None, live)
        match cql.name:
            case "list":
                paths, value = [self._chance.randbytes(16) for _ in range(3)], cql.parameters[0]
            case "udt":
                cells = [
                    self._cell(part, number.to_bytes(2, "big"), live) for number, part in enumerate(cql.parameters)
                ]
                return ComplexColumn(self._deletion() if self._may() else None, self._chance.sample(cells, 1))
            case _:
                paths, value = [self._octets(cql.parameters[0]) for _ in range(3)], cql.parameters[-1]
        chosen = self._chance.sample(sorted(set(paths)), self._chance.randrange(len(set(paths)) + 1))
        cells = [self._cell(value, path, live) for path in chosen]
        return ComplexColumn(self._deletion() if self._may() else None, cells)

    def _cell(self, cql: CqlType, path: bytes | None, live: Liveness | None) -> Cell:
        has_row_time = live is not None and self._may()
        writetime_us = live.writetime_us if live is not None and has_row_time else self._writetime()
        match self._chance.randrange(4):
            case 0:
                return Cell(writetime_us, None, None, self._local(), path)
            case 1:
                return Cell(writetime_us, self._octets(cql), self._chance.randint(1, 10**6), self._local(), path)
            case 2 if live is not None and live.ttl_s is not None:
                return Cell(writetime_us, self._octets(cql), live.ttl_s, live.expires_s, path)
        return Cell(writetime_us, self._octets(cql), path=path)

    def _octets(self, cql: CqlType) -> bytes:
        chance = self._chance
        size = SIZES.get(cql.name)
        if size is not None:
            return chance.randbytes(size)
        match cql.name:
            case "text":
                return b"\xff" if self._may(400) else chance.choice(["", "a text", "\U0001f600", "é" * 100]).encode()
            case "float":
                return struct.pack(">f", chance.gauss())
            case "double":
                return struct.pack(">d", chance.gauss())
            case "decimal":
                unscaled = chance.choice([0, -1, chance.getrandbits(60), chance.getrandbits(70)])
                return chance.randint(-20, 20).to_bytes(4, "big", signed=True) + unscaled.to_bytes(
                    9, "big", signed=True
                )
            case "duration":
                return b"\x02\x04\x06"
            case "vector":
                return struct.pack(">ff", chance.gauss(), chance.gauss())
        return b"\x00\x00\x00\x01\x00\x00\x00\x04\x00\x00\x00\x09"

    def _clustering(self, cql: CqlType) -> bytes | None:
        return self._chance.choice([None, b""]) if self._may(5) else self._octets(cql)

    def _liveness(self) -> Liveness:
        if self._may():
            return Liveness(self._writetime())
        return Liveness(self._writetime(), self._chance.randint(1, 10**6), self._local())

    def _deletion(self) -> Deletion:
        return Deletion(self._writetime(), self._local())

    def _writetime(self) -> int:
        return self._chance.choice(WRITETIMES) if self._may(5) else 1_700_000_000_000_000 + self._chance.getrandbits(40)

    def _local(self) -> int:
        return self._chance.randint(1_700_000_000, 2**31 - 1)

    def _may(self, of: int = 2) -> bool:
        return not self._chance.randrange(of)
