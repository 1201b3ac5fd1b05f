"""Workers whose members, leases and life lines are real, in a group, with hosts and faults of the test's own."""

import json
import os
import random
import socket
import threading
import time

from connect.cluster.group.member_process import Joining, MemberServer
from connect.cluster.hosts.lease import Lease
from connect.cluster.hosts.life_line import LifeLine

LEASE_S = 0.8
HOST_LOOKS_S = 0.02
"""How often a host looks at its lease; in life that is `CHECK_S`, and its end is up to 0.4 s later."""
POLLS_S = 0.05
"""A worker asks its member for news so often; one that does not for `UNPOLLED_S` gets no slots any more."""
LINGERS_S = 0.3
"""A host of a killed worker is gone after so long at the most."""


class Group:
    """Stands for the coordinator: a slot has one member, and is free again when that member has let go of it."""

    def __init__(self, slots):
        self.lock = threading.Lock()
        self.owners = dict.fromkeys(range(slots))
        self.wanted_back = set()
        self.marks = {slot: [] for slot in range(slots)}
        """Who worked on each slot, in order."""

    def member(self, topic, settings, listener):
        return _Consumer(self, listener)

    def mark(self, slot, worker):
        """A host of the worker writes for the slot."""
        with self.lock:
            if self.marks[slot][-1:] != [worker]:
                self.marks[slot].append(worker)


class _Consumer:
    def __init__(self, group, listener):
        self._group, self._listener, self.trouble = group, listener, None

    def poll(self, timeout_s):
        threading.Event().wait(0.005)
        with self._group.lock:
            back = {slot for slot in self._mine() if slot in self._group.wanted_back}
            taken = {slot for slot, owner in self._group.owners.items() if owner is None}
            self._group.owners |= dict.fromkeys(taken, self)
        if taken:
            self._listener.assigned(frozenset(taken))
        self._give_back(back)

    def close(self, deadline):
        self._give_back(self._mine())

    def _mine(self):
        return {slot for slot, owner in self._group.owners.items() if owner is self}

    def _give_back(self, slots):
        if slots:
            self._listener.revoked(frozenset(slots))
        with self._group.lock:
            self._group.wanted_back -= slots
            self._group.owners |= dict.fromkeys(slots)


class Worker:
    """One worker: it runs a host for each of its slots, until somebody says otherwise or something happens to it."""

    def __init__(self, name, group, draw):
        self.name, self._group, self._draw = name, group, draw
        self.lease, self.life_line = Lease(LEASE_S), LifeLine()
        self.lease.hold()
        self._stops, self._hosts = {}, []
        self._frozen = threading.Event()
        self._line, theirs = socket.socketpair()
        joining = Joining("slots", {}, secrets=[], log_level=30, lease_s=LEASE_S, session_s=60)
        server = MemberServer(theirs, theirs.makefile("rb"), joining, self.lease.descriptor, self.life_line.watched)
        self.member = threading.Thread(target=server.serve, daemon=True)
        threading.Thread(target=self._listen, daemon=True).start()
        threading.Thread(target=self._poll, daemon=True).start()
        self.member.start()

    def believe_gone(self):
        """The detector lies: the member is told that the worker is gone, while it and its hosts are at work."""
        self._line.shutdown(socket.SHUT_RDWR)

    def freeze(self):
        """Extend the lease no more, and hear nothing; the hosts go on as long as their lease does."""
        self._frozen.set()
        self.lease.close()

    def kill(self):
        """End the worker; its hosts linger for a moment each."""
        self._frozen.set()
        self.lease.close()
        for stop in self._stops.values():
            threading.Timer(self._draw.uniform(0, LINGERS_S), stop.set).start()
        self._line.shutdown(socket.SHUT_RDWR)
        os.close(self.life_line.held)

    def end(self):
        """Let nothing of it go on after a history."""
        self._frozen.set()
        self.lease.close()
        for stop in self._stops.values():
            stop.set()
        self._line.close()

    def _poll(self):
        while not self._frozen.wait(POLLS_S):
            try:
                self._line.sendall(b'{"polled": true}\n')
            except OSError:
                return  # its member hears it no more, or the history is over

    def _listen(self):
        with self._line.makefile("rb") as lines:
            for line in lines:
                if self._frozen.is_set():
                    continue
                said = json.loads(line)
                for slot in said.get("assigned", ()):
                    self._start(slot)
                for slot in said.get("revoked", ()):
                    self._stops.pop(slot).set()
                if "revoked" in said:
                    for host in self._hosts:
                        host.join(0 if host.slot in self._stops else 60)
                    self._line.sendall(b'{"done": true}\n')

    def _start(self, slot):
        stop = self._stops[slot] = threading.Event()
        host = threading.Thread(target=self._run, args=(slot, stop, os.dup(self.life_line.held)), daemon=True)
        host.slot = slot
        self._hosts.append(host)
        host.start()

    def _run(self, slot, stop, held):
        looked_s = 0.0
        while not stop.wait(0.002):
            if time.monotonic() - looked_s >= HOST_LOOKS_S:
                looked_s = time.monotonic()
                if not self.lease.is_good:
                    break
            self._group.mark(slot, self.name)
        os.close(held)


FAULTS = (Worker.believe_gone, Worker.freeze, Worker.kill)


def draw_fault(draw: random.Random):
    return draw.choice(FAULTS)
