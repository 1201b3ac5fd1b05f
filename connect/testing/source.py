"""Provides SourceSuite: what a source promises, as tests. Inherit it, set `plugin` and `driver`."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Mapping
from typing import Any, ClassVar

import pytest

from connect.api.arrow import arrow_type
from connect.api.connector import CleanupConnector
from connect.api.errors import ConnectError, RetriableError
from connect.api.plugin import Capability
from connect.api.records import Column
from connect.lib.deadline import Deadline
from connect.testing.drivers import Breakable, Deletes, InOrder, LeavesBehind, SourceDriver, Updates
from connect.testing.equality import difference
from connect.testing.fakes import OffsetStore
from connect.testing.leaks import leaks_of
from connect.testing.rows import ids_of, latest, make_rows, records, repeated, unchanged
from connect.testing.source_restarts import ROWS
from connect.testing.source_run import SourceRun, build_connector
from connect.testing.source_tables import SourceTables
from connect.testing.suite import requires
from connect.testing.task_thread import TaskThread

IDLE_CPU_S = 0.06
"""Idle polls of two seconds may take so much processor time. A spin takes more, even on a crowded core."""
IDLE_ROUNDS = 3
"""So many rounds are tried. A search for garbage, or an earlier test's thread, computes in one; a spin in all."""

OUTAGE_S = 2.0
"""A source is asked for so many seconds while its system is away: rows that are at hand already come first."""


