"""No damaged byte makes native code read beyond its data, take memory without bound, or end the process.

`make sanitize` draws more of them, with the sanitizers watching.
"""

from __future__ import annotations

import os
import random
import resource
import struct
from collections.abc import Callable
from contextlib import suppress
from typing import Final
from uuid import UUID

import numpy as np
import pyarrow as pa
import pytest

from connect import native
from connect.api import schema as s
from connect.api.arrow import arrow_type
from connect.convert.avro.from_connect import avro_of
from connect.convert.avro.native_plan import reading_plan_of
from connect.convert.avro.settings import AvroSettings
from connectors.cassandra import native as cassandra
from connectors.cassandra.cql.cql_types import CqlType, parse_type
from connectors.cassandra.cql.tables import Table, TableColumn
from connectors.cassandra.log.events.native_events import Plan
from connectors.jdbc import native as jdbc
from connectors.jdbc.values.byte_fields import PADDING

pytestmark = pytest.mark.skipif(
    None in (native.module(), cassandra.module(), jdbc.module()),
    reason="NOT CHECKED: native code was not built; it needs a C++17 compiler at install",
)
DRAWS: Final = int(os.environ.get("CONNECT_NATIVE_DRAWS", "300"))
MEMORY_KB: Final = 400 << 10
"""What all draws of one kind may take; of this the sanitizer itself keeps 256 MiB of freed memory."""
EDGES: Final = (b"\x00", b"\x01", b"\x7f", b"\x80", b"\xff", b"\xff" * 4, b"\x80" * 10, b"\xff\xff\xff\xff\x0f")

TABLE: Final = Table(
    UUID(int=1), "ks", "t",
    [TableColumn("k", CqlType("int"))],
    [TableColumn("a", CqlType("int")), TableColumn("b", CqlType("text"), descending=True)],
    [TableColumn("s", CqlType("int"))],
    [TableColumn(name, parse_type(name, {})) for name in ("int", "text", "list<int>", "map<text, int>", "duration")],
    dropped={"gone": CqlType("double")}, cdc=True, dropped_us={"int": 1_700_000_000_000_000},
)  # fmt: skip
RECORD: Final = s.struct({"l": s.INT64, "t": s.STRING, "b": s.BYTES, "d": s.FLOAT64, "o": s.BOOLEAN}, name="r")
AVRO: Final = avro_of(RECORD, AvroSettings())
JSON: Final = b'{"a": -12.5e3, "b": "x\\u00e9\\n", "c": [1, null, {"d": true}], "e": {"f": 9223372036854775807}}'
TEXT_ROW: Final = b"\x0212\xfb\xfc\x04\x00text\x0a2024-01-01"
BINARY_ROW: Final = b"\0\0" + bytes(8) + b"\xfc\x04\x00text" + b"\x04\xe8\x07\x01\x01" + b"\x08" + bytes(8)


def of_json(drawn: bytes) -> None:
    data = pa.array([JSON, drawn], pa.binary())
    native.infer_json(data)
    native.decode_json(data, pa.struct([("a", pa.float64()), ("b", pa.string())]))
    native.compact_json(data)


def of_avro(drawn: bytes) -> None:
    native.decode_avro(pa.array([drawn], pa.binary()), arrow_type(RECORD), avro_plan(), head=0)


def of_avro_plan(drawn: bytes) -> None:
    native.decode_avro(pa.array([b"\x02" * 40], pa.binary()), arrow_type(RECORD), drawn, head=0)


def avro_plan() -> bytes:
    plan = reading_plan_of(RECORD, AVRO)
    assert plan is not None
    return plan


def of_mutation(drawn: bytes) -> None:
    gathered(drawn, Plan.of([TABLE], [UUID(int=9)]).data)


def of_tables(drawn: bytes) -> None:
    gathered(b"\x01" + TABLE.id.bytes + bytes(40), drawn)


def gathered(body: bytes, plan: bytes) -> None:
    ints = np.array([0, len(body)], np.int64)
    # A plan that is none is a ValueError; another error, as one of memory, fails the test.
    with suppress(ValueError):
        cassandra.module().gather(body, ints[:1], ints[1:], 8, plan)


def of_section(drawn: bytes) -> None:
    cassandra.module().find_frames(drawn)


def of_page(drawn: bytes) -> None:
    cassandra.module().find_cells(drawn, 3, 2)
    ints = np.array([0, len(drawn)], np.int64)
    cassandra.module().number_texts(drawn, ints[:1], ints[1:], True)


def of_text_rows(drawn: bytes) -> None:
    jdbc.module().read_text_rows(*found_rows(drawn), "luuD")


def of_binary_rows(drawn: bytes) -> None:
    jdbc.module().read_binary_rows(*found_rows(drawn), "luDu", "lvtm")


def found_rows(packets: bytes) -> tuple[bytearray, np.ndarray]:
    buffer = bytearray(packets) + bytes(PADDING)
    starts, _, _ = jdbc.module().find_rows(buffer, 0, len(packets), 10)
    return buffer, np.frombuffer(starts, np.int64)


def packets(row: bytes) -> bytes:
    return (struct.pack("<I", len(row)) + row) * 3


KINDS: Final[dict[str, tuple[bytes, Callable[[bytes], None]]]] = {
    "json": (JSON, of_json),
    "avro": (b"\x54\x08text\x04by" + bytes(8) + b"\x01", of_avro),
    "avro plan": (avro_plan(), of_avro_plan),
    "mutation": (b"\x01" + TABLE.id.bytes + b"\0\4" + bytes(5) + b"\x24\x00" + bytes(4) + b"\x01x" * 20, of_mutation),
    "tables of mutations": (Plan.of([TABLE], [UUID(int=9)]).data, of_tables),
    "section of frames": (struct.pack(">II", 16, 0) + bytes(20), of_section),
    "page of cells": (struct.pack(">i", 4) + b"abcd" + struct.pack(">i", -1) * 5, of_page),
    "mysql text rows": (packets(TEXT_ROW), of_text_rows),
    "mysql binary rows": (packets(BINARY_ROW), of_binary_rows),
}


def damaged(chance: random.Random, whole: bytes) -> bytes:
    made = bytearray(whole)
    for _ in range(chance.randint(1, 3)):
        at = chance.randint(0, len(made))
        match chance.randrange(4):
            case 0:
                made[at : at + 1] = chance.randbytes(1)
            case 1:
                edge = chance.choice(EDGES)
                made[at : at + len(edge)] = edge
            case 2:
                del made[at : at + chance.randint(1, 9)]
            case 3:
                made[at:at] = chance.randbytes(chance.randint(1, 9))
    return bytes(made)


@pytest.mark.parametrize("kind", KINDS)
def test_damaged_bytes_are_refused_in_bounded_memory(kind: str) -> None:
    whole, read = KINDS[kind]
    read(whole)
    chance = random.Random(kind)
    before_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(DRAWS):
        read(damaged(chance, whole))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kb < MEMORY_KB
