"""Checks that a job opens no more connections to its source than its owner allows, and follows each new limit at
once.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from backfill_job import Table
from e2e_worker import wait_for

from connect.api.errors import ConfigError
from connect.backfill.driver import Driver
from connect.backfill.job.job import Job, JobPace
from connect.backfill.job.pace import Pace
from connect.backfill.job.states import JobState
from connect.lib.deadline import Deadline

ESTABLISHED = "01"
ROWS = 4000
LANES = 4
OF_A_LANE = 2
SLOW = 10
"""Rows per second: the job would take minutes at it, and is let go when all was seen."""


class Connections:
    """How many connections a job has in PostgreSQL, looked at all the time: now, and at most since `watch_anew`.

    A session that the server ends is in its list until its process is gone: the job has it as long as its own end of
    the connection is open.
    """

    def __init__(self, table: Table) -> None:
        self._table = table
        self._lock = threading.Lock()  # one thread looks, and the test's begins anew
        self.now = self.most = -1  # nobody has looked yet

    def follow(self, ended: threading.Event) -> None:
        own = f"SELECT client_port FROM pg_stat_activity WHERE application_name = '{self._table.name}'"
        with self._table.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            while not ended.wait(0.01):
                listed = set(connection.exec_driver_sql(own).scalars())
                with self._lock:
                    self.now = len(listed & open_ports())
                    self.most = max(self.most, self.now)

    def watch_anew(self) -> None:
        with self._lock:
            self.most = self.now


def open_ports() -> set[int]:
    """Return the ports of this machine's open connections, as Linux lists them (see proc_net(5))."""
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return {int(own.rpartition(":")[2], 16) for _, own, _, state, *_ in lines if state == ESTABLISHED}


@contextmanager
def followed(table: Table) -> Iterator[Connections]:
    found, ended = Connections(table), threading.Event()
    following = threading.Thread(target=found.follow, args=(ended,), daemon=True)
    following.start()
    yield found
    ended.set()
    following.join(60)


def driver_of(table: Table, engine: dict[str, object], source_connections: int) -> Driver:
    given = table.connector()
    given["connection.url"] += f"?ApplicationName={table.name}"
    limits = {"source_connections": source_connections, "max_rows_per_second": SLOW}
    return table.driver(given, engine=engine, chunking={"rows": 50, "lanes": LANES}, limits=limits)


def has_so_many(found: Connections, wanted: int) -> Callable[[], bool]:
    return lambda: found.now == wanted


@pytest.mark.parametrize(
    "engine",
    [
        {"type": "local", "processes": 3},
        pytest.param({"type": "spark", "master": f"local[{LANES},4]"}, marks=pytest.mark.chaos),
    ],
    ids=["local", "spark"],
)
def test_a_job_keeps_to_its_connections_and_to_more_or_fewer_while_it_runs(table: Table, engine: dict[str, object]):
    table.fill(ROWS)
    done: list[Job] = []
    with ExitStack() as stack:
        driver = stack.enter_context(driver_of(table, engine, OF_A_LANE))
        driver.begin()
        found = stack.enter_context(followed(table))
        wait_for(has_so_many(found, 0), 60, "the end of the plan's connections")
        found.watch_anew()
        running = threading.Thread(target=lambda: done.append(driver.run()), daemon=True)
        running.start()
        wait_for(has_so_many(found, OF_A_LANE), 120, "one lane")

        assert found.most == OF_A_LANE
        driver.store.say(JobPace(table.name, Pace(SLOW, source_connections=3 * OF_A_LANE + 1)), Deadline.after(60))
        wait_for(has_so_many(found, 3 * OF_A_LANE), 120, "three lanes")

        assert found.most == 3 * OF_A_LANE
        driver.store.say(JobPace(table.name, Pace(SLOW, source_connections=2 * OF_A_LANE)), Deadline.after(60))
        wait_for(lambda: found.now < 2 * OF_A_LANE, 120, "the end of lanes that are too many")
        found.watch_anew()
        wait_for(has_so_many(found, 2 * OF_A_LANE), 120, "two lanes")
        assert driver.ownership.require_known().state is JobState.RUNNING

        driver.store.say(JobPace(table.name, Pace(source_connections=2 * OF_A_LANE)), Deadline.after(60))
        running.join(120)
        assert found.most == 2 * OF_A_LANE
        wait_for(has_so_many(found, 0), 60, "the end of all connections")
    assert [job.state for job in done] == [JobState.COPIED]
    assert Counter(table.ids()) == Counter(range(1, ROWS + 1))


def test_a_limit_that_leaves_no_lane_room_is_refused_before_anything_is_planned(table: Table):
    table.fill(1)
    told = pytest.raises(ConfigError, match=r"limits\.source_connections: 1, but one lane has 2 connections.*Write 2")
    with driver_of(table, {"type": "local"}, 1) as driver, told:
        driver.planner.plan()
