"""A row on its way through the transforms of a connector, step by step."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from connect.api.records import Batch, Column
from connect.api.schema import Field, Schema, Type
from connect.runtime.calls.sampled_row import FIELDS, VALUE_CHARS, NamedLink, Steps, steps_of
from connect.runtime.records.chain import Link
from connect.telemetry.secret_texts import SECRET_TEXTS

SCHEMA = Schema(
    Type.STRUCT, fields=(Field("id", Schema(Type.INT32)), Field("note", Schema(Type.STRING, optional=True)))
)
ROW = Batch("t", Column.from_rows([{"id": 1, "note": "x"}], SCHEMA), keys=Column.from_rows(["k"], None))


class Doing:
    """A transform that does what it is told."""

    def __init__(self, *made: Batch, error: Exception | None = None) -> None:
        self._made, self._error = made, error

    def apply(self, batch: Batch) -> Sequence[Batch]:
        if self._error is not None:
            raise self._error
        return self._made or [batch]


def steps(*transforms: Doing, row: Batch = ROW) -> Steps:
    return steps_of(row, [NamedLink(f"t{n}", Link(f"org.T{n}", one)) for n, one in enumerate(transforms)])


def test_a_row_is_shown_as_it_was_read_and_after_each_transform() -> None:
    other = Batch("u", Column.from_rows(["text"], None))
    found = steps(Doing(), Doing(other, other))
    assert [(step["name"], step["plugin"]) for step in found] == [("read", ""), ("t0", "org.T0"), ("t1", "org.T1")]
    (read,) = found[0]["records"]
    assert (read["topic"], read["key"], read["value"]) == ("t", '"k"', '{"id": 1, "note": "x"}')
    assert read["types"] == {"id": "int32", "note": "string or null"}
    assert found[1]["records"] == [read]
    assert [(one["topic"], one["value"], one["types"]) for one in found[2]["records"]] == [("u", '"text"', {})] * 2


def test_nothing_comes_behind_a_transform_that_drops_or_refuses_a_row() -> None:
    dropped = steps(Doing(ROW.slice(0, 0)), Doing())
    assert [(step["name"], step["records"]) for step in dropped[1:]] == [("t0", [])]
    refused = steps(Doing(error=ValueError("no number")), Doing())
    assert [(step["name"], step["error"]) for step in refused[1:]] == [("t0", "ValueError: no number")]


def test_no_secret_of_the_connector_and_nothing_that_steers_a_terminal_is_shown() -> None:
    SECRET_TEXTS.add(["s3cr3t-Pa55"])
    row = Batch("t", Column.from_rows([{"a": "s3cr3t-Pa55", "b": "\x1b[2J", "c": b"\xff"}], None))
    (record,) = steps(row=row)[0]["records"]
    assert "s3cr3t-Pa55" not in record["value"]
    assert "\x1b" not in record["value"]
    assert '"c": "/w=="' in record["value"]
    (step,) = steps(Doing(error=ValueError("s3cr3t-Pa55")))[1:]
    assert "s3cr3t-Pa55" not in step["error"]


@pytest.mark.parametrize("value", ["x" * 1_000_000, {"a": ["y" * 9] * 200_000}, {1: "map"}, {b"k": 1}, None, 1.5, "😀"])
def test_large_and_odd_values_are_shown_short(value: object) -> None:
    (record,) = steps(row=Batch("t", Column.from_rows([value], None)))[0]["records"]
    assert 0 < len(record["value"]) <= VALUE_CHARS


def test_ten_thousand_fields_are_shown_in_part() -> None:
    names = [f"f{n}" for n in range(10_000)]
    schema = Schema(Type.STRUCT, fields=tuple(Field(name, Schema(Type.INT32)) for name in names))
    (record,) = steps(row=Batch("t", Column.from_rows([dict.fromkeys(names, 1)], schema)))[0]["records"]
    assert len(record["types"]) == FIELDS
