"""Checks what a connector may not override: files that the worker does not list, parts of commands, other protocols."""

from __future__ import annotations

import pytest

from connect.api.allowed_hosts import AllowedHosts
from connect.api.allowed_paths import AllowedPaths
from connect.api.errors import ConfigError
from connect.kafka.client.override_rules import override_problems
from connect.kafka.client.settings import admin_settings, consumer_settings, producer_settings

ANY = AllowedHosts(None)
WORKER = {"bootstrap.servers": "b:9092", "ssl.truststore.location": "/etc/own.pem", "allowed.paths": "/data"}
KEYTAB = 'com.sun.security.auth.module.Krb5LoginModule required keyTab="{}" principal="{}";'


@pytest.mark.parametrize(
    ("key", "value", "fine"),
    [
        ("ssl.truststore.location", "/etc/x.pem", "/data/x.pem"),
        ("ssl.keystore.location", "/data/../etc/x.p12", "/data/x.p12"),
        ("ssl.ca.location", "/etc/ssl", "probe"),
        ("ssl.key.location", "/etc/x.pem", ""),
        ("sasl.oauthbearer.assertion.file", "/etc/passwd", "/data/jwt"),
        ("sasl.kerberos.keytab", "/data/a;touch /tmp/x", "/data/a.keytab"),
        ("sasl.kerberos.principal", "a$(id)", "connect/host.example@EXAMPLE.ORG"),
        ("sasl.kerberos.principal", "-c/home/connect/.ssh/authorized_keys", "connect-1@EXAMPLE.ORG"),
        ("sasl.jaas.config", KEYTAB.format("/etc/krb5.keytab", "a"), KEYTAB.format("/data/a.keytab", "a@B")),
        ("sasl.jaas.config", KEYTAB.format("/data/a", "a`id`"), KEYTAB.format("/data/a", "a")),
        ("sasl.jaas.config", KEYTAB.format("/data/a", "-S/tmp/x"), KEYTAB.format("/data/a", "a-b")),
        ("sasl.oauthbearer.token.endpoint.url", "file:///etc/passwd", "https://login.example/token"),
    ],
)
def test_each_is_refused_and_named(key: str, value: str, fine: str) -> None:
    allowed = AllowedPaths(["/data"])
    problems = list(override_problems({key: value, "linger.ms": "1"}, "producer.override.", allowed, ANY))
    assert [problem.key for problem in problems] == [f"producer.override.{key}"]
    assert list(override_problems({key: fine}, "", allowed, ANY)) == []


def test_only_listed_hosts_are_named() -> None:
    worker = {**WORKER, "security.profile": "strict", "allowed.hosts": "b,login.example"}
    fine = {"bootstrap.servers": "b:1,b:2", "sasl.oauthbearer.token.endpoint.url": "https://login.example/t"}
    assert list(override_problems(fine, "", AllowedPaths(), AllowedHosts.by(worker))) == []
    for key, value in (("bootstrap.servers", "b:1,c:2"), ("sasl.oauthbearer.token.endpoint.url", "https://c/t")):
        with pytest.raises(ConfigError, match="lets no configuration name the host c"):
            consumer_settings(worker, {key: value}, client_id="c")


def test_a_client_is_not_made_with_what_is_refused() -> None:
    bad = {"ssl.truststore.location": "/etc/x.pem"}
    for prefix, make in {
        "producer": lambda: producer_settings(WORKER, bad, client_id="c"),
        "consumer": lambda: consumer_settings(WORKER, bad, client_id="c"),
        "admin": lambda: admin_settings(WORKER, bad, "c"),
    }.items():
        with pytest.raises(ConfigError, match=r"allowed\.paths=…,/etc/x\.pem") as refused:
            make()
        assert refused.value.problems[0].key == f"{prefix}.override.ssl.truststore.location"
    # The worker's own files need no entry.
    assert producer_settings(WORKER, {}, client_id="c").properties["ssl.ca.location"] == "/etc/own.pem"
    good = {"ssl.truststore.location": "/data/x.pem"}
    assert producer_settings(WORKER, good, client_id="c").properties["ssl.ca.location"] == "/data/x.pem"
