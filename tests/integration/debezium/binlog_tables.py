"""Makes the tables and changes that both connectors read on MariaDB and MySQL: types of columns, kinds of change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Found = Mapping[str, Sequence[Mapping[str, Any]]]
Typed = tuple[str, str, Sequence[str]]
DATABASE = "inventory"

_BOTH: Sequence[Typed] = (
    ("c_tinyint", "tinyint", ("-128", "127")),
    ("c_tinyint1", "tinyint(1)", ("1", "-7")),
    ("c_bool", "boolean", ("true", "false")),
    ("c_utinyint", "tinyint unsigned", ("255", "0")),
    ("c_smallint", "smallint", ("-32768", "32767")),
    ("c_usmallint", "smallint unsigned", ("65535", "1")),
    ("c_mediumint", "mediumint", ("-8388608", "8388607")),
    ("c_umediumint", "mediumint unsigned", ("16777215", "2")),
    ("c_int", "int", ("-2147483648", "2147483647")),
    ("c_uint", "int unsigned", ("4294967295", "3")),
    ("c_zerofill", "int(7) zerofill", ("42", "0")),
    ("c_bigint", "bigint", ("-9223372036854775808", "9223372036854775807")),
    ("c_ubigint", "bigint unsigned", ("18446744073709551615", "4")),
    ("c_float", "float", ("1.5", "-0.1")),
    ("c_float_p", "float(7,3)", ("1234.567", "-0.5")),
    ("c_float53", "float(53)", ("0.1", "1e100")),
    ("c_double", "double", ("0.1", "-1.5e300")),
    ("c_double_p", "double(8,3)", ("12345.678", "0")),
    ("c_decimal", "decimal(10,2)", ("-12345678.91", "0.5")),
    ("c_decimal_whole", "decimal(5)", ("-12345", "7")),
    ("c_decimal65", "decimal(65,30)", ("12345678901234567890123456789012345.5", "-0.000000000000000000000000000001")),
    ("c_numeric", "numeric(20,3)", ("1.5", "0")),
    ("c_udecimal", "decimal(6,3) unsigned", ("999.999", "0.001")),
    ("c_bit1", "bit(1)", ("b'1'", "b'0'")),
    ("c_bit5", "bit(5)", ("b'10101'", "b'0'")),
    ("c_bit16", "bit(16)", ("b'1000000000000001'", "b'11'")),
    ("c_bit64", "bit(64)", ("b'1'", "x'8000000000000001'")),
    ("c_char", "char(5)", ("'ab'", "'grün'")),
    ("c_varchar", "varchar(20)", ("'grün'", "''")),
    ("c_nvarchar", "national varchar(9)", ("'n'", "''")),
    ("c_tinytext", "tinytext", ("'tiny'", "''")),
    ("c_text", "text", ("'a''b\"\\\\n'", "'x'")),
    ("c_mediumtext", "mediumtext", ("'😀'", "'x'")),
    ("c_longtext", "longtext", ("repeat('x', 300)", "''")),
    ("c_latin1", "varchar(20) character set latin1", ("'grün'", "'€'")),
    ("c_utf16", "varchar(20) character set utf16", ("'grün'", "'😀'")),
    ("c_sjis", "varchar(20) character set sjis", ("'日本'", "'a'")),
    ("c_utf8_bin", "varchar(9) collate utf8mb4_bin", ("'É'", "'e'")),
    ("c_ascii", "char(3) character set ascii", ("'abc'", "''")),
    ("c_binary", "binary(5)", ("'ab'", "x'0001020304'")),
    ("c_varbinary", "varbinary(9)", ("x'0001ff'", "''")),
    ("c_tinyblob", "tinyblob", ("x'00ff'", "''")),
    ("c_blob", "blob", ("x'0102'", "''")),
    ("c_mediumblob", "mediumblob", ("x'03'", "''")),
    ("c_longblob", "longblob", ("repeat(x'00ff', 200)", "''")),
    ("c_date", "date", ("'2024-02-29'", "'1000-01-01'")),
    ("c_date_far", "date", ("'9999-12-31'", "'1969-12-31'")),
    ("c_time", "time", ("'13:14:15'", "'00:00:00'")),
    ("c_time3", "time(3)", ("'13:14:15.123'", "'23:59:59.999'")),
    ("c_time6", "time(6)", ("'13:14:15.123456'", "'00:00:00.000001'")),
    ("c_time_far", "time(6)", ("'-838:59:59'", "'838:59:58.999999'")),
    ("c_datetime", "datetime", ("'2024-02-29 13:14:15'", "'1969-12-31 23:59:59'")),
    ("c_datetime3", "datetime(3)", ("'2024-02-29 13:14:15.123'", "'1000-01-01 00:00:00'")),
    ("c_datetime6", "datetime(6)", ("'2024-02-29 13:14:15.123456'", "'9999-12-31 23:59:59.999999'")),
    ("c_timestamp", "timestamp null", ("'2024-02-29 13:14:15'", "'1970-01-01 00:00:01'")),
    ("c_timestamp3", "timestamp(3) null", ("'2024-02-29 13:14:15.120'", "'2038-01-19 03:14:07'")),
    ("c_timestamp6", "timestamp(6) null", ("'2024-02-29 13:14:15.123456'", "'2024-02-29 13:14:15'")),
    ("c_year", "year", ("2024", "0")),
    ("c_enum", "enum('small','it''s','gr,ün')", ("'small'", "'gr,ün'")),
    ("c_set", "set('a','b','c')", ("'a,c'", "''")),
    ("c_enum_latin1", "enum('ä','b') character set latin1", ("'ä'", "'b'")),
    ("c_json", "json", ("'{\"a\": [1, 2.50, null], \"bé\": \"x\"}'", "'[]'")),
    ("c_point", "point", ("ST_GeomFromText('POINT(1.5 -2)')", "ST_GeomFromText('POINT(0 0)', 4326)")),
    ("c_linestring", "linestring", ("ST_GeomFromText('LINESTRING(0 0,1 2)')", "NULL")),
    ("c_polygon", "polygon", ("ST_GeomFromText('POLYGON((0 0,1 0,1 1,0 0))')", "NULL")),
    ("c_geometry", "geometry", ("ST_GeomFromText('LINESTRING(0 0,1 2)', 4326)", "ST_GeomFromText('POINT(1 1)')")),
    ("c_multipoint", "multipoint", ("ST_GeomFromText('MULTIPOINT(1 1,2 2)')", "NULL")),
    ("c_multilinestring", "multilinestring", ("ST_GeomFromText('MULTILINESTRING((0 0,1 1))')", "NULL")),
    ("c_multipolygon", "multipolygon", ("ST_GeomFromText('MULTIPOLYGON(((0 0,1 0,1 1,0 0)))')", "NULL")),
    ("c_collection", "geometrycollection", ("ST_GeomFromText('GEOMETRYCOLLECTION(POINT(1 1))')", "NULL")),
    ("c_zero_date", "date", ("'0000-00-00'", "'2024-00-00'")),
    ("c_zero_datetime", "datetime", ("'0000-00-00 00:00:00'", "'2024-01-02 03:04:05'")),
    ("c_zero_timestamp", "timestamp null", ("'0000-00-00 00:00:00'", "'2024-01-02 03:04:05'")),
)  # fmt: skip
_OWN: Mapping[str, Sequence[Typed]] = {
    "mariadb": (
        ("c_uuid", "uuid", ("'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'", "'00000000-0000-0000-0000-000000000000'")),
        ("c_inet6", "inet6", ("'2001:db8::1'", "'::'")),
        ("c_inet4", "inet4", ("'10.0.0.1'", "'0.0.0.0'")),
    ),
    "mysql": (),
}
DEFAULTS: Sequence[tuple[str, str]] = (
    ("d_tinyint", "tinyint NOT NULL DEFAULT 5"),
    ("d_bool", "boolean NOT NULL DEFAULT true"),
    ("d_int", "int NOT NULL DEFAULT 42"),
    ("d_int_null", "int DEFAULT 7"),
    ("d_nothing", "int DEFAULT NULL"),
    ("d_uint", "int unsigned NOT NULL DEFAULT 8"),
    ("d_bigint", "bigint NOT NULL DEFAULT -9"),
    ("d_ubigint", "bigint unsigned NOT NULL DEFAULT 10"),
    ("d_float", "float NOT NULL DEFAULT 0.5"),
    ("d_double", "double NOT NULL DEFAULT 1e10"),
    ("d_decimal", "decimal(6,3) NOT NULL DEFAULT 1.5"),
    ("d_char", "char(4) NOT NULL DEFAULT 'ab'"),
    ("d_varchar", "varchar(10) DEFAULT 'it''s'"),
    ("d_varchar_empty", "varchar(10) NOT NULL DEFAULT ''"),
    ("d_bit", "bit(1) NOT NULL DEFAULT b'1'"),
    ("d_bit9", "bit(9) NOT NULL DEFAULT b'100000001'"),
    ("d_date", "date NOT NULL DEFAULT '2024-01-02'"),
    ("d_time", "time NOT NULL DEFAULT '01:02:03'"),
    ("d_datetime", "datetime NOT NULL DEFAULT '2024-01-02 03:04:05'"),
    ("d_datetime6", "datetime(6) NOT NULL DEFAULT '2024-01-02 03:04:05.678901'"),
    ("d_timestamp", "timestamp NOT NULL DEFAULT '2024-01-02 03:04:05'"),
    ("d_now", "timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP"),
    ("d_now_null", "timestamp NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP"),
    ("d_datetime_now", "datetime(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3)"),
    ("d_zero", "date NOT NULL DEFAULT '0000-00-00'"),
    ("d_year", "year NOT NULL DEFAULT 2024"),
    ("d_enum", "enum('a','b') NOT NULL DEFAULT 'b'"),
    ("d_set", "set('a','b') NOT NULL DEFAULT 'a,b'"),
    ("d_binary", "binary(3) NOT NULL DEFAULT 'ab'"),
    ("d_generated", "int AS (d_int + 1) STORED"),
)
_OF_THE_SERVER = ("d_now", "d_now_null", "d_datetime_now")
"""The defaults of these columns are different at each run."""
_SESSION = ("SET NAMES utf8mb4", "SET SESSION sql_mode = 'ALLOW_INVALID_DATES'", "SET SESSION time_zone = '+00:00'")
TABLES = ("defaulted", "every_type", "no_key", "plain", "required", "two_keys", "unique_key")
_ROWS = {"every_type": 3, "plain": 3, "two_keys": 2}


def types(kind: str) -> Sequence[Typed]:
    """Return the columns that a kind of server has, each with its type, and the values of two rows as SQL."""
    return (*_BOTH, *_OWN[kind])


def setup(kind: str) -> list[str]:
    """Return the statements that make the tables, with rows for the first read."""
    columns = ", ".join(f"{name} {type_}" for name, type_, _ in types(kind))
    required = ", ".join(f"{name} {type_.removesuffix(' null')} NOT NULL" for name, type_, _ in _required(kind))
    defaults = ", ".join(f"{name} {type_}" for name, type_ in DEFAULTS)
    return [
        *_SESSION,
        f"CREATE DATABASE {DATABASE}",
        f"USE {DATABASE}",
        f"CREATE TABLE every_type (id int PRIMARY KEY, {columns})",
        f"CREATE TABLE required (id int PRIMARY KEY, {required})",
        f"CREATE TABLE defaulted (id int PRIMARY KEY, {defaults})",
        "CREATE TABLE plain (id int PRIMARY KEY, name varchar(20) NOT NULL, big text, amount decimal(8,2))",
        "CREATE TABLE two_keys (b varchar(5), a int, note text, PRIMARY KEY (b, a))",
        "CREATE TABLE no_key (a int, note varchar(9))",
        "CREATE TABLE unique_key (a int NOT NULL, note varchar(9), UNIQUE KEY (a))",
        *_rows_of_every_type(kind, 1),
        _required_row(kind, 1, 0),
        _row_of_defaults(1),
        "INSERT INTO plain VALUES (1, 'one', NULL, 1.50), (2, 'two', repeat('y', 9000), NULL), (3, 'three', 'z', 3)",
        "INSERT INTO two_keys VALUES ('x', 1, 'n'), ('x', 2, NULL)",
        "INSERT INTO no_key VALUES (1, 'n')",
        "INSERT INTO unique_key VALUES (1, 'n')",
    ]


def changes(kind: str) -> list[str]:
    """Return the changes after the first read, each in its own transaction."""
    return [
        *_rows_of_every_type(kind, 11),
        "UPDATE every_type SET c_int = 5, c_text = 'changed' WHERE id = 11",
        "DELETE FROM every_type WHERE id = 12",
        _row_of_defaults(2),
        "DELETE FROM defaulted WHERE id = 1",
        "DELETE FROM required WHERE id = 1",
        "INSERT INTO plain VALUES (4, 'four', repeat('w', 9000), 4.25), (41, 'many', NULL, 1)",
        "UPDATE plain SET name = 'TWO' WHERE id = 2",
        "UPDATE plain SET id = 30 WHERE id = 3",
        "UPDATE plain SET name = 'none' WHERE id = 1000",
        "DELETE FROM plain WHERE id = 1",
        "INSERT INTO two_keys VALUES ('y', 1, 'new')",
        "UPDATE two_keys SET a = 9, note = 'moved' WHERE b = 'x' AND a = 1",
        "DELETE FROM two_keys WHERE b = 'x' AND a = 2",
        "INSERT INTO no_key VALUES (2, 'm')",
        "UPDATE no_key SET note = 'changed' WHERE a = 1",
        "DELETE FROM no_key WHERE a = 2",
        "UPDATE unique_key SET a = 5",
        "ALTER TABLE plain ADD COLUMN added int DEFAULT 5",
        "INSERT INTO plain VALUES (5, 'five', NULL, 5, 55)",
        "ALTER TABLE plain DROP COLUMN amount",
        "ALTER TABLE plain MODIFY added bigint DEFAULT 5",
        "INSERT INTO plain VALUES (6, 'six', NULL, 66)",
        "CREATE TABLE later (id int PRIMARY KEY, name varchar(9))",
        "INSERT INTO later VALUES (99, 'end')",
        *("BEGIN", "INSERT INTO plain VALUES (7, 'seven', NULL, 1)", "UPDATE plain SET name = 'SEVEN' WHERE id = 7"),
        *("DELETE FROM plain WHERE id = 7", "COMMIT"),
        "INSERT INTO plain VALUES (99, 'end', NULL, NULL)",
        "INSERT INTO two_keys VALUES ('end', 99, NULL)",
        "INSERT INTO no_key VALUES (99, 'end')",
        "INSERT INTO unique_key VALUES (99, 'end')",
        "INSERT INTO every_type (id) VALUES (99)",
        _required_row(kind, 99, 1),
        _row_of_defaults(99),
    ]


def has_all_rows(found: Found) -> bool:
    """Tell if the rows of the first read are among a connector's records."""
    return all(len(found.get(f"{DATABASE}.{table}", ())) >= _ROWS.get(table, 1) for table in TABLES)


