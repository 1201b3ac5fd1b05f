import threading
import time

import pytest

from connect.cluster.loop import event_loop
from connect.cluster.loop.event_loop import EventLoop
from connect.cluster.model.request_errors import UnavailableError


@pytest.fixture
def settled():
    return threading.Semaphore(0)


@pytest.fixture
def loop(settled):
    built = EventLoop("test", settled.release)
    built.start()
    yield built
    assert built.stop(60)


def test_steps_run_in_order_on_one_thread(loop):
    threads, order = set(), []

    def note(number):
        threads.add(threading.current_thread().name)
        order.append(number)

    for number in range(50):
        loop.post("noting", lambda number=number: note(number))
    loop.submit("waiting", lambda: None).result(60)
    assert order == list(range(50))
    assert threads == {"test"}


def test_the_loop_reconciles_behind_each_step(loop, settled):
    loop.submit("waiting", lambda: None).result(60)
    assert settled.acquire(timeout=60)


def test_reconciling_that_takes_long_is_done_for_many_steps_together_and_behind_the_last_one():
    steps, seen, all_seen = [], [], threading.Event()

    def reconcile():
        seen.append(len(steps))
        until_s = time.thread_time() + 0.05
        while time.thread_time() < until_s:
            pass
        if seen[-1] == 100:
            all_seen.set()

    loop = EventLoop("test", reconcile)
    loop.start()
    for number in range(100):
        loop.submit("noting", lambda number=number: steps.append(number)).result(60)
    assert all_seen.wait(60)
    assert loop.stop(60)
    assert len(seen) < 30


def test_a_failing_step_ends_nothing_and_its_caller_hears(loop):
    with pytest.raises(ZeroDivisionError):
        loop.submit("failing", lambda: 1 / 0).result(60)
    loop.post("failing", lambda: 1 / 0)
    assert loop.submit("asking", lambda: 7).result(60) == 7


def test_timers_come_in_time_order(loop):
    order, done = [], threading.Event()

    def arm():
        loop.later(0.05, "second", lambda: (order.append(2), done.set()))
        loop.later(0.01, "first", lambda: order.append(1))

    loop.post("arming", arm)
    assert done.wait(5)
    assert order == [1, 2]


def test_what_is_done_again_and_again_settles_nothing(settled):
    loop, third = EventLoop("test", settled.release), threading.Semaphore(0)
    loop.every(0.01, "again", third.release)
    loop.start()
    for _ in range(3):
        assert third.acquire(timeout=60)
    assert not settled.acquire(blocking=False)
    assert loop.stop(60)


def test_the_stage_names_what_runs_now(loop):
    entered, leave = threading.Event(), threading.Event()
    loop.post("a long step", lambda: (entered.set(), leave.wait(60)))
    assert entered.wait(60)
    assert (loop.stage.description, loop.stage.finished_ms) == ("a long step", None)
    leave.set()


def test_settling_that_fails_is_tried_again(monkeypatch):
    monkeypatch.setattr(event_loop, "RETRY_S", 0.05)
    tries, healed = [], threading.Event()

    def reconcile():
        tries.append(1)
        if len(tries) == 1:
            raise OSError("away")
        healed.set()

    loop = EventLoop("test", reconcile)
    loop.start()
    loop.post("one step", lambda: None)
    assert healed.wait(60)
    assert loop.stop(60)


def test_what_is_asked_after_the_end_is_refused(loop):
    assert loop.stop(60)
    with pytest.raises(UnavailableError, match="shutting down"):
        loop.submit("late", lambda: None).result(60)
