"""Reads data files: wherever one is cut, each row is in one piece; types are kept; what is no row is told with its
place.
"""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from connect.api.allowed_paths import EVERYWHERE
from connect.api.errors import ConfigError, ConnectError, SchemaError
from connect.api.optional.bulk import SplitSize
from connect.lib.deadline import Deadline
from connect.testing.fakes import FakeSourceContext, OffsetStore
from connectors.file.data_config import DataFilesSourceConfig
from connectors.file.data_source import DataFilesSourceConnector, DataFilesSourceTask
from connectors.file.data_store import DataStore

ROWS = 500


def config(folder: Path, kind: str, **settings: str) -> DataFilesSourceConfig:
    given = {**EVERYWHERE, "folder": str(folder), "format": kind, "topic": "rows"}
    return DataFilesSourceConfig.parse(given | {k.replace("_", "."): v for k, v in settings.items()})


def write(folder: Path, kind: str, name: str = "a", rows: range = range(ROWS)) -> None:
    file = folder / f"{name}.{kind}"
    if kind == "parquet":
        table = pa.table({"id": list(rows), "name": [f"naïve {n}" for n in rows]})
        pq.write_table(table, file, row_group_size=64)
    elif kind == "csv":
        file.write_text("id,name\n" + "".join(f'{n},"naïve, {n}"\n' for n in rows))
    else:
        file.write_text("\n".join(f'{{"id": {n}, "name": "naïve {n}"}}' for n in rows))


def bulk_ids(source: DataFilesSourceConfig, size: SplitSize) -> list[int]:
    connector = DataFilesSourceConnector(source)
    plan, reader = connector.plan_bulk(size, Deadline.after(5)), connector.bulk_reader()
    assert len({split.id for split in plan.splits}) == len(plan.splits)
    found = []
    for split in plan.splits:
        rows = [row["id"] for batch in reader.read(split, None) for row in batch.values.rows()]
        assert reader.count(split) == len(rows)
        found += rows
    return [int(n) for n in found]


def polled(task: DataFilesSourceTask) -> list[object]:
    rows: list[object] = []
    while (batch := task.poll(Deadline.after(0.05))) is not None:
        rows += batch.values.rows()
    return rows


def polled_of(source: DataFilesSourceConfig) -> list[object]:
    task = DataFilesSourceTask(source, 0, 1)
    task.open(FakeSourceContext())
    return polled(task)


@pytest.mark.parametrize("kind", ["parquet", "csv", "json"])
@pytest.mark.parametrize("rows", [1, 7, 64, 499, 10_000])
def test_each_row_is_in_one_piece_wherever_files_are_cut(tmp_path, kind, rows):
    write(tmp_path, kind)
    write(tmp_path, kind, "b", range(ROWS, ROWS + 3))
    assert Counter(bulk_ids(config(tmp_path, kind), SplitSize(rows, 10**9))) == Counter(range(ROWS + 3))


@pytest.mark.parametrize("kind", ["parquet", "csv", "json"])
def test_a_piece_goes_on_behind_any_batch_of_it(tmp_path, kind):
    write(tmp_path, kind)
    connector = DataFilesSourceConnector(config(tmp_path, kind))
    reader = connector.bulk_reader()
    reader._format._page_rows = 10
    for split in connector.plan_bulk(SplitSize(120, 10**9), Deadline.after(5)).splits:
        batches = list(reader.read(split, None))
        assert len(batches) > 2
        behind = [row for batch in batches[2:] for row in batch.values.rows()]
        again = reader.read(split, batches[1].position.offset)
        assert [row for batch in again for row in batch.values.rows()] == behind


