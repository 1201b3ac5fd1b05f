"""Provides a herder among fakes."""

import pytest
from cluster_fakes import World, eventually
from dealt_cluster import SLOTS, Cluster

from connect.lib.deadline import Deadline


@pytest.fixture
def world():
    return World()


@pytest.fixture
def start(world):
    herders = []

    def build(**keys):
        herders.append(world.herder(**keys))
        return herders[-1]

    yield build
    world.let_stop()
    for herder in herders:
        herder.stop(Deadline.after(60))


@pytest.fixture
def herder(start):
    return start()


@pytest.fixture
def cluster():
    built = Cluster()
    yield built
    built.world.let_stop()
    for herder in built.herders.values():
        herder.stop(Deadline.after(60))


@pytest.fixture
def pair(cluster):
    first, second = cluster.start("a"), cluster.start("b")
    cluster.deal("a", "assigned", {0, 1, 2})
    cluster.deal("b", "assigned", {3, 4, 5})
    eventually(lambda: len(first.worker.view.owners) == len(second.worker.view.owners) == SLOTS)
    return first, second
