"""The slots topic may have more partitions than a worker's file asks for, and not fewer."""

import pytest

from connect.api.errors import ConfigError
from connect.kafka.admin.internal_topics import check_size
from connect.kafka.admin.topic_descriptions import TopicDescription
from connect.kafka.admin.topic_specs import InternalTopic, TopicSpec

SLOTS = InternalTopic(TopicSpec("g-slots", 6), "group.id", "slots", explicit=frozenset({"partitions"}))


@pytest.mark.quick
def test_a_worker_starts_where_slots_were_added_and_says_what_to_do_where_they_are_too_few():
    check_size(SLOTS, TopicDescription("g-slots", partitions=9, replication_factor=1))
    with pytest.raises(
        ConfigError, match=r"'g-slots' has 5 partitions, but slots=6 is asked for.*Set slots=5, or give"
    ):
        check_size(SLOTS, TopicDescription("g-slots", partitions=5, replication_factor=1))
