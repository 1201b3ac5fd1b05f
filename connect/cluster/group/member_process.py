"""Keeps a worker in its group, as a process of its own: `member_process LINE LEASE WATCHED`.

When the worker is gone, this process leaves the group as soon as all of the worker's task hosts are gone, too. So the
other workers need not wait for the end of a session, as if the worker had left by itself. It also leaves for a worker
that is frozen, when the hosts' lease has run out. As long as a host may be at work it stays in the group.

LINE, LEASE and WATCHED are descriptors: of the socket to the worker, of the hosts' lease, and of the life line of the
hosts. Messages on LINE are JSON objects, one a line. The worker sends `Joining` as an object first, then
`{"level": [logger, level]}`, `{"polled"}`, `{"done"}` when it has let go of the slots it was asked for, and
`{"leave"}`. It gets `{"assigned"}`, `{"revoked"}` and `{"lost"}` with slots, `{"trouble"}`, and at the end `{"failed"}`
with the reason.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from connect.api.errors import ConnectError, RetriableError
from connect.cluster.hosts.lease import MemberLease
from connect.cluster.hosts.life_line import await_end_of_all
from connect.kafka.consume.membership_consumer import MembershipConsumer
from connect.lib.deadline import Deadline
from connect.telemetry.log_levels import LOG_LEVELS

POLL_S: Final = 0.05
"""The end of the worker is noticed within this many seconds."""
UNPOLLED_S: Final = 5.0
"""A worker that has sent no `{"polled"}` for this many seconds gets no news of the group.

The thread that should ask may hang, and then the group puts the worker out after max.poll.interval.ms.
"""
_IGNORED: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""These signals are ignored: a service manager may send them to all processes, but the worker decides when to end."""

_logger = logging.getLogger("connect.cluster.group.member_process")  # run as a program it has another name


@dataclass(frozen=True, slots=True)
class Joining:
    """Says which group to join, and how many seconds a lease and a session are good."""

    topic: str
    settings: Mapping[str, str | int | float | bool]
    secrets: Sequence[str]
    """These values of the settings are masked in logs."""
    log_level: int
    lease_s: float
    session_s: float


