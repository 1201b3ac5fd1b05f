"""Random records for histories of the BigQuery sink, and the rows that its README says a table has of them.

Keys come through several partitions and topics, with times and versions out of order, null keys, tombstones, fields
that come and go, with and without a schema, and records that are bad alone.
"""

from __future__ import annotations

import math
import random
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import Any, Final

import pyarrow as pa

from connect.api import schema as s
from connect.api.records import Batch, Column, Consumed, TopicPartition

EPOCH: Final = datetime(2026, 1, 1, tzinfo=UTC)
KEY: Final = s.struct({"id": s.INT64.as_optional(), "region": s.STRING}, optional=True)
_FIELDS: Final = {
    "id": s.INT64.as_optional(), "region": s.STRING, "version": s.INT64.as_optional(), "text": s.STRING,
    "gone": s.BOOLEAN,
}  # fmt: skip
FORMS: Final = (
    s.struct(_FIELDS, optional=True),
    s.struct({**_FIELDS, "f": s.FLOAT64.as_optional()}, optional=True),
    s.struct({"f": s.FLOAT64.as_optional(), "more": s.STRING.as_optional(), **_FIELDS}, optional=True),
    None,
)
"""The schemas that records have; None: they have none."""
BAD: Final = (
    {"version": 2**63}, {"version": "x"}, {"version": [1]}, {"version": {"a": 1}}, {"gone": "maybe"}, {"ID": 3},
    {"text": {"a": 1}}, {"f": True}, 7, "text", [1], True, 2**63, 0.5,
)  # fmt: skip
"""What makes a record without a schema bad: these fields in place of its own, or this value."""
FLOATS: Final = (None, 0.5, -0.0, 0.0, float("nan"), float("inf"), -1e300)


@dataclass(frozen=True)
class Sent:
    """One record of a log. `value` None: a tombstone. is_bad: the README says that it becomes a bad record."""

    topic: str
    topic_id: str
    partition: int
    offset: int
    time_s: int
    form: int
    key: dict[str, Any] | None
    value: Any
    is_bad: bool = False

    @property
    def place(self) -> tuple[str, str, int, int]:
        return self.topic, self.topic_id, self.partition, self.offset

    @property
    def time_ms(self) -> int:
        return int((EPOCH + timedelta(seconds=self.time_s)).timestamp() * 1000)

    @property
    def time_order(self) -> tuple[Any, ...]:
        return self.time_s, self.partition, self.offset, self.topic, self.topic_id


@dataclass(frozen=True)
class Promise:
    """What the settings make of records. `key`: the fields of a row's key.

    `of_record_key`: whether these are looked for in the record's key, and not in its value.
    """

    key: tuple[str, ...] = ("id",)
    of_record_key: bool = False
    keep: str = "latest"
    delete: str = "tombstone"
    by_version: bool = False
    appends_keyless: bool = False

    def identity(self, sent: Sent) -> tuple[Any, ...] | None:
        """The values that make a record's row; None where one is lacking."""
        found = sent.key if self.of_record_key or sent.value is None else sent.value
        values = tuple((found or {}).get(name) for name in self.key)
        return None if None in values else values

    def is_bad(self, sent: Sent) -> bool:
        if sent.is_bad or self.key == ("place",):
            return sent.is_bad
        if sent.value is None and self.delete == "ignore":
            return False
        return self.identity(sent) is None and not self.appends_keyless

    def order(self, sent: Sent) -> tuple[Any, ...]:
        if not self.by_version:
            return sent.time_order
        version = sent.value["version"]
        return (version is not None, version or 0, *sent.time_order)

    def left(self, records: Iterable[Sent]) -> list[Sent]:
        """Those of one row that no tombstone of their topic partition stands behind, where tombstones have no order."""
        log = list(records)
        if not self.by_version:
            return log
        last: dict[tuple[Any, ...], int] = {}
        for one in log:
            if one.value is None:
                last[one.place[:3]] = max(one.offset, last.get(one.place[:3], -1))
        return [one for one in log if one.value is not None and one.offset > last.get(one.place[:3], -1)]

    def deletes(self, sent: Sent) -> bool:
        return sent.value is None or ("=" in self.delete and sent.value["gone"])

    def of_rows(self, log: Iterable[Sent]) -> dict[tuple[Any, ...], list[Sent]]:
        """The records of each row, those that are bad or left out not among them."""
        found: dict[tuple[Any, ...], list[Sent]] = {}
        for sent in log:
            identity = None if self.is_bad(sent) else self.identity(sent)
            if identity is not None and not (sent.value is None and self.delete == "ignore"):
                found.setdefault(identity, []).append(sent)
        return found

    def keyless(self, log: Iterable[Sent]) -> list[Sent]:
        """The records that are rows of their own."""
        return [
            one for one in log if not self.is_bad(one) and one.value is not None and self.identity(one) is None
        ]  # fmt: skip


