"""A task without rows gives back what its thread keeps of freed memory: once, and not while rows come."""

from __future__ import annotations

import math
import subprocess
import sys

import pytest
from fake_kafka import FakeKafka
from test_sink_loop_requests import AskingTask, loop_of

from connect.runtime.records.retry import RetryBudget
from connect.runtime.settings.loop_limits import LoopLimits
from connect.runtime.source.record_path import SourceRecordPath
from connect.runtime.source.source_loop import PROMPT_POLL_TIMEOUT_S, SourceLoop
from connect.runtime.task.condition import LONG_CALL_S
from connect.runtime.task.control import Control
from connect.runtime.task.idle_memory import POLLS, IdleMemory
from connect.runtime.task.task_reports import TaskReports

MEASURE = """
import threading
import psutil
import pyarrow as pa
from connect.runtime.task.idle_memory import POLLS, IdleMemory

THREADS = 100
step = threading.Barrier(THREADS + 1)

def work():
    table = pa.table({"a": [1, 2, 3], "b": ["x", "y", "z"], "c": [{"q": 1}] * 3})
    table.take([0]).to_pylist(), pa.array([b"y" * 50] * 100), pa.compute.cast(table["a"], pa.string())

def task():
    memory = IdleMemory()
    work()
    memory.polled(has_rows=True)
    step.wait()
    step.wait()
    for _ in range(POLLS):
        memory.polled(has_rows=False)
    step.wait()
    step.wait()

def private_bytes():
    return psutil.Process().memory_full_info().uss

import pyarrow.compute
work()
start = private_bytes()
for _ in range(THREADS):
    threading.Thread(target=task, daemon=True).start()
step.wait()
busy = private_bytes() - start
step.wait()
step.wait()
print(busy, private_bytes() - start, flush=True)
step.wait()
"""


def polls(*has_rows):
    """Return after which polls memory was given back."""
    given_back = []
    memory = IdleMemory(lambda: given_back.append(number))
    for number, found in enumerate(has_rows):  # noqa: B007 - the lambda reads it
        memory.polled(has_rows=found)
    return given_back


def test_memory_is_given_back_once_when_rows_have_ended():
    assert polls(True, *[False] * 20) == [POLLS]
    assert polls(True, False, True, False, True, *[False] * 20) == [4 + POLLS]
    assert polls(*[False] * 20) == [], "a task that had no rows has nothing to give back"
    assert polls(*[True] * 20) == []


def test_idle_threads_keep_much_less_than_busy_ones():
    measured = subprocess.run([sys.executable, "-c", MEASURE], check=True, capture_output=True, text=True, timeout=120)
    busy, idle = map(int, measured.stdout.split())
    assert idle < 0.75 * busy, f"{busy // 1024} KiB of 100 busy threads, {idle // 1024} KiB of them idle"


@pytest.fixture
def told(monkeypatch):
    """What the loops tell of their polls."""
    found = []
    monkeypatch.setattr(IdleMemory, "polled", lambda _, *, has_rows: found.append(has_rows))
    return found


def test_a_sink_tells_each_poll(told):
    task = AskingTask(Control())
    task.loop = loop_of(task, FakeKafka())
    task.loop.run(task.control, lambda _: None, ["t"])
    assert told[:3] == [True, False, False]


class Delivery:
    """Takes nothing, and has rows on their way where a test says so."""

    held_up, outstanding, expects_more, is_settled = None, 0, False, False

    def due(self, *, polled, interval_over):
        return False

    def drain(self, deadline, *, pending):
        return []

    def check(self):
        pass


def timeouts_s(polls, delivery, flush_interval_s=60.0, *, poll_max_s=math.inf, is_prompt=False):
    """Return how long each of so many polls of a source without rows might have taken."""
    found, control, reports = [], Control(), TaskReports()

    class Idle:
        def poll(self, deadline):
            found.append(deadline.remaining_s)
            if len(found) == polls:
                control.ask_to_stop()

    idle = Idle()
    if is_prompt:
        idle.polls_end_at_once = True
    path = SourceRecordPath(idle, "Source", None, None, RetryBudget(0), reports.figures)
    SourceLoop(path, delivery, None, LoopLimits(flush_interval_s, 1, 1, poll_max_s=poll_max_s), reports).run(
        control, lambda _: None
    )
    return found


def test_a_source_tells_each_poll(told):
    timeouts_s(3, Delivery())
    assert told == [False, False, False]


def test_an_idle_source_is_woken_seldom_but_in_time_for_its_rows_and_offsets(monkeypatch):
    monkeypatch.setattr("time.monotonic", lambda: 0.0)
    assert timeouts_s(5, Delivery()) == [1.0, 1.0, 1.0, 3.0, 3.0]
    assert timeouts_s(4, Delivery(), flush_interval_s=2.0)[-1] == 2.0
    assert timeouts_s(4, Delivery(), flush_interval_s=0.1)[-1] == 1.0
    waiting, behind, settled = Delivery(), Delivery(), Delivery()
    waiting.outstanding, behind.expects_more, settled.is_settled = 1, True, True
    assert timeouts_s(4, settled, flush_interval_s=0.1)[-1] == 3.0
    assert timeouts_s(4, settled, flush_interval_s=0.1, is_prompt=True)[-1] == 10.0
    assert timeouts_s(5, waiting) == [1.0] * 5
    assert timeouts_s(5, behind) == [0.1] * 5


def test_an_idle_source_that_can_be_woken_waits_for_longer_than_others_may(monkeypatch):
    monkeypatch.setattr("time.monotonic", lambda: 0.0)
    assert timeouts_s(5, Delivery(), poll_max_s=2.0) == [1.0, 1.0, 1.0, 2.0, 2.0]
    assert timeouts_s(5, Delivery(), poll_max_s=2.0, is_prompt=True) == [1.0, 1.0, 1.0, 10.0, 10.0]
    assert timeouts_s(4, Delivery(), flush_interval_s=5.0, is_prompt=True)[-1] == 5.0
    waiting = Delivery()
    waiting.outstanding = 1
    assert timeouts_s(5, waiting, is_prompt=True) == [1.0] * 5
    assert PROMPT_POLL_TIMEOUT_S < LONG_CALL_S  # else status would tell of a poll that does not return
