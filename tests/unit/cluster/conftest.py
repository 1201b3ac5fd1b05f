"""Provides a herder among fakes."""

import pytest
from cluster_fakes import World

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