class Topics:
    """The logs of some topics, which grow, and are made anew."""

    def __init__(self, draw: random.Random, names: Sequence[str]) -> None:
        self._draw = draw
        self._lives = dict.fromkeys(names, 0)
        self.logs: dict[TopicPartition, list[Sent]] = {
            TopicPartition(name, number): [] for name in names for number in range(draw.randint(1, 3))
        }
        self.earlier: list[Sent] = []
        self.begins: dict[TopicPartition, int] = {}
        """Where the logs of topics made anew begin, if not at 0."""
        self.forms = draw.choice([(0,), (0, 1), (0, 1, 2), (3,), (0, 3), (0, 1, 2, 3)])
        self._has_own_keys = draw.random() < 0.5
        self._now_s = 10

    def id_of(self, topic: str) -> str:
        return f"{topic} {self._lives[topic]}"

    @property
    def all(self) -> list[Sent]:
        return [*self.earlier, *(sent for log in self.logs.values() for sent in log)]

    def end(self, partition: TopicPartition) -> int:
        log = self.logs[partition]
        return log[-1].offset + 1 if log else self.begins.get(partition, 0)

    def read(self, partition: TopicPartition, start: int, count: int) -> list[Sent]:
        """Return at most `count` records of a partition, the first at `start` or behind it: offsets have gaps."""
        log = self.logs[partition]
        first = bisect_left(log, start, key=lambda sent: sent.offset)
        return log[first : first + count]

    def grow(self, count: int) -> None:
        for _ in range(count):
            partition = self._draw.choice(list(self.logs))
            self.logs[partition].append(self._drawn(partition))

    def plain(self, partition: TopicPartition) -> None:
        """A first record, after which the table has its columns."""
        value = {"id": 0, "region": "eu", "version": 0, "text": "first", "gone": False, "f": 0.5, "more": None}
        names = FORMS[2]
        assert names is not None
        key = {"id": 0, "region": "eu"}
        self.logs[partition].append(
            Sent(partition.topic, self.id_of(partition.topic), partition.partition, 0, 0, 2, key, value)
        )

    def has(self, partition: TopicPartition, offset: int, timestamp_ms: int) -> bool:
        """Say if the log of now has a record of this time at this offset."""
        return any((sent.offset, sent.time_ms) == (offset, timestamp_ms) for sent in self.logs[partition])

    def anew(self, topic: str, begins: Mapping[TopicPartition, int]) -> None:
        """The topic is deleted and made again: its offsets begin at 0, or its first records are gone by now."""
        for partition, log in self.logs.items():
            if partition.topic == topic:
                self.earlier += log
                self.logs[partition] = []
                self.begins[partition] = begins.get(partition, 0)
        self._lives[topic] += 1

    def _drawn(self, partition: TopicPartition) -> Sent:
        draw = self._draw
        self._now_s += draw.randrange(2)
        time_s = max(0, self._now_s - draw.choice([0, 0, 0, 1, 5]))
        offset = self.end(partition) + (draw.random() < 0.1)
        form = draw.choice(self.forms)
        identity = None if draw.random() < 0.05 else draw.randint(1, 6)
        if self._has_own_keys and identity is not None:
            identity += 10 * list(self.logs).index(partition)  # no id comes through two partitions
        key = None if draw.random() < 0.05 else {"id": identity, "region": draw.choice(["eu", "us"])}
        value: Any = None
        is_bad = False
        if draw.random() > 0.15:
            value = {
                "id": identity, "region": draw.choice(["eu", "us"]), "version": draw.choice([None, 1, 2, 2, 3]),
                "text": f"{self.id_of(partition.topic)} {partition.partition}@{offset}", "gone": draw.random() < 0.15,
            }  # fmt: skip
            if form in {1, 2, 3}:
                value["f"] = draw.choice(FLOATS)
            if form == 2:
                value["more"] = draw.choice([None, "m"])
            is_bad = form == 3 and draw.random() < 0.15
            if is_bad:
                bad = draw.choice(BAD)
                value = {**value, **bad} if isinstance(bad, dict) else bad
        return Sent(
            partition.topic, self.id_of(partition.topic), partition.partition, offset, time_s, form, key, value, is_bad
        )


def batches(rows: Sequence[Sent], end: int) -> Iterator[Batch]:
    """What one poll gives: a batch for each run of one schema."""
    for _, run in groupby(rows, lambda row: row.form):
        part = list(run)
        partition = TopicPartition(part[0].topic, part[0].partition)
        form = FORMS[part[0].form]
        offsets = pa.array([row.offset for row in part], pa.int64())
        yield Batch(
            partition.topic,
            Column.from_rows([row.value for row in part], form),
            keys=Column.from_rows([row.key for row in part], None if form is None else KEY),
            timestamps_ms=pa.array([row.time_ms for row in part], pa.int64()),
            partition=partition.partition,
            consumed=Consumed(partition, offsets, end if part[-1] is rows[-1] else part[-1].offset + 1),
        )


def has_text(sent: Sent) -> bool:
    return isinstance(sent.value, dict) and isinstance(sent.value.get("text"), str)


def is_same(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float) and math.isnan(one):
        return math.isnan(other)  # DuckDB's MERGE makes 0.0 of -0.0, so signs of zeros are not compared
    return type(one) is type(other) and bool(one == other)
