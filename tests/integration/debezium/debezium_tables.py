"""Makes the tables and changes that both connectors read: every type of column, and every kind of change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Found = Mapping[str, Sequence[Mapping[str, Any]]]
EXTENSIONS = ("hstore", "ltree", "citext", "isn")

TYPES: Sequence[tuple[str, str, Sequence[str]]] = (
    ("c_bool", "boolean", ("true", "false")),
    ("c_int2", "smallint", ("-32768", "32767")),
    ("c_int4", "integer", ("-2147483648", "2147483647")),
    ("c_int8", "bigint", ("-9223372036854775808", "9223372036854775807")),
    ("c_oid", "oid", ("4294967295", "1")),
    ("c_real", "real", ("1.5", "'NaN'")),
    ("c_double", "double precision", ("'-Infinity'", "0.1")),
    ("c_numeric", "numeric(10,2)", ("-12345678.91", "0.5")),
    ("c_numeric_whole", "numeric(5)", ("-12345", "7")),
    ("c_numeric_any", "numeric", ("123.4500", "-0.000000001")),
    ("c_money", "money", ("1234.56", "-0.01")),
    ("c_char", "char", ("'x'", "'y'")),
    ("c_char5", "char(5)", ("'ab'", "'abcde'")),
    ("c_varchar", "varchar(20)", ("'grün'", "''")),
    ("c_text", "text", ("'a''b\"\\\\n'", "'😀'")),
    ("c_name", "name", ("'a_name'", "'b'")),
    ("c_citext", "citext", ("'MiXed'", "'a'")),
    ("c_bytea", "bytea", ("'\\x0001ff'", "''")),
    ("c_date", "date", ("'2024-02-29'", "'1969-12-31'")),
    ("c_time", "time", ("'13:14:15.123456'", "'00:00:00'")),
    ("c_time3", "time(3)", ("'13:14:15.123'", "'23:59:59.999'")),
    ("c_timetz", "timetz", ("'13:14:15.123456+02'", "'00:30:00-05'")),
    ("c_timestamp", "timestamp", ("'2024-02-29 13:14:15.123456'", "'1969-12-31 23:59:59.999999'")),
    ("c_timestamp0", "timestamp(0)", ("'2024-02-29 13:14:15'", "'1900-01-01 00:00:00'")),
    ("c_timestamp3", "timestamp(3)", ("'2024-02-29 13:14:15.123'", "'1970-01-01 00:00:00'")),
    ("c_timestamptz", "timestamptz", ("'2024-02-29 13:14:15.123456+02'", "'1969-12-31 23:59:59.5-05'")),
    ("c_timestamptz0", "timestamptz(0)", ("'2024-02-29 13:14:15+00'", "'2024-02-29 00:00:00+00'")),
    ("c_interval", "interval", ("'1 year 2 months 3 days 04:05:06.789'", "'-00:00:00.000001'")),
    ("c_uuid", "uuid", ("'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'", "'00000000-0000-0000-0000-000000000000'")),
    ("c_json", "json", ("'{\"a\": [1, 2.50, null]}'", "'[]'")),
    ("c_jsonb", "jsonb", ("'{\"b\": \"ü\", \"a\": 1.50}'", "'null'")),
    ("c_xml", "xml", ("'<a b=\"1\">x</a>'", "'<e/>'")),
    ("c_inet", "inet", ("'192.168.1.5/24'", "'::1'")),
    ("c_cidr", "cidr", ("'10.0.0.0/8'", "'2001:db8::/32'")),
    ("c_macaddr", "macaddr", ("'08:00:2b:01:02:03'", "'00:00:00:00:00:00'")),
    ("c_macaddr8", "macaddr8", ("'08:00:2b:01:02:03:04:05'", "'00:00:00:00:00:00:00:01'")),
    ("c_bit", "bit", ("B'1'", "B'0'")),
    ("c_bit5", "bit(5)", ("B'10101'", "B'00000'")),
    ("c_bit12", "bit(12)", ("B'100000000001'", "B'000011110000'")),
    ("c_varbit", "varbit", ("B'1011'", "B'1'")),
    ("c_varbit9", "varbit(9)", ("B'101100111'", "B'0'")),
    ("c_enum", "debezium_mood", ("'happy'", "'sad, really'")),
    ("c_domain", "debezium_amount", ("12.345", "0.001")),
    ("c_domain_text", "debezium_code", ("'ABC'", "'xyz'")),
    ("c_hstore", "hstore", ("'a=>1, b=>NULL'", "''")),
    ("c_ltree", "ltree", ("'Top.Science'", "'a'")),
    ("c_isbn", "isbn", ("'978-0-393-04002-9'", "'0-393-04002-X'")),
    ("c_point", "point", ("'(1.5,-2)'", "'(0,0)'")),
    ("c_int4range", "int4range", ("'[1,5)'", "'empty'")),
    ("c_int8range", "int8range", ("'[1,)'", "'(,5]'")),
    ("c_numrange", "numrange", ("'[1.5,2.5]'", "'(0,1)'")),
    ("c_tsrange", "tsrange", ("'[2024-01-01 00:00,2024-01-02 00:00)'", "'empty'")),
    ("c_tstzrange", "tstzrange", ("'[2024-01-01 00:00+02,2024-01-02 00:00+02)'", "'empty'")),
    ("c_daterange", "daterange", ("'[2024-01-01,2024-02-01)'", "'empty'")),
    ("c_int4_array", "integer[]", ("'{1,NULL,3}'", "'{}'")),
    ("c_int8_array", "bigint[]", ("'{9223372036854775807}'", "'{-1}'")),
    ("c_int2_array", "smallint[]", ("'{1,2}'", "'{NULL}'")),
    ("c_bool_array", "boolean[]", ("'{t,f,NULL}'", "'{}'")),
    ("c_double_array", "double precision[]", ("'{1.5,-0.1}'", "'{NULL,2}'")),
    ("c_real_array", "real[]", ("'{1.5}'", "'{}'")),
    ("c_numeric_array", "numeric(10,2)[]", ("'{1.50,2.25}'", "'{}'")),
    ("c_text_array", "text[]", ("'{a,\"b,c\",NULL,\"d\\\"e\",\"\"}'", "'{\"NULL\"}'")),
    ("c_varchar_array", "varchar(5)[]", ("'{abc}'", "'{}'")),
    ("c_char_array", "char(3)[]", ("'{ab}'", "'{}'")),
    ("c_uuid_array", "uuid[]", ("'{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11}'", "'{}'")),
    ("c_date_array", "date[]", ("'{2024-02-29,1969-12-31}'", "'{}'")),
    ("c_timestamp_array", "timestamp[]", ("'{\"2024-02-29 13:14:15.123456\"}'", "'{}'")),
    ("c_timestamptz_array", "timestamptz[]", ("'{\"2024-02-29 13:14:15+02\"}'", "'{}'")),
    ("c_enum_array", "debezium_mood[]", ("'{happy,\"sad, really\"}'", "'{}'")),
    ("c_json_array", "json[]", ("'{\"{\\\"a\\\":1}\"}'", "'{}'")),
    ("c_jsonb_array", "jsonb[]", ("'{\"{\\\"a\\\": 1}\"}'", "'{}'")),
    ("c_inet_array", "inet[]", ("'{10.0.0.1}'", "'{}'")),
    ("c_bytea_array", "bytea[]", ("'{\"\\\\x00ff\"}'", "'{}'")),
    ("c_box", "box", ("'(1,1),(0,0)'", "'(2,2),(1,1)'")),
    ("c_line", "line", ("'{1,-1,0}'", "'{0,1,2}'")),
    ("c_lseg", "lseg", ("'[(0,0),(1,2)]'", "'[(0,0),(0,0)]'")),
    ("c_path", "path", ("'[(0,0),(1,1),(2,0)]'", "'((0,0),(1,1),(2,0))'")),
    ("c_polygon", "polygon", ("'((0,0),(1,1),(2,0))'", "'((0,0))'")),
    ("c_circle", "circle", ("'<(1,2),3>'", "'<(0,0),0>'")),
    ("c_time0", "time(0)", ("'13:14:15'", "'24:00:00'")),
    ("c_timetz3", "timetz(3)", ("'13:14:15.12+02'", "'00:00:00+00'")),
    ("c_timestamp6", "timestamp(6)", ("'infinity'", "'-infinity'")),
    ("c_timestamptz3", "timestamptz(3)", ("'2024-02-29 13:14:15.1+00'", "'infinity'")),
    ("c_timestamptz6", "timestamptz", ("'-infinity'", "'0044-03-15 12:00:00+00 BC'")),
    ("c_timestamp3_far", "timestamp(3)", ("'infinity'", "'-infinity'")),
    ("c_varbit1", "varbit(1)", ("B'1'", "B'0'")),
    ("c_date_far", "date", ("'infinity'", "'0044-03-15 BC'")),
    ("c_numeric_nan", "numeric", ("'0'", "100")),
    ("c_numeric_small", "numeric(3,5)", ("0.00123", "0")),
    ("c_numeric_wide", "numeric(60,10)", ("12345678901234567890123456789012345678901234567890.0123456789", "-1")),
    ("c_bpchar", "bpchar", ("'ab '", "'x'")),
    ("c_varchar_any", "varchar", ("'abc'", "''")),
    ("c_internal_char", '"char"', ("'x'", "'y'")),
    ("c_tsquery", "tsquery", ("'a & b'", "'c'")),
    ("c_multirange", "int4multirange", ("'{[1,3),[5,8)}'", "'{}'")),
    ("c_xid", "xid", ("'5'", "'6'")),
    ("c_int4_array2", "integer[][]", ("'{{1,2},{3,4}}'", "'{}'")),
    ("c_time_array", "time[]", ("'{13:14:15.123456}'", "'{}'")),
    ("c_timetz_array", "timetz[]", ("'{13:14:15+02}'", "'{}'")),
    ("c_interval_array", "interval[]", ("'{1 day}'", "'{}'")),
    ("c_money_array", "money[]", ("'{$1.50}'", "'{}'")),
    ("c_bit_array", "bit(3)[]", ("'{101}'", "'{}'")),
    ("c_numeric_any_array", "numeric[]", ("'{1.5,20}'", "'{}'")),
    ("c_hstore_array", "hstore[]", ("'{a=>1}'", "'{}'")),
    ("c_citext_array", "citext[]", ("'{Ab}'", "'{}'")),
    ("c_ltree_array", "ltree[]", ("'{Top.A}'", "'{}'")),
    ("c_range_array", "int4range[]", ("'{\"[1,5)\"}'", "'{}'")),
    ("c_xml_array", "xml[]", ("'{<a/>}'", "'{}'")),
    ("c_oid_array", "oid[]", ("'{5}'", "'{}'")),
    ("c_macaddr_array", "macaddr[]", ("'{08:00:2b:01:02:03}'", "'{}'")),
    ("c_cidr_array", "cidr[]", ("'{10.0.0.0/8}'", "'{}'")),
    ("c_point_array", "point[]", ("'{\"(1,2)\"}'", "'{}'")),
    ("c_domain_array", "debezium_amount[]", ("'{1.5}'", "'{}'")),
    ("c_tsvector", "tsvector", ("'a fat cat'", "'x'")),
    ("c_composite", "debezium_pair", ("ROW(1,'a')", "ROW(2,'b c')")),
    ("c_pg_lsn", "pg_lsn", ("'16/B374D848'", "'0/1'")),
)  # fmt: skip
"""Each entry has a column, its type, and the values of two rows as SQL."""

DEFAULTS: Sequence[tuple[str, str]] = (
    ("d_serial", "serial"),
    ("d_bigserial", "bigserial"),
    ("d_smallserial", "smallserial"),
    ("d_int", "integer NOT NULL DEFAULT 42"),
    ("d_int_null", "integer DEFAULT 7"),
    ("d_bool", "boolean NOT NULL DEFAULT true"),
    ("d_text", "text NOT NULL DEFAULT 'it''s'"),
    ("d_varchar", "varchar(10) DEFAULT 'none'"),
    ("d_char", "char(4) NOT NULL DEFAULT 'ab'"),
    ("d_numeric", "numeric(6,3) NOT NULL DEFAULT 1.5"),
    ("d_numeric_any", "numeric NOT NULL DEFAULT 2.50"),
    ("d_real", "real NOT NULL DEFAULT 0.5"),
    ("d_double", "double precision NOT NULL DEFAULT 1e10"),
    ("d_date", "date NOT NULL DEFAULT '2024-01-02'"),
    ("d_time", "time NOT NULL DEFAULT '01:02:03'"),
    ("d_timestamp", "timestamp NOT NULL DEFAULT '2024-01-02 03:04:05'"),
    ("d_now", "timestamptz NOT NULL DEFAULT now()"),
    ("d_timestamptz", "timestamptz NOT NULL DEFAULT '2024-01-02 03:04:05+00'"),
    ("d_uuid", "uuid NOT NULL DEFAULT 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'"),
    ("d_random", "uuid NOT NULL DEFAULT gen_random_uuid()"),
    ("d_json", "jsonb NOT NULL DEFAULT '{}'"),
    ("d_bytea", "bytea NOT NULL DEFAULT '\\x01'"),
    ("d_enum", "debezium_mood NOT NULL DEFAULT 'happy'"),
    ("d_bit", "bit NOT NULL DEFAULT B'1'"),
    ("d_bit5", "bit(5) NOT NULL DEFAULT B'10101'"),
    ("d_interval", "interval NOT NULL DEFAULT '1 day'"),
    ("d_array", "integer[] NOT NULL DEFAULT '{}'"),
    ("d_money", "money NOT NULL DEFAULT 3"),
    ("d_function", "text NOT NULL DEFAULT upper('x')"),
    ("d_identity", "integer GENERATED BY DEFAULT AS IDENTITY"),
    ("d_now_null", "timestamptz DEFAULT now()"),
    ("d_timestamp_now", "timestamp NOT NULL DEFAULT now()"),
    ("d_timestamp0_now", "timestamp(0) NOT NULL DEFAULT CURRENT_TIMESTAMP"),
    ("d_timestamptz3_now", "timestamptz(3) NOT NULL DEFAULT now()"),
    ("d_date_now", "date NOT NULL DEFAULT CURRENT_DATE"),
    ("d_time_now", "time NOT NULL DEFAULT LOCALTIME"),
    ("d_negative", "integer DEFAULT -1"),
    ("d_numeric_negative", "numeric(5,2) NOT NULL DEFAULT -1.5"),
    ("d_nothing", "text DEFAULT NULL"),
    ("d_cast", "varchar(8) NOT NULL DEFAULT 'a'::text"),
    ("d_bigint", "bigint NOT NULL DEFAULT 5"),
    ("d_smallint", "smallint DEFAULT 3"),
    ("d_false", "boolean NOT NULL DEFAULT false"),
    ("d_hstore", "hstore NOT NULL DEFAULT 'a=>1'"),
    ("d_inet", "inet NOT NULL DEFAULT '10.0.0.1'"),
    ("d_varbit", "varbit NOT NULL DEFAULT B'101'"),
    ("d_point", "point NOT NULL DEFAULT '(1,2)'"),
    ("d_domain", "debezium_amount NOT NULL DEFAULT 1.5"),
    ("d_expression", "integer NOT NULL DEFAULT 1 + 1"),
    ("d_expression_null", "integer DEFAULT 1 + 1"),
    ("d_function_null", "text DEFAULT upper('x')"),
    ("d_numeric_now", "numeric(6,2) NOT NULL DEFAULT round(1.5, 1)"),
    ("d_json_function", "jsonb NOT NULL DEFAULT jsonb_build_object()"),
    ("d_text_array", "text[] NOT NULL DEFAULT '{a}'::text[]"),
    ("d_time3", "time(3) NOT NULL DEFAULT '01:02:03.5'"),
    ("d_timestamp3", "timestamp(3) NOT NULL DEFAULT '2024-01-02 03:04:05.678'"),
    ("d_infinity", "timestamp NOT NULL DEFAULT 'infinity'"),
    ("d_quoted", "text DEFAULT 'a::b''c'"),
    ("d_user", "text NOT NULL DEFAULT CURRENT_USER"),
    ("d_xml", "xml NOT NULL DEFAULT '<a/>'"),
    ("d_oid", "oid NOT NULL DEFAULT 5"),
)

LARGE: Sequence[tuple[str, str]] = (
    ("text", "repeat('x', 4000)"),
    ("varchar", "repeat('x', 4000)"),
    ("bpchar", "repeat('x', 4000)"),
    ("citext", "repeat('x', 4000)"),
    ("bytea", "decode(repeat('00ff', 2000), 'hex')"),
    ("json", "('[' || repeat('1,', 2000) || '1]')::json"),
    ("jsonb", "('[' || repeat('1,', 2000) || '1]')::jsonb"),
    ("xml", "('<a>' || repeat('x', 4000) || '</a>')::xml"),
    ("hstore", "hstore('a', repeat('x', 4000))"),
    ("tsvector", "(SELECT string_agg('w' || n, ' ') FROM generate_series(1, 800) n)::tsvector"),
    ("ltree", "(SELECT string_agg('w' || n, '.') FROM generate_series(1, 800) n)::ltree"),
    ("numeric", "repeat('123456789', 900)::numeric"),
    ("varbit", "repeat('10', 9000)::varbit"),
    ("polygon", "('(' || repeat('(1,2),', 300) || '(1,2))')::polygon"),
    ("integer[]", "array_fill(5, ARRAY[1000])"),
    ("bigint[]", "array_fill(5::bigint, ARRAY[1000])"),
    ("smallint[]", "array_fill(5::smallint, ARRAY[2000])"),
    ("boolean[]", "array_fill(true, ARRAY[4000])"),
    ("double precision[]", "array_fill(0.5::float8, ARRAY[1000])"),
    ("numeric(10,2)[]", "array_fill(1.5::numeric, ARRAY[1000])"),
    ("numeric[]", "array_fill(1.5::numeric, ARRAY[1000])"),
    ("text[]", "array_fill('abc'::text, ARRAY[1000])"),
    ("varchar[]", "array_fill('abc'::varchar, ARRAY[1000])"),
    ("bpchar[]", "array_fill('abc'::bpchar, ARRAY[1000])"),
    ("citext[]", "array_fill('abc'::citext, ARRAY[1000])"),
    ("json[]", "array_fill('{}'::json, ARRAY[1000])"),
    ("jsonb[]", "array_fill('{}'::jsonb, ARRAY[1000])"),
    ("uuid[]", "array_fill('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid, ARRAY[1000])"),
    ("bytea[]", "array_fill('abc'::bytea, ARRAY[1000])"),
    ("date[]", "array_fill('2024-01-02'::date, ARRAY[1000])"),
    ("time[]", "array_fill('01:02:03'::time, ARRAY[1000])"),
    ("timetz[]", "array_fill('01:02:03+00'::timetz, ARRAY[1000])"),
    ("timestamp[]", "array_fill('2024-01-02'::timestamp, ARRAY[1000])"),
    ("timestamptz[]", "array_fill('2024-01-02 00:00:00+00'::timestamptz, ARRAY[1000])"),
    ("debezium_mood[]", "array_fill('happy'::debezium_mood, ARRAY[1000])"),
    ("inet[]", "array_fill('10.0.0.1'::inet, ARRAY[1000])"),
    ("hstore[]", "array_fill('a=>1'::hstore, ARRAY[1000])"),
    ("oid[]", "array_fill(5::oid, ARRAY[1000])"),
    ("int4range[]", "array_fill('[1,2)'::int4range, ARRAY[1000])"),
    ("ltree[]", "array_fill('a'::ltree, ARRAY[1000])"),
)
"""These are types with values that are stored outside of the row."""
FATAL = "c_bit_array"
"""Debezium's task fails if this column is NOT NULL."""


