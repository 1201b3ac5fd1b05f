"""Keys that were renamed: their former names give the same settings, for every plug-in that has any."""

from __future__ import annotations

import pytest

from connect.api.config import Config, former_names
from connect.api.errors import ConfigError
from connect.api.plugin import Plugin
from connect.cluster.validation.notes import notes
from connect.plugins.catalog import Catalog

SOURCE, AGENT = (f"connect.cassandra.{name}" for name in ("CassandraSourceConnector", "CassandraCdcAgent"))
REDIS = "com.redis.kafka.connect.RedisSinkConnector"
MIRROR = "org.apache.kafka.connect.mirror.MirrorSourceConnector"
REPLACE_FIELD = "org.apache.kafka.connect.transforms.ReplaceField"
DEBEZIUM_SINK = "io.debezium.connector.jdbc.JdbcSinkConnector"
BINLOGS = ("io.debezium.connector.mysql.MySqlConnector", "io.debezium.connector.mariadb.MariaDbConnector")
_SHOP = {
    "database.hostname": "db", "database.user": "u", "database.password": "p", "database.server.id": "7",
    "topic.prefix": "shop",
}  # fmt: skip
OTHERS = {
    **dict.fromkeys(BINLOGS, _SHOP),
    SOURCE: {"contact.points": "127.0.0.1", "keyspace": "shop"},
    AGENT: {"cdc.raw.folder": "/cdc", "allowed.paths": "/cdc"},
    REDIS: {},
    DEBEZIUM_SINK: {"connection.url": "jdbc:postgresql://db/shop"},
    MIRROR: {"source.cluster.bootstrap.servers": "127.0.0.1:1"},
    f"{REPLACE_FIELD}$Key": {},
    f"{REPLACE_FIELD}$Value": {},
}
"""What else each plug-in needs."""
_NAMING = "io.debezium.sink.naming."
VALUES = {
    "fetch.size": ("17", "23"), "max.batch.size": ("17", "23"), "redis.type": ("SET", "LPUSH"),
    "blacklist": ("card", "card,pin"), "whitelist": ("id", "id,name"),
    "driver.allowPublicKeyRetrieval": ("true", "false"),
    "database.time_zone": ("Europe/Berlin", "Asia/Tokyo"), "table.name.format": ("orders", "lines"),
    "table.naming.strategy": tuple(f"{_NAMING}{name}CollectionNamingStrategy" for name in ("Passthrough", "Default")),
    "topics.blacklist": ("card", "card,pin"), "config.properties.blacklist": ("card", "card,pin"),
}  # fmt: skip
"""A value that is not the default, and another one."""
ANY_TEXT = {"table.name.format", "blacklist", "whitelist", "topics.blacklist", "config.properties.blacklist"}
"""Keys that take any word."""
RENAMED = [
    pytest.param(plugin, old, new, id=f"{plugin.name}-{old}")
    for plugin in Catalog.installed().plugins()
    for old, new in former_names(plugin.config).items()
]


def settings(config: type[Config], given: dict[str, str]) -> dict[str, object]:
    return config.parse(given).model_dump()


@pytest.mark.parametrize(("plugin", "old", "new"), RENAMED)
def test_a_former_name_gives_the_same_settings(plugin: Plugin, old: str, new: str) -> None:
    others, (value, another) = OTHERS[plugin.name], VALUES[old]
    by_old = settings(plugin.config, {**others, old: value})
    assert by_old == settings(plugin.config, {**others, new: value})
    assert by_old != settings(plugin.config, others)
    both = {**others, old: value, new: another}
    assert settings(plugin.config, both) == settings(plugin.config, {**others, new: another})
    assert list(plugin.config.unknown_keys([old])) == []


@pytest.mark.parametrize(("plugin", "old", "new"), [case for case in RENAMED if case.values[1] not in ANY_TEXT])
def test_a_broken_value_is_told_of_the_name_that_was_written(plugin: Plugin, old: str, new: str) -> None:
    given = {**OTHERS[plugin.name], old: "many"}
    with pytest.raises(ConfigError, match=f"Invalid value many for configuration {old}:") as failure:
        plugin.config.parse(given)
    assert [problem.key for problem in failure.value.problems] == [new]
    (row,) = (row for row in plugin.config.validate_keys(given) if row.name == new)
    assert (row.value, len(row.errors)) == ("many", 1)


def test_the_keys_of_rows_per_batch_have_one_name() -> None:
    renamed = (case.values for case in RENAMED)
    others = (REDIS, MIRROR, REPLACE_FIELD, DEBEZIUM_SINK, *BINLOGS)
    assert {(plugin.name, old): new for plugin, old, new in renamed if not plugin.name.startswith(others)} == {
        (SOURCE, "fetch.size"): "batch.max.rows",
        (AGENT, "max.batch.size"): "batch.max.rows",
    }


def test_validation_mentions_the_new_name() -> None:
    plugin = Catalog.installed().connector(SOURCE)
    given = {"connector.class": plugin.name, "fetch.size": "17", "contact.points": "127.0.0.1", "keyspace": "shop"}
    said = [note for note in notes(plugin, given, ()) if "fetch.size" in note]
    assert said == ["fetch.size: this key is named batch.max.rows now; its former name goes on working."]
    (both,) = (note for note in notes(plugin, given | {"batch.max.rows": "5"}, ()) if "fetch.size" in note)
    assert both.endswith(" batch.max.rows is given, too, and counts.")


def test_stream_reactors_key_counts_less_than_ours_by_either_name() -> None:
    plugin = Catalog.installed().connector(SOURCE)
    given = {"connect.cassandra.contact.points": "127.0.0.1", "connect.cassandra.key.space": "shop",
             "connect.cassandra.fetch.size": "9"}  # fmt: skip
    rows = [
        settings(plugin.config, given | own)["batch_max_rows"]
        for own in ({}, {"fetch.size": "17"}, {"batch.max.rows": "18"})
    ]
    assert rows == [9, 17, 18]
