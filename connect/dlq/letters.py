"""Reads a dead-letter topic and the marks of replayed letters, and deletes letters."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from connect.api.errors import ConfigError
from connect.api.records import TopicPartition
from connect.dlq.letter import Identity, Letter, Place, letters_in
from connect.dlq.selection import Selection
from connect.kafka.admin.topics import TopicAdmin
from connect.kafka.client.settings import admin_settings, consumer_settings
from connect.kafka.consume.log_reader import OffsetRange, read_spans
from connect.kafka.raw import RawBatch
from connect.lib.deadline import Deadline

log = logging.getLogger(__name__)
MARKS_SUFFIX: Final = ".replayed"
"""The marks of replays are in a topic that is named after the dead-letter topic, with this suffix.

It is compacted, and has a record for each replayed letter, written in the transaction that replays it. The dead-letter
topic itself is not changed.
"""
CLIENT_ID: Final = "connect-dlq"


@dataclass(frozen=True, slots=True)
class Purge:
    """Tells what a purge deletes: `before` maps partitions to the offset before which all letters go."""

    before: Mapping[TopicPartition, int]
    letters: int
    without_context: int = 0
    """Counts those letters without context headers; records of any other topic have none either."""


class LetterTopic:
    """Reads one dead-letter topic: committed records only, without joining a group."""

    def __init__(self, worker: Mapping[str, str], topic: str) -> None:
        self.name = topic
        self.admin = TopicAdmin(admin_settings(worker, {}, CLIENT_ID).properties)
        read = consumer_settings(worker, {}, client_id=CLIENT_ID).properties
        # Letters and marks of an aborted transaction are none, whatever the worker's own file says.
        self._consumer = {**read, "isolation.level": "read_committed"}

    @property
    def marks_topic(self) -> str:
        """Return the name of the topic that marks the replayed letters."""
        return self.name + MARKS_SUFFIX

    def letters(self, selection: Selection, deadline: Deadline) -> Iterator[Letter]:
        """Yield the selected letters, in the order of each partition. ConfigError when there is no such topic."""
        if self.name not in self.admin.partition_counts([self.name], deadline):
            raise self._missing()
        for raw in self._records(self.name, deadline):
            yield from (letter for letter in letters_in(raw) if selection.matches(letter))

    def replayed(self, deadline: Deadline) -> frozenset[Identity]:
        """Return the identities of the letters that were replayed."""
        found: dict[Place, Identity] = {}
        for raw in self._records(self.marks_topic, deadline):
            keys = raw.keys.to_pylist() if raw.keys is not None else [None] * len(raw)
            for key, value in zip(keys, raw.values.to_pylist(), strict=True):
                if value is not None and (mark := self._marked(key, value)) is not None:
                    found[mark.place] = mark
        return frozenset(found.values())

    def _marked(self, key: bytes | None, value: bytes) -> Identity | None:
        """Return the letter that a mark names; None, with a warning, if the record is no mark: anybody may write it."""
        try:
            mark = Identity(_place(key), json.loads(value).get("timestamp_ms"))
            hash(mark)
        except (ValueError, AttributeError, TypeError, RecursionError) as error:
            log.warning("A record of %s is no mark, and is left out: %s", self.marks_topic, type(error).__name__)
            return None
        return mark

    def make_marks_topic(self, deadline: Deadline) -> None:
        """Create the topic of marks, with as many replicas as the dead-letter topic has.

        ConfigError: there is no dead-letter topic.
        """
        own = self.admin.describe([self.name], deadline).get(self.name)
        if own is None:
            raise self._missing()
        self.admin.create(
            self.marks_topic,
            partitions=1,
            replication_factor=own.replication_factor,
            configs={"cleanup.policy": "compact"},
            deadline=deadline,
        )

    def marks(self, letters: Iterable[Letter]) -> RawBatch:
        """Return the marks which say that these letters were replayed."""
        import pyarrow as pa

        chosen = list(letters)
        keys = [json.dumps(letter.place).encode() for letter in chosen]
        values = [_mark(letter) for letter in chosen]
        return RawBatch(self.marks_topic, pa.array(values, pa.binary()), pa.array(keys, pa.binary()))

    def purge_plan(self, selection: Selection, replayed: frozenset[Identity] | None, deadline: Deadline) -> Purge:
        """Return up to which offsets the letters can be deleted, as Kafka deletes from the front only.

        The letters before the first one that is kept can be deleted. A letter is kept if it is not selected, or if
        `replayed` is given and does not hold it.
        """
        partitions = [TopicPartition(self.name, p) for p in range(self._count(self.name, deadline))]
        ends = self.admin.end_offsets(partitions, deadline, committed_only=True)
        before = dict(ends)
        has_context: dict[Place, bool] = {}
        for letter in self.letters(Selection(), deadline):
            kept = not selection.matches(letter) or (replayed is not None and letter.identity not in replayed)
            if kept:
                tp = TopicPartition(self.name, letter.place.partition)
                before[tp] = min(before[tp], letter.place.offset)
            has_context[letter.place] = bool(letter.context)
        gone = [
            has for place, has in has_context.items()
            if place.offset < before[TopicPartition(self.name, place.partition)]
        ]  # fmt: skip
        starts = self.admin.beginning_offsets(partitions, deadline)
        left = {tp: offset for tp, offset in before.items() if offset > starts.get(tp, 0)}
        return Purge(left, len(gone), gone.count(False))

    def purge(self, plan: Purge, deadline: Deadline) -> None:
        """Delete the letters of a plan for good."""
        self.admin.delete_records(plan.before, deadline)

    def _missing(self) -> ConfigError:
        return ConfigError(
            f"There is no topic {self.name}.", fix="Give errors.deadletterqueue.topic.name of the connector."
        )

    def _count(self, topic: str, deadline: Deadline) -> int:
        return self.admin.partition_counts([topic], deadline).get(topic, 0)

    def _records(self, topic: str, deadline: Deadline) -> Iterator[RawBatch]:
        partitions = [TopicPartition(topic, p) for p in range(self._count(topic, deadline))]
        if not partitions:
            return iter(())
        starts = self.admin.beginning_offsets(partitions, deadline)
        ends = self.admin.end_offsets(partitions, deadline, committed_only=True)
        spans = {tp: OffsetRange(starts[tp], ends[tp]) for tp in partitions if tp in starts and tp in ends}
        return read_spans(self._consumer, spans, deadline)


def _mark(letter: Letter) -> bytes:
    told = {"connector": letter.connector, "from": letter.origin, "timestamp_ms": letter.timestamp_ms}
    return json.dumps(told).encode()


def _place(key: bytes | None) -> Place:
    partition, offset = json.loads(key or b"[0,-1]")
    return Place(partition, offset)
