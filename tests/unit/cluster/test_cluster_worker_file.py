from pathlib import Path

import pytest

from connect.api.errors import ConfigError
from connect.cluster.worker_file import read_worker_file
from connect.runtime.worker_config import WorkerConfig

CONFIGS = Path(__file__).parents[3] / "configs"


def written(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def test_yaml_becomes_the_same_text_properties(tmp_path):
    path = written(
        tmp_path,
        "w.yaml",
        "bootstrap.servers: [a:1, b:2]\nkey.converter.schemas.enable: false\nproducer:\n  acks: all\nnothing:\nn: 5\n",
    )
    assert read_worker_file(path).properties == {
        "bootstrap.servers": "a:1,b:2",
        "key.converter.schemas.enable": "false",
        "producer.acks": "all",
        "n": "5",
    }


def test_overrides_win_over_the_file(tmp_path):
    path = written(tmp_path, "w.properties", "a=1\nb=2\n")
    assert read_worker_file(path, ["b=3=x", " c = 4"]).properties == {"a": "1", "b": "3=x", "c": "4"}


def test_keys_of_the_jvm_are_explained(tmp_path):
    path = written(tmp_path, "w.properties", "plugin.path=/x\ngroup.id=g\n")
    assert read_worker_file(path).notes == (
        "plugin.path has no effect: plug-ins are Python packages: pip install them next to the worker",
    )


EFFECTIVE = [
    "client.id",
    "bootstrap.servers",
    "key.converter",
    "value.converter",
    "header.converter",
    "key.converter.schemas.enable",
    "offset.flush.interval.ms",
    "offset.flush.timeout.ms",
    "task.shutdown.graceful.timeout.ms",
    "topic.creation.enable",
    "topic.tracking.enable",
    "topic.tracking.allow.reset",
    "connector.client.config.override.policy",
    "connector.client.config.override.allowlist",
    "config.providers",
    "config.providers.file.class",
    "config.providers.file.param.allowed.paths",
    "listeners",
    "admin.listeners",
    "rest.advertised.host.name",
    "rest.advertised.port",
    "rest.advertised.listener",
    "access.control.allow.origin",
    "access.control.allow.methods",
    "response.http.headers.config",
    "listeners.https.ssl.keystore.location",
    "admin.listeners.https.ssl.keystore.location",
    "producer.linger.ms",
    "consumer.max.poll.records",
    "admin.request.timeout.ms",
    "group.id",
    "config.storage.topic",
    "config.storage.replication.factor",
    "config.storage.min.insync.replicas",
    "offset.storage.topic",
    "offset.storage.partitions",
    "offset.storage.replication.factor",
    "status.storage.topic",
    "status.storage.partitions",
    "status.storage.replication.factor",
    "session.timeout.ms",
    "heartbeat.interval.ms",
    "rebalance.timeout.ms",
    "exactly.once.source.support",
    "inter.worker.key.ttl.ms",
    "security.protocol",
    "sasl.mechanism",
    "sasl.jaas.config",
    "ssl.truststore.location",
    "internal.topics.automatic.creation.enable",
]
REPLACED = [
    "plugin.path",
    "plugin.discovery",
    "metrics.sample.window.ms",
    "metrics.num.samples",
    "metrics.recording.level",
    "metric.reporters",
    "auto.include.jmx.reporter",
    "metrics.context.label",
    "worker.sync.timeout.ms",
    "worker.unsync.backoff.ms",
    "scheduled.rebalance.max.delay.ms",
    "connect.protocol",
    "inter.worker.key.generation.algorithm",
    "inter.worker.key.size",
    "inter.worker.signature.algorithm",
    "inter.worker.verification.algorithms",
    "request.timeout.ms",
    "connections.max.idle.ms",
    "client.dns.lookup",
    "metadata.max.age.ms",
    "receive.buffer.bytes",
    "send.buffer.bytes",
    "reconnect.backoff.ms",
    "reconnect.backoff.max.ms",
    "retry.backoff.ms",
    "retry.backoff.max.ms",
    "socket.connection.setup.timeout.ms",
    "socket.connection.setup.timeout.max.ms",
    "offset.storage.file.filename",
    "internal.key.converter",
    "rest.port",
    "rest.host.name",
]


def test_every_key_of_a_java_worker_counts_or_is_explained(tmp_path):
    text = "".join(f"{key}=x\n" for key in (*EFFECTIVE, *REPLACED))
    notes = read_worker_file(written(tmp_path, "w.properties", text)).notes
    assert [note.partition(" has no effect: ")[0] for note in notes] == REPLACED
    assert not [note for note in notes if "spelling" in note]


def test_a_key_that_nobody_knows_is_told(tmp_path):
    notes = read_worker_file(written(tmp_path, "w.properties", "group.id=g\noffset.flush.intervall.ms=1\n")).notes
    assert notes == ("offset.flush.intervall.ms has no effect: no part of a worker knows it; check its spelling",)


@pytest.mark.parametrize(
    ("name", "effect"),
    [
        ("org.apache.kafka.connect.rest.basic.auth.extension.BasicAuthSecurityRestExtension", True),
        ("BasicAuthSecurityRestExtension", True),
        ("com.example.OtherExtension", False),
    ],
)
def test_the_one_rest_extension_there_is(tmp_path, name, effect):
    notes = read_worker_file(written(tmp_path, "w.properties", f"rest.extension.classes={name}\n")).notes
    assert (not notes) is effect


@pytest.mark.parametrize(
    ("name", "text"),
    [("w.yaml", "- a\n"), ("w.yaml", "a: [\n"), ("w.properties", "a=\\uZZZZ"), ("w.properties", None)],
)
def test_a_broken_file_is_named(tmp_path, name, text):
    path = tmp_path / name if text is None else written(tmp_path, name, text)
    with pytest.raises(ConfigError, match=name):
        read_worker_file(path)


def test_an_override_without_a_value_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="--set nothing"):
        read_worker_file(written(tmp_path, "w.properties", ""), ["nothing"])


def test_the_shown_text_of_a_file_holds_no_secret(tmp_path):
    assert "hush" not in repr(read_worker_file(written(tmp_path, "w.properties", "sasl.password=hush")))


@pytest.mark.parametrize("path", sorted(CONFIGS.glob("worker-*")), ids=lambda p: p.name)
def test_the_examples_are_right(path):
    config = WorkerConfig.parse(read_worker_file(path).properties)
    assert config.group_id


@pytest.mark.parametrize(("given", "prefix"), [({}, "g"), ({"client.id": "etl"}, "g-etl")])
def test_the_workers_own_clients_are_named_after_its_group_and_its_client_id(given, prefix):
    topics = {f"{name}.storage.topic": name for name in ("config", "offset", "status")}
    keys = {"bootstrap.servers": "x:1", "group.id": "g", "key.converter": "J", "value.converter": "J"}
    assert WorkerConfig.parse({**keys, **topics, **given}).client_prefix == prefix
