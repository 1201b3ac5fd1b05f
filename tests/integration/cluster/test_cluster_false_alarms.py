"""Checks that nobody is taken for gone, and that nothing moves, in a cluster on a machine that is far too busy.

`CONNECT_ALARM_S=3600 .venv/bin/python -m pytest -q -s -p no:schemathesis -m '' PATH_OF_THIS_FILE` looks on for an hour.
"""

import os
import time

import pytest
from busy_processes import BusyProcesses
from cluster_alarms import AlarmCount
from cluster_worker import eventually

from connect.lib.deadline import Deadline

ALARM_S = float(os.environ.get("CONNECT_ALARM_S", "60"))
LOAD = 20
"""So many processes want a core, on the average."""
SPARE = 2
"""So many more are wanted, as others come and go between two looks."""
WORKERS = 3
PAIRS = 10
"""Sources of one row each second, each with a sink that forgets its rows."""
TELL_EVERY_S = 60.0
pytestmark = [pytest.mark.chaos, pytest.mark.timeout(900 + round(ALARM_S))]


def create_pairs(worker, unique):
    """Create sources and sinks; return their names."""
    names = []
    for number in range(PAIRS):
        source, sink = f"{unique}-source-{number}", f"{unique}-sink-{number}"
        topic = {"topic.creation.default.partitions": "1", "topic.creation.default.replication.factor": "1"}
        worker.create(source, **{"tasks.max": "1", "pause.ms": "1000", **topic})
        worker.create(
            sink, **{"connector.class": "test.ForgetfulSinkConnector", "tasks.max": "1", "topics": f"{source}-numbers"}
        )
        names += [source, sink]
    return names


def places(worker, names):
    """Return the workers of all tasks; none until all of them run."""
    states = [state for name in names for state in worker.task_workers(name)]
    running = len(states) == len(names) and {state for _, state in states} == {"RUNNING"}
    return [at for at, _ in states] if running else []


def test_nobody_is_taken_for_gone_at_a_load_of_twenty_and_a_killed_worker_is_counted(start_worker, unique):
    workers = [start_worker() for _ in range(WORKERS)]
    first, *others = (worker.ready() for worker in workers)
    names = create_pairs(first, unique)
    eventually(lambda: len(set(places(first, names))) == WORKERS, 300)
    with BusyProcesses(LOAD + SPARE) as busy:
        count = AlarmCount(workers, names)
        busy.forget()
        rest = Deadline.after(ALARM_S)
        while rest.wait(min(TELL_EVERY_S, rest.remaining_s)):
            tell(f"{ALARM_S - rest.remaining_s:.0f} s", count, busy)
        tell(f"{ALARM_S:.0f} s", count, busy)
        assert count.alarms() == {}
        assert busy.mean >= LOAD

        killed_s = time.monotonic()
        others[-1].process.kill()
        gone = others[-1].url.removeprefix("http://")
        eventually(lambda: (at := places(first, names)) and gone not in at, 300)
        tell(f"killed; its tasks ran elsewhere after {time.monotonic() - killed_s:.1f} s", count, busy)
        alarms = count.alarms()
        assert alarms["workers taken for gone by their members"] == 1
        assert {"claims of slots", "rebalances", "tasks placed elsewhere", "tasks that left RUNNING"} <= alarms.keys()


def tell(when, count, busy):
    load = f"{busy.mean:.1f} processes wanted a core, {busy.own_mean:.1f} of them of this test"
    print(f"{when}: alarms {dict(count.alarms())}; {load}; other warnings {dict(count.others())}", flush=True)  # noqa: T201
