"""Checks that a backfill pauses while its source is busy, and goes on when it is not busy, or when its owner lets
it.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from backfill_job import OneAfterTheOther, Table
from e2e_worker import wait_for

from connect.api.errors import ConfigError
from connect.api.optional.bulk import SourceLoad
from connect.backfill.driver import Driver
from connect.backfill.job import pace
from connect.backfill.job.job import JobPace
from connect.backfill.job.kinds import load_of
from connect.backfill.job.pace import Pace
from connect.backfill.job.states import JobState
from connect.backfill.lane import lane
from connect.lib.deadline import Deadline

ROWS = 1000
SLEEPERS = 3


@contextmanager
def busy(table: Table) -> Iterator[None]:
    """So many sessions that work all the time."""
    engine = table.engine
    started = threading.Barrier(SLEEPERS + 1)

    def sleep() -> None:
        with engine.connect() as connection:
            started.wait(60)
            with pytest.raises(Exception, match="canceling statement"):
                connection.exec_driver_sql(f"SELECT pg_sleep(3600) /* {table.name} */")

    threads = [threading.Thread(target=sleep, daemon=True) for _ in range(SLEEPERS)]
    for thread in threads:
        thread.start()
    started.wait(60)
    mine = f"FROM pg_stat_activity WHERE query LIKE '%%pg_sleep%%{table.name}%%' AND pid <> pg_backend_pid()"
    wait_for(lambda: len(asked(table, f"SELECT pid {mine} AND state = 'active'")) == SLEEPERS, 60, "busy sessions")
    yield
    asked(table, f"SELECT pg_cancel_backend(pid) {mine}")
    for thread in threads:
        thread.join(60)


def asked(table: Table, statement: str) -> list[Any]:
    with table.engine.connect() as connection:
        return list(connection.exec_driver_sql(statement))


@pytest.mark.parametrize("by", ["itself", "its owner"])
def test_a_job_waits_while_its_source_is_busy_and_goes_on_by(table: Table, monkeypatch: pytest.MonkeyPatch, by: str):
    table.fill(ROWS)
    loads: list[SourceLoad] = []
    monkeypatch.setattr(pace, "_ASK_S", 0.05)
    monkeypatch.setattr(lane, "load_of", lambda connectors: loads.append(load_of(connectors)) or loads[-1])
    with table.driver(limits={"max_active_sessions": SLEEPERS - 1, "max_replica_lag": "1h"}) as driver:
        driver.begin()  # the mark waits for transactions that are open, and these sessions have some
        running = threading.Thread(target=lambda: driver.run(OneAfterTheOther()), daemon=True)
        with busy(table):
            running.start()
            wait_for(lambda: len(loads) > 3, 60, "a lane that asks how busy the source is")
            assert table.records() == []
            assert loads[0].active_sessions is not None
            assert loads[0].active_sessions >= SLEEPERS
            assert loads[0].replica_lag_s == 0.0
            if by == "its owner":
                driver.store.say(JobPace(table.name, Pace()), Deadline.after(60))
                running.join(60)
        running.join(60)
        assert driver.ownership.require_known().state is JobState.COPIED
    assert Counter(table.ids()) == Counter(range(1, ROWS + 1))


def test_a_limit_that_the_source_cannot_tell_is_refused_before_anything_is_planned(table: Table, tmp_path):
    given = table.connector() | {"connection.url": f"jdbc:sqlite:{tmp_path / 'none.db'}"}
    settings = {key: value for key, value in given.items() if key not in {"connection.user", "connection.password"}}
    told = pytest.raises(ConfigError, match=r"limits\.max_active_sessions: the source does not tell it")
    worker = table.worker(**{"allowed.paths": str(tmp_path)})
    with Driver(table.spec(limits={"max_active_sessions": 5}), worker, settings) as driver, told:
        driver.planner.plan()