def is_at_end(found: Found) -> bool:
    """Tell if the last row of each table is among a connector's records."""
    return all(any(map(_is_last, found.get(f"{DATABASE}.{table}", ()))) for table in (*TABLES, "later"))


def _is_last(record: Mapping[str, Any]) -> bool:
    after = record["value"] and record["value"]["payload"]["after"]
    return bool(after) and 99 in (after.get("id"), after.get("a"))


def _rows_of_every_type(kind: str, first_id: int) -> list[str]:
    """Return three rows: two with values, and one of nulls."""
    names = ", ".join(name for name, _, _ in types(kind))
    texts = [", ".join(values[place] for _, _, values in types(kind)) for place in range(2)]
    made = [f"INSERT INTO every_type (id, {names}) VALUES ({first_id + n}, {text})" for n, text in enumerate(texts)]
    return [*made, f"INSERT INTO every_type (id) VALUES ({first_id + 2})"]


def _required(kind: str) -> list[Typed]:
    return [column for column in types(kind) if "NULL" not in column[2]]


def _required_row(kind: str, number: int, place: int) -> str:
    return f"INSERT INTO required VALUES ({number}, {', '.join(values[place] for _, _, values in _required(kind))})"


def _row_of_defaults(number: int) -> str:
    given, values = ", ".join(_OF_THE_SERVER), ", ".join(["'2024-05-06 07:08:09'"] * len(_OF_THE_SERVER))
    return f"INSERT INTO defaulted (id, {given}) VALUES ({number}, {values})"
