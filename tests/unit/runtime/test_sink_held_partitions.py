"""A partition that the group gives a sink while it takes no rows is paused, too: so its lag is known."""

from __future__ import annotations

from connect.api.records import TopicPartition
from connect.runtime.sink.membership import SinkMembership
from connect.runtime.sink.partitions import SinkPartitions

OLD, NEW = TopicPartition("t", 0), TopicPartition("t", 1)


class Consumer:
    """Knows which partitions are paused, as it counts the lag of those alone that are read or paused."""

    def __init__(self):
        self.paused = set()

    def pause(self, partitions):
        self.paused |= set(partitions)

    def resume(self, partitions):
        self.paused -= set(partitions)


def test_a_partition_that_comes_while_the_sink_rests_is_paused_until_it_goes_on():
    consumer = Consumer()
    membership = SinkMembership(consumer, SinkPartitions())
    membership.assigned([OLD])
    assert consumer.paused == set()
    membership.hold()
    membership.assigned([NEW])
    assert consumer.paused == {OLD, NEW}
    membership.go_on()
    membership.assigned([NEW])
    assert consumer.paused == set()
