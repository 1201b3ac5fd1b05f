"""Ends task hosts that hang, that say nothing, that hold too much memory, or that nobody needs."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final, NamedTuple

from connect.cluster.hosts.host_pool import HostPool, HostRuns
from connect.cluster.hosts.task_host import Host

TICK_S: Final = 0.25
"""The herder calls `tick` once in this many seconds."""
SILENT_TICKS: Final = 16
"""A host sends a message every second. After this many ticks without one it hangs, and is told to end.

That is 4 s. A host that hangs does not look at its lease either, so with the default session timeout the kernel ends it
after 4.4 s at the least, and then nobody learns what its threads did.
"""
ABORT_TICKS: Final = 4
"""A host that is told to write its stacks and end has this many ticks to do so; then it is killed."""
MIB: Final = 1024 * 1024
_logger = logging.getLogger(__name__)


class MemoryLimit(NamedTuple):
    """Holds the memory in bytes that a host may hold (0: no limit), and the key of the worker's file that sets it."""

    size_bytes: int
    key: str = "task.host.memory.limit"


def require_memory(host: Host, limit: MemoryLimit) -> None:
    """End a host that holds more memory than it may."""
    used = host.resident_bytes() if limit.size_bytes else 0
    if used > limit.size_bytes:
        host.kill(
            f"was killed: it held {used // MIB} MiB of memory, more than {limit.key}={limit.size_bytes // MIB} allows"
        )


class HostWatch:
    """Looks at each host at every tick, and ends those that must end. Owned by the herder's thread."""

    def __init__(self, pool: HostPool, memory_bytes: int, clock_s: Callable[[], float]) -> None:
        """Watch the hosts of a pool. Each may hold `memory_bytes`; 0 means no limit."""
        self._pool = pool
        self._memory = MemoryLimit(memory_bytes)
        self._clock_s = clock_s

    def tick(self) -> None:
        """End the hosts that have to end, and start the host that is kept ready.

        Called every `TICK_S`. Silence is counted in calls: on a machine so busy that neither the worker nor the host
        runs, no host is ended for its silence.
        """
        now_s = self._clock_s()
        for host, tasks in tuple(self._pool.hosts.items()):
            self._listen(host, tasks)
            late = [run for run, at_s in tasks.overdue_s.items() if at_s <= now_s]
            if late and not tasks.sacrificed:
                self._sacrifice(host, tasks, late)
            elif tasks.runs:
                require_memory(host, self._memory)
            elif self._pool.is_unneeded(host):
                self._pool.end(host)
        self._pool.make_ready()

    def _listen(self, host: Host, tasks: HostRuns) -> None:
        if tasks.spoke:
            tasks.spoke, tasks.silent_ticks = False, 0
        elif tasks.silent_ticks >= 0:
            tasks.silent_ticks += 1
        if tasks.silent_ticks == SILENT_TICKS:
            reason = f"was killed: it gave no sign of life for {SILENT_TICKS * TICK_S:g} s"
            _logger.warning("task_host_silent", extra={"host": host.name, "pid": host.pid, "reason": reason})
            host.abort(reason)
        elif tasks.silent_ticks == SILENT_TICKS + ABORT_TICKS:
            host.kill("was killed: it gave no sign of life")

    def _sacrifice(self, host: Host, tasks: HostRuns, late: list[int]) -> None:
        names = ", ".join(sorted(str(tasks.runs[run]) for run in late if run in tasks.runs))
        _logger.warning(
            "task_host_killed", extra={"host": host.name, "pid": host.pid, "reason": f"{names} did not stop in time"}
        )
        tasks.sacrificed = True
        host.kill(f"was killed because {names} did not stop in time")
