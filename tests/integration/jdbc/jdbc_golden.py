"""Shows the column types of real servers and their types in Connect, as a table that a reviewer can read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

from jdbc_drive import OffsetStore, batches, connector, run_sql
from jdbc_server import Server

from connect.api.allowed_paths import EVERYWHERE
from connect.api.errors import SchemaError
from connect.api.schema import Schema
from connectors.jdbc.source.connector import JdbcSourceConnector

HEAD = ["| settings | column type | stored value | Connect schema | value |", "| --- | --- | --- | --- | --- |"]
MAPPINGS = ("precision_only", "best_fit", "best_fit_eager_double")
INSTANTS = ["'2024-02-29 12:34:56.123'", "'1969-12-31 23:59:59.999'"]


@dataclass(frozen=True)
class Case:
    """Holds a column type, and values as SQL writes them. Each case becomes a column of a table."""

    kind: str
    values: list[str]
    settings: dict[str, str] = field(default_factory=dict)


def _each(setting: str, options: tuple[str, ...], *cases: Case) -> list[Case]:
    return [Case(c.kind, c.values, {**c.settings, setting: option}) for option in options for c in cases]


_FREE = [
    Case("numeric", ["1", "1.5", "-0.00000001", "123456789012345678901234567890.5", "0.10"]),
    Case("numeric", ["'NaN'"]),
]
_SCALED = [
    Case("numeric(2,0)", ["99", "-99"]), Case("numeric(9,0)", ["999999999"]),
    Case("numeric(18,0)", ["999999999999999999"]), Case("numeric(19,0)", ["9999999999999999999"]),
    Case("numeric(12,2)", ["1.10", "-9999999999.99"]),
    Case("numeric(38,10)", ["1234567890123456789012345678.0123456789"]),
    Case("numeric(5,-2)", ["12300"]), Case("numeric(3,5)", ["0.00999"]),
    Case("numeric(100,50)", ["12345678901234567890123456789012345678901234567890.1"]),
    Case("numeric(12,2)", ["'NaN'"]),
]  # fmt: skip
_MONEY = [Case("money", ["'1.50'", "'-92233720368547758.08'"])]
_MICROS = {"timestamp.granularity": "micros_long"}
_BERLIN = {"db.timezone": "Europe/Berlin", **_MICROS}
_WHOLE = {"microsecond.handling": "fail"}
_ISO = {"timestamp.granularity": "micros_iso_datetime_string"}
_PG_EDGES = ["'4713-01-01 00:00:00 BC'", "'0044-03-15 00:00:00 BC'", "'9999-12-31 23:59:59.999'"]

POSTGRES = [
    Case("smallint", ["-32768", "32767"]), Case("integer", ["-2147483648", "2147483647"]),
    Case("bigint", ["-9223372036854775808", "9223372036854775807"]), Case("oid", ["4294967295"]),
    Case("real", ["0.1", "16777215", "'NaN'", "'-Infinity'"]),
    Case("double precision", ["0.1", "'-0.0'", "1.7976931348623157e308", "'NaN'", "'Infinity'"]),
    *_SCALED, *_FREE, Case("numeric", ["'Infinity'"]), *_MONEY,
    *_each("numeric.mapping", MAPPINGS, *_SCALED[:-1], *_FREE, *_MONEY),
    Case("boolean", ["true", "false"]), Case("bit", ["B'1'", "B'0'"]), Case("bit(9)", ["B'100000001'"]),
    Case("bit varying(5)", ["B'101'"]), Case("bytea", ["'\\x00ff'", "''"]),
    Case("char(3)", ["'a'"]), Case("varchar(9)", ["'é漢😀'"]), Case("text", ["''"]),
    Case("uuid", ["'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'"]), Case("json", ["'{\"a\": 1.10}'"]),
    Case("jsonb", ["'{\"a\":1.10}'"]), Case("xml", ["'<a/>'"]),
    Case("mood", ["'sad'"]), Case("price", ["1.10"]), Case("flags", ["B'101'"]),
    Case("moment", ["'2024-02-29 12:34:56.123'"]),
    *_each("numeric.mapping", MAPPINGS, Case("price", ["1.10"])),
    Case("integer[]", ["'{1,NULL}'"]), Case("numeric[]", ["'{1.50,NaN}'"]),
    Case("interval", ["'1 year -2 days 02:00:00.000001'"]), Case("inet", ["'10.0.0.1/8'", "'::1'"]),
    Case("cidr", ["'10.0.0.0/8'"]), Case("macaddr", ["'08:00:2b:01:02:03'"]), Case("int4range", ["'[1,5)'"]),
    Case("point", ["'(1,2.5)'"]), Case("tsvector", ["'a b'"]),
    Case("date", ["'2024-02-29'", "'9999-12-31'", "'0001-01-01'"]),
    Case("date", ["'infinity'"]),
    *_each("zero.date.handling", ("null", "epoch"), Case("date", ["'infinity'"]), Case("timestamp", ["'-infinity'"])),
    Case("time", ["'12:34:56.123'", "'00:00:00'"]), Case("time", ["'24:00:00'"]), Case("time", ["'12:34:56.123456'"]),
    Case("timetz", ["'12:34:56.123456+05:30'"]),
    Case("timestamp", [*INSTANTS, "'9999-12-31 23:59:59.999'"]),
    Case("timestamp", ["'2024-02-29 12:34:56.123999'", "'1969-12-31 23:59:59.999999'"]),
    Case("timestamp", ["'2024-02-29 12:34:56.123456'", *_PG_EDGES], _MICROS), Case("timestamp", ["'infinity'"]),
    Case("time", ["'12:34:56.123456'"], _WHOLE),
    Case("timestamp", ["'2024-02-29 12:34:56.123456'"], _WHOLE),
    Case("timestamp", ["'294276-12-31 23:59:59.999999'"], _MICROS),
    Case("timestamptz", ["'2024-02-29 12:34:56.123+01'", "'2023-10-29 02:30:00+01'"]),
    Case("timestamptz", ["'infinity'"]),
    Case("timestamp", ["'9999-07-01 12:00:00'", "'2150-07-01 12:00:00'"], _BERLIN),
    Case("timestamp", ["'290000-01-01 00:00:00'"], _BERLIN), Case("timestamp", ["'40000-01-01 00:00:00'"], _ISO),
    *_each("reader", ("generic",), Case("time", ["'24:00:00'"]), Case("time", ["'12:34:56.123'"]),
           Case("timestamp", INSTANTS), Case("timestamp", ["'infinity'"]), Case("date", ["'10000-01-01'"]),
           Case("timestamptz", ["'-infinity'"], {"zero.date.handling": "null"})),
]  # fmt: skip

_DECIMALS = [Case("decimal(9,0)", ["999999999"]), Case("decimal(12,2)", ["-9999999999.99"])]
_WIDE = "-12345678901234567890123456789012345.123456789012345678901234567890"
_BIG = Case("bigint unsigned", ["9223372036854775807"])
_OVER = Case("bigint unsigned", ["18446744073709551615"])
MARIADB = [
    Case("tinyint", ["-128", "127"]), Case("tinyint(1)", ["1", "127"]), Case("tinyint unsigned", ["255"]),
    Case("smallint", ["-32768"]), Case("smallint unsigned", ["65535"]), Case("mediumint unsigned", ["16777215"]),
    Case("int", ["-2147483648"]), Case("int unsigned", ["4294967295"]), Case("bigint", ["-9223372036854775808"]),
    _BIG, _OVER, *_each("bigint.unsigned.handling.mode", ("precise",), _BIG, _OVER),
    Case("float", ["0.1", "16777215", "1234567.9", "3.4e38", "1e-37", "-0e0"]),
    Case("float(7,4)", ["1.23", "999.9999"]),
    Case("double", ["0.1", "1.7976931348623157e308", "-0e0"]),
    *_DECIMALS, Case("decimal(65,30)", [_WIDE]), *_each("numeric.mapping", MAPPINGS, *_DECIMALS),
    Case("bit", ["b'1'", "b'0'"]), Case("bit(9)", ["b'100000001'"]), Case("bit(64)", ["x'ffffffffffffffff'"]),
    Case("char(3)", ["'a'"]), Case("varchar(9)", ["'é漢😀'"]), Case("longtext", ["''"]),
    Case("binary(3)", ["x'00ff'"]), Case("varbinary(3)", ["x'00ff'"]), Case("blob", ["x'00ff'", "''"]),
    Case("tinyblob", ["x'00ff'"]), Case("mediumblob", ["x'00ff'"]), Case("longblob", ["x'00ff'"]),
    Case("enum('a','b')", ["'b'", "''"]), Case("set('a','b')", ["'a,b'", "''"]), Case("json", ["'{\"a\": 1.10}'"]),
    Case("uuid", ["'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'"]), Case("inet4", ["'10.0.0.1'"]), Case("inet6", ["'::1'"]),
    Case("point", ["point(1,2)"]), Case("geometry", ["ST_GeomFromText('LINESTRING(0 0,1 1)')"]),
    Case("year", ["1901", "2155", "0000"]),
    Case("date", ["'2024-02-29'", "'9999-12-31'", "'1000-01-01'"]), Case("date", ["'0000-00-00'"]),
    Case("date", ["'2024-00-15'"]), Case("datetime", ["'0000-00-00 00:00:00'"]),
    *_each("zero.date.handling", ("null", "epoch"), Case("date", ["'0000-00-00'", "'2024-02-29'"]),
           Case("datetime", ["'0000-00-00 00:00:00'"]), Case("timestamp null", ["'0000-00-00 00:00:00'"])),
    Case("time(3)", ["'12:34:56.123'", "'00:00:00'"]), Case("time", ["'-838:59:59'"]), Case("time", ["'24:00:00'"]),
    Case("time(6)", ["'12:34:56.123456'"]),
    Case("datetime(3)", [*INSTANTS, "'9999-12-31 23:59:59.999'"]),
    Case("datetime(6)", ["'2024-02-29 12:34:56.123999'", "'1969-12-31 23:59:59.999999'"]),
    Case("datetime(6)", ["'2024-02-29 12:34:56.123456'", "'9999-12-31 23:59:59.999999'"], _MICROS),
    Case("time(6)", ["'12:34:56.123456'"], _WHOLE),
    Case("datetime(6)", ["'2024-02-29 12:34:56.123456'"], _WHOLE),
    Case("timestamp(3) null", ["'2024-02-29 12:34:56.123'", "'2038-01-19 03:14:07'"]),
    Case("datetime(6)", ["'9999-12-31 23:59:59.999999'", "'2150-07-01 12:00:00'"], _BERLIN),
    *_each("reader", ("generic",), Case("time", ["'-838:59:59'"]), Case("time(3)", ["'12:34:56.123'"]),
           Case("datetime(3)", INSTANTS), Case("date", ["'2024-00-15'"]), Case("longblob", ["x'00ff'"]),
           Case("datetime", ["'0000-00-00 00:00:00'", "'2024-01-15 00:00:00'"], {"zero.date.handling": "null"})),
]  # fmt: skip

_SQLITE_NUMBERS = [
    Case("numeric", ["1", "1.5"]), Case("numeric", ["9007199254740993"]), Case("numeric(2,0)", ["99"]),
    Case("numeric(9,0)", ["999999999"]), Case("numeric(12,2)", ["1.10"]), Case("numeric(12,2)", ["1.123"]),
    Case("numeric(19,0)", ["1"]), Case("decimal(12,2)", ["1.10", "7"]),
]  # fmt: skip
SQLITE = [
    Case("integer", ["-9223372036854775808", "9223372036854775807"]), Case("integer", ["'abc'"]),
    Case("integer", ["1.5"]), Case("tinyint", ["300"]), Case("unsigned big int", ["9223372036854775807"]),
    Case("boolean", ["1", "false"]), Case("boolean", ["2"]), Case("real", ["0.1", "-0.0", "1e308"]),
    *_SQLITE_NUMBERS, *_each("numeric.mapping", MAPPINGS, *_SQLITE_NUMBERS),
    Case("text", ["'é漢😀'"]), Case("text", ["x'00ff'"]), Case("char(3)", ["'a'"]), Case("json", ["'{}'"]),
    Case("blob", ["x'00ff'"]), Case("blob", ["'a'"]), Case("", ["'a'"]),
    Case("date", ["'2024-02-29'", "'0001-01-01'", "'9999-12-31'"]), Case("date", ["1709164800000"]),
    Case("datetime", ["'2024-02-29 12:34:56.123'", "'1969-12-31 23:59:59.5'"]), Case("time", ["'12:34:56'"]),
    Case("datetime", ["'2024-02-29T12:34:56Z'"]), Case("timestamp", ["'2024-02-29 12:34:56.123456'"]),
    Case("timestamp", ["'2024-02-29 12:34:56.123456'"], _WHOLE),
    Case("timestamp", ["'2024-02-29 12:34:56.123456'", "'9999-12-31 23:59:59.999999'"], _MICROS),
    Case("timestamp", ["1709210096123"]), Case("timestamp", ["'2024-02-29 12:34:56'", "1709210096123"]),
]  # fmt: skip
SETUP = {
    "postgres": [
        "DROP TYPE IF EXISTS mood CASCADE",
        "CREATE TYPE mood AS ENUM ('sad', 'ok')",
        "DROP DOMAIN IF EXISTS amount, flags, moment CASCADE",
        "CREATE DOMAIN amount AS numeric(12,2)",
        "CREATE DOMAIN price AS amount CHECK (VALUE > 0)",
        "CREATE DOMAIN flags AS bit(3)",
        "CREATE DOMAIN moment AS timestamp(3)",
    ],
    "mariadb": ["SET sql_mode=''", "SET time_zone='+00:00'"],
}


def observed(server: Server, cases: list[Case], expected: list[str]) -> list[str]:
    """Return the lines of the table as this server and the connector give them now; `expected` are the stored lines."""
    made_tables(server, cases, expected)
    return _observed(cases, server.table, expected, lambda settings: server.connector(**settings))


def made_tables(server: Server, cases: list[Case], expected: list[str]) -> list[GoldenTable]:
    """Make the tables with the cases, and return them."""
    found = _tables(cases, server.table, expected)
    with server.engine.begin() as connection:
        for statement in SETUP[server.name]:
            connection.exec_driver_sql(statement)
        for table in found:
            for statement in table.statements():
                # Without parameters the driver takes % and : as they are.
                connection.exec_driver_sql(statement)
    return found


def observed_sqlite(path: Path, cases: list[Case], expected: list[str]) -> list[str]:
    """Return the lines of a new SQLite file."""
    run_sql(path, *(statement for table in _tables(cases, "t", expected) for statement in table.statements()))
    return _observed(cases, "t", expected, lambda settings: connector(path, **settings))


@dataclass(frozen=True)
class GoldenTable:
    """Holds cases that one connector reads together, as columns of one table; columns with fewer values end in NULL."""

    name: str
    cases: list[Case]
    is_refused: bool = False

    def statements(self) -> Iterator[str]:
        columns = ", ".join(f"c{place} {case.kind}" for place, case in enumerate(self.cases))
        yield f"CREATE TABLE {self.name} (id INTEGER PRIMARY KEY, {columns})"
        for row in range(max(len(case.values) for case in self.cases)):
            values = ", ".join(case.values[row] if row < len(case.values) else "NULL" for case in self.cases)
            yield f"INSERT INTO {self.name} VALUES ({row}, {values})"


def _tables(cases: list[Case], name: str, expected: list[str]) -> list[GoldenTable]:
    """Return a table for each choice of settings, and one for each refused case, as a whole table is refused."""
    together: dict[str, list[Case]] = {}
    for place, case in enumerate(cases):
        refused = any(line.startswith(f"{_start(case)} | | refused") for line in expected)
        together.setdefault(f"{place}" if refused else _shown(case), []).append(case)
    return [
        GoldenTable(f"{name}_{place}", group, is_refused=key.isdecimal())
        for place, (key, group) in enumerate(together.items())
    ]


def _observed(
    cases: list[Case], name: str, expected: list[str], planned: Callable[[dict[str, str]], JdbcSourceConnector]
) -> list[str]:
    found: dict[int, list[str]] = {}
    for table in _tables(cases, name, expected):
        lines = _lines(planned(_settings(table.cases[0], table.name)), table)
        found |= {id(case): case_lines for case, case_lines in zip(table.cases, lines, strict=True)}
    return HEAD + [line for case in cases for line in found[id(case)]]


def _settings(case: Case, table: str) -> dict[str, str]:
    given = {"mode": "bulk", "poll.interval.ms": "600000", "table.whitelist": table, **case.settings}
    return {name.replace(".", "__"): value for name, value in given.items()}


def _lines(planned: JdbcSourceConnector, table: GoldenTable) -> list[list[str]]:
    """Return the lines of each case."""
    (config,) = planned.task_configs(1)
    task = planned.task({**config, **EVERYWHERE})
    try:
        task.open(OffsetStore())
        (batch,) = batches(task, OffsetStore(), at_most=1)
    except SchemaError as error:
        text = re.sub(r"Table \S+", "The table", f"refused: {error}").replace("'c0'", "'c'")
        return [[f"{_start(case)} | | {text} |"] for case in table.cases]
    finally:
        task.close()
    assert batch.values.schema is not None
    rows = list(batch.values.rows())
    found = []
    for place, case in enumerate(table.cases):
        schema = _schema(batch.values.schema.field(f"c{place}"))
        values = [row[f"c{place}"] for row in rows]
        assert values[len(case.values) :] == [None] * (len(rows) - len(case.values))
        told = zip(case.values, values, strict=False)
        found.append([f"{_start(case, value)} | {schema} | {_value(read)} |" for value, read in told])
    return found


def _start(case: Case, value: str | None = None) -> str:
    """Return the beginning of a line, which says what is stored; if all values are refused together, it has all of
    them.
    """
    return f"| {_shown(case)} | {case.kind} | {', '.join(case.values) if value is None else value}"


def _shown(case: Case) -> str:
    return " ".join(f"{key}={value}" for key, value in case.settings.items())


def _schema(schema: Schema) -> str:
    if schema.name is None:
        return str(schema.type)
    scale = f"(scale {schema.parameters['scale']})" if "scale" in schema.parameters else ""
    return schema.name.rpartition(".")[2] + scale


def _value(value: object) -> str:
    match value:
        case bytes():
            return f"0x{value.hex()}"
        case Decimal():
            return format(value, "f")
        case str():
            return f'"{value}"'
    return str(value)
