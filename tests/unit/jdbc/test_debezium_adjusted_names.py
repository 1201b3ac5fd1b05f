"""Names of schemas and fields that Avro does not allow are changed as Debezium changes them."""

from __future__ import annotations

import pyarrow as pa
import pytest

from connect.api import schema as s
from connectors.jdbc.debezium.shared.adjusted_names import field_names, schema_names
from connectors.jdbc.log.shared.column_change import ColumnChange, changed_row, changed_rows, renamed
from connectors.jdbc.log.shared.envelope import EventFormat


@pytest.mark.parametrize(
    ("mode", "name", "schema", "field"),
    [
        ("none", "a-b.c d", "a-b.c d", "a-b.c d"), ("avro", "a-b.c_1", "a_b.c_1", "a_b_c_1"),
        ("avro", "1a.ü", "_1a._", "_1a__"), ("avro", "-a", "_a", "_a"), ("avro", "\U0001f600x", "__x", "__x"),
        ("avro_unicode", "a-b.c", "a_u002db.c", "a_u002db_u002ec"), ("avro_unicode", "a_b", "a_u005fb", "a_u005fb"),
        ("avro_unicode", "1a", "_u0031a", "_u0031a"), ("avro_unicode", "ü日", "_u00fc_u65e5", "_u00fc_u65e5"),
        ("avro_unicode", "ģ", "_u123", "_u123"),
        ("avro_unicode", "\U0001f600", "_ud83d_ude00", "_ud83d_ude00"), ("avro", "", "", ""),
    ],
)  # fmt: skip
def test_names_are_changed_by_mode(mode: str, name: str, schema: str, field: str) -> None:
    assert schema_names(mode)(name) == schema
    assert field_names(mode)(name) == field


def test_a_renamed_column_has_its_name_in_value_and_key_and_keeps_its_mask() -> None:
    row = s.struct({"order-no": s.INT32, "text": s.STRING}, name="t.Value")
    masked = ColumnChange({"masked": "true"}, lambda values: pa.repeat(pa.scalar("*"), len(values)))
    changes = {
        column: change
        for column, change in (
            ("order-no", renamed(None, "order-no", "order_no")),
            ("text", renamed(masked, "text", "t2")),
        )
        if change is not None
    }
    shown = changed_row(row, changes)
    assert [field.name for field in shown.fields] == ["order_no", "t2"]
    assert shown.fields[1].schema.parameters == {"masked": "true"}
    rows = pa.array([{"order-no": 1, "text": "a"}], pa.struct([("order-no", pa.int32()), ("text", pa.string())]))
    assert changed_rows(rows, changes).to_pylist() == [{"order_no": 1, "t2": "*"}]
    assert [field.name for field in changed_rows(rows.slice(0, 0), changes).type] == ["order_no", "t2"]
    form = EventFormat("a-b.t", row, ("order-no",), s.struct({}), changes=changes, schemas="a_b.t")
    assert (form.key_schema.name, [field.name for field in form.key_schema.fields]) == ("a_b.t.Key", ["order_no"])
    assert form.schema.name == "a_b.t.Envelope"


def test_a_column_without_a_change_stays_without() -> None:
    assert renamed(None, "a", "a") is None
