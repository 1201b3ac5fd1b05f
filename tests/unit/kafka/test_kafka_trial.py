"""Checks what `connect doctor --worker` knows of the clients' settings in a worker's file."""

import pytest

from connect.kafka.client import trial
from connect.kafka.client.trial import _refusal as refusal
from connect.kafka.client.trial import client_problems, refused_overrides, unknown_client_keys

WORKER = {"bootstrap.servers": "broker:9092", "group.id": "workers", "key.converter": "x", "rest.port": "1"}


@pytest.mark.parametrize(("key", "value", "why"), [
    ("consumer.auto.offset.reset", "sometimes", 'Invalid value "sometimes"'),
    ("consumer.fetch.max.bytes", "-5", "outside allowed range"),
    ("consumer.isolation.level", "read_everything", 'Invalid value "read_everything"'),
    ("consumer.partition.assignment.strategy", "org.acme.Mine", "String must be one of"),
    ("producer.compression.type", "brotli", 'Invalid value "brotli"'),
    ("producer.linger.ms", "soon", "Invalid value"),
    ("producer.enable.idempotence", "maybe", "true or false"),
    ("producer.partitioner.class", "org.acme.Mine", "String must be one of"),
    ("admin.request.timeout.ms", "abc", "Not a whole number"),
    ("security.protocol", "TLS", 'Invalid value "TLS"'),
    ("ssl.truststore.location", "/nowhere.jks", "only PEM"),
])  # fmt: skip
def test_a_value_that_no_client_takes_is_found_at_its_key(key, value, why):
    (problem,) = client_problems({**WORKER, key: value})

    assert problem.key == key
    assert why in problem.message


def test_each_of_several_broken_keys_is_named_once():
    broken = {
        "consumer.auto.offset.reset": "sometimes", "consumer.fetch.max.bytes": "-5", "consumer.fetch.min.bytes": "7",
        "producer.acks": "two", "producer.linger.ms": "soon", "security.protocol": "TLS",
    }  # fmt: skip

    found = [problem.key for problem in client_problems({**WORKER, **broken})]

    assert sorted(found) == sorted(broken.keys() - {"consumer.fetch.min.bytes"})


def test_two_values_that_rule_each_other_out_are_found():
    given = {"consumer.session.timeout.ms": "400000", "consumer.max.poll.interval.ms": "300000"}

    (problem,) = client_problems({**WORKER, **given})

    assert problem.key in given
    assert client_problems({**WORKER, **given, "consumer.max.poll.interval.ms": "500000"}) == []


@pytest.mark.parametrize("given", [
    {}, {"producer.acks": "1"}, {"producer.path": "plain", "consumer.path": "plain"},
    {"producer.max.request.size": "20971520", "consumer.fetch.max.bytes": "52428800"},
    {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "sasl.jaas.config": (
        'org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="p";')},
])  # fmt: skip
def test_a_sound_file_has_none(given):
    assert client_problems({**WORKER, **given}) == []
    assert unknown_client_keys({**WORKER, **given}) == []


def test_keys_that_a_client_does_not_have_are_named():
    given = {"consumer.auto.ofset.reset": "earliest", "producer.linger": "5", "consumer.max.poll.records": "500"}

    assert unknown_client_keys({**WORKER, **given}) == ["producer.linger", "consumer.auto.ofset.reset"]


@pytest.mark.parametrize(("prefix", "key", "value", "why"), [
    ("consumer.", "fetch.max.bytes", "-5", "outside allowed range"),
    ("consumer.", "auto.offset.reset", "sometimes", "Invalid value"),
    ("consumer.", "auto.offset.reset", "by_duration:soon", "span of time"),
    ("consumer.", "session.timeout.ms", "999999999", "outside allowed range"),
    ("producer.", "compression.type", "brotli", "Invalid value"),
    ("producer.", "partitioner.class", "org.acme.Mine", "String must be one of"),
    ("admin.", "security.protocol", "TLS", "Invalid value"),
    ("producer.", "sasl.password", "s3cret", None),
])  # fmt: skip
def test_an_override_that_no_client_takes_is_found_at_its_key(prefix, key, value, why):
    found = refused_overrides(WORKER, prefix, {"client.id": "mine", key: value})
    if why is None:
        assert found == [], "a password without a login is no fault"
        return
    (problem,) = found
    assert problem.key == key
    assert why in problem.message


def test_overrides_are_judged_with_what_a_transaction_takes():
    overrides = {"acks": "1"}
    assert refused_overrides(WORKER, "producer.", overrides) == []
    assert [problem.key for problem in refused_overrides(WORKER, "producer.", overrides, in_transactions=True)] == [
        "acks"
    ]


def test_keys_that_no_client_has_cost_no_client(monkeypatch):
    """Who sends a configuration of thousands of them, and some wrong values behind, would hold up the worker."""
    tried = []
    monkeypatch.setattr(trial, "_refusal", lambda *args: tried.append(1) or refusal(*args))
    misspelt = {f"{key}.{number}.level": "1" for key in ("fetch", "compression", "ssl") for number in range(400)}
    wrong = {"fetch.max.bytes": "-5", "fetch.min.bytes": "x", "auto.offset.reset": "sometimes"}

    found = refused_overrides(WORKER, "consumer.", {**misspelt, **wrong})

    assert {problem.key for problem in found} == wrong.keys()
    assert len(tried) <= 4 * len(wrong) + 2


def test_overrides_are_not_blamed_for_the_worker_s_own_settings():
    assert refused_overrides({**WORKER, "consumer.fetch.max.bytes": "-5"}, "consumer.", {"client.id": "x"}) == []


def test_java_s_own_overrides_are_taken():
    given = {"auto.offset.reset": "by_duration:PT1H", "max.poll.records": "500", "fetch.max.wait.ms": "100"}
    assert refused_overrides(WORKER, "consumer.", given) == []