def setup(schema: str) -> list[str]:
    """Return the statements that make the tables, with rows for the first read."""
    columns = ", ".join(f"{name} {kind}" for name, kind, _ in TYPES)
    large = ", ".join(f"l{number} {kind}" for number, (kind, _) in enumerate(LARGE))
    required = ", ".join(f"{name} {kind}{' NOT NULL' * (name != FATAL)}" for name, kind, _ in TYPES)
    defaults = ", ".join(f"{name} {kind}" for name, kind in DEFAULTS)
    return [
        *(f"CREATE EXTENSION IF NOT EXISTS {name}" for name in EXTENSIONS),
        f"CREATE SCHEMA {schema}",
        f"SET search_path TO {schema}, public",
        "CREATE TYPE debezium_mood AS ENUM ('happy', 'sad, really')",
        "CREATE DOMAIN debezium_amount AS numeric(10,3)",
        "CREATE DOMAIN debezium_code AS varchar(12)",
        "CREATE TYPE debezium_pair AS (a integer, b text)",
        f"CREATE TABLE every_type (id integer PRIMARY KEY, {columns})",
        f"CREATE TABLE defaulted (id integer PRIMARY KEY, {defaults})",
        f"CREATE TABLE required (id integer PRIMARY KEY, {required})",
        "CREATE TABLE plain (id integer PRIMARY KEY, name varchar(20) NOT NULL, big text, amount numeric(8,2))",
        "ALTER TABLE plain ALTER COLUMN big SET STORAGE EXTERNAL",
        f"CREATE TABLE large (id integer PRIMARY KEY, changed integer, {large})",
        *(f"ALTER TABLE large ALTER COLUMN l{n} SET STORAGE EXTERNAL" for n in range(len(LARGE))),
        f"INSERT INTO large VALUES (1, 1, {', '.join(value for _, value in LARGE)})",
        "CREATE TABLE whole (id bigint PRIMARY KEY, name text NOT NULL, big text)",
        "ALTER TABLE whole ALTER COLUMN big SET STORAGE EXTERNAL",
        "ALTER TABLE whole REPLICA IDENTITY FULL",
        "CREATE TABLE serial_key (id serial PRIMARY KEY, name text)",
        "CREATE TABLE numeric_key (id numeric PRIMARY KEY, name text)",
        "CREATE TABLE two_keys (b text, a integer, note text, PRIMARY KEY (b, a))",
        "CREATE TABLE no_key (a integer, note text)",
        "ALTER TABLE no_key REPLICA IDENTITY FULL",
        *rows_of_every_type(1),
        "INSERT INTO required SELECT * FROM every_type WHERE id = 1",
        _row_of_defaults(1),
        "INSERT INTO plain VALUES (1, 'one', NULL, 1.50), (2, 'two', repeat('y', 9000), NULL), (3, 'three', 'z', 3)",
        "INSERT INTO whole VALUES (1, 'one', repeat('x', 9000))",
        "INSERT INTO serial_key (name) VALUES ('a'), ('b')",
        "INSERT INTO numeric_key VALUES (1.0, 'a'), (2, 'b')",
        "INSERT INTO two_keys VALUES ('x', 1, 'n'), ('x', 2, NULL)",
        "INSERT INTO no_key VALUES (1, 'n')",
    ]


