"""Runs `connect doctor` on real Kafka: it finds each fault that is seeded, and nothing on a sound system."""

import json
import resource
import shlex
import socket
import time
from argparse import ArgumentParser
from datetime import UTC, datetime, timedelta

import pytest
import trustme
import yaml
from click.testing import CliRunner
from cluster_worker import JSON_CONVERTER, eventually
from confluent_kafka import Producer
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from connect.api.records import TopicPartition
from connect.cli.doctor import before_start, doctor
from connect.cluster.model.cluster_topics import internal_topics
from connect.doctor.gathering import gather
from connect.kafka.admin.group_offsets import committed_offsets
from connect.kafka.admin.topics import TopicAdmin
from connect.kafka.client.errors import DeniedError
from connect.kafka.client.settings import admin_settings
from connect.lib.deadline import Deadline
from connect.runtime.settings.worker_config import WorkerConfig
from connect.tools.services import KafkaService
from connect.tools.services.process.ports import accepts_connections


class KafkaWithLogins(KafkaService):
    """A broker that nobody asks anything without a login."""

    def _answers(self, endpoint, timeout_s):
        del timeout_s
        return accepts_connections(int(endpoint.bootstrap_servers.rpartition(":")[2]))


pytestmark = pytest.mark.integration


TABLE = {
    "connector.class": "JdbcSourceConnector", "mode": "bulk", "topic.prefix": "rows-", "table.whitelist": "orders",
    "connection.user": "someone", "connection.password": "hidden-word",
}  # fmt: skip


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    """This machine may be busy: let what is asked in this process take its time."""
    monkeypatch.setattr(before_start, "TRY_S", 60.0)
    monkeypatch.setattr(gather, "GATHER_S", 20.0)


def _told(*arguments: str) -> tuple[int, list[dict[str, str]]]:
    result = CliRunner().invoke(doctor, [*arguments, "--json"])
    assert result.exit_code in {0, 1}, result.output
    return result.exit_code, json.loads(result.stdout)["findings"]


def _bad(found: list[dict[str, str]]) -> list[dict[str, str]]:
    return [finding for finding in found if finding["severity"] != "note"]


def test_a_sound_cluster_has_no_error_and_no_warning(worker, unique):
    worker.create(f"{unique}-numbers")
    eventually(worker.runs(f"{unique}-numbers"))

    code, found = _told("--url", worker.url)

    assert (code, _bad(found)) == (0, [])


@pytest.fixture
def admin(kafka):
    return TopicAdmin({"bootstrap.servers": kafka.bootstrap_servers})


def _expects(found: list[dict[str, str]], *wanted: tuple[str, str, str]) -> None:
    """Every (severity, part of the subject, part of evidence) is found, and has a reason and a fix."""
    for severity, subject, evidence in wanted:
        fitting = [
            f for f in found if f["severity"] == severity and subject in f["subject"] and evidence in f["evidence"]
        ]
        assert fitting, (severity, subject, evidence, [f["evidence"] for f in found])
        assert all(f["why"] and f["fix"] for f in fitting if severity != "note")


