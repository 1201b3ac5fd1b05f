"""Questions to connectors, asked in a process of their own: one that hangs there stops no task and no herder."""

from __future__ import annotations

import itertools
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Any, Final

from connect.cluster.hosts.host_pool import Launch
from connect.cluster.hosts.host_watch import require_memory
from connect.cluster.hosts.supervisor import KILL_GRACE_S, Post
from connect.cluster.hosts.task_host import Host
from connect.runtime.task.messages import Call, CallResult, Message, Method

TRIES: Final = 2
"""A call whose host died of something else is asked once more."""

Positions = Sequence[tuple[Mapping[str, Any], Mapping[str, Any] | None]]
"""What `Call.positions` says."""

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Asked:
    call: Call
    answer: Future[CallResult]
    overdue_s: float
    tries: int = 1


class ConnectorCalls:
    """Asks connectors in one task host. Owned by the herder's thread; futures are completed there."""

    def __init__(
        self,
        name: str,
        launch: Launch,
        post: Post,
        idle_s: float,
        *,
        memory_bytes: int,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """`name`: that of the host; `idle_s`: a host without calls is ended after this time.

        `memory_bytes`: what the host may hold; 0: any.
        """
        self._name = name
        self._idle_s = idle_s
        self._memory_bytes = memory_bytes
        self._launch = launch
        self._post = post
        self._clock_s = clock_s
        self._host: Host | None = None
        self._asked: dict[int, _Asked] = {}
        self._ids = itertools.count(1)
        self._idle_since_s = 0.0
        self._overdue: frozenset[int] = frozenset()

    def ask(
        self, method: Method, config: Mapping[str, str], timeout_s: float, positions: Positions = (), count: int = 0
    ) -> Future[CallResult]:
        """Ask a connector. The future always gets an answer; a connector that dies or hangs gives one with `error`."""
        call = Call(next(self._ids), method, config, timeout_s, positions, count)
        self._asked[call.id] = _Asked(call, Future(), self._clock_s() + timeout_s + KILL_GRACE_S)
        self._send(call)
        return self._asked[call.id].answer

    def make_ready(self) -> None:
        """Have the host there before the first question."""
        if self._host is None:
            self._idle_since_s = self._clock_s()
            self._host = self._launch(self._name, self)

    def tick(self) -> None:
        """End the host when a call hangs, it holds too much memory, or there is nothing to ask for a while."""
        if self._host is None:
            return
        now_s = self._clock_s()
        late = frozenset(number for number, asked in self._asked.items() if asked.overdue_s <= now_s)
        if late and not self._overdue:
            self._overdue = late
            _logger.warning(
                "connector_call_hangs", extra={"host": self._host.name, "pid": self._host.pid, "calls": len(late)}
            )
            self._host.abort("was killed because a call did not answer in time")
        elif self._asked:
            require_memory(self._host, self._memory_bytes)
        elif now_s - self._idle_since_s >= self._idle_s:
            self.close()

    def kill(self, reason: str) -> None:
        """End the host at once. From any thread."""
        host = self._host
        if host is not None:
            host.kill(reason)

    def give_up(self) -> None:
        """Answer what is still asked: the worker ends, and nobody takes in answers any more."""
        while self._asked:
            number, asked = self._asked.popitem()
            asked.answer.set_result(CallResult(number, error="Worker is shutting down"))

    def close(self) -> None:
        """Ask the host to end."""
        if self._host is not None:
            self._host.close()
            self._host = None

    def said(self, host: Host, message: Message) -> None:
        """Take what the host said; on its reader thread."""
        if isinstance(message, CallResult):
            self._post(f"taking in the answer of {host.name}", lambda: self._answer(message))

    def ended(self, host: Host, reason: str) -> None:
        """Take note that the host is gone; on its reader thread."""
        self._post("taking in the end of the call host", lambda: self._bury(host, reason))

    def _send(self, call: Call) -> None:
        self.make_ready()
        assert self._host is not None
        self._host.send(call)

    def _answer(self, result: CallResult) -> None:
        asked = self._asked.pop(result.id, None)
        self._idle_since_s = self._clock_s()
        if asked is not None:
            asked.answer.set_result(result)

    def _bury(self, host: Host, reason: str) -> None:
        if host is not self._host:
            return
        self._host = None
        overdue, self._overdue = self._overdue, frozenset()
        for number, asked in tuple(self._asked.items()):
            if number in overdue:
                named = " ".join(("The connector", asked.call.config.get("connector.class", ""))).strip()
                text = f"{named} did not answer {asked.call.method} within {asked.call.timeout_s:g} s."
                self._answer(CallResult(number, error=text, trace=_with_stacks(text, host)))
            elif asked.tries >= TRIES and not overdue:
                text = f"The process that ran the connector's {asked.call.method} (pid {host.pid}) {reason}."
                self._answer(CallResult(number, error=text, trace=_with_stacks(text, host)))
            else:
                overdue_s = self._clock_s() + asked.call.timeout_s + KILL_GRACE_S
                # A host that an overdue call has cost counts as no try of the other calls.
                self._asked[number] = replace(asked, tries=asked.tries + (not overdue), overdue_s=overdue_s)
                self._send(asked.call)


def _with_stacks(text: str, host: Host) -> str:
    stacks = host.crash_report.stacks
    return f"{text}\nThe threads of that process, as it ended:\n{stacks}" if stacks else text
