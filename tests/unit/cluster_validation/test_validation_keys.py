"""Validates connector configurations: keys, order, definitions, values."""

from __future__ import annotations

from typing import Any

import pytest
from sample_plugins import (
    CAST,
    FILE_SINK,
    FILE_SOURCE,
    FILTER,
    HOIST,
    JSON,
    SIMPLE_HEADER,
    STRING,
    TOPIC_MATCHES,
    VAULT_SOURCE,
    catalog,
    worker_config,
)

from connect.api.plugin import PluginKind
from connect.cluster.model.request_errors import BadRequestError, RequestError
from connect.cluster.model.validation_infos import ConfigInfos, Value
from connect.cluster.validation.check import Validator
from connect.cluster.validation.definitions import all_definitions, framework_definitions

FRAMEWORK = [
    "name", "connector.class", "connector.plugin.version", "tasks.max", "tasks.max.enforce", "key.converter",
    "key.converter.plugin.version", "value.converter", "value.converter.plugin.version", "header.converter",
    "header.converter.plugin.version", "transforms", "predicates", "config.action.reload", "errors.retry.timeout",
    "errors.retry.delay.max.ms", "errors.tolerance", "errors.log.enable", "errors.log.include.messages",
]  # fmt: skip
SOURCE_KEYS = [
    "topic.creation.groups", "exactly.once.support", "transaction.boundary", "transaction.boundary.interval.ms",
    "offsets.storage.topic",
]  # fmt: skip
SINK_KEYS = [
    "topics", "topics.regex", "errors.deadletterqueue.topic.name", "errors.deadletterqueue.topic.replication.factor",
    "errors.deadletterqueue.context.headers.enable",
]  # fmt: skip
GROUPS = ("Common", "Transforms", "Predicates", "Error Handling")


def validate(cls: str, keys: dict[str, str | None] | None = None, **worker: str) -> ConfigInfos:
    base: dict[str, str | None] = {"name": "k", "connector.class": cls}
    base |= {"topics": "a"} if cls == FILE_SINK else {"topic": "a"} if cls == FILE_SOURCE else {}
    return Validator(catalog(), worker_config(**worker)).validate(base | (keys or {}))


def values(found: ConfigInfos) -> dict[str, Value]:
    return {info.value.name: info.value for info in found.configs}


def test_a_source_shows_the_frameworks_keys_then_its_own() -> None:
    found = validate(FILE_SOURCE)
    assert [i.value.name for i in found.configs] == [*FRAMEWORK, *SOURCE_KEYS, "file", "topic", "batch.size"]
    assert found.error_count == 0
    assert found.groups == (*GROUPS, "Topic Creation", "Exactly Once Support", "offsets.topic")
    assert found.name == FILE_SOURCE


def test_a_sink_shows_the_frameworks_keys_then_its_own() -> None:
    found = validate(FILE_SINK)
    assert [i.value.name for i in found.configs] == [*FRAMEWORK, *SINK_KEYS, "file"]
    assert found.error_count == 0
    assert found.groups == GROUPS


def test_a_connectors_own_groups_come_last_and_number_their_keys() -> None:
    found = validate(VAULT_SOURCE, {"connection.url": "u", "connection.password": "p"})
    assert found.groups[-2:] == ("Connection", "Mode")
    own = {i.definition.name: i.definition for i in found.configs[-4:] if i.definition}
    assert {n: (d.group, d.order, d.width) for n, d in own.items()} == {
        "connection.url": ("Connection", 1, "MEDIUM"),
        "connection.password": ("Connection", 2, "MEDIUM"),
        "mode": ("Mode", 1, "MEDIUM"),
        "tables": ("Connection", 3, "MEDIUM"),
    }
    assert "internal.switch" not in values(found)


