"""Checks that the audit log's topic is made again where it was deleted, and that no line is lost by that."""

from __future__ import annotations

from pathlib import Path

from confluent_kafka.admin import AdminClient
from test_rest_audit_topic import values

from connect.cluster.worker_file import worker_config
from connect.plugins.catalog import Catalog
from connect.rest.access.audit_topic import AuditTopic
from connect.tools.services import KafkaService

JSON = "org.apache.kafka.connect.json.JsonConverter"


def test_lines_of_a_topic_that_was_deleted_come_into_a_new_one(tmp_path: Path) -> None:
    with KafkaService(data_folder=tmp_path / "kafka", properties={"auto.create.topics.enable": "false"}) as kafka:
        given = {
            "bootstrap.servers": kafka.endpoint.bootstrap_servers, "group.id": "g", "key.converter": JSON,
            "config.storage.topic": "c", "offset.storage.topic": "o", "status.storage.topic": "s",
            "config.storage.replication.factor": "1", "value.converter": JSON,
            "producer.topic.metadata.propagation.max.ms": "1000", "producer.topic.metadata.refresh.interval.ms": "1000",
        }  # fmt: skip
        audit = AuditTopic(worker_config(given, Catalog.installed()), "audit")
        audit.put(b"before", ["a"]).result(60)
        admin = AdminClient({"bootstrap.servers": kafka.endpoint.bootstrap_servers})
        admin.delete_topics(["audit"])["audit"].result(30)
        sent = [audit.put(line, ["a"]) for line in (b"one", b"two")]
        for one in sent:
            one.result(120)
        audit.put(b"three", ["a"]).result(60)
        audit.close()
        assert (audit.lost, values(kafka.endpoint, "audit")) == (0, [b"one", b"two", b"three"])
