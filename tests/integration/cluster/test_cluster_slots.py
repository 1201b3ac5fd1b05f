"""Takes slots from a cluster: with fewer of them, and after somebody has deleted their topic, each task still runs."""

from __future__ import annotations

from cluster_worker import eventually


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
