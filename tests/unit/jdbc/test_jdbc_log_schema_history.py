"""Checks the history of tables' columns: what was known at each number that a stored position may have."""

from __future__ import annotations

import pytest

from connectors.jdbc.log.ddl.columns import PastColumn
from connectors.jdbc.log.ddl.statements import UnknownTable
from connectors.jdbc.log.ddl.tables import PastTable
from connectors.jdbc.log.ddl.tokens import Statement
from connectors.jdbc.log.mysql.schema_history import SchemaHistory
from connectors.jdbc.settings.table_choice import TableName

T, OTHER = TableName("db", "t"), TableName("db", "other")
FIRST = PastTable((PastColumn("id", "int"), PastColumn("e", "enum", "latin1", members=("a",))), ("id",), "utf8mb4")


def history() -> SchemaHistory:
    made = SchemaHistory(lambda name: name == T)
    made.begin({T: FIRST}, {"db": "utf8mb4"})
    return made


def follow(of: SchemaHistory, *texts: str) -> None:
    for text in texts:
        of.follow(Statement(text, "db"))


def test_every_number_is_known_until_a_position_behind_it_is_stored():
    known = history()
    tables = {known.number: known.tables[T]}
    for text in ("ADD n INT UNSIGNED", "ADD c TEXT COLLATE latin2_bin", "DROP n", "FLY", "COMMENT 'x'"):
        follow(known, f"ALTER TABLE t {text}")
        tables[known.number] = known.tables[T]
    assert list(tables) == [1, 2, 3, 4, 5], "a statement that changes no columns is no number"
    known.forget_before(3)
    stored = known.offset()
    for number, table in tables.items():
        again = SchemaHistory(lambda name: name == T)
        again.restore(stored, number)
        assert again.number == number
        assert again.tables == ({T: table} if number >= 3 else {})
        assert again.is_begun == (number >= 3)


@pytest.mark.parametrize("number", [0, 7])
def test_a_number_that_is_not_in_the_history_is_as_nothing_known(number):
    again = SchemaHistory(lambda _: True)
    again.restore(history().offset(), number)
    assert (again.number, again.is_begun, dict(again.tables)) == (number, False, {})


def test_what_is_followed_again_behind_a_crash_has_the_same_numbers():
    known = history()
    follow(known, "ALTER TABLE t ADD n INT", "ALTER TABLE t DROP n")
    stored = known.offset()
    again = SchemaHistory(lambda name: name == T)
    again.restore(stored, 2)
    follow(again, "ALTER TABLE t DROP n")
    assert (again.number, again.tables) == (known.number, known.tables)
    assert again.offset() == stored


def test_tables_that_are_not_chosen_are_remembered_and_not_stored():
    known = history()
    assert known.offset()
    follow(
        known,
        "CREATE TABLE other LIKE t",
        "ALTER TABLE other ADD n INT",
        *(f"CREATE TABLE x{i} (a INT)" for i in range(9)),
    )
    assert not known.is_unsaved
    follow(known, "RENAME TABLE t TO old, other TO t")
    assert known.is_unsaved
    assert known.tables[T].columns == (*FIRST.columns, PastColumn("n", "int"))
    again = SchemaHistory(lambda name: name == T)
    again.restore(known.offset(), known.number)
    assert again.tables == known.tables


def test_a_table_that_gets_the_name_of_another_that_was_never_seen_is_unknown():
    known = history()
    follow(known, "RENAME TABLE t TO old, unseen TO t")
    assert isinstance(known.tables[T], UnknownTable)
    follow(known, "DROP TABLE t")
    assert known.tables[T] is None
