"""Runs random histories of the S3 sink: members of a group that poll, flush, die, freeze and lose partitions, by the
README.

The model is the log, the offsets that were committed and the letters; all else is read from the bucket.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import cycle, islice
from typing import Any

from histories import History
from s3_history_log import Drawn, Log, drawn_log
from s3_history_objects import check_object, stored_rows
from s3_http_store import Store, config

from connect.api.errors import RejectedRowsError, RetriableError
from connect.api.records import Batch, Consumed, TopicPartition
from connect.convert.avro.values import avro_values
from connect.lib.deadline import Deadline
from connect.testing.fakes import FakeSinkContext
from connectors.s3.formats.format_specs import AVRO_FORMAT, CSV_FORMAT, JSON_FORMAT, PARQUET_FORMAT
from connectors.s3.settings.classes import FIELD_PARTITIONER
from connectors.s3.sink import sink
from connectors.s3.sink.build import ConfluentPlan
from connectors.s3.stores.store import Bucket

ROTATIONS: list[dict[str, str]] = [
    {"flush_size": "7"},
    {"flush_size": "40"},
    {"flush_size": "100000", "rotate_schedule_interval_ms": "1000"},
    {"flush_size": "60", "rotate_interval_ms": "200", "timestamp_extractor": "Record"},
    {"flush_size": "100000", "rotate_idle_ms": "700"},
    {"flush_size": "50", "rotate_size_bytes": "500", "rotate_schedule_interval_ms": "5000"},
    {"flush_size": "100000", "buffer_max_bytes": "8000"},
]
CLOCKS = [rotation for rotation in ROTATIONS if {"rotate_schedule_interval_ms", "rotate_idle_ms"} & rotation.keys()]
"""These end files at moments, so that two members end one file at different offsets."""
THEMES = {"any": 5, "rival": 1}
"""Maps what a history may be about to how often it is drawn. "rival": a frozen member and the next owner write one
file, and the object of the first may hold fewer rows than the other has.
"""
PATHS: list[dict[str, str]] = [{}, {"partitioner_class": FIELD_PARTITIONER, "partition_field_name": "p"}]
FAULTS = ["", "", "lost answer", "503", "409"]
MEMBERS = 2
PATIENCE = 40
"""Calls that a store's faults may fail before it is called hung."""


class KilledError(BaseException):
    """The process died: no handler of the product may see it."""


class MortalBucket(Bucket):
    """The bucket of a process that dies before or behind the n-th step on it. `steps_left` None: it lives."""

    steps_left: int | None = None

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        if name.startswith("_") or name in {"close", "steps_left", "give_up"} or not callable(found):
            return found

        def step(*given: Any, **named: Any) -> Any:
            self._count()
            result = found(*given, **named)
            self._count()
            return result

        return step

    def _count(self) -> None:
        if self.steps_left is not None:
            self.steps_left -= 1
            if self.steps_left < 0:
                raise KilledError


@dataclass
class Member:
    """One process of the group, and how far it has read; frozen ones are not of the group any more."""

    task: sink.S3SinkTask
    reads: dict[TopicPartition, int] = field(default_factory=dict)


