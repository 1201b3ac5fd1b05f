"""Checks on real Kafka that sealed configurations show no secret in the topic's bytes, and that a worker without their
key writes nothing.
"""

import base64
import os
import re

import pytest
from cluster_worker import eventually
from kafka_records import messages

SETTING = "config.storage.encryption.key"
SECRET = "hunter2-of-the-orders-database"
SEALING = {"config-topic-closed", "config-topic-unsealed", "config-topic-plain-before"}


@pytest.fixture
def keys(tmp_path, monkeypatch):
    """Two keys: one in a file, one in the environment, as a worker's file names them."""
    first, second = (base64.b64encode(os.urandom(32)).decode() for _ in range(2))
    (tmp_path / "keys.properties").write_text(f"first={first}\n")
    monkeypatch.setenv("CONNECT_SECOND_KEY", second)
    return {"first": f"${{file:{tmp_path}/keys.properties:first}}", "second": "${env:CONNECT_SECOND_KEY}"}


@pytest.fixture
def with_keys(start_worker, keys):
    providers = {
        "config.providers": "file,env",
        "config.providers.file.class": "org.apache.kafka.common.config.provider.FileConfigProvider",
        "config.providers.env.class": "org.apache.kafka.common.config.provider.EnvVarConfigProvider",
    }

    def start(*names):
        own = {SETTING: ",".join(keys.get(name, name) for name in names)} if names else {}
        return start_worker(**providers, **own)

    return start


@pytest.fixture
def topic(kafka, worker_keys):
    """The newest value of each record that may hold a configuration or a key, by record key."""

    def read():
        found = {m.key().decode(): m.value() for m in messages(kafka, worker_keys["config.storage.topic"])}
        kinds = ("connector-", "task-", "history-config-", "session-key")
        return {key: value for key, value in found.items() if key.startswith(kinds) and value is not None}

    return read


def all_bytes(kafka, topic):
    return b"".join((m.key() or b"") + (m.value() or b"") for m in messages(kafka, topic, "read_uncommitted"))


def ends(kafka, worker_keys):
    names = [worker_keys[f"{kind}.storage.topic"] for kind in ("config", "offset", "status")]
    return {name: [(m.partition(), m.offset()) for m in messages(kafka, name)] for name in names}


def is_sealed(value):
    return re.match(rb'\{"sealed":1,"key":"[0-9a-f]{8}"', value) is not None


def test_no_secret_is_in_the_bytes_of_the_topic(kafka, worker_keys, with_keys, topic):
    leader, other = with_keys("first").ready(), with_keys("first").ready()
    leader.create("orders", password=SECRET)
    eventually(leader.runs("orders"))
    eventually(other.runs("orders"))
    assert other.call("PUT", "/connectors/orders/config", {**other.get("/connectors/orders/config"), "note": "x"}).ok
    eventually(leader.runs("orders"))
    assert len(leader.get("/connectors/orders/history")["configs"]) == 2
    written = topic()
    assert written.keys() >= {
        "connector-orders", "task-orders-0", "task-orders-1", "history-config-orders-1", "history-config-orders-2",
        "session-key",
    }  # fmt: skip
    assert all(map(is_sealed, written.values())), written
    assert SECRET.encode() not in all_bytes(kafka, worker_keys["config.storage.topic"])
    for worker in (leader, other):
        assert worker.stop() == 0
    again = with_keys("first").ready()
    eventually(again.runs("orders"))
    assert again.call("PUT", "/connectors/orders/rollback/1", {}).ok
    assert "note" not in again.get("/connectors/orders/config")


def test_a_worker_without_the_key_refuses_to_start_and_writes_nothing(kafka, worker_keys, with_keys):
    first = with_keys("first").ready()
    first.create("orders", password=SECRET)
    eventually(first.runs("orders"))
    assert first.stop() == 0
    before = ends(kafka, worker_keys)
    for names, why in (((), "is not set"), (("second",), "has '")):
        refused = with_keys(*names)
        assert refused.process.wait(60) == 1
        said = refused.log.read_text()
        assert "The config topic (config.storage.topic) cannot be read: of the record of connector orders it is" in said
        assert f"{SETTING} {why}" in said
        assert "Traceback" not in said
        assert ends(kafka, worker_keys) == before


