"""Topics of source connectors are made as `topic.creation.*` says, by real workers on real Kafka."""

import pytest
from cluster_worker import eventually

from connect.kafka.admin.topics import TopicAdmin
from connect.kafka.client.settings import admin_settings
from connect.lib.deadline import Deadline

CREATION = {"topic.creation.default.partitions": "3", "topic.creation.default.replication.factor": "1"}
COMPACTED = {
    "topic.creation.groups": "compacted",
    "topic.creation.compacted.include": ".*-state, none",
    "topic.creation.compacted.partitions": "2",
    "topic.creation.compacted.cleanup.policy": "compact",
}


@pytest.fixture
def admin(kafka):
    return TopicAdmin(admin_settings({"bootstrap.servers": kafka.bootstrap_servers}, {}, "test").properties)


def partitions(admin, topic):
    return admin.partition_counts([topic], Deadline.after(60)).get(topic)


def policy(admin, topic):
    return admin.configs(topic, Deadline.after(60))["cleanup.policy"]


def test_topics_get_the_settings_of_their_group_and_those_that_are_there_keep_theirs(worker, admin, unique):
    plain, state, old = f"{unique}-plain", f"{unique}-state", f"{unique}-old"
    admin.create(old, partitions=4, deadline=Deadline.after(60))
    for name, topic in (("plain", plain), ("state", state), ("old", old)):
        # A record without a key is refused by a compacted topic, so that one is only made.
        worker.create(name, topic=topic, **{"tasks.max": "1", **CREATION, **COMPACTED})
    eventually(lambda: (partitions(admin, plain), partitions(admin, state)) == (3, 2))
    assert (policy(admin, plain), policy(admin, state)) == ("delete", "compact")
    eventually(lambda: worker.get("/connectors/old/topics")["old"]["topics"] == [old])
    assert partitions(admin, old) == 4


def test_a_topic_that_cannot_be_made_fails_the_task_with_the_settings_to_mend(worker, admin, unique):
    topic = f"{unique}-many"
    worker.create("c", topic=topic, **{"tasks.max": "1", **CREATION, "topic.creation.default.replication.factor": "3"})
    eventually(lambda: worker.states("c") == ("RUNNING", ["FAILED"]))
    trace = worker.get("/connectors/c/status")["tasks"][0]["trace"]
    assert f"new topic {topic} " in trace
    assert "replication.factor=3" in trace
    assert "topic.creation.default.*" in trace
    assert partitions(admin, topic) is None


def test_with_topic_creation_switched_off_the_brokers_make_topics(start_worker, admin, unique):
    worker = start_worker(**{"topic.creation.enable": "false"}).ready()
    worker.create("c", topic=f"{unique}-auto", **{"tasks.max": "1", **CREATION})
    eventually(lambda: partitions(admin, f"{unique}-auto"))
    assert partitions(admin, f"{unique}-auto") != 3
