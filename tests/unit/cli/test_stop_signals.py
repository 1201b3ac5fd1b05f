"""Signals that end a process, sent to real processes."""

import signal
import subprocess
import sys

import pytest

BUSY = """
import ctypes, os, sys
from connect.cli.shared.stop_signals import StopSignals
StopSignals(lambda: {on_stop}).listen()
print("ready", flush=True)
mutex = ctypes.create_string_buffer(64)
for _ in range(2):  # locking it again waits for ever, in C
    ctypes.CDLL(None).pthread_mutex_lock(mutex)
"""

CLEANING = """
import sys, threading
from connect.cli.shared.stop_signals import interrupt_once
interrupt_once()
try:
    print("ready", flush=True)
    threading.Event().wait()
except KeyboardInterrupt:
    print("interrupted", flush=True)
finally:
    sys.stdin.readline()
    print("cleaned up", flush=True)
"""

COLLECTING = """
import os, signal, sys, threading, time, weakref
from connect.cli.shared.stop_signals import hear_lost_interrupts, interrupt_once
hear_lost_interrupts()
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in what a shell starts in the background
if {on_stop}:
    interrupt_once()
class Thing: pass
thing = Thing()
def collected(_):
    os.kill(os.getpid(), signal.SIGINT)
    for _ in range(1000): pass  # the interrupt is raised here, and dropped
watched = weakref.ref(thing, collected)
start, late_s = threading.Timer.start, [{late_s}]
def start_late(timer):
    start(timer)
    ends_s = time.monotonic() + (late_s.pop() if late_s else 0)
    while time.monotonic() < ends_s: pass  # as if the machine had let this thread wait
threading.Timer.start = start_late
print("ready", flush=True)
try:
    del thing
    threading.Event().wait(30)
    sys.exit(3)
except KeyboardInterrupt:
    sys.exit(7)
"""


@pytest.fixture
def start():
    """Builds processes whose main thread is in C; what is left of them is killed in the end."""
    processes = []

    def make(on_stop=None, script=BUSY, **more):
        process = subprocess.Popen(
            [sys.executable, "-c", script.format(on_stop=on_stop, **more)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip
        processes.append(process)
        assert process.stdout.readline() == "ready\n"
        return process

    yield make
    for process in processes:
        process.kill()
        process.communicate()


def test_a_signal_is_heard_while_the_main_thread_is_in_a_c_call(start):
    process = start("os._exit(7)")
    process.send_signal(signal.SIGTERM)
    assert process.wait(10) == 7


def test_a_second_interrupt_ends_a_process_that_does_not_stop(start):
    process = start("print('asked', flush=True)")
    process.send_signal(signal.SIGINT)
    assert process.stdout.readline() == "asked\n"
    process.send_signal(signal.SIGINT)
    assert process.wait(10) == 130
    assert "Interrupted again" in process.stderr.read()


def test_signals_that_come_at_once_or_while_the_first_is_obeyed_end_no_cleaning_up(start):
    process = start(script=CLEANING)
    for number in (signal.SIGSTOP, signal.SIGINT, signal.SIGTERM, signal.SIGCONT):
        process.send_signal(number)
    assert process.stdout.readline() == "interrupted\n"
    for number in (signal.SIGTERM, signal.SIGINT):
        process.send_signal(number)
    assert process.communicate("go on\n", timeout=60) == ("cleaned up\n", "")
    assert process.returncode == 0


def test_sigusr2_prints_the_stack_of_every_thread(start):
    process = start("os._exit(7)")
    process.send_signal(signal.SIGUSR2)
    seen = ""
    while "in <module>" not in seen:
        seen += process.stderr.readline()
    assert "most recent call first" in seen
    assert process.poll() is None


@pytest.mark.parametrize("late_s", [0, 0.5])
@pytest.mark.parametrize("is_once", [False, True])
def test_an_interrupt_is_heard_while_garbage_is_collected(start, is_once, late_s):
    process = start(is_once, COLLECTING, late_s=late_s)
    assert process.wait(60) == 7, process.stderr.read()
