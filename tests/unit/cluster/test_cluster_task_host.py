"""Runs a real child process that speaks the messages of a task host."""

import os
import queue
import signal
import socket
import sys
import threading
import time
from functools import partial
from pathlib import Path

import pytest
from cluster_fakes import eventually

from connect.api.errors import ConnectError
from connect.cluster.hosts.host_process import CommandProcess, exit_reason, python_host
from connect.cluster.hosts.lease import EXIT_CODE, LEASE_OVER, Lease
from connect.cluster.hosts.shared_memory import shared_memory
from connect.cluster.hosts.task_host import TaskHost
from connect.runtime.host.crash_report import REPORT_BYTES
from connect.runtime.task.messages import HostReady, StopTask, TaskState

pytestmark = pytest.mark.thorough

CHILD = """
import json, os, socket, sys, threading
from connect.runtime.task.messages import HostReady, TaskState, decode, encode
channel = socket.socket(fileno=int(sys.argv[1]))
if len(sys.argv) > 3:
    from connect.cluster.hosts.lease import watch
    watch(int(sys.argv[3]), int(sys.argv[2]))
lines = channel.makefile("rb")
settings = json.loads(lines.readline())
channel.sendall(encode(HostReady(os.getpid())) + b"this is no message\\n")
for line in lines:
    m = decode(line)
    if m.connector == "exit":
        os._exit(m.task)
    channel.sendall(encode(TaskState(m.connector, m.task, m.run, None, trace=settings["a"])))
if settings.get("stay"):
    threading.Event().wait()
"""


class Heard:
    def __init__(self):
        self.messages, self.ends = queue.Queue(), queue.Queue()

    def said(self, host, message):
        self.messages.put(message)

    def ended(self, host, reason):
        self.ends.put(reason)


@pytest.fixture
def heard():
    return Heard()


@pytest.fixture
def start(heard):
    hosts = []

    def build(lease=None, held=None, **settings):
        def process(line, report):
            inherited = [report] if lease is None else [report, lease]
            command = [sys.executable, "-c", CHILD, str(line.fileno()), *map(str, inherited)]
            return CommandProcess(line, lambda _: command, inherited)

        good = (lambda: False) if held is None else lambda: held.is_good
        hosts.append(TaskHost("h", {"a": "1", **settings}, heard, process, good))
        assert heard.messages.get(timeout=60) == HostReady(hosts[-1].pid)
        return hosts[-1]

    yield build
    for host in hosts:
        host.kill("was killed by the test")


def test_it_gets_the_settings_first_and_answers_messages_garbage_apart(heard, start):
    start().send(StopTask("c", 0, 7, 1.0))
    assert heard.messages.get(timeout=60) == TaskState("c", 0, 7, None, trace="1")


def test_its_end_is_told_with_the_exit_code(heard, start):
    start().send(StopTask("exit", 3, 1, 1.0))
    assert heard.ends.get(timeout=60) == "ended with exit code 3"


def test_a_plugin_that_ends_it_with_the_exit_code_of_a_lease_is_no_end_of_the_lease(heard, start):
    lease = Lease(valid_s=60)
    lease.hold()
    start(lease=lease.descriptor).send(StopTask("exit", EXIT_CODE, 1, 1.0))
    assert heard.ends.get(timeout=60) == "ended with exit code 75"
    lease.close()


def test_a_signal_is_named(heard, start):
    os.kill(start().pid, signal.SIGSEGV)
    assert heard.ends.get(timeout=60) == "was ended by signal SIGSEGV"


def test_a_kill_tells_its_reason(heard, start):
    start().kill("was killed because of x")
    assert heard.ends.get(timeout=60) == "was killed because of x"


def test_it_ends_when_its_line_is_closed(heard, start):
    start().close()
    assert heard.ends.get(timeout=60) == "ended with exit code 0"


