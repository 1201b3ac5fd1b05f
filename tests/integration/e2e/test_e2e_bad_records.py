"""Checks that a malformed record in a sink fails the task at its offset, or becomes a dead letter. Nothing is lost."""

from __future__ import annotations

from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from e2e_s3 import rows_of, sink_config
from e2e_worker import wait_for

PLAIN_JSON = {
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "false",
}


def produce(kafka, topic: str, values: list[bytes]) -> None:
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
    for i, value in enumerate(values):
        producer.produce(
            topic, value, key=b'{"schema":null,"payload":%d}' % i, headers=[("trace", b"t%d" % i)], partition=0
        )
    assert producer.flush(30) == 0


def committed(kafka, connector: str, topic: str) -> int:
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    group = f"connect-{connector}"
    request = ConsumerGroupTopicPartitions(group, [TopicPartition(topic, 0)])
    found = admin.list_consumer_group_offsets([request])[group].result(30)
    return found.topic_partitions[0].offset


def read_all(kafka, topic: str, count: int) -> list:
    consumer = Consumer(
        {"bootstrap.servers": kafka.bootstrap_servers, "group.id": f"read-{topic}", "auto.offset.reset": "earliest"}
    )
    consumer.subscribe([topic])
    found: list = []
    try:
        wait_for(
            lambda: found.extend(consumer.consume(100, 0.2)) or len(found) >= count, 30, f"{count} records in {topic}"
        )
    finally:
        consumer.close()
    return found


def test_without_tolerance_the_task_fails_at_the_bad_record_and_commits_nothing_behind_it(
    worker, kafka, s3, s3_bucket, unique
):
    topic, name = f"{unique}-in", f"{unique}-none"
    produce(kafka, topic, [b'{"n":0}', b'{"n":1}', b'{"n":', b'{"n":3}'])
    assert worker.create(name, sink_config(s3, s3_bucket, unique, topic, **PLAIN_JSON)).status_code == 201
    status = worker.wait_for_tasks(name, "FAILED")
    trace = status["tasks"][0]["trace"]
    assert f"{topic}-0@2" in trace
    assert "errors.tolerance" in trace
    assert s3.secret_access_key not in trace
    assert committed(kafka, name, topic) <= 2
    assert all(row["n"] < 2 for row in rows_of(s3, s3_bucket, f"{unique}/{topic}"))
    worker.call("DELETE", name)


def test_with_tolerance_a_bad_record_becomes_a_dead_letter_with_context_headers(worker, kafka, s3, s3_bucket, unique):
    topic, name, letters = f"{unique}-in", f"{unique}-all", f"{unique}-dlq"
    produce(kafka, topic, [b'{"n":0}', b'{"n":', b'{"n":2}', b"\xff\xfe", b'{"n":4}'])
    dead_letters = {
        "errors.tolerance": "all", "errors.deadletterqueue.topic.name": letters,
        "errors.deadletterqueue.topic.replication.factor": "1", "errors.deadletterqueue.context.headers.enable": "true",
    }  # fmt: skip
    config = sink_config(s3, s3_bucket, unique, topic, **PLAIN_JSON, **dead_letters)
    assert worker.create(name, config).status_code == 201
    wait_for(lambda: committed(kafka, name, topic) == 5, 60, "the offset behind the last record")
    assert sorted(row["n"] for row in rows_of(s3, s3_bucket, f"{unique}/{topic}")) == [0, 2, 4]
    found = read_all(kafka, letters, 2)
    assert [m.value() for m in found] == [b'{"n":', b"\xff\xfe"]
    assert [m.key() for m in found] == [b'{"schema":null,"payload":1}', b'{"schema":null,"payload":3}']
    for message, offset in zip(found, (1, 3), strict=True):
        headers = dict(message.headers())
        prefix = "__connect.errors."
        assert headers["trace"] == b"t%d" % offset
        assert headers[prefix + "topic"] == topic.encode()
        assert headers[prefix + "partition"] == b"0"
        assert headers[prefix + "offset"] == str(offset).encode()
        assert headers[prefix + "connector.name"] == name.encode()
        assert headers[prefix + "task.id"] == b"0"
        assert headers[prefix + "stage"] == b"VALUE_CONVERTER"
        assert headers[prefix + "class.name"] == b"org.apache.kafka.connect.json.JsonConverter"
        assert headers[prefix + "exception.class.name"]
        assert headers[prefix + "exception.message"]
        assert b"Error" in headers[prefix + "exception.stacktrace"]
    worker.call("DELETE", name)
