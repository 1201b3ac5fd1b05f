"""Keys that MariaDB's and MySQL's collations take for one are written in Kafka's order, and DECIMAL keys exactly."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from jdbc_server import Server
from jdbc_sink_target import opened, put, rows

from connect.api import schema as s
from connect.api.arrow import arrow_type
from connect.api.records import Batch, Column, Consumed, TopicPartition
from connectors.jdbc.sink.folded_keys import KNOWN, folded

pytestmark = pytest.mark.parametrize("server", ["mariadb", "mysql"], indirect=True)
KEYED = {"insert__mode": "upsert", "pk__mode": "record_key", "delete__enabled": "true", "pk__fields": "id"}
SCANNED = "Handler_read_rnd_next"


def _batch(server: Server, kind: s.Schema, records: list[tuple[Any, int | None]], first: int = 0) -> Batch:
    """Return records of a key and a value each; without a value it is a tombstone."""
    key, row = s.struct({"id": kind}), s.struct({"v": s.INT64}, optional=True)
    values = [None if v is None else {"v": v} for _, v in records]
    return Batch(
        server.table, Column.from_arrow(pa.array(values, arrow_type(row)), row),
        Column.from_arrow(pa.array([{"id": k} for k, _ in records], arrow_type(key)), key), partition=0,
        consumed=Consumed(
            TopicPartition(server.table, 0), pa.array(range(first, first + len(records)), pa.int64()),
            first + len(records),
        ),
    )  # fmt: skip


RECORDS: list[tuple[Any, int | None]] = [
    ("abc", 1), ("ABC", None), ("pad", 2), ("pad ", None), ("Ü", 3), ("u", None), ("stays", 4), ("x", 5), ("X", None),
    ("x", 6), ("gone", None), ("GONE", 7), ("gone", None),
]  # fmt: skip


@pytest.mark.parametrize("collation", ["utf8mb4_general_ci", "utf8mb4_unicode_ci", "utf8mb4_bin"])
def test_a_batch_of_keys_that_are_one_for_the_collation_is_what_its_records_are_one_by_one(
    server: Server, collation: str
) -> None:
    left = []
    for sizes in (1, len(RECORDS)):
        server.run(
            "DROP TABLE IF EXISTS {t}", f"CREATE TABLE {{t}} (id VARCHAR(40) COLLATE {collation} PRIMARY KEY, v INT)"
        )
        with opened(server, **KEYED) as task:
            for first in range(0, len(RECORDS), sizes):
                assert put(task, _batch(server, s.STRING, RECORDS[first : first + sizes], first)) == {}
        left.append(rows(server))
    assert left[0] == left[1]
    if not collation.endswith("bin"):
        assert left[1] == [("stays", 4), ("x", 6)]


def test_keys_of_decimals_are_found_exactly_and_by_their_index(server: Server) -> None:
    big, many = 2**53, 400
    kind = s.Schema(s.Type.BYTES, name=s.DECIMAL, version=1, parameters={"scale": "0"})
    ids = [Decimal(big + n) for n in range(2 * many)]
    server.run("CREATE TABLE {t} (id DECIMAL(30,0) PRIMARY KEY, v INT)")
    with opened(server, **KEYED) as task:
        assert put(task, _batch(server, kind, [(one, 1) for one in ids])) == {}
        before = _scanned(server)
        assert put(task, _batch(server, kind, [(one, None) for one in ids[1::2]], len(ids))) == {}
        assert _scanned(server) - before < many * many // 4, "each delete would read half of the table"
    assert [one for one, _ in rows(server)] == ids[::2]
    with opened(server, insert__mode="update", pk__mode="record_key", pk__fields="id") as task:
        assert put(task, _batch(server, kind, [(ids[2], 7), (ids[3], 8)])) == {}
    assert [row for row in rows(server) if row[1] != 1] == [(ids[2], 7)]


def _scanned(server: Server) -> int:
    with server.engine.connect() as connection:
        found = connection.exec_driver_sql(f"SHOW GLOBAL STATUS LIKE '{SCANNED}'").first()
    assert found is not None
    return int(found[1])


def test_no_collation_takes_two_letters_for_one_that_stay_different_here(server: Server) -> None:
    letters = [chr(n) for n in range(1, 0xFFFF) if re.fullmatch(f"[{KNOWN}]", chr(n)) and n < 0xB000]
    letters += ["ae", "oe", "ue", "aa", "ss", "th", "dz", "ccs", "cscs", "ggy", "gygy", "lly", "lyly", "a ", "a\t"]
    server.run("CREATE TABLE {t} (n INT PRIMARY KEY, c VARCHAR(9) CHARACTER SET utf8mb4)")
    with server.engine.begin() as connection:
        cursor: Any = connection.connection.cursor()
        cursor.executemany(f"INSERT INTO {server.table} VALUES (%s, %s)", [*enumerate(letters)])
        listed = connection.exec_driver_sql("SHOW COLLATION WHERE Charset = 'utf8mb4'").all()
        collations = [str(row[0]) for row in listed if str(row[0]).endswith("_ci")]
        assert len(collations) > 10
        wrong: dict[str, list[str]] = {}
        for collation in collations:
            asked = f"SELECT GROUP_CONCAT(n) FROM {server.table} GROUP BY c COLLATE {collation} HAVING COUNT(*) > 1"
            connection.exec_driver_sql("SET SESSION group_concat_max_len = 1000000")
            for (numbers,) in connection.exec_driver_sql(asked):
                alike = [letters[int(number)] for number in str(numbers).split(",")]
                if len({*map(folded, alike)}) > 1:
                    wrong.setdefault(" ".join(alike), []).append(collation)
    assert wrong == {}
