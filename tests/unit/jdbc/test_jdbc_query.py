from __future__ import annotations

from datetime import datetime

import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import mssql, mysql, oracle, postgresql, sqlite

from connect.api import schema as s
from connectors.jdbc.database.query import BoundValue, Source, first_value, probe, query_source, select, table_source
from connectors.jdbc.dialects.known import dialect_named
from connectors.jdbc.follow.late_commits import NOTHING
from connectors.jdbc.settings.table_choice import TableName
from connectors.jdbc.values.types import ColumnPlan, Projection, Raw

COLUMNS = [ColumnPlan("id", Raw.INTEGER, s.INT64), ColumnPlan("ts", Raw.INSTANT, s.TIMESTAMP_SCHEMA)]
T = table_source(TableName("shop", "or ders"), COLUMNS, quote=True)


def sql(statement: sa.Select, dialect: object = None) -> str:
    return " ".join(str(statement.compile(dialect=dialect or sqlite.dialect())).split())


def at(*values: int) -> list[BoundValue]:
    return [BoundValue.at(sa.literal(v)) for v in values]


def test_bulk_reads_every_column_without_order():
    assert sql(select(T)) == 'SELECT shop."or ders".id, shop."or ders".ts FROM shop."or ders"'.replace(
        "shop", '"shop"'
    ).replace(".id", '."id"').replace(".ts", '."ts"')


def test_an_id_is_read_above_the_last_one():
    assert sql(select(T, [T.column("id")], after=at(5))).endswith(
        'WHERE "shop"."or ders"."id" > ? ORDER BY "shop"."or ders"."id" ASC'
    )


def test_a_composite_place_can_be_read_by_index():
    order = [T.column("ts"), T.column("id")]
    text = sql(select(T, order, after=at(1, 2), until=sa.literal(9))).replace('"shop"."or ders".', "")
    assert text.endswith('WHERE "ts" >= ? AND ("ts" > ? OR "id" > ?) AND "ts" < ? ORDER BY "ts" ASC, "id" ASC')


def test_a_place_in_the_first_column_alone_leaves_its_equals_out():
    order = [T.column("ts"), T.column("id")]
    assert 'WHERE "ts" > ? ORDER BY' in sql(select(T, order, after=at(1))).replace('"shop"."or ders".', "")


def test_names_are_quoted_by_the_dialect_and_left_alone_on_request():
    assert "FROM `shop`.`or ders`" in sql(select(T), mysql.dialect())
    bare = table_source(TableName("shop", "orders"), COLUMNS, quote=False)
    assert sql(select(bare)) == "SELECT shop.orders.id, shop.orders.ts FROM shop.orders"


def test_a_hostile_table_name_stays_a_name():
    hostile = table_source(TableName(None, 'x"; DROP TABLE y; --'), COLUMNS, quote=True)
    assert sql(select(hostile)).endswith('FROM "x""; DROP TABLE y; --"')


def test_a_query_is_wrapped_and_its_colons_and_percents_are_text():
    source = query_source("SELECT a::text AS id, ':x' AS ts FROM t WHERE b LIKE '%y';", COLUMNS)
    text = sql(select(source, [source.column("id")], after=at(3)))
    assert "FROM (SELECT a::text AS id, ':x' AS ts FROM t WHERE b LIKE '%y') AS x WHERE x.\"id\" > ?" in text
    assert "LIKE '%%y'" in sql(select(source), postgresql.dialect(paramstyle="pyformat"))


def test_the_suffix_stands_last():
    source = Source(T.relation, T.columns, "LIMIT 7")
    assert sql(select(source, [T.column("id")])).endswith("ASC LIMIT 7")


def test_what_a_driver_would_cut_is_cast_to_text():
    source = table_source(
        TableName(None, "t"), [ColumnPlan("doc", Raw.TEXT, s.STRING, projection=Projection.TEXT)], quote=False
    )
    assert sql(select(source), postgresql.dialect()) == "SELECT CAST(t.doc AS TEXT) AS doc FROM t"


@pytest.mark.parametrize(
    ("projection", "dialect", "expected"),
    [
        (Projection.DOUBLE, mysql.dialect(), "t.c * 1e0"),
        (Projection.INTEGER_OF_BIT, mysql.dialect(), "t.c + 0"),
        (Projection.BOOLEAN_OF_BIT, postgresql.dialect(), "CAST(CAST(t.c AS INTEGER) AS BOOLEAN)"),
        (Projection.NUMBER, postgresql.dialect(), "CAST(t.c AS NUMERIC)"),
    ],
)
def test_each_projection_is_sql_of_its_database_and_leaves_the_order_alone(projection, dialect, expected):
    source = table_source(TableName(None, "t"), [ColumnPlan("c", Raw.FLOAT, s.FLOAT32, projection)], quote=False)
    statement = select(source, [source.column("c")])
    assert sql(statement, dialect) == f"SELECT {expected} AS c FROM t ORDER BY t.c ASC"


def test_hidden_keys_are_read_beside_the_row():
    source = table_source(TableName(None, "t"), COLUMNS, quote=False, extra=["rowid"])
    assert sql(select(source, [source.column("rowid")], extra=[source.column("rowid")])).startswith(
        "SELECT t.id, t.ts, t.rowid "
    )


@pytest.mark.parametrize("dialect", [sqlite.dialect(), postgresql.dialect(), mysql.dialect()])
def test_a_sample_of_a_column_reads_one_row(dialect):
    assert "IS NOT NULL" in sql(first_value(T, T.column("ts")), dialect)


@pytest.mark.parametrize(
    ("name", "dialect", "table", "clock", "nothing"),
    [
        ("mssql", mssql.dialect(), "[dbo].[or ders]", "SELECT sysutcdatetime() AS sysutcdatetime_1", "SELECT TOP "),
        (
            "oracle", oracle.dialect(), '"dbo"."or ders"',
            "SELECT sys_extract_utc(SYSTIMESTAMP) AS sys_extract_utc_1 FROM DUAL", "FETCH FIRST",
        ),
    ],
)  # fmt: skip
def test_databases_on_the_generic_path_get_sql_of_their_own(name, dialect, table, clock, nothing):
    source = table_source(TableName("dbo", "or ders"), T.columns, quote=True)
    ts, id_ = (source.column(c.name) for c in (T.columns[1], T.columns[0]))
    moment = sa.literal(datetime.fromisoformat("2024-02-29"), sa.DateTime())
    place = [BoundValue.at(moment), BoundValue.at(sa.literal(7, sa.BigInteger))]
    followed = sql(select(source, (ts, id_), after=place, until=moment, conditions=[NOTHING]), dialect)
    assert f"FROM {table} WHERE " in followed
    assert "1 = 0" in followed
    assert "ORDER BY " in followed
    assert sql(sa.select(dialect_named(name).cursors.clock), dialect) == clock
    assert nothing in sql(select(source, limit=0), dialect)
    assert "(SELECT a FROM b) " in sql(probe("SELECT a FROM b"), dialect)
    assert " AS x" not in sql(probe("SELECT a FROM b"), oracle.dialect())
