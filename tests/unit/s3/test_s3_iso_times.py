"""Checks texts of times in CSV and in Aiven's lines: digits below milliseconds, and years that Arrow does not print."""

from __future__ import annotations

import csv
import datetime as dt
import io
import json

import pyarrow as pa
import pytest
from s3_task_runs import batch, written

from connect.api import schema as s
from connect.api.records import Column
from connectors.s3.formats.envelope import _json_times
from connectors.s3.formats.format_specs import CSV_FORMAT
from connectors.s3.formats.iso_times import iso_texts

MS: list[tuple[int, str]] = [  # what java.time.Instant prints, with .000 for a whole second
    (0, "1970-01-01T00:00:00.000Z"),
    (1_700_000_000_005, "2023-11-14T22:13:20.005Z"),
    (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
    (253_402_300_800_000, "+10000-01-01T00:00:00.000Z"),
    (32_503_680_000_000_000, "+1031970-08-14T00:00:00.000Z"),
    (-62_167_219_200_000, "0000-01-01T00:00:00.000Z"),
    (-62_167_219_200_001, "-0001-12-31T23:59:59.999Z"),
]


def moment(us: int) -> dt.datetime:
    return dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(microseconds=us)


@pytest.mark.parametrize("zone", ["UTC", None])
def test_milliseconds_have_the_text_of_java(zone):
    found = iso_texts(pa.array([*(ms for ms, _ in MS), None], pa.timestamp("ms", zone)))
    assert found.to_pylist() == [*(text for _, text in MS), None]


def test_each_year_of_java_is_printed_alone_and_among_others():
    for ms, text in MS:
        assert iso_texts(pa.array([ms], pa.timestamp("ms", "UTC"))).to_pylist() == [text]
    assert iso_texts(pa.array([], pa.timestamp("us"))).to_pylist() == []


@pytest.mark.parametrize(
    ("unit", "number", "text"),
    [
        ("s", 5, "1970-01-01T00:00:05.000Z"),
        ("us", 5_000, "1970-01-01T00:00:00.005Z"),
        ("us", 5_001, "1970-01-01T00:00:00.005001Z"),
        ("us", -1, "1969-12-31T23:59:59.999999Z"),
        ("ns", 5_000_001, "1970-01-01T00:00:00.005000001Z"),
        ("us", 253_402_300_800_000_001, "+10000-01-01T00:00:00.000001Z"),
    ],
)
def test_finer_digits_are_written_where_there_are_some(unit, number, text):
    assert iso_texts(pa.array([number, None, 0], pa.timestamp(unit))).to_pylist() == [
        text, None, "1970-01-01T00:00:00.000Z",
    ]  # fmt: skip


def test_a_csv_file_keeps_microseconds_of_schemaless_times(store):
    (body,) = written(
        store, batch([{"at": moment(5)}, {"at": moment(5_000)}, {"at": None}]), format_class=CSV_FORMAT
    ).values()
    cells = [row["at"] for row in csv.DictReader(io.StringIO(body.decode()))]
    assert cells[:2] == ["1970-01-01T00:00:00.000005Z", "1970-01-01T00:00:00.005Z"]


def test_aivens_lines_have_any_timestamp_of_a_record():
    given = batch([1] * len(MS), s.INT64)
    told = _json_times(type(given)(
        "t", Column.from_rows([1] * len(MS), s.INT64), timestamps_ms=pa.array([ms for ms, _ in MS], pa.int64()),
        consumed=given.consumed,
    ))  # fmt: skip
    assert [json.loads(text) for text in told.to_pylist()] == [text for _, text in MS]
