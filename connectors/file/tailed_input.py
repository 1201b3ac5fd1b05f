"""Reads the source's bytes from a regular file that grows, or from standard input. It decides nothing about lines.

A file that was truncated or replaced is not read anew. Only a person knows if the bytes behind the stored position are
lost or old. So a warning is logged once, and reading goes on as in Kafka's own source: in the open file, once it is
longer than the part that was read.
"""

from __future__ import annotations

import logging
import os
import select
import stat
from pathlib import Path
from typing import Final, Protocol

from connect.api.allowed_paths import AllowedPaths
from connect.api.errors import ConnectError, RetriableError

log = logging.getLogger(__name__)
_FIX_ACCESS: Final = "Give the worker's user the right to read it, or name another file."


class Input(Protocol):
    """Gives bytes by their position. The task thread owns it; no call waits."""

    def read(self, at: int, size: int) -> bytes:
        """Return at most `size` bytes from byte `at` on; none if they have not come yet."""

    def ends_before(self, at: int) -> bool:
        """Return True if there are fewer than `at` bytes now, though they were there before."""

    def close(self) -> None:
        """Close the file or descriptor. May be called twice."""


class FileInput:
    """Reads a regular file, which is opened once it exists."""

    def __init__(self, path: str, allowed: AllowedPaths) -> None:
        """Take the path. `allowed` has the files that the worker lets the connector name."""
        self._path = path
        self._allowed = allowed
        self._descriptor: int | None = None
        self._said: set[str] = set()

    def read(self, at: int, size: int) -> bytes:
        """Return at most `size` bytes from byte `at` on; empty while there is no file.

        RetriableError when a read fails.
        """
        if self._descriptor is None:
            self._descriptor = self._opened()
            if self._descriptor is None:
                return b""
        try:
            data = os.pread(self._descriptor, size, at)
        except OSError as error:
            self.close()  # a stale handle of a network file system does not recover
            raise RetriableError(f"Reading {self._path} at byte {at} failed: {error.strerror}.") from error
        if not data:
            self._look_for_change(at)
        return data

    def ends_before(self, at: int) -> bool:
        """Return True if the file was truncated below byte `at`."""
        return self._descriptor is not None and os.fstat(self._descriptor).st_size < at

    def close(self) -> None:
        """Close the file."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)

    def _opened(self) -> int | None:
        try:
            # Without O_NONBLOCK opening a named pipe would wait for its writer, past any deadline.
            descriptor = self._allowed.open("file", self._path, os.O_RDONLY | os.O_NONBLOCK)
        except FileNotFoundError:
            self._say("missing", f"File {self._path} does not exist; it is read as soon as it does.")
            return None
        except OSError as error:
            raise ConnectError(
                f"File {self._path} cannot be opened: {error.strerror}.", key="file", fix=_FIX_ACCESS
            ) from error
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise ConnectError(f"{self._path} is no regular file.", key="file", fix="Name a file of lines.")
        return descriptor

    def _look_for_change(self, at: int) -> None:
        assert self._descriptor is not None
        opened = os.fstat(self._descriptor)
        if opened.st_size < at:
            self._say(
                "shorter",
                f"File {self._path} has {opened.st_size} bytes, fewer than the {at} read before: it was truncated. "
                "Nothing is read until it is longer again. To read it from its start, stop the connector and set "
                'its offset {"position": 0}.',
            )
        try:
            now = Path(self._path).stat()
        except OSError:
            return  # the path is removed or out of reach; the open file stays readable
        if not os.path.samestat(opened, now):
            self._say(
                f"replaced by {now.st_ino}",
                f"File {self._path} was replaced by another; the one opened before is read on. To read the new one, "
                'stop the connector, set its offset {"position": 0} and resume it.',
            )

    def _say(self, what: str, text: str) -> None:
        if what not in self._said:
            self._said.add(what)
            log.warning("%s", text)


class StandardInput:
    """Reads standard input or another open descriptor, where positions have no meaning."""

    def __init__(self, descriptor: int = 0) -> None:
        self._descriptor = descriptor

    def read(self, at: int, size: int) -> bytes:
        """Return at most `size` of the bytes that have come so far, and ignore `at`."""
        del at
        readable, _, _ = select.select([self._descriptor], [], [], 0)
        return os.read(self._descriptor, size) if readable else b""

    def ends_before(self, at: int) -> bool:
        """Return False, as standard input cannot be truncated."""
        del at
        return False

    def close(self) -> None:
        """Do nothing, as standard input belongs to the process."""
