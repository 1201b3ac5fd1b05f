"""Checks placements of a former leader that come late: its client may send them when another one leads."""

import pytest
from stepped_pair import Pair

from connect.cluster.model.config_records import PlacementRecord, encode
from connect.runtime.task.task_id import TaskId

TASKS = [TaskId("c", number) for number in range(4)]


def slots_of(worker):
    placements = worker.reconciler.parts.configs.snapshot.placements
    return [placements.get(task) for task in TASKS]


@pytest.mark.parametrize("first", ["leader", "follower"])
@pytest.mark.parametrize(
    "late",
    [lambda slots: [1 - slot for slot in slots], lambda slots: [0] * 4, lambda slots: [1 - slots[0]]],
    ids=["all elsewhere", "all in one slot", "fewer tasks"],
)
def test_a_late_placement_starts_no_task_beside_its_run(first, late):
    """The hosts of the stepped cluster refuse a start of a task that runs elsewhere."""
    pair = Pair()
    pair.cluster.configs.append(*encode(PlacementRecord("c", late(slots_of(pair.leader)))))
    pair.settle(getattr(pair, first))
    for _ in range(3):
        pair.settle()
    assert sorted(slots_of(pair.leader)) == [0, 0, 1, 1]
    assert slots_of(pair.follower) == slots_of(pair.leader)
    assert [len(pair.cluster.places(task)) for task in TASKS] == [1] * 4
    written = len(pair.cluster.configs.records)
    pair.settle()
    assert len(pair.cluster.configs.records) == written


def test_a_late_placement_that_agrees_moves_nothing():
    pair = Pair()
    before = pair.runs()
    pair.cluster.configs.append(*encode(PlacementRecord("c", slots_of(pair.leader))))
    pair.settle()
    assert pair.runs() == before
