"""Brokers hide a topic from a login without rights to it: nobody takes it for one that is not there."""

from __future__ import annotations

import pytest

from connect.backfill.job.job_store import JobStore, StateTopics
from connect.kafka.client.errors import DeniedError, MissingTopicError
from connect.lib.deadline import Deadline
from connect.runtime.settings.worker_config import WorkerConfig

JSON = "org.apache.kafka.connect.json.JsonConverter"
WORKER = WorkerConfig.parse(
    {
        "bootstrap.servers": "127.0.0.1:1", "group.id": "g", "config.storage.topic": "c", "offset.storage.topic": "o",
        "status.storage.topic": "s", "key.converter": JSON, "value.converter": JSON,
    }
)  # fmt: skip
READS = {
    "markers": lambda store: store.all_markers(Deadline.after(5)),
    "a lane's markers": lambda store: store.lane_markers(0, Deadline.after(5)),
    "jobs": lambda store: store.jobs(Deadline.after(5)).jobs,
    "counts": lambda store: store.partition_counts({"orders"}, Deadline.after(5)),
}


class Brokers:
    """Brokers that show no topic, as it is not there or as the login may not know of it."""

    def __init__(self, told):
        self._told = told

    def partition_counts(self, _topics, _deadline):
        return {}

    def topic_id(self, topic, _deadline, operation):
        raise self._told(f"{operation} {topic}")


def store_at(told):
    store = JobStore(WORKER, StateTopics("jobs", "markers", 2))
    store._admin = Brokers(told)
    return store


@pytest.mark.parametrize("what", READS)
def test_a_topic_that_is_hidden_is_denied(what):
    with pytest.raises(DeniedError, match=r"Write orders|Read (jobs|markers)"):
        READS[what](store_at(DeniedError))


@pytest.mark.parametrize("what", READS)
def test_a_topic_that_is_not_there_holds_nothing(what):
    assert not READS[what](store_at(MissingTopicError))
