"""Checks what of a column's values the rows keep, by its plan and its name in the database."""

from __future__ import annotations

import pytest
from sqlalchemy import types as t
from sqlalchemy.dialects import mysql, postgresql

from connect.api.optional.origins import Kept
from connectors.jdbc.dialects.known import dialect_named
from connectors.jdbc.settings.config import JdbcSourceConfig
from connectors.jdbc.source.origins import kept_of
from connectors.jdbc.values.types import TypeRules, plan_column

PG = "postgresql"
CUT = "digits of a second behind the third are cut off"
ELEMENTS = "its elements are one text, such as {a,b}"


@pytest.mark.parametrize(
    ("kind", "name", "dialect", "kept", "lost"),
    [
        (t.BigInteger(), "bigint", PG, Kept.TYPED, ""),
        (postgresql.TIMESTAMP(), "timestamp without time zone", PG, Kept.IN_PART, CUT),
        (postgresql.TIMESTAMP(precision=3), "timestamp(3) without time zone", PG, Kept.TYPED, ""),
        (postgresql.TIME(), "time without time zone", PG, Kept.IN_PART, CUT),
        (t.NUMERIC(20, 0), "numeric(20,0)", PG, Kept.TYPED, ""),
        (t.NUMERIC(), "numeric", PG, Kept.UNTYPED, ""),
        (postgresql.ARRAY(t.Text()), "text[]", PG, Kept.UNTYPED, ELEMENTS),
        (postgresql.JSONB(), "jsonb", PG, Kept.UNTYPED, "its members are one text"),
        (t.Text(), "d_text (character varying(9))", PG, Kept.TYPED, ""),
        (postgresql.ARRAY(t.Text()), "d_array (text[])", PG, Kept.UNTYPED, ELEMENTS),
        (mysql.BIGINT(unsigned=True), "bigint(20) unsigned", "mysql", Kept.IN_PART,
         "rows with values above 9223372036854775807 are refused"),
        (mysql.DATETIME(), "datetime", "mysql", Kept.TYPED, ""),
        (t.DateTime(), "timestamp", "sqlite", Kept.IN_PART, CUT),
        (t.String(9), "varchar(9) character set latin1", "mysql", Kept.TYPED, ""),
    ],
)  # fmt: skip
def test_what_is_kept_follows_from_what_the_rows_have(kind, name, dialect, kept, lost):
    config = JdbcSourceConfig.parse({
        "connection.url": "jdbc:postgresql://127.0.0.1/x", "topic.prefix": "x-", "mode": "bulk", "table.whitelist": "t",
    })  # fmt: skip
    assert kept_of(plan_column("c", kind, True, TypeRules(dialect_named(dialect).types)), name, config) == (kept, lost)
