"""Holds a table's progress: which offsets of topics it has the rows of, as a text that is committed with rows.

Each connector that writes to the table has a progress of its own, as its rows may be others of the same topic. A
connector that has none yet goes on from the rows that are there: it may be one that was renamed. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import orjson

from connect.api.errors import ConnectError
from connect.api.records import TopicPartition
from connect.api.state import require_known
from connectors.s3.iceberg.offset_runs import UNKNOWN, Runs, end_of, joined

OFFSETS: Final = "kconnect-offsets"
"""A snapshot's summary, and the table's properties, have the progress under this key, as `{"orders": {"id": "Kafka's id
of the topic", "next": {"0": 1200, "1": 34}, "runs": {"orders-lake": {"0": [[0, 500], [900, 1200]], "1": [[0, 34]]}}}}`.
Earlier versions wrote and read `next` alone: the offset behind the last row.
"""


@dataclass(frozen=True, slots=True)
class TopicProgress:
    """Tells which rows of one topic a table has.

    `id` is Kafka's id of the topic, or None if the brokers give none. `next_offsets` has for each partition the offset
    behind the last row that was committed. `runs` has for each connector and partition the offsets of its rows.
    """

    id: str | None = None
    next_offsets: Mapping[int, int] = field(default_factory=dict)
    runs: Mapping[str, Mapping[int, Runs]] = field(default_factory=dict)

    @classmethod
    def parsed(cls, told: Mapping[str, Any]) -> TopicProgress:
        """Return the progress of a topic's member in the text. ValueError, KeyError, TypeError, AttributeError: it is
        none.
        """
        ends = {int(number): int(end) for number, end in told["next"].items()}
        runs = {
            connector: {int(number): tuple((int(begin), int(end)) for begin, end in own) for number, own in of.items()}
            for connector, of in told.get("runs", {}).items()
        }
        if any(joined(own) != own for of in runs.values() for own in of.values()):
            raise ValueError("runs of offsets are out of order")
        return cls(told["id"], ends, runs)

    @property
    def told(self) -> dict[str, object]:
        """Return the topic's member in the text."""
        runs = {
            connector: {str(number): own for number, own in sorted(of.items())}
            for connector, of in sorted(self.runs.items())
        }
        ends = {str(number): end for number, end in sorted(self.next_offsets.items())}
        return {"id": self.id, "next": ends, **({"runs": runs} if runs else {})}


@dataclass(frozen=True, slots=True)
class TableProgress:
    """Tells which rows of each topic a table has."""

    topics: Mapping[str, TopicProgress] = field(default_factory=dict)

    @classmethod
    def parsed(cls, text: str) -> TableProgress:
        """Return the progress that a text tells. ConnectError: another program, or a newer version, wrote the text."""
        try:
            told = orjson.loads(text)
            require_known(told, f"Property {OFFSETS} of the table")
            return cls({topic: TopicProgress.parsed(one) for topic, one in told.items()})
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ConnectError(
                f"The table's newest snapshot, or the table, has a property {OFFSETS} that is none of this sink's."
            ) from error

    @property
    def text(self) -> str:
        """Return the text for the summary and for the property."""
        return orjson.dumps({topic: one.told for topic, one in sorted(self.topics.items())}).decode()

    def own(self, connector: str, partition: TopicPartition) -> Runs | None:
        """Return the offsets of the rows that a connector has added, or None if it has added none of the partition."""
        one = self.topics.get(partition.topic, TopicProgress())
        return one.runs.get(connector, {}).get(partition.partition)

    def others(self, connector: str, partition: TopicPartition) -> Mapping[str, Runs]:
        """Return the offsets of the rows that each other connector has added.

        The name is empty for rows that an earlier version added, which told neither who nor from where on.
        """
        one, number = self.topics.get(partition.topic, TopicProgress()), partition.partition
        found = {name: of[number] for name, of in one.runs.items() if name != connector and number in of}
        is_told = found or self.own(connector, partition) is not None
        end = one.next_offsets.get(number, 0)
        return found if is_told or not end else {"": ((UNKNOWN, end),)}

    def advanced(self, connector: str, partition: TopicPartition, topic_id: str | None, runs: Runs) -> TableProgress:
        """Return the progress with these as the offsets of the rows that a connector has added of a partition."""
        one, number = self.topics.get(partition.topic, TopicProgress()), partition.partition
        of = {**one.runs.get(connector, {}), number: runs}
        ends = {**one.next_offsets, number: end_of(runs)}
        new = TopicProgress(topic_id or one.id, ends, {**one.runs, connector: of})
        return replace(self, topics={**self.topics, partition.topic: new})

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
