"""A first read in ranges, by several tasks that are killed, while writers commit: every row version once."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping

import pytest
import sqlalchemy as sa
from jdbc_drive import OffsetStore
from jdbc_server import FULL, Server
from jdbc_stress import COLUMNS, MODES, SERIES, Committed, Reader, Row, Writer

from connect.api.allowed_paths import EVERYWHERE
from connect.lib.deadline import Deadline
from connectors.jdbc.follow import first_read, offsets
from connectors.jdbc.settings.table_choice import TableName
from connectors.jdbc.source.task import JdbcSourceTask

STRESS_S = float(os.environ.get("CONNECT_STRESS_S", "0"))
ROWS = 1500
WRITING_S = 2.5


class Killed(Reader):
    """A task that is killed with rows in its hands, again and again as long as the first read lasts."""

    def __init__(
        self,
        open_task: Callable[[OffsetStore], JdbcSourceTask],
        seed: int,
        store: OffsetStore,
        is_first: Callable[[], bool],
    ) -> None:
        super().__init__(open_task, seed, crashes=False, store=store)
        self._is_first = is_first

    def life(self, store: OffsetStore) -> None:
        task, left = self.open_task(store), self.random.randint(1, 10)
        try:
            while not self.ended.is_set():
                batch = task.poll(Deadline.after(0.05))
                if batch is None:
                    continue
                if left == 0 and self._is_first():
                    self.crashed += 1
                    return
                left = max(0, left - 1)
                store.store(batch)
                self.delivered.update((row["id"], row["version"]) for row in batch.values.rows())
        finally:
            task.close()


class Run:
    """A connector's tasks over one table, each killed at random, and their shared offsets."""

    def __init__(self, server: Server, mode: str) -> None:
        planned = server.connector(
            **MODES[mode],
            initial__read__parallelism=5,
            settle__time__ms=None,
            timestamp__granularity="micros_long",
            batch__max__rows=20,
            poll__interval__ms=100,
        )
        self._planned = planned
        self._by_id = mode == "incrementing"
        self.configs = planned.task_configs(3)
        self._store = OffsetStore()
        self._partition = offsets.table_partition(TableName(*FULL[server.name].format(server.table).split(".")))
        self.begun: list[tuple[int, ...]] = []
        self.readers = [
            Killed(self._opener(number), number, self._store, lambda: offsets.initial_read_of(self.stored) is not None)
            for number in range(len(self.configs))
        ]

    @property
    def stored(self) -> Mapping[str, object]:
        return self._store.stored_offset(self._partition) or {}

    @property
    def came(self) -> Counter[Row]:
        return sum((Counter(dict(reader.delivered)) for reader in self.readers), Counter())

    def missing(self, committed: Committed) -> list[Row]:
        came, ids = self.came, {row for row, _ in self.came}
        return [row for row in committed.versions.items() if (row[0] not in ids if self._by_id else row not in came)]

    def wait_for(self, committed: Committed) -> None:
        deadline = Deadline.after(60)
        while self.missing(committed) or not self.stored or offsets.initial_read_of(self.stored) is not None:
            if not deadline.wait(0.05):
                break
        for reader in self.readers:
            reader.end()
            assert reader.failure is None

    def _opener(self, number: int) -> Callable[[OffsetStore], JdbcSourceTask]:
        def open_task(store: OffsetStore) -> JdbcSourceTask:
            state = offsets.initial_read_of(self.stored)
            if state is not None:
                self.begun.append(state[1])
            task = self._planned.task({**self.configs[number], **EVERYWHERE})
            task.open(store)
            return task

        return open_task


@pytest.mark.parametrize("mode", MODES if STRESS_S else ["both"])
def test_ranges_that_killed_tasks_read_and_the_rows_after_them_have_every_row_once(
    server: Server, mode: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(first_read, "LEAST_KEYS", 100)
    series = SERIES[server.name].format(n=ROWS)
    ago = "INTERVAL '1' MINUTE"
    server.run(
        f"CREATE TABLE {{t}} ({COLUMNS[server.name]})",
        f"INSERT INTO {{t}} (ts, version) SELECT CURRENT_TIMESTAMP(6) - {ago}, 1 FROM {series} ORDER BY seq",
        "CREATE INDEX {t}_ts ON {t} (ts, id)",
    )
    run = Run(server, mode)
    assert [bool(config["tables"]) for config in run.configs] == [True, False, False]
    committed = Committed(versions=dict.fromkeys(range(1, ROWS + 1), 1))
    engine = sa.create_engine(server.engine.url, pool_size=4)
    writing = Deadline.after(WRITING_S)
    writers = [Writer(engine, server.table, seed, writing, committed) for seed in range(4)]
    for number, writer in enumerate(writers):
        writer.owns(dict.fromkeys(range(number + 1, ROWS, 40), 1))
    for thread in (*writers, *run.readers):
        thread.start()
    for writer in writers:
        writer.join(WRITING_S + 30)
    engine.dispose()
    assert not committed.failures

    run.wait_for(committed)
    assert not run.missing(committed)
    assert not [row for row, times in run.came.items() if times > 1]
    # Tasks were killed while ranges were read, and there was one first read, of five ranges.
    assert sum(reader.crashed for reader in run.readers) >= 5
    assert {len(cuts) for cuts in run.begun} == {4}
    assert len(set(run.begun)) == 1
    wanted = {"timestamp", "timestamp_nanos"} if "timestamp" in MODES[mode]["mode"] else set()
    wanted |= {"incrementing"} if "incrementing" in MODES[mode]["mode"] else set()
    assert wanted <= run.stored.keys() <= wanted | {"safe_pass", "tie_timestamp_us", "tie_key"}
    if mode == "incrementing":
        assert run.stored["incrementing"] >= ROWS