class SourceSuite(SourceTables):
    """Checks the contract of a source. See ConnectorSuite for what to set.

    `grace_s`: how late a poll may come back. `quiet_s`: how long a poll waits for rows that must not come.
    """

    grace_s: ClassVar[float] = 1.0

    def test_every_row_is_read_value_by_value(self, system: SourceDriver) -> None:
        system.insert(make_rows(ROWS))
        with self.run_of(system) as run:
            self.read_all(run, system)
            rows = latest(system, records(run.batches))
        wrong = [d for e in system.expected() if (d := difference(e, rows[e["id"]], f"row {e['id']}"))]
        assert not wrong, f"Values changed on the way: {'; '.join(wrong[:5])}"

    def test_arrow_and_row_form_agree(self, system: SourceDriver) -> None:
        system.insert(make_rows(ROWS))
        with self.run_of(system) as run:
            self.read_all(run, system)
        for column in (c for b in run.full_batches for c in (b.values, b.keys) if c is not None):
            array = column.arrow()
            if column.schema is not None:
                wanted = arrow_type(column.schema)
                assert array.type == wanted, f"The Arrow form is {array.type}; its schema says {wanted}."
            found = difference(list(Column.from_arrow(array, column.schema).rows()), list(column.rows()), "rows")
            assert found is None, f"The Arrow form and the rows of one batch differ: {found}"

    def test_rows_inserted_while_reading_are_read(self, system: SourceDriver) -> None:
        system.insert(make_rows(ROWS // 2))
        with self.run_of(system) as run:
            run.read_batches(1, within_s=self.patience_s)
            system.insert(make_rows(ROWS // 2, start=ROWS // 2))
            self.read_all(run, system)
            system.insert(make_rows(3, start=ROWS))
            self.read_all(run, system)

    def test_offsets_are_json_primitives_and_survive_the_store(self, system: SourceDriver) -> None:
        system.insert(make_rows(ROWS))
        with self.run_of(system) as run:
            self.read_all(run, system)
            run.store_all()
        for position in (b.position for b in run.batches if b.position is not None):
            OffsetStore().store([position])
            if position.offset is not None:
                store = OffsetStore()
                store.store([position])
                found = difference(position.offset, store.stored_offset(position.partition), "offset")
                assert found is None, f"The offset changes in the offset store: {found}"
        without = sum(b.position is None for b in run.full_batches)
        assert run.store.offsets or without == len(run.full_batches), "The source gives rows but no position."

    def test_order_is_kept_within_a_partition(self, system: SourceDriver) -> None:
        system.insert(make_rows(ROWS))
        with self.run_of(system) as run:
            self.read_all(run, system)
        places = Counter[str]()
        for batch in run.full_batches:
            ids = ids_of(system, [batch])
            if isinstance(system, InOrder) and system.in_order:
                name = str(batch.position.partition) if batch.position else ""
                assert ids == sorted(ids), f"Within one batch the ids come as {ids}"
                assert places.get(name, -1) < ids[0], f"Id {ids[0]} of {name} came after {places[name]}"
                places[name] = ids[-1]
            row_ids = [system.row_of(r)["id"] for r in batch.rows()]
            assert ids == row_ids, "The columns and the rows of a batch are in different order."

    def test_poll_returns_by_its_deadline(self, system: SourceDriver) -> None:
        with self.run_of(system) as run:
            for timeout_s in (0.0, 0.2):
                run.poll(timeout_s, grace_s=self.grace_s)
            system.insert(make_rows(ROWS))
            for _ in range(10):
                run.poll(0.1, grace_s=self.grace_s)

    def test_stop_ends_a_poll_early(self, system: SourceDriver) -> None:
        with self.run_of(system) as run:
            run.poll(0.2)
            stop = threading.Event()
            asked = threading.Timer(0.2, stop.set)
            asked.start()
            task = run.tasks[0]
            run.thread.call(
                "poll after stop was asked for",
                lambda: task.poll(Deadline.after(60.0, stop)),
                limit_s=0.2 + self.grace_s,
                fix="Wait with deadline.wait, which stop ends.",
            )
            asked.join()

    def test_an_idle_source_gives_nothing(self, system: SourceDriver) -> None:
        with self.run_of(system) as run:
            assert run.poll(self.quiet_s) is None, "There are no rows, and yet poll gave a batch with rows."
            system.insert(make_rows(3))
            self.read_all(run, system)
            before = len(ids_of(system, run.batches))
            for _ in range(3):
                run.poll(self.quiet_s)
            again = ids_of(system, run.batches)[before:]
            assert not again, f"Nothing was added, and yet poll gave the ids {again} again."

    def test_an_idle_poll_uses_no_processor(self, system: SourceDriver) -> None:
        with self.run_of(system) as run:
            run.poll(0.2)
            for _ in range(IDLE_ROUNDS):
                before_s = time.process_time()
                waited = sum(run.poll(0.5) is None for _ in range(4))
                used_s = time.process_time() - before_s
                assert waited == 4, "There are no rows, and yet poll gave some."
                if used_s < IDLE_CPU_S:
                    break
        assert used_s < IDLE_CPU_S, f"Four idle polls used {used_s:.2f} s of processor time: wait with the deadline."

    def test_tasks_share_the_rows(self, system: SourceDriver) -> None:
        system.insert(make_rows(ROWS))
        with self.run_of(system, max_tasks=3) as run:
            self.read_all(run, system)
            twice = repeated(ids_of(system, run.batches))
        assert not twice, f"Two tasks gave the same rows: ids {twice}"

    def test_close_twice_is_harmless(self, system: SourceDriver) -> None:
        system.insert(make_rows(3))
        run = self.run_of(system).open()
        run.poll()
        task = run.tasks[0]
        run.thread.call("close", task.close)
        run.close()
        assert not run.tasks, "The run still holds tasks."

    def test_close_leaves_no_thread_and_nothing_open(self, system: SourceDriver) -> None:
        system.insert(make_rows(3))

        def live() -> None:
            with self.run_of(system) as run:
                run.poll()

        left = leaks_of(live)
        assert not left, f"close left behind: {'; '.join(left)}"

    @requires(Capability.UPDATES, Updates)
    def test_updates_are_read(self, system: Any) -> None:
        system.insert(make_rows(6))
        with self.run_of(system) as run:
            self.read_all(run, system)
            system.update([{**row, "text": "changed", "tie": row["tie"] + 100} for row in make_rows(3)])
            run.read_until(lambda: not unchanged(system, run.batches, range(3)), within_s=self.patience_s)
            left = unchanged(system, run.batches, range(3))
        assert not left, f"The changed text of these rows was not read: {left}"

    @requires(Capability.DELETES, Deletes)
    def test_deletes_become_tombstones(self, system: Any) -> None:
        system.insert(make_rows(6))
        with self.run_of(system) as run:
            self.read_all(run, system)
            system.delete([1, 4])
            dead: set[int] = set()

            def died() -> bool:
                dead.update(system.row_of(r)["id"] for r in records(run.batches) if r.value is None)
                return dead >= {1, 4}

            run.read_until(died, within_s=self.patience_s)
        assert dead == {1, 4}, f"Deleted were the ids 1 and 4; tombstones came for {sorted(dead)}"

    @requires(Capability.CLEANUP, LeavesBehind)
    def test_a_deleted_connector_leaves_nothing_behind(self, system: Any) -> None:
        system.insert(make_rows(3))
        config = system.cleanup_config()
        with SourceRun(self.plugin, config) as run:
            self.read_all(run, system)
        assert system.left_behind(), "The source has run, and the system keeps nothing that a deletion could take away."
        said = [self._clean_up(config) for _ in range(2)]
        left = system.left_behind()
        assert not left, f"The connector was deleted, and the system still keeps {', '.join(left)}."
        assert said == [None, None], f"All was taken away, and yet clean_up says what stays: {said}"

    @requires(Capability.CLEANUP, LeavesBehind, Breakable)
    def test_a_cleanup_says_when_the_system_cannot_be_reached(self, system: Any) -> None:
        config = system.cleanup_config()
        system.break_connection()
        try:
            with pytest.raises(RetriableError):
                self._clean_up(config)
        finally:
            system.heal()

    def _clean_up(self, config: Mapping[str, str]) -> str | None:
        """Return what a deleted connector says, which has to come by its deadline."""
        thread = TaskThread("clean_up")
        try:
            connector = thread.call("factory", lambda: build_connector(self.plugin, config))
            assert isinstance(connector, CleanupConnector), "It declares CLEANUP and has no clean_up."
            deadline = Deadline.after(self.patience_s)
            return thread.call("clean_up", lambda: connector.clean_up(deadline), limit_s=self.patience_s + self.grace_s)
        finally:
            thread.end()

    @requires(Breakable)
    def test_a_lost_connection_heals(self, system: Any) -> None:
        system.insert(make_rows(ROWS))
        with self.run_of(system) as run:
            run.read_batches(1, within_s=self.patience_s)
            system.break_connection()
            outage = Deadline.after(OUTAGE_S)
            try:
                while not outage.expired:
                    run.poll(0.5)
            except RetriableError:
                pass  # what the contract asks for
            finally:
                system.heal()
            system.insert(make_rows(3, start=ROWS))
            self.read_all(run, system, retry=True)

    @requires(Breakable)
    def test_a_failed_open_leaves_nothing(self, system: Any) -> None:
        def fail() -> None:
            system.break_connection()
            try:
                with self.run_of(system) as run:
                    run.poll(0.5)
            except ConnectError:
                pass  # a source may connect in open or in the first poll
            finally:
                system.heal()

        left = leaks_of(fail)
        assert not left, f"A failed open left behind: {'; '.join(left)}"