def test_each_fault_around_a_workers_file_is_found_before_it_starts(worker_keys, unique, admin, tmp_path):
    deadline = Deadline.after(60)
    admin.create(f"{unique}-configs", partitions=3, configs={"cleanup.policy": "compact"}, deadline=deadline)
    admin.create(f"{unique}-offsets", configs={"cleanup.policy": "delete"}, deadline=deadline)
    admin.create(f"{unique}-narrow", partitions=1, configs={"min.insync.replicas": "2"}, deadline=deadline)
    certificate = tmp_path / "old.pem"
    ended = trustme.CA().issue_cert("broker", not_after=datetime.now(UTC) - timedelta(days=1))
    ended.cert_chain_pems[0].write_to_path(str(certificate))
    keys = {
        **worker_keys,
        "status.storage.replication.factor": "3",
        "listeners": "http://0.0.0.0:8083",
        "allowed.paths": "/",
        "ofset.flush.interval.ms": "100",
        "ssl.truststore.location": str(certificate),
        "ssl.truststore.type": "PEM",
        "value.converter": "io.confluent.connect.avro.AvroConverter",
        "value.converter.schema.registry.url": "http://someone:hidden-word@127.0.0.1:1",
    }
    file, sink = tmp_path / "worker.yaml", tmp_path / "sink.json"
    file.write_text(yaml.safe_dump(keys), encoding="utf-8")
    sink.write_text(
        json.dumps({
            "name": "files",
            "config": {
                "connector.class": "FileStreamSink", "topics": f"{unique}-narrow,{unique}-none", "tasks.max": "400",
                "file": "/tmp/out", "fiel": "x",
            },
        })
    )  # fmt: skip
    dead, driver = tmp_path / "dead.json", tmp_path / "driver.json"
    for path, url in ((dead, "jdbc:postgresql://127.0.0.1:1/shop"), (driver, "jdbc:nosuch://127.0.0.1:1/shop")):
        path.write_text(json.dumps({"name": path.stem, "config": {**TABLE, "connection.url": url}}), encoding="utf-8")

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, hard))
    try:
        code, found = _told("--worker", str(file), str(sink), str(dead), str(driver))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    assert code == 1
    _expects(
        found,
        ("error", f"topic {unique}-configs", "3 partitions instead of one"),
        ("error", f"topic {unique}-offsets", "cleanup.policy=delete"),
        ("error", f"topic {unique}-statuss", "3 replicas; the cluster has 1 brokers"),
        ("error", f"topic {unique}-narrow", "min.insync.replicas=2, and 1 of 1"),
        ("error", "ssl.truststore.location", "ended at"),
        ("error", "worker file", "schema registry does not answer"),
        ("warning", "listener http://0.0.0.0:8083", "asks nobody to log in"),
        ("warning", "worker file", "ofset.flush.interval.ms has no effect"),
        ("warning", "connector files", "fiel"),
        ("warning", "connector files", "tasks.max=400, and its topics have 1 partitions"),
        ("warning", "connector files", f"{unique}-none, which is not there"),
        ("warning", "machine", "402 tasks may need"),
        ("error", "connector dead", "Connection refused"),
        ("error", "connector driver", "Unknown JDBC URL"),
        ("note", "allowed.paths", "allowed.paths=/"),
    )
    assert "hidden-word" not in json.dumps(found)


def test_each_fault_around_running_connectors_is_found(worker, unique, admin, kafka, tmp_path):
    deadline = Deadline.after(60)
    aged, gone, small = (f"{unique}-{name}" for name in ("aged", "gone", "small-numbers"))
    day_ms = 86_400_000
    admin.create(aged, partitions=1, configs={"retention.ms": str(10 * day_ms)}, deadline=deadline)
    admin.create(gone, partitions=1, deadline=deadline)
    admin.create(small, partitions=2, configs={"max.message.bytes": "1000"}, deadline=deadline)
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
    for _ in range(5):
        producer.produce(aged, b"x", timestamp=int(time.time() * 1000) - 9 * day_ms)
        producer.produce(gone, b"x")
    assert producer.flush(60) == 0
    admin.alter_group_offsets(
        "connect-late", {TopicPartition(aged, 0): 0, TopicPartition(gone, 0): 0}, Deadline.after(60)
    )
    admin.delete_records({TopicPartition(gone, 0): 3}, deadline)
    worker.create(small.removesuffix("-numbers"))
    eventually(worker.runs(small.removesuffix("-numbers")))
    eventually(lambda: worker.get(f"/connectors/{small.removesuffix('-numbers')}/topics")[f"{unique}-small"]["topics"])
    sink = tmp_path / "late.json"
    sink.write_text(
        json.dumps({
            "name": "late",
            "config": {
                "connector.class": "FileStreamSink", "topics": f"{aged},{gone}", "file": str(tmp_path / "none" / "out"),
                "consumer.override.receive.message.max.bytes": "1000000", "errors.tolerence": "all",
            },
        })
    )  # fmt: skip

    away = {"connector.class": "io.confluent.connect.http.HttpSinkConnector", "topics": gone,
            "http.api.url": "http://127.0.0.1:9/x"}  # fmt: skip
    worker.create(f"{unique}-away", **away)
    planned = tmp_path / "planned.json"
    planned.write_text(json.dumps({"name": "planned", "config": away}), encoding="utf-8")

    # A worker that is busy may not have looked at the configuration in its time.
    eventually(lambda: "errors.tolerence" in json.dumps(_told("--url", worker.url, str(sink))[1]))
    code, found = _told("--url", worker.url, str(sink))
    _, of_all = _told("--url", worker.url)
    _, of_planned = _told("--url", worker.url, str(planned))

    assert code == 1
    nobody = "Nobody answers at 127.0.0.1:9 (http.api.url): Connection refused."
    _expects(of_all, ("error", f"connector {unique}-away", nobody))
    _expects(of_planned, ("error", "connector planned", nobody))
    _expects(
        found,
        ("error", "connector late", f"3 offsets of topic {gone} were deleted before group connect-late"),
        ("warning", "connector late", f"5 offsets of topic {aged} that group connect-late has yet to read"),
        ("warning", "connector late", "errors.tolerence"),
        ("warning", "connector late", "takes answers of up to 1000000 bytes"),
    )
    _expects(of_all, ("warning", f"connector {unique}-small", "takes 1000 (max.message.bytes)"))


