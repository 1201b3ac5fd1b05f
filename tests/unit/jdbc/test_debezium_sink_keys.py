"""Every key of Debezium's JDBC sink works, or is taken with a note that it changes nothing."""

from __future__ import annotations

from typing import Final

import pytest

from connect.api.allowed_paths import EVERYWHERE
from connect.api.errors import ConfigError
from connectors.jdbc.sink.debezium.config import DebeziumSinkConfig
from connectors.jdbc.sink.debezium.translation import engine_config
from connectors.jdbc.sink.debezium.unused_keys import WITHOUT_EFFECT

KEYS: Final = [
    "batch.size",
    "cloud.events.schema.name.pattern",
    "collection.name.format",
    "collection.naming.strategy",
    "collection.table.format",
    "column.naming.strategy",
    "connection.password",
    "connection.pool.acquire_increment",
    "connection.pool.max_size",
    "connection.pool.min_size",
    "connection.pool.timeout",
    "connection.provider",
    "connection.restart.on.errors",
    "connection.url",
    "connection.username",
    "database.time_zone",
    "delete.enabled",
    "dialect.postgres.postgis.schema",
    "dialect.postgres.unnest.insert.enabled",
    "dialect.sqlserver.identity.insert",
    "field.exclude.list",
    "field.include.list",
    "flush.max.retries",
    "flush.retry.delay.ms",
    "insert.mode",
    "primary.key.fields",
    "primary.key.mode",
    "quote.identifiers",
    "schema.evolution",
    "table.name.format",
    "table.naming.strategy",
    "truncate.enabled",
    "use.reduction.buffer",
    "use.time.zone",
]
"""The keys of versions 2.7 to 3.6, as their sources declare them."""
OWN: Final = {"connection.url": "jdbc:postgresql://db/shop", "connection.username": "u", "topics": "a.B"}


def parsed(**settings: str) -> DebeziumSinkConfig:
    own = {name.replace("__", "."): value for name, value in settings.items()}
    return DebeziumSinkConfig.parse({**OWN, **own, **EVERYWHERE})


def test_every_key_has_one_answer() -> None:
    assert list(DebeziumSinkConfig.unknown_keys(["nonsense", "hibernate.dialect", *KEYS])) == ["nonsense"]
    declared = {definition.name for definition in DebeziumSinkConfig.definitions()}
    assert not declared & WITHOUT_EFFECT.keys()
    given = dict.fromkeys([*WITHOUT_EFFECT, "hibernate.dialect"], "1")
    noted = {note.key for note in parsed(**{name.replace(".", "__"): "1" for name in given}).notes()}
    assert noted >= given.keys()


def test_settings_become_those_of_the_engine() -> None:
    engine = engine_config(parsed(primary__key__mode="kafka", schema__evolution="BASIC", connection__password="p"))
    assert (engine.pk_mode, engine.pk_fields, engine.auto_create, engine.auto_evolve) == ("record_key", (), True, True)
    assert (engine.named_topics, engine.connection_user, engine.keeps_case) == (("a_B",), "u", False)
    assert (engine.max_retries, engine.handle_tombstone, engine.replace_null) == (-1, False, False)
    plain = "io.debezium.sink.naming.PassthroughCollectionNamingStrategy"
    assert engine_config(parsed(table__naming__strategy=plain)).named_topics == ("a.B",)
    assert engine_config(parsed(table__name__format="x.${source.table}")).named_topics == ()


@pytest.mark.parametrize(
    ("settings", "key", "said"),
    [
        ({"delete__enabled": "true"}, "delete.enabled", "must be set to 'record_key'"),
        ({"insert__mode": "upsert"}, "insert.mode", "finds rows by their key: set primary.key.mode"),
        ({"field__include__list": "a", "field__exclude__list": "b"}, "field.exclude.list", "exclude each other"),
        ({"connection__url": "jdbc:as400://h/d"}, "connection.url", "connection.url: "),
        ({"connection__url": "jdbc:oracle:thin:@h:1/d"}, "connection.url", "the sink writes to"),
        ({"collection__naming__strategy": "com.acme.Own"}, "collection.naming.strategy", "com.acme.Own"),
        ({"schema__evolution": "advanced"}, "schema.evolution", "advanced"),
        ({"use__time__zone": "nowhere"}, "use.time.zone", "nowhere"),
        ({"cloud__events__schema__name__pattern": "("}, "cloud.events.schema.name.pattern", "no regular expression"),
    ],
)
def test_what_cannot_run_is_told_by_its_key(settings: dict[str, str], key: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parsed(**settings)
    assert [(p.key, said in p.message) for p in caught.value.problems] == [(key, True)]