_OF_THE_SERVER = {
    "d_now": "2024-05-06 07:08:09.5+00", "d_random": "b0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
    "d_now_null": "2024-05-06 07:08:09+02", "d_timestamp_now": "2024-05-06 07:08:09.123456",
    "d_timestamp0_now": "2024-05-06 07:08:09", "d_timestamptz3_now": "2024-05-06 07:08:09.123+00",
    "d_date_now": "2024-05-06", "d_time_now": "07:08:09.123456",
}  # fmt: skip
"""The defaults of these columns differ at each run; each has a value here that is always the same."""
_IN_ONE_TRANSACTION = (
    "BEGIN",
    "INSERT INTO plain VALUES (7, 'seven', NULL, 1)",
    "UPDATE plain SET name = 'SEVEN' WHERE id = 7",
    "DELETE FROM plain WHERE id = 7",
    "COMMIT",
)
TABLES = (
    "defaulted",
    "every_type",
    "large",
    "no_key",
    "numeric_key",
    "plain",
    "required",
    "serial_key",
    "two_keys",
    "whole",
)


def rows_of_every_type(first_id: int) -> list[str]:
    """Return three rows: two with values, and one of nulls."""
    names = ", ".join(name for name, _, _ in TYPES)
    texts = [", ".join(values[place] for _, _, values in TYPES) for place in range(2)]
    made = [f"INSERT INTO every_type (id, {names}) VALUES ({first_id + n}, {text})" for n, text in enumerate(texts)]
    return [*made, f"INSERT INTO every_type (id) VALUES ({first_id + 2})"]


