"""Tests the look for the slots topic: it is made anew with what it had, and the group hears of it."""

from __future__ import annotations

import threading

import pytest
from cluster_fakes import WORKER, eventually
from dealt_cluster import SLOTS, create, workers

from connect.api.errors import ConnectError, RetriableError
from connect.cluster.model.cluster_claim import ClusterClaim
from connect.cluster.store.lost_slots import LostSlots
from connect.runtime.settings.worker_config import WorkerConfig

CONFIG = WorkerConfig.parse({**WORKER, "slots": "4"})
TOPIC = "g-slots"


class Brokers:
    """Stands for the brokers, and for what writes claims."""

    def __init__(self):
        self.topics, self.claims, self.others_made_it = {TOPIC: 4}, [], False

    def partition_counts(self, names, deadline):
        return {name: self.topics[name] for name in names if name in self.topics}

    def ensure_internal(self, topics, deadline, *, make):
        (topic,) = topics
        if not make:
            raise ConnectError("It may not be made.")
        if self.others_made_it:
            return set()
        self.topics[topic.spec.name] = topic.spec.partitions
        return {topic.spec.name}

    def write(self, claim):
        self.claims.append(claim)


@pytest.fixture
def brokers():
    return Brokers()


@pytest.fixture
def joins():
    return []


@pytest.fixture
def lost(brokers, joins):
    return looking(brokers, joins, CONFIG)


def looking(brokers, joins, config):
    return LostSlots(
        config, lambda: brokers, lambda admin, deadline: brokers, lambda: joins.append(1), threading.Event()
    )


def test_a_topic_that_is_there_is_left_alone(brokers, joins, lost):
    lost.look(brokers)
    assert (brokers.topics, brokers.claims, joins) == ({TOPIC: 4}, [], [])


@pytest.mark.parametrize("raised_to", [4, 9])
def test_a_topic_that_is_gone_gets_the_slots_that_it_had_and_the_claim_of_the_cluster(brokers, joins, lost, raised_to):
    brokers.topics[TOPIC] = raised_to
    lost.look(brokers)
    brokers.topics.clear()
    lost.look(brokers)
    lost.look(brokers)
    assert (brokers.topics, brokers.claims, joins) == ({TOPIC: raised_to}, [ClusterClaim.of(CONFIG)], [1])


def test_a_topic_that_goes_before_the_first_look_is_made_as_a_start_makes_it(brokers, joins, lost):
    brokers.topics.clear()
    lost.look(brokers)
    assert brokers.topics == {TOPIC: 4}


def test_of_two_workers_one_makes_the_topic_and_joins_anew(brokers, joins, lost):
    brokers.topics.clear()
    brokers.others_made_it = True
    lost.look(brokers)
    assert (brokers.claims, joins) == ([], [])


def test_who_made_the_topic_joins_anew_though_the_claim_is_not_written(brokers, joins, lost, monkeypatch):
    def refuse(claim):
        raise RetriableError("Nobody answers.")

    monkeypatch.setattr(brokers, "write", refuse)
    brokers.topics.clear()
    with pytest.raises(RetriableError):
        lost.look(brokers)
    assert joins == [1]


def test_where_no_topic_may_be_made_that_is_said(brokers, joins):
    config = WorkerConfig.parse({**WORKER, "internal.topics.automatic.creation.enable": "false"})
    brokers.topics.clear()
    with pytest.raises(ConnectError, match="may not be made"):
        looking(brokers, joins, config).look(brokers)


def test_a_worker_that_joins_anew_leaves_and_gets_slots_again(cluster, pair):
    first, second = pair
    create(first)
    eventually(lambda: workers(second) == ["a:1", "a:1", "b:1", "b:1"])
    before = cluster.members["a"]
    cluster.memberships["a"].join_anew()
    eventually(lambda: before.left and cluster.members["a"] is not before)
    cluster.deal("a", "assigned", {0, 1, 2})
    eventually(lambda: len(second.worker.view.owners) == SLOTS)
    eventually(lambda: workers(second) == ["a:1", "a:1", "b:1", "b:1"])
