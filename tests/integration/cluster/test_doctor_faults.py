"""Runs `connect doctor` on real services: each fault of a table is seeded and found, and a sound system has none."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from doctor_system import SECRET, System, tls_server

from connect.api.records import TopicPartition
from connect.cli.doctor import before_start
from connect.doctor.gathering import gather
from connect.lib.deadline import Deadline
from connect.tools.services import KafkaService

pytestmark = pytest.mark.integration

DAY_MS = 86_400_000
BADLY_SET = {"socket.request.max.bytes": "2000000", "offsets.retention.minutes": "60"}


@dataclass(frozen=True)
class Fault:
    """How a fault gets into a system, and the finding that it must have."""

    seed: Callable[[System], object]
    name: str
    severity: str
    subject: str
    evidence: str

    def is_in(self, findings: list[dict[str, str]]) -> bool:
        return any(
            (one["name"], one["severity"], one["subject"]) == (self.name, self.severity, self.subject)
            and self.evidence in one["evidence"] and one["why"] and (one["fix"] or self.severity == "note")
            for one in findings
        )  # fmt: skip


def _file(name: str, text: str) -> Callable[[System], None]:
    def seed(system: System) -> None:
        path = system.folder / "no-certificate.pem"
        path.write_text(text, encoding="utf-8")
        system.keys[name] = str(path)

    return seed


def _skewed(system: System) -> None:
    system.sink("skewed", system.topic("skewed", 2), tasks__max="2")
    system.fill("skewed", 2000)
    system.read("skewed", "skewed", 2)


def _deleted(system: System) -> None:
    system.sink("deleted", system.topic("deleted"))
    system.fill("deleted", 5)
    system.read("deleted", "deleted")
    system.admin.delete_records({TopicPartition("deleted", 0): 3}, Deadline.after(60))


def _aged(system: System) -> None:
    system.sink("aged", system.topic("aged", retention_ms=str(10 * DAY_MS)))
    system.fill("aged", 5, at_ms=int(time.time() * 1000) - 9 * DAY_MS)
    system.read("aged", "aged")


def _outgrown(system: System) -> None:
    system.sink("outgrown", system.topic("outgrown", retention_bytes="5000000", max_message_bytes="1000000"))
    system.fill("outgrown", 13)
    system.admin.alter_group_offsets("connect-outgrown", {TopicPartition("outgrown", 0): 3}, Deadline.after(60))
    # As if it had been full once before.
    system.admin.delete_records({TopicPartition("outgrown", 0): 3}, Deadline.after(60))


def _ahead(system: System) -> None:
    system.sink("ahead", system.topic("ahead"))
    system.fill("ahead", 1, at_ms=int(time.time() * 1000) + DAY_MS // 48)
    system.read("ahead", "ahead")


def _never(system: System) -> None:
    system.sink("never", system.topic("never"))
    system.fill("never", 1)


def _small_topic(system: System) -> None:
    topic = system.topic("tiny", max_message_bytes="5000")
    system.connectors["large"] = {
        "connector.class": "FileStreamSource", "file": str(system.folder / "lines"), "topic": topic,
        "producer.override.max.request.size": "20000",
    }  # fmt: skip


def _acks(system: System) -> None:
    system.table("acks", "postgresql")
    system.connectors["acks"]["producer.override.acks"] = "1"


def _without(name: str, key: str) -> Callable[[System], None]:
    def seed(system: System) -> None:
        system.table(name, "postgresql")
        del system.connectors[name][key]

    return seed


def _url(name: str, url: str) -> Callable[[System], None]:
    def seed(system: System) -> None:
        system.table(name, "postgresql")
        system.connectors[name]["connection.url"] = url

    return seed


def _registry(system: System) -> None:
    system.keys["value.converter"] = "io.confluent.connect.avro.AvroConverter"
    system.keys["value.converter.schema.registry.url"] = f"http://someone:{SECRET}@127.0.0.1:1"


def _users(system: System) -> None:
    path = system.folder / "users.properties"
    path.write_text(f"ada: {SECRET}\n", encoding="utf-8")
    path.chmod(0o644)
    system.keys["rest.basic.auth.file"] = str(path)


def _set(key: str, value: str) -> Callable[[System], None]:
    return lambda system: system.keys.update({key: value})


FAULTS: Mapping[str, Fault] = {
    "config partitions": Fault(
        lambda s: s.topic("d-config", 3, cleanup_policy="compact"),
        "config-topic-partitions", "error", "topic d-config", "3 partitions instead",
    ),
    "not compacted": Fault(
        lambda s: s.topic("d-offset"),
        "internal-topic-not-compacted", "error", "topic d-offset", "cleanup.policy=delete",
    ),
    "too few brokers": Fault(
        _set("status.storage.replication.factor", "3"),
        "too-few-brokers", "error", "topic d-status", "the cluster has 1 brokers",
    ),
    "short-lived places": Fault(lambda _: None, "offsets-retention-short", "warning", "Kafka", "for 60 minutes"),
    "below min ISR": Fault(
        lambda s: s.sink("isr", s.topic("isr", min_insync_replicas="2")),
        "below-min-isr", "error", "topic isr", "1 of 1 replicas",
    ),
    "unclean leaders": Fault(
        lambda s: s.sink("unclean", s.topic("unclean", unclean_leader_election_enable="true")),
        "unclean-leader-election", "warning",
        "topic unclean", "unclean.leader.election.enable=true",
    ),
    "acks": Fault(_acks, "weak-acks", "warning", "connector acks", "acks=1"),
    "small requests": Fault(
        lambda s: s.sink("requests", s.topic("requests", max_message_bytes="3000000")),
        "request-below-topic", "warning", "topic requests",
        "requests of up to 2000000",
    ),
    "small consumer": Fault(
        lambda s: s.sink("small", s.topic("small"), consumer__override__receive__message__max__bytes="1000000"),
        "consumer-below-topic", "warning", "connector small", "answers of up to 1000000 bytes",
    ),
    "small topic": Fault(
        _small_topic, "producer-above-topic", "warning", "connector large", "sends up to 20000 bytes; topic tiny takes",
    ),
    "few partitions": Fault(
        lambda s: s.sink("narrow", s.topic("narrow"), tasks__max="3"), "idle-tasks", "warning", "connector narrow",
        "tasks.max=3, and its topics have 1 partitions",
    ),
    "many files": Fault(
        lambda s: s.sink("many", s.topic("many"), tasks__max="100000"),
        "open-files-low", "warning", "machine", "tasks may need",
    ),
    "no such topic": Fault(
        lambda s: s.sink("lost", "nowhere"), "topic-missing", "warning", "connector lost", "nowhere, which is not",
    ),
    "skewed": Fault(
        _skewed, "partition-skew", "warning", "connector skewed", "holds 2000 of 2000 offsets; it has 2 partitions",
    ),
    "deleted unread": Fault(
        _deleted, "records-deleted-unread", "error", "connector deleted", "3 offsets of topic deleted were deleted",
    ),
    "no letters": Fault(
        lambda s: s.sink("letterless", s.topic("letterless"), errors__deadletterqueue__topic__name="letterless-dlq"),
        "letters-unwritable", "error", "connector letterless", "takes 3 replicas; brokers: 1",
    ),
    "outgrown soon": Fault(
        _outgrown, "records-deleted-soon", "warning", "connector outgrown", "2 offsets of topic outgrown that group",
    ),
    "deleted soon": Fault(_aged, "records-deleted-soon", "warning", "connector aged", "older than 80 %"),
    "never committed": Fault(
        _never, "nothing-committed", "note", "connector never", "has committed nothing on topic never",
    ),
    "clock": Fault(_ahead, "clock-ahead", "warning", "topic ahead", "ahead of this machine's clock"),
    "expired": Fault(
        lambda s: s.certificate("ssl.truststore.location", -1),
        "certificate-expired", "error", "worker file, ssl.truststore.location",
        "ended at",
    ),
    "expires": Fault(
        lambda s: s.certificate("admin.ssl.truststore.location", 10), "certificate-expiring", "warning",
        "worker file, admin.ssl.truststore.location", "in 9 days",
    ),
    "no certificate": Fault(
        _file("producer.ssl.truststore.location", "-----BEGIN CERTIFICATE-----\nno\n"),
        "certificate-unreadable", "warning",
        "worker file, producer.ssl.truststore.location", "no certificate that can be read",
    ),
    "no file": Fault(
        _set("consumer.ssl.truststore.location", "/nowhere/ca.pem"), "certificate-unreadable", "warning",
        "worker file, consumer.ssl.truststore.location", "no such file",
    ),
    "registry": Fault(_registry, "registry-unreachable", "error", "worker file", "schema registry does not answer"),
    "open listener": Fault(
        _set("listeners", "http://0.0.0.0:8083"),
        "open-listener", "warning", "listener http://0.0.0.0:8083", "asks nobody to log in",
    ),
    "all hosts": Fault(lambda _: None, "hosts-unbounded", "note", "worker file, allowed.hosts", "names no hosts"),
    "all paths": Fault(
        _set("allowed.paths", "/"), "paths-unbounded", "note", "worker file, allowed.paths", "allowed.paths=/",
    ),
    "worker's key": Fault(
        _set("ofset.flush.interval.ms", "1"),
        "key-without-effect", "warning", "worker file", "ofset.flush.interval.ms has no effect",
    ),
    "misspelt key": Fault(
        lambda s: s.sink("spelt", s.topic("spelt"), fiel="x"),
        "key-without-effect", "warning", "connector spelt", "fiel",
    ),
    "client's value": Fault(
        _set("producer.compression.type", "brotli"), "worker-file-broken", "error", "worker file", '"brotli"',
    ),
    "client's key": Fault(
        _set("consumer.auto.ofset.reset", "latest"),
        "key-without-effect", "warning", "worker file", "consumer.auto.ofset.reset has no effect",
    ),
    "missing key": Fault(
        _without("keyless", "connection.url"), "broken-key", "error", "connector keyless", "connection.url",
    ),
    "unknown database": Fault(
        lambda s: s.table("no-database", "postgresql", database="nowhere"),
        "broken-key", "error", "connector no-database", "nowhere",
    ),
    "wrong password": Fault(
        lambda s: s.table("no-login", "mariadb", password=SECRET),
        "broken-key", "error", "connector no-login", "denied",
    ),
    "dead database": Fault(
        lambda s: s.table("dead", "postgresql", port="1"),
        "broken-key", "error", "connector dead", "Connection refused",
    ),
    "unknown driver": Fault(
        _url("driver", "jdbc:nosuch://127.0.0.1/x"), "broken-key", "error", "connector driver", "Unknown JDBC URL",
    ),
    "no bucket": Fault(
        lambda s: s.objects("no-bucket", s.topic("objects"), bucket="no-such-bucket"),
        "broken-key", "error", "connector no-bucket",
        "no-such-bucket",
    ),
    "wrong key": Fault(
        lambda s: s.objects("no-key", s.topic("keyed"), key="AKIANOBODY"),
        "broken-key", "error", "connector no-key", "",
    ),
    "dead target": Fault(
        lambda s: s.calls("refused", s.topic("refused"), "http://127.0.0.1:9/x"),
        "target-unreachable", "warning", "connector refused",
        "Nobody answers at 127.0.0.1:9 (http.api.url): Connection refused.",
    ),
    "unknown target": Fault(
        lambda s: s.calls("unknown", s.topic("unknown"), "http://nobody.invalid/x"),
        "target-unreachable", "warning", "connector unknown", "Nobody answers at nobody.invalid:80",
    ),
}  # fmt: skip

GUARDED: Mapping[str, Fault] = {
    "another name": Fault(
        lambda s: s.https_listener("elsewhere.example"), "certificate-of-another-name", "warning",
        "listener https://127.0.0.1:0", "is for elsewhere.example, and it is reached as 127.0.0.1",
    ),
    "readable users": Fault(
        _users, "secret-file-readable", "warning", "worker file, rest.basic.auth.file", "has mode 644: everybody",
    ),
    "target's certificate": Fault(
        lambda s: s.calls("ends", s.topic(f"{s.prefix}ends"), f"https://{s.tls.address}/x"),
        "certificate-expiring", "warning", "connector ends", "(http.api.url) ends in 5 days",
    ),
    "registry's certificate": Fault(
        lambda s: s.avro(s.tls), "certificate-expiring", "warning",
        "worker file, value.converter.schema.registry.url", "The certificate of the registry at 127.0.0.1:",
    ),
}  # fmt: skip
"""These need a worker that asks its users to log in, which hides other faults."""


@pytest.fixture(scope="module")
def patient() -> Iterator[None]:
    """This machine may be busy: let what is asked take its time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(before_start, "TRY_S", 90.0)
        patch.setattr(gather, "GATHER_S", 60.0)
        yield


