"""Validates connector configurations: what is wrong, in Kafka Connect's words, each seen on Kafka Connect 4.1."""

from __future__ import annotations

import threading
from collections.abc import Mapping

import pytest
from sample_plugins import (
    FILE_SINK,
    FILE_SOURCE,
    HANGING_SOURCE,
    HOIST,
    JSON,
    TOPIC_MATCHES,
    VAULT_SOURCE,
    HangingSourceConfig,
    catalog,
    worker_config,
)

from connect.api.errors import ConfigError
from connect.cluster.model.request_errors import FailedRequestError, RequestError
from connect.cluster.model.validation_infos import ConfigInfos
from connect.cluster.validation.check import PROVIDED_VALUE, Validator
from connect.cluster.validation.rules import takes_a_match

Keys = dict[str, str | None]
INVALID = "Invalid value {} for configuration {}: {}"
MISSING = 'Missing required configuration "{}" which has no default value.'
EITHER = "Expected value to be either true or false"
ONE_OF = "String must be one of: "
NEITHER = "Must configure one of topics or topics.regex"
NO_BOUNDARIES = (
    "The connector does not support connector-defined transaction boundaries with the given configuration. "
    "Please reconfigure it to use a different transaction boundary definition."
)
DLQ_MATCHED = (
    "The DLQ topic 'aa' may not be matched by the regex for the topics ('topics.regex=a+') consumed by the connector"
)
BOTH = "topics and topics.regex are mutually exclusive options, but both are set."
SOURCE: Keys = {"connector.class": FILE_SOURCE, "name": "k", "topic": "a"}
SINK: Keys = {"connector.class": FILE_SINK, "name": "k", "topics": "a"}
NOT_EOS = "This worker does not have exactly-once source support enabled."


def validate(keys: Keys, **worker: str) -> ConfigInfos:
    """Validate as a worker does: what it cannot tell itself, a task host tells."""
    by_worker = Validator(catalog(), worker_config(**worker))
    in_host = Validator(catalog(), worker_config(**worker), dict)
    return (in_host if takes_a_match(keys) else by_worker).validate(keys)


def errors(found: ConfigInfos) -> Mapping[str, list[str]]:
    return {i.value.name: list(i.value.errors) for i in found.configs if i.value.errors}


