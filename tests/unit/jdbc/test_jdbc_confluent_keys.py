"""Checks every key of Confluent's JDBC source 10.9 as clients and forms see it: PUT
/connector-plugins/.../config/validate.
"""

from __future__ import annotations

import pytest

from connect.api.allowed_paths import EVERYWHERE
from connectors.jdbc.settings.config import JdbcSourceConfig
from connectors.jdbc.settings.table_choice import TableFilter

# name | type | default | importance | group | width | display name. Theirs calls catalog.pattern "Schema pattern", too.
CONFLUENT = """
connection.url | STRING |  | HIGH | Database | LONG | JDBC URL
connection.user | STRING | null | HIGH | Database | LONG | JDBC User
connection.password | PASSWORD | null | HIGH | Database | SHORT | JDBC Password
jdbc.credentials.provider.class | CLASS | io.confluent.connect.jdbc.util.DefaultJdbcCredentialsProvider | LOW | Database | LONG | JDBC Credentials Provider Class
connection.attempts | INT | 3 | LOW | Database | SHORT | JDBC connection attempts
connection.backoff.ms | LONG | 10000 | LOW | Database | SHORT | JDBC connection backoff in milliseconds
table.whitelist | LIST |  | MEDIUM | Database | LONG | Table Whitelist
table.blacklist | LIST |  | MEDIUM | Database | LONG | Table Blacklist
table.include.list | LIST |  | MEDIUM | Database | LONG | Tables Included (Regex)
table.exclude.list | LIST |  | MEDIUM | Database | LONG | Tables Excluded (Regex)
catalog.pattern | STRING | null | MEDIUM | Database | SHORT | Catalog pattern
schema.pattern | STRING | null | HIGH | Database | SHORT | Schema pattern
numeric.precision.mapping | BOOLEAN | false | LOW | Database | SHORT | Map Numeric Values By Precision (deprecated)
numeric.mapping | STRING | null | LOW | Database | SHORT | Map Numeric Values, Integral or Decimal, By Precision and Scale
dialect.name | STRING |  | LOW | Database | LONG | Database Dialect
date.calendar.system | STRING | LEGACY | LOW | Database | MEDIUM | Date Calendar System
mode | STRING |  | HIGH | Mode | MEDIUM | Table Loading Mode
incrementing.column.name | STRING |  | MEDIUM | Mode | MEDIUM | Incrementing Column Name
timestamp.column.name | LIST |  | MEDIUM | Mode | MEDIUM | Timestamp Column Name
timestamp.columns.mapping | LIST |  | MEDIUM | Mode | LONG | Table to timestamp columns mappings
incrementing.column.mapping | LIST |  | MEDIUM | Mode | LONG | Table to incrementing column mappings
timestamp.initial | LONG | null | LOW | Mode | MEDIUM | Unix time value of initial timestamp
validate.non.null | BOOLEAN | true | LOW | Mode | SHORT | Validate Non Null
query | STRING |  | MEDIUM | Mode | SHORT | Query
query.masked | PASSWORD | [hidden] | MEDIUM | Mode | SHORT | Query (Masked)
quote.sql.identifiers | STRING | ALWAYS | MEDIUM | Mode | MEDIUM | Quote Identifiers
query.suffix | STRING |  | LOW | Mode | MEDIUM | Query suffix
transaction.isolation.mode | STRING | DEFAULT | LOW | Mode | MEDIUM | Transaction Isolation Mode
query.retry.attempts | INT | -1 | LOW | Mode | MEDIUM | Query Retry Attempts
table.types | LIST | TABLE | LOW | Connector | MEDIUM | Table Types
poll.interval.ms | INT | 5000 | HIGH | Connector | SHORT | Poll Interval (ms)
batch.max.rows | INT | 1000 | LOW | Connector | SHORT | Max Rows Per Batch
max.buffer.size | INT | 0 | LOW | Connector | SHORT | Maximum Buffer Size
poll.linger.ms | LONG | 5000 | LOW | Connector | SHORT | Poll Linger Milliseconds
table.poll.interval.ms | LONG | 60000 | LOW | Connector | SHORT | Metadata Change Monitoring Interval (ms)
topic.prefix | STRING |  | HIGH | Connector | MEDIUM | Topic Prefix
timestamp.delay.interval.ms | LONG | 0 | HIGH | Connector | MEDIUM | Delay Interval (ms)
db.timezone | STRING | UTC | MEDIUM | Connector | MEDIUM | DB time zone
timestamp.granularity | STRING | connect_logical | LOW | Connector | MEDIUM | Timestamp granularity for timestamp columns
""".strip().splitlines()  # noqa: E501 - a table
OF_MODE = (
    "incrementing.column.name", "timestamp.column.name", "incrementing.column.mapping", "timestamp.columns.mapping",
    "validate.non.null",
)  # fmt: skip
DEPENDENTS = {"connection.url": ("table.whitelist", "table.blacklist"), "mode": OF_MODE}
ENUMS = {
    "numeric.mapping": "none precision_only best_fit best_fit_eager_double",
    "quote.sql.identifiers": "always never",
    "transaction.isolation.mode": "default read_uncommitted read_committed repeatable_read serializable "
    "sql_server_snapshot",
    "timestamp.granularity": "connect_logical micros_long micros_string micros_iso_datetime_string nanos_long "
    "nanos_string nanos_iso_datetime_string",
}