@pytest.mark.parametrize("kind", ["parquet", "csv", "json"])
def test_a_task_reads_each_file_once_and_goes_on_where_offsets_say(tmp_path, kind):
    write(tmp_path, kind)
    source = config(tmp_path, kind, batch_max_rows="50", poll_interval_ms="1")
    store, ids = OffsetStore(), []
    first = DataFilesSourceTask(source, 0, 1)
    first.open(FakeSourceContext(store=store))
    for _ in range(3):
        batch = first.poll(Deadline.after(1))
        ids += [int(row["id"]) for row in batch.values.rows()]
        store.store([batch.position])
    second = DataFilesSourceTask(source, 0, 1)
    second.open(FakeSourceContext(store=store))
    write(tmp_path, kind, "b", range(ROWS, ROWS + 5))
    while (batch := second.poll(Deadline.after(0.3))) is not None:
        ids += [int(row["id"]) for row in batch.values.rows()]
        store.store([batch.position])
    assert Counter(ids) == Counter(range(ROWS + 5))
    third = DataFilesSourceTask(source, 0, 1)
    third.open(FakeSourceContext(store=store))
    assert polled(third) == []


def test_what_was_read_in_bulk_is_not_read_again_by_the_tasks(tmp_path):
    write(tmp_path, "csv")
    source = config(tmp_path, "csv", poll_interval_ms="1")
    store = OffsetStore()
    store.store(DataFilesSourceConnector(source).plan_bulk(SplitSize(100, 10**9), Deadline.after(5)).following)
    task = DataFilesSourceTask(source, 0, 1)
    task.open(FakeSourceContext(store=store))
    assert polled(task) == []
    write(tmp_path, "csv", "late", range(3))
    assert [row["id"] for row in polled(task)] == ["0", "1", "2"]


def test_files_are_shared_out_among_tasks(tmp_path):
    for n in range(20):
        write(tmp_path, "csv", f"f{n}", range(n, n + 1))
    connector = DataFilesSourceConnector(config(tmp_path, "csv", poll_interval_ms="1"))
    ids = []
    for given in connector.task_configs(3):
        task = connector.task({**given, **EVERYWHERE})
        task.open(FakeSourceContext())
        own = [int(row["id"]) for row in polled(task)]
        assert own
        ids += own
    assert Counter(ids) == Counter(range(20))


def test_types_of_parquet_files_are_kept(tmp_path):
    moment = datetime(2026, 1, 2, 3, 4, 5, 678901)  # noqa: DTZ001 - without a zone
    table = pa.table({
        "small": pa.array([1], pa.int8()), "huge": pa.array([2**64 - 1], pa.uint64()),
        "price": pa.array([Decimal("1.20")]), "none": pa.array([None], pa.int32()),
        "kind": pa.array(["x"]).dictionary_encode(), "at": pa.array([moment], pa.timestamp("us")),
        "tags": pa.array([["a", None]]), "text": pa.array(["t"], pa.large_string()),
    })  # fmt: skip
    pq.write_table(table, tmp_path / "a.parquet")
    task = DataFilesSourceTask(config(tmp_path, "parquet"), 0, 1)
    task.open(FakeSourceContext())
    batch = task.poll(Deadline.after(1))
    (row,) = batch.values.rows()
    assert row["at"] == 1767323045678901

    assert {k: v for k, v in row.items() if k != "at"} == {
        "small": 1, "huge": Decimal(2**64 - 1), "price": Decimal("1.20"), "kind": "x", "tags": ["a", None], "text": "t",
        "none": None,
    }  # fmt: skip
    assert {f.name: f.schema.name for f in batch.values.schema.fields}["at"] == "io.debezium.time.MicroTimestamp"
    refusing = DataFilesSourceTask(config(tmp_path, "parquet", time_precision_mode="connect"), 0, 1)
    refusing.open(FakeSourceContext())
    with pytest.raises(SchemaError, match="at"):
        refusing.poll(Deadline.after(1))


