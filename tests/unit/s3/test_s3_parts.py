"""Paths, times, sizes, names and encodings, each alone."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime
from decimal import Decimal

import orjson
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connect.api import schema as s
from connect.api.errors import RejectedRowsError, SchemaError
from connect.api.records import Batch, Column, Consumed, TopicPartition
from connect.convert.json.converter import JsonConverter
from connect.convert.plain.config import JsonConfig
from connectors.s3.files.rotation import Facts, Group, Rules, group_end
from connectors.s3.files.schedule import Schedule
from connectors.s3.files.sizes import row_sizes
from connectors.s3.formats.compression import Compression
from connectors.s3.formats.file_format import merged_schema
from connectors.s3.formats.json_lines import json_lines
from connectors.s3.formats.parquet import ParquetFormat
from connectors.s3.formats.text import BytesFormat, JsonFormat
from connectors.s3.paths.layout import Extent, Layout, Place, directory
from connectors.s3.paths.partitioners import FieldAndTimePartitioner, FieldPartitioner, Paths, TimePartitioner
from connectors.s3.paths.path_format import PathFormat
from connectors.s3.paths.timestamps import FieldTime, RecordTime, Wallclock

TP = TopicPartition("t", 0)


def batch(values: list, schema: s.Schema | None = None, times: list | None = None) -> Batch:
    stamps = None if times is None else pa.array(times, pa.int64())
    consumed = Consumed(TP, pa.array(range(len(values)), pa.int64()), len(values))
    return Batch("t", Column.from_rows(values, schema), timestamps_ms=stamps, consumed=consumed)


def names_of(paths: Paths) -> list[str]:
    assert paths.codes is not None
    return [paths.names[code] for code in paths.codes.to_pylist()]


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("'year'=YYYY/'month'=MM/'day'=dd/'hour'=HH", "year=2024/month=02/day=05/hour=13"),
        ("yy-M-d h a EEE MMM MMMM", "24-2-5 1 PM Mon Feb February"),
        ("'o''clock' H''", "o'clock 13'"),
        ("xxxx-'W'ww DDD SSS", "2024-W06 036 120"),
    ],
)
def test_paths_of_a_time_follow_joda_times_letters(pattern, text):
    assert PathFormat(pattern).format(datetime(2024, 2, 5, 13, 7, 9, 120_000, tzinfo=UTC)) == text


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("DE", "f=DE"),
        (None, "f=__HIVE_DEFAULT_PARTITION__"),
        ("", "f=__HIVE_DEFAULT_PARTITION__"),
        ("a/b=%", "f=a%2Fb%3D%25"),
        ("Zoë", "f=Zoë"),
    ],
)
def test_a_directory_is_escaped_as_hive_does(value, shown):
    assert directory("f", value) == shown


def test_field_paths_take_nested_fields_of_several_types():
    rows = [{"a": {"b": 7}, "c": True}, {"a": None, "c": False}, {"a": {"b": 7}, "c": True}]
    schema = s.struct({"a": s.struct({"b": s.INT64}, optional=True), "c": s.BOOLEAN})
    paths = FieldPartitioner(("a.b", "c"), "/").paths(batch(rows, schema))
    null = "a.b=__HIVE_DEFAULT_PARTITION__/c=false"
    assert names_of(paths) == ["a.b=7/c=true", null, "a.b=7/c=true"]


def test_a_declared_field_that_does_not_exist_or_has_no_text_rejects_the_rows():
    schema = s.struct({"a": s.FLOAT64})
    for field, message in (("x", "no such field"), ("a", "cannot make a directory of Arrow type double")):
        with pytest.raises(RejectedRowsError, match=message) as raised:
            FieldPartitioner((field,), "/").paths(batch([{"a": 1.0}, {"a": 2.0}], schema))
        assert set(raised.value.rows) == {0, 1}


def test_time_paths_are_local_and_round_down_before_1970_too():
    moments = [datetime(2024, 3, 30, 23, 30, tzinfo=UTC), datetime(1969, 12, 31, 22, 59, 59, tzinfo=UTC)]
    times = [int(moment.timestamp() * 1000) for moment in moments]
    partitioner = TimePartitioner(RecordTime(), 3_600_000, PathFormat("YYYY-MM-dd-HH"), "Europe/Berlin")
    assert names_of(partitioner.paths(batch([1, 2], s.INT64, times))) == ["2024-03-31-00", "1969-12-31-23"]


def test_paths_of_fields_and_time_lie_below_each_other():
    times = TimePartitioner(RecordTime(), 3_600_000, PathFormat("'year'=YYYY"), "UTC")
    partitioner = FieldAndTimePartitioner(FieldPartitioner(("c",), "/"), times)
    rows = [{"c": "DE"}, {"c": None}, {"c": "DE"}, {"c": "FR"}]
    paths = partitioner.paths(batch(rows, s.struct({"c": s.STRING.as_optional()}), [0, 0, 3_600_000, None]))
    assert set(paths.bad) == {3}
    assert [paths.names[code] for code in paths.codes.to_pylist()[:3]] == [
        "c=DE/year=1970", "c=__HIVE_DEFAULT_PARTITION__/year=1970", "c=DE/year=1970",
    ]  # fmt: skip
    assert len(paths.names) == 2


def test_a_record_without_a_time_or_with_one_beyond_all_calendars_is_rejected():
    partitioner = TimePartitioner(RecordTime(), 3_600_000, PathFormat("YYYY"), "UTC")
    bad = partitioner.paths(batch([1, 2, 3], s.INT64, [None, 0, 1_700_000_000_000_000])).bad
    assert set(bad) == {0, 2}


@pytest.mark.parametrize(
    ("value", "schema"),
    [
        (1_704_067_200_123, s.INT64),
        (datetime(2024, 1, 1, 0, 0, 0, 123_000, tzinfo=UTC), s.TIMESTAMP_SCHEMA),
        ("2024-01-01T00:00:00.123Z", s.STRING),
        ("2024-01-01T01:00:00.123+01:00", s.STRING),
        ("2024-01-01 00:00:00.123456", s.STRING),
        ("2024-01-01T00:00:00.1234567Z", s.STRING),
        ("2024-01-01T01:00:00.123999999+01:00", s.STRING),
        ("2024-01-01T01:00:00,123+01", s.STRING),
        ("2024-01-01T00:00:00,123Z", s.STRING),
        ("1704067200123", s.STRING),
    ],
)
def test_the_time_of_a_field_is_read_from_numbers_timestamps_and_iso_text(value, schema):
    times = FieldTime("at").times(batch([{"at": value}], s.struct({"at": schema})))
    assert times.epoch_ms.to_pylist() == [1_704_067_200_123]


def test_texts_of_iso_may_be_short_and_are_read_beside_others():
    texts = ["2020", "2020-01", "2020-01-01", "2020-01-01T00:00:00,5Z", "2020-01-01T00:00:00.1234567", None, "-x1"]
    times = FieldTime("at").times(batch([{"at": text} for text in texts], s.struct({"at": s.STRING.as_optional()})))
    day = 1_577_836_800_000
    assert times.epoch_ms.to_pylist() == [2020, day, day, day + 500, day + 123, None, None]
    assert set(times.bad) == {5, 6}


def test_milliseconds_of_rows_without_a_schema_may_have_a_fraction():
    values = [{"at": 1_704_067_200_123}, {"at": 1704067200123.9}, {"at": -1.5}, {"at": 1e300}]
    times = FieldTime("at").times(batch(values, None))
    assert times.epoch_ms.to_pylist() == [1_704_067_200_123, 1_704_067_200_123, -1, None]
    assert set(times.bad) == {3}


def test_text_that_is_no_time_rejects_its_own_row_only():
    times = FieldTime("at").times(batch([{"at": "soon"}, {"at": "2024-01-01"}], s.struct({"at": s.STRING})))
    assert (times.epoch_ms.to_pylist(), set(times.bad)) == ([None, 1_704_067_200_000], {0})


def test_the_wall_clock_is_the_one_it_was_given():
    assert Wallclock(lambda: 42).times(batch([1, 2], s.INT64)).epoch_ms.to_pylist() == [42, 42]


VALUES = st.lists(
    st.fixed_dictionaries(
        {
            "n": st.none() | st.integers(-9, 9),
            "t": st.none() | st.text(max_size=5),
            "l": st.none() | st.lists(st.none() | st.text(max_size=3), max_size=3),
            "m": st.lists(st.tuples(st.text(max_size=2), st.integers(0, 9)), max_size=2),
        }
    ),
    min_size=1,
    max_size=12,
)
ARROW = pa.schema([
    ("n", pa.int64()), ("t", pa.string()), ("l", pa.list_(pa.string())), ("m", pa.map_(pa.string(), pa.int32())),
])  # fmt: skip


def expected_size(row: dict) -> int:
    texts = [row["t"], *(row["l"] or []), *(key for key, _ in row["m"])]
    size = sum(len(text.encode()) for text in texts if text is not None)
    return size + (8 if row["n"] is not None else 0) + 4 * len(row["m"])


@pytest.mark.thorough
@given(rows=VALUES, cut=st.integers(0, 12))
def test_the_size_of_a_row_does_not_depend_on_its_neighbours(rows, cut):
    whole = pa.RecordBatch.from_pylist(rows, ARROW)
    cut = min(cut, len(rows))
    sizes = [*row_sizes(whole.slice(0, cut)).to_pylist(), *row_sizes(whole.slice(cut)).to_pylist()]
    assert sizes == [expected_size(row) for row in rows]


def test_files_end_before_a_late_record_and_behind_the_one_that_fills_them():
    facts = Facts(6, ("a",), epoch_ms=pa.array([0, 5, 3, 10, 11, 12]), sizes_end=[10, 20, 30, 40, 50, 60])
    assert group_end(Rules(rows=100, interval_ms=10), Group(), "t", facts, 0) == 3
    assert group_end(Rules(rows=4), Group(rows=1), "t", facts, 0) == 3
    assert group_end(Rules(rows=100, size_bytes=25), Group(), "t", facts, 0) == 3
    assert group_end(Rules(rows=100), Group(), "t", facts, 0) is None


def test_files_end_before_another_path_or_one_path_too_many():
    facts = Facts(4, ("a", "b", "c"), codes=pa.array([0, 0, 1, 2], pa.int32()))
    assert group_end(Rules(rows=100, on_path_change=True), Group(), "t", facts, 0) == 2
    assert group_end(Rules(rows=100, max_paths=2), Group(), "t", facts, 0) == 3


def test_a_schedule_counts_from_local_midnight():
    hour = 3_600_000
    opened = int(datetime(2024, 7, 1, 21, 30, tzinfo=UTC).timestamp() * 1000)  # 23:30 in Berlin
    assert Schedule(24 * hour, None, "Europe/Berlin").due_ms(opened) == opened + hour // 2
    assert Schedule(None, 500, "UTC").due_at(0, opened) == opened + 500
    assert Schedule(None, None, "UTC").due_at(0, 0) == math.inf


def test_keys_bear_the_topic_that_was_read_below_the_topic_it_was_routed_to():
    layout = Layout("topics", "/", "+", 10, ".json")
    assert layout.key(Place("all", "p=1"), TopicPartition("one", 4), 17) == "topics/all/p=1/one+4+0000000017.json"


@pytest.mark.parametrize(
    "broken", [{"kconnect-rows": "x"}, {"kconnect-end-offset": "1"}, {"kconnect-start-timestamp": ""}]
)
def test_metadata_tells_the_extent_back_or_nothing(broken):
    extent = Extent(TopicPartition("t", 1), 5, 9, 12, 3, 1_600_000_000_000, "id")
    assert Extent.of(extent.metadata()) == extent
    untimed = Extent(TopicPartition("t", 1), 5, 9, 12, 3)
    assert Extent.of(untimed.metadata()) == untimed
    assert Extent.of({**extent.metadata(), **broken}) is None


FLAT = s.struct({
    "n": s.INT64.as_optional(), "f": s.FLOAT64.as_optional(), "t": s.STRING.as_optional(), "b": s.BOOLEAN.as_optional(),
    "d": s.DATE_SCHEMA.as_optional(), "at": s.TIMESTAMP_SCHEMA.as_optional(),
})  # fmt: skip
FLAT_ROWS = st.lists(
    st.none()
    | st.fixed_dictionaries(
        {
            "n": st.none() | st.integers(-(2**63), 2**63 - 1),
            "f": st.none() | st.floats(),
            "t": st.none() | st.text(),
            "b": st.none() | st.booleans(),
            "d": st.none() | st.dates(),
            "at": st.none() | st.integers(-(10**12), 10**12).map(lambda ms: datetime.fromtimestamp(ms / 1000, UTC)),
        }
    ),
    min_size=1,
    max_size=10,
)


@pytest.mark.thorough
@settings(deadline=None)
@given(rows=FLAT_ROWS)
def test_json_by_columns_is_json_by_rows(rows):
    by_rows = Column.from_rows(rows, FLAT)
    by_columns = Column.from_arrow(by_rows.arrow(), FLAT)
    lines = [json_lines(column, numeric_decimals=False).to_pylist() for column in (by_rows, by_columns)]
    parsed = [[None if line is None else json.loads(line) for line in side] for side in lines]
    assert parsed[0] == parsed[1]


def test_json_keeps_absent_fields_absent_and_numbers_whole():
    lines = json_lines(Column.from_rows([{"a": 2**70}, {"b": None}, None], None), numeric_decimals=False).to_pylist()
    assert lines == [b'{"a":1180591620717411303424}', b'{"b":null}', None]


def test_json_of_decimals_is_base64_or_a_number():
    column = Column.from_rows([Decimal("-1.28"), Decimal("2.50")], s.decimal(2))
    assert json_lines(column, numeric_decimals=False).to_pylist() == [b'"gA=="', b'"APo="']
    assert json_lines(column, numeric_decimals=True).to_pylist() == [b"-1.28", b"2.50"]


def test_json_of_floats_that_are_no_numbers_is_text():
    column = Column.from_rows([{"f": float("nan")}, {"f": float("-inf")}], s.struct({"f": s.FLOAT64}))
    assert [orjson.loads(line) for line in json_lines(column, numeric_decimals=False).to_pylist()] == [
        {"f": "NaN"}, {"f": "-Infinity"},
    ]  # fmt: skip


@pytest.mark.parametrize("compression", [Compression(), Compression("gzip", 9), Compression("zstd")])
def test_the_rest_of_a_text_file_is_what_the_rest_of_its_rows_would_be(compression):
    file_format = BytesFormat(".bin", b"|", compression)
    values = [b"a|b", b"", b"ccc", b"d"]
    whole, rest = file_format.encoder(), file_format.encoder()
    whole.write(file_format.prepare(batch(values[:1], s.BYTES)).rows, None)
    whole.write(file_format.prepare(batch(values[1:], s.BYTES)).rows, None)
    rest.write(file_format.prepare(batch(values[2:], s.BYTES)).rows, None)
    assert whole.end().without_first(2).data.equals(rest.end().data)


def test_values_that_are_no_bytes_are_refused_by_the_byte_format():
    with pytest.raises(SchemaError, match="ByteArrayConverter"):
        BytesFormat(".bin", b"", Compression()).prepare(batch([{"a": 1}], None))


def test_a_struct_without_fields_is_refused_by_parquet_with_its_path():
    words = r"Field 'a\.b': Parquet cannot hold a struct without fields"
    with pytest.raises(RejectedRowsError, match=words) as raised:
        ParquetFormat("none").prepare(batch([{"a": {"b": {"c": 1}}}, {"a": {"b": {}}}, {"a": {"b": {"c": None}}}]))
    assert set(raised.value.rows) == {1}


def test_schemaless_types_that_contradict_each_other_start_a_new_file():
    first, second = (ParquetFormat("none").prepare(batch([{"a": value}])) for value in (1, "one"))
    with pytest.raises(SchemaError, match="The schema changed"):
        merged_schema(first.schema, second.schema, may_widen=True)


def test_text_needs_no_schema():
    prepared = JsonFormat(Compression()).prepare(batch([{"a": 1}]))
    assert merged_schema(None, prepared.schema, may_widen=prepared.may_widen) is None


@pytest.mark.parametrize(
    ("before", "after"),
    [(pa.decimal128(9, 2), pa.float64()), (pa.string(), pa.binary()), (pa.int64(), pa.decimal128(38, 5))],
)
def test_a_value_becomes_none_of_another_kind(before, after):
    one, other = (pa.schema([("a", pa.struct([("b", kind)]))]) for kind in (before, after))
    for first, second in ((one, other), (other, one)):
        with pytest.raises(SchemaError, match=r"Field 'a\.b'.*does not become"):
            merged_schema(first, second, may_widen=True)


def test_a_number_becomes_a_wider_one():
    kinds = [(pa.int32(), pa.int64()), (pa.float32(), pa.float64()), (pa.decimal128(9, 2), pa.decimal128(12, 2))]
    for before, after in kinds:
        merged = merged_schema(pa.schema([("a", before)]), pa.schema([("a", after)]), may_widen=True)
        assert merged.field("a").type == after


def test_what_was_read_as_json_is_written_as_it_was_on_one_line():
    texts = pa.array([b'{"a":1.50}', b"null", None], pa.binary())
    array = pa.array([{"a": 1.5}, None, None])
    column = Column(None, 3, arrow=lambda: array, rows=lambda: pytest.fail("no row is needed"), json=lambda: texts)
    assert json_lines(column, numeric_decimals=False).to_pylist() == [b'{"a":1.50}', None, None]


def test_rows_are_written_in_parts_without_a_gap():
    rows = [None if i % 7 == 0 else {"i": i} for i in range(2345)]
    lines = json_lines(Column.from_rows(rows, None), numeric_decimals=False).to_pylist()
    assert [None if line is None else orjson.loads(line) for line in lines] == rows
    assert json_lines(Column.from_rows([], None), numeric_decimals=False).to_pylist() == []


LOOSE_ROWS = st.lists(
    st.fixed_dictionaries(
        {"n": st.integers(-(2**53), 2**53), "t": st.text(max_size=4), "b": st.booleans()},
        optional={"f": st.floats(-1e6, 1e6) | st.integers(0, 3), "o": st.none() | st.text(max_size=2)},
    ),
    min_size=1,
    max_size=5,
)


@pytest.mark.thorough
@given(rows=LOOSE_ROWS)
def test_schemaless_rows_are_written_alike_with_and_without_columns(rows):
    converter = JsonConverter(JsonConfig.parse({"schemas.enable": "false"}))
    (read,) = converter.decode("t", pa.array([orjson.dumps(row) for row in rows], pa.binary()))
    columns = Column(None, len(rows), arrow=read.arrow, rows=read.rows)
    lines = json_lines(columns, numeric_decimals=False).to_pylist()
    assert [orjson.loads(line) for line in lines] == rows
    kinds = [[type(value) for _, value in sorted(orjson.loads(line).items())] for line in lines]
    assert kinds == [[type(value) for _, value in sorted(row.items())] for row in rows]
