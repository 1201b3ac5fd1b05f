"""Makes a table with a column of every type, and converts the driver's Python values to the form of the connector's
rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from cassandra.util import Date, Duration, OrderedMapSerializedKey, SortedSet, Time
from cassandra_node import Node

EVERY_TYPE = (
    "CREATE TYPE address (street text, number int)",
    """CREATE TABLE orders (
        tenant text, customer int, placed timestamp, line int, region text static, flags set<int> static,
        tags set<text>, notes list<text>, prices map<text, decimal>, counts map<int, text>, ship_to address,
        home frozen<address>, past list<frozen<address>>, nested map<text, frozen<list<frozen<set<int>>>>>,
        amount decimal, big varint, id uuid, at timeuuid, ip inet, day date, clock time, lasts duration, ok boolean,
        f float, d double, b bigint, s smallint, t tinyint, raw blob, code ascii, pair tuple<int, text>,
        embedding vector<float, 3>, words vector<text, 2>, "Odd Name" text,
        PRIMARY KEY ((tenant, customer), placed, line)
    ) WITH CLUSTERING ORDER BY (placed DESC, line ASC) AND cdc = true""",
)
_FULL = """INSERT INTO orders (
    tenant, customer, placed, line, region, flags, tags, notes, prices, counts, ship_to, home, past, nested, amount,
    big, id, at, ip, day, clock, lasts, ok, f, d, b, s, t, raw, code, pair, embedding, words, "Odd Name") VALUES (
    't{tenant}', {customer}, {placed}, {line}, 'eu', {{3, 1}}, {{'b', 'a', 'ü'}}, ['x', 'y', 'x'],
    {{'k': 1.50, 'l': -2E+7}}, {{2: 'two', 1: 'one'}}, {{street: 's', number: {line}}}, {{street: 'h'}},
    [{{street: 'p', number: 1}}], {{'n': [{{1, 2}}, {{3}}]}}, -12.3400, -123456789012345678901234567890, uuid(), now(),
    '{ip}', '1969-12-31', '13:14:15.123456789', 1mo2d3ns, true, 1.5, -2.5, -9000000000, -7, -8, 0xdeadbeef, 'ascii',
    ({line}, 'second'), [1.0, -2.0, 3.5], ['w1', 'w2'], 'odd')"""


def fill(node: Node) -> None:
    """Insert 200 full rows in 20 partitions, and rows that are mostly null."""
    for i in range(200):
        ip = "10.0.0.1" if i % 2 else "2001:db8::1"
        node.run(_FULL.format(tenant=i % 5, customer=i % 20, placed=1_600_000_000_000 + i, line=i, ip=ip))
    node.run(
        "INSERT INTO orders (tenant, customer, region) VALUES ('only static', 1, 'us')",
        "INSERT INTO orders (tenant, customer, placed, line) VALUES ('nulls', 1, 1, 1)",
        "INSERT INTO orders (tenant, customer, placed, line, tags, code) VALUES ('empty', 1, 1, 1, {}, '')",
    )


def plain(value: Any) -> Any:
    """Return a value of the driver in the form of the connector's rows."""
    match value:
        case Decimal() | UUID():
            return str(value)
        case datetime():
            return round(value.replace(tzinfo=UTC).timestamp() * 1000)
        case Date():
            return value.days_from_epoch
        case Time():
            return value.nanosecond_time
        case Duration():
            return {"months": value.months, "days": value.days, "nanoseconds": value.nanoseconds}
        case SortedSet() | list():
            return [plain(part) for part in value]
        case OrderedMapSerializedKey() | dict():
            return {plain(k): plain(v) for k, v in value.items()}
        case tuple() if hasattr(value, "_asdict"):
            return {k: plain(v) for k, v in value._asdict().items()}
        case tuple():
            return {f"field{i}": plain(v) for i, v in enumerate(value, 1)}
    return value


def plain_row(row: Mapping[str, Any], columns: Mapping[str, str]) -> dict[str, Any]:
    """Return a row of the driver's dict factory, which turns names into identifiers; `columns` has the real names."""
    values = {columns.get(name, name): plain(value) for name, value in row.items()}
    if values.get("big") is not None:
        values["big"] = str(values["big"])
    return values