def test_values_of_csv_files_are_text_null_or_what_csv_types_says(tmp_path):
    (tmp_path / "a.csv").write_bytes(b'id;name;ok\r\n1;"";true\r\n2;;\r\n\r\n3;"a;b";0')
    task = DataFilesSourceTask(config(tmp_path, "csv", csv_delimiter=";", csv_types="id:int64,ok:boolean"), 0, 1)
    task.open(FakeSourceContext())
    assert polled(task) == [
        {"id": 1, "name": "", "ok": True}, {"id": 2, "name": None, "ok": None}, {"id": 3, "name": "a;b", "ok": False},
    ]  # fmt: skip


def test_values_of_csv_files_may_hold_line_ends_where_that_is_said(tmp_path):
    (tmp_path / "a.csv").write_text('id,name\n1,"a\nb"\n2,"c ""d""\n\n"\n3,e\n')
    source = config(tmp_path, "csv", csv_multiline="true", batch_max_rows="1")
    task = DataFilesSourceTask(source, 0, 1)
    task.open(FakeSourceContext())
    assert [row["name"] for row in polled(task)] == ["a\nb", 'c "d"\n\n', "e"]
    assert bulk_ids(source, SplitSize(1, 1)) == [1, 2, 3]


def test_a_line_end_in_quotes_names_the_key_that_allows_it(tmp_path):
    (tmp_path / "a.csv").write_text('id,name\n1,"a\nb"\n')
    ctx = FakeSourceContext()
    task = DataFilesSourceTask(config(tmp_path, "csv"), 0, 1)
    task.open(ctx)
    assert polled(task) == []
    error = ctx.rejected[0].reason
    assert error.key == "csv.multiline"
    assert "csv.multiline=true" in str(error)


def test_values_between_tabs_are_read_by_a_word(tmp_path):
    (tmp_path / "a.csv").write_bytes(b'a\tb\n1,5\t2\n\t\n\n"x\ty"\t\n')
    rows = polled_of(config(tmp_path, "csv", csv_delimiter="tab"))
    assert rows == [{"a": "1,5", "b": "2"}, {"a": None, "b": None}, {"a": "x\ty", "b": None}]


def test_a_file_whose_lines_end_by_carriage_returns_is_refused_and_not_read_as_empty(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"a,b\r1,2\r3,4\r")
    source = config(tmp_path, "csv")
    with pytest.raises(ConnectError, match=r"a\.csv holds its header and rows: .* carriage returns") as told:
        polled_of(source)
    assert told.value.fix == "Write the file with line feeds, as `tr '\\r' '\\n'` makes it."
    with pytest.raises(ConnectError, match="carriage returns alone"):
        bulk_ids(source, SplitSize(10, 10**9))


def test_a_line_that_a_carriage_return_cuts_is_rejected_alone(tmp_path):
    (tmp_path / "a.csv").write_bytes(b'a,b\n1,2\r3,4\n5,"6\r7"\n8,9\r\n')
    task, ctx = DataFilesSourceTask(config(tmp_path, "csv"), 0, 1), FakeSourceContext()
    task.open(ctx)
    assert polled(task) == [{"a": "5", "b": "6\r7"}, {"a": "8", "b": "9"}]
    (bad,) = ctx.rejected
    assert bad.record.value == b"1,2\r3,4"
    assert "This line is 2 rows: a carriage return outside of quotes ends one" in str(bad.reason)


def test_a_file_without_a_header_whose_lines_end_by_carriage_returns_is_one_bad_line(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"1,2\r3,4\r")
    source = config(tmp_path, "csv", csv_header="false", csv_columns="a,b")
    task, ctx = DataFilesSourceTask(source, 0, 1), FakeSourceContext()
    task.open(ctx)
    assert polled(task) == []
    assert [bad.record.value for bad in ctx.rejected] == [b"1,2\r3,4"]


