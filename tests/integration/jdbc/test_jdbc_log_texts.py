"""Compares the texts that a first read of mode=log takes from PostgreSQL with those that its log holds.

Keys and rows are compared by their texts, so that a difference would lose rows or send them twice.
"""

from __future__ import annotations

import psycopg
import pytest
from jdbc_server import Server
from psycopg import sql

from connectors.jdbc.log.postgres.snapshot import text_as_logged

pytestmark = pytest.mark.parametrize("server", ["postgres"], indirect=True)
SAMPLES = {
    "boolean": "true", "\"char\"": "x", "name": "a name", "character": "a  ", "character varying": "a  ",
    "xml": "<?xml version='1.0' encoding='utf-8'?><a/>", "inet": "10.0.0.1", "cidr": "10.0.0.0/8",
}  # fmt: skip
OTHERS = {
    "boolean[]": "{t,f,NULL}", "real": "0.1", "double precision": "1e-300", "numeric": "1.50",
    "interval": "1 mon -1 day", "bytea": "\\x00ff", "jsonb": '{"b":1,"a":2}', "bit(3)": "101", "money": "1234.5",
    "int4range": "[1,3]", "tsvector": "b a", "point": "(1,2)", "macaddr": "08:00:2b:01:02:03", "timetz": "04:05:06+07",
    "timestamptz": "infinity", "xml[]": "{<a/>}", "uuid": "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11", "oid": "4000000000",
}  # fmt: skip


def test_a_first_read_takes_the_texts_of_the_log(server: Server):
    e = server.endpoint
    arguments = {"host": e.host, "port": e.port, "dbname": e.database, "user": e.user, "password": e.password}
    with psycopg.connect(**arguments) as connection:
        query = (
            "SELECT castsource::regtype::text FROM pg_cast JOIN pg_type t ON t.oid = castsource "
            "WHERE casttarget = 'text'::regtype AND t.typname NOT LIKE 'pg\\_%' AND castsource < 16384"
        )
        casts = {name for (name,) in connection.execute(query)}
        assert casts == {*SAMPLES}, "a type whose cast to text is not its text in the log needs a form of its own"
        for kind, sample in (SAMPLES | OTHERS).items():
            value = sql.SQL("{}::{}").format(sql.Literal(sample), sql.SQL(kind))
            # The log and results in text format both come from the output function of the type.
            found = connection.execute(sql.SQL("SELECT v, pg_typeof(v)::oid FROM (SELECT {} AS v) x").format(value))
            assert found.pgresult is not None
            logged, base = found.pgresult.get_value(0, 0), int(found.pgresult.get_value(0, 1) or b"")
            form = text_as_logged(base, sql.Identifier("v"))
            with connection.cursor().copy(
                sql.SQL("COPY (SELECT {} FROM (SELECT {} AS v) x) TO STDOUT (FORMAT BINARY)").format(form, value)
            ) as copy:
                rows = b"".join(bytes(part) for part in copy)
            size = int.from_bytes(rows[21:25], "big")
            assert rows[25 : 25 + size] == logged, kind
