"""Tests restarts, crashes and kills of a source: nothing may be lost, nor repeated where that is promised."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from connect.api.errors import RetriableError
from connect.api.plugin import Capability
from connect.api.records import Batch
from connect.lib.deadline import Deadline
from connect.testing.child import offsets_of, read_journal, records_of, start_child
from connect.testing.drivers import Sessions, SourceDriver, SplitsAnew, UnreadableRows
from connect.testing.fakes import OffsetStore
from connect.testing.rows import ids_of, make_rows, missing, repeated
from connect.testing.source_run import SourceRun
from connect.testing.suite import ConnectorSuite, requires

ROWS = 30


@dataclass(frozen=True)
class _Crash:
    """Holds what became of the rows of `ROWS` ids: those that were lost, and those that came twice."""

    when: str
    lost: list[int]
    twice: list[int]


class SourceRestarts(ConnectorSuite):
    """Holds the part of SourceSuite about resuming; inherit SourceSuite."""

    quiet_s: ClassVar[float] = 0.2

    def run_of(self, system: SourceDriver, store: OffsetStore | None = None, **options: Any) -> SourceRun:
        """Return a life of this source that is not open yet."""
        return SourceRun(self.plugin, dict(system.config()), store or OffsetStore(), **options)

    def exercise(self, config: Mapping[str, str], system: Any) -> None:
        """Open, poll some rows, close."""
        system.insert(make_rows(3))
        with SourceRun(self.plugin, config) as run:
            run.poll()

    def test_rows_sharing_a_tie_across_a_batch_edge_are_all_read(self, system: SourceDriver) -> None:
        system.insert(make_rows(ROWS, ties=ROWS))
        store, batches = OffsetStore(), list[Batch]()
        for _ in range(ROWS + 1):
            with self.run_of(system, store) as run:
                run.read_batches(1, within_s=2.0)
                run.store_all()
            batches += run.full_batches
            if not run.full_batches or not missing(system, batches):
                break
        lost = missing(system, batches)
        assert not lost, f"Rows that share a tie were lost at a batch edge: ids {lost}"

    def test_resumes_at_the_stored_offset(self, system: SourceDriver) -> None:
        system.insert(make_rows(ROWS))
        with self.run_of(system) as first:
            self.read_all(first, system)
            first.store_all()
        system.insert(make_rows(3, start=ROWS))
        with self.run_of(system, first.store) as second:
            fresh = set(range(ROWS, ROWS + 3))
            read = second.read_until(lambda: fresh <= set(ids_of(system, second.batches)), within_s=self.patience_s)
        assert read, f"After a restart new rows were lost: ids {sorted(fresh - set(ids_of(system, second.batches)))}"
        again = set(ids_of(system, second.batches)) - fresh
        assert len(again) < ROWS, "A restart read everything again: the stored offset was not used."

    @requires(Capability.EXACTLY_ONCE, SplitsAnew)
    def test_rows_that_are_split_anew_come_once(self, system: Any) -> None:
        system.insert(make_rows(ROWS))
        with self.run_of(system) as first:
            first.read_batches(2, within_s=self.patience_s)
            first.store_all()
        with SourceRun(self.plugin, dict(system.split_config()), first.store) as second:

            def lost() -> list[int]:
                return missing(system, [*first.full_batches, *second.full_batches])

            second.read_until(lambda: not lost(), within_s=self.patience_s)
        assert not lost(), f"The split changed, and these rows were lost: ids {lost()}"
        twice = repeated(ids_of(system, [*first.full_batches, *second.full_batches]))
        assert not twice, f"The split changed, and rows came again: ids {twice}. Take what `resume` tells."

    def test_a_crash_at_any_step_loses_no_row(self, system: SourceDriver) -> None:
        for crash in self._crashes(system):
            assert not crash.lost, f"{crash.when} lost the rows with ids {crash.lost}"

    @requires(Capability.EXACTLY_ONCE)
    def test_resuming_repeats_no_row(self, system: SourceDriver) -> None:
        for crash in self._crashes(system):
            assert not crash.twice, f"{crash.when} repeated the ids {crash.twice}"

    @requires(Capability.EXACTLY_ONCE)
    def test_a_clean_restart_repeats_no_row(self, system: SourceDriver) -> None:
        system.insert(make_rows(ROWS))
        store, batches = OffsetStore(), list[Batch]()
        while missing(system, batches):
            with self.run_of(system, store) as run:
                assert run.read_batches(1, within_s=self.patience_s), f"After a restart: {missing(system, batches)}"
                run.store_all()
            batches += run.full_batches
            twice = repeated(ids_of(system, batches))
            assert not twice, f"A clean restart repeated the rows with ids {twice}"
        with self.run_of(system, store) as run:
            run.poll(self.quiet_s)
            run.poll(self.quiet_s)
        assert not run.full_batches, f"A restart after the last row repeated ids {ids_of(system, run.batches)}"

    def test_a_kill_while_reading_loses_no_row(self, system: SourceDriver, tmp_path: Path) -> None:
        system.insert(make_rows(ROWS))
        journal = tmp_path / "journal"
        child = start_child(self.plugin, system.config(), journal)
        deadline = Deadline.after(self.patience_s + 10.0)
        try:
            while len(list(read_journal(journal))) < 3 and child.poll() is None and deadline.wait(0.005):
                pass
        finally:
            child.kill()
            code = child.wait()
        frames = list(read_journal(journal))
        assert frames, f"The child read nothing; it ended with code {code}, see its output."
        store = offsets_of(frames)
        with self.run_of(system, store) as run:
            before = {system.row_of(r)["id"] for r in records_of(frames)}
            wanted = set(range(ROWS)) - before
            run.read_until(lambda: wanted <= set(ids_of(system, run.batches)), within_s=self.patience_s)
            lost = sorted(wanted - set(ids_of(system, run.batches)))
        assert not lost, f"A kill -9 lost the rows with ids {lost}; stored were {store.offsets}"

    @requires(UnreadableRows)
    def test_unreadable_rows_are_rejected_and_passed(self, system: Any) -> None:
        for start in (0, 8):
            system.insert(make_rows(7, start=start))
            system.insert_unreadable(make_rows(1, start=start + 7)[0])
        rejected = list[int]()
        with self.run_of(system) as first:
            deadline = Deadline.after(self.patience_s)
            while (missing(system, first.batches) or len(first.rejected) < 2) and not deadline.expired:
                first.poll()
                rejected += [len(first.rejected)] * (len(first.batches) - len(rejected))
            lost = missing(system, first.batches)
        assert not lost, f"Rows beside unreadable ones were lost: ids {lost}"
        assert len(first.rejected) == 2, f"2 rows are unreadable; reject was called for {len(first.rejected)}."
        for stored, before in enumerate([0, *rejected]):
            store = OffsetStore()
            store.store([b.position for b in first.batches[:stored] if b.position is not None])
            with self.run_of(system, store) as second:
                second.read_until(lambda: before + len(second.rejected) >= 2, within_s=self.patience_s)  # noqa: B023 - called at once
                second.read_until(lambda: False, within_s=self.quiet_s)
            found = before + len(second.rejected)
            assert found == 2, (
                f"A restart behind {stored} of {len(rejected)} batches makes {found} rejected rows of 2 unreadable "
                "ones: the batch that `poll` returns next has a position behind them."
            )

    def read_all(self, run: SourceRun, system: SourceDriver, *, retry: bool = False) -> None:
        """Poll until every row is read; AssertionError names those that never came."""
        deadline = Deadline.after(self.patience_s)
        while True:
            try:
                run.read_until(lambda: not missing(system, run.batches), within_s=deadline.remaining_s)
                break
            except RetriableError:
                if not retry or not deadline.wait(0.1):
                    raise
        lost = missing(system, run.batches)
        assert not lost, f"Rows with these ids were never read within {self.patience_s:g} s: {lost}"

    def _crashes(self, system: SourceDriver) -> list[_Crash]:
        """Return what came of a crash at each step: one walk serves the test of lost and that of repeated rows."""
        return self.once("crashes", lambda: list(self._crash_everywhere(system)))

    def _crash_everywhere(self, system: SourceDriver) -> Iterator[_Crash]:
        for polled, stored in self._steps(system):
            first, second = self._crash_and_resume(system, polled, stored)
            durable = [*first.full_batches[:stored], *second.full_batches]
            lost = missing(system, durable, ids=range(ROWS))
            # A lost row cannot be repeated, and each further step would wait in vain for it, so the walk ends here.
            twice = [] if lost else repeated(ids_of(system, durable))
            yield _Crash(f"A crash after {polled} batches, with the offsets of {stored} stored,", lost, twice)
            if lost:
                return

    def _steps(self, system: SourceDriver) -> Iterator[tuple[int, int]]:
        """Yield each step of a reading where a crash could come: batches polled, batches whose offsets are stored."""
        system.insert(make_rows(ROWS))
        with self.run_of(system) as run:
            self.read_all(run, system)
        batches = len(run.full_batches)
        assert batches >= 3, f"{ROWS} rows came in {batches} batches: the driver's config must ask for smaller ones."
        for polled in range(1, min(batches, 6) + 1):
            for stored in sorted({0, polled // 2, polled - 1, polled}):
                system.reset()
                system.insert(make_rows(ROWS))
                yield polled, stored

    def _crash_and_resume(self, system: SourceDriver, polled: int, stored: int) -> tuple[SourceRun, SourceRun]:
        """Return a life that crashes, and the next one, which reads until every row is there.

        If no row may come twice, what comes after that is read as well.
        """
        first = self.run_of(system).open()
        first.read_batches(polled, within_s=self.patience_s)
        place = first.batches.index(first.full_batches[stored - 1]) + 1 if stored else 0
        first.store_first(place)
        first.crash()
        if isinstance(system, Sessions):
            system.end_sessions()
        with self.run_of(system, first.store.copy()) as second:
            durable = first.full_batches[:stored]

            def done() -> bool:
                return not missing(system, [*durable, *second.batches], ids=range(ROWS))

            second.read_until(done, within_s=min(self.patience_s, 5.0))
            if Capability.EXACTLY_ONCE in self.plugin.capabilities:
                second.poll(self.quiet_s)
        return first, second
