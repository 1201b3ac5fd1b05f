"""Takes slots from a cluster: with fewer of them, and after somebody has deleted their topic, each task still runs."""

from __future__ import annotations

import pytest
from cluster_worker import eventually
from confluent_kafka.admin import AdminClient


@pytest.fixture
def admin(kafka):
    return AdminClient({"bootstrap.servers": kafka.bootstrap_servers})


def test_a_cluster_that_goes_on_under_another_group_with_fewer_slots_runs_each_task(start_worker, unique):
    """Tasks and workers have places in the config topic that the new group does not have."""
    first = [start_worker(slots=12).ready() for _ in range(2)]
    first[0].create("c", **{"tasks.max": "8"})
    eventually(first[0].runs("c", 8))
    for worker in first:
        worker.process.kill()
    second = start_worker(slots=2, **{"group.id": f"{unique}-other"}).ready()
    eventually(lambda: {worker for worker, _ in second.task_workers("c")} == {second.url.removeprefix("http://")})
    eventually(second.runs("c", 8))
    second.create("new", **{"tasks.max": "4"})
    eventually(second.runs("new", 4))
    assert "slots_missing" in second.log.read_text()


def test_a_slots_topic_that_was_deleted_is_made_again_and_lost_workers_are_replaced(
    start_worker, worker_keys, admin, unique
):
    """Members keep their slots without the topic, but nobody got those of a worker that was lost, and all was green."""
    first, second = start_worker().ready(), start_worker().ready()
    first.create("c", **{"tasks.max": "4", "topic": unique})
    eventually(first.runs("c", 4))
    eventually(lambda: len({worker for worker, _ in first.task_workers("c")}) == 2)
    slots = f"{worker_keys['group.id']}-slots"
    admin.delete_topics([slots])[slots].result(30)
    second.process.kill()
    eventually(lambda: "internal_topic_made_again" in first.log.read_text())
    own = first.url.removeprefix("http://")
    eventually(lambda: {worker for worker, _ in first.task_workers("c")} == {own})
    eventually(first.runs("c", 4))
    assert len(admin.list_topics(slots, timeout=20).topics[slots].partitions) == int(worker_keys["slots"])