def _row_of_defaults(number: int) -> str:
    given = ", ".join(_OF_THE_SERVER)
    values = ", ".join(f"'{value}'" for value in _OF_THE_SERVER.values())
    return f"INSERT INTO defaulted (id, {given}) VALUES ({number}, {values})"


def changes() -> list[str]:
    """Return the changes after the first read, each in its own transaction."""
    return [
        *rows_of_every_type(11),
        "UPDATE every_type SET c_int4 = 5, c_text = 'changed' WHERE id = 11",
        "DELETE FROM every_type WHERE id = 12",
        _row_of_defaults(2),
        "DELETE FROM defaulted WHERE id = 1",
        "DELETE FROM required WHERE id = 1",
        "INSERT INTO plain VALUES (4, 'four', repeat('w', 9000), 4.25)",
        "UPDATE plain SET name = 'TWO' WHERE id = 2",
        "UPDATE plain SET id = 30 WHERE id = 3",
        "UPDATE plain SET name = 'none' WHERE id = 1000",
        "DELETE FROM plain WHERE id = 1",
        "INSERT INTO whole VALUES (2, 'two', repeat('v', 9000))",
        "UPDATE whole SET name = 'ONE' WHERE id = 1",
        "UPDATE whole SET id = 20 WHERE id = 2",
        "DELETE FROM whole WHERE id = 1",
        "INSERT INTO two_keys VALUES ('y', 1, 'new')",
        "UPDATE two_keys SET a = 9, note = 'moved' WHERE b = 'x' AND a = 1",
        "DELETE FROM two_keys WHERE b = 'x' AND a = 2",
        "UPDATE serial_key SET id = 70 WHERE id = 1",
        "DELETE FROM serial_key WHERE id = 2",
        "UPDATE numeric_key SET id = 1.5 WHERE id = 1",
        "DELETE FROM numeric_key WHERE id = 2",
        "INSERT INTO no_key VALUES (2, 'm')",
        "UPDATE no_key SET note = 'changed' WHERE a = 1",
        "DELETE FROM no_key WHERE a = 2",
        "ALTER TABLE plain ADD COLUMN added integer DEFAULT 5",
        "INSERT INTO plain VALUES (5, 'five', NULL, 5, 55)",
        "ALTER TABLE plain DROP COLUMN amount",
        "INSERT INTO plain VALUES (6, 'six', NULL, 66)",
        "; ".join(_IN_ONE_TRANSACTION),
        "TRUNCATE TABLE whole",
        "UPDATE large SET changed = 2",
        "INSERT INTO large (id) VALUES (99)",
        "INSERT INTO plain VALUES (99, 'end', NULL, NULL)",
        "INSERT INTO whole VALUES (99, 'end', NULL)",
        "INSERT INTO two_keys VALUES ('end', 99, NULL)",
        "INSERT INTO no_key VALUES (99, 'end')",
        "INSERT INTO serial_key VALUES (99, 'end')",
        "INSERT INTO numeric_key VALUES (99, 'end')",
        "INSERT INTO every_type (id) VALUES (99)",
        f"INSERT INTO required VALUES (99, {', '.join(values[1] for _, _, values in TYPES)})",
        _row_of_defaults(99),
    ]


def has_all_rows(found: Found, settings: Mapping[str, str]) -> bool:
    """Tell if the rows of the first read are among the records of a connector of these settings."""
    rows = {"every_type": 3, "plain": 3, "two_keys": 2, "serial_key": 2, "numeric_key": 2}
    return all(len(found.get(f"inventory.{table}", ())) >= rows.get(table, 1) for table in _tables(settings))


def is_at_end(found: Found, settings: Mapping[str, str]) -> bool:
    """Tell if the last row of each table is among the records."""
    return all(any(map(_is_last, found.get(f"inventory.{table}", ()))) for table in _tables(settings))


def _tables(settings: Mapping[str, str]) -> list[str]:
    return [table for table in TABLES if f"inventory.{table}" != settings.get("table.exclude.list")]


def _is_last(record: Mapping[str, Any]) -> bool:
    after = record["value"] and record["value"]["payload"]["after"]
    return bool(after) and (99 in (after.get("id"), after.get("a")) or after.get("name") == "end")
