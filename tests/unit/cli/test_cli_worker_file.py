"""`connect doctor --worker` finds a wrong value of every key of a worker's file, and keys that need another one."""

from __future__ import annotations

from pathlib import Path

import pytest

from connect.api.errors import ConfigError
from connect.cli.doctor.before_start import _unusable
from connect.cli.doctor.unusable_values import keys_without_effect
from connect.cluster.worker_file import _replaced, worker_config
from connect.kafka.client.trial import client_problems
from connect.plugins.catalog import Catalog
from connect.runtime.settings.worker_config import WorkerConfig

JSON = "org.apache.kafka.connect.json.JsonConverter"
SOUND = {
    "bootstrap.servers": "localhost:9092", "group.id": "g", "config.storage.topic": "c", "offset.storage.topic": "o",
    "status.storage.topic": "s", "key.converter": JSON, "value.converter": JSON, "listeners": "http://localhost:0",
}  # fmt: skip
FREE = {
    "client.id": "any text is one",
    "internal.topics.writable": "other clusters have topics of any name",
}
"""Maps each key that takes any text to the reason."""
OWN_WRONG = {"rest.audit.log.file": "/nowhere/audit.log"}
"""Maps each key that takes the general wrong text to a value that is wrong for it."""
WRONG = {"PASSWORD": "x", "INT": "soon", "SHORT": "soon", "LONG": "soon", "DOUBLE": "soon", "BOOLEAN": "maybe"}


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return Catalog.installed()


def told(properties: dict[str, str], catalog: Catalog) -> list[str]:
    """Return what is said of a file, each sentence with its key."""
    try:
        worker = worker_config(properties, catalog)
    except ConfigError as error:
        return [f"{problem.key}: {problem.message}" for problem in error.problems]
    broken = [*client_problems(worker.originals), *_unusable(worker)]
    said = [*(f"{problem.key}: {problem.message}" for problem in broken), *keys_without_effect(worker, catalog)]
    return [*said, *(f"{key} has no effect: {why}" for key, why in _replaced(properties))]


def test_a_sound_file_is_sound(catalog, tmp_path):
    assert told(SOUND, catalog) == []
    more = {
        "allowed.paths": str(tmp_path), "python.function.modules": "json", "rest.allowed.hosts": "*.example.com,a:8083",
        "rest.audit.log.file": str(tmp_path / "audit.log"), "rest.advertised.listener": "http",
        "rest.advertised.host.name": "worker-1.example.com", "access.control.allow.origin": "https://a.example",
        "access.control.allow.methods": "GET,PUT", "response.http.headers.config": "set X-Frame-Options: DENY",
        "config.storage.min.insync.replicas": "2", "value.converter.schemas.enable": "false",
        "connector.client.config.login.addresses": "kafka-2:9092", "jdbc.sqlalchemy.drivers": "mssql+pymssql",
        "alerts.webhook.url": "https://hooks.example.com/x", "alerts.lag.records": "10",
    }  # fmt: skip
    assert told({**SOUND, **more}, catalog) == []


@pytest.mark.parametrize("key", sorted({d.name for d in WorkerConfig.definitions()} - FREE.keys()))
def test_a_wrong_value_of_each_key_is_found(key, catalog):
    kind = next(d.type.value for d in WorkerConfig.definitions() if d.name == key)
    found = told({**SOUND, key: OWN_WRONG.get(key) or WRONG.get(kind, "no such thing!")}, catalog)
    assert any(key in text for text in found), found


@pytest.mark.parametrize(
    ("key", "more", "why"),
    [
        ("rest.audit.log.file", {"rest.audit.log.file": "/nowhere/audit.log"}, "folder that does not exist"),
        ("rest.audit.log.file", {"rest.audit.log.file": "/"}, "is a folder"),
        ("rest.advertised.listener", {"rest.advertised.listener": "https"}, "listeners does not have"),
        ("rest.advertised.host.name", {"rest.advertised.host.name": "http://x"}, "no name or address"),
        ("response.http.headers.config", {"response.http.headers.config": "put X: y"}, "set"),
        ("access.control.allow.methods", {"access.control.allow.methods": "GET"}, "allows no origin"),
        ("allowed.paths", {"allowed.paths": "/nowhere"}, "there is no /nowhere"),
        ("allowed.paths", {"allowed.paths": "data"}, "no absolute path"),
        ("python.function.modules", {"python.function.modules": "json,no_such_module"}, "no module no_such_module"),
        ("alerts.lag.records", {"alerts.lag.records": "5"}, "alerts.webhook.url is not set"),
        ("override.allowlist", {"connector.client.config.override.allowlist": "acks"}, "not Allowlist"),
        ("override.policy", {"connector.client.config.override.policy": "Allowlist"}, "it names nothing"),
        ("ssl.truststore.location", {"ssl.truststore.location": "/x.pem"}, "no https address"),
        ("sasl.mechanism", {"sasl.mechanism": "PLAIN"}, "is not SASL_SSL"),
        ("ssl.keystore.locatoin", {"ssl.keystore.locatoin": "x"}, "Is ssl.keystore.location meant?"),
        ("listeners.https.ssl.client.auth", {"listeners.https.ssl.client.auth": "required"}, "no https address"),
        ("config.storage.partitions", {"config.storage.partitions": "3"}, "one partition"),
        ("config.storage.retentoin.ms", {"config.storage.retentoin.ms": "1"}, "Is retention.ms meant?"),
        ("value.converter.schema.enable", {"value.converter.schema.enable": "false"}, "Is schemas.enable meant?"),
        ("heartbeat.interval.ms", {"heartbeat.interval.ms": "5000", "session.timeout.ms": "3000"}, "lower than"),
        ("offset.storage.topic", {"offset.storage.topic": "c"}, "needs its own"),
        ("listeners", {"listeners": "http://203.0.113.9:18083"}, "no address of this machine"),
        ("ssl.keystore.location", {"listeners": "https://localhost:0"}, "needs a certificate"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_and_what_contradicts_is_found(key, more, why, catalog):
    found = told({**SOUND, **more}, catalog)
    assert any(key in text and why in text for text in found), found


@pytest.mark.parametrize(
    ("policy", "allowlist", "may"),
    [
        ("All", "", True),
        ("Principal", "", True),
        ("None", "", False),
        ("Allowlist", "security.protocol", True),
        ("Allowlist", "acks", False),
    ],
)
@pytest.mark.parametrize("key", ["ssl.truststore.location", "sasl.mechanism"])
def test_settings_of_a_protocol_that_only_connectors_may_speak_are_theirs(key, policy, allowlist, may, catalog):
    override = "connector.client.config.override."
    given = {**SOUND, key: "PLAIN", f"{override}policy": policy, f"{override}allowlist": allowlist}
    (text,) = (text for text in told(given, catalog) if key in text and "protocol" in text)
    assert ("only connectors that override security.protocol use it" in text) is may


def test_a_file_that_may_not_be_written_is_found(catalog, tmp_path, monkeypatch):
    monkeypatch.setattr("os.access", lambda *_: False)
    (text,) = told({**SOUND, "rest.audit.log.file": str(tmp_path / "a.log")}, catalog)
    assert "may not be written by this user" in text
    assert not Path(tmp_path / "a.log").exists(), "the doctor writes nothing"
