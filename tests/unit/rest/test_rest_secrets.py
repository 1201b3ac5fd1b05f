"""Checks which values are secret, and what a mask that comes back means."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from rest_client import Rest
from sample_plugins import FILE_SOURCE, JSON, VAULT_SOURCE, catalog

from connect.rest.server.secrets import Secrets

SECRETS = Secrets(catalog(), ("file", "env"))


@pytest.mark.parametrize(
    ("cls", "key"),
    [
        (VAULT_SOURCE, "connection.password"),
        (FILE_SOURCE, "connection.password"),
        (FILE_SOURCE, "aws.secret.access.key"),
        (FILE_SOURCE, "oauth_token"),
        (FILE_SOURCE, "my.Credentials"),
        (FILE_SOURCE, "producer.override.sasl.jaas.config"),
        (FILE_SOURCE, "consumer.override.ssl.keystore.key"),
        (FILE_SOURCE, "value.converter.basic.auth.user.info"),
        (FILE_SOURCE, "producer.override.ssl.key.pem"),
        (FILE_SOURCE, "producer.override.sasl.oauthbearer.config"),
        (FILE_SOURCE, "admin.override.sasl.oauthbearer.client.credentials.client.secret"),
        (FILE_SOURCE, "source.cluster.sasl.oauthbearer.config"),
        (FILE_SOURCE, "source.consumer.ssl.keystore.key"),
        (FILE_SOURCE, "target.admin.ssl.key.pem"),
        (FILE_SOURCE, "admin.ssl.keystore.key"),
        (FILE_SOURCE, "db.pwd"),
        (FILE_SOURCE, "request.header.Authorization"),
        (FILE_SOURCE, "eventhub.connection.string"),
        ("not.installed.Connector", "api_key"),
    ],
)
def test_a_secret_key_is_masked_even_of_a_class_that_is_not_installed(cls: str, key: str) -> None:
    config = {"connector.class": cls, key: "hunter2"}
    assert SECRETS.mask(config) == {"connector.class": cls, key: "[hidden]"}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("connection.password", "${file:/secrets:pw}"),
        ("connection.password", ""),
        ("x.token", "${env:TOKEN}"),
        ("topic", "passwords"),
        ("key.converter", JSON),
        ("producer.override.acks", "all"),
    ],
)
def test_a_placeholder_and_a_plain_key_are_shown(key: str, value: str) -> None:
    config = {"connector.class": VAULT_SOURCE, key: value}
    assert SECRETS.mask(config) == config


@pytest.mark.parametrize("value", ["${vault:/x:y}", "user:${file:/secrets:pw}", "${file}"])
def test_text_beside_a_placeholder_or_of_an_unknown_provider_is_masked(value: str) -> None:
    assert SECRETS.mask({"connection.password": value})["connection.password"] == "[hidden]"


def test_a_declared_key_is_no_secret_whatever_its_name() -> None:
    assert SECRETS.mask({"connector.class": FILE_SOURCE, "topic": "x", "errors.tolerance": "all"})["topic"] == "x"


def test_restore_takes_the_stored_value_only_for_secrets() -> None:
    stored = {"connection.password": "hunter2", "topic": "old"}
    given = {"connection.password": "[hidden]", "topic": "[hidden]", "gone": None}
    restored, problems = SECRETS.restore(given, stored)
    assert restored == {"connection.password": "hunter2", "topic": "[hidden]", "gone": None}
    assert problems == ()


def test_restore_names_what_is_not_stored() -> None:
    restored, problems = SECRETS.restore({"connection.password": "[hidden]"}, None)
    assert restored == {"connection.password": "[hidden]"}
    assert [p.key for p in problems] == ["connection.password"]


def test_a_new_secret_replaces_the_stored_one(rest: Rest) -> None:
    restored, _ = SECRETS.restore({"connection.password": "new"}, {"connection.password": "old"})
    assert restored == {"connection.password": "new"}


@pytest.mark.parametrize("key", ["topic", "x.y", "file"])
def test_text_in_pem_form_is_masked_whatever_its_key_is(key: str) -> None:
    config = {"connector.class": FILE_SOURCE, key: "-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----"}
    assert SECRETS.mask(config)[key] == "[hidden]"


def test_the_user_info_of_a_url_is_masked_wherever_it_stands() -> None:
    config = {"connector.class": FILE_SOURCE, "topic": "t", "x.y": "see http://u:hunter2@h/ there"}
    shown = SECRETS.mask(config)
    assert shown["x.y"] == "see http://u:[hidden]@h/ there"
    assert SECRETS.restore(dict(shown), config) == (config, ())
    _, problems = SECRETS.restore(dict(shown), None)
    assert [problem.key for problem in problems] == ["x.y"]


@pytest.mark.parametrize("change", [str, repr, lambda text: "".join(text.split()), lambda text: text.split("\\n")[1]])
def test_no_line_of_a_private_key_is_told_however_an_error_writes_it(change: Callable[[str], str]) -> None:
    line = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC"
    key = f'{{"key": "-----BEGIN RSA PRIVATE KEY-----\\n{line}\\n{line[::-1]}\\n-----END RSA PRIVATE KEY-----"}}'
    shown = SECRETS.hide(f"Invalid version {change(key)}", {"connector.class": FILE_SOURCE, "batch.size": key})
    assert line not in shown
    assert line[::-1] not in shown


def test_an_alias_that_holds_a_secret_is_masked_in_the_groups_of_validation(rest: Rest) -> None:
    config = {"connector.class": FILE_SOURCE, "topic": "a", "predicates": "password=s3cr3t-c4n4ry;user=x"}
    found = rest("PUT", f"/connector-plugins/{FILE_SOURCE}/config/validate", config).json()
    assert "s3cr3t-c4n4ry" not in " ".join(found["groups"])
    assert "Common" in found["groups"]
