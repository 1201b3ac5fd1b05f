"""Checks schema.compatibility: which rows share a file, and what becomes of the fields of others, as Confluent's sink
does.
"""

from __future__ import annotations

import io
from dataclasses import replace

import fastavro
import pyarrow.parquet as pq
import pytest
from s3_http_store import Store
from s3_task_runs import TaskRun, batch, written

from connect.api import schema as s
from connect.api.errors import RejectedRowsError, SchemaError
from connect.api.records import Column
from connectors.s3.formats.compatibility import projected
from connectors.s3.formats.format_specs import AVRO_FORMAT, PARQUET_FORMAT


def version(number: int, **fields: s.Schema) -> s.Schema:
    return replace(s.struct(fields), version=number, name="Row")


V1 = version(1, n=s.INT32)
V2 = version(2, n=s.INT64, x=s.STRING.as_optional(), d=replace(s.INT32, default=7))
OLD_NEW_OLD = [
    batch([{"n": 1}], V1), batch([{"n": 2, "x": "a", "d": 1}], V2, 1), batch([{"n": 3}], V1, 2),
    batch([{"n": 4, "x": "b", "d": 2}], V2, 3),
]  # fmt: skip


def rows_of(files: dict[str, bytes], format_class: str) -> list[list[dict]]:
    if format_class == PARQUET_FORMAT:
        return [pq.read_table(io.BytesIO(body)).to_pylist() for body in files.values()]
    return [list(fastavro.reader(io.BytesIO(body))) for body in files.values()]


@pytest.mark.parametrize("format_class", [PARQUET_FORMAT, AVRO_FORMAT])
@pytest.mark.parametrize("compatibility", ["BACKWARD", "FULL"])
def test_older_rows_are_projected_to_the_newer_schema_of_the_file(store: Store, format_class: str, compatibility: str):
    files = written(store, *OLD_NEW_OLD, format_class=format_class, schema_compatibility=compatibility)
    assert rows_of(files, format_class) == [
        [{"n": 1}],
        [{"n": 2, "x": "a", "d": 1}, {"n": 3, "x": None, "d": 7}, {"n": 4, "x": "b", "d": 2}],
    ]


def test_newer_rows_that_do_not_fit_the_older_schema_start_a_file(store: Store):
    files = written(store, *OLD_NEW_OLD[:3], format_class=PARQUET_FORMAT, schema_compatibility="FORWARD")
    assert rows_of(files, PARQUET_FORMAT) == [[{"n": 1}], [{"n": 2, "x": "a", "d": 1}], [{"n": 3}]]


OTHERS = {
    "another record": replace(V2, version=1, name="Other"),
    "another type": replace(version(1, n=s.STRING)),
    "an optional field": version(1, n=s.INT32.as_optional()),
    "another parameter": version(1, n=replace(s.INT32, parameters={"unit": "m"})),
    "a lacking field": version(1, m=s.INT32.as_optional()),
    "another enum": version(1, n=replace(s.INT32, parameters={"org.apache.kafka.connect.data.Enum.B": "1"})),
}


@pytest.mark.parametrize("compatibility", ["BACKWARD", "FULL", "FORWARD"])
@pytest.mark.parametrize("other", OTHERS)
def test_rows_of_a_schema_that_does_not_fit_the_file_start_another_one(store: Store, other: str, compatibility: str):
    value = {"n": "x" if other == "another type" else 2} if other != "a lacking field" else {"m": 5}
    value |= {"x": None, "d": 1} if other == "another record" else {}
    given = batch([value], OTHERS[other], 1)
    files = written(
        store, batch([{"n": 1}], V1), given, format_class=AVRO_FORMAT, schema_compatibility=compatibility
    )  # fmt: skip
    assert rows_of(files, AVRO_FORMAT) == [[{"n": 1}], [value]]


@pytest.mark.parametrize(
    "parameters",
    [
        {"connect.record.doc": "A row."},
        {"connect.record.namespace": "x", "io.confluent.connect.avro.field.doc.n": "N."},
    ],
)
def test_remarks_on_a_schema_start_no_file(store: Store, parameters: dict[str, str]):
    remarked = replace(V1, parameters=parameters, doc="Another remark.")
    given = [batch([{"n": 1}], V1), batch([{"n": 2}], remarked, 1), batch([{"n": 3}], V1, 2)]
    files = written(store, *given, format_class=PARQUET_FORMAT, schema_compatibility="BACKWARD")
    assert rows_of(files, PARQUET_FORMAT) == [[{"n": 1}, {"n": 2}, {"n": 3}]]


