"""What a configuration may reach is the worker's to say: each refusal names the worker's key."""

from __future__ import annotations

import pytest
from sample_plugins import worker_config

from connect.cluster.validation.check import Validator
from connect.plugins.catalog import Catalog
from connect.runtime.parts.task_parts import build_chain, build_connector
from connect.runtime.settings.connector_config import SourceConnectorConfig

SOURCE = {"connector.class": "FileStreamSource", "name": "k", "topic": "a", "file": "/data/rows.txt"}
SHELL = {
    "transforms": "a", "transforms.a.type": "connect.transforms.PythonFunction$Value",
    "transforms.a.function": "os:system",
}  # fmt: skip
OTHER_DRIVER = {
    "connector.class": "JdbcSource", "name": "k", "connection.url": "postgresql+pg8000://h/d", "mode": "bulk",
    "table.whitelist": "a", "topic.prefix": "t",
}  # fmt: skip


@pytest.mark.parametrize(
    ("config", "broken", "leave"),
    [
        (SOURCE | SHELL, "transforms.a.function", {"python.function.modules": "os"}),
        (OTHER_DRIVER, "connection.url", {"jdbc.sqlalchemy.drivers": "postgresql+pg8000"}),
        (SOURCE, "file", {"allowed.paths": "/data"}),
    ],
    ids=["function", "driver", "file"],
)
def test_the_workers_file_alone_gives_leave(config: dict[str, str], broken: str, leave: dict[str, str]) -> None:
    (key,) = leave
    others = {} if broken == "file" else {"allowed.paths": "/data"}
    prefix = broken.rpartition(".")[0] + "." if broken.startswith("transforms.") else ""
    own = {**config, **leave, prefix + key: leave[key]}
    for given in (config, own):
        infos = Validator(Catalog.installed(), worker_config(**others)).validate(dict(given))
        errors = {i.value.name: i.value.errors for i in infos.configs if i.value.errors}
        assert list(errors) == [broken]
        assert key in errors[broken][0]
    infos = Validator(Catalog.installed(), worker_config(**others, **leave)).validate(dict(config))
    assert infos.error_count == 0
    assert key not in {i.value.name for i in infos.configs}


CLOUD_EVENTS = {
    "connector.class": "FileStreamSource", "name": "k", "topic": "a",
    "value.converter": "io.debezium.converters.CloudEventsConverter", "value.converter.data.serializer.type": "avro",
    "value.converter.avro.schema.registry.url": "http://registry.example",
}  # fmt: skip


@pytest.mark.parametrize(
    ("key", "value", "leave", "worker"),
    [
        ("ssl.truststore.location", "/secret/ca.pem", {"allowed.paths": "/"}, {}),
        ("ssl.keystore.location", "/secret/own.pem", {"allowed.paths": "/"}, {}),
        ("schema.registry.url", "http://foreign.example", {"allowed.hosts": "*"}, {"security.profile": "strict"}),
    ],
)
def test_settings_behind_a_converters_own_prefix_give_themselves_no_leave(
    key: str, value: str, leave: dict[str, str], worker: dict[str, str]
) -> None:
    prefix = "value.converter.avro."
    own = {prefix + name: text for name, text in {**leave, key: value}.items()}
    infos = Validator(Catalog.installed(), worker_config(**worker)).validate({**CLOUD_EVENTS, **own})
    errors = {i.value.name: i.value.errors for i in infos.configs if i.value.errors}
    assert list(errors) == [prefix + key]


def test_a_task_is_built_under_the_same_leave() -> None:
    catalog = Catalog.installed()
    with pytest.raises(Exception, match=r"python\.function\.modules"):
        build_chain(catalog, SourceConnectorConfig.parse(SOURCE | SHELL), {})
    assert (
        len(build_chain(catalog, SourceConnectorConfig.parse(SOURCE | SHELL), {"python.function.modules": "os"})) == 1
    )
    for worker in ({}, {"allowed.paths": "/elsewhere"}):
        with pytest.raises(Exception, match=r"allowed\.paths"):
            build_connector(catalog, SOURCE | {"allowed.paths": "/"}, worker)
    tasks = build_connector(catalog, SOURCE, {"allowed.paths": "/data"}).task_configs(1)
    assert "allowed.paths" not in tasks[0]


def test_an_override_that_loads_a_library_is_refused() -> None:
    given = SOURCE | {"producer.override.ssl.providers": "/tmp/evil"}
    infos = Validator(Catalog.installed(), worker_config(**{"allowed.paths": "/data"})).validate(dict(given))
    errors = {i.value.name: i.value.errors for i in infos.configs if i.value.errors}
    assert list(errors) == ["producer.override.ssl.providers"]