def _properties(keys, client_id):
    return admin_settings(keys, {}, client_id).properties


def _paste(commands, settings):
    """Do what lines of kafka-acls.sh do."""
    parser = ArgumentParser()
    parser.add_argument("--operation", action="append")
    parser.add_argument("--allow-principal")
    parser.add_argument("--topic")
    parser.add_argument("--group")
    bindings = []
    for command in commands:
        given, _ = parser.parse_known_args(shlex.split(command))
        kind = ResourceType.TOPIC if given.topic else ResourceType.GROUP
        bindings += [
            AclBinding(kind, given.topic or given.group, ResourcePatternType.LITERAL, given.allow_principal, "*",
                       AclOperation[operation.upper()], AclPermissionType.ALLOW)
            for operation in given.operation
        ]  # fmt: skip
    admin = AdminClient(settings)
    for future in admin.create_acls(bindings).values():
        future.result(60)


def test_a_login_that_may_not_use_a_topic_is_told_the_grant(unique, tmp_path):
    module = "org.apache.kafka.common.security.plain.PlainLoginModule required"
    users = f'{module} username="admin" password="hidden-word" user_admin="hidden-word" user_alice="hidden-word";'
    properties = {
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:SASL_PLAINTEXT",
        "sasl.enabled.mechanisms": "PLAIN",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "listener.name.plaintext.plain.sasl.jaas.config": users,
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:admin;User:ANONYMOUS",
    }
    with KafkaWithLogins(properties=properties) as kafka:
        login = {
            "bootstrap.servers": kafka.endpoint.bootstrap_servers,
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "PLAIN",
            "sasl.jaas.config": f'{module} username="alice" password="hidden-word";',
        }
        file = tmp_path / "worker.yaml"
        file.write_text(
            yaml.safe_dump({
                **login, "group.id": unique, "key.converter": JSON_CONVERTER, "value.converter": JSON_CONVERTER,
                **{f"{name}.storage.topic": f"{unique}-{name}" for name in ("config", "offset", "status")},
                **{f"{name}.storage.replication.factor": "1" for name in ("config", "offset", "status")},
            }), encoding="utf-8",
        )  # fmt: skip

        source, sink = (tmp_path / f"{name}.json" for name in ("source", "sink"))
        rows = {"connector.class": "FileStreamSource", "file": "/tmp/rows", "topic": f"{unique}-rows"}
        source.write_text(json.dumps({"name": "rows", "config": rows}), encoding="utf-8")
        letters = {
            "errors.tolerance": "all", "errors.deadletterqueue.topic.name": f"{unique}-letters",
            "errors.deadletterqueue.topic.replication.factor": "1",
        }  # fmt: skip
        reads = {"connector.class": "FileStreamSink", "file": "/tmp/rows", "topics": f"{unique}-in"} | letters
        sink.write_text(json.dumps({"name": "reads", "config": reads}), encoding="utf-8")
        asked = ("--worker", str(file), str(source), str(sink))
        with pytest.raises(DeniedError, match="--operation Read --group connect-reads"):
            committed_offsets(_properties(login, unique), "connect-reads", [TopicPartition("x", 0)], Deadline.after(60))
        code, found = _told(*asked)
        grants = {f["subject"]: f["fix"] for f in found if "deny this principal" in f["evidence"]}
        admin = {**login, "sasl.jaas.config": login["sasl.jaas.config"].replace("alice", "admin")}
        _paste(grants.values(), _properties(admin, unique))
        eventually(lambda: not [one for one in _told(*asked)[1] if "deny this principal" in one["evidence"]])
        told = WorkerConfig.parse(yaml.safe_load(file.read_text(encoding="utf-8")))
        made = TopicAdmin(_properties(login, unique)).ensure_internal(internal_topics(told), Deadline.after(60))
        assert made == {f"{unique}-{name}" for name in ("config", "offset", "status", "slots")}, "a worker would start"
        new = [TopicAdmin(_properties(login, unique)).create(f"{unique}-{name}", deadline=Deadline.after(60))
               for name in ("rows", "letters")]  # fmt: skip
        assert new == [True, True], "connectors would make theirs"

    assert code == 1
    assert set(grants) == {
        f"topic {unique}-config", f"topic {unique}-offset", f"topic {unique}-status", f"topic {unique}-slots",
        f"group {unique}", "group connect-reads", f"topic {unique}-rows", f"topic {unique}-letters",
        f"topic {unique}-in",
    }  # fmt: skip
    for made in ("rows", "letters"):
        assert f"--operation Create --operation Write --topic {unique}-{made}" in grants[f"topic {unique}-{made}"]
    assert "--allow-principal User:alice --operation Create --operation Read" in grants[f"topic {unique}-config"]
    assert "hidden-word" not in json.dumps(found)