def test_an_enum_with_fewer_symbols_goes_into_the_file(store: Store):
    few, more = (
        {"org.apache.kafka.connect.data.Enum": "E", **{f"org.apache.kafka.connect.data.Enum.{c}": c for c in symbols}}
        for symbols in ("A", "AB")
    )
    kinds = [version(number, n=replace(s.STRING, parameters=own)) for number, own in ((2, more), (1, few))]
    given = [batch([{"n": "A"}], kind, first) for first, kind in enumerate(kinds)]
    files = written(store, *given, format_class=PARQUET_FORMAT, schema_compatibility="BACKWARD")
    assert rows_of(files, PARQUET_FORMAT) == [[{"n": "A"}, {"n": "A"}]]


def test_newer_rows_lose_fields_that_the_file_does_not_have(store: Store):
    wider = version(2, n=s.INT32, x=s.STRING)
    files = written(
        store, batch([{"n": 1}], V1), batch([{"n": 2, "x": "a"}], wider, 1), format_class=PARQUET_FORMAT,
        schema_compatibility="FORWARD",
    )  # fmt: skip
    assert rows_of(files, PARQUET_FORMAT) == [[{"n": 1}, {"n": 2}]]


def test_none_starts_a_file_at_each_change(store: Store):
    files = written(store, *OLD_NEW_OLD, format_class=PARQUET_FORMAT)
    assert [len(rows) for rows in rows_of(files, PARQUET_FORMAT)] == [1, 1, 1, 1]


def test_merge_widens_the_file_so_that_flips_make_no_small_files(store: Store):
    files = written(store, *OLD_NEW_OLD, format_class=PARQUET_FORMAT, schema_compatibility="merge")
    assert rows_of(files, PARQUET_FORMAT) == [[
        {"n": 1, "x": None, "d": None}, {"n": 2, "x": "a", "d": 1}, {"n": 3, "x": None, "d": None},
        {"n": 4, "x": "b", "d": 2},
    ]]  # fmt: skip


def test_schemas_without_a_version_cannot_be_compared(store: Store):
    run = TaskRun(store, format_class=PARQUET_FORMAT, schema_compatibility="BACKWARD")
    run.put(batch([{"n": 1}], s.struct({"n": s.INT32})))
    with pytest.raises(RejectedRowsError, match=r"BACKWARD needs schemas with a version"):
        run.put(batch([{"n": 1, "m": 2}], s.struct({"n": s.INT32, "m": s.INT32}), 1))


def test_a_projection_goes_through_structs_lists_and_maps():
    inner1, inner2 = s.struct({"a": s.INT8}), s.struct({"a": s.INT16, "b": s.STRING.as_optional()})
    one = s.struct({"in": inner1.as_optional(), "list": s.array(inner1), "map": s.map_of(s.STRING, s.INT32)})
    two = s.struct({"in": inner2.as_optional(), "list": s.array(inner2), "map": s.map_of(s.STRING, s.INT64)})
    rows = [{"in": None, "list": [{"a": 1}, {"a": 2}], "map": {"k": 3}}, {"in": {"a": 4}, "list": [], "map": {}}]
    found = projected(Column.from_rows(rows, one), two)
    assert found.rows() == [
        {"in": None, "list": [{"a": 1, "b": None}, {"a": 2, "b": None}], "map": {"k": 3}},
        {"in": {"a": 4, "b": None}, "list": [], "map": {}},
    ]
    assert found.schema == two


def test_a_required_field_that_is_not_there_is_named():
    with pytest.raises(SchemaError) as raised:
        projected(Column.from_rows([{"in": {"a": 1}}], s.struct({"in": s.struct({"a": s.INT8})})),
                  s.struct({"in": s.struct({"a": s.INT8, "must": s.INT8})}))  # fmt: skip
    assert raised.value.field == "in.must"
