"""Every key of Debezium's PostgreSQL connector works, is taken with a note that it changes nothing, or is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from connect.api.errors import ConfigError, ConfigProblem
from connectors.jdbc.debezium.config import DebeziumPostgresConfig
from connectors.jdbc.debezium.shared.column_rule_keys import PREFIXES
from connectors.jdbc.debezium.shared.keys import SELECTS
from connectors.jdbc.debezium.shared.translation import by_own_keys
from connectors.jdbc.debezium.translation import reader_config
from connectors.jdbc.debezium.unused_keys import ANSWERS
from connectors.jdbc.settings.table_choice import TableFilter, TableName, topic_of

RECORDED = Path(__file__).parents[2] / "fixtures" / "debezium" / "postgres-keys.json"
"""The keys that version 3.7 names when Kafka Connect validates an empty configuration."""
PUBLIC = {
    "connector.class": "io.debezium.connector.postgresql.PostgresConnector", "tasks.max": "1",
    "database.hostname": "postgres", "database.port": "5432", "database.user": "postgres",
    "database.password": "postgres", "database.dbname": "postgres", "topic.prefix": "dbserver1",
    "schema.include.list": "inventory",
}  # fmt: skip
"""The configuration of Debezium's tutorial."""
OTHER_VALUES = {
    "publish.via.partition.root": "true", "plugin.name": "pgoutput", "snapshot.mode": "when_needed",
    "time.precision.mode": "connect",
}  # fmt: skip


def _answer(name: str) -> str:
    if name in {definition.name for definition in DebeziumPostgresConfig.definitions()}:
        return "works"
    if name.lower() in ANSWERS.without_effect:
        return "changes nothing"
    if name.startswith((*PREFIXES, SELECTS)):
        return "works"
    return "refused" if name in ANSWERS.refused else "none"


def test_every_key_has_one_answer():
    recorded = json.loads(RECORDED.read_text())
    assert {name for name in recorded if _answer(name) == "none"} == set()
    declared = {definition.name for definition in DebeziumPostgresConfig.definitions()}
    assert not declared & {*ANSWERS.without_effect, *ANSWERS.refused}
    assert not {*ANSWERS.without_effect} & {*ANSWERS.refused}


def test_defaults_are_those_of_debezium():
    recorded = json.loads(RECORDED.read_text())
    own = {d.name: d.default for d in DebeziumPostgresConfig.definitions()}
    different = {
        name: (key["default"], own[name])
        for name, key in recorded.items()
        if name in own and (key["default"] or "") != (own[name] or "") and own[name] != "[hidden]"
    }
    assert different == {
        # Another key has the same default here: topic.heartbeat.prefix, as versions 2 and 3 name it.
        "heartbeat.topics.prefix": ("__debezium-heartbeat", "")
    }


def test_a_public_configuration_is_valid():
    assert DebeziumPostgresConfig.parse(PUBLIC).prefix == "dbserver1"
    of_version_1 = {**PUBLIC, "database.server.name": "one"}
    del of_version_1["topic.prefix"]
    assert DebeziumPostgresConfig.parse(of_version_1).prefix == "one"
    assert not [*DebeziumPostgresConfig.parse(PUBLIC).notes()]
    assert not [*DebeziumPostgresConfig.unknown_keys(name for name in PUBLIC if name.startswith("database."))]


@pytest.mark.parametrize("name", sorted(ANSWERS.without_effect))
def test_what_changes_nothing_is_taken_with_a_note(name: str):
    notes = [*DebeziumPostgresConfig.parse({**PUBLIC, name: "1"}).notes()]
    assert [note.key for note in notes] == [name]
    assert ANSWERS.without_effect[name] in notes[0].message


@pytest.mark.parametrize("name", sorted(ANSWERS.refused))
def test_what_would_give_other_records_is_refused(name: str):
    with pytest.raises(ConfigError) as caught:
        DebeziumPostgresConfig.parse({**PUBLIC, name: "x.Y"})
    assert [problem.key for problem in caught.value.problems] == [name]


def test_what_is_refused_is_taken_where_it_asks_for_nothing():
    recorded = json.loads(RECORDED.read_text())
    given = {name: recorded[name]["default"] or "" for name in ANSWERS.refused if name in recorded}
    assert DebeziumPostgresConfig.parse({**PUBLIC, **given}).prefix == "dbserver1"


def test_all_broken_keys_are_told_at_once():
    with pytest.raises(ConfigError) as caught:
        DebeziumPostgresConfig.parse(
            {
                **PUBLIC,
                "topic.prefix": "a b",
                "slot.name": "Slot",
                "signal.data.collection": "x",
                "table.include.list": "(",
            }
        )
    assert {problem.key for problem in caught.value.problems} == {
        "topic.prefix", "slot.name", "signal.data.collection", "table.include.list",
    }  # fmt: skip


