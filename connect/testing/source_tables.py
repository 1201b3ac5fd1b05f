"""Holds the tests of a source's columns that come and go, and of several topics at once."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from connect.api.errors import RetriableError
from connect.lib.deadline import Deadline
from connect.testing.drivers import SchemaChanges, SourceTopics
from connect.testing.equality import difference
from connect.testing.fakes import OffsetStore
from connect.testing.rows import ids_of, latest, make_rows, records, repeated
from connect.testing.source_restarts import ROWS, SourceRestarts
from connect.testing.source_run import SourceRun
from connect.testing.suite import requires
from connect.testing.task_thread import THREAD_PREFIX


class SourceTables(SourceRestarts):
    """Holds the part of SourceSuite about changed columns and several topics; inherit SourceSuite."""

    @requires(SchemaChanges)
    def test_a_changed_schema_loses_no_row(self, system: Any) -> None:
        system.insert(make_rows(ROWS // 2))
        with self.run_of(system) as run:
            run.read_batches(1, within_s=self.patience_s)
            self._change(run, system.add_column)
            system.insert(make_rows(ROWS // 2, start=ROWS // 2))
            self.read_all(run, system, retry=True)
            self._change(run, system.drop_column)
            system.insert(make_rows(ROWS // 2, start=ROWS))
            self.read_all(run, system, retry=True)
            read = latest(system, records(run.batches))
        wrong = [d for e in system.expected() if (d := difference(e, read[e["id"]], f"row {e['id']}"))]
        assert not wrong, f"A column came and went, and values changed: {'; '.join(wrong[:5])}"

    @requires(SourceTopics)
    def test_rows_of_several_topics_are_read(self, system: Any) -> None:
        store = OffsetStore()
        batches = []
        for start in (0, 2 * ROWS):
            system.insert(make_rows(ROWS, start=start))
            system.insert_other(make_rows(ROWS, start=start + ROWS))
            with SourceRun(self.plugin, dict(system.topics_config()), store, max_tasks=2) as run:
                self._read_ids(run, system, set(range(start, start + 2 * ROWS)))
                run.store_all()
            batches += run.full_batches
        twice = repeated(ids_of(system, batches))
        assert not twice, f"Of two topics the rows with ids {twice} were read twice."
        topics: dict[bool, set[str]] = {False: set(), True: set()}
        for record in records(batches):
            topics[system.row_of(record)["id"] // ROWS % 2 == 1].add(record.topic)
        assert all(len(found) == 1 for found in topics.values()), f"The rows of one stream came in topics {topics}"
        assert topics[False] != topics[True], f"The rows of two streams came in one topic: {topics[True]}"

    def _change(self, run: SourceRun, change: Callable[[], None]) -> None:
        """Change the columns while the source reads on: a database waits with the change for readers of the table."""
        other = ThreadPoolExecutor(1, thread_name_prefix=THREAD_PREFIX)
        done = other.submit(change)
        other.shutdown(wait=False)
        deadline = Deadline.after(self.patience_s)
        while not done.done():
            assert not deadline.expired, f"The source kept the table from being changed for {self.patience_s:g} s."
            with suppress(RetriableError):  # it is to be called again
                run.poll(0.1)
        done.result()

    def _read_ids(self, run: SourceRun, system: Any, wanted: set[int]) -> None:
        run.read_until(lambda: wanted <= set(ids_of(system, run.batches)), within_s=self.patience_s)
        lost = sorted(wanted - set(ids_of(system, run.batches)))
        assert not lost, f"Of two topics the rows with ids {lost} were never read."
