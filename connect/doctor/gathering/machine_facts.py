"""Looks at the machine: room in folders, limits of the process and of its control group, Java, Spark."""

from __future__ import annotations

import importlib.util
import os
import resource
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from connect.doctor.model.facts import FolderFacts, MachineFacts
from connect.runtime.settings.worker_config import WorkerConfig

_GROUP: Final = Path("/sys/fs/cgroup")
_MEMORY: Final = Path("/proc/meminfo")


def machine_facts(worker: WorkerConfig) -> MachineFacts:
    """Return the resources that this machine has for a worker that is started here."""
    audit = worker.rest_audit_log_file
    folders = [tempfile.gettempdir(), *([str(Path(audit).absolute().parent)] if audit else [])]
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = _number(_GROUP / "memory.max") or _number(_GROUP / "memory/memory.limit_in_bytes")
    home = os.environ.get("JAVA_HOME", "")
    return MachineFacts(
        folders=[*_rooms(folders)],
        open_files_limit=None if soft == resource.RLIM_INFINITY else soft,
        open_files=_open_files(),
        memory_limit_bytes=limit,
        memory_free_bytes=_free_bytes(limit),
        cores=os.cpu_count() or 1,
        java=shutil.which("java", path=f"{home}/bin") if home else shutil.which("java"),
        spark=importlib.util.find_spec("pyspark") is not None,
    )


def _open_files() -> int | None:
    """Return how many files this process has open; None if the kernel does not tell."""
    try:
        return sum(1 for _ in Path("/proc/self/fd").iterdir())
    except OSError:  # another kernel, or no file can be opened any more
        return None


def _rooms(folders: Iterable[str]) -> Iterable[FolderFacts]:
    for folder in dict.fromkeys(folders):
        # A folder that does not exist yet will have the room of the folder above it.
        room = shutil.disk_usage(next(path for path in (Path(folder), *Path(folder).parents) if path.exists()))
        yield FolderFacts(folder, room.free, room.total)


def _free_bytes(limit: int | None) -> int | None:
    """Return the free memory in bytes: of the machine, or of the control group if that has less."""
    found = [line.split() for line in _lines(_MEMORY) if line.startswith("MemAvailable:")]
    free = int(found[0][1]) * 1024 if found else None
    used = _number(_GROUP / "memory.current")
    if limit is None or used is None:
        return free
    cached = [line.split() for line in _lines(_GROUP / "memory.stat") if line.startswith("inactive_file ")]
    left = limit - used + (int(cached[0][1]) if cached else 0)
    return left if free is None else min(free, left)


def _number(file: Path) -> int | None:
    text = "".join(_lines(file)).strip()
    return int(text) if text.isdecimal() else None


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text(encoding="ascii").splitlines()
    except OSError:  # another kernel, or no control group
        return []
