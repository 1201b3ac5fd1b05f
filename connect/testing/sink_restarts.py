"""Tests crashes, replays and revokes of a sink: nothing may be lost, nor doubled where that is promised."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from connect.api.plugin import Capability
from connect.api.records import TopicPartition
from connect.testing.drivers import SinkDriver
from connect.testing.rows import make_rows, unwritten, written_twice
from connect.testing.sink_run import FakeLog, SinkRun
from connect.testing.suite import ConnectorSuite, requires

PER_PARTITION = 24
CUT = 4
OTHER_CUT = 7
BATCHES = 2 * PER_PARTITION // CUT


@dataclass(frozen=True)
class _Crash:
    """Holds what a crash and the replay after it left: the ids that are lost, and those that are there twice."""

    when: str
    lost: list[int]
    twice: list[int]


class SinkRestarts(ConnectorSuite):
    """Holds the part of SinkSuite about durability; inherit SinkSuite."""

    grace_s: ClassVar[float] = 1.0

    def run_of(
        self, system: SinkDriver, claimed: Mapping[TopicPartition, int] | None = None, **options: Any
    ) -> SinkRun:
        """Return a life of this sink that is not open yet. `claimed` holds the offsets that were committed before."""
        return SinkRun(self.plugin, dict(system.config()), dict(claimed or {}), **options)

    def exercise(self, config: Mapping[str, str], system: Any) -> None:
        """Open, put and flush some rows, close."""
        log = self.log_of(system)
        with SinkRun(self.plugin, config) as run:
            run.assign(log.partitions)
            run.put_all(log, PER_PARTITION)
            run.flush()

    def log_of(self, system: SinkDriver, *, as_arrow: bool = True) -> FakeLog:
        """Return a log with two partitions of rows."""
        rows = make_rows(2 * PER_PARTITION)
        return FakeLog(system.topic, {0: rows[:PER_PARTITION], 1: rows[PER_PARTITION:]}, as_arrow=as_arrow)

    def claim(self, run: SinkRun, ends: Mapping[TopicPartition, int]) -> None:
        """Flush until these offsets are claimed. AssertionError: they are not in time."""
        reached = run.flush_until(ends, within_s=self.patience_s)
        assert reached, f"All rows up to {dict(ends)} were put, and flush claims only {run.claimed}"

    def check_durable(self, system: SinkDriver, log: FakeLog, run: SinkRun, when: str) -> None:
        """Check that every row below a claimed offset is in the target now."""
        rows = [row for tp, offset in run.claimed.items() for row in log.rows[tp.partition][:offset]]
        lost = unwritten(system, rows)
        assert not lost, f"flush claimed {run.claimed} ({when}), but the target has no rows with ids {lost}"

    def test_flush_never_claims_more_than_is_durable(self, system: SinkDriver) -> None:
        log = self.log_of(system)
        for steps in (1, 2, 5, BATCHES):
            system.reset()
            run = self.run_of(system).open().assign(log.partitions)
            for batch, _ in zip(log.batches(CUT), range(steps), strict=False):
                run.put(batch)
                run.flush()
                self.check_durable(system, log, run, "the task alive")
            run.crash()
            self.check_durable(system, log, run, "the task dropped")

    def test_a_crash_at_any_step_loses_no_row(self, system: SinkDriver) -> None:
        for crash in self._crashes(system):
            assert not crash.lost, f"{crash.when} lost the rows with ids {crash.lost}"

    @requires(Capability.EXACTLY_ONCE)
    def test_replayed_rows_land_once(self, system: SinkDriver) -> None:
        for crash in self._crashes(system):
            assert not crash.twice, f"{crash.when} left twice the ids {crash.twice}"

    def test_a_revoke_mid_write_loses_nothing(self, system: SinkDriver) -> None:
        log = self.log_of(system)
        moved, kept = log.partitions
        batches = list(log.batches(CUT))
        with self.run_of(system) as old:
            old.assign(log.partitions)
            for number, batch in enumerate(batches[: BATCHES // 2]):
                old.put(batch)
                if number == 1:
                    old.flush()
            committed = {p: o for p, o in old.claimed.items() if p == moved}
            old.revoke([moved])
            with self.run_of(system, committed) as new:
                new.assign([moved])
                new.put_all(FakeLog(log.topic, {moved.partition: log.rows[moved.partition]}), OTHER_CUT)
                self.claim(new, {moved: PER_PARTITION})
            for batch in batches[BATCHES // 2 :]:
                if batch.partition == kept.partition:
                    old.put(batch)
            self.claim(old, {kept: PER_PARTITION})
        lost = unwritten(system, [row for rows in log.rows.values() for row in rows])
        assert not lost, f"After a revoke in the middle of writing, the rows with ids {lost} are lost."
        if Capability.EXACTLY_ONCE in self.plugin.capabilities:
            twice = written_twice(system)
            assert not twice, f"After a revoke in the middle of writing, ids {twice} are there twice."

    def test_claims_stay_with_owned_partitions(self, system: SinkDriver) -> None:
        log = self.log_of(system)
        first = log.partitions[0]
        with self.run_of(system) as run:
            run.assign([first])
            for batch in log.batches(CUT):
                if batch.partition == first.partition:
                    run.put(batch)
                    run.flush()
            self.claim(run, {first: PER_PARTITION})
        assert run.claimed == {first: PER_PARTITION}, f"Put were 24 rows of {first}; claimed is {run.claimed}"

    def _crashes(self, system: SinkDriver) -> list[_Crash]:
        """Return what each crash left: one walk serves the test of lost and that of doubled rows."""
        return self.once("crashes", lambda: list(self._crash_everywhere(system)))

    def _crash_everywhere(self, system: SinkDriver) -> Iterator[_Crash]:
        log = self.log_of(system)
        for steps, committed in self._replays(system, log):
            lost = unwritten(system, [row for rows in log.rows.values() for row in rows])
            when = f"A crash after {steps} batches, replayed from {committed},"
            is_exact = Capability.EXACTLY_ONCE in self.plugin.capabilities
            yield _Crash(when, lost, written_twice(system) if is_exact else [])

    def _replays(self, system: SinkDriver, log: FakeLog) -> Iterator[tuple[int, Mapping[TopicPartition, int]]]:
        """Yield the batches put before and the committed offsets, after each way to crash and replay.

        The commit may be missing altogether, or be a flush behind, as if the crash came before Kafka heard of it.
        """
        for steps in (1, 2, 3, BATCHES // 2, BATCHES):
            for commits_lost in sorted({0, 1, steps}):
                system.reset()
                first = self.run_of(system).open().assign(log.partitions)
                committed: list[Mapping[TopicPartition, int]] = [{}]
                for batch, _ in zip(log.batches(CUT), range(steps), strict=False):
                    first.put(batch)
                    first.flush()
                    committed.append(dict(first.claimed))
                first.crash()
                known = committed[-1 - commits_lost]
                with self.run_of(system, known) as second:
                    second.assign(log.partitions)
                    second.put_all(log, OTHER_CUT, flush_each=True)
                    self.claim(second, log.ends)
                yield steps, known