def test_tables_are_chosen_by_patterns_of_any_case():
    chosen = _filter({"schema.include.list": "inventory,o.*", "table.include.list": r"inventory\.Orders,.*\.items"})
    assert chosen.selects(TableName("inventory", "orders"))
    assert chosen.selects(TableName("other", "ITEMS"))
    assert not chosen.selects(TableName("public", "items"))
    assert not chosen.selects(TableName("inventory", "orders_old"))
    left = _filter({"schema.include.list": "", "schema.exclude.list": "audit", "table.exclude.list": r"public\.tmp_.*"})
    assert left.selects(TableName("public", "orders"))
    assert not left.selects(TableName("audit", "orders"))
    assert not left.selects(TableName("public", "tmp_1"))


def _filter(settings: dict[str, str]) -> TableFilter:
    return TableFilter.of(reader_config(DebeziumPostgresConfig.parse({**PUBLIC, **settings})))


def test_the_reader_gets_what_the_keys_say():
    given = {**PUBLIC, **OTHER_VALUES, "database.hostname": "::1", "heartbeat.interval.ms": "5000", "slot.name": "s1"}
    reading = reader_config(DebeziumPostgresConfig.parse(given))
    assert reading.connection_url == "jdbc:postgresql://[::1]:5432/postgres"
    assert (reading.mode, reading.slot_name, reading.snapshot_mode) == ("log", "s1", "when_needed")
    assert (reading.publication_autocreate, reading.heartbeat_interval_ms) == ("all_tables", 5000)
    assert reading.connection_password is not None
    assert reading.connection_password.get_secret_value() == "postgres"


def test_what_the_reader_refuses_is_told_by_debeziums_keys():
    with pytest.raises(ConfigError) as told, by_own_keys():
        raise ConfigError([ConfigProblem("connection.url", "connection.url names no server that mode=log reads.")])
    (problem,) = told.value.problems
    assert problem.key == "database.hostname"
    assert problem.message == "database.hostname names no server that this connector reads."


def test_rules_for_columns_and_queries_of_tables_are_keys_with_an_effect():
    acting = ("column.mask.with.3.chars", "column.truncate.to.3.chars", "snapshot.select.statement.overrides.a.b")
    assert all(name.startswith(DebeziumPostgresConfig.families) for name in acting)
    assert not [*DebeziumPostgresConfig.unknown_keys(acting)]
    assert [*DebeziumPostgresConfig.unknown_keys(["column.masks"])]


@pytest.mark.parametrize(
    ("settings", "moves"),
    [
        ({}, True), ({"flush.lsn.source": "false"}, False), ({"lsn.flush.mode": "MANUAL"}, False),
        ({"lsn.flush.mode": "connector", "flush.lsn.source": "false"}, True),
        ({"lsn.flush.mode": "connector_and_driver"}, True),
    ],
)  # fmt: skip
def test_the_slot_stays_where_others_move_it(settings: dict[str, str], moves: bool):
    assert DebeziumPostgresConfig.parse({**PUBLIC, **settings}).moves_slot is moves


def test_prefixes_of_messages_are_wanted_or_not_wanted():
    with pytest.raises(ConfigError) as caught:
        DebeziumPostgresConfig.parse({**PUBLIC, "message.prefix.include.list": "a", "message.prefix.exclude.list": "("})
    assert {problem.key for problem in caught.value.problems} == {
        "message.prefix.include.list", "message.prefix.exclude.list",
    }  # fmt: skip


def test_parts_of_topics_have_the_delimiter_between_them():
    given = {**PUBLIC, "topic.delimiter": "_", "provide.transaction.metadata": "true", "heartbeat.interval.ms": "1"}
    config = DebeziumPostgresConfig.parse(given)
    reading = reader_config(config)
    assert topic_of(TableName("inventory", "orders"), reading) == "dbserver1_inventory_orders"
    assert reading.heartbeat_topic == "__debezium-heartbeat_dbserver1"
    assert config.own_transaction_topic == "dbserver1_transaction"
    plain = reader_config(DebeziumPostgresConfig.parse(PUBLIC))
    assert topic_of(TableName("inventory", "orders"), plain) == "dbserver1.inventory.orders"
    assert plain.heartbeat_topic == "__debezium-heartbeat.dbserver1"
    with pytest.raises(ConfigError):
        DebeziumPostgresConfig.parse({**PUBLIC, "topic.delimiter": "#"})