class S3History:
    """One history. Its settings are drawn once, as keys change with them."""

    def __init__(self, store: Store, history: History, rows: int) -> None:
        draw = history.draw
        self._store, self._history, self._draw = store, history, draw
        self._theme = history.theme(THEMES)
        self._schemaless = draw.random() < 0.5
        formats = [PARQUET_FORMAT, CSV_FORMAT, JSON_FORMAT] if self._schemaless else [
            PARQUET_FORMAT, CSV_FORMAT, JSON_FORMAT, AVRO_FORMAT]  # fmt: skip
        form = draw.choice(formats)
        rotations = CLOCKS if self._theme == "rival" else ROTATIONS
        self._settings = {"format_class": form, **draw.choice(PATHS), **draw.choice(rotations)}
        if form == PARQUET_FORMAT and not self._schemaless and draw.random() < 0.5:
            self._settings["schema_compatibility"] = "MERGE"
        nulls = draw.choice(["fail", "ignore"])
        self._settings["behavior_on_null_values"] = nulls
        drawn = Drawn(rows, self._schemaless, form == PARQUET_FORMAT, nulls == "fail")
        self._log: Log = drawn_log(draw, draw.randint(1, 3), drawn)
        self._gone: set[tuple[TopicPartition, int]] = set()
        if form == JSON_FORMAT:
            self._forgive_bad_rows()
        history.note("settings", schemaless=self._schemaless, **self._settings)
        self._committed = dict.fromkeys(self._log.rows, 0)
        self._letters: set[tuple[TopicPartition, int]] = set()
        self._in_objects: dict[tuple[TopicPartition, int], str] = {}
        self._bodies: dict[str, bytes] = {}
        self._clock_ms = 0
        self._members: list[Member] = []
        self._frozen: list[Member] = []
        self._passed: set[tuple[TopicPartition, int]] = set()

    def run(self, steps: int) -> None:
        """Do random steps, then let a last life end it with nothing in its way."""
        self._rebalance()
        for do_step in self._drawn_steps(steps):
            do_step()
            self._look()
        self._finish()

    def _drawn_steps(self, count: int) -> Iterator[Callable[[], None]]:
        if self._theme == "rival":
            one_file = (self._poll, self._freeze, self._poll, self._wait, self._flush, self._wait, self._thaw)
            yield from islice(cycle(one_file), count)
            return
        doings = [self._poll] * 6 + [self._flush] * 3 + [self._freeze, self._thaw, self._wait] * 2 + [
            self._kill, self._rebalance, self._rewind, self._retain, self._skip]  # fmt: skip
        for _ in range(count):
            yield self._draw.choice(doings)

    def _forgive_bad_rows(self) -> None:
        """A line of JSON holds whatever is JSON."""
        for rows in self._log.rows.values():
            rows[:] = [replace(row, is_bad=row.is_bad and row.value is None) for row in rows]

    def _born(self, **others: str) -> Member:
        given = config(self._store, **{**self._settings, **others})
        task = sink.S3SinkTask(ConfluentPlan(given), now_ms=lambda: self._clock_ms)
        task.open(FakeSinkContext(avro_values=avro_values))
        return Member(task)

    def _rebalance(self) -> None:
        """Partitions go to members anew; some members live on, with files of partitions they keep."""
        self._history.note("rebalance")
        while len(self._members) < MEMBERS:
            self._members.append(self._born())
        owners = {partition: self._draw.choice(self._members) for partition in self._log.rows}
        for member in self._members:
            gone = [p for p in member.reads if owners[p] is not member]
            member.task.revoked(gone)
            member.reads = {p: at for p, at in member.reads.items() if p not in gone}
        for partition, member in owners.items():
            if partition not in member.reads:
                member.task.assigned([partition])
                member.reads[partition] = self._committed[partition]

    def _poll(self) -> None:
        member = self._draw.choice(self._members)
        if not member.reads:
            return
        partition = self._draw.choice(list(member.reads))
        self._faults()
        self._mortally(member, lambda: self._read(member, partition, self._draw.randint(1, 40)))

    def _read(self, member: Member, partition: TopicPartition, count: int) -> None:
        rows = [
            row
            for row in self._log.rows[partition]
            if row.offset >= member.reads[partition] and (partition, row.offset) not in self._gone
        ][:count]
        if not rows:
            return
        start, end = member.reads[partition], rows[-1].offset + 1
        as_json = self._draw.random() < 0.5
        self._history.note("poll", partition=partition.partition, start=start, end=end, as_json=as_json)
        for batch in self._log.batches(partition, rows, end, as_json=as_json):
            self._put(member, batch)
        member.reads[partition] = end

    def _put(self, member: Member, batch: Batch) -> None:
        """As the worker does: the same batch until it is taken, refused rows to the dead letters."""
        assert batch.consumed is not None
        for _ in range(PATIENCE):
            try:
                member.task.put(batch, Deadline.after(10))
            except RetriableError:
                continue
            except RejectedRowsError as error:
                self._refused(batch.consumed, error)
            return
        raise AssertionError("the sink takes a batch never again, though the store is well")

    def _refused(self, consumed: Consumed, error: RejectedRowsError) -> None:
        """They are dead letters, and have to be bad."""
        offsets = consumed.offsets.to_pylist()
        refused = {offsets[row] for row in error.rows}
        good = [r for r in self._log.rows[consumed.topic_partition] if r.offset in refused and not r.is_bad]
        assert not good, f"good rows are refused: {good[0]}: {next(iter(error.rows.values()))}"
        self._letters |= {(consumed.topic_partition, offset) for offset in refused}

    def _flush(self) -> None:
        member = self._draw.choice(self._members)
        self._faults()
        self._mortally(member, lambda: self._commit(member, is_lost=self._draw.random() < 0.3))

    def _commit(self, member: Member, *, is_lost: bool = False) -> None:
        self._history.note("flush", is_lost=is_lost)
        try:
            durable = member.task.flush(Deadline.after(self._draw.choice([0, 10])))
        except RetriableError:
            return
        self._look()
        for partition, offset in durable.items():
            self._check_durable(partition, offset)
            if partition in member.reads and not is_lost and member in self._members:
                self._committed[partition] = max(self._committed[partition], offset)

    def _check_durable(self, partition: TopicPartition, offset: int) -> None:
        """Every row before the offset is in an object or a letter, unless altered offsets have passed over it."""
        excused = self._gone | self._passed
        for row in self._log.rows[partition]:
            at = (partition, row.offset)
            if row.offset < offset and (row.value is not None or row.is_bad) and at not in excused:
                assert at in self._in_objects or at in self._letters, f"{offset} is committed, and {row} is nowhere"

    def _mortally(self, member: Member, act: Any) -> None:
        """Now and then the process dies at a step on the store."""
        bucket = member.task._bucket
        assert isinstance(bucket, MortalBucket)
        bucket.steps_left = self._draw.randrange(8) if self._draw.random() < 0.15 else None
        try:
            act()
        except KilledError:
            self._history.note("killed")
            self._bury(member)
        else:
            bucket.steps_left = None

    def _kill(self) -> None:
        self._history.note("kill")
        self._bury(self._draw.choice(self._members))

    def _bury(self, member: Member) -> None:
        if member in self._frozen:
            self._frozen.remove(member)
        else:
            self._members.remove(member)
        member.task.close()
        self._rebalance()

    def _freeze(self) -> None:
        """A member stands still and loses its partitions without a word."""
        if not self._frozen:
            self._history.note("freeze")
            self._frozen.append(self._members.pop(self._draw.randrange(len(self._members))))
            self._rebalance()

    def _thaw(self) -> None:
        """It goes on as if nothing had happened; its commits are refused."""
        if self._frozen:
            member = self._frozen[0]
            for partition in list(member.reads):
                if member in self._frozen:
                    self._mortally(member, lambda partition=partition: self._read(member, partition, 30))
            if member in self._frozen:
                self._mortally(member, lambda: self._commit(member))
            if member in self._frozen and self._draw.random() < 0.3:
                self._bury(member)

    def _rewind(self) -> None:
        """Offsets are reset, which needs a group without members."""
        self._history.note("rewind")
        for member in [*self._members, *self._frozen]:
            member.task.close()
        self._members, self._frozen = [], []
        for partition, offset in self._committed.items():
            self._committed[partition] = self._draw.choice([0, self._draw.randint(0, offset)])
        self._passed = {at for at in self._passed if at[1] < self._committed[at[0]]}
        self._rebalance()

    def _skip(self) -> None:
        """Offsets are altered to later ones, as those of a sink that begins at the end; the end reads all rows."""
        if self._draw.random() < 0.5:
            return
        self._history.note("skip")
        for member in [*self._members, *self._frozen]:
            member.task.close()
        self._members, self._frozen = [], []
        for partition, offset in self._committed.items():
            self._committed[partition] = later = self._draw.randint(offset, self._log.end(partition))
            self._passed |= {(partition, passed) for passed in range(offset, later)}
        self._rebalance()

    def _retain(self) -> None:
        """Retention and compaction take rows that are in objects, from the beginning and here and there."""
        if self._frozen:
            return
        self._history.note("retain")
        for partition, offset in self._committed.items():
            first = self._draw.randint(0, offset)
            taken = {(partition, row.offset) for row in self._log.rows[partition] if row.offset < offset
                     and (row.offset < first or self._draw.random() < 0.3)}  # fmt: skip
            self._gone |= taken & (self._in_objects.keys() | self._letters)

    def _wait(self) -> None:
        self._clock_ms += self._draw.choice([100, 800, 6000])

    def _faults(self) -> None:
        self._store.faults = [self._draw.choice(FAULTS) for _ in range(self._draw.randrange(4))]

    def _look(self) -> None:
        """Read what is new in the bucket; nothing there may change, and no row be there twice."""
        objects = dict(self._store.objects)
        for key, body in self._bodies.items():
            assert objects[key][0] == body, f"{key} was replaced"
        for key in sorted(objects.keys() - self._bodies.keys()):
            body, metadata = objects[key]
            self._bodies[key] = body
            name = key.replace("%3D", "=")
            for at in check_object(
                self._log, stored_rows(name, body), metadata, merges="schema_compatibility" in self._settings
            ):
                assert at not in self._in_objects, f"{at} is in {self._in_objects[at]} and in {name}"
                assert at not in self._letters, f"{at} is in {name} and a letter"
                self._in_objects[at] = name

    def _finish(self) -> None:
        for member in [*self._members, *self._frozen]:
            member.task.close()
        self._history.note("the end")
        self._members, self._frozen, self._store.faults = [self._born(rotate_schedule_interval_ms="1000")], [], []
        (last,) = self._members
        if self._passed:
            self._committed, self._passed = dict.fromkeys(self._committed, 0), set()
        for partition in self._log.rows:
            last.reads[partition] = self._committed[partition]
            last.task.assigned([partition])
            self._read(last, partition, len(self._log.rows[partition]))
        self._clock_ms += 100_000
        last.task.flush(Deadline.after(60))
        last.task.close()
        self._look()
        for partition in self._log.rows:
            self._check_durable(partition, self._log.end(partition))
        bad = {(p, row.offset) for p, rows in self._log.rows.items() for row in rows if row.is_bad}
        assert self._letters == bad, f"letters {self._letters ^ bad}"