def test_a_key_is_changed_while_the_cluster_runs(kafka, worker_keys, with_keys, topic):
    """Plain records, a first key, then a second one: workers are restarted one by one, and rows go on.

    Each worker that comes back is given a configuration, and a worker that has the old key alone is told so at the end.
    """
    workers = [with_keys().ready(), with_keys().ready()]
    workers[0].create("orders", password=SECRET)
    eventually(workers[0].runs("orders"))
    sealed, notes = [], []
    for names in (("none", "first"), ("first",), ("first", "second"), ("second", "first"), ("second",)):
        for number in range(2):
            assert workers[number].stop() == 0
            workers[number] = with_keys(*names).ready()
            eventually(workers[number].runs("orders"))
            notes.append(f"{'-'.join(names)} {number}")
            config = {**workers[number].get("/connectors/orders/config"), "note": notes[-1]}
            assert workers[number].call("PUT", "/connectors/orders/config", config).ok
            eventually(workers[1 - number].runs("orders"))
        eventually(lambda: len({value[:30] if is_sealed(value) else None for value in topic().values()}) == 1)
        sealed.append(next(value[:30] if is_sealed(value) else None for value in topic().values()))
    assert sealed[0] is None
    assert sealed[1] == sealed[2] != sealed[3] == sealed[4]
    assert None not in sealed[1:]
    assert workers[1].get("/connectors/orders/config")["password"] == "[hidden]"
    before = ends(kafka, worker_keys)[worker_keys["config.storage.topic"]]
    old = with_keys("first")
    assert old.process.wait(60) == 1
    assert "of the record of connector orders it is sealed by key" in old.log.read_text()
    assert f"{SETTING} has '" in old.log.read_text()
    assert ends(kafka, worker_keys)[worker_keys["config.storage.topic"]] == before
    history = workers[0].get("/connectors/orders/history")["configs"]
    assert [version["config"].get("note") for version in history] == [None, *notes]
    assert all(version["config"]["password"] == "[hidden]" for version in history)


def test_a_moved_record_is_named_with_its_connector_and_stops_no_other(kafka, worker_keys, with_keys, topic):
    from confluent_kafka import Producer

    worker = with_keys("first").ready()
    for name in ("orders", "bills"):
        worker.create(name, password=SECRET)
        eventually(worker.runs(name))
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
    producer.produce(worker_keys["config.storage.topic"], key=b"connector-bills", value=topic()["connector-orders"])
    assert producer.flush(30) == 0
    eventually(lambda: "a record of connector bills: it is damaged, or was moved here" in worker.log.read_text())
    assert worker.runs("bills")()
    assert worker.stop() == 0
    again = with_keys("first").ready()
    eventually(again.runs("orders"))
    assert SECRET not in again.log.read_text()


def test_the_doctor_tells_what_is_not_sealed(kafka, worker_keys, with_keys, topic):
    """Plain text, a first key, one more: each time what is left in another form."""

    def findings(worker):
        found = {one["name"]: one["evidence"] for one in worker.get("/doctor")["findings"]}
        return {name: text for name, text in found.items() if name in SEALING}

    plain = with_keys().ready()
    plain.create("orders", password=SECRET)
    eventually(plain.runs("orders"))
    assert findings(plain) == {}
    # One that does not lead seals nothing.
    second = with_keys("first").ready()
    # The doctor waits a few seconds for brokers, and is asked again where the machine is busy.
    eventually(lambda: "connectors orders are not sealed" in findings(second).get("config-topic-unsealed", ""))
    assert plain.stop() == 0
    eventually(lambda: all(map(is_sealed, topic().values())))
    eventually(lambda: findings(second).keys() == {"config-topic-plain-before"})
    assert SECRET not in str(findings(second))
    changed = with_keys("second", "first").ready()
    eventually(lambda: findings(changed).keys() == {"config-topic-unsealed", "config-topic-plain-before"})
