"""Tells if some process is writing to a SQLite database now. It asks the system for locks and takes none.

SQLite has one writer at a time. From its first statement that writes to its commit the writer has one byte locked: the
RESERVED byte of the database file, or with a write-ahead log the first lock byte of the -shm file (SQLite's "Database
File Format", 1.3 "The Lock-Byte Page", and "WAL-mode File Format", 2.2 "The WAL-Index File Format").
"""

from __future__ import annotations

import errno
import fcntl
import os
import struct
import threading
from contextlib import suppress
from pathlib import Path
from typing import Final

_RESERVED_BYTE: Final = 0x4000_0001
_WAL_WRITE_BYTE: Final = 120
# This is Linux's struct flock: type, whence, start, length, process.
_FLOCK: Final = struct.Struct("@hhqqi4x")
_ASK: Final[int | None] = getattr(fcntl, "F_OFD_GETLK", None)


class _Descriptors:
    """Keeps one open descriptor per file for the whole process. For any thread.

    Closing a descriptor of a file would end every lock that SQLite has on it in this process (SQLite's "How To Corrupt
    An SQLite Database File", 2.2).
    """

    def __init__(self) -> None:
        self._open: dict[tuple[int, int], int] = {}
        self._lock = threading.Lock()

    def of(self, path: Path) -> int:
        """Return the descriptor of the file that is at a path now. OSError: there is no file, or it may not be read."""
        with self._lock:
            for place, held in tuple(self._open.items()):
                if not os.fstat(held).st_nlink:
                    os.close(self._open.pop(place))
            known = self._open.get(_place(path.stat()))
            if known is not None:
                return known
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            # The file may have been replaced by another one since the path was looked up.
            self._open[_place(os.fstat(descriptor))] = descriptor
            return descriptor


def _place(found: os.stat_result) -> tuple[int, int]:
    return found.st_dev, found.st_ino


_descriptors: Final = _Descriptors()


def is_writing(database: Path) -> bool:
    """Return True if a transaction that writes is open.

    OSError: the file may not be read, or the system does not tell the locks of other processes.
    """
    if _is_locked(_descriptors.of(database), _RESERVED_BYTE):
        return True
    # There is no -shm file without a write-ahead log, or while no process has the database open.
    with suppress(FileNotFoundError):
        return _is_locked(_descriptors.of(database.with_name(f"{database.name}-shm")), _WAL_WRITE_BYTE)
    return False


def _is_locked(descriptor: int, byte: int) -> bool:
    if _ASK is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    answer = fcntl.fcntl(descriptor, _ASK, _FLOCK.pack(fcntl.F_RDLCK, os.SEEK_SET, byte, 1, 0))
    return bool(_FLOCK.unpack(answer)[0] != fcntl.F_UNLCK)
