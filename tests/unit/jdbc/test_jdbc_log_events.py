"""Checks mode=log without a server: text to Arrow, positions, events."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from sqlalchemy import types as t
from sqlalchemy.dialects import postgresql as pg

from connect.api import schema as s
from connect.api.arrow import arrow_type
from connect.api.errors import ConfigError
from connectors.jdbc.dialects.known import dialect_named
from connectors.jdbc.log.mysql import tables as mysql_tables
from connectors.jdbc.log.mysql.binlog_records import BinlogRecords
from connectors.jdbc.log.postgres import tables as pg_tables
from connectors.jdbc.log.postgres.text import SESSION, driver_array, unhexed
from connectors.jdbc.log.shared import envelope
from connectors.jdbc.log.shared.position import (
    Coordinate,
    LogPosition,
    SnapshotPlace,
    TransactionProgress,
    lsn_of_text,
    read_offset,
    text_of_lsn,
)
from connectors.jdbc.log.shared.snapshot_segments import Fence, Segment
from connectors.jdbc.log.shared.snapshot_visibility import SnapshotVisibility
from connectors.jdbc.settings.config import JdbcSourceConfig
from connectors.jdbc.values.temporal import NO_DATE_DAYS, NO_TIMESTAMP_US, Misfit
from connectors.jdbc.values.types import TypeRules, plan_column

GIVEN = {
    "connection.url": "jdbc:postgresql://h/d", "mode": "log", "topic.prefix": "shop", "table.whitelist": "orders",
}  # fmt: skip


def _numbers(kind, *texts):
    plan = plan_column("c", kind, True, TypeRules(dialect_named("postgresql").types))
    array = driver_array(plan, pa.array([None if x is None else x.encode() for x in texts], pa.binary()))
    return array.cast(pa.int32() if pa.types.is_date32(array.type) else pa.int64()).to_pylist()


def test_moments_that_python_has_no_form_for_keep_their_number():
    day = 86_400_000_000
    assert _numbers(t.Date(), "1970-01-02", "0044-03-15 BC", "infinity", None) == [1, -735160, NO_DATE_DAYS, None]
    assert _numbers(pg.TIMESTAMP(), "10000-01-01 00:00:00.5", "-infinity") == [2932897 * day + 500_000, NO_TIMESTAMP_US]
    assert _numbers(pg.TIMESTAMP(timezone=True), "1970-01-01 00:00:01+00", "20000-01-01 00:00:00-01:30") == [
        1_000_000,
        (dt.date(2000, 1, 1).toordinal() - dt.date(1970, 1, 1).toordinal() + 18000 * 365.2425) * day + 5400_000_000,
    ]
    assert _numbers(pg.TIME(), "24:00:00", "23:59:59.999999", None) == [day, day - 1, None]


def test_sessions_of_postgresql_ask_for_all_digits_of_floats():
    # Before version 12 a smaller number leaves digits out: 0.30000000000000004 comes as 0.3.
    reading = dialect_named("postgresql").sessions.reading(0)
    assert "extra_float_digits=3" in SESSION["options"]
    assert "SET extra_float_digits=3" in reading


def test_a_text_that_is_no_moment_is_a_misfit():
    with pytest.raises(Misfit):
        _numbers(t.Date(), "tomorrow")


@pytest.mark.parametrize("values", [[b"", b"\0\xff\\x", None, b"a"], [None], [b"\\x"]])
def test_bytes_come_out_of_their_hex_form(values):
    hexed = pa.array([None if v is None else b"\\x" + v.hex().encode() for v in values], pa.binary())
    assert unhexed(hexed).to_pylist() == values
    assert unhexed(hexed.slice(1)).to_pylist() == values[1:]


def test_bytes_in_another_form_are_a_misfit():
    with pytest.raises(Misfit):
        unhexed(pa.array([b"\\000a"], pa.binary()))


def test_a_position_comes_back_from_its_offset():
    position = LogPosition(5, Coordinate(9, 3), {"public.a": Coordinate(9, 7)}, 42, 43)
    assert read_offset(position.offset()) == position
    reading = LogPosition(5, snapshot=SnapshotPlace(("public.a",), "public.b", ("1", "x")))
    assert read_offset(reading.offset()) == reading
    for offset in (position.offset(), reading.offset()):
        assert all(isinstance(value, str | int) for value in offset.values()), "an offset holds primitives only"
    assert (lsn_of_text("16/B374D848"), text_of_lsn(lsn_of_text("16/B374D848"))) == (97500059720, "16/B374D848")


def test_what_the_first_read_saw_is_told_by_the_lower_half_of_a_transactions_number():
    seen = SnapshotVisibility(f"{(3 << 32) - 2}:{(3 << 32) + 5}:{(3 << 32) - 2},{(3 << 32) + 1}", 100)
    xids = np.array([2**32 - 3, 2**32 - 2, 2**32 - 1, 0, 1, 4, 5, 6], np.int64)
    assert seen.hides(xids, np.full(8, 99)).tolist() == [True, False, True, True, False, True, False, False]
    assert not seen.hides(xids, np.full(8, 100)).any()
    position = LogPosition(50, fences={"public.a": Fence(("id",), (Segment(None, ("7",)), Segment(seen)))})
    assert read_offset(position.offset()) == position
    assert position.moved(99).fences == position.fences
    assert position.moved(100).fences == {}
    older = {**LogPosition(50).offset(), "seen_snapshot": seen.snapshot, "seen_lsn": 100}
    assert read_offset(older).fence_of("public.any").segments == (Segment(seen),)


def test_offsets_of_debezium_are_gone_on_with_at_their_last_whole_transaction():
    given = {"lsn_proc": 30729648, "messageType": "INSERT", "lsn_commit": 30729000, "lsn": 30729648, "txId": 739}
    assert read_offset(given).commit_lsn == 30729000
    assert read_offset({"lsn": 7, "snapshot": True, "last_snapshot_record": False}).snapshot == SnapshotPlace()
    assert read_offset({"lsn": 7, "snapshot": True, "last_snapshot_record": True}).snapshot is None


@pytest.mark.parametrize("offset", [{}, {"lsn": "7"}, {"lsn": -1}, {"lsn_commit": True}])
def test_an_offset_without_a_place_is_refused(offset):
    with pytest.raises(ValueError, match="lsn"):
        read_offset(offset)


def _rows(ops, old, before, new, after):
    schema = s.struct({"id": s.INT32, "name": s.STRING.as_optional()}, name="p.t.Value")
    kind = arrow_type(schema)
    source = dict.fromkeys(("version", "connector", "name", "db"), "x") | {"ts_ms": np.zeros(len(ops), np.int64)}
    form = envelope.EventFormat("p.t", schema, ("id",), envelope.source_schema("x", {}))
    rows = envelope.ChangedRows(
        np.array(ops, np.uint8),
        np.array(old, np.int64),
        pa.array([{"id": i, "name": None} for i in before], kind) if before else None,
        np.array(new, np.int64),
        pa.array([{"id": i, "name": f"n{i}"} for i in after], kind),
        source,
    )
    return form, rows


def _told(batch):
    return [
        (
            key["id"],
            None if v is None else (v["op"], v["before"] and v["before"]["id"], v["after"] and v["after"]["id"]),
        )
        for key, v in zip(batch.keys.rows(), batch.values.rows(), strict=True)
    ]


MIXED = (
    [envelope.CREATE, envelope.UPDATE, envelope.UPDATE, envelope.DELETE, envelope.CREATE],
    [2, 3], [2, 9], [0, 1, 2, 4], [1, 1, 5, 6],
)  # fmt: skip


def test_a_changed_key_is_a_delete_and_a_create_in_place():
    batch = envelope.batch(*_rows(*MIXED), envelope.EventRules())
    assert _told(batch) == [
        (1, ("c", None, 1)), (1, ("u", None, 1)), (2, ("d", 2, None)), (2, None), (5, ("c", None, 5)),
        (9, ("d", 9, None)), (9, None), (6, ("c", None, 6)),
    ]  # fmt: skip


def test_null_in_a_chosen_key_is_another_key_where_the_whole_old_row_is_known():
    form, rows = _rows([envelope.UPDATE] * 3, [0, 1, 2], [1, 1, 1], [0, 1, 2], [1, 1, 1])
    names = [("a", None), (None, "a"), (None, None)]
    was, now = (pa.array([{"id": 1, "name": pair[side]} for pair in names], rows.after.type) for side in (0, 1))
    form = replace(form, chosen_key=("name",))

    def told(*, full_before):
        changed = replace(rows, before=was, after=now, full_before=full_before)
        batch = envelope.batch(form, changed, envelope.EventRules())
        ops = [value and value["op"] for value in batch.values.rows()]
        return list(zip([key["name"] for key in batch.keys.rows()], ops, strict=True))

    assert told(full_before=True) == [
        ("a", "d"), ("a", None), (None, "c"), (None, "d"), (None, None), ("a", "c"), (None, "u"),
    ]  # fmt: skip
    # Else null may stand for a value that the log does not tell.
    assert told(full_before=False) == [(None, "u"), ("a", "u"), (None, "u")]


def test_tombstones_and_operations_can_be_left_out():
    form, rows = _rows(*MIXED)
    kept = envelope.batch(form, rows, envelope.EventRules(tombstones=False, skipped=frozenset({"c", "u"})))
    assert _told(kept) == [(2, ("d", 2, None)), (9, ("d", 9, None))]
    assert _told(envelope.batch(form, rows, envelope.EventRules(skipped=frozenset("d")))) == [
        (1, ("c", None, 1)), (1, ("u", None, 1)), (5, ("c", None, 5)), (6, ("c", None, 6)),
    ]  # fmt: skip
    assert envelope.batch(form, rows, envelope.EventRules(skipped=frozenset("cud"))) is None


@pytest.mark.parametrize(
    ("skipped", "events"),
    [
        ("c", [
            (1, ("u", None, 1)), (2, ("d", 2, None)), (2, None), (5, ("c", None, 5)), (9, ("d", 9, None)), (9, None),
        ]),
        ("d", [
            (1, ("c", None, 1)), (1, ("u", None, 1)), (2, ("d", 2, None)), (2, None), (5, ("c", None, 5)),
            (6, ("c", None, 6)),
        ]),
        ("u", [(1, ("c", None, 1)), (9, ("d", 9, None)), (9, None), (6, ("c", None, 6))]),
    ],
)  # fmt: skip
def test_a_binary_log_skips_what_was_done_to_a_row_and_not_events_of_a_changed_key(skipped, events):
    config = JdbcSourceConfig.parse({
        **GIVEN, "connection.url": "jdbc:mysql://h/d", "skipped.operations": skipped, "tombstones.on.delete": "true",
    })  # fmt: skip
    assert _told(envelope.batch(*_rows(*MIXED), BinlogRecords(config).rules)) == events


def test_topics_are_debeziums_unless_a_format_is_given():
    assert JdbcSourceConfig.parse(GIVEN).topic_format == "${prefix}.${schema}.${table}"
    given = JdbcSourceConfig.parse(GIVEN | {"topic.name.format": "${prefix}${table}"})
    assert given.topic_format == "${prefix}${table}"
    assert JdbcSourceConfig.parse(GIVEN | {"mode": "bulk"}).topic_format == "${prefix}${table}"


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"topic.prefix": ""}, "topic.prefix"),
        ({"slot.name": "My-Slot"}, "slot.name"),
        ({"connection.url": "jdbc:sqlite:/x"}, "mode"),
        ({"query": "SELECT 1", "table.whitelist": ""}, "query"),
        ({"snapshot.mode": "sometimes"}, "snapshot.mode"),
        ({"skipped.operations": "x"}, "skipped.operations"),
        ({"key.fields": "a"}, "key.fields"),
    ],
)
def test_settings_that_do_not_fit_are_refused_by_name(change, key):
    with pytest.raises(ConfigError) as error:
        JdbcSourceConfig.parse(GIVEN | change)
    assert key in {problem.key for problem in error.value.problems}


COMMON = "version connector name ts_ms snapshot db sequence? ts_us? ts_ns?"


@pytest.mark.parametrize(
    ("schema", "name", "members"),
    [
        (pg_tables.SOURCE, "postgresql", "schema table txId? lsn? xmin? origin? origin_lsn?"),
        (mysql_tables.binlog_source("mariadb"), "mariadb", "table? server_id gtid? file pos row thread? query?"),
        (mysql_tables.binlog_source("mysql"), "mysql", "table? server_id gtid? file pos row thread? query?"),
    ],
)
def test_the_source_block_has_the_members_of_debezium_3_6(schema, name, members):
    shown = [f.name + "?" * (f.schema.optional and f.name != "snapshot") for f in schema.fields]
    assert shown == f"{COMMON} {members}".split()
    assert (schema.name, schema.version) == (f"io.debezium.connector.{name}.Source", 1)


def test_an_offset_of_debezium_within_a_transaction_tells_what_was_delivered():
    stored = {
        "lsn_proc": 120, "lsn_commit": 100, "lsn": 120, "txId": 7, "ts_usec": 5, "lsn_events_processed": 2,
        "messageType": "INSERT",
    }  # fmt: skip
    position = read_offset(stored)
    assert (position.commit_lsn, position.told) == (100, TransactionProgress(7, 120, 2))
    assert read_offset(position.offset()) == position
    assert position.moved(130).told is None
    assert read_offset(position.moved(130).offset()).told is None
    older = {name: value for name, value in stored.items() if name != "lsn_events_processed"}
    assert read_offset(older).told == TransactionProgress(7, 120, 0)
