"""CPU time of a service and its processes, beside that of the job that makes it work."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

_PROC = Path("/proc")
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_PARENT, _USER, _SYSTEM, _CHILDREN_SYSTEM = 1, 11, 12, 14
"""Fields of /proc/PID/stat behind the name (proc(5)): the parent, then from user time to that of ended children."""
_COMPILERS = ("C1 Compiler", "C2 Compiler")


class ServerCpu:
    """CPU seconds of services since it was made, their processes' children included; zeros where there is no /proc."""

    def __init__(self, pids: Mapping[str, int | None]) -> None:
        """`pids`: the process of each service by the name it is told by."""
        self._pids = pids
        self._before = {name: _cpu_s(pid) for name, pid in pids.items()}

    def read(self) -> dict[str, float]:
        """By name."""
        return {name: _cpu_s(pid) - self._before[name] for name, pid in self._pids.items()}


def compilers_cpu_s(pid: int | None) -> float:
    """CPU seconds of the threads with which a Java process compiles itself."""
    spent = 0.0
    for stat in (_PROC / str(pid) / "task").glob("*/stat"):
        name, _, rest = stat.read_text().partition(" (")[2].rpartition(") ")
        if name.startswith(_COMPILERS):
            spent += sum(map(int, rest.split()[_USER : _SYSTEM + 1])) / _TICKS_PER_S
    return spent


def _cpu_s(pid: int | None) -> float:
    stats = _stats()
    spent = 0.0
    for one, fields in stats.items():
        ancestor = one
        while ancestor != pid and ancestor in stats:
            ancestor = int(stats[ancestor][_PARENT])
        if ancestor == pid:
            spent += sum(map(int, fields[_USER : _CHILDREN_SYSTEM + 1])) / _TICKS_PER_S
    return spent


def _stats() -> dict[int, list[str]]:
    found = {}
    for folder in _PROC.iterdir() if _PROC.is_dir() else ():
        if folder.name.isdigit():
            try:
                text = (folder / "stat").read_text()
            except (FileNotFoundError, ProcessLookupError):
                continue  # It has just ended.
            found[int(folder.name)] = text.rpartition(") ")[2].split()
    return found
