"""Maps without a schema that come as columns stay columns, and give the rows that row by row would give."""

import datetime as dt
from collections.abc import Mapping

import orjson
import pyarrow as pa
import pytest
from drawn_cases import cases
from hypothesis import given, settings
from hypothesis import strategies as st

from connect import native
from connect.api.records import Batch, Column, Consumed, TopicPartition
from connect.convert.json.converter import JsonConverter
from connect.convert.plain.config import JsonConfig
from connect.plugins.catalog import Catalog
from connect.runtime.parts.task_parts import build_chain
from connect.runtime.records.chain import apply_chain
from connect.runtime.settings.connector_config import SinkConnectorConfig
from connectors.s3.formats.json_lines import json_lines

ROWS = [{"id": 1, "name": "a", "inner": {"x": None}}, None, {"name": "", "inner": {"x": [1, 2]}}]
KINDS = "org.apache.kafka.connect.transforms."
CONFIGS = {
    "static": {"type": f"{KINDS}InsertField$Value", "static.field": "origin", "static.value": "here"},
    "overwritten": {"type": f"{KINDS}InsertField$Value", "static.field": "name", "static.value": "here"},
    "where from": {
        "type": f"{KINDS}InsertField$Value", "topic.field": "t", "partition.field": "p", "offset.field": "o",
        "timestamp.field": "ms",
    },
    "renamed": {"type": f"{KINDS}ReplaceField$Value", "renames": "id:key,inner:outer"},
    "renamed onto another": {"type": f"{KINDS}ReplaceField$Value", "renames": "id:name"},
    "excluded": {"type": f"{KINDS}ReplaceField$Value", "exclude": "id,missing"},
    "included": {"type": f"{KINDS}ReplaceField$Value", "include": "inner"},
    "masked": {"type": f"{KINDS}MaskField$Value", "fields": "name"},
    "replaced": {"type": f"{KINDS}MaskField$Value", "fields": "id,name", "replacement": "7"},
    "masked where there is no field": {"type": f"{KINDS}MaskField$Value", "fields": "missing"},
    "cast": {"type": f"{KINDS}Cast$Value", "spec": "id:string,ok:int8,part:int64,moment:int32"},
    "cast to text": {"type": f"{KINDS}Cast$Value", "spec": "part:string,ok:string,moment:string,name:string"},
    "cast to a narrow fraction": {"type": f"{KINDS}Cast$Value", "spec": "part:float32"},
    "written": {
        "type": f"{KINDS}TimestampConverter$Value", "field": "moment", "target.type": "string",
        "format": "yyyy-MM-dd'T'HH:mm:ss 100%",
    },
    "written with its fraction": {
        "type": f"{KINDS}TimestampConverter$Value", "field": "moment", "target.type": "string",
        "format": "dd.MM.yyyy HH:mm:ss.SSS",
    },
    "in seconds": {
        "type": f"{KINDS}TimestampConverter$Value", "field": "moment", "target.type": "unix",
        "unix.precision": "seconds",
    },
    "read": {
        "type": f"{KINDS}TimestampConverter$Value", "field": "day", "target.type": "unix", "format": "yyyy-MM-dd",
    },
    "extracted": {"type": f"{KINDS}ExtractField$Value", "field": "inner"},
    "extracted inside": {
        "type": f"{KINDS}ExtractField$Value", "field": "inner.x", "field.syntax.version": "V2",
    },
    "extracted nowhere": {"type": f"{KINDS}ExtractField$Value", "field": "missing"},
    "hoisted": {"type": f"{KINDS}HoistField$Value", "field": "all"},
    "flat": {"type": f"{KINDS}Flatten$Value"},
    "keyed": {"type": f"{KINDS}ValueToKey", "fields": "id,name"},
    "nothing left": {"type": f"{KINDS}ReplaceField$Value", "include": "missing"},
}  # fmt: skip


def refuse(name: str, batch: Batch, rows: object) -> None:
    raise AssertionError(f"{name} refused rows {rows} of {len(batch)}")


def transformed(column: Column, config: dict[str, str], times: pa.Array) -> Batch:
    keys = {
        "name": "sink", "connector.class": "FileStreamSink", "topics": "t", "transforms": "change",
        **{f"transforms.change.{key}": value for key, value in config.items()},
    }  # fmt: skip
    consumed = Consumed(TopicPartition("t", 3), pa.array(range(10, 10 + len(column))), 10 + len(column))
    batch = Batch("t", column, partition=3, timestamps_ms=times, consumed=consumed)
    [made] = apply_chain(build_chain(Catalog.installed(), SinkConnectorConfig.parse(keys), {}), batch, refuse)
    return made


def decoded(rows: list, array: pa.Array) -> Column:
    """As the JSON converter gives rows without a schema: in both forms. Only the rows tell an absent key from null."""
    return Column(None, len(rows), arrow=lambda: array, rows=lambda: rows)