def test_a_quote_that_nothing_closes_is_a_row_that_is_rejected(tmp_path):
    (tmp_path / "a.csv").write_text('id,name\n1,a\n2,"b\n3,c\n')
    ctx = FakeSourceContext()
    task = DataFilesSourceTask(config(tmp_path, "csv", csv_multiline="true"), 0, 1)
    task.open(ctx)
    assert [row["id"] for row in polled(task)] == ["1"]
    assert [rejected.record.value for rejected in ctx.rejected] == [b'2,"b\n3,c\n']


def test_numbers_of_json_files_are_what_they_were(tmp_path):
    (tmp_path / "a.json").write_text('{"n": 18446744073709551617, "x": [1.5, null]}\n[2]\n"\\ud800"\n')
    task = DataFilesSourceTask(config(tmp_path, "json"), 0, 1)
    task.open(FakeSourceContext())
    assert polled(task) == [{"n": 2**64 + 1, "x": [1.5, None]}, [2], "\ud800"]


def test_white_space_is_a_value_in_a_file_of_one_column(tmp_path):
    (tmp_path / "a.csv").write_text("name\n \n\nb\n")
    source = config(tmp_path, "csv")
    task = DataFilesSourceTask(source, 0, 1)
    task.open(FakeSourceContext())
    assert polled(task) == [{"name": " "}, {"name": "b"}]
    (tmp_path / "a.csv").write_text("id,name\n \n\n1,b\n")
    assert bulk_ids(source, SplitSize(10, 10**9)) == [1]


def test_a_byte_order_mark_is_no_part_of_a_json_file(tmp_path):
    (tmp_path / "a.json").write_bytes(b"\xef\xbb\xbf1\n  \n12345678901234567890123\n")
    task = DataFilesSourceTask(config(tmp_path, "json"), 0, 1)
    task.open(FakeSourceContext())
    assert polled(task) == [1, 12345678901234567890123]


@pytest.mark.parametrize(
    ("kind", "text", "bad"),
    [
        *(
            ("json", f'{{"id": 1}}\n{line}\n{{"id": 4}}\n', [line.encode()])
            for line in (
                "NaN",
                '{"id": -Infinity}',
                "[1e999]",
                '{"id": 12345678901234567890123, "x": NaN}',
            )
        ),
        ("csv", "id,name\n1,a\nx,b\n3,c,d\n4,e\n", [b"x,b", b"3,c,d"]),
        ("json", '{"id": 1}\n[,]\n{"id": 4}\n', [b"[,]"]),
        ("json", '{"id": 1}\n' + "[" * 100_000 + '\n{"id": 4}\n', [b"[" * 100_000]),
    ],
)
def test_a_line_that_is_no_row_is_rejected_alone_and_stops_a_bulk_read_by_its_place(tmp_path, kind, text, bad):
    (tmp_path / f"a.{kind}").write_text(text)
    source = config(tmp_path, kind, csv_types="id:int64")
    ctx = FakeSourceContext()
    task = DataFilesSourceTask(source, 0, 1)
    task.open(ctx)
    assert [row["id"] for row in polled(task)] == [1, 4]
    assert [rejected.record.value for rejected in ctx.rejected] == bad
    with pytest.raises(ConnectError, match=rf"a\.{kind}, byte {text.index(bad[0].decode())}: "):
        bulk_ids(source, SplitSize(10, 10**9))


def test_a_file_that_changed_since_it_was_planned_stops_the_bulk_read(tmp_path):
    write(tmp_path, "csv")
    connector = DataFilesSourceConnector(config(tmp_path, "csv"))
    (split,) = connector.plan_bulk(SplitSize(10_000, 10**9), Deadline.after(5)).splits
    (tmp_path / "a.csv").write_text("id,name\n1,a\n")
    with pytest.raises(ConnectError, match="when it was planned"):
        list(connector.bulk_reader().read(split, None))


