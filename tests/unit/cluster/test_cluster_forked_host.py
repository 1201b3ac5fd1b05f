"""Real task hosts, forked from a real server."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from cluster_fakes import eventually

from connect.cluster.hosts.forked_host import SERVER_GONE, ForkedHosts
from connect.cluster.hosts.lease import Lease
from connect.cluster.hosts.life_line import LifeLine
from connect.cluster.hosts.shared_memory import shared_memory
from connect.runtime.host.crash_report import REPORT_BYTES

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="hosts are forked on Linux only"),
]


@pytest.fixture(scope="module")
def lease():
    lease = Lease(valid_s=30.0)
    lease.hold()
    yield lease
    lease.close()


@pytest.fixture(scope="module")
def hosts(lease):
    hosts = ForkedHosts(lease.descriptor, LifeLine().held)
    yield hosts
    hosts.close()


@pytest.fixture
def start(hosts):
    """Builds hosts that wait for their settings; their lines are closed in the end."""
    lines = []
    reports = []

    def build():
        ours, theirs = socket.socketpair()
        lines.append(ours)
        reports.append(shared_memory("crash-report", REPORT_BYTES))
        with theirs:
            process = hosts.start(theirs, reports[-1])
        eventually(lambda: process.pid)
        return process, ours

    yield build
    for line in lines:
        line.close()
    for report in reports:
        os.close(report)


def has_ended(pid):
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE  # for init to reap
    except psutil.NoSuchProcess:
        return True


def test_a_host_is_a_child_of_the_server_in_a_group_of_its_own(hosts, start):
    first, _ = start()
    second, _ = start()
    assert {first.pid, second.pid} == {child.pid for child in psutil.Process(hosts.server_pid).children()}
    eventually(lambda: os.getpgid(first.pid) == first.pid)
    assert first.wait(0) is None


def test_the_server_has_one_thread_when_it_forks(hosts, start):
    start()
    assert len(list(Path(f"/proc/{hosts.server_pid}/task").iterdir())) == 1


@pytest.mark.parametrize("is_told", [True, False])
def test_a_server_that_was_told_to_end_has_not_died(lease, caplog, is_told):
    hosts = ForkedHosts(lease.descriptor, LifeLine().held)
    ours, theirs = socket.socketpair()
    report = shared_memory("crash-report", REPORT_BYTES)
    with ours, theirs:
        process = hosts.start(theirs, report)
        eventually(lambda: process.pid)
        if is_told:
            hosts.close()
        else:
            os.kill(hosts.server_pid, signal.SIGKILL)
        assert process.wait(20) == SERVER_GONE
    os.close(report)
    assert ("fork_server_died" in caplog.text) is not is_told
    hosts.close()


def test_a_host_that_is_killed_says_so_and_leaves_the_others_alone(start):
    killed, _ = start()
    other, _ = start()
    killed.kill()
    assert "SIGKILL" in killed.wait(20)
    killed.kill()
    assert other.wait(0) is None


def test_a_host_that_cannot_read_its_settings_ends_with_a_code(start):
    process, line = start()
    line.sendall(b"no settings\n")
    assert process.wait(20) == "ended with exit code 1"


def test_hosts_end_with_their_server_and_the_next_host_gets_a_new_one(hosts, start):
    process, _ = start()
    pid = hosts.server_pid
    os.kill(pid, signal.SIGKILL)
    assert process.wait(20) == SERVER_GONE
    # Also a host that was not yet scheduled when its server died.
    eventually(lambda: has_ended(process.pid))
    again, _ = start()
    assert again.wait(0) is None
    assert hosts.server_pid != pid


def test_hosts_end_with_the_lease(lease, start):
    process, _ = start()
    lease.revoke()
    assert process.wait(20) == "ended with exit code 75"


def test_hosts_whose_server_was_killed_can_be_closed(lease):
    hosts = ForkedHosts(lease.descriptor, LifeLine().held)
    pid = hosts.server_pid
    os.kill(pid, signal.SIGKILL)
    eventually(lambda: not psutil.pid_exists(pid))  # the reader has taken note of its end
    hosts.close()
    hosts.close()


class ServerThatIsRefused:
    """Runs a fork server whose first fork the machine refuses, as one does with too many processes."""

    PROGRAM = """
import errno, os, sys
from connect.cluster.hosts import fork_server
fork, refusals = os.fork, [OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))]
os.fork = lambda: fork() if not refusals else (_ for _ in ()).throw(refusals.pop())
sys.exit(fork_server.main())
"""

    def begin(self, control, lease, held):
        descriptors = [control.fileno(), lease, held]
        self._process = subprocess.Popen(
            [sys.executable, "-c", self.PROGRAM, *map(str, descriptors)], pass_fds=descriptors, process_group=0
        )
        self.pid = self._process.pid
        return True

    def wait(self):
        return self._process.wait()


def test_a_fork_that_is_refused_costs_one_host_and_no_other(lease):
    hosts = ForkedHosts(lease.descriptor, LifeLine().held, ServerThatIsRefused())
    report = shared_memory("crash-report", REPORT_BYTES)
    (ours, theirs), (others, its) = socket.socketpair(), socket.socketpair()
    with ours, theirs, others, its:
        refused = hosts.start(theirs, report)
        assert "Resource temporarily unavailable" in refused.wait(20)
        server = hosts.server_pid
        made = hosts.start(its, report)
        eventually(lambda: made.pid)
        assert hosts.server_pid == server
        hosts.close()
        made.wait(20)
    os.close(report)