def test_a_host_that_is_a_program_of_its_own_reads_its_line_and_watches_the_lease(capfd):
    """Where hosts cannot be forked."""
    for held, ends, says in (
        (True, "ended with exit code 1", "bootstrap.servers"),
        (False, "ended with exit code 75", ""),
    ):
        lease = Lease(30.0)
        if held:
            lease.hold()
        report = shared_memory("crash-report", REPORT_BYTES)
        ours, theirs = socket.socketpair()
        with theirs:
            process = CommandProcess(
                theirs, partial(python_host, lease=lease.descriptor, report=report), [lease.descriptor, report]
            )
        if held:
            ours.sendall(b"{}\n")
        assert process.wait(60) == ends
        assert says in capfd.readouterr().err
        ours.close()
        os.close(report)
        lease.close()


def test_it_is_killed_when_it_stays(heard, start):
    start(stay="1").close()
    assert "went on" in heard.ends.get(timeout=60)


def test_its_memory_can_be_read(start):
    assert 1_000_000 < start().resident_bytes() < 1_000_000_000


def test_it_ends_by_itself_when_the_lease_is_revoked_and_lives_while_it_is_held(heard, start):
    lease = Lease(valid_s=2)
    lease.hold()
    host = start(lease=lease.descriptor)
    held_until_s = time.monotonic() + 3
    eventually(lambda: time.monotonic() > held_until_s)
    assert host.resident_bytes() > 0
    lease.revoke()
    assert heard.ends.get(timeout=60) == LEASE_OVER
    lease.close()


def test_it_ends_by_itself_when_nobody_extends_the_lease(heard, start):
    lease = Lease(valid_s=0.8)
    lease.hold()
    start(lease=lease.descriptor)
    lease.close()
    assert heard.ends.get(timeout=60) == LEASE_OVER


def test_one_that_hangs_while_its_worker_works_on_has_not_ended_for_the_lease(heard, start):
    lease = Lease(valid_s=2)
    lease.hold()
    host = start(lease=lease.descriptor, held=lease)
    os.kill(host.pid, signal.SIGSTOP)
    assert "gave no sign of life" in heard.ends.get(timeout=60)
    lease.close()


def test_it_ends_by_itself_when_no_broker_answers_its_worker_any_more(heard, start):
    answered_s = []

    def reach(timeout_s):
        if len(answered_s) < 4:
            answered_s.append(time.monotonic())
            return True
        return False

    lease = Lease(valid_s=60, unheard_s=3, reach=reach)
    lease.hold()
    start(lease=lease.descriptor)
    assert heard.ends.get(timeout=60) == LEASE_OVER
    assert time.monotonic() - answered_s[-1] > 1
    lease.close()


@pytest.mark.parametrize(
    ("code", "text"),
    [(0, "ended with exit code 0"), (-11, "was ended by signal SIGSEGV"), (-9, "was ended by signal SIGKILL (out of")],
)
def test_exit_codes_in_words(code, text):
    assert exit_reason(code).startswith(text)


@pytest.mark.parametrize("started", [0, 1])
def test_nothing_is_left_of_a_host_that_could_not_be_started(monkeypatch, heard, started):
    processes = []

    def process(line, report):
        if not started:
            raise BlockingIOError(11, "Resource temporarily unavailable")
        command = [sys.executable, "-c", CHILD, str(line.fileno()), str(report)]
        processes.append(CommandProcess(line, lambda _: command, [report]))
        return processes[-1]

    begin = threading.Thread.start

    def begun(thread):
        if thread.name == "refused-reader":
            raise RuntimeError("can't start new thread")
        begin(thread)

    monkeypatch.setattr(threading.Thread, "start", begun)
    before = len(list(Path("/proc/self/fd").iterdir()))
    with pytest.raises(ConnectError, match="Raise the limits of processes"):
        TaskHost("refused", {"a": "1"}, heard, process)
    assert ["SIGKILL" in one.wait(20) for one in processes] == [True] * started
    eventually(lambda: not [t for t in threading.enumerate() if t.name.startswith("refused")])
    eventually(lambda: len(list(Path("/proc/self/fd").iterdir())) <= before)
