import re
from pathlib import Path

import pytest

from connect.api.errors import ConfigError
from connect.cluster.worker_file import read_worker_file, worker_config
from connect.plugins.catalog import Catalog
from connect.runtime.settings.worker_config import WorkerConfig

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


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("rest.roles.editor: ada on orders-*\nrest.roles.editor: '*'\n", "the key 'rest.roles.editor' is there twice"),
        ("rest.roles.editor: ada\nrest: {roles: {editor: bob}}\n", "the key rest.roles.editor is there twice"),
        ("a: 1\n---\nb: 2\n", "it holds 2 documents"),
        ("[a, b]\n", "it holds a list"),
    ],
)
def test_yaml_that_says_two_things_is_refused(tmp_path, text, told):
    with pytest.raises(ConfigError, match=re.escape(told)):
        read_worker_file(written(tmp_path, "w.yaml", text))


def test_times_in_yaml_are_texts(tmp_path):
    path = written(tmp_path, "w.yaml", "producer.a: 1:30\nproducer.b: 2026-01-01T10:00:00Z\n")
    assert read_worker_file(path).properties == {"producer.a": "1:30", "producer.b": "2026-01-01T10:00:00Z"}


def test_a_property_that_is_there_twice_is_told_and_the_last_one_counts(tmp_path):
    read = read_worker_file(written(tmp_path, "w.properties", "group.id=a\nrest.roles.editor=ada\ngroup.id=b\n"))
    assert read.properties["group.id"] == "b"
    assert read.notes == ("group.id is there more than once; the last one counts, as in Java",)


def test_overrides_win_over_the_file(tmp_path):
    path = written(tmp_path, "w.properties", "a=1\nb=2\n")
    assert read_worker_file(path, {"b": "3=x", "c": "4"}).properties == {"a": "1", "b": "3=x", "c": "4"}


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
    keys = dict.fromkeys((*EFFECTIVE, *REPLACED), "x") | {"config.providers": "file"}
    text = "".join(f"{key}={value}\n" for key, value in keys.items())
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


RIGHT = {
    "bootstrap.servers": "b:1", "group.id": "g", "config.storage.topic": "c", "offset.storage.topic": "o",
    "status.storage.topic": "s", "key.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter": "JsonConverter",
}  # fmt: skip


def test_a_right_file_with_a_policy_by_its_java_name():
    policy = "org.apache.kafka.connect.connector.policy.PrincipalConnectorClientConfigOverridePolicy"
    config = worker_config({**RIGHT, "connector.client.config.override.policy": policy}, Catalog.installed())
    assert config.inter_worker_key_ttl_ms == 3_600_000


def test_all_broken_keys_are_told_at_once():
    broken = {
        "config.providers": "a", "config.providers.a.class": "Nope", "session.timeout.ms": "abc",
        "config.storage.replication.factor": "0", "offset.storage.partitions": "-3", "inter.worker.key.ttl.ms": "x",
        "rest.advertised.port": "99999", "key.converter": "Nope", "header.converter": "RegexRouter",
        "value.converter.schemas.enable": "maybe", "connector.client.config.override.policy": "Nope",
    }  # fmt: skip
    with pytest.raises(ConfigError) as failed:
        worker_config({**RIGHT, **broken}, Catalog.installed())
    assert {problem.key for problem in failed.value.problems} == set(broken) - {"config.providers"}
    assert "Invalid value Nope for configuration key.converter: Class Nope could not be found." in str(failed.value)