def test_definitions_of_the_framework_have_connects_places() -> None:
    shown = {d.name: (d.group, d.order, d.type, d.width, d.importance) for d in framework_definitions(PluginKind.SINK)}
    assert shown["name"] == ("Common", 1, "STRING", "MEDIUM", "HIGH")
    assert shown["connector.class"] == ("Common", 2, "STRING", "LONG", "HIGH")
    assert shown["tasks.max"] == ("Common", 4, "INT", "SHORT", "HIGH")
    assert shown["header.converter.plugin.version"] == ("Common", 11, "STRING", "SHORT", "LOW")
    assert shown["transforms"] == ("Transforms", 12, "LIST", "LONG", "LOW")
    assert shown["config.action.reload"] == ("Common", 14, "STRING", "MEDIUM", "LOW")
    assert shown["errors.log.include.messages"] == ("Error Handling", 5, "BOOLEAN", "SHORT", "MEDIUM")
    assert shown["topics"] == ("Common", 4, "LIST", "LONG", "HIGH")
    assert shown["errors.deadletterqueue.topic.replication.factor"] == (
        "Error Handling",
        7,
        "SHORT",
        "MEDIUM",
        "MEDIUM",
    )


def test_a_key_without_a_group_has_no_place_in_a_form() -> None:
    topic = values_of_definition(FILE_SOURCE, "topic")
    assert topic == {"group": None, "order": -1, "width": "NONE", "required": True, "default_value": None}


def values_of_definition(cls: str, name: str) -> dict[str, Any]:
    definition = next(i.definition for i in validate(cls).configs if i.value.name == name)
    assert definition is not None
    return {k: getattr(definition, k) for k in ("group", "order", "width", "required", "default_value")}


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        (HOIST, ["field"]),
        (FILTER, []),
        (JSON, ["converter.type", "schemas.enable", "decimal.format"]),
        (SIMPLE_HEADER, []),
        (FILE_SINK, ["file", *FRAMEWORK, *SINK_KEYS]),
    ],
)
def test_definitions_of_a_plugin(name: str, keys: list[str]) -> None:
    plugin = catalog().find(name)
    assert plugin is not None
    assert [d.name for d in all_definitions(plugin)] == keys


def test_values_are_trimmed_and_defaults_are_filled_in() -> None:
    found = values(validate(FILE_SOURCE, {"tasks.max": " 2 ", "transforms": " a , b ", "topic": " t "}))
    assert found["tasks.max"].value == "2"
    assert found["transforms"].value == "a,b"
    assert found["topic"].value == "t"
    assert found["batch.size"].value == "2000"
    assert found["exactly.once.support"].value == "requested"
    assert found["transaction.boundary.interval.ms"].value is None
    assert found["connector.plugin.version"].value == "4.1.0"


@pytest.mark.parametrize(("mode", "is_shown"), [("bulk", False), ("slow", True)])
def test_a_connectors_own_choices_and_what_it_hides_are_told(mode: str, is_shown: bool) -> None:
    found = values(validate(VAULT_SOURCE, {"mode": mode, "connection.url": "u", "connection.password": "p"}))
    assert found["mode"].recommended_values == ("bulk", "slow")
    assert found["tables"].visible is is_shown
    assert found["connection.url"].visible


def test_converters_default_to_the_workers_and_short_names_become_full() -> None:
    found = values(validate(FILE_SOURCE, {"value.converter": "StringConverter"}))
    assert found["key.converter"].value == JSON
    assert found["value.converter"].value == STRING
    assert found["header.converter"].value == SIMPLE_HEADER
    assert found["key.converter.plugin.version"].value == "4.1.0"
    assert {JSON, STRING} <= set(found["key.converter"].recommended_values)
    assert SIMPLE_HEADER in found["header.converter"].recommended_values
    assert found["tasks.max"].recommended_values == ()


