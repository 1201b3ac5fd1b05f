"""Checks what a worker does about a process in its group that says no more."""

import signal
import socket
import subprocess
import sys
from types import SimpleNamespace

import pytest

from connect.api.errors import ConnectError
from connect.cluster.group import remote_member
from connect.cluster.group.member_process import Joining
from connect.cluster.group.remote_member import RemoteMember
from connect.telemetry.log_levels import LOG_LEVELS

JOINING = Joining("slots", {}, secrets=[], log_level=20, lease_s=1, session_s=1)
STUCK = "import signal; print(flush=True); signal.pause()"


class Listener:
    def __init__(self):
        self.heard = []

    def assigned(self, slots):
        self.heard.append(("assigned", slots))

    def lost(self, slots):
        self.heard.append(("lost", slots))


@pytest.fixture
def stuck(monkeypatch):
    """A process that has closed its line and does not end, and the worker's end of the line."""
    monkeypatch.setattr(remote_member, "END_S", 0.05)
    line, theirs = socket.socketpair()
    with subprocess.Popen([sys.executable, "-c", STUCK], stdout=subprocess.PIPE) as child:
        child.stdout.readline()
        yield SimpleNamespace(line=line, child=child), theirs
        child.kill()
    line.close()
    theirs.close()


def test_slots_are_lost_when_the_process_has_closed_its_line_and_does_not_end(stuck):
    process, theirs = stuck
    listener = Listener()
    member = RemoteMember(process, JOINING, listener, LOG_LEVELS)
    theirs.sendall(b'{"assigned": [1, 2]}\n')
    member.poll(60)
    theirs.close()
    with pytest.raises(ConnectError, match="was ended by signal SIGKILL"):
        member.poll(60)
    member.close(remote_member.Deadline.after(60))
    assert listener.heard == [("assigned", {1, 2}), ("lost", {1, 2})]


class Levels:
    """Takes the function that hears of levels of loggers."""

    def follow(self, tell):
        self.tell = tell

    def unfollow(self, tell):
        assert tell == self.tell


@pytest.fixture
def unread(stuck, monkeypatch):
    """A member whose process reads nothing, like one that is frozen, and the levels it follows."""
    monkeypatch.setattr(remote_member, "UNPOLLED_S", 0)
    process, _ = stuck
    levels = Levels()
    return RemoteMember(process, JOINING, Listener(), levels), process, levels


def test_signs_of_life_to_a_process_that_reads_nothing_are_left_out(unread):
    member, process, _ = unread
    for _ in range(5000):
        member.poll(0)
    assert process.child.poll() is None


def test_a_process_that_reads_nothing_is_killed_when_it_has_to_hear_something(unread):
    _, process, levels = unread
    for number in range(5000):
        levels.tell("connect", f"DEBUG{number}")
        if process.child.poll() is not None:
            break
    assert process.child.wait(60) == -signal.SIGKILL