@pytest.mark.parametrize("line", CONFLUENT, ids=lambda line: line.partition(" ")[0])
def test_a_key_is_declared_as_confluents(line):
    name, kind, default, importance, group, width, shown = line.split(" | ")
    (ours,) = (d for d in JdbcSourceConfig.definitions() if d.name == name)
    assert (ours.type, ours.importance, ours.group, ours.width) == (kind, importance, group, width)
    assert ("null" if ours.default is None else ours.default, ours.display_name) == (default, shown)
    assert ours.dependents == DEPENDENTS.get(name, ())
    assert not ours.required
    if name in ENUMS:
        assert [value.lower() for value in ours.recommended_values] == ENUMS[name].split()


def test_keys_and_groups_are_in_confluents_order():
    """A form numbers them in this order; keys that are not Confluent's come behind its own."""
    names = [line.partition(" ")[0] for line in CONFLUENT]
    ours = [d for d in JdbcSourceConfig.definitions() if not d.internal]
    assert [d.name for d in ours if d.name in names] == names
    assert list(dict.fromkeys(d.group for d in ours)) == ["Database", "Mode", "Connector", "Log (mode=log)"]
    for group in ("Database", "Mode", "Connector"):
        known = [d.name in names for d in ours if d.group == group]
        assert known == sorted(known, reverse=True)


@pytest.mark.parametrize("name", [n for n in ENUMS if n != "numeric.mapping"])
def test_forms_show_choices_in_lower_case_as_confluents(name):
    (found,) = (v for v in JdbcSourceConfig.validate_keys({}) if v.name == name)
    assert found.recommended_values == tuple(ENUMS[name].split())


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("connection.backoff.ms", "0"),
        ("poll.interval.ms", "0"),
        ("timestamp.delay.interval.ms", "-3600000"),
        ("table.whitelist", "a,"),
        ("db.timezone", "UT"),
    ],
)
def test_what_confluents_takes_is_taken(key, value):
    given = {"connection.url": "jdbc:sqlite:/x.db", "mode": "bulk", "table.whitelist": "a", "topic.prefix": "p-"}
    config = JdbcSourceConfig.parse({**given, **EVERYWHERE, key: value})
    assert config.delay_ms == 0
    assert config.interval_s > 0
    assert TableFilter.of(config).whitelist == ("a",)


@pytest.mark.parametrize("name", sorted(set(ENUMS) - {"numeric.mapping"}))
@pytest.mark.parametrize("change", [str.lower, str.upper])
def test_enumerations_are_taken_in_either_case(name, change):
    given = {"connection.url": "jdbc:sqlserver://h;databaseName=d", "mode": "bulk", "table.whitelist": "a"}
    for value in ENUMS[name].split():
        (found,) = (v for v in JdbcSourceConfig.validate_keys({**given, name: change(value)}) if v.name == name)
        assert not [e for e in found.errors if "must be one of" in e]


@pytest.mark.parametrize(
    ("mode", "shown"),
    [
        ("bulk", set()),
        ("incrementing", {"incrementing.column.name", "incrementing.column.mapping", "validate.non.null"}),
        ("timestamp", {"timestamp.column.name", "timestamp.columns.mapping", "validate.non.null"}),
        ("timestamp+incrementing", set(OF_MODE)),
        ("log", set()),
    ],
)
def test_forms_show_the_columns_that_the_mode_uses(mode, shown):
    given = {"connection.url": "jdbc:sqlite:/x.db", "mode": mode, "table.whitelist": "a"}
    visible = {v.name for v in JdbcSourceConfig.validate_keys(given) if v.visible}
    assert visible & set(OF_MODE) == shown
    assert "query" in visible
    assert "query.masked" not in visible