def test_keys_of_transforms_and_predicates() -> None:
    found = validate(
        FILE_SINK,
        {
            "transforms": "h,f", "transforms.h.type": HOIST, "transforms.h.field": "x", "transforms.f.type": FILTER,
            "transforms.f.predicate": "p", "predicates": "p", "predicates.p.type": TOPIC_MATCHES,
            "predicates.p.pattern": "a.*",
        },
    )  # fmt: skip
    assert found.error_count == 0
    assert found.groups == (*GROUPS, "Transforms: h", "Transforms: f", "Predicates: p")
    nested = [
        (i.value.name, i.definition.group, i.definition.order, i.value.value)
        for i in found.configs
        if i.definition and i.value.name.startswith(("transforms.", "predicates."))
    ]
    assert nested == [
        ("transforms.h.type", "Transforms: h", 0, HOIST),
        ("transforms.h.plugin.version", "Transforms: h", 1, "4.1.0"),
        ("transforms.h.field", "Transforms: h", 2, "x"),
        ("transforms.h.negate", "Transforms: h", 3, "false"),
        ("transforms.h.predicate", "Transforms: h", 4, None),
        ("transforms.f.type", "Transforms: f", 0, FILTER),
        ("transforms.f.plugin.version", "Transforms: f", 1, "4.1.0"),
        ("transforms.f.negate", "Transforms: f", 2, "false"),
        ("transforms.f.predicate", "Transforms: f", 3, "p"),
        ("predicates.p.type", "Predicates: p", 0, TOPIC_MATCHES),
        ("predicates.p.plugin.version", "Predicates: p", 1, "4.1.0"),
        ("predicates.p.pattern", "Predicates: p", 2, "a.*"),
    ]


def test_required_keys_of_a_transform_come_first() -> None:
    found = validate(FILE_SINK, {"transforms": "c", "transforms.c.type": CAST, "transforms.c.spec": "int8"})
    names = [i.value.name for i in found.configs if i.value.name.startswith("transforms.c.")]
    assert [n.removeprefix("transforms.c.") for n in names[2:]] == [
        "spec", "negate", "predicate", "replace.null.with.default",
    ]  # fmt: skip


def test_converter_keys_count_only_beside_a_class() -> None:
    with_class = values(validate(FILE_SINK, {"key.converter": JSON, "key.converter.schemas.enable": "false"}))
    assert with_class["key.converter.schemas.enable"].value == "false"
    assert with_class["key.converter.decimal.format"].value == "BASE64"
    assert with_class["key.converter.converter.type"].value == "key"
    without = values(validate(FILE_SINK, {"key.converter.schemas.enable": "nonsense"}))
    assert "key.converter.schemas.enable" not in without


def test_unknown_keys_are_absent_and_secrets_are_hidden() -> None:
    found = validate(VAULT_SOURCE, {"connection.url": "u", "connection.password": "hunter2", "unknown.key": "u"})
    assert "unknown.key" not in values(found)
    assert values(found)["connection.password"].value == "[hidden]"
    assert "hunter2" not in repr(found)


def test_client_overrides_appear_with_their_prefix() -> None:
    found = values(
        validate(FILE_SOURCE, {"producer.override.linger.ms": "5", "producer.override.sasl.jaas.config": "x"})
    )
    assert found["producer.override.linger.ms"].value == "5"
    assert found["producer.override.sasl.jaas.config"].value == "[hidden]"
    assert "consumer.override.linger.ms" not in values(validate(FILE_SOURCE, {"consumer.override.linger.ms": "5"}))


def test_a_missing_class_is_refused_without_showing_values() -> None:
    with pytest.raises(RequestError) as caught:
        Validator(catalog(), worker_config()).validate({"name": "n", "connection.password": "hunter2"})
    assert type(caught.value) is BadRequestError
    assert caught.value.message == "Connector config {name=n, connection.password=[hidden]} contains no connector type"


@pytest.mark.parametrize("cls", ["nope", JSON])
def test_an_unknown_class_is_refused(cls: str) -> None:
    with pytest.raises(RequestError, match=f"name matches {cls}, available connectors are: .*{FILE_SINK}") as caught:
        Validator(catalog(), worker_config()).validate({"name": "n", "connector.class": cls})
    assert type(caught.value) is BadRequestError


def test_json_has_connects_members_in_connects_order() -> None:
    answer = validate(FILE_SINK).as_json()
    assert list(answer) == ["name", "error_count", "groups", "configs"]
    assert list(answer["configs"][0]) == ["definition", "value"]
    assert list(answer["configs"][0]["definition"]) == [
        "name", "type", "required", "default_value", "importance", "documentation", "group", "width", "display_name",
        "dependents", "order",
    ]  # fmt: skip
    assert list(answer["configs"][0]["value"]) == ["name", "value", "recommended_values", "errors", "visible"]
