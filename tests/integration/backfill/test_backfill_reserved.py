"""Checks that a backfill writes neither rows nor its state into the internal topics of a cluster of workers."""

from __future__ import annotations

from typing import Any

import pytest
from backfill_job import OneAfterTheOther, Table, messages

from connect.api.errors import ConfigError, ConnectError
from connect.backfill.job.chunk import Signal
from connect.backfill.job.job import JobSignal
from connect.backfill.job.job_store import JobStore, StateTopics
from connect.backfill.job.states import JobState
from connect.kafka.admin.topics import TopicAdmin
from connect.lib.deadline import Deadline

OWN = ("config.storage.topic", "offset.storage.topic", "status.storage.topic")


def made(table: Table, key: str) -> str:
    """One of the cluster's topics, as its workers make it."""
    name = table.worker_properties()[key]
    admin = TopicAdmin({"bootstrap.servers": table.kafka.bootstrap_servers})
    compacted = {"cleanup.policy": "compact"}
    admin.create(name, partitions=3, replication_factor=1, configs=compacted, deadline=Deadline.after(30))
    return name


@pytest.mark.parametrize("part", ["jobs_topic", "marker_topic"])
@pytest.mark.parametrize("key", OWN)
def test_its_state_is_refused_a_topic_of_the_cluster_before_anything_is_written(table: Table, key: str, part: str):
    table.fill(10)
    topic = made(table, key)
    state: dict[str, Any] = {"jobs_topic": f"{table.name}-jobs"} | {part: topic}
    for work in ("plan", "begin"):
        with (
            table.driver(state=state) as driver,
            pytest.raises(ConfigError, match=f"Topic {topic} holds this cluster's own state") as caught,
        ):
            driver.planner.plan() if work == "plan" else driver.begin()
        assert caught.value.key == f"state.{part}"
    assert messages(table.kafka, topic) == []


@pytest.mark.parametrize("key", OWN)
def test_no_wish_is_written_into_a_topic_of_the_cluster(table: Table, key: str):
    topic = made(table, key)
    store = JobStore(table.worker(), StateTopics(topic, "", 0))
    with pytest.raises(ConfigError, match=f"Topic {topic} holds"):
        store.say(JobSignal("orders", Signal.PAUSE), Deadline.after(30))
    assert messages(table.kafka, topic) == []


@pytest.mark.parametrize("to", ["config.storage.topic", "connect-backfill-jobs", "marker topic"])
def test_rows_that_a_transform_routes_there_fail_the_job_and_are_nowhere(table: Table, to: str):
    table.fill(10)
    topic = f"connect-backfill-{table.name}" if to == "marker topic" else table.worker_properties().get(to, to)
    routed = table.connector() | {
        "transforms": "route", "transforms.route.type": "org.apache.kafka.connect.transforms.RegexRouter",
        "transforms.route.regex": ".*", "transforms.route.replacement": topic,
    }  # fmt: skip
    with table.driver(routed) as driver, pytest.raises(ConnectError, match=f"Topic {topic} holds this cluster's own"):
        driver.run(OneAfterTheOther())
    assert table.driver().ownership.require_known().state is JobState.FAILED
    assert not any("naïve".encode() in (m.value() or b"") for m in messages(table.kafka, topic))
