"""Checks the statements that make a trial's keyspace like the real one."""

from __future__ import annotations

from uuid import UUID

from connectors.cassandra.cql.cql_types import CqlType
from connectors.cassandra.cql.tables import Table, TableColumn
from connectors.cassandra.sink.config import CassandraSinkConfig
from connectors.cassandra.sink.trial import TrialKeyspace, table_creation, type_creations

INT, TEXT = CqlType("int"), CqlType("text")


def test_a_trial_writes_into_a_keyspace_of_its_own_whatever_the_topics_become():
    given = {"contact.points": "c", "keyspace": "shop", "topics.regex": "a.*", "topic.tables": "a:b"}
    assert TrialKeyspace(CassandraSinkConfig.parse(given), "poc-ab12-check-1").settings == {
        "keyspace": "poc_ab12_check_1"
    }


def test_types_are_made_before_those_that_hold_them():
    types = [
        ("a", ["inner", "n"], ['frozen<list<frozen<"Odd b">>>', "int"]), ("Odd b", ["x"], ["frozen<c>"]),
        ("c", ["ab"], ["text"]),
    ]  # fmt: skip
    assert list(type_creations("t", types)) == [
        'CREATE TYPE "t"."c" ("ab" text)',
        'CREATE TYPE "t"."Odd b" ("x" frozen<c>)',
        'CREATE TYPE "t"."a" ("inner" frozen<list<frozen<"Odd b">>>, "n" int)',
    ]


def test_a_table_has_the_columns_and_keys_of_the_real_one():
    real = Table(
        UUID(int=1), "ks", "Odd", [TableColumn("k", INT), TableColumn("l", INT)], [TableColumn("c", TEXT)],
        [TableColumn("s", TEXT)], [TableColumn("v", INT)],
    )  # fmt: skip
    types = {"k": "int", "l": "int", "c": "text", "s": "text", "v": "int"}
    assert table_creation("t", real, types) == (
        'CREATE TABLE "t"."Odd" ("k" int, "l" int, "c" text, "s" text STATIC, "v" int, PRIMARY KEY (("k", "l"), "c"))'
    )
