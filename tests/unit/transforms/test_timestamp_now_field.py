"""TimestampNowField inserts the present time, by the documentation of kafka-connect-transform-common."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from both_forms import batch_of, both, build, result

from connect.api import schema as s
from connect.api.errors import ConfigError
from connect.api.records import Column
from connect.api.schema import Schema

CLICK = s.struct({"page": s.STRING, "at": s.STRING, "n": s.INT32}, name="click").as_optional()
CLICKS = [{"page": "a", "at": "long ago", "n": 1}, None, {"page": "b", "at": "before", "n": 2}]


def made(batch: Any, **config: str) -> Any:
    return result(build("TimestampNowField$Value", **config), batch)


@pytest.mark.parametrize("form", [0, 1], ids=["rows", "columns"])
def test_a_field_of_another_type_becomes_a_timestamp_at_the_end(form: int) -> None:
    start = datetime.now(UTC)
    found = made(both(CLICKS, CLICK)[form], fields="at,seen")
    end = datetime.now(UTC)
    assert [row[2] and (row[2]["page"], row[2]["n"]) for row in found] == [("a", 1), None, ("b", 2)]
    schema: Schema = found[0][5]
    assert [(f.name, f.schema) for f in schema.fields] == [
        ("page", s.STRING), ("n", s.INT32), ("at", s.TIMESTAMP_SCHEMA), ("seen", s.TIMESTAMP_SCHEMA),
    ]  # fmt: skip
    assert (schema.name, schema.optional) == ("click", True)
    for row in (found[0][2], found[2][2]):
        assert start - timedelta(milliseconds=1) <= row["at"] <= end
        assert row["at"].microsecond % 1000 == 0
        assert row["seen"] >= row["at"]


@pytest.mark.parametrize("form", [0, 1], ids=["rows", "columns"])
def test_a_field_that_fits_keeps_its_place_and_schema(form: int) -> None:
    schema = s.struct({"at": s.INT64.as_optional(), "page": s.STRING})
    start = int(datetime.now(UTC).timestamp())
    found = made(
        both([{"at": None, "page": "a"}], schema)[form],
        fields="at", target_type="Unix", add_amount="2", add_chronounit="HOURS",
    )  # fmt: skip
    end = int(datetime.now(UTC).timestamp())
    assert found[0][5] == schema
    assert start + 7200 <= found[0][2]["at"] <= end + 7200


def test_maps_without_a_schema_get_the_fields() -> None:
    start = datetime.now(UTC) - timedelta(milliseconds=1)
    found = made(batch_of(Column.from_rows([{"page": "a", "at": 7}, None], None)), fields="at")
    assert found[0][2]["page"] == "a"
    assert start <= found[0][2]["at"] <= datetime.now(UTC)
    assert found[1][2] is None


def test_what_is_no_row_is_refused() -> None:
    found = made(both(["text"], s.STRING)[1], fields="at")
    assert found == {0: "Only Struct objects supported for [setting the present time], found: java.lang.String"}


def test_every_broken_key_is_told() -> None:
    with pytest.raises(ConfigError) as refused:
        build("TimestampNowField$Value", add_chronounit="FORTNIGHTS", target_type="Time", add_amount="-1")
    assert {problem.key for problem in refused.value.problems} == {
        "fields", "add.chronounit", "target.type", "add.amount",
    }  # fmt: skip
    with pytest.raises(ConfigError, match="101 DECADES are more than 1000 years"):
        build("TimestampNowField$Value", fields="at", add_chronounit="DECADES", add_amount="101")
