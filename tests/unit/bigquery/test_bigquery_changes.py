"""Checks the ways of dedup beside MERGE: a view over all records, and changes for BigQuery's own change data
capture.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from bigquery_oracle import Message, batch_of, first, histories, latest
from bigquery_sql import SqlTable, config, quoted, texts, wanted
from bigquery_write_shim import _message_class
from drawn_cases import cases
from google.cloud.bigquery_storage_v1.types import AppendRowsResponse
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from connect.api.errors import ConfigError, SchemaError
from connect.api.records import TopicPartition
from connectors.bigquery.dedup.rules import PathColumn
from connectors.bigquery.dedup.sealed_batch import Piece, SealedBatch
from connectors.bigquery.dedup.view_sql import LatestView
from connectors.bigquery.rows.paths import Path
from connectors.bigquery.rows.proto_rows import descriptor_of, messages_of, order_sections
from connectors.bigquery.rows.table_schema import NULLABLE, REPEATED, ColumnSchema, ColumnType
from connectors.bigquery.rows.types import arrow_type_of
from connectors.bigquery.settings.config import BigQuerySinkConfig
from connectors.bigquery.warehouse.storage import StorageWriter
from connectors.bigquery.write.appending import rows_of
from connectors.bigquery.write.cdc_upserts import CHANGE_TYPE, SEQUENCE, Capture

SLOW = {"deadline": None, "suppress_health_check": list(HealthCheck)}


def view_rows(table: SqlTable, messages_of_runs: Sequence[Sequence[Message]]) -> list[dict[str, Any]]:
    """Add every run as it comes, and look through the view."""
    table.clear()
    for run in messages_of_runs:
        rows = rows_of(sealed(table, list(run)))
        table.database.execute("INSERT INTO target BY NAME SELECT * FROM rows")
        del rows
    return table.database.sql(f"SELECT * FROM ({view_text(table)}) ORDER BY id, text").to_arrow_table().to_pylist()


def view_text(table: SqlTable) -> str:
    view = LatestView(
        "target", [column.name for column in table.columns], [p.column for p in table.dedup.keys],
        [p.column for p in table.dedup.order], table.settings.dedup.keep, quoted,
    )  # fmt: skip
    return view.text()


def sealed(table: SqlTable, run: list[Message]) -> SealedBatch:
    admitted = table.admission.admit(batch_of(run))
    piece = Piece(TopicPartition("orders", run[0].partition), admitted.rows, admitted.offsets)
    return SealedBatch("orders", (piece,), table.columns, table.dedup, None)


@pytest.fixture(scope="module")
def viewed() -> SqlTable:
    return SqlTable(config(mode="view", null_key="append"))


@settings(max_examples=cases(10, drawn=500), **SLOW)
@given(history=histories())
def test_a_view_shows_the_latest_record_of_each_key_whatever_comes_again(viewed, history):
    runs = [list(run) for merge in history for run in merge]
    messages = [message for run in runs for message in run]
    rows = view_rows(viewed, runs)
    assert texts([row for row in rows if row["id"] is not None]) == wanted(latest(messages))
    keyless = {(m.partition, m.offset) for m in messages if m.id is None and m.text is not None}
    assert sorted((r["_kafka_partition"], r["_kafka_offset"]) for r in rows if r["id"] is None) == sorted(keyless)


def test_a_view_shows_all_rows_without_a_key_that_somebody_wrote_before(viewed):
    seen = view_rows(viewed, [[Message(0, 0, 1, 0), Message(0, 1, None, 0, text="keyless")]])
    viewed.database.execute("INSERT INTO target (id, text) VALUES (NULL, 'a'), (NULL, 'b'), (NULL, 'b'), (1, 'c')")
    assert [row["text"] for row in seen] == ["x", "keyless"]
    rows = viewed.database.sql(f"SELECT text FROM ({view_text(viewed)}) ORDER BY id, text").fetchall()
    assert [text for (text,) in rows] == ["x", "a", "b", "b", "keyless"]


@settings(max_examples=10, **SLOW)
@given(history=histories(deletes=False, null_keys=False))
def test_a_view_shows_the_first_record_of_each_key(history):
    runs = [list(run) for merge in history for run in merge]
    rows = view_rows(SqlTable(config(mode="view", keep="first")), runs)
    assert texts(rows) == wanted(first([[message for run in runs for message in run]]))


class Sent:
    """The Storage Write API, as far as messages go."""

    def append_messages(self, table: str, descriptor: Any, messages: pa.BinaryArray) -> dict[int, Exception]:
        kind = _message_class(descriptor)
        self.rows = [kind.FromString(message) for message in messages.to_pylist()]
        return {}


class Captured(Sent):
    """A table by Google's rules of change data capture: of a key the change of the largest sequence number stays."""

    def __init__(self) -> None:
        self.last: dict[int, tuple[tuple[int, ...], Any]] = {}

    def append_messages(self, table: str, descriptor: Any, messages: pa.BinaryArray) -> dict[int, Exception]:
        refused = super().append_messages(table, descriptor, messages)
        for row in self.rows:
            order = tuple(int(section, 16) for section in getattr(row, SEQUENCE).split("/"))
            if order >= self.last.get(row.id, ((), None))[0]:
                self.last[row.id] = order, row
        return refused

    def texts(self) -> list[tuple[Any, ...]]:
        alive = {key: row for key, (_, row) in self.last.items() if getattr(row, CHANGE_TYPE) == "UPSERT"}
        return [(key, alive[key].text) for key in sorted(alive)]