CASES: list[tuple[Keys, dict[str, list[str]]]] = [
    ({"connector.class": FILE_SOURCE}, {"name": [MISSING.format("name")], "topic": [MISSING.format("topic")]}),
    (SOURCE | {"topic": ""}, {"topic": [INVALID.format("", "topic", "String must be non-empty")]}),
    (SOURCE | {"batch.size": "x"}, {"batch.size": [INVALID.format("x", "batch.size", "Not a number of type INT")]}),
    (
        SOURCE | {"name": "a\x01b"},
        {
            "name": [
                INVALID.format(
                    "a\x01b", "name", "String may not contain control sequences but had the following ASCII chars: 1"
                )
            ]
        },
    ),
    (SOURCE | {"name": ""}, {"name": [INVALID.format("", "name", "String may not be empty")]}),
    (SOURCE | {"name": "a/b"}, {}),
    (SOURCE | {"exactly.once.support": "Required"}, {"exactly.once.support": [NOT_EOS]}),
    (
        SOURCE | {"exactly.once.support": "foo"},
        {
            "exactly.once.support": [
                INVALID.format(
                    "foo", "exactly.once.support", "String must be one of (case insensitive): REQUIRED, REQUESTED"
                )
            ]
        },
    ),
    (
        SOURCE | {"transaction.boundary": "foo"},
        {
            "transaction.boundary": [
                INVALID.format(
                    "foo", "transaction.boundary", "String must be one of (case insensitive): INTERVAL, POLL, CONNECTOR"
                )
            ]
        },
    ),
    (
        SOURCE | {"transaction.boundary": "connector"},
        {
            "transaction.boundary": [
                NO_BOUNDARIES
            ]
        },
    ),
    ({"connector.class": FILE_SINK, "name": "k"}, {"topics": [NEITHER], "topics.regex": [NEITHER]}),
    (SINK | {"topics": ""}, {"topics": [NEITHER], "topics.regex": [NEITHER]}),
    (SINK | {"topics.regex": "b"}, {"topics": [BOTH], "topics.regex": [BOTH]}),
    (SINK | {"topics": "a,,b"}, {}),
    (
        SINK | {"errors.deadletterqueue.topic.name": "a"},
        {
            "topics": [
                "The DLQ topic 'a' may not be included in the list of topics ('topics=[a]') consumed by the connector"
            ]
        },
    ),
    (
        {"connector.class": FILE_SINK, "name": "k", "topics.regex": "a+", "errors.deadletterqueue.topic.name": "aa"},
        {
            "topics.regex": [
                DLQ_MATCHED
            ]
        },
    ),
    (
        SINK | {"tasks.max": "1.5"},
        {
            "tasks.max": [
                INVALID.format("1.5", "tasks.max", "Not a number of type INT"),
                INVALID.format("null", "tasks.max", "Value must be non-null"),
            ]
        },
    ),
    (SINK | {"tasks.max": "-1"}, {"tasks.max": [INVALID.format("-1", "tasks.max", "Value must be at least 1")]}),
    (
        SINK | {"tasks.max.enforce": "maybe"},
        {"tasks.max.enforce": [INVALID.format("maybe", "tasks.max.enforce", EITHER)]},
    ),
    (
        SINK | {"errors.tolerance": "some"},
        {"errors.tolerance": [INVALID.format("some", "errors.tolerance", "String must be one of: none, all")]},
    ),
    (
        SINK | {"config.action.reload": "foo"},
        {"config.action.reload": [INVALID.format("foo", "config.action.reload", ONE_OF + "none, restart")]},
    ),
    (
        SINK | {"header.converter": "nope"},
        {"header.converter": [INVALID.format("nope", "header.converter", "Class nope could not be found.")]},
    ),
    (
        SINK | {"key.converter": JSON, "key.converter.schemas.enable": "foo"},
        {
            "key.converter.schemas.enable": [
                INVALID.format("foo", "schemas.enable", "Expected value to be either true or false")
            ]
        },
    ),
    (SINK | {"transforms": "h"}, {"transforms.h.type": [MISSING.format("transforms.h.type")]}),
    (
        SINK | {"transforms": "h", "transforms.h.type": "HoistField$Value"},
        {
            "transforms.h.type": [
                INVALID.format("HoistField$Value", "transforms.h.type", "Class HoistField$Value could not be found.")
            ]
        },
    ),
    (
        SINK | {"transforms": "h", "transforms.h.type": HOIST},
        {"transforms.h.field": [MISSING.format("transforms.h.field")]},
    ),
    (
        SINK | {"transforms": "h,h", "transforms.h.type": HOIST, "transforms.h.field": "x"},
        {"transforms": [INVALID.format("[h, h]", "transforms", "Duplicate alias provided.")]},
    ),
    (SINK | {"predicates": "p"}, {"predicates.p.type": [MISSING.format("predicates.p.type")]}),
    (SINK | {"consumer.override.client.id": "x"}, {}),
    (
        SOURCE | {"topic.creation.default.partitions": "1"},
        {"topic.creation.default.replication.factor": [MISSING.format("topic.creation.default.replication.factor")]},
    ),
    (SOURCE | {"unknown": None}, {"unknown": ["Null value can not be supplied as the configuration value."]}),
    (SOURCE | {"topic": None}, {"topic": [MISSING.format("topic")]}),
    (SOURCE | {"connector.isolation": "no"}, {"connector.isolation": [
        INVALID.format("no", "connector.isolation", "String must be one of: shared, process")]}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("keys", "expected"), CASES, ids=[f"{i}-{'-'.join(e) or 'ok'}" for i, (_, e) in enumerate(CASES)]
)
def test_each_wrong_key_has_javas_messages(keys: Keys, expected: dict[str, list[str]]) -> None:
    found = validate(keys)
    assert errors(found) == expected
    assert found.error_count == sum(len(messages) for messages in expected.values())


@pytest.mark.parametrize(
    ("keys", "key", "text"),
    [
        (
            SINK | {"predicates": "p", "predicates.p.type": TOPIC_MATCHES, "predicates.p.pattern": "["},
            "predicates.p.pattern",
            "Invalid value [ for configuration pattern: Invalid regex: ",
        ),
        (
            {"connector.class": FILE_SINK, "name": "k", "topics.regex": "["},
            "topics.regex",
            "Invalid value [ for configuration topics.regex: Invalid regex: ",
        ),
        (SINK | {"value.converter": FILE_SINK}, "value.converter", "does not implement the Converter interface"),
        (
            SINK
            | {"transforms": "h", "transforms.h.type": HOIST, "transforms.h.field": "x", "transforms.h.negate": "1"},
            "transforms.h.negate",
            "Invalid value 1 for configuration transforms.h.negate: Expected value to be either true or false",
        ),
    ],
)
def test_one_error_that_contains(keys: Keys, key: str, text: str) -> None:
    found = errors(validate(keys))
    assert list(found) == [key]
    assert len(found[key]) == 1
    assert text in found[key][0]


@pytest.mark.parametrize("regex", [r"\p{Alpha}+", r"(?<year>\d{4})-\k<year>", r"\Qa.b\E.*", r"\Aa\z", "(?i)a.*+"])
def test_regular_expressions_of_java_are_accepted(regex: str) -> None:
    assert validate({"connector.class": FILE_SINK, "name": "k", "topics.regex": regex}).error_count == 0


def test_every_broken_key_is_named_at_once() -> None:
    found = validate({"connector.class": FILE_SINK, "name": "k", "tasks.max": "0", "errors.tolerance": "x"})
    assert set(errors(found)) == {"tasks.max", "errors.tolerance", "topics", "topics.regex"}


def test_a_connectors_rule_about_a_key_of_the_framework_joins_that_key() -> None:
    keys = {"connector.class": VAULT_SOURCE, "name": "k", "connection.url": "u", "connection.password": "p"}
    found = validate(keys | {"tasks.max": "13"})
    assert errors(found) == {"tasks.max": ["The vault has 12 doors."]}
    assert [i.value.name for i in found.configs].count("tasks.max") == 1


def test_exactly_once_needs_the_worker_and_the_connector() -> None:
    keys: Keys = {"connector.class": VAULT_SOURCE, "name": "k", "connection.url": "u", "connection.password": "p"}
    required = keys | {"exactly.once.support": "required"}
    unsupported = "The connector does not support exactly-once semantics with the provided configuration."
    assert errors(validate(required)) == {"exactly.once.support": [NOT_EOS, unsupported]}
    enabled = Validator(catalog(), worker_config(exactly_once_source_support="enabled"))
    assert errors(enabled.validate(required)) == {"exactly.once.support": [unsupported]}
    assert errors(enabled.validate(SOURCE | {"exactly.once.support": "required"})) == {}


def test_boundaries_are_the_connectors_where_it_says_it_can(monkeypatch: pytest.MonkeyPatch) -> None:
    at_once = threading.Event()
    at_once.set()
    monkeypatch.setattr(HangingSourceConfig, "released", at_once)
    keys = {"connector.class": HANGING_SOURCE, "name": "k", "transaction.boundary": "Connector"}
    assert "transaction.boundary" not in errors(validate(keys))


def test_an_offsets_topic_has_a_name() -> None:
    found = errors(validate(SOURCE | {"offsets.storage.topic": ""}))
    assert found == {"offsets.storage.topic": [INVALID.format("", "offsets.storage.topic", "String must be non-empty")]}


@pytest.mark.parametrize(
    "keys", [{"name": "grp", "topics": "a"}, {"name": "k", "topics": "a", "consumer.override.group.id": "connect-grp"}]
)
def test_the_workers_own_group_is_refused(keys: Keys) -> None:
    found = errors(validate({"connector.class": FILE_SINK} | keys, group_id="connect-grp"))
    (messages,) = found.values()
    expected = f"Consumer group for sink connector named {keys['name']} conflicts with Connect worker group connect-grp"
    assert messages == [expected]


@pytest.mark.parametrize(
    ("policy", "refused"),
    [
        ("All", []),
        ("None", ["acks", "sasl.jaas.config"]),
        ("Principal", ["acks"]),
        ("Allowlist", ["sasl.jaas.config"]),
        (
            "org.apache.kafka.connect.connector.policy.NoneConnectorClientConfigOverridePolicy",
            ["acks", "sasl.jaas.config"],
        ),
        ("some.unknown.Policy", ["acks", "sasl.jaas.config"]),
    ],
)
def test_the_override_policy_refuses_what_it_does_not_allow(policy: str, refused: list[str]) -> None:
    keys = SOURCE | {"producer.override.acks": "1", "producer.override.sasl.jaas.config": "x"}
    found = validate(
        keys,
        connector_client_config_override_policy=policy,
        connector_client_config_override_allowlist="acks",
    )
    assert sorted(errors(found)) == [f"producer.override.{setting}" for setting in refused]
    if policy == "None":
        text = "The 'None' policy does not allow 'acks' to be overridden in the connector configuration."
        assert errors(found)["producer.override.acks"] == [text]


def test_the_workers_login_is_not_lent_to_other_brokers() -> None:
    keys = SOURCE | {"producer.override.bootstrap.servers": "evil:9092", "producer.override.acks": "1"}
    found = validate(keys, security_protocol="SASL_SSL", sasl_jaas_config="x")
    assert list(errors(found)) == ["producer.override.bootstrap.servers"]


def test_an_override_that_cannot_be_read_is_the_servers_error() -> None:
    with pytest.raises(RequestError) as caught:
        validate(SINK | {"consumer.override.max.poll.records": "x"})
    assert type(caught.value) is FailedRequestError
    assert caught.value.message == "Invalid value x for configuration max.poll.records: Not a number of type INT"


@pytest.mark.parametrize("version", ["99", "[5,)", "nonsense,["])
def test_a_version_that_is_not_installed(version: str) -> None:
    found = errors(validate(SINK | {"connector.plugin.version": version}))
    assert set(found) == {"connector.class", "connector.plugin.version"}
    if version == "99":
        text = f"Plugin {FILE_SINK} not found that matches the version range [99,99], available versions: [4.1.0]"
        assert found["connector.class"] == [text]


@pytest.mark.parametrize("version", ["4.1.0", "[4.1.0]", "[4,5)", "(,4.1.0]", "[1,2],[4.1,)"])
def test_a_version_that_is_installed(version: str) -> None:
    assert errors(validate(SINK | {"connector.plugin.version": version})) == {}


def test_placeholders_of_a_configured_provider_are_trusted_and_kept() -> None:
    keys = SOURCE | {"batch.size": "${file:/s:n}", "tasks.max": "${other:x}"}
    found = validate(keys, config_providers="file")
    assert {k: len(v) for k, v in errors(found).items()} == {"tasks.max": 2}
    assert next(i.value.value for i in found.configs if i.value.name == "batch.size") == "${file:/s:n}"


def test_what_a_provider_gave_is_validated_but_never_shown() -> None:
    given = {"${file:/s:n}": "hunter2", "${file:/s:mode}": "bulk"}

    def resolve(keys: Mapping[str, str]) -> Mapping[str, str]:
        return {k: given.get(v, v) for k, v in keys.items()}

    keys: Keys = {
        "connector.class": VAULT_SOURCE, "name": "k", "connection.url": "u", "connection.password": "p",
        "tasks.max": "${file:/s:n}", "mode": "${file:/s:mode}", "errors.retry.timeout": "${file:/s:none}",
    }  # fmt: skip
    found = Validator(catalog(), worker_config(config_providers="file"), resolve).validate(keys)

    secret = PROVIDED_VALUE.format("tasks.max")
    missing = INVALID.format("${file:/s:none}", "errors.retry.timeout", "Not a number of type LONG")
    assert errors(found) == {"tasks.max": [secret], "errors.retry.timeout": [missing]}
    assert "hunter2" not in repr(found)
    assert next(i.value.value for i in found.configs if i.value.name == "mode") == "${file:/s:mode}"


def test_the_400_text_lists_every_error() -> None:
    found = validate({"connector.class": FILE_SOURCE, "name": "k", "tasks.max": "0"})
    assert found.message() == (
        "Connector configuration is invalid and contains the following 2 error(s):\n"
        "Invalid value 0 for configuration tasks.max: Value must be at least 1\n"
        'Missing required configuration "topic" which has no default value.\n'
        "You can also find the above list of errors at the endpoint "
        "`/connector-plugins/{connectorType}/config/validate`"
    )


def test_a_secret_that_cannot_be_read_is_an_error_of_its_key() -> None:
    def resolve(keys: Mapping[str, str]) -> Mapping[str, str]:
        raise ConfigError("Could not read properties from file /gone: No such file or directory.", key="topics")

    keys = SINK | {"topics": "${file:/gone:topics}"}
    found = Validator(catalog(), worker_config(config_providers="file"), resolve).validate(keys)
    assert errors(found) == {"topics": ["Could not read properties from file /gone: No such file or directory."]}


def test_a_worker_matches_no_pattern_of_a_configuration() -> None:
    keys = {"connector.class": FILE_SINK, "name": "k", "topics.regex": "(a+)+b"}
    in_worker = Validator(catalog(), worker_config())
    assert not in_worker.needs_host(keys)
    keys["errors.deadletterqueue.topic.name"] = "a" * 60  # to match these would take as long as the sun burns
    assert in_worker.needs_host(keys)
    assert errors(in_worker.validate(keys)) == {}
