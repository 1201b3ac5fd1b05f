"""Asks connectors in processes of their own, so that one that hangs there stops no task and no herder.

All questions share a process until one of them takes long or ends the process. Its asker is then a suspect for a while,
and the suspect's questions get another process. A question that takes long stays alone in its process, and the others
move to a new one. So nobody waits for another asker's slow question, nor again and again behind that asker.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from typing import Any, Final

from connect.api.errors import ConnectError
from connect.cluster.hosts.forked_host import NOT_MADE
from connect.cluster.hosts.lease import LEASE_OVER
from connect.cluster.hosts.supervisor import KILL_GRACE_S
from connect.cluster.hosts.suspects import SuspectedAskers
from connect.cluster.hosts.task_host import Host
from connect.cluster.loop.call_host import Asked, CallHost, CallHostSettings
from connect.runtime.task.messages import Call, CallResult, Method

TRIES: Final = 2
"""A call is tried so often at most where its host died by itself. A host that another call cost does not count."""
APART_MAX: Final = 4
"""Suspects have so many hosts beside the shared one; where there are more suspects, some of them share a host."""
SLOW_S: Final = 10.0
"""The asker of a question that takes longer is a suspect: it may leave the others little time in their process."""

MOVED: Final[frozenset[Method]] = frozenset({"check", "validate", "sample"})
"""These calls change nothing. So they may be sent to another host while the first one still works on them."""

_logger = logging.getLogger(__name__)

Positions = Sequence[tuple[Mapping[str, Any], Mapping[str, Any] | None]]
"""Holds pairs of a source partition and its offset, see `Call.positions`."""


class ConnectorCalls:
    """Asks connectors in a few task hosts. Owned by the herder's thread; futures are completed there."""

    def __init__(self, name: str, settings: CallHostSettings) -> None:
        """Plan the hosts. `name` is the shared one's; those of suspects are named by it and a number."""
        self._clock_s = settings.clock_s
        self._shared_host = partial(CallHost, name, settings, self)
        names = (f"{name}-apart-{number}" for number in range(1, APART_MAX + 1))
        self._hosts = [self._shared_host(), *(CallHost(one, settings, self) for one in names)]
        self._left: list[CallHost] = []  # hosts of everybody that are at work on slow questions alone
        self._suspects = SuspectedAskers(APART_MAX, settings.clock_s)
        self._ids = itertools.count(1)

    def ask(
        self,
        method: Method,
        config: Mapping[str, str],
        timeout_s: float,
        positions: Positions = (),
        *,
        count: int = 0,
        asker: str = "",
    ) -> Future[CallResult]:
        """Ask a connector. The future always gets an answer; a connector that dies or hangs gives one with `error`.

        `asker` names who becomes a suspect if the call takes long; empty: the connector.
        """
        call = Call(next(self._ids), method, config, timeout_s, positions, count)
        now_s = self._clock_s()
        who = asker or f"connector {config.get('name', '')}"
        asked = Asked(call, Future(), who, now_s, now_s + timeout_s + KILL_GRACE_S)
        self._send(asked)
        return asked.answer

    def make_ready(self) -> None:
        """Start the shared host before the first question. Where the machine refuses it, that question tries again."""
        try:
            self._hosts[0].make_ready()
        except ConnectError as error:
            _logger.warning("call_host_not_started", extra={"error": str(error)})

    def tick(self) -> None:
        """End hosts that hang or idle, and make suspects of those whose questions take long."""
        slow_s = self._clock_s() - SLOW_S
        for host in self._all():
            slow = {asked.asker for asked in host.asked if asked.begun_s <= slow_s}
            for asker in slow:
                self._suspects.add(asker)
            if slow and host is self._hosts[0]:
                self._leave(host)
            host.tick()
        for host in [host for host in self._left if not host.asked]:
            host.close()
            self._left.remove(host)

    def kill(self, reason: str) -> None:
        """End the hosts at once. From any thread."""
        for host in self._all():
            host.kill(reason)

    def give_up(self) -> None:
        """Fail all open questions, as the worker ends and nobody waits for answers any more."""
        for host in self._all():
            host.give_up()

    def close(self) -> None:
        """Ask the hosts to end."""
        for host in self._all():
            host.close()

    def calls_lost(self, overdue: Sequence[Asked], others: Sequence[Asked], host: Host, reason: str) -> None:
        """See CallsListener."""
        if reason != LEASE_OVER and not reason.startswith(NOT_MADE):
            # A process that died by itself may have died of any of its calls.
            for asked in overdue or others:
                self._suspects.add(asked.asker)
        for asked in overdue:
            named = " ".join(("The connector", asked.call.config.get("connector.class", ""))).strip()
            asked.fail(f"{named} did not answer {asked.call.method} within {asked.call.timeout_s:.3g} s.", host)
        for asked in others:
            if asked.tries >= TRIES and not overdue:
                text = f"The process that ran the connector's {asked.call.method} (pid {host.pid}) {reason}."
                asked.fail(text, host, unavailable=reason == LEASE_OVER)
                continue
            # A host that an overdue call has cost counts as no try of the other calls.
            now_s = self._clock_s()
            overdue_s = now_s + asked.call.timeout_s + KILL_GRACE_S
            self._send(replace(asked, tries=asked.tries + (not overdue), begun_s=now_s, overdue_s=overdue_s))

    def _all(self) -> Sequence[CallHost]:
        return (*self._hosts, *self._left)

    def _leave(self, host: CallHost) -> None:
        """Leave the host of everybody to those who ask what takes long; the others are asked in a new one."""
        self._left.append(host)
        self._hosts[0] = self._shared_host()
        for asked in host.take_back(self._may_move):
            self._send(replace(asked, begun_s=self._clock_s()))

    def _may_move(self, asked: Asked) -> bool:
        return asked.call.method in MOVED and not self._suspects.group_of(asked.asker)

    def _send(self, asked: Asked) -> None:
        self._hosts[self._suspects.group_of(asked.asker)].send(asked)
