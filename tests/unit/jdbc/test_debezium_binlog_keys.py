"""Every key of Debezium's MySQL and MariaDB connectors works, is taken with a note, or is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from connect.api.errors import ConfigError
from connectors.jdbc.debezium.binlog.config import DebeziumMariaDbConfig, DebeziumMySqlConfig
from connectors.jdbc.debezium.binlog.translation import reader_config
from connectors.jdbc.debezium.binlog.unused_keys import ANSWERS
from connectors.jdbc.debezium.shared.column_rule_keys import PREFIXES
from connectors.jdbc.debezium.shared.keys import SELECTS
from connectors.jdbc.settings.table_choice import TableFilter, TableName

RECORDED = Path(__file__).parents[2] / "fixtures" / "debezium" / "mysql-keys.json"
"""The keys that version 3.6 names when Kafka Connect validates an empty configuration."""
PUBLIC = {
    "connector.class": "io.debezium.connector.mysql.MySqlConnector", "tasks.max": "1", "database.hostname": "mysql",
    "database.port": "3306", "database.user": "debezium", "database.password": "dbz", "topic.prefix": "dbserver1",
    "database.include.list": "inventory",
}  # fmt: skip
OF_TUTORIAL = {
    "database.server.id": "184054", "schema.history.internal.kafka.bootstrap.servers": "kafka:9092",
    "schema.history.internal.kafka.topic": "schemahistory.inventory",
}  # fmt: skip
"""With these it is the configuration of Debezium's tutorial."""
both = pytest.mark.parametrize("config", [DebeziumMySqlConfig, DebeziumMariaDbConfig])


def _answer(name: str, config: type[DebeziumMySqlConfig | DebeziumMariaDbConfig]) -> str:
    if name in {definition.name for definition in config.definitions()}:
        return "works"
    if name.lower() in ANSWERS.without_effect:
        return "changes nothing"
    if name.startswith((*PREFIXES, SELECTS)):
        return "works"
    return "refused" if name in ANSWERS.refused else "none"


@both
def test_every_key_has_one_answer(config: type[DebeziumMySqlConfig | DebeziumMariaDbConfig]):
    recorded = json.loads(RECORDED.read_text())
    assert {name for name in recorded if _answer(name, config) == "none"} == set()
    declared = {definition.name for definition in config.definitions()}
    assert not declared & {*ANSWERS.without_effect, *ANSWERS.refused}
    assert not {*ANSWERS.without_effect} & {*ANSWERS.refused}


def test_defaults_are_those_of_debezium():
    recorded = json.loads(RECORDED.read_text())
    own = {d.name: d.default for d in DebeziumMySqlConfig.definitions()}
    different = {
        name: (key["default"], own[name])
        for name, key in recorded.items()
        if name in own and (key["default"] or "") != (own[name] or "") and own[name] != "[hidden]"
    }
    # Another key has the same default here: topic.heartbeat.prefix, as versions 2 and 3 name it.
    assert different == {"heartbeat.topics.prefix": ("__debezium-heartbeat", "")}


@both
def test_the_tutorials_configuration_is_valid(config: type[DebeziumMySqlConfig | DebeziumMariaDbConfig]):
    assert config.parse({**PUBLIC, **OF_TUTORIAL}).prefix == "dbserver1"
    assert {note.key for note in config.parse({**PUBLIC, **OF_TUTORIAL}).notes()} == {*OF_TUTORIAL}
    assert not [*config.unknown_keys(name for name in {**PUBLIC, **OF_TUTORIAL} if name.startswith("database."))]


@pytest.mark.parametrize("name", sorted(ANSWERS.without_effect))
def test_what_changes_nothing_is_taken_with_a_note(name: str):
    notes = [*DebeziumMySqlConfig.parse({**PUBLIC, name: "1"}).notes()]
    assert [note.key for note in notes] == [name]
    assert ANSWERS.without_effect[name] in notes[0].message


@pytest.mark.parametrize("name", sorted(ANSWERS.refused))
def test_what_would_give_other_records_is_refused(name: str):
    with pytest.raises(ConfigError) as caught:
        DebeziumMySqlConfig.parse({**PUBLIC, name: "x.Y"})
    assert [problem.key for problem in caught.value.problems] == [name]


def test_what_is_refused_is_taken_where_it_asks_for_nothing():
    recorded = json.loads(RECORDED.read_text())
    given = {name: recorded[name]["default"] or "" for name in ANSWERS.refused if name in recorded}
    assert DebeziumMySqlConfig.parse({**PUBLIC, **given}).prefix == "dbserver1"


def test_all_broken_keys_are_told_at_once():
    broken = {
        "topic.prefix": "a b", "signal.data.collection": "x", "database.include.list": "(",
        "database.ssl.truststore": "/etc/trust.jks",
    }  # fmt: skip
    with pytest.raises(ConfigError) as caught:
        DebeziumMySqlConfig.parse({**PUBLIC, **broken})
    assert {problem.key for problem in caught.value.problems} == {*broken}


def test_tables_are_chosen_by_patterns_of_any_case():
    chosen = _filter({"database.include.list": "inventory,o.*", "table.include.list": r"inventory\.Orders,.*\.items"})
    assert chosen.selects(TableName("inventory", "orders"))
    assert chosen.selects(TableName("other", "ITEMS"))
    assert not chosen.selects(TableName("public", "items"))
    left = _filter({"database.include.list": "", "database.exclude.list": "audit", "table.exclude.list": r"a\.tmp_.*"})
    assert left.selects(TableName("a", "orders"))
    assert not left.selects(TableName("audit", "orders"))
    assert not left.selects(TableName("a", "tmp_1"))
    assert not left.selects(TableName("mysql", "user"))


def _filter(settings: dict[str, str]) -> TableFilter:
    return TableFilter.of(reader_config(DebeziumMySqlConfig.parse({**PUBLIC, **settings})))


def test_the_reader_gets_what_the_keys_say():
    given = {**PUBLIC, "database.hostname": "::1", "snapshot.mode": "schema_only", "max.batch.size": "100"}
    reading = reader_config(DebeziumMySqlConfig.parse(given))
    assert reading.connection_url.startswith("jdbc:mysql://[::1]:3306/")
    assert (reading.mode, reading.snapshot_mode, reading.max_batch_size) == ("log", "no_data", 100)
    assert reading.connection_password is not None
    assert reading.connection_password.get_secret_value() == "dbz"
    by_key = {**given, "database.allowPublicKeyRetrieval": "true"}
    assert reader_config(DebeziumMySqlConfig.parse(by_key)).originals["connection.allowPublicKeyRetrieval"] == "true"
    of_mariadb = {**given, "database.ssl.mode": "trust"}
    assert reader_config(DebeziumMariaDbConfig.parse(of_mariadb)).connection_url.startswith("jdbc:mariadb://")


def test_keys_of_javas_clients_are_told_and_misspelt_ones_are_not_taken_for_them():
    given = {
        "database.useInformationSchema": "true", "schema.history.internal.consumer.security.protocol": "SSL",
        "driver.rewriteBatchedStatements": "true", "signal.consumer.client.id": "x", "database.hostnam": "h",
    }  # fmt: skip
    told = {note.key for note in DebeziumMySqlConfig.parse({**PUBLIC, **given}).notes()}
    assert told & given.keys() == {*list(given)[:3]}
