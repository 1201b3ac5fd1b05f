"""Checks what the config store writes at once, and what one after the other."""

from __future__ import annotations

import pytest
from cluster_fakes import MemoryTopic

from connect.cluster.store.config_store import ConfigStore
from connect.lib.deadline import Deadline


class Deaf:
    def config_changed(self):
        pass


@pytest.fixture
def topic():
    return MemoryTopic()


def store(topic, **keys):
    writes = []

    def make(on_record):
        log = topic.log(on_record)
        put_all = log.put_all

        def counted(records, transactional=False):
            writes.append([record.key.decode() for record in records])
            return put_all(records, transactional)

        log.put_all = counted
        return log

    made = ConfigStore(make, Deaf(), **keys)
    made.start(Deadline.after(1))
    made.put_connector("c", {"name": "c"})
    writes.clear()
    return made, writes


def test_the_first_tasks_of_a_connector_take_one_write(topic):
    configs, writes = store(topic)
    configs.put_tasks("c", [{"a": "1"}, {"a": "2"}])
    assert writes == [["task-c-0", "task-c-1", "commit-c"]]
    assert configs.snapshot.tasks["c"] == {0: {"a": "1"}, 1: {"a": "2"}}


def test_tasks_that_take_the_place_of_others_are_committed_once_all_of_them_are_written(topic):
    configs, writes = store(topic)
    configs.put_tasks("c", [{"a": "1"}])
    writes.clear()
    configs.put_tasks("c", [{"a": "3"}])
    assert writes == [["task-c-0"], ["commit-c"]]
    assert configs.snapshot.tasks["c"] == {0: {"a": "3"}}


def test_a_leader_that_writes_in_transactions_has_all_of_it_in_one(topic):
    configs, writes = store(topic, fenced=True)
    configs.claim()
    configs.put_tasks("c", [{"a": "1"}])
    configs.put_tasks("c", [{"a": "3"}])
    assert writes == [["task-c-0", "commit-c"]] * 2
