"""Tells how long rows wait for a partition of which the asked broker has not heard."""

import pytest

from connect.kafka.produce.added_partitions import HEARD_OF_S, AddedPartitions


class Clock:
    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def added(clock: Clock) -> AddedPartitions:
    return AddedPartitions(clock, lambda pause_s: setattr(clock, "now_s", clock.now_s + pause_s))


def _tries(added: AddedPartitions, clock: Clock) -> float:
    """Return for how many seconds rows are tried again."""
    began_s = clock.now_s
    while added.may_come("t", 1, may_be_there=False):
        pass
    return clock.now_s - began_s


def test_rows_wait_until_every_broker_has_heard_of_the_partition(added, clock):
    assert HEARD_OF_S <= _tries(added, clock) < HEARD_OF_S + 1


def test_rows_of_a_later_batch_wait_anew(added, clock):
    _tries(added, clock)
    assert _tries(added, clock) >= HEARD_OF_S


def test_a_partition_that_a_broker_tells_of_is_tried_at_once(added, clock):
    added.may_come("t", 1, may_be_there=False)
    now_s = clock.now_s
    assert added.may_come("t", 1, may_be_there=True)
    assert clock.now_s == now_s
    clock.now_s += HEARD_OF_S - 1
    assert _tries(added, clock) >= HEARD_OF_S


def test_a_wait_that_ended_without_a_word_does_not_count(added, clock):
    """Rows may have got in because the client heard of the partition in another way."""
    added.may_come("t", 1, may_be_there=False)
    clock.now_s += HEARD_OF_S + 1
    assert _tries(added, clock) >= HEARD_OF_S
