"""Checks what the check of types says of each field, from the database's own type on."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pytest

from connect.api import schema as s
from connect.api.optional.origins import Kept, OriginColumn
from connect.api.time_types import TIME_TYPES
from connect.poc.sandbox.result import Check, Outcome
from connect.poc.source.sample import FieldTypes, Sample
from connect.poc.source.type_check import judge_types
from connect.poc.source.type_forms import in_avro, in_json
from connect.runtime.records.type_words import type_name

CUT = "digits of a second behind the third are cut off"
ORIGINS = [
    OriginColumn("t", "id", "bigint"),
    OriginColumn("t", "code", "uuid", Kept.UNTYPED),
    OriginColumn("t", "tags", "text[]", Kept.UNTYPED, "its elements are one text, such as {a,b}"),
    OriginColumn("t", "at", "timestamp(6) without time zone", Kept.IN_PART, CUT),
]


def judged(names: list[str], origins: list[OriginColumn] | None, **more: Any) -> Check:
    """The check of fields that come back from Kafka with the types they had."""
    fields = {f"t.{n}": FieldTypes(f"t.{n}", "string", "", "string", "text", "string", rows=2) for n in names}
    known = None if origins is None else {f"{o.topic}.{o.field}": o for o in origins}
    return judge_types(asdict(Sample(rows=2, fields=fields, origins=known, **more)))


def lost(check: Check) -> list[str]:
    (table,) = check.tables
    return [row[table.columns.index("lost")] for row in table.rows]


def test_what_keeps_its_type_from_the_database_on_passes():
    check = judged(["id"], ORIGINS)
    assert (check.outcome, check.summary) == (
        Outcome.PASS,
        "The only field keeps its type from the database through Kafka.",
    )
    assert lost(check) == [""]


def test_a_type_that_says_less_is_named_and_no_warning():
    check = judged(["id", "code"], ORIGINS)
    assert check.outcome is Outcome.PASS
    assert check.summary == (
        "1 of 2 fields keep their types from the database through Kafka. 1 gets a type that says less: t.code (uuid)."
    )


def test_what_loses_digits_is_lossy_and_what_loses_its_structure_is_a_warning():
    check = judged(["id", "code", "tags", "at"], ORIGINS)
    assert (check.outcome, check.defects) == (Outcome.WARN, frozenset({"lossy"}))
    assert check.summary == (
        "1 of 4 fields keep their types from the database through Kafka. "
        f"1 is lossy: t.at (timestamp(6) without time zone: {CUT}). "
        "1 loses its structure: t.tags (text[]: its elements are one text, such as {a,b}). "
        "1 gets a type that says less: t.code (uuid)."
    )
    assert lost(check) == ["", "the type's name", "its elements are one text, such as {a,b}", CUT]
    assert judged(["tags"], ORIGINS).defects == frozenset()


def test_a_type_that_kafkas_bytes_do_not_keep_is_a_warning_too():
    field = FieldTypes("t.at", "org.apache.kafka.connect.data.Timestamp", "", "(no schema)", rows=1)
    origins = {"t.at": OriginColumn("t", "at", "timestamp(3)")}
    check = judge_types(asdict(Sample(rows=1, fields={"t.at": field}, origins=origins)))
    assert check.outcome is Outcome.WARN
    assert "1 is read back as another type: t.at." in check.summary
    assert lost(check) == ["the Connect type, in Kafka's bytes"]


def test_where_the_connector_does_not_tell_the_databases_types_the_report_says_so():
    assert judged(["id"], None).summary == (
        "The only field keeps its type through Kafka; what the database calls them, the connector does not tell."
    )
    why = judged(["id", "n"], None, unknown_why="The catalog may not be read.").summary
    assert why.endswith("the connector does not tell (The catalog may not be read.).")
    assert lost(judged(["id"], None)) == ["not told"]


def test_more_fields_than_a_sentence_holds_are_counted():
    many = [OriginColumn("t", f"c{i}", "uuid", Kept.UNTYPED) for i in range(8)]
    said = judged([f"c{i}" for i in range(8)], many).summary
    assert "8 get types that say less: t.c0 (uuid), " in said
    assert said.endswith("t.c4 (uuid) and 3 more.")


@pytest.mark.parametrize(
    ("schema", "connect", "json", "avro"),
    [
        (s.INT16, "int16", "whole number", "int"),
        (s.INT64.as_optional(), "int64 or null", "whole number", "long"),
        (s.decimal(2, precision=20), "org.apache.kafka.connect.data.Decimal of scale 2",
         "text in base64 of its unscaled digits", "bytes (decimal of 20 digits, 2 behind the point)"),
        (s.TIMESTAMP_SCHEMA, "org.apache.kafka.connect.data.Timestamp", "number of milliseconds",
         "long (timestamp-millis)"),
        (TIME_TYPES["MicroTimestamp"], "io.debezium.time.MicroTimestamp", "whole number", "long"),
        (s.BYTES, "bytes", "text in base64", "bytes"),
        (s.array(s.STRING), "array of string", "array of text", "array of string"),
        (s.map_of(s.STRING, s.FLOAT64), "map of float64", "object of number", "map of double"),
        (s.map_of(s.INT32, s.STRING), "map of string", "array of pairs of text", "array of record"),
        (s.struct({"a": s.INT8}, name="p"), "p", "object", "record"),
    ],
)  # fmt: skip
def test_each_type_has_a_form_in_json_and_avro(schema, connect, json, avro):
    assert (type_name(schema), in_json(schema), in_avro(schema)) == (connect, json, avro)


def test_what_avro_has_no_place_for_says_why():
    assert in_avro(s.struct({"a b": s.INT8}, name="p")).startswith("none: ")
