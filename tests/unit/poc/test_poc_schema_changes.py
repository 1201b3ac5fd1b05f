"""Changes a source's tables: which changes there are, what they make of rows, and how what became of them is judged."""

from __future__ import annotations

import pytest

from connect.api import schema as s
from connect.api.records import Batch, Column
from connect.poc.sandbox.result import Outcome
from connect.poc.source.source_schema_change import ChangeSeen, judge_source_change, tried
from connect.poc.source.table_changes import ADDED, changed, changes_of, shown_in, table_of
from connect.runtime.parts.connector_settings import ConnectorSettings

JSON = "org.apache.kafka.connect.json.JsonConverter"
TABLE = s.struct({"id": s.INT32, "text": s.STRING, "n": s.INT32.as_optional()}, name="t")
ENVELOPE = s.struct({"before": TABLE.as_optional(), "after": TABLE.as_optional(), "op": s.STRING})
ROW = {"id": 1, "text": "a", "n": 2}


def parts_of(**more: str):
    worker = {
        "bootstrap.servers": "127.0.0.1:1", "group.id": "g", "config.storage.topic": "c", "offset.storage.topic": "o",
        "status.storage.topic": "s", "key.converter": JSON, "value.converter": JSON,
    }  # fmt: skip
    return ConnectorSettings(worker, {"name": "n", "connector.class": "FileStreamSource", **more}).open()


def rows_of(column: Column) -> list[object]:
    return [dict(row) for row in column.rows()]


def test_a_table_may_get_a_column_a_wider_one_lose_one_and_rename_one():
    more, wider, less, renamed = changes_of(TABLE, {"id"})
    values = Column.from_rows([ROW], TABLE)
    assert rows_of(changed(values, more)) == [{**ROW, ADDED: "added"}]
    assert changed(values, more).schema.field(ADDED).optional
    assert rows_of(changed(values, wider)) == [{**ROW, "id": 2**62}]
    assert rows_of(changed(values, less)) == [{"id": 1, "text": "a"}]
    assert rows_of(changed(values, renamed)) == [{"id": 1, "text": "a", "n_renamed": 2}]
    assert [change.breaks for change in (more, wider, less, renamed)] == [False, False, True, True]


def test_no_column_of_the_key_is_taken_away():
    assert [change.what for change in changes_of(s.struct({"a": s.STRING, "b": s.STRING}), {"a", "b"})] == [
        f"a column more ({ADDED})"
    ]


def test_in_an_envelope_the_rows_inside_change():
    assert table_of(ENVELOPE) == TABLE.as_optional()
    more = next(changes_of(TABLE, ()))
    values = changed(Column.from_rows([{"before": None, "after": ROW, "op": "c"}], ENVELOPE), more)
    (row,) = values.rows()
    assert (row["before"], dict(row["after"])) == (None, {**ROW, ADDED: "added"})
    assert values.schema.field(ADDED) is None
    assert shown_in(row, more)


@pytest.mark.parametrize("converter", [{}, {"value.converter": JSON, "value.converter.schemas.enable": "false"}])
def test_every_change_goes_through_converters_that_take_it(converter: dict[str, str]):
    seen = list(tried(parts_of(**converter), Batch("t", Column.from_rows([ROW], TABLE))))
    assert [(one.refused, one.is_shown) for one in seen] == [(None, True)] * 4
    assert judge_source_change(seen).outcome is Outcome.PASS


def test_a_transform_that_cannot_take_a_wider_value_is_found():
    cast = {"transforms": "c", "transforms.c.type": "org.apache.kafka.connect.transforms.Cast$Value"}
    seen = list(tried(parts_of(**cast, **{"transforms.c.spec": "id:int8"}), Batch("t", Column.from_rows([ROW], TABLE))))
    assert [one.refused is not None for one in seen] == [False, True, False, False]
    assert "come out as others" in judge_source_change(seen).summary, "Java's Cast cuts bits off"


def test_a_transform_that_names_a_column_is_found_when_that_one_goes():
    key = {"transforms": "k", "transforms.k.type": "org.apache.kafka.connect.transforms.ValueToKey"}
    seen = list(tried(parts_of(**key, **{"transforms.k.fields": "n"}), Batch("t", Column.from_rows([ROW], TABLE))))
    assert [one.refused is not None for one in seen] == [False, False, True, True]
    told = judge_source_change(seen)
    assert told.outcome is Outcome.PASS, "it breaks readers, so who refuses it does so with reason"
    assert "Refused are those after a column less (n), a renamed column (n)." in told.summary


def test_who_refuses_a_harmless_change_is_warned_of():
    seen = [ChangeSeen("t", "a column more (x)", breaks=False, is_shown=False, refused="why not")]
    told = judge_source_change(seen)
    assert (told.outcome, told.defects) == (Outcome.WARN, {"schema"})
    assert "After a column more (x) in the table of t its rows are refused: why not" in told.summary
