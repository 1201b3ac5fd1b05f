"""A transaction that commits behind rows that were delivered already, while a pass was broken off."""

from __future__ import annotations

import pytest
from jdbc_drive import OffsetStore, batches, rows
from jdbc_server import Server
from test_jdbc_stress import COLUMNS, MODES

from connect.api.deadline import Deadline

INSERT = "INSERT INTO {t} (ts, version) VALUES (CURRENT_TIMESTAMP(6), 1)"


@pytest.mark.parametrize("mode", MODES)
def test_a_row_committed_between_the_halves_of_a_broken_pass_comes(server: Server, mode: str):
    server.run(f"CREATE TABLE {{t}} ({COLUMNS[server.name]})", "CREATE INDEX {t}_ts ON {t} (ts, id)")
    store = OffsetStore()
    settings = {**MODES[mode], "batch__max__rows": 2, "timestamp__granularity": "micros_long"}
    task = server.opened(store, **settings)
    with server.engine.begin() as late:
        late.exec_driver_sql(INSERT.format(t=server.table))
        server.run(*[INSERT] * 5)
        read = rows(batches(task, store, at_most=1))
        task.close()
    task = server.opened(store, **settings)
    deadline = Deadline.after(5)
    while len(read) < 6:
        assert deadline.wait(0.02), f"only {sorted(row['id'] for row in read)} came"
        read += rows(batches(task, store))
    task.close()
    assert sorted(row["id"] for row in read) == [1, 2, 3, 4, 5, 6]
