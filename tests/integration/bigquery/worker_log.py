"""Holds the topics of a random history of a worker: what was sent, and which tables and letters a plain model
expects.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from bigquery_oracle import Message, behind_tombstones, latest
from confluent_kafka import Producer

NEVER_A_ROW: tuple[Any, ...] = (5, "text", [1], b"{")
"""These values are bad records in any table; bytes are no JSON."""
BAD_IN_A_TABLE: tuple[Any, ...] = ({"id": 1, "version": "much"}, {"id": 1, "version": 2**63}, {"id": "x"})
"""These values are bad records in a table whose columns are known."""
Place = tuple[str, int, int]
"""Names a record by its topic, partition and offset."""
Sent = tuple[Message, Any]
"""Holds a record, and its value in JSON's types."""


@dataclass
class WorkerLog:
    """Keeps the log of all topics, as it was sent.

    `by_version` says that records are ordered by a field that tombstones lack. Then each id is in one partition only,
    as the README says for this case exactly what a tombstone removes. Otherwise ids are in all partitions, and records
    are ordered by Kafka's times.
    """

    tables: Mapping[str, str]
    """Maps each topic to its present table."""
    partitions: int
    by_version: bool
    good: list[Message] = field(default_factory=list)
    bad: set[Place] = field(default_factory=set)
    ends: dict[tuple[str, int], int] = field(default_factory=dict)
    starts: dict[tuple[str, int], int] = field(default_factory=dict)
    forgotten: dict[tuple[str, int | None], Message] = field(default_factory=dict)
    """Has the deletes that a table knew when its rows were copied: an older record may or may not bring such a row
    back.
    """

    @property
    def count(self) -> int:
        """Return how many records were sent."""
        return sum(self.ends.values())

    def first(self, draw: random.Random) -> list[Sent]:
        """Return records after which each table has its columns; some topics begin with a bad record."""
        records = []
        for topic in self.tables:
            if draw.random() < 0.2:
                records.append(self._next(topic, 0, draw, value=draw.choice(NEVER_A_ROW)))
            records.append(self._next(topic, 0, draw))
        return records

    def grown(self, draw: random.Random, count: int) -> list[Sent]:
        """Return `count` further records; some are tombstones and some are bad."""
        topics, records = sorted(self.tables), []
        for _ in range(count):
            topic, partition, chance = draw.choice(topics), draw.randrange(self.partitions), draw.random()
            bad = draw.choice(NEVER_A_ROW + BAD_IN_A_TABLE) if chance < 0.05 else None
            records.append(self._next(topic, partition, draw, value=bad, is_tombstone=chance > 0.85))
        return records

    def _next(
        self, topic: str, partition: int, draw: random.Random, *, value: Any = None, is_tombstone: bool = False
    ) -> Sent:
        """Return the next record of a partition. If `value` is given, it makes the record a bad one."""
        offset = self.ends.get((topic, partition), 0)
        self.ends[topic, partition] = offset + 1
        place = sorted(self.tables).index(topic) * self.partitions + partition
        number = (10 * place if self.by_version else 0) + draw.randrange(6)
        text = None if is_tombstone else f"{topic}-{partition}@{offset}"
        message = Message(
            partition, offset, number, draw.randrange(20), version=draw.randrange(5), text=text, topic=topic
        )
        if value is None:
            self.good.append(message)
            return message, message.value
        self.bad.add((topic, partition, offset))
        return message, value

    @property
    def made(self) -> list[str]:
        """Return the names of the tables."""
        return sorted(set(self.tables.values()))

    def start(self, topic: str, partition: int) -> int:
        """Return the offset from which a partition may be read again: records before it are in a copied table."""
        return self.starts.get((topic, partition), 0)

    def move(self, copies: Mapping[str, str]) -> None:
        """Go on in copies of the tables, with their present rows; see `forgotten`. All records have been read
        before.
        """
        kept = []
        for table in self.made:
            log = self._of(table)
            alive = latest(log)
            kept += alive.values()
            for gone in {message.id for message in log} - alive.keys():
                last = max((message for message in log if message.id == gone), key=lambda message: message.order)
                known = self.forgotten.get((table, gone))
                self.forgotten[table, gone] = last if known is None or last.order > known.order else known
        self.good, self.starts = kept, dict(self.ends)
        self.tables = {topic: copies[table] for topic, table in self.tables.items()}
        self.forgotten = {(copies[table], key): gone for (table, key), gone in self.forgotten.items()}

    def may_lack(self, table: str, found: Mapping[int | None, str | None]) -> set[int | None]:
        """Return the keys that are missing in the table, and whose records are all older than a forgotten delete."""
        older = set()
        for (name, key), gone in self.forgotten.items():
            log = [message for message in self._of(table) if message.id == key]
            if name == table and key not in found and all(message.order < gone.order for message in log):
                older.add(key)
        return older

    def _of(self, table: str) -> list[Message]:
        return [message for message in self.good if self.tables[message.topic] == table]

    def rows(self, table: str) -> dict[int | None, str | None]:
        """Return the rows that a table must show, as a map of ids to texts."""
        log = self._of(table)
        model = latest(behind_tombstones(log) if self.by_version else log, by_version=self.by_version)
        return {key: message.text for key, message in model.items()}


def send(bootstrap_servers: str, records: Iterable[Sent]) -> None:
    """Send records to their topics and partitions, in this order."""
    producer = Producer({"bootstrap.servers": bootstrap_servers})
    for message, value in records:
        producer.produce(
            message.topic,
            key=json.dumps({"id": message.id}),
            value=value if value is None or isinstance(value, bytes) else json.dumps(value, default=str),
            partition=message.partition,
            timestamp=int(message.time.timestamp() * 1000),
        )
    assert producer.flush(60) == 0
