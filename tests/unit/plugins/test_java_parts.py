"""A transform or converter that is not here is answered with what to use instead."""

from __future__ import annotations

import pytest

from connect.cluster.validation.check import Validator
from connect.plugins.catalog import CONNECTORS, Catalog
from connect.plugins.java_parts import java_parts, not_found
from connect.runtime.settings.worker_config import WorkerConfig

JSON = "org.apache.kafka.connect.json.JsonConverter"
CATALOG = Catalog.installed()


def _errors(**given: str) -> dict[str, list[str]]:
    worker = WorkerConfig.parse({
        "bootstrap.servers": "127.0.0.1:1", "group.id": "g", "config.storage.topic": "c", "key.converter": JSON,
        "offset.storage.topic": "o", "status.storage.topic": "s", "value.converter": JSON,
    })  # fmt: skip
    config = {
        "name": "c", "connector.class": "io.confluent.kafka.connect.datagen.DatagenConnector", "kafka.topic": "t",
        "quickstart": "users", **{key.replace("__", "."): value for key, value in given.items()},
    }  # fmt: skip
    infos = Validator(CATALOG, worker).validate(config)
    return {info.value.name: list(info.value.errors) for info in infos.configs if info.value.errors}


def test_content_based_routing_is_answered_with_the_transforms_that_are_here() -> None:
    found = _errors(transforms="route", transforms__route__type="io.debezium.transforms.ContentBasedRouter")
    (error,) = found["transforms.route.type"]
    assert "could not be found. Use instead: RegexRouter" in error
    found = _errors(value__converter="io.apicurio.registry.utils.converter.AvroConverter")
    assert "Use instead: io.confluent.connect.avro.AvroConverter" in found["value.converter"][0]


def test_a_class_that_nobody_knows_is_told_as_java_tells_it() -> None:
    assert not_found("a.B", "k") == "Invalid value a.B for configuration k: Class a.B could not be found."


@pytest.mark.parametrize("name", java_parts())
def test_what_is_answered_is_not_here_and_what_is_named_is(name: str) -> None:
    assert CATALOG.find(name) is None
    named = [word.strip(",.;") for word in java_parts()[name].split() if word.startswith(("io.", "org.", "connect."))]
    assert [word for word in named if CATALOG.find(word) is None] == []
    assert not [word for word in named if CATALOG.find(word, *CONNECTORS)]