@pytest.mark.thorough
@pytest.mark.parametrize("way", [{}, {"delete": "gone=true"}, {"order_by": "version"}], ids=["time", "gone", "version"])
@settings(max_examples=cases(15, drawn=170), **SLOW)
@given(data=st.data())
def test_changes_keep_the_latest_record_of_each_key_whatever_comes_again(way, data):
    history = data.draw(histories(deletes="order_by" not in way, null_keys=False))
    table, sent = SqlTable(config(mode="cdc", **way)), Captured()
    for run in (list(run) for merge in history for run in merge):
        batch = sealed(table, run)
        assert Capture(sent).write(batch, rows_of(batch)) == {}  # type: ignore[arg-type]  # Capture stands in for the storage writer
    messages = [message for merge in history for run in merge for message in run]
    model = latest(messages, by_version="order_by" in way, field_deletes="delete" in way)
    assert sent.texts() == wanted(model)


def test_changes_carry_what_they_do_and_their_order():
    table, sent = SqlTable(config(mode="cdc", delete="gone=true")), Sent()
    run = [Message(3, 7, 1, 5), Message(3, 8, 1, 5, text=None), Message(3, 9, 2, -1, gone=True), Message(3, 260, 2, 0)]
    batch = sealed(table, run)
    assert Capture(sent).write(batch, rows_of(batch)) == {}  # type: ignore[arg-type]  # Capture stands in for the storage writer
    assert [getattr(row, CHANGE_TYPE) for row in sent.rows] == ["UPSERT", "DELETE", "DELETE", "UPSERT"]
    orders = [tuple(int(part, 16) for part in getattr(row, SEQUENCE).split("/")) for row in sent.rows]
    assert [(order[1] % 2**20, order[2]) for order in orders] == [(3, 7), (3, 8), (3, 9), (3, 260)]
    assert orders[2] < orders[3] < orders[0] < orders[1]
    assert [row.id for row in sent.rows] == [1, 1, 2, 2]
    assert not sent.rows[1].HasField("text")
    assert not sent.rows[0].HasField("_kafka_topic") or sent.rows[0]._kafka_topic == "orders"


def test_changes_are_ordered_by_the_chosen_field_before_their_time():
    run = [Message(3, 0, 1, 900, version=-2), Message(3, 1, 1, 5, version=7), Message(3, 2, 1, 1, version=8)]
    table, sent = SqlTable(config(mode="cdc", order_by="version")), Sent()
    batch = sealed(table, run)
    assert Capture(sent).write(batch, rows_of(batch)) == {}  # type: ignore[arg-type]  # Capture stands in for the storage writer
    orders = [tuple(int(part, 16) for part in getattr(row, SEQUENCE).split("/")) for row in sent.rows]
    assert orders == sorted(orders)
    assert len({order[0] for order in orders}) == len(run)


def test_times_that_no_clock_shows_have_a_place_in_the_order_of_changes():
    far_s = 9_000_000_000  # in the year 2311, beyond the bits of a time
    run = [
        Message(3, offset, 1, time_s) for offset, time_s in enumerate([-far_s, -60 * 86_400 * 365, 5, far_s, 2 * far_s])
    ]
    table, sent = SqlTable(config(mode="cdc", order_by="version")), Sent()
    batch = sealed(table, run)
    assert Capture(sent).write(batch, rows_of(batch)) == {}  # type: ignore[arg-type]  # Capture stands in for the storage writer
    orders = [tuple(int(part, 16) for part in getattr(row, SEQUENCE).split("/")) for row in sent.rows]
    assert orders == sorted(orders)
    assert len(set(orders)) == len(orders)


class Answering:
    """Google's client, whose stream takes all that it is sent."""

    def __init__(self) -> None:
        self.sent: list[list[bytes]] = []

    def append_rows(self, requests: Iterator[Any], **_: Any) -> Iterator[Any]:
        for request in requests:
            self.sent.append(list(request.proto_rows.rows.serialized_rows))
            yield AppendRowsResponse(append_result={})


def test_a_change_above_ten_megabytes_is_one_bad_row_and_requests_hold_what_fits():
    client = Answering()
    messages = [b"a" * 5_000_000, b"b" * 9_500_000, b"c" * 5_000_000, b"", b"d"]
    descriptor = descriptor_of((ColumnSchema("id", ColumnType.INTEGER),))
    refused = StorageWriter(client, "p", "d", timeout_s=1).append_messages("orders", descriptor, pa.array(messages))
    assert list(refused) == [1]
    assert "takes 10 MB" in str(refused[1])
    assert client.sent == [messages[:1], messages[2:]]


