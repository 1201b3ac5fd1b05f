"""Checks the offsets of a sink on a real consumer group: shown, set, forgotten one by one and all at once, and
refused.
"""

import json
from contextlib import contextmanager

import pytest
from cluster_worker import eventually
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient
from ui_reader import Reader

from connect.kafka.admin.topics import TopicAdmin
from connect.lib.deadline import Deadline

ALTERED = "The offsets for this connector have been altered successfully"
RESET = "The offsets for this connector have been reset successfully"


@pytest.fixture
def topic(kafka, unique):
    name = f"{unique}-lines"
    settings = {"bootstrap.servers": kafka.bootstrap_servers}
    TopicAdmin(settings).create(name, partitions=2, deadline=Deadline.after(60))
    producer = Producer(settings)
    for partition in (0, 1):
        for number in range(3):
            producer.produce(name, f'"{partition}-{number}"', partition=partition)
    assert producer.flush(30) == 0
    return name


def at(topic, offsets):
    """As REST shows and takes them, by partition."""
    return {
        "offsets": [
            {
                "partition": {"kafka_topic": topic, "kafka_partition": partition},
                "offset": None if offset is None else {"kafka_offset": offset},
            }
            for partition, offset in sorted(offsets.items())
        ]
    }


def said(answer):
    return answer.status_code, answer.json()["message"]


class Sink:
    """A sink of the topic's two partitions, each with three lines."""

    def __init__(self, worker, name, topic, file):
        self._worker, self._name, self._topic, self._file = worker, name, topic, file
        config = {"connector.class": "FileStreamSink", "tasks.max": "1", "topics": topic, "file": str(file)}
        worker.create(name, **config)

    def offsets(self):
        return self._worker.get(f"/connectors/{self._name}/offsets")

    def patch(self, offsets):
        return said(self._worker.call("PATCH", f"/connectors/{self._name}/offsets", at(self._topic, offsets)))

    def preview(self, offsets):
        reader = Reader(self._worker.url)
        page = reader.open(f"/ui/offsets?name={self._name}")
        return reader.press(page, "preview", "set-offsets", offsets=json.dumps(at(self._topic, offsets)))

    def delete(self):
        return said(self._worker.call("DELETE", f"/connectors/{self._name}/offsets"))

    def has_read_all(self):
        return self.offsets() == at(self._topic, {0: 3, 1: 3})

    def stop(self):
        assert self._worker.call("PUT", f"/connectors/{self._name}/stop").status_code == 204
        eventually(lambda: self._worker.states(self._name) == ("STOPPED", []))

    def lines_after_resuming(self):
        """What it writes until it has come to the topic's end again; it is stopped then."""
        before = len(self._file.read_text().splitlines())
        assert self._worker.call("PUT", f"/connectors/{self._name}/resume").status_code == 202
        eventually(self._worker.runs(self._name, 1))
        eventually(self.has_read_all)
        self.stop()
        return sorted(self._file.read_text().splitlines()[before:])


def test_a_sinks_offsets_are_shown_set_forgotten_and_guarded(worker, kafka, topic, unique, tmp_path):
    sink = Sink(worker, unique, topic, tmp_path / "lines.txt")
    eventually(sink.has_read_all)
    for code, text in (sink.patch({0: 1}), sink.delete()):
        assert code == 400
        assert text.startswith("Connectors must be in the STOPPED state before their offsets can be modified.")
        assert text.endswith(f"issuing a 'PUT' request to the '/connectors/{unique}/stop' endpoint")

    sink.stop()
    refused = f"No offset was changed, as these partitions do not exist: {topic}-9"
    assert sink.patch({0: 2, 9: 2}) == (400, refused)
    preview = sink.preview({0: 2, 9: 2})
    assert "does not exist" in preview.text
    assert "nothing stored" not in preview.text
    assert "apply" not in preview.fields
    assert "apply" in sink.preview({0: 2}).fields
    assert sink.has_read_all(), "nothing was written"
    assert sink.patch({0: "1"}) == (200, ALTERED)
    assert sink.offsets() == at(topic, {0: 1, 1: 3})
    assert sink.lines_after_resuming() == ["0-1", "0-2"]

    assert sink.patch({0: 2, 1: None}) == (200, ALTERED)
    assert sink.offsets() == at(topic, {0: 2})
    assert sink.lines_after_resuming() == ["0-2", "1-0", "1-1", "1-2"]

    with zombie(kafka, topic, f"connect-{unique}"):
        for code, text in (sink.patch({0: 1}), sink.delete()):
            assert code == 500
            assert "either because its tasks haven't stopped completely yet" in text
    assert sink.has_read_all()

    for _ in range(2):
        eventually(lambda: sink.delete() == (200, RESET))
        assert sink.offsets() == {"offsets": []}
    groups = AdminClient({"bootstrap.servers": kafka.bootstrap_servers}).list_consumer_groups().result(30).valid
    assert f"connect-{unique}" not in {group.group_id for group in groups}
    assert len(sink.lines_after_resuming()) == 6


@contextmanager
def zombie(kafka, topic, group):
    """A task of the sink that somebody forgot: a member of its group."""
    consumer = Consumer({"bootstrap.servers": kafka.bootstrap_servers, "group.id": group, "enable.auto.commit": False})
    try:
        consumer.subscribe([topic])
        eventually(lambda: (consumer.poll(0.1), consumer.assignment())[1])
        yield
    finally:
        consumer.close()
