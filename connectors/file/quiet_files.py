"""Watches files that have not grown for a while, on one thread for all tasks of the process.

A worker may read hundreds of quiet files. A thread that wakes up costs more than the look at a file, so one thread
looks at all of them once a second, and wakes only those tasks whose file has changed.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

LOOK_S: Final = 1.0
"""The thread looks at all files once in this many seconds."""


class Look(NamedTuple):
    """Says which file a path led to at a look, and how many bytes the file had."""

    device: int
    inode: int
    size_bytes: int


def look_at(path: Path) -> Look | None:
    """Return what the path leads to now; None if that cannot be told."""
    try:
        found = path.stat()
    except OSError:
        return None
    return Look(found.st_dev, found.st_ino, found.st_size)


class _Watched(NamedTuple):
    path: Path
    seen: Look | None
    wake: Callable[[], None]


class QuietFiles:
    """Wakes tasks whose file is another, or of another size, than the task has seen. Any thread may call it."""

    def __init__(self, look_s: float = LOOK_S) -> None:
        self._look_s = look_s
        self._watched: dict[int, _Watched] = {}
        self._numbers = itertools.count(1)
        self._changed = threading.Condition()  # tasks come and go on their own threads
        self._thread: threading.Thread | None = None

    @contextmanager
    def watching(self, path: Path, seen: Look | None, wake: Callable[[], None]) -> Iterator[None]:
        """Call `wake` once if the file changes inside of the block, or has changed since it was `seen`."""
        with self._changed:
            number = next(self._numbers)
            self._watched[number] = _Watched(path, seen, wake)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="quiet-files", daemon=True)
                self._thread.start()
            self._changed.notify()
        try:
            yield
        finally:
            with self._changed:
                self._watched.pop(number, None)

    def look(self) -> None:
        """Look at all files once, and wake the tasks of those that have changed."""
        with self._changed:
            watched = list(self._watched.items())
        for number, file in watched:
            if look_at(file.path) == file.seen:
                continue
            with self._changed:
                is_watched = self._watched.pop(number, None) is not None
            if is_watched:
                file.wake()

    def _run(self) -> None:
        pause = threading.Event()
        while True:
            with self._changed:
                while not self._watched:
                    self._changed.wait()
            pause.wait(self._look_s)
            self.look()


QUIET_FILES: Final = QuietFiles()
"""This is the one watch of the process, for the files of all of its tasks."""
