"""Keeps environments that start at the same moment from choosing the same port.

This is needed because a port stays free until a service listens on it.
"""

from __future__ import annotations

import fcntl
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

from connect.tools.services.process.ports import accepts_connections, free_ports


class PortClaims:
    """Holds a lock for each claimed port; the locks end with the process at the latest. It is owned by one thread."""

    def __init__(self, folder: Path) -> None:
        """Keep the locks in `folder`, where all environments of this user have theirs."""
        self._folder = folder
        self._held = ExitStack()

    def __enter__(self) -> Self:
        self._folder.mkdir(parents=True, exist_ok=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._held.close()

    def take(self, port: int) -> bool:
        """Return True if the port belongs to this environment from now on; False if another environment has claimed
        it.
        """
        with ExitStack() as opened:
            file = opened.enter_context((self._folder / str(port)).open("a"))
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
            self._held.push(opened.pop_all())
            return True


def usual_or_free(port: int, claim: Callable[[int], bool]) -> int:
    """Return the port; if somebody listens on it, or `claim` returns False, return a free one."""
    while accepts_connections(port) or not claim(port):
        port = free_ports(1)[0]
    return port