def test_what_keeps_a_worker_from_serving_is_found_before_it_starts(worker_keys, tmp_path):
    file = tmp_path / "worker.yaml"
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"http://127.0.0.1:{taken.getsockname()[1]}"
        keys = {**worker_keys, "listeners": address, "rest.basic.auth.file": str(tmp_path / "no-users")}
        file.write_text(yaml.safe_dump(keys), encoding="utf-8")

        code, found = _told("--worker", str(file))

    assert code == 1
    _expects(found, ("error", "worker file", f"Cannot listen on {address}"), ("error", "worker file", "no-users"))


def test_brokers_that_do_not_answer_are_found(worker_keys, tmp_path):
    file = tmp_path / "worker.yaml"
    file.write_text(yaml.safe_dump({**worker_keys, "bootstrap.servers": "127.0.0.1:1"}), encoding="utf-8")

    code, found = _told("--worker", str(file))

    assert code == 1
    _expects(found, ("error", "Kafka", "Connection refused"))


def test_an_address_that_brokers_advertise_and_that_nobody_reaches_is_found(worker_keys, tmp_path):
    with KafkaWithLogins(properties={"advertised.listeners": "PLAINTEXT://127.0.0.1:1"}) as kafka:
        file = tmp_path / "worker.yaml"
        servers = kafka.endpoint.bootstrap_servers
        file.write_text(yaml.safe_dump({**worker_keys, "bootstrap.servers": servers}), encoding="utf-8")

        code, found = _told("--worker", str(file))

    assert code == 1
    _expects(found, ("error", "Kafka", "advertises 127.0.0.1:1, and nobody gets there from here: Connection refused"))


def test_nobody_who_answers_is_exit_code_2():
    result = CliRunner().invoke(doctor, ["--url", "http://127.0.0.1:1"])

    assert result.exit_code == 2
    assert "No worker answers" in result.output
