"""No committed row is lost under overlapping transactions and crashes, and none comes twice.

`CONNECT_STRESS_S` sets how long the writers run; `make chaos` gives them a minute.
"""

from __future__ import annotations

import os
import threading

import pytest
import sqlalchemy as sa
from jdbc_server import Server
from jdbc_stress import COLUMNS, MODES, WRITERS, Committed, Reader, Writer, lost

from connect.lib.deadline import Deadline

STRESS_S = float(os.environ.get("CONNECT_STRESS_S", "8"))
ROWS = 500
CRASHES = 3


@pytest.mark.timeout(240)
@pytest.mark.parametrize("server", ["postgres", "mariadb"], indirect=True)
def test_every_committed_row_comes_once_where_the_naive_statement_loses_some(server: Server):
    server.run(f"CREATE TABLE {{t}} ({COLUMNS[server.name]})", "CREATE INDEX {t}_ts ON {t} (ts, id)")
    readers = {
        (mode, offset_mode): Reader(
            lambda store, mode=mode, offset_mode=offset_mode: server.opened(
                store,
                **MODES[mode],
                offset__mode=offset_mode,
                settle__time__ms=None,
                timestamp__granularity="micros_long",
                batch__max__rows=50,
                poll__interval__ms=100,
            ),
            seed,
            crashes=offset_mode == "safe",
        )
        for seed, (mode, offset_mode) in enumerate((m, o) for m in MODES for o in ("safe", "confluent"))
    }
    enough = threading.Event()
    writing = Deadline.after(STRESS_S + 120, enough)
    committed = Committed()
    engine = sa.create_engine(server.engine.url, pool_size=WRITERS)
    writers = [Writer(engine, server.table, seed, writing, committed) for seed in range(WRITERS)]
    for thread in (*readers.values(), *writers):
        thread.start()
    safe = {mode: reader for (mode, offset_mode), reader in readers.items() if offset_mode == "safe"}
    writing.wait(STRESS_S)
    # A machine with other work gets to as many rows and crashes, only later.
    while len(committed.versions) < ROWS or sum(reader.crashed for reader in safe.values()) < CRASHES:
        assert writing.wait(0.1), f"{len(committed.versions)} rows"
    enough.set()
    for writer in writers:
        writer.join(60)
    engine.dispose()
    assert not committed.failures
    _all_came(committed, safe)
    for reader in readers.values():
        reader.end()
        assert reader.failure is None
    naive = {m: len(lost(committed, r, updates=m != "incrementing")) for (m, o), r in readers.items() if o != "safe"}
    crashed = sum(reader.crashed for reader in safe.values())
    counts = f"{len(committed.versions)} rows, {crashed} crashes; the naive statements lost {naive}"
    print(f"{server.name}: {counts}")  # noqa: T201 - `make chaos` shows it
    lost_rows = {mode: lost(committed, r, updates=mode != "incrementing") for mode, r in safe.items()}
    twice = {mode: [row for row, times in r.delivered.items() if times > 1] for mode, r in safe.items()}
    assert not any(lost_rows.values()), lost_rows
    assert not any(twice.values()), twice
    assert all(naive.values())


def _all_came(committed: Committed, safe: dict[str, Reader]) -> None:
    deadline = Deadline.after(60)
    while any(lost(committed, reader, updates=mode != "incrementing") for mode, reader in safe.items()):
        if not deadline.wait(0.05):
            return
