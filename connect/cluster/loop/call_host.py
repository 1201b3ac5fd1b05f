"""Has connectors answer the worker's questions in one process, and keeps the calls that it works on."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from connect.api.errors import ConnectError
from connect.cluster.hosts.host_pool import Launch
from connect.cluster.hosts.host_watch import MIB, MemoryLimit, require_memory
from connect.cluster.hosts.supervisor import Post
from connect.cluster.hosts.task_host import Host
from connect.cluster.loop.event_loop import ENDING
from connect.runtime.settings.worker_config import WorkerConfig
from connect.runtime.task.messages import Call, CallResult, Message

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Asked:
    """Holds a call, the name of its asker, and the future of its answer. Times are seconds of its owner's clock."""

    call: Call
    answer: Future[CallResult]
    asker: str
    begun_s: float
    overdue_s: float
    tries: int = 1

    def fail(self, text: str, host: Host, *, unavailable: bool = False) -> None:
        """Answer with an error, and with what the host's threads did as it ended.

        `unavailable` says that the worker is the reason, and not the connector.
        """
        stacks = host.crash_report.stacks
        trace = f"{text}\nThe threads of that process, as it ended:\n{stacks}" if stacks else text
        self.answer.set_result(CallResult(self.call.id, error=text, trace=trace, unavailable=unavailable))


class CallsListener(Protocol):
    """Hears what becomes of calls whose host has died, on the herder's thread."""

    def calls_lost(self, overdue: Sequence[Asked], others: Sequence[Asked], host: Host, reason: str) -> None:
        """Take back the calls of a host that is gone: it was ended for those of `overdue`; `others` are the rest."""


class CallHostSettings(NamedTuple):
    """Says how call hosts are started, and when they are ended."""

    launch: Launch
    post: Post
    idle_s: float
    """A host without calls is ended after this time."""
    memory: MemoryLimit
    clock_s: Callable[[], float] = time.monotonic


def memory_limit(worker: WorkerConfig) -> MemoryLimit:
    """Return the memory that a call host may hold: the lower of the worker's limits for task hosts and for checks."""
    known = (
        MemoryLimit(worker.check_host_memory_limit_mb * MIB, "check.host.memory.limit"),
        MemoryLimit(worker.task_host_memory_limit_mb * MIB),
    )
    return min((one for one in known if one.size_bytes), default=known[0])


class CallHost:
    """Keeps one process that asks connectors. Owned by the herder's thread; futures are completed there."""

    def __init__(self, name: str, settings: CallHostSettings, listener: CallsListener) -> None:
        self._name = name
        self._settings = settings
        self._listener = listener
        self._host: Host | None = None
        self._asked: dict[int, Asked] = {}
        self._idle_since_s = 0.0
        self._overdue: frozenset[int] = frozenset()

    @property
    def asked(self) -> Sequence[Asked]:
        """Return the calls without an answer so far."""
        return tuple(self._asked.values())

    def send(self, asked: Asked) -> None:
        """Send a call to the process, and start it first if it does not run.

        A call whose process the machine refuses is answered with an error, and may be made again.
        """
        try:
            self.make_ready()
        except ConnectError as error:
            asked.answer.set_result(CallResult(asked.call.id, error=str(error), retriable=True))
            return
        self._asked[asked.call.id] = asked
        assert self._host is not None
        self._host.send(asked.call)

    def take_back(self, wanted: Callable[[Asked], bool]) -> Sequence[Asked]:
        """Return and forget the open calls that `wanted` selects; answers to them that still come are ignored."""
        taken = [asked for asked in self._asked.values() if wanted(asked)]
        for asked in taken:
            del self._asked[asked.call.id]
        return taken

    def make_ready(self) -> None:
        """Start the process if it does not run. Raise ConnectError where the machine refuses it."""
        if self._host is None:
            self._idle_since_s = self._settings.clock_s()
            self._host = self._settings.launch(self._name, self)

    def tick(self) -> None:
        """End the process if a call hangs, if it holds too much memory, or if it was asked nothing for a while."""
        if self._host is None:
            return
        now_s = self._settings.clock_s()
        late = frozenset(number for number, asked in self._asked.items() if asked.overdue_s <= now_s)
        if late and not self._overdue:
            self._overdue = late
            _logger.warning(
                "connector_call_hangs", extra={"host": self._host.name, "pid": self._host.pid, "calls": len(late)}
            )
            self._host.abort("was killed because a call did not answer in time")
        elif self._asked:
            require_memory(self._host, self._settings.memory)
        elif now_s - self._idle_since_s >= self._settings.idle_s:
            self.close()

    def kill(self, reason: str) -> None:
        """End the process at once. From any thread."""
        host = self._host
        if host is not None:
            host.kill(reason)

    def give_up(self) -> None:
        """Fail all open questions, as the worker ends and nobody waits for answers any more."""
        while self._asked:
            number, asked = self._asked.popitem()
            asked.answer.set_result(CallResult(number, error=ENDING, unavailable=True))

    def close(self) -> None:
        """Ask the process to end."""
        if self._host is not None:
            self._host.close()
            self._host = None

    def said(self, host: Host, message: Message) -> None:
        """Take what the host said; on its reader thread."""
        if isinstance(message, CallResult):
            self._settings.post(f"taking in the answer of {host.name}", lambda: self._answer(message))

    def ended(self, host: Host, reason: str) -> None:
        """Take note that the host is gone; on its reader thread."""
        self._settings.post("taking in the end of the call host", lambda: self._bury(host, reason))

    def _answer(self, result: CallResult) -> None:
        asked = self._asked.pop(result.id, None)
        self._idle_since_s = self._settings.clock_s()
        if asked is not None:
            asked.answer.set_result(result)

    def _bury(self, host: Host, reason: str) -> None:
        if host is not self._host:
            return
        self._host = None
        late, self._overdue = self._overdue, frozenset()
        lost, self._asked = self._asked, {}
        overdue = [asked for number, asked in lost.items() if number in late]
        others = [asked for number, asked in lost.items() if number not in late]
        self._listener.calls_lost(overdue, others, host, reason)
