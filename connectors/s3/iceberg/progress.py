"""Holds a table's progress: up to which offsets it has the rows of topics, as a text that is committed with rows.

Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

import orjson

from connect.api.errors import ConnectError
from connect.api.records import TopicPartition
from connect.api.state import require_known

OFFSETS: Final = "kconnect-offsets"
"""A snapshot's summary, and the table's properties, have the progress under this key, as `{"orders": {"id": "Kafka's id
of the topic", "next": {"0": 1200, "1": 3400}}}`.
"""


@dataclass(frozen=True, slots=True)
class TopicProgress:
    """Tells up to which offsets a table has the rows of one topic.

    `id` is Kafka's id of the topic, or None if the brokers give none. `next_offsets` has for each partition the offset
    behind its last row.
    """

    id: str | None = None
    next_offsets: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TableProgress:
    """Tells up to which offsets a table has the rows of each topic."""

    topics: Mapping[str, TopicProgress] = field(default_factory=dict)

    @classmethod
    def parsed(cls, text: str) -> TableProgress:
        """Return the progress that a text tells. ConnectError: another program, or a newer version, wrote the text."""
        try:
            told = orjson.loads(text)
            require_known(told, f"Property {OFFSETS} of the table")
            return cls({
                topic: TopicProgress(one["id"], {int(number): int(end) for number, end in one["next"].items()})
                for topic, one in told.items()
            })  # fmt: skip
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ConnectError(
                f"The table's newest snapshot, or the table, has a property {OFFSETS} that is none of this sink's."
            ) from error

    @property
    def text(self) -> str:
        """Return the text for the summary and for the property."""
        topics = {
            topic: {"id": one.id, "next": {str(number): end for number, end in sorted(one.next_offsets.items())}}
            for topic, one in sorted(self.topics.items())
        }
        return orjson.dumps(topics).decode()

    def next_offset(self, partition: TopicPartition) -> int:
        """Return the offset before which the table has all rows of the partition."""
        one = self.topics.get(partition.topic)
        return 0 if one is None else one.next_offsets.get(partition.partition, 0)

    def advanced(self, partition: TopicPartition, topic_id: str | None, end: int) -> TableProgress:
        """Return the progress after the rows of a partition before the offset `end` were added."""
        one = self.topics.get(partition.topic, TopicProgress())
        ends = {**one.next_offsets, partition.partition: end}
        return replace(self, topics={**self.topics, partition.topic: TopicProgress(topic_id or one.id, ends)})

    def require_same_log(self, table: str, topic: str, topic_id: str | None) -> None:
        """Raise ConnectError if the table holds rows of another topic of this name."""
        one = self.topics.get(topic)
        if one is None or None in {one.id, topic_id} or one.id == topic_id:
            return
        raise ConnectError(
            f"Table {table} holds rows of a topic {topic} with the id {one.id}, and its id is {topic_id} now: it was "
            "made anew, or is of another Kafka cluster.",
            key="iceberg.table",
            fix="Give this connector a table of its own, or drop the table.",
        )
