"""ExtractTimestamp makes a field the record's time, by the documentation of kafka-connect-transform-common."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from both_forms import batch_of, both, build

from connect.api import schema as s
from connect.api.errors import ConfigError, RejectedRowsError, SchemaError
from connect.api.records import Batch, Column

SCHEMA = s.struct({"ms": s.INT64.as_optional(), "at": s.TIMESTAMP_SCHEMA, "n": s.INT32}).as_optional()
MOMENT = datetime(2017, 12, 1, 21, 43, 33, 123000, tzinfo=UTC)
ROWS = [{"ms": 1512164613123, "at": MOMENT, "n": 1}, {"ms": -1, "at": datetime(1970, 1, 1, tzinfo=UTC), "n": 2}]


def times(batch: Batch, name: str) -> list[int]:
    (made,) = build("ExtractTimestamp$Value", **{"field.name": name}).apply(batch)
    assert list(made.values.rows()) == list(batch.values.rows())
    found: list[int] = made.timestamps_ms.to_pylist()
    return found


@pytest.mark.parametrize("form", [0, 1], ids=["rows", "columns"])
def test_milliseconds_and_timestamps_become_the_records_time(form: int) -> None:
    assert times(both(ROWS, SCHEMA)[form], "ms") == [1512164613123, -1]
    assert times(both(ROWS, SCHEMA)[form], "at") == [1512164613123, 0]


def test_maps_have_whole_numbers_or_moments() -> None:
    assert times(batch_of(Column.from_rows([{"t": 7}, {"t": MOMENT}], None)), "t") == [7, 1512164613123]
    wrong: list[Any] = [{"t": "7"}, {"t": True}, {}, "text"]
    with pytest.raises(RejectedRowsError) as refused:
        times(batch_of(Column.from_rows(wrong, None)), "t")
    assert [str(error).partition(" [")[0] for error in refused.value.rows.values()] == [
        "Field 't': Cannot convert java.lang.String to timestamp.",
        "Field 't': Cannot convert java.lang.Boolean to timestamp.",
        "Field 't' cannot be null.", "Only Map objects supported in absence of schema for",
    ]  # fmt: skip


def test_nulls_are_refused_by_their_rows() -> None:
    with pytest.raises(RejectedRowsError) as refused:
        times(both([ROWS[0], {**ROWS[1], "ms": None}], SCHEMA)[1], "ms")
    assert {i: str(error) for i, error in refused.value.rows.items()} == {1: "Field 'ms' cannot be null."}
    with pytest.raises(RejectedRowsError) as tombstones:
        times(both([ROWS[0], None], SCHEMA)[1], "ms")
    assert list(tombstones.value.rows) == [1]


def test_fields_that_are_no_time_are_told() -> None:
    with pytest.raises(SchemaError, match="A field of type int32 is no timestamp"):
        times(both(ROWS, SCHEMA)[1], "n")
    with pytest.raises(SchemaError, match="Unknown field: nope"):
        times(both(ROWS, SCHEMA)[1], "nope")
    with pytest.raises(ConfigError, match=r"field\.name"):
        build("ExtractTimestamp$Value")
