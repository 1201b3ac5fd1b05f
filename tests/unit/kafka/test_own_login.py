"""A connector that names other brokers does not get the worker's own login sent to them."""

from __future__ import annotations

import pytest

from connect.api.errors import ConfigError
from connect.kafka.client.settings import admin_settings, consumer_settings, producer_settings

PLAIN = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="{}" password="{}";'
WORKER = {
    "bootstrap.servers": "b1:9092,b2:9092", "security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN",
    "sasl.jaas.config": PLAIN.format("worker", "hunter2-of-the-worker"),
}  # fmt: skip
TOKEN = {
    "bootstrap.servers": "b1:9092", "security.protocol": "SASL_SSL", "sasl.mechanism": "OAUTHBEARER",
    "sasl.oauthbearer.method": "oidc", "sasl.oauthbearer.token.endpoint.url": "https://login.example/token",
    "sasl.oauthbearer.client.id": "worker", "sasl.oauthbearer.client.secret": "hunter2-of-the-worker",
}  # fmt: skip
SCRAM = {**WORKER, "sasl.mechanism": "SCRAM-SHA-512"}
IN_THE_CLEAR = {**SCRAM, "security.protocol": "SASL_PLAINTEXT"}
CERTIFICATE = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----"
WEAKENING = [
    (WORKER, {"security.protocol": "SASL_PLAINTEXT"}),
    (WORKER, {"security.protocol": " sasl_plaintext "}),
    (SCRAM, {"sasl.mechanism": "PLAIN"}),
    (IN_THE_CLEAR, {"sasl.mechanism": "plain"}),
    (WORKER, {"ssl.endpoint.identification.algorithm": ""}),
    (WORKER, {"ssl.endpoint.identification.algorithm": "none"}),
    (WORKER, {"ssl.truststore.certificates": CERTIFICATE, "ssl.truststore.type": "PEM"}),
    (WORKER, {"enable.ssl.certificate.verification": "False"}),
    (WORKER, {"ssl.ca.pem": CERTIFICATE}),
    (TOKEN, {"ssl.truststore.certificates": CERTIFICATE}),
]
"""The settings of a worker, and overrides that let somebody on the way to its own brokers read its login."""
CLIENTS = {
    "producer.": lambda worker, given: producer_settings(worker, given, client_id="c"),
    "consumer.": lambda worker, given: consumer_settings(worker, given, client_id="c"),
    "admin.": lambda worker, given: admin_settings(worker, given, "c"),
}


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize(
    ("worker", "given"),
    [
        (WORKER, {"bootstrap.servers": "evil:9092"}),
        (WORKER, {"bootstrap.servers": "b1:9092, evil:9092", "security.protocol": "sasl_plaintext"}),
        (TOKEN, {"bootstrap.servers": "evil:9092"}),
        (TOKEN, {"sasl.oauthbearer.token.endpoint.url": "https://evil.example/token"}),
        (
            {**WORKER, "security.protocol": "SSL"},
            {"bootstrap.servers": "evil:1", "security.protocol": "SASL_PLAINTEXT"},
        ),
    ],
)
def test_other_brokers_without_a_login_of_their_own_are_refused(client, worker, given):
    with pytest.raises(ConfigError) as refused:
        CLIENTS[client](worker, given)

    (problem,) = refused.value.problems
    assert problem.key.startswith(f"{client}override.")
    assert "connector.client.config.login.addresses=" in problem.message
    assert "hunter2" not in problem.message


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize(
    "given",
    [
        {"bootstrap.servers": "far:9092", "security.protocol": "PLAINTEXT"},
        {"bootstrap.servers": "far:9092", "sasl.jaas.config": PLAIN.format("mine", "of-the-connector")},
        {"bootstrap.servers": "far:9092", "sasl.username": "mine", "sasl.password": "of-the-connector"},
    ],
)
def test_other_brokers_get_the_connectors_login_or_none(client, given):
    properties = CLIENTS[client](WORKER, given).properties

    assert properties["bootstrap.servers"] == "far:9092"
    assert "hunter2" not in str(dict(properties))


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize(
    ("more", "servers"),
    [
        ({}, "b2:9092"),
        ({}, " b2:9092 , b1:9092"),
        ({"connector.client.config.login.addresses": "far:9092"}, "far:9092"),
    ],
)
def test_the_workers_brokers_and_those_its_file_lists_get_its_login(client, more, servers):
    properties = CLIENTS[client]({**WORKER, **more}, {"bootstrap.servers": servers}).properties

    assert properties["sasl.password"] == "hunter2-of-the-worker"


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize(("worker", "given"), WEAKENING)
def test_overrides_that_show_the_workers_login_to_others_on_the_way_are_refused(client, worker, given):
    with pytest.raises(ConfigError) as refused:
        CLIENTS[client](worker, given)

    (problem,) = refused.value.problems
    assert problem.key == f"{client}override.{next(iter(given))}"
    assert f"connector.client.config.login.addresses=…,{worker['bootstrap.servers']}" in problem.message
    assert "hunter2" not in problem.message
    assert "BEGIN" not in problem.message


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize(("worker", "given"), WEAKENING)
def test_a_connector_says_its_own_login_as_it_likes(client, worker, given):
    own = {"sasl.username": "mine", "sasl.password": "of-the-connector", "sasl.mechanism": "PLAIN"}

    properties = CLIENTS[client](worker, {**given, **own}).properties

    assert properties["sasl.password"] == "of-the-connector"
    assert "hunter2" not in str(dict(properties))


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize(("worker", "given"), WEAKENING)
def test_the_workers_file_lists_brokers_that_get_its_login_in_any_way(client, worker, given):
    listed = {**worker, "connector.client.config.login.addresses": "b1:9092,b2:9092"}

    assert "hunter2-of-the-worker" in str(dict(CLIENTS[client](listed, given).properties))


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize(
    ("worker", "given"),
    [
        (WORKER, {"security.protocol": "SASL_SSL", "ssl.endpoint.identification.algorithm": "https"}),
        (WORKER, {"sasl.mechanism": "SCRAM-SHA-512"}),
        ({**WORKER, "security.protocol": "SASL_PLAINTEXT"}, {"security.protocol": "SASL_SSL"}),
        ({**WORKER, "ssl.ca.pem": CERTIFICATE}, {"ssl.ca.pem": CERTIFICATE}),
        ({**WORKER, "ssl.endpoint.identification.algorithm": ""}, {"ssl.endpoint.identification.algorithm": ""}),
        (IN_THE_CLEAR, {"security.protocol": "SASL_PLAINTEXT"}),
    ],
)
def test_overrides_that_are_as_safe_as_the_workers_settings_keep_its_login(client, worker, given):
    assert "hunter2-of-the-worker" in str(dict(CLIENTS[client](worker, given).properties))
