"""Shows what a forked process is in the system's lists of processes; it would else have its parent's command line."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Final

_ARGUMENTS_BEGIN, _ARGUMENTS_END = 45, 46
"""These are the places of arg_start and arg_end behind the program's name in /proc/self/stat (proc_pid_stat(5))."""
_END: Final = b"\0"


def show_name(name: str) -> None:
    """Show this name as the command line of this process, as much of it as there is room for. For Linux."""
    fields = Path("/proc/self/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    begin, room = int(fields[_ARGUMENTS_BEGIN]), int(fields[_ARGUMENTS_END]) - int(fields[_ARGUMENTS_BEGIN])
    if begin and room > len(_END):
        ctypes.memmove(begin, name.encode()[: room - len(_END)].ljust(room, _END), room)
