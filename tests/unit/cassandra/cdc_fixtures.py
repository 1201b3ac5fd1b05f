"""The recorded segments, their tables, and mutations in the form of what is expected of them."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

from connectors.cassandra.cql.cql_types import CqlType, parse_type, user_types_of
from connectors.cassandra.cql.tables import Table, TableColumn
from connectors.cassandra.log.events.decode import MutationDecoder
from connectors.cassandra.log.events.mutation import Cell, ComplexColumn, Deletion, Marker, PartitionUpdate, Row
from connectors.cassandra.log.segments.segment import Frames, parse_header, read_frames, read_section

FOLDER = Path(__file__).parents[2] / "fixtures" / "cassandra-cdc"
KINDS = ("plain", "lz4", "lz4_killed")


class Frame(NamedTuple):
    """One mutation, and the position behind it."""

    body: bytes
    end: int


@cache
def segment_bytes(kind: str) -> bytes:
    return gzip.decompress((FOLDER / f"{kind}.log.gz").read_bytes())


@cache
def expected(kind: str) -> list[dict[str, Any]]:
    return json.loads(gzip.decompress((FOLDER / f"{kind}.expected.json.gz").read_bytes()))


@cache
def tables() -> dict[UUID, Table]:
    given = json.loads((FOLDER / "schema.json").read_text())
    types = user_types_of("ks", {name: (tuple(f), tuple(f.values())) for name, f in given["types"].items()})
    return {UUID(number): _table(UUID(number), found, types) for number, found in given["tables"].items()}


def table(name: str) -> Table:
    return next(found for found in tables().values() if found.name == name)


def frames_in(found: Frames | None) -> list[Frame]:
    count = 0 if found is None else len(found)
    return [Frame(found.body(i), int(found.ends[i])) for i in range(count) if found is not None]


def sections(data: bytes) -> Iterator[Frames]:
    """The frames of each section that are whole."""
    header = parse_header(data)
    assert header is not None
    at = start = header.size
    while (section := read_section(data, header, at, start)) is not None:
        found, error = read_frames(section, header)
        if error is not None:
            raise error
        yield found
        at, start = section.next_file, section.end


def all_frames(data: bytes) -> Iterator[Frame]:
    """Every frame that is whole."""
    for found in sections(data):
        yield from frames_in(found)


def updates(data: bytes) -> Iterator[tuple[int, PartitionUpdate]]:
    """The updates of tables that are known, with the position behind each."""
    header = parse_header(data)
    assert header is not None
    decoder = MutationDecoder(tables(), header.version)
    for frame in all_frames(data):
        # Those of the node's own tables are left out.
        for update in decoder.decode(frame.body).updates:
            yield frame.end, update


def described(position: int, update: PartitionUpdate) -> dict[str, Any]:
    """An update as the expected ones are written down."""
    found: dict[str, Any] = {"pos": position, "ks": "ks", "t": update.table.name, "key": _hex(update.key)}
    if update.deletion is not None:
        found["pdel"] = _deletion(update.deletion)
    if update.static is not None:
        found["static"] = _row(update.static)
    found["rows"] = [_marker(row) if isinstance(row, Marker) else _row(row) for row in update.rows]
    for row, made in zip(update.rows, found["rows"], strict=True):
        if isinstance(row, Row):
            made["ck"] = [_hex(value) for value in row.clustering]
    return found


def _table(number: UUID, given: Mapping[str, Any], types: Mapping[str, CqlType]) -> Table:
    def column(name: str, text: str) -> TableColumn:
        return TableColumn(name, parse_type(text, types), descending=given["t"] == "t" and name == "c1")

    keys = [name for name, _ in (*given["pk"], *given["ck"])]
    static = {"s1", "s2"} if given["t"] == "t" else set()
    others = {name: text for name, text in given["cols"].items() if name not in keys}
    return Table(
        number,
        given["ks"],
        given["t"],
        [column(name, text) for name, text in given["pk"]],
        [column(name, text) for name, text in given["ck"]],
        [column(name, text) for name, text in others.items() if name in static],
        [column(name, text) for name, text in others.items() if name not in static],
        {name: parse_type(text, types) for name, (text, _) in given["dropped"].items()},
        cdc=True,
    )


def _hex(value: bytes | None) -> dict[str, str] | None:
    return None if value is None else {"hex": value.hex()}


def _deletion(deletion: Deletion) -> list[int]:
    return [deletion.writetime_us, deletion.local_s]


def _marker(marker: Marker) -> dict[str, Any]:
    deletion = marker.start or marker.end
    assert deletion is not None
    return {
        "marker": marker.bound.name, "vals": [_hex(v) for v in marker.prefix], "deltime": _deletion(deletion)
    }  # fmt: skip


def _row(row: Row) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if row.liveness is not None:
        found["live"] = [row.liveness.writetime_us, row.liveness.ttl_s, row.liveness.expires_s]
    if row.deletion is not None:
        found["row_del"] = _deletion(row.deletion)
    found["cells"] = {name: _column(column) for name, column in row.columns.items()}
    return found


def _column(column: Cell | ComplexColumn) -> dict[str, Any]:
    if isinstance(column, Cell):
        return _cell(column)
    cleared = {} if column.deletion is None else {"cdel": _deletion(column.deletion)}
    return {**cleared, "cells": [_cell(cell) for cell in column.cells]}


def _cell(cell: Cell) -> dict[str, Any]:
    found: dict[str, Any] = {"ts": cell.writetime_us, "v": _hex(cell.value)}
    if cell.value is None:
        found["tomb"] = True
    if cell.local_s is not None:
        found["ldt"] = cell.local_s
    if cell.ttl_s is not None:
        found["ttl"] = cell.ttl_s
    if cell.path is not None:
        found["path"] = _hex(cell.path)
    return found
