"""Checks that no answer to a client shows secrets of a configuration, or what a config provider gave."""

from __future__ import annotations

import pytest
import requests
from attacked import SECRET, Target

GIVEN = "Zq8-given-7Wv"
REFERENCE = "${env:ATTACKED_SECRET}"
SOURCE = {"connector.class": "CassandraDedupConnector", "topics": "a-x", "input.prefix": "a-", "topic.prefix": "o-"}
SHAPES = {
    "x.password": GIVEN, "x.token": GIVEN, "db.passwd": GIVEN, "api.key.secret": GIVEN,
    "connection.url": f"postgresql://u:{GIVEN}@h/d", "somewhere": f"u:{GIVEN}@h",
    "connection.properties": f"user=a;password={GIVEN}", "headers": f"Authorization: Bearer {GIVEN}",
    "json": f'{{"a": {{"client_secret": "{GIVEN}"}}}}', "query.of.url": f"http://h/?token={GIVEN}",
    "producer.override.sasl.jaas.config": f'x.PlainLoginModule required username="a" password="{GIVEN}";',
    "producer.override.sasl.password": GIVEN, "value.converter.basic.auth.user.info": f"a:{GIVEN}",
}  # fmt: skip
BREAKS = (
    "tasks.max", "batch.max.rows", "errors.tolerance", "errors.retry.timeout", "transforms", "predicates",
    "value.converter", "key.converter", "header.converter", "mode", "connection.url", "connection.user", "query",
    "table.whitelist", "table.include.list", "topic.creation.groups", "producer.override.acks", "topic.prefix",
    "producer.override.bootstrap.servers", "producer.override.ssl.ca.location", "timestamp.initial", "db.timezone",
    "value.converter.schema.content", "connector.plugin.version", "offset.flush.interval.ms", "dialect.name",
    "errors.tolerance.limit.ratio", "transaction.boundary", "numeric.mapping", "misspelt.key",
)  # fmt: skip


def test_secrets_of_many_shapes_are_shown_nowhere(target: Target, unique: str) -> None:
    with target.answering():
        config = {**SOURCE, **SHAPES}
        told = requests.put(
            f"{target.url}/connector-plugins/CassandraDedupConnector/config/validate", json={"name": "v", **config},
            timeout=30,
        ).text  # fmt: skip
        answer = target.create(unique, {k: v for k, v in config.items() if not k.startswith("producer.override.")})
        assert answer.status_code == 201, answer.text
        dry = requests.put(f"{target.url}/connectors/{unique}/config?dry_run=true", json=config, timeout=30)
        assert dry.status_code == 200, dry.text
        shown = target.everything()
        target.delete(unique)
    for text in (told, answer.text, dry.text, shown):
        assert GIVEN not in text, text[max(0, text.index(GIVEN) - 200) : text.index(GIVEN) + 50]


@pytest.mark.parametrize("key", BREAKS)
def test_no_error_shows_what_a_provider_gave(target: Target, key: str) -> None:
    jdbc = {
        "connector.class": "JdbcSourceConnector", "connection.url": "jdbc:sqlite::memory:", "mode": "bulk",
        "topic.prefix": "p", "query": "SELECT 1", key: REFERENCE,
    }  # fmt: skip
    answer = requests.put(
        f"{target.url}/connector-plugins/JdbcSourceConnector/config/validate", json={"name": "v", **jdbc}, timeout=30
    )
    assert SECRET.lower() not in answer.text.lower()


def test_no_status_trace_or_topic_shows_what_a_provider_gave(target: Target, unique: str) -> None:
    jdbc = {
        "connector.class": "JdbcSourceConnector", "connection.url": "jdbc:sqlite::memory:", "mode": "bulk",
        "topic.prefix": f"{unique}-{REFERENCE}", "query": f"SELECT * FROM \"{REFERENCE}\"",
    }  # fmt: skip
    sent = {**jdbc, "query": f"SELECT '{REFERENCE}' AS a", "topic.creation.default.partitions": "1",
            "topic.creation.default.replication.factor": "1"}  # fmt: skip
    names = {f"{unique}-fails": jdbc, f"{unique}-sends": sent}
    with target.answering():
        answers = {name: target.create(name, config).text for name, config in names.items()}
        shown = target.everything() + str(answers)
        target.delete(*names)
    assert SECRET not in shown