@pytest.mark.parametrize(
    ("key", "value"), [("config.storage.topic", "bad topic!"), ("group.id", "a/b"), ("status.storage.topic", "..")]
)
def test_a_name_that_kafka_takes_for_no_topic_is_refused(key, value):
    with pytest.raises(ConfigError, match="a topic's name holds only letters") as failed:
        worker_config({**RIGHT, key: value}, Catalog.installed())
    assert [problem.key for problem in failed.value.problems] == [key]


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("config.providers.vault.class=x", ("config.providers.vault.class", "config.providers does not list vault")),
        ("config.providers=a, vault\nconfig.providers.vault.class=x", None),
        ("schema.registry.url=http://r:8081", ("schema.registry.url", "value.converter. before it")),
        ("value.converter.schema.registry.url=http://r:8081", None),
    ],
)
def test_keys_that_lack_what_makes_them_count_are_explained(tmp_path, lines, said):
    file = tmp_path / "worker.properties"
    file.write_text(lines)
    notes = [note.partition(" has no effect: ") for note in read_worker_file(file).notes]
    if said is None:
        assert notes == []
    else:
        ((key, _, why),) = notes
        assert key == said[0]
        assert said[1] in why


STANDALONE = (
    "bootstrap.servers=localhost:9092\nkey.converter=org.apache.kafka.connect.json.JsonConverter\n"
    "value.converter=org.apache.kafka.connect.json.JsonConverter\noffset.storage.file.filename=/tmp/connect.offsets\n"
)
"""What Kafka ships as config/connect-standalone.properties, comments left out."""


def problems_of(tmp_path, text):
    given = read_worker_file(written(tmp_path, "connect-standalone.properties", text))
    with pytest.raises(ConfigError) as raised:
        worker_config(given.properties, Catalog.installed())
    return raised.value.problems


def test_the_file_of_a_standalone_java_worker_is_explained_first(tmp_path):
    first = problems_of(tmp_path, STANDALONE)[0]
    assert first.key == "offset.storage.file.filename"
    assert "makes this the file of a standalone Java worker. Here a single worker keeps its state in Kafka too. " in (
        first.message
    )
    assert (
        "Add group.id=..., config.storage.topic=..., offset.storage.topic=..., status.storage.topic=..."
        in first.message
    )
    (only_one,) = problems_of(tmp_path, f"{STANDALONE}group.id=g\nconfig.storage.topic=c\noffset.storage.topic=o\n")[:1]
    assert "Add status.storage.topic=..., and on" in only_one.message


@pytest.mark.parametrize("address", ["notaport", "host:", "host:x", "host:0", "host:65536", "ho st:1"])
def test_an_address_of_no_broker_is_named_with_its_form(tmp_path, address):
    broken = [p for p in problems_of(tmp_path, f"bootstrap.servers=a:1,{address}\n") if p.key == "bootstrap.servers"]
    (problem,) = broken
    assert problem.message.endswith(
        f"Invalid url in bootstrap.servers: {address.strip()}. Write host:port, such as kafka-1:9092."
    )


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("http://127.0.0.1:99999", "Port out of range 0-65535"), ("http://:x", "Port could not be cast to integer"),
        ("ftp://:1", "is not of the form http://host:port"), ("8083", "is not of the form http://host:port"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("key", ["listeners", "admin.listeners"])
def test_an_address_to_listen_on_is_told_beside_other_broken_keys(key, address, said):
    with pytest.raises(ConfigError) as failed:
        worker_config({**RIGHT, "group.id": "", key: address}, Catalog.installed())
    assert {problem.key for problem in failed.value.problems} == {"group.id", key}
    assert said in str(failed.value)


@pytest.mark.parametrize("address", ["http://:0", "HTTPS://a.b:8443", "http://[::1]:8083", "http://a,https://b"])
def test_addresses_to_listen_on_that_java_takes_are_taken(address):
    assert worker_config({**RIGHT, "listeners": address}, Catalog.installed())


@pytest.mark.parametrize("address", ["localhost:9092", "SASL_SSL://kafka-1.a_b:9092", "[::1]:9092", "a:1, b:65535,"])
def test_addresses_that_java_takes_are_taken(tmp_path, address):
    problems = problems_of(tmp_path, f"bootstrap.servers={address}\n")
    assert "bootstrap.servers" not in [problem.key for problem in problems]