@pytest.fixture(scope="module")
def services(postgres: Any, mariadb: Any, s3: Any, s3_bucket: str) -> dict[str, Any]:
    return {"postgres": postgres, "mariadb": mariadb, "s3": s3, "s3_bucket": s3_bucket}


@pytest.fixture(scope="module")
def found(
    patient: None, services: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[list[dict[str, str]]]:
    """Returns the findings of a system that has all faults at once."""
    with KafkaService(properties=BADLY_SET) as kafka:
        system = System(tmp_path_factory.mktemp("faults"), kafka.endpoint.bootstrap_servers, **services)
        for fault in FAULTS.values():
            fault.seed(system)
        yield system.findings()


@pytest.fixture(scope="module")
def found_guarded(
    patient: None, kafka: Any, services: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[list[dict[str, str]]]:
    """Returns the findings of a guarded worker that has all faults of such a one."""
    folder, prefix = tmp_path_factory.mktemp("guarded"), f"{uuid.uuid4().hex[:8]}-"
    with tls_server(folder, days=6) as tls:
        system = System(folder, kafka.bootstrap_servers, **services, prefix=prefix, tls=tls)
        for fault in GUARDED.values():
            fault.seed(system)
        yield system.findings()


@pytest.mark.parametrize("name", GUARDED)
def test_a_seeded_fault_of_a_guarded_worker_is_found(found_guarded: list[dict[str, str]], name: str) -> None:
    assert GUARDED[name].is_in(found_guarded), found_guarded


@pytest.mark.parametrize("name", FAULTS)
def test_a_seeded_fault_is_found(found: list[dict[str, str]], name: str) -> None:
    fault = FAULTS[name]

    assert fault.is_in(found), [one for one in found if one["subject"] == fault.subject] or found


def test_a_sound_system_has_no_finding(
    patient: None, kafka: Any, services: dict[str, Any], tmp_path: Path, unique: str
) -> None:
    system = System(tmp_path, kafka.bootstrap_servers, **services)
    system.keys |= {key: f"{unique}-{value}" for key, value in system.keys.items() if value.startswith("d")}
    system.sink(f"{unique}-lines", system.topic(f"{unique}-spread", 2), tasks__max="2")
    for partition in (0, 1):
        system.fill(f"{unique}-spread", 800, partition=partition)
    system.read(f"{unique}-lines", f"{unique}-spread", 2)
    system.objects(f"{unique}-objects", system.topic(f"{unique}-objects"))
    system.table(f"{unique}-rows", "postgresql")
    system.table(f"{unique}-more", "mariadb")
    system.certificate("admin.ssl.truststore.location", 300)

    # What room this machine has is its own affair, and what a configuration reaches is told of a sound one, too.
    found = system.findings()
    reached = [one for one in found if one["name"].startswith("reaches-")]
    others = [one for one in found if one not in reached and one["subject"] not in {"machine", "folder /tmp"}]
    assert others == []
    assert {(one["severity"], one["fix"]) for one in reached} == {("note", "")}
    lines, rows, objects = (_reached(reached, f"{unique}-{name}") for name in ("lines", "rows", "objects"))
    assert f"file={tmp_path}/{unique}-lines.out" in lines["reaches-files"]
    assert f"connection.url={services['postgres'].host}" in rows["reaches-hosts"]
    assert "query=SELECT 1 AS one" in rows["reaches-sql"]
    assert "reaches-files" not in rows
    assert f"store.url={services['s3'].url}" in objects["reaches-hosts"]
    assert "connector.class=S3SinkConnector" in objects["reaches-classes"]


def _reached(findings: list[dict[str, str]], connector: str) -> dict[str, str]:
    return {one["name"]: one["evidence"] for one in findings if one["subject"] == f"connector {connector}"}
