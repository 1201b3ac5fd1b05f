"""Checks when the process that is a worker's member leaves the group for it: real pipes and leases, a group of the
test's.
"""

import json
import os
import socket
import subprocess
import threading
import time
from dataclasses import asdict

import pytest
from cluster_fakes import eventually

from connect.api.errors import ConnectError
from connect.cluster.group import member_process
from connect.cluster.group.member_process import Joining, MemberServer
from connect.cluster.hosts.lease import Lease
from connect.cluster.hosts.life_line import LifeLine
from connect.lib import python_child

LEASE_S = 1.0


class Group:
    """Stands for the consumer: gives slots when it is told to, and takes them back when the member leaves."""

    def __init__(self, listener):
        self.listener, self.steps, self.left_s = listener, [], None
        self.trouble = None

    def poll(self, timeout_s):
        threading.Event().wait(0.01)
        if self.steps:
            what, slots = self.steps.pop(0)
            if what == "fail":
                raise ConnectError("The group was refused.")
            getattr(self.listener, what)(frozenset(slots))

    def close(self, deadline):
        self.listener.revoked(frozenset({0, 1}))
        self.left_s = time.monotonic()


class Member:
    """One server on a thread, with the worker's end of its line and all that keeps its hosts."""

    def __init__(self, monkeypatch):
        monkeypatch.setattr(member_process, "MembershipConsumer", self._consumer)
        monkeypatch.setattr(MemberServer, "_end_with_session", lambda server: None)  # it ends this process
        self.lease, self.life_line, self.group = Lease(LEASE_S), LifeLine(), None
        self.lease.hold()
        self.line, theirs = socket.socketpair()
        self.line.settimeout(60)
        self.said = self.line.makefile("rb")
        server = MemberServer(
            theirs,
            theirs.makefile("rb"),
            Joining("slots", {}, secrets=[], log_level=20, lease_s=LEASE_S, session_s=60),
            self.lease.descriptor,
            self.life_line.watched,
        )
        self.thread = threading.Thread(target=server.serve, daemon=True)
        self.thread.start()
        eventually(lambda: self.group)

    def _consumer(self, topic, settings, listener):
        self.group = Group(listener)
        return self.group

    def tell(self, **order):
        self.line.sendall(json.dumps(order).encode() + b"\n")

    def hears(self):
        return json.loads(self.said.readline())

    def go(self):
        """The worker is gone: its line and its end of the life line are closed."""
        self.line.shutdown(socket.SHUT_RDWR)
        os.close(self.life_line.held)

    def stays(self, seconds):
        self.thread.join(seconds)
        return self.group.left_s is None


@pytest.fixture
def member(monkeypatch):
    member = Member(monkeypatch)
    yield member
    member.lease.close()
    member.line.close()
    member.thread.join(60)
    assert not member.thread.is_alive()


def test_it_leaves_for_a_worker_that_is_gone_when_the_last_host_is_gone(member):
    host = os.dup(member.life_line.held)
    member.go()
    assert member.stays(LEASE_S / 4)
    closed_s = time.monotonic()
    os.close(host)
    member.thread.join(60)
    assert member.group.left_s >= closed_s


def test_a_worker_that_died_inside_of_a_word_is_gone(member):
    member.line.sendall(b'{"pol')
    member.go()
    member.thread.join(60)
    assert member.group.left_s is not None


def test_it_leaves_at_the_end_of_the_lease_though_a_host_seems_to_live(member):
    host = os.dup(member.life_line.held)
    gone_s = time.monotonic()
    member.lease.close()
    member.go()
    member.thread.join(60)
    # The worker extended its lease up to an eighth of it before.
    assert member.group.left_s - gone_s >= LEASE_S * 7 / 8
    os.close(host)


def test_from_the_end_of_the_worker_on_no_host_may_work(member):
    host = os.dup(member.life_line.held)
    assert member.lease.is_good
    member.line.shutdown(socket.SHUT_RDWR)
    eventually(lambda: not member.lease.is_good)
    member.lease.hold()  # the line broke, the worker is there: it cannot overrule its member
    assert not member.lease.is_good
    os.close(host)
    os.close(member.life_line.held)


def test_it_leaves_for_a_frozen_worker_when_its_lease_is_over_and_says_so(member):
    member.lease.close()  # extends no more, like a worker that is stopped
    frozen_s = time.monotonic()
    assert "did nothing for 1 s" in member.hears()["failed"]
    assert member.group.left_s - frozen_s >= LEASE_S * 7 / 8
    assert not member.lease.is_good


def test_slots_are_kept_until_the_worker_has_released_them(member):
    member.group.steps += [("assigned", {0, 1}), ("revoked", {1}), ("assigned", {2})]
    assert member.hears() == {"assigned": [0, 1]}
    assert member.hears() == {"revoked": [1]}
    assert member.stays(0.2)
    assert member.group.steps == [("assigned", {2})]
    member.tell(done=True)
    assert member.hears() == {"assigned": [2]}


def test_a_worker_that_says_good_bye_is_asked_for_its_slots_first(member):
    member.tell(leave=True)
    assert member.hears() == {"revoked": [0, 1]}
    assert member.stays(0.2)
    member.tell(done=True)
    member.thread.join(60)
    assert member.group.left_s is not None


def test_lost_slots_end_the_lease_until_there_are_new_ones(member):
    member.group.steps += [("lost", {0, 1})]
    assert member.hears() == {"lost": [0, 1]}
    assert not member.lease.is_good
    member.group.steps += [("assigned", {3})]
    assert member.hears() == {"assigned": [3]}
    assert member.lease.is_good


def test_what_the_group_refuses_is_told(member):
    member.group.steps += [("fail", ())]
    assert member.hears() == {"revoked": [0, 1]}
    member.tell(done=True)
    assert member.hears() == {"failed": "The group was refused."}


def test_a_worker_that_does_not_ask_gets_nothing(member, monkeypatch):
    monkeypatch.setattr(member_process, "UNPOLLED_S", 0.0)
    threading.Event().wait(0.1)
    member.group.steps += [("assigned", {0})]
    assert member.stays(0.2)
    assert member.group.steps


def test_a_process_that_fails_ends_though_the_worker_is_there():
    line, theirs = socket.socketpair()
    lease, life_line = Lease(LEASE_S), LifeLine()
    described = [theirs.fileno(), lease.descriptor, life_line.watched]
    command = python_child.command("connect.cluster.group.member_process", *map(str, described))
    with line, theirs, python_child.start(command, pass_fds=described, stderr=subprocess.PIPE) as child:
        theirs.close()
        nonsense = Joining("slots", {}, secrets=[], log_level=20, lease_s=60, session_s=60)
        line.sendall(json.dumps(asdict(nonsense)).encode() + b"\n")
        try:
            assert child.wait(60) == 1
            assert b"group.id must be set" in child.stderr.read()
        finally:
            child.kill()
            lease.close()
