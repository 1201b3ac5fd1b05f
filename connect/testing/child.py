"""Reads a source in a process until it is killed, and keeps a journal of what it read.

The journal stands for Kafka and the offset store at once. A frame with a batch's rows comes first, and a later frame
has the offsets up to it. A kill between the two leaves rows without their offset, but never an offset without its rows.
"""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from connect.api.connector import SourceTask
from connect.api.plugin import Plugin
from connect.api.records import Batch, Record, batches_of
from connect.lib import python_child
from connect.lib.deadline import Deadline
from connect.testing.fakes import FakeSourceContext, OffsetStore
from connect.testing.source_run import leave_everywhere

LAG = 1
"""So many batches have their rows in the journal before the offset of the first of them is stored."""
PACE_S = 0.05
"""A child waits so long between two polls, so that the kill comes in the middle of the rows and not after them."""


@dataclass(frozen=True)
class JournalEntry:
    """Holds one entry of the journal: rows (topic, key, value per row), or the offsets stored."""

    rows: list[tuple[str, Any, Any]]
    offsets: dict[str, str | None] | None = None


def read_journal(path: Path) -> Iterator[JournalEntry]:
    """Yield the whole frames of the journal; a torn last frame, which the kill left, is dropped."""
    with path.open("rb") as journal:
        while True:
            try:
                yield JournalEntry(*pickle.load(journal))  # noqa: S301 - our own child wrote it
            except (EOFError, pickle.UnpicklingError):
                return


def records_of(frames: list[JournalEntry]) -> list[Record]:
    """Return the rows of the journal as records."""
    return [Record(topic, key, value) for frame in frames for topic, key, value in frame.rows]


def offsets_of(frames: list[JournalEntry]) -> OffsetStore:
    """Return the offset store as the journal left it."""
    store = OffsetStore()
    for frame in frames:
        store.offsets.update(frame.offsets or {})
    return store


def start_child(plugin: Plugin, config: Mapping[str, str], journal: Path) -> subprocess.Popen[bytes]:
    """Start to read in a process of its own. Its standard input gets the configuration, which may hold secrets."""
    order = {
        "factory": plugin.factory,
        "config_class": f"{plugin.config.__module__}:{plugin.config.__qualname__}",
        "config": dict(config),
        "journal": str(journal),
    }
    journal.touch()
    child: subprocess.Popen[bytes] = python_child.start(
        python_child.command("connect.testing.child"),
        stdin=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(p or str(Path.cwd()) for p in sys.path)},
    )
    assert child.stdin is not None
    child.stdin.write(json.dumps(order).encode())
    child.stdin.close()
    return child


def _named(reference: str) -> Any:
    import importlib

    module, _, path = reference.partition(":")
    found: Any = importlib.import_module(module)
    for part in path.split("."):
        found = getattr(found, part)
    return found


def _read_forever(task: SourceTask, store: OffsetStore, journal: Path) -> None:
    waiting: list[Batch] = []
    never = threading.Event()
    with journal.open("ab", buffering=0) as out:
        while not never.wait(PACE_S):
            for batch in batches_of(task.poll(Deadline.after(1.0))):
                keys = batch.keys.rows() if batch.keys is not None else [None] * len(batch)
                rows = [(batch.topic, key, value) for key, value in zip(keys, batch.values.rows(), strict=True)]
                out.write(pickle.dumps((rows, None)))
                waiting.append(batch)
            if len(waiting) > LAG:
                positions = [b.position for b in waiting[:-LAG] if b.position is not None]
                del waiting[:-LAG]
                store.store(positions)
                out.write(pickle.dumps(([], dict(store.offsets))))
                task.stored(positions)


def main() -> None:
    """Read as the order on standard input says, until killed."""
    order = json.load(sys.stdin)
    config = _named(order["config_class"]).parse(leave_everywhere(order["config"]))
    store = OffsetStore()
    connector = _named(order["factory"])(config)
    task = connector.task(leave_everywhere(connector.task_configs(1)[0]))
    task.open(FakeSourceContext(store=store))
    _read_forever(task, store, Path(order["journal"]))


if __name__ == "__main__":
    main()