ANY_ROWS = [name for name, config in CONFIGS.items() if "InsertField" in config["type"] or "Replace" in config["type"]]


@pytest.mark.parametrize("name", ANY_ROWS)
@pytest.mark.parametrize("times", [[5, 6, 7], [5, None, None]])
@pytest.mark.parametrize("array", [pa.array(ROWS), pa.array([ROWS[2], *ROWS]).slice(1)], ids=["whole", "part"])
def test_both_forms_are_those_of_rows_changed_one_by_one(name: str, times: list, array: pa.Array) -> None:
    when = pa.array(times, pa.int64())
    expected = transformed(Column.from_rows(ROWS, None), CONFIGS[name], when).values
    made = transformed(decoded(ROWS, array), CONFIGS[name], when).values

    assert made.rows() == expected.rows()
    assert made.arrow().to_pylist() == expected.arrow().to_pylist()
    assert made.schema is None


@pytest.mark.parametrize("name", [n for n in ANY_ROWS if n not in {"nothing left", "renamed onto another"}])
def test_no_row_is_made_for_a_sink_that_takes_columns(name: str) -> None:
    def no_rows() -> list:
        raise AssertionError("rows were made")

    column = Column(None, len(ROWS), arrow=lambda: pa.array(ROWS), rows=no_rows)

    assert len(transformed(column, CONFIGS[name], pa.array([5, 6, 7])).arrow()) == len(ROWS)


names = st.text(max_size=3)
whole_rows = st.fixed_dictionaries({
    "id": st.integers(-(2**63), 2**63 - 1), "part": st.floats(-1e15, 1e15), "ok": st.booleans(),
    "name": st.none() | names, "moment": st.integers(-(10**13), 3 * 10**14),
    "day": st.dates(min_value=dt.date(1000, 1, 1)).map(str),
    "inner": st.fixed_dictionaries({"x": st.none() | st.integers(0, 9), "deep": st.fixed_dictionaries({"a b": names})}),
    "list": st.lists(st.integers(0, 3), min_size=1, max_size=2),
})  # fmt: skip
"""Rows whose columns tell them exactly."""


def uneven(row: dict) -> dict:
    return {**row, "part": int(row["part"]), "inner": None} | {"more": 1}


@pytest.mark.thorough
@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.parametrize("even", [True, False])
@settings(max_examples=cases(4, drawn=100), deadline=None)
@given(rows=st.lists(whole_rows, min_size=1, max_size=4), tombstone=st.booleans())
def test_rows_read_from_json_are_changed_alike_with_and_without_columns(
    name: str, even: bool, rows: list[dict], tombstone: bool
) -> None:
    given_rows = [*rows, *([] if even else [uneven(rows[0])]), *([None] if tombstone else [])]
    texts = pa.array([None if row is None else orjson.dumps(row) for row in given_rows], pa.binary())
    (column,) = JsonConverter(JsonConfig.model_validate({"schemas.enable": "false"})).decode("t", texts)
    assert column.is_whole == (even and native.module() is not None)
    times = pa.array(range(len(given_rows)), pa.int64())
    expected, made = (changed(given, CONFIGS[name], times) for given in (Column.from_rows(column.rows(), None), column))
    if isinstance(expected, set) or isinstance(made, set):
        assert expected == made
        return
    for side in ("values", "keys"):
        by_rows, by_columns = getattr(expected, side), getattr(made, side)
        if by_rows is None:
            assert by_columns is None
            continue
        assert list(by_columns.rows()) == list(by_rows.rows())
        lines = [json_lines(found, numeric_decimals=False).to_pylist() for found in (by_rows, by_columns)]
        assert [[line and orjson.loads(line) for line in found] for found in lines[:1]] == [
            [line and orjson.loads(line) for line in found] for found in lines[1:]
        ]


def changed(column: Column, config: dict[str, str], times: pa.Array) -> Batch | set[int]:
    """The batch, or the rows that were refused."""
    refused: set[int] = set()

    def refuse_rows(_name: str, _batch: Batch, rows: Mapping[int, Exception]) -> None:
        refused.update(rows)

    keys = {
        "name": "sink", "connector.class": "FileStreamSink", "topics": "t", "transforms": "change",
        **{f"transforms.change.{key}": value for key, value in config.items()},
    }  # fmt: skip
    consumed = Consumed(TopicPartition("t", 3), pa.array(range(10, 10 + len(column))), 10 + len(column))
    batch = Batch("t", column, partition=3, timestamps_ms=times, consumed=consumed)
    made = apply_chain(build_chain(Catalog.installed(), SinkConnectorConfig.parse(keys), {}), batch, refuse_rows)
    return refused or made[0]