class MemberServer:
    """Serves the group on the main thread, and hears the worker on another thread."""

    def __init__(
        self, line: socket.socket, orders: Iterator[bytes], joining: Joining, lease: int, watched: int
    ) -> None:
        self._line = line
        self._orders = orders
        self._joining = joining
        self._lease = MemberLease(lease, joining.lease_s)
        self._watched = watched
        self._polled_s = time.monotonic()
        self._released = threading.Event()
        self._leaving = threading.Event()
        self._gone = threading.Event()
        self._is_out = False
        threading.Thread(target=self._hear, name="worker-line", daemon=True).start()

    def serve(self) -> None:
        """Stay in the group until the worker leaves it, is gone or is frozen."""
        failure: str | None = None
        try:
            member = MembershipConsumer(self._joining.topic, self._joining.settings, self)
            try:
                self._serve(member)
            finally:
                left_s = time.monotonic()
                member.close(Deadline.after(self._joining.session_s))
                if self._is_out:
                    _logger.warning("group_left_for_worker", extra={"leaving_s": round(time.monotonic() - left_s, 3)})
        except ConnectError as error:
            failure = str(error)
        if self._is_out:
            failure = f"The worker did nothing for {self._joining.lease_s:g} s, so its member left the group."
        if failure is not None:
            self._tell({"failed": failure})

    def _serve(self, member: MembershipConsumer) -> None:
        trouble: str | None = None
        while not self._leaving.is_set() and not self._worker_is_out():
            if time.monotonic() - self._polled_s > UNPOLLED_S:
                self._gone.wait(POLL_S)
                continue
            try:
                member.poll(POLL_S)
            except RetriableError as error:
                _logger.debug("group_answered", extra={"error": str(error)})
                self._gone.wait(POLL_S)
            if member.trouble != trouble:
                trouble = member.trouble
                self._tell({"trouble": trouble})

    # --- what the group says, on the main thread inside of `poll` and `close` ---

    def assigned(self, partitions: frozenset[int]) -> None:
        """See GroupListener."""
        if not self._is_out:
            self._lease.hold()
        self._tell({"assigned": sorted(partitions)})

    def revoked(self, partitions: frozenset[int]) -> None:
        """See GroupListener. The slots go to others when this returns."""
        if self._worker_is_out():
            return
        self._released.clear()
        self._tell({"revoked": sorted(partitions)})
        while not self._worker_is_out() and not self._released.wait(POLL_S):
            pass

    def lost(self, partitions: frozenset[int]) -> None:
        """See GroupListener."""
        self._lease.revoke()
        self._tell({"lost": sorted(partitions)})

    def _worker_is_out(self) -> bool:
        """Return True if the worker is gone or frozen; it then waits first until none of its hosts can be at work."""
        if self._is_out:
            return True
        began_s = time.monotonic()
        if self._gone.is_set():
            self._end_with_session()
            self._lease.revoke()
            ended = await_end_of_all(self._watched, self._lease.hosts_ended_s)
            waited_for = "its hosts" if ended else "the lease"
            _logger.warning(
                "worker_gone", extra={"waited_for": waited_for, "waited_s": round(time.monotonic() - began_s, 3)}
            )
            self._is_out = True
        elif began_s > self._lease.hosts_ended_s:
            self._lease.revoke()
            # The worker may have extended its part just before the lease was revoked, and its hosts may have seen that.
            self._is_out = began_s > self._lease.hosts_ended_s
            if self._is_out:
                _logger.warning("worker_frozen", extra={"lease_s": self._joining.lease_s})
            else:
                self._lease.hold()
        return self._is_out

    def _end_with_session(self) -> None:
        # After the time of a session the group has forgotten this member, even if something keeps the process here.
        timer = threading.Timer(self._joining.session_s, os._exit, (1,))
        timer.daemon = True
        timer.start()

    # --- what the worker says, on a thread of its own ---

    def _hear(self) -> None:
        try:
            for line in self._orders:
                self._obey(json.loads(line))
        except (OSError, ValueError) as error:  # the worker died within a message
            _logger.debug("worker_line_broken", extra={"error": str(error)})
        finally:
            self._gone.set()  # no other thread hears the worker

    def _obey(self, order: Mapping[str, Any]) -> None:
        if "level" in order:
            LOG_LEVELS.set(*order["level"])
        elif "polled" in order:
            self._polled_s = time.monotonic()
        elif "done" in order:
            self._released.set()
        elif "leave" in order:
            self._leaving.set()

    def _tell(self, message: Mapping[str, object]) -> None:
        try:
            self._line.sendall(json.dumps(message).encode() + b"\n")
        except OSError as error:
            _logger.debug("worker_line_broken", extra={"error": str(error)})


class _FirstLine(logging.Handler):
    """Makes the logs ready at the first record only: most members log nothing, and the formatters take 9 MiB."""

    def __init__(self, secrets: Sequence[str]) -> None:
        super().__init__()
        self._secrets = secrets

    def emit(self, record: logging.LogRecord) -> None:
        """Replace this handler by the real one, and pass the record on to that."""
        from connect.telemetry.logs import set_up_logs
        from connect.telemetry.secret_texts import SECRET_TEXTS

        level = logging.getLogger().level
        SECRET_TEXTS.add(set(self._secrets))
        set_up_logs()
        logging.getLogger().setLevel(level)
        logging.getLogger(record.name).handle(record)


def serve(line: int, lease: int, watched: int) -> int:
    """Keep a worker in its group until the worker leaves it or is gone. Return the exit code, or end the process."""
    for number in _IGNORED:
        signal.signal(number, signal.SIG_IGN)
    with socket.socket(fileno=line) as channel, channel.makefile("rb") as orders:
        first = orders.readline()
        if not first:
            return 0  # the worker ended before it joined
        joining = Joining(**json.loads(first))
        logging.basicConfig(handlers=[_FirstLine(joining.secrets)], level=joining.log_level, force=True)
        server = MemberServer(channel, orders, joining, lease, watched)
        code = 0
        try:
            server.serve()
        except Exception:
            _logger.exception("member_failed")
            code = 1
        sys.stderr.flush()
        os._exit(code)  # the thread that hears the worker may be in a read, for whose end closing would wait


if __name__ == "__main__":
    sys.exit(serve(*map(int, sys.argv[1:])))
