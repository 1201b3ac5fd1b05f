"""Causes the faults of a random history of a cluster: each begins at a step, and is healed some steps later."""

from __future__ import annotations

import random
import signal
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass

import psutil
from cluster_bed import Bed, Member


@dataclass
class Fault:
    """Holds a fault that has begun. `member` must not be harmed again before it is healed."""

    name: str
    heal: Callable[[], None]
    member: Member | None = None


def begin(bed: Bed, draw: random.Random, open_faults: Sequence[Fault]) -> Fault | None:
    """Begin a fault and return it; None if nothing is left to be harmed."""
    kind = draw.choice((*_TO_MEMBERS, *_TO_MEMBERS, *_TO_KAFKA))
    if kind in _TO_KAFKA:
        if any(fault.member is None for fault in open_faults):
            return None
        return _TO_KAFKA[kind](bed)
    harmed = [fault.member for fault in open_faults]
    unharmed = [member for member in bed.members if member not in harmed]
    if not unharmed:
        return None
    leader = bed.leader()
    member = leader if leader in unharmed and draw.random() < 0.4 else draw.choice(unharmed)
    assert member is not None
    return _TO_MEMBERS[kind](member, draw)


def _kill_worker(member: Member, draw: random.Random) -> Fault:
    member.process.process.kill()
    return Fault(f"worker {member.number} killed", lambda: _start_again(member), member)


def leave(member: Member, draw: random.Random) -> Fault:
    """Tell the worker to end."""
    member.process.process.send_signal(signal.SIGTERM)
    return Fault(f"worker {member.number} told to end", lambda: _start_again(member), member)


def _freeze_worker(member: Member, draw: random.Random) -> Fault:
    """Freeze the worker alone, or with its hosts, like a machine that is paused."""
    tree = member.tree()
    return _frozen(member, tree if draw.random() < 0.5 else tree[:1])


def freeze_alone(member: Member) -> Fault:
    """Freeze the worker, but none of its hosts."""
    return _frozen(member, member.tree()[:1])


def _frozen(member: Member, processes: Sequence[psutil.Process]) -> Fault:
    _signal(processes, signal.SIGSTOP)
    return Fault(
        f"worker {member.number} frozen, {len(processes)} processes", lambda: _signal(processes, signal.SIGCONT), member
    )


def _kill_hosts(member: Member, draw: random.Random) -> Fault:
    hosts = [process for process in member.tree()[1:] if _is_leaf(process)]
    _signal(draw.sample(hosts, min(1, len(hosts))), signal.SIGKILL)
    return Fault(f"a host of worker {member.number} killed", lambda: None, member)


def kill_tasks(bed: Bed, pids: Iterable[int]) -> None:
    """Kill those processes in which tasks run."""
    killed = frozenset(pids)
    _signal([one for member in bed.members for one in member.tree() if one.pid in killed], signal.SIGKILL)


def _hold_up_rest(member: Member, draw: random.Random) -> Fault:
    member.relay.cut()
    return Fault(f"requests of others to worker {member.number} held up", member.relay.mend, member)


def _kill_kafka(bed: Bed) -> Fault:
    bed.kafka.kill()
    return Fault("broker killed", lambda: bed.kafka.start() and None)


def _freeze_kafka(bed: Bed) -> Fault:
    assert bed.kafka.pid is not None
    broker = [psutil.Process(bed.kafka.pid)]
    _signal(broker, signal.SIGSTOP)
    return Fault("broker frozen", lambda: _signal(broker, signal.SIGCONT))


def _start_again(member: Member) -> None:
    member.process.stop()
    member.start()


def _is_leaf(process: psutil.Process) -> bool:
    """Return True if a process has no children; one that has ended meanwhile does not count."""
    try:
        return not process.children()
    except psutil.NoSuchProcess:
        return False


def _signal(processes: Sequence[psutil.Process], number: int) -> None:
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.send_signal(number)


_TO_MEMBERS: dict[str, Callable[[Member, random.Random], Fault]] = {
    "kill": _kill_worker, "leave": leave, "freeze": _freeze_worker, "host": _kill_hosts, "rest": _hold_up_rest,
}  # fmt: skip
_TO_KAFKA: dict[str, Callable[[Bed], Fault]] = {"kafka killed": _kill_kafka, "kafka frozen": _freeze_kafka}
