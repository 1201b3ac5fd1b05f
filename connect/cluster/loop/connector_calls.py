"""Questions to connectors, asked in processes of their own: one that hangs there stops no task and no herder.

All questions share a process, until one of them takes long or costs the process: then whoever asked it is a suspect for
a while, and asks in a process apart. One that takes long is left alone in its process, and the others are asked in a
new one. So nobody waits for the time that another one's question takes, nor behind its questions again and again.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from typing import Any, Final

from connect.cluster.hosts.lease import LEASE_OVER
from connect.cluster.hosts.supervisor import KILL_GRACE_S
from connect.cluster.hosts.suspects import SuspectedAskers
from connect.cluster.hosts.task_host import Host
from connect.cluster.loop.call_host import Asked, CallHost, CallHostSettings
from connect.runtime.task.messages import Call, CallResult, Method

TRIES: Final = 2
"""A call whose host died of something else is asked once more."""
APART_MAX: Final = 4
"""Suspects have so many hosts beside the one of everybody; where there are more suspects, some share one."""
SLOW_S: Final = 10.0
"""Whoever asks what takes longer is a suspect, as a check that computes leaves others little time in its process."""

MOVED: Final[frozenset[Method]] = frozenset({"check", "validate", "sample"})
"""What these ask changes nothing: it may go on being asked where its answer is no longer heard."""

Positions = Sequence[tuple[Mapping[str, Any], Mapping[str, Any] | None]]
"""What `Call.positions` says."""


class ConnectorCalls:
    """Asks connectors in a few task hosts. Owned by the herder's thread; futures are completed there."""

    def __init__(self, name: str, settings: CallHostSettings) -> None:
        """`name`: that of the host of everybody; those of suspects have a number behind it."""
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

        `asker`: who wants to know, as far as others have to be kept from waiting behind it; empty: the connector.
        """
        call = Call(next(self._ids), method, config, timeout_s, positions, count)
        now_s = self._clock_s()
        who = asker or f"connector {config.get('name', '')}"
        asked = Asked(call, Future(), who, now_s, now_s + timeout_s + KILL_GRACE_S)
        self._send(asked)
        return asked.answer

    def make_ready(self) -> None:
        """Have the host of everybody there before the first question."""
        self._hosts[0].make_ready()

    def tick(self) -> None:
        """Look after the hosts, and suspect those who asked what takes long."""
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
        if reason != LEASE_OVER:
            # A process that died by itself may have died of any of its calls.
            for asked in overdue or others:
                self._suspects.add(asked.asker)
        for asked in overdue:
            named = " ".join(("The connector", asked.call.config.get("connector.class", ""))).strip()
            asked.fail(f"{named} did not answer {asked.call.method} within {asked.call.timeout_s:.3g} s.", host)
        for asked in others:
            if asked.tries >= TRIES and not overdue:
                asked.fail(f"The process that ran the connector's {asked.call.method} (pid {host.pid}) {reason}.", host)
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
