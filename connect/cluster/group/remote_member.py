"""Connects the worker to its member in the group, which is a process of its own (`member_process`)."""

from __future__ import annotations

import json
import logging
import select
import socket
import subprocess
import threading
import time
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final

from connect.api.errors import ConnectError, RetriableError
from connect.cluster.group import member_process
from connect.cluster.group.member_process import UNPOLLED_S, Joining
from connect.cluster.hosts.fork_seed import ForkSeed, forked
from connect.cluster.hosts.host_process import exit_reason
from connect.cluster.leader.group_membership import SlotListener
from connect.lib import python_child
from connect.lib.deadline import Deadline
from connect.telemetry.log_levels import LogLevels

END_S: Final = 5.0
"""A process that has sent its last message, or was killed, ends within this many seconds."""
_READ_BYTES: Final = 65_536
_logger = logging.getLogger(__name__)


class MemberProcesses:
    """Starts the processes that keep a worker in its group: one at a time, and the first before it is needed."""

    def __init__(self, lease: int, watched: int, levels: LogLevels, seed: ForkSeed | None = None) -> None:
        """Take the descriptors of the hosts' lease, and of the end of their life line that shows if they run.

        `seed` becomes the first process where it is given (`fork_member`); the others are programs.
        """
        self._descriptors = (lease, watched)
        self._levels = levels
        self._seed = seed
        self._ready: _Process | None = None

    def prepare(self) -> None:
        """Start a process, so that joining does not wait for it. RetriableError."""
        if self._ready is None:
            seed, self._seed = self._seed, None
            self._ready = _Process(*self._descriptors, seed)

    def join(self, joining: Joining, listener: SlotListener) -> RemoteMember:
        """Return a member that joins now. RetriableError: the process was not started."""
        self.prepare()
        process, self._ready = self._ready, None
        assert process is not None
        return RemoteMember(process, joining, listener, self._levels)


def fork_member() -> ForkSeed | None:
    """Return a process that has the modules of this one and becomes its member in the group, or None (`fork_seed`)."""
    return forked(member_process.__name__, member_process.serve, dies_with_parent=False)


class _Process:
    def __init__(self, lease: int, watched: int, seed: ForkSeed | None) -> None:
        self.line, theirs = socket.socketpair()
        command = python_child.command(member_process.__name__, str(theirs.fileno()), str(lease), str(watched))
        self.child: ForkSeed | subprocess.Popen[Any]
        with theirs:
            if seed is not None and seed.begin(theirs, lease, watched):
                self.child = seed
                return
            try:
                self.child = python_child.start(
                    command,
                    pass_fds=[theirs.fileno(), lease, watched],
                    stdin=subprocess.DEVNULL,
                    process_group=0,
                )
            except OSError as error:
                self.line.close()
                raise RetriableError(
                    f"The process by which this worker joins its group was not started: {error.strerror}."
                ) from error


class RemoteMember:
    """It is a GroupMember. The listener hears the messages of the process during `poll`."""

    def __init__(self, process: _Process, joining: Joining, listener: SlotListener, levels: LogLevels) -> None:
        self._process = process
        self._listener = listener
        self._levels = levels
        self._held: frozenset[int] = frozenset()
        self._trouble: str | None = None
        self._failure: str | None = None
        self._unread = b""
        self._ended = False
        self._polled_s = float("-inf")
        self._lock = threading.Lock()  # any thread may set a log level and send it from there
        self._readable, self._writable = select.poll(), select.poll()
        self._readable.register(process.line, select.POLLIN)
        self._writable.register(process.line, select.POLLOUT)
        self._send(asdict(joining))
        levels.follow(self._tell_level)

    @property
    def trouble(self) -> str | None:
        """Return why the brokers were last not reached; None if they are reached, as far as is known."""
        return self._trouble

    def poll(self, timeout_s: float) -> None:
        """Tell the listener the news of the group. ConnectError: the process has ended, and its slots are lost."""
        if time.monotonic() - self._polled_s >= UNPOLLED_S / 5:
            self._polled_s = time.monotonic()
            self._send({"polled": True}, may_be_left_out=True)
        self._hear(timeout_s)
        if self._ended:
            held, self._held = self._held, frozenset()
            if held:
                self._listener.lost(held)
            ended = exit_reason(self._exit_code())
            reason = self._failure or f"The process by which this worker was in its group {ended}."
            raise ConnectError(reason)

    def close(self, deadline: Deadline) -> None:
        """Leave the group; the process is killed if it has not left by the deadline."""
        self._levels.unfollow(self._tell_level)
        self._send({"leave": True})
        while not self._ended and not deadline.expired:
            self._hear(min(0.1, deadline.remaining_s))
        if not self._ended:
            self._process.child.kill()
        self._exit_code()
        self._process.line.close()

    def _exit_code(self) -> int:
        """Return the exit code of the process; kill the process if it does not end by itself in time."""
        try:
            return self._process.child.wait(END_S)
        except subprocess.TimeoutExpired:
            self._process.child.kill()
            return self._process.child.wait()

    def _hear(self, timeout_s: float) -> None:
        if self._ended or not self._readable.poll(timeout_s * 1000):
            return
        try:
            said = self._process.line.recv(_READ_BYTES)
        except ConnectionResetError:  # it was killed before it had read all
            said = b""
        self._ended = not said
        *lines, self._unread = (self._unread + said).split(b"\n")
        for line in lines:
            self._take(json.loads(line))

    def _take(self, said: Mapping[str, Any]) -> None:
        if "assigned" in said:
            slots = frozenset(said["assigned"])
            self._held |= slots
            self._listener.assigned(slots)
        elif "revoked" in said:
            slots = frozenset(said["revoked"])
            self._held -= slots
            self._listener.revoked(slots)
            self._send({"done": True})
        elif "lost" in said:
            slots = frozenset(said["lost"])
            self._held -= slots
            self._listener.lost(slots)
        elif "trouble" in said:
            self._trouble = said["trouble"]
        else:
            self._failure = said["failed"]

    def _tell_level(self, logger: str, level: str) -> None:
        self._send({"level": [logger, level]})

    def _send(self, message: Mapping[str, Any], *, may_be_left_out: bool = False) -> None:
        """Send a message. A process that reads none for END_S is killed, unless the message may be left out."""
        wait_s = 0 if may_be_left_out else END_S
        try:
            with self._lock:
                if self._writable.poll(wait_s * 1000):
                    self._process.line.sendall(json.dumps(message).encode() + b"\n")
                elif not may_be_left_out:
                    _logger.error("member_process_stuck", extra={"unread_for_s": wait_s})
                    self._process.child.kill()
        except OSError as error:
            # The thread that polls notices the end of the process.
            _logger.debug("member_line_broken", extra={"error": str(error)})
