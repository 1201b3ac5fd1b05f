"""Causes the faults of a random history of a backfill: each begins at a step, and is healed some steps later."""

from __future__ import annotations

import random
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final

import psutil
from backfill_bed import Bed, Command


@dataclass
class Fault:
    """Holds a fault that has begun. `service` names the service that it harms; it is empty for a command."""

    name: str
    heal: Callable[[], Any]
    service: str = ""


def begin(
    bed: Bed, draw: random.Random, command: Command | None, harmed: Sequence[Fault], theme: str = ""
) -> Fault | None:
    """Begin a fault and return it; None if nothing is left to be harmed. `theme` is the history's theme."""
    whom = draw.choice(_OF_THEME.get(theme, _WHOM))
    if (whom in {"broker", "database"} or whom in _IN_COMMITS) and any(fault.service for fault in harmed):
        return None  # if both were away at the same time, that would be one outage
    if whom in {"broker", "database"}:
        return _harmed_service(whom, bed.kafka if whom == "broker" else bed.postgres, draw)
    if command is None:
        return None
    if whom in _IN_COMMITS:
        return _in_commits(bed, draw, command, _IN_COMMITS[whom], _slowed if whom in _AT_SLOW_BROKER else _halted)
    return _harmed_command(whom, draw, command)


_IN_COMMITS: Final = {
    "driver killed in commits": "driver killed", "lane killed in a commit": "lane killed",
    "driver frozen in commits": "driver frozen", "lanes killed at a slow broker": "lanes killed",
    "driver frozen at a slow broker": "driver frozen",
}  # fmt: skip
_AT_SLOW_BROKER: Final = frozenset(name for name in _IN_COMMITS if name.endswith("at a slow broker"))
_OF_THEME: Final = {
    "run again": ("driver killed", "driver interrupted", "lane killed", "lane killed"),
    "killed in transactions": ("lanes killed at a slow broker",), "taken over": ("driver frozen at a slow broker",),
}  # fmt: skip
"""Maps themes of a history to the faults that it has; a history of any other theme has those of `_WHOM`."""
THEMES_OF_FAULTS: Final = frozenset(_OF_THEME)
_WORK_S: Final = 0.02
_HALT_S: Final = 0.15
"""A broker that is slowed works and halts for so many seconds in turn, so that each of its answers takes a while."""
_WHOM: Final = (
    "driver killed", "driver killed", "driver frozen", "driver interrupted", "lane killed", "lane killed",
    "lane frozen", "broker", "database", *_IN_COMMITS, *_IN_COMMITS,
)  # fmt: skip


def _in_commits(
    bed: Bed, draw: random.Random, command: Command, whom: str, held_up: Callable[[Any], AbstractContextManager[None]]
) -> Fault | None:
    """Harm a run while its lanes wait for a broker, as few lanes are in a transaction at other times."""
    with held_up(bed.kafka):
        threading.Event().wait(draw.choice((1.0, 2.0, 4.0)))
        fault = _harmed_command(whom, draw, command)
        if whom == "driver frozen":
            threading.Event().wait(0.2)
        return fault


@contextmanager
def _halted(service: Any) -> Iterator[None]:
    """Freeze a service as long as the block runs. Lanes wait with the first thing that they say to it."""
    processes = _frozen(service)
    try:
        yield
    finally:
        _signal(processes, signal.SIGCONT)


@contextmanager
def _slowed(service: Any) -> Iterator[None]:
    """Slow a service down as long as the block runs. Lanes wait with each step of a transaction."""
    ended = threading.Event()
    processes = _frozen(service)

    def halt_and_work() -> None:
        while not ended.wait(_HALT_S):
            _signal(processes, signal.SIGCONT)
            threading.Event().wait(_WORK_S)
            _signal(processes, signal.SIGSTOP)

    thread = threading.Thread(target=halt_and_work, name="slow-service", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        _signal(processes, signal.SIGCONT)


def _harmed_command(whom: str, draw: random.Random, command: Command) -> Fault | None:
    tree, lanes = command.tree(), command.lanes()
    if whom == "driver killed" and tree:
        _signal(tree[:1], signal.SIGKILL)
    elif whom == "driver interrupted" and tree:
        _signal(tree, signal.SIGINT)
    elif whom == "driver frozen" and tree:
        _signal(tree, signal.SIGSTOP)
        return Fault(whom, lambda: _signal(tree, signal.SIGCONT))
    elif whom == "lane killed" and lanes:
        _signal([draw.choice(lanes)], signal.SIGKILL)
    elif whom == "lanes killed" and lanes:
        _signal(lanes, signal.SIGKILL)
    elif whom == "lane frozen" and lanes:
        lane = [draw.choice(lanes)]
        _signal(lane, signal.SIGSTOP)
        return Fault(whom, lambda: _signal(lane, signal.SIGCONT))
    else:
        return None
    return Fault(whom, lambda: None)


def _harmed_service(whom: str, service: Any, draw: random.Random) -> Fault:
    if draw.random() < 0.7:
        service.kill()
        return Fault(f"{whom} killed", service.start, whom)
    frozen = _frozen(service)
    return Fault(f"{whom} frozen", lambda: _signal(frozen, signal.SIGCONT), whom)


def _frozen(service: Any) -> Sequence[psutil.Process]:
    assert service.pid is not None
    server = psutil.Process(service.pid)
    processes = [server, *server.children(recursive=True)]
    _signal(processes, signal.SIGSTOP)
    return processes


def _signal(processes: Sequence[psutil.Process], number: int) -> None:
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.send_signal(number)
