"""Judges the machine of the worker: room on disk, open files, memory, Java."""

from __future__ import annotations

from collections.abc import Iterable
from shlex import quote
from typing import Final

from connect.doctor.model.facts import Facts, FolderFacts
from connect.doctor.model.findings import Finding, Severity
from connect.doctor.model.words import number, shown_bytes

MIB: Final = 1 << 20
FULL_BYTES: Final = 64 * MIB
SCARCE_BYTES: Final = 512 * MIB
FREE_MEMORY_BYTES: Final = 256 * MIB
HOST_MIB: Final = 120
"""A task host with a connector and its clients takes so many MiB."""
FILES_OF_WORKER: Final = 256
_MANY: Final = 0.8
FILES_OF_TASK: Final = 32
"""A task may have this many files open: its Kafka clients, connections to a target, and files that it writes."""


class Machine:
    """Judges the resources that the worker's processes have."""

    def findings(self, facts: Facts) -> Iterable[Finding]:
        """Yield the resources that will run out."""
        for folder in facts.machine.folders:
            yield from _room(folder)
        yield from _open_files(facts)
        yield from _memory(facts)
        if facts.machine.spark and facts.machine.java is None:
            yield Finding(
                "java-missing", Severity.WARNING, "machine", "pyspark is installed, and no Java is found.",
                "Backfills by Spark do not start.", "apt-get install openjdk-17-jre-headless",
            )  # fmt: skip


def _room(folder: FolderFacts) -> Iterable[Finding]:
    if folder.free_bytes >= SCARCE_BYTES:
        return
    yield Finding(
        "disk-low", Severity.ERROR if folder.free_bytes < FULL_BYTES else Severity.WARNING, f"folder {folder.path}",
        f"{shown_bytes(folder.free_bytes)} of {shown_bytes(folder.total_bytes)} are free.",
        "Files that the worker or a connector writes there cannot be finished.",
        f"df -h {quote(folder.path)}; export TMPDIR=/path/with/room  # for temporary files",
    )  # fmt: skip


def _open_files(facts: Facts) -> Iterable[Finding]:
    limit = facts.machine.open_files_limit
    used = facts.machine.open_files
    if facts.is_running and limit is not None and used is not None and used > _MANY * limit:
        yield Finding(
            "open-files-used", Severity.ERROR,
            "machine", f"The worker has {used} files open, and may open {limit}.",
            "Soon it takes no connection, and starts no task: 'Too many open files'.",
            "ulimit -n 65536  # or LimitNOFILE=65536 in the unit of systemd; ls -l /proc/PID/fd shows what is open",
        )  # fmt: skip
    tasks = sum(number(connector.config.get("tasks.max")) or 1 for connector in facts.connectors)
    needed = FILES_OF_WORKER + FILES_OF_TASK * tasks
    if limit is not None and limit < needed:
        yield Finding(
            "open-files-low", Severity.WARNING,
            "machine", f"The worker may open {limit} files; {tasks} tasks may need {needed}.",
            "Connections and files fail with 'Too many open files'.",
            "ulimit -n 65536  # or LimitNOFILE=65536 in the unit of systemd",
        )  # fmt: skip


def _memory(facts: Facts) -> Iterable[Finding]:
    machine, worker = facts.machine, facts.worker
    limit, free = machine.memory_limit_bytes, machine.memory_free_bytes
    hosts = worker.task_hosts or machine.cores
    wanted = hosts * worker.task_host_memory_limit_mb * MIB
    if limit is not None and wanted > limit:
        yield Finding(
            "memory-limit-low", Severity.WARNING,
            "machine", f"{hosts} task hosts may take {shown_bytes(wanted)} by task.host.memory.limit;"
            f" the limit of memory is {shown_bytes(limit)}.",
            "The kernel kills the worker before a task host is restarted.",
            f"task.host.memory.limit={int(limit * 0.8) // MIB // hosts}",
        )  # fmt: skip
    if 0 < worker.task_host_memory_limit_mb < HOST_MIB:
        yield Finding(
            "host-memory-low", Severity.ERROR,
            "worker file", f"task.host.memory.limit={worker.task_host_memory_limit_mb}; a task host takes about "
            f"{HOST_MIB} MiB before it has a row.",
            "Each task host is restarted again and again, and its tasks with it.", "task.host.memory.limit=1024",
        )  # fmt: skip
    if free is not None and free < FREE_MEMORY_BYTES:
        yield Finding(
            "memory-free-low", Severity.WARNING, "machine", f"{shown_bytes(free)} of memory are free.",
            "The kernel may kill the worker or a task host.", "task.hosts=1  # or give the machine more memory",
        )  # fmt: skip
