from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connect.cluster.model.placement import moves, place
from connect.runtime.task.task_id import TaskId

tasks = st.sets(st.builds(TaskId, st.sampled_from("abc"), st.integers(0, 9)), max_size=20)
owners = st.dictionaries(st.integers(0, 11), st.sampled_from(["w1", "w2", "w3"]), min_size=1)


def loads(placed, owners):
    counts = Counter(dict.fromkeys(owners.values(), 0))
    counts.update(owners[slot] for slot in placed.values())
    return counts.values()


@pytest.mark.thorough
@given(tasks, owners)
def test_new_tasks_are_spread_evenly_over_workers(tasks, owners):
    placed = place(tasks, {}, owners)
    assert placed.keys() == tasks
    assert max(loads(placed, owners)) - min(loads(placed, owners)) <= 1


@pytest.mark.thorough
@given(tasks, owners, st.data())
def test_moves_are_few_and_end_in_balance(tasks, owners, data):
    placed = {task: data.draw(st.sampled_from(sorted(owners))) for task in sorted(tasks)}
    leaving = moves(placed, owners, lambda task: True)

    kept = {task: slot for task, slot in placed.items() if task not in leaving}
    settled = place(tasks, kept, owners)

    assert max(loads(settled, owners)) - min(loads(settled, owners)) <= 1
    assert moves(settled, owners, lambda task: True) == frozenset()
    assert all(settled[task] == placed[task] for task in kept)
    share = len(tasks) / len(set(owners.values()))
    assert len(leaving) <= sum(max(0, load - int(share)) for load in loads(placed, owners))


def test_the_tasks_of_one_connector_are_kept_apart():
    placed = place({TaskId("a", 0), TaskId("b", 0)}, {}, {0: "w1", 1: "w2"})
    more = place({TaskId("a", 0), TaskId("b", 0), TaskId("a", 1), TaskId("b", 1)}, placed, {0: "w1", 1: "w2"})
    assert more[TaskId("a", 0)] != more[TaskId("a", 1)]


def test_without_owners_nothing_is_placed():
    assert place({TaskId("a", 0)}, {}, {}) == {}


def test_slots_of_one_worker_fill_evenly():
    placed = place({TaskId("a", i) for i in range(4)}, {}, {0: "w", 1: "w"})
    assert Counter(placed.values()) == {0: 2, 1: 2}
