"""Checks what a person reads of tables that are left aside."""

from __future__ import annotations

from connectors.jdbc.follow.failed_tables import left_aside


def test_each_table_is_named_with_its_reason_in_one_line():
    assert left_aside({}, "until a restart") is None
    assert left_aside({"s.a": "Permission\n denied. Grant SELECT."}, "until a restart") == (
        "1 table is left aside, until a restart; the others go on. s.a: Permission denied. Grant SELECT."
    )
    assert left_aside({"a": "Gone.", "b": "Refused."}, "until a restart") == (
        "2 tables are left aside, until a restart; the others go on. a: Gone. b: Refused."
    )
