"""Provides SinkSuite: what a sink promises, as tests. Inherit it, set `plugin` and `driver`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from connect.api import schema as s
from connect.api.errors import ConnectError, RetriableError, SchemaError
from connect.api.plugin import Capability
from connect.testing.drivers import ROW_SCHEMA, BadRows, Breakable, Row, SinkDriver, Types
from connect.testing.equality import difference
from connect.testing.leaks import leaks_of
from connect.testing.rows import make_rows, unwritten, written_twice
from connect.testing.sink_records import SinkRecords
from connect.testing.sink_restarts import CUT, OTHER_CUT, PER_PARTITION
from connect.testing.sink_run import FakeLog
from connect.testing.strategies import TYPE_CASES, schemas, values
from connect.testing.suite import requires


class SinkSuite(SinkRecords):
    """Checks the contract of a sink. See ConnectorSuite for what to set.

    `grace_s`: how late put and flush may come back. `examples`: how many generated schemas the type test takes.
    """

    examples: ClassVar[int] = 20

    def test_every_row_is_readable_after_flush_value_by_value(self, system: SinkDriver) -> None:
        log = self.log_of(system)
        with self.run_of(system) as run:
            run.assign(log.partitions)
            run.put_all(log, CUT)
            self.claim(run, log.ends)
            landed = {row["id"]: row for row in system.read_back()}
        wanted = [row for rows in log.rows.values() for row in rows if row is not None]
        wrong = [d for row in wanted if (d := difference(row, landed.get(row["id"]), f"row {row['id']}"))]
        assert not wrong, f"{len(wrong)} rows differ from what was put: {'; '.join(wrong[:5])}"

    def test_batches_without_rows_move_the_offset(self, system: SinkDriver) -> None:
        log = FakeLog(system.topic, {0: ()})
        with self.run_of(system) as run:
            run.assign(log.partitions)
            for next_offset in (5, 9):
                run.put(log.batch(0, 0, 0, next_offset=next_offset))
            moved = run.flush_until({log.partitions[0]: 9}, within_s=min(self.patience_s, 5.0))
        assert moved, f"Batches without rows end at offset 9; flush claims {run.claimed}"

    def test_an_idle_flush_is_harmless(self, system: SinkDriver) -> None:
        log = self.log_of(system)
        with self.run_of(system) as run:
            run.flush()
            run.assign(log.partitions)
            run.flush()
            run.put_all(log, PER_PARTITION)
            self.claim(run, log.ends)
            run.flush()
            assert run.claimed == log.ends, f"A flush with nothing to do changed the claims to {run.claimed}"

    def test_arrow_and_row_batches_land_alike(self, system: SinkDriver) -> None:
        landed = []
        for as_arrow in (True, False):
            system.reset()
            log = self.log_of(system, as_arrow=as_arrow)
            with self.run_of(system) as run:
                run.assign(log.partitions)
                run.put_all(log, CUT)
                self.claim(run, log.ends)
                landed.append(sorted(system.read_back(), key=lambda row: int(row["id"])))
        found = difference(landed[0], landed[1], "rows")
        assert found is None, f"The same rows land differently as Arrow (wanted) and as Python rows (found): {found}"

    @pytest.mark.parametrize("timeout_s", [0.0, 0.3])
    def test_put_and_flush_return_by_their_deadline(self, system: SinkDriver, timeout_s: float) -> None:
        log = self.log_of(system)
        with self.run_of(system) as run:
            run.assign(log.partitions)
            for batch in log.batches(CUT):
                try:
                    run.put(batch, timeout_s=timeout_s, grace_s=self.grace_s)
                    run.flush(timeout_s=timeout_s, grace_s=self.grace_s)
                except RetriableError:
                    break  # no time left: allowed, as nothing was claimed
            self.check_durable(system, log, run, f"with {timeout_s} s per call")

    def test_close_twice_is_harmless(self, system: SinkDriver) -> None:
        log = self.log_of(system)
        run = self.run_of(system).open().assign(log.partitions)
        run.put_all(log, CUT)
        run.flush()
        task = run.task
        assert task is not None
        run.thread.call("close", task.close)
        run.close()
        self.check_durable(system, log, run, "closed twice")

    def test_close_leaves_no_thread_and_nothing_open(self, system: SinkDriver) -> None:
        left = leaks_of(lambda: self.exercise(system.config(), system))
        assert not left, f"close left behind: {'; '.join(left)}"

    @requires(BadRows)
    def test_one_bad_row_is_rejected_alone(self, system: Any) -> None:
        rows = make_rows(PER_PARTITION)
        rows[5] = system.bad_row(rows[5])
        log = FakeLog(system.topic, {0: rows})
        with self.run_of(system) as run:
            run.assign(log.partitions)
            run.put_all(log, PER_PARTITION)
            self.claim(run, log.ends)
        refused = run.refused_offsets
        assert refused == {5}, f"The bad row is at offset 5; rejected were the offsets {refused or 'of none'}"
        lost = unwritten(system, [row for i, row in enumerate(rows) if i != 5])
        assert not lost, f"The rows beside a bad one were lost: ids {lost}"

    @requires(Breakable)
    def test_a_lost_connection_heals(self, system: Any) -> None:
        log = self.log_of(system)
        with self.run_of(system) as run:
            run.assign(log.partitions)
            for number, batch in enumerate(log.batches(CUT)):
                if number == 2:
                    system.break_connection()
                taken = _succeeds(partial(run.put, batch, timeout_s=1.0))
                _succeeds(lambda: run.flush(timeout_s=1.0))
                if number == 2:
                    system.heal()
                if not taken:
                    run.put(batch)
            self.claim(run, log.ends)
        lost = unwritten(system, [row for rows in log.rows.values() for row in rows])
        assert not lost, f"A lost connection lost the rows with ids {lost}"
        if Capability.EXACTLY_ONCE in self.plugin.capabilities:
            twice = written_twice(system)
            assert not twice, f"A lost connection left twice the ids {twice}"

    @requires(Breakable)
    def test_a_failed_open_leaves_nothing(self, system: Any) -> None:
        def fail() -> None:
            system.break_connection()
            try:
                with self.run_of(system):
                    pass
            except ConnectError:
                pass  # a sink may connect in open or in the first put
            finally:
                system.heal()

        left = leaks_of(fail)
        assert not left, f"A failed open left behind: {'; '.join(left)}"

    @requires(Capability.UPDATES)
    def test_a_later_row_of_a_key_replaces_the_earlier(self, system: SinkDriver) -> None:
        rows = make_rows(PER_PARTITION // 2)
        later = [{**row, "text": f"later {row['id']}"} for row in rows]
        log = FakeLog(system.topic, {0: [*rows, *later]})
        with self.run_of(system) as run:
            run.assign(log.partitions)
            run.put_all(log, OTHER_CUT)
            self.claim(run, log.ends)
        twice = written_twice(system)
        assert not twice, f"A key must keep one row; twice are the ids {twice}"
        landed = {row["id"]: row["text"] for row in system.read_back()}
        assert landed == {row["id"]: row["text"] for row in later}, f"The later row must win; there is {landed}"

    @requires(Capability.DELETES)
    def test_tombstones_delete(self, system: SinkDriver) -> None:
        rows: list[Row | None] = [*make_rows(PER_PARTITION - 2), None, None]
        ids = [*range(PER_PARTITION - 2), 1, 4]
        log = FakeLog(system.topic, {0: rows}, ROW_SCHEMA.as_optional(), {0: ids})
        with self.run_of(system) as run:
            run.assign(log.partitions)
            run.put_all(log, OTHER_CUT)
            self.claim(run, log.ends)
        left = {row["id"] for row in system.read_back()}
        assert left == set(ids) - {1, 4}, f"Tombstones came for the ids 1 and 4; there are {sorted(left)}"

    @requires(Types)
    @pytest.mark.parametrize("name", TYPE_CASES)
    def test_a_type_is_kept_or_refused(self, system: Any, name: str) -> None:
        case = TYPE_CASES[name]
        refused = self._check_type(system, case.schema, case.values)
        if name in system.cannot_hold:
            assert refused, f"The driver says that {name} cannot be held ({system.cannot_hold[name]}); it was kept."
        assert not refused or name in system.cannot_hold, f"{name} was refused, and the driver does not declare it."

    @requires(Types)
    def test_any_schema_is_kept_or_refused(self, system: Any) -> None:
        @settings(max_examples=self.examples, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
        @given(st.data())
        def check(data: st.DataObject) -> None:
            schema = data.draw(schemas(), label="schema")
            rows = data.draw(st.lists(values(schema), min_size=1, max_size=4), label="values")
            self._check_type(system, schema, rows)

        check()

    def _check_type(self, system: Any, schema: s.Schema, given_values: Sequence[Any]) -> bool:
        """Put the values; each must come back the same, unless a SchemaError or a rejected row says otherwise.

        Return True if one was refused.
        """
        system.reset()
        rows = [{"id": i, "value": given_values[i % len(given_values)]} for i in range(PER_PARTITION)]
        log = FakeLog(system.topic, {0: rows}, s.struct({"id": s.INT64, "value": schema}))
        with self.run_of(system) as run:
            run.assign(log.partitions)
            try:
                run.put_all(log, PER_PARTITION)
                self.claim(run, log.ends)
            except SchemaError:
                return True
        refused = run.refused_offsets
        landed = {row["id"]: row for row in system.read_types()}
        wanted = [row for i, row in enumerate(rows) if i not in refused]
        wrong = [d for row in wanted if (d := difference(row, landed.get(row["id"]), f"row {row['id']}"))]
        assert not wrong, f"{schema} changed without a SchemaError: {wrong[0]}"
        return bool(refused)


def _succeeds(call: Callable[[], object]) -> bool:
    """Tell if the call went through; False for a RetriableError, which a lost connection may raise."""
    try:
        call()
    except RetriableError:
        return False
    return True
