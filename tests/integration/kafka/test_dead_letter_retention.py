"""The dead-letter topic that a task makes keeps letters of records that are older than the brokers' retention."""

from kafka_drive import in_s

from connect.runtime.settings.connector_config import SinkConnectorConfig
from connect.runtime.settings.worker_config import WorkerConfig
from connect.runtime.task.task_id import TaskId
from connect.runtime.topics.dead_letter_topic import make_dead_letter_topic

JSON = "org.apache.kafka.connect.json.JsonConverter"


def test_kafka_deletes_no_letter_by_its_records_age(clients, topic_name):
    worker = WorkerConfig.parse({
        **clients.worker, "group.id": "g", "config.storage.topic": "c", "offset.storage.topic": "o",
        "status.storage.topic": "s", "key.converter": JSON, "value.converter": JSON,
    })  # fmt: skip
    raw = {
        "name": "n", "connector.class": "x", "topics": "t", "errors.deadletterqueue.topic.name": topic_name,
        "errors.deadletterqueue.topic.replication.factor": "1",
    }  # fmt: skip
    for _ in range(2):  # the second time it is there
        make_dead_letter_topic(worker, TaskId("n", 0), SinkConnectorConfig.parse(raw), raw)
        assert clients.admin().configs(topic_name, in_s(60))["retention.ms"] == "-1"
