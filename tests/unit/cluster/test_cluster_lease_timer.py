"""The kernel ends a process at the end of its lease, whatever the process is doing."""

import gc
import os
import signal
import sys
import time

import pytest

from connect.cluster.hosts.kernel_timer import LeaseTimer
from connect.cluster.hosts.lease import TIMER_GRACE_S, Lease, watch
from connect.cluster.hosts.shared_memory import shared_memory
from connect.runtime.host.crash_report import REPORT_BYTES, lease_over_in, say_lease_until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="other systems have no timers that send signals")


def forked(body):
    """A process that does this; its pid. It ends with code 7 when it gets to the end."""
    # Other tests of this process have loaded native libraries, whose objects are not to be freed in a copy of it.
    gc.disable()
    pid = os.fork()
    if pid == 0:
        try:
            body()
        finally:
            os._exit(7)
    gc.enable()
    return pid


def stop():
    os.kill(os.getpid(), signal.SIGSTOP)


def test_a_process_that_is_stopped_is_ended_without_going_on():
    def body():
        LeaseTimer().arm(time.monotonic() + 0.1)
        stop()

    assert os.WTERMSIG(os.waitpid(forked(body), 0)[1]) == signal.SIGKILL


def test_a_lease_that_was_extended_counts_anew():
    def body():
        timer = LeaseTimer()
        first_s = time.monotonic() + 0.5
        timer.arm(first_s)
        timer.arm(first_s + 60)
        after_s = first_s + 0.1
        while time.monotonic() < after_s:
            os.sched_yield()

    assert os.waitstatus_to_exitcode(os.waitpid(forked(body), 0)[1]) == 7


def test_a_stopped_host_is_ended_with_its_lease_and_its_worker_knows_why():
    report = shared_memory("crash-report", REPORT_BYTES)
    # Long enough for a busy machine to start and stop the process within it.
    lease = Lease(valid_s=2)
    lease.hold()
    lease.close()

    def body():
        watch(lease.descriptor, report)
        stop()

    pid = forked(body)
    assert os.WIFSTOPPED(os.waitpid(pid, os.WUNTRACED)[1])
    assert not lease_over_in(report)
    began_s = time.monotonic()
    assert os.WTERMSIG(os.waitpid(pid, 0)[1]) == signal.SIGKILL
    assert time.monotonic() - began_s > TIMER_GRACE_S / 2
    assert lease_over_in(report)


def test_a_host_that_ended_within_its_lease_did_not_end_for_it():
    report = shared_memory("crash-report", REPORT_BYTES)
    assert not lease_over_in(report)
    say_lease_until(report, time.monotonic() + 60)
    assert not lease_over_in(report)
    say_lease_until(report, time.monotonic())
    assert lease_over_in(report)