def test_a_link_to_a_folder_that_the_worker_does_not_allow_is_told_and_not_listed(tmp_path):
    allowed, outside = tmp_path / "allowed", tmp_path / "outside"
    for folder in (allowed, outside):
        folder.mkdir()
        write(folder, "csv")
    (allowed / "inner").mkdir()
    write(allowed / "inner", "csv")
    listed = DataStore(config(allowed, "csv", allowed_paths=str(allowed))).list()
    assert [file.path for file in listed] == [f"{allowed}/a.csv", f"{allowed}/inner/a.csv"]
    (allowed / "link").symlink_to(outside)
    with pytest.raises(ConfigError, match=f"lets no configuration name .* allowed.paths=…,{allowed}/link"):
        DataStore(config(allowed, "csv", allowed_paths=str(allowed))).list()
    assert len(DataStore(config(allowed, "csv", allowed_paths=str(tmp_path))).list()) == 3


def test_empty_files_and_those_that_are_hidden_or_do_not_match_give_nothing(tmp_path):
    for name in ("empty.csv", "_SUCCESS", ".a.csv", "b.txt"):
        (tmp_path / name).write_text("" if name == "empty.csv" else "id\n1\n")
    assert bulk_ids(config(tmp_path, "csv", files="*.csv"), SplitSize(10, 10**9)) == []
    task = DataFilesSourceTask(config(tmp_path, "csv", files="*.csv"), 0, 1)
    task.open(FakeSourceContext())
    assert polled(task) == []


@pytest.mark.parametrize(
    ("settings", "key"),
    [
        ({"csv.types": "id:integer"}, "csv.types"),
        ({"csv.header": "false"}, "csv.columns"),
        ({"csv.delimiter": ";;"}, "csv.delimiter"),
        ({"aws.access.key.id": "a"}, "aws.secret.access.key"),
        ({"format": "xml"}, "format"),
    ],
)
def test_settings_that_do_not_fit_are_told_by_their_key(tmp_path, settings, key):
    given = {"folder": str(tmp_path), "format": "csv", "topic": "rows"} | settings
    with pytest.raises(ConfigError) as caught:
        DataFilesSourceConfig.parse({**given, **EVERYWHERE})
    assert [problem.key for problem in caught.value.problems] == [key]


def test_a_check_tells_a_missing_folder_and_an_empty_one(tmp_path):
    missing = DataFilesSourceConnector(config(tmp_path / "no", "csv"))
    with pytest.raises(ConfigError, match="There is no"):
        missing.check(Deadline.after(5))
    assert "No file" in DataFilesSourceConnector(config(tmp_path, "csv")).check(Deadline.after(5))[0]
    (tmp_path / "a.parquet").write_bytes(b"nothing of the kind")
    with pytest.raises(ConnectError, match=r"a\.parquet is no Parquet file"):
        DataFilesSourceConnector(config(tmp_path, "parquet")).check(Deadline.after(5))


@pytest.mark.parametrize(
    ("url", "place", "protocol"),
    [
        ("", "", "https"), ("http://host:8333/", "host:8333", "http"), ("https://host/s3", "host/s3", "https"),
        ("HTTP://Host", "Host", "http"), ("host:9000", "host:9000", "https"), ("http://u:p@host", "host", "http"),
    ],
)  # fmt: skip
def test_the_store_is_asked_at_the_address_that_is_judged(url: str, place: str, protocol: str) -> None:
    given = {"folder": "s3://b/f", "format": "csv", "topic": "t", "store.url": url, "allowed.hosts": "host"}
    assert DataFilesSourceConfig.parse(given).endpoint == (protocol, place)


@pytest.mark.parametrize("url", ["http://host/x://foreign.example:9000", "http://host/?x://foreign.example", "host:x"])
def test_a_store_has_no_second_address_behind_the_one_that_the_worker_lists(url: str) -> None:
    given = {"folder": "s3://b/f", "format": "csv", "topic": "t", "store.url": url, "allowed.hosts": "host"}
    with pytest.raises(ConfigError, match=r"store\.url is one address"):
        DataFilesSourceConfig.parse(given)