def test_sections_sort_as_signed_numbers_do():
    numbers = [None, -(2**63) + 1, -1, 0, 1, 2**63 - 1]
    sections = order_sections(pa.array(numbers, pa.int64())).to_pylist()
    assert [int(section, 16) for section in sections] == sorted(int(section, 16) for section in sections)
    assert all(len(section) <= 16 for section in sections)


def test_every_type_has_its_form_in_a_message():
    record = ColumnSchema("place", ColumnType.RECORD, NULLABLE, (ColumnSchema("x", ColumnType.INTEGER),
                                                                ColumnSchema("on", ColumnType.DATE)))  # fmt: skip
    values: list[tuple[ColumnSchema, Any, Any]] = [
        (ColumnSchema("i", ColumnType.INTEGER), -5, -5),
        (ColumnSchema("f", ColumnType.FLOAT), 1.5, 1.5),
        (ColumnSchema("b", ColumnType.BOOLEAN), True, True),
        (ColumnSchema("s", ColumnType.STRING), "ä", "ä"),
        (ColumnSchema("y", ColumnType.BYTES), b"\x00\xff", b"\x00\xff"),
        (ColumnSchema("d", ColumnType.DATE), date(1970, 1, 3), 2),
        (ColumnSchema("t", ColumnType.TIME), time(1, 2, 3, 4), "01:02:03.000004"),
        (
            ColumnSchema("dt", ColumnType.DATETIME),
            datetime.fromisoformat("2026-01-02 03:04:05"),
            "2026-01-02 03:04:05.000000",
        ),
        (ColumnSchema("ts", ColumnType.TIMESTAMP), datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC), 1_000_000),
        (ColumnSchema("n", ColumnType.NUMERIC), Decimal("-1.25"), "-1.250000000"),
        (ColumnSchema("j", ColumnType.JSON), "[1]", "[1]"),
        (ColumnSchema("tags", ColumnType.STRING, REPEATED), ["a", ""], ["a", ""]),
        (ColumnSchema("days", ColumnType.DATE, REPEATED), [date(1970, 1, 1)], [0]),
    ]
    columns = (*(column for column, _, _ in values), record)
    given = {column.name: value for column, value, _ in values} | {"place": {"x": 1, "on": date(1970, 1, 2)}}
    empty = dict.fromkeys(given) | {"tags": [], "days": []}
    rows = pa.table({c.name: pa.array([given[c.name], empty[c.name]], arrow_type_of(c)) for c in columns})
    descriptor = descriptor_of(columns)
    full, none = map(_message_class(descriptor).FromString, messages_of(rows, columns, descriptor).to_pylist())
    for column, _, expected in values:
        found = getattr(full, column.name)
        assert (list(found) if column.mode == REPEATED else found) == expected, column.name
        assert column.mode == REPEATED or not none.HasField(column.name)
    assert (full.place.x, full.place.on) == (1, 1)
    assert not none.HasField("place")


def test_a_name_that_protobuf_does_not_take_is_refused():
    with pytest.raises(SchemaError, match="sanitizeFieldNames"):
        descriptor_of((ColumnSchema("größe", ColumnType.INTEGER),))


def test_a_table_that_cannot_be_captured_is_refused_with_what_to_do():
    table = SqlTable(config(mode="cdc", order_by="text"))
    mode = table.settings.mode
    with pytest.raises(ConfigError, match=r"p\.d\.orders: column text.*is a STRING"):
        mode.check_new_table("p.d.orders", table.columns, table.dedup)
    with pytest.raises(ConfigError, match=r"has the primary key region, and dedup\.mode=cdc needs id.*ALTER TABLE"):
        mode.check_table("p.d.orders", ("region",), table.dedup)
    mode.check_table("p.d.orders", ("ID",), table.dedup)
    in_key = type(table.dedup)((PathColumn(Path.parse("__key.id"), "k.id", is_own=False),), table.dedup.order)
    with pytest.raises(ConfigError, match="members of a record are none"):
        mode.check_new_table("p.d.orders", table.columns, in_key)


@pytest.mark.parametrize(
    ("given", "key"),
    [
        ({"dedup.keep": "first"}, "dedup.keep"),
        ({"dedup.delete": "soft"}, "dedup.delete"),
        ({"dedup.null.key": "append"}, "dedup.null.key"),
        ({"dedup.order.by": "a,b"}, "dedup.order.by"),
        ({"dedup.window": "3d", "timestampPartitionFieldName": "at"}, "dedup.window"),
        ({"enableBatchMode": "true"}, "enableBatchMode"),
        ({"dedup.fields": ""}, "dedup.fields"),
    ],
)
def test_what_change_data_capture_cannot_do_is_refused(given, key):
    with pytest.raises(ConfigError) as refused:
        BigQuerySinkConfig.parse(
            {"project": "p", "defaultDataset": "d", "dedup.fields": "id", "dedup.mode": "cdc", **given}
        )
    assert key in {problem.key for problem in refused.value.problems}
