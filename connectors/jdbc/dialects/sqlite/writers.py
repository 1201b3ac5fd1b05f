"""Tells if somebody is writing to a SQLite database now. It asks for locks and takes none.

SQLite has one writer at a time, who holds a byte of the database file locked from its first statement that writes to
its commit: the RESERVED byte, or with a write-ahead log the first byte of locks in the -shm file (SQLite's "Database
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
# struct flock of Linux: type, whence, start, length, process.
_FLOCK: Final = struct.Struct("@hhqqi4x")
_ASK: Final[int | None] = getattr(fcntl, "F_OFD_GETLK", None)


class _Descriptors:
    """One open descriptor per file for all of the process, as closing one ends every lock that SQLite has on the file.

    (SQLite's "How To Corrupt An SQLite Database File", 2.2.) For any thread.
    """

    def __init__(self) -> None:
        self._open: dict[tuple[int, int], int] = {}
        self._lock = threading.Lock()

    def of(self, path: Path) -> int:
        """Return the descriptor of the file that is there now. OSError: there is none, or it may not be read."""
        with self._lock:
            for place, held in tuple(self._open.items()):
                if not os.fstat(held).st_nlink:
                    os.close(self._open.pop(place))
            known = self._open.get(_place(path.stat()))
            if known is not None:
                return known
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            # Another file than a moment ago may be there.
            self._open[_place(os.fstat(descriptor))] = descriptor
            return descriptor


def _place(found: os.stat_result) -> tuple[int, int]:
    return found.st_dev, found.st_ino


_descriptors: Final = _Descriptors()


def is_writing(database: Path) -> bool:
    """Return True if a transaction that writes is open.

    OSError: the file may not be read, or the system does not tell of locks that others hold.
    """
    if _is_locked(_descriptors.of(database), _RESERVED_BYTE):
        return True
    # Without a write-ahead log, or while nobody has the database open, there is no such file.
    with suppress(FileNotFoundError):
        return _is_locked(_descriptors.of(database.with_name(f"{database.name}-shm")), _WAL_WRITE_BYTE)
    return False


def _is_locked(descriptor: int, byte: int) -> bool:
    if _ASK is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    answer = fcntl.fcntl(descriptor, _ASK, _FLOCK.pack(fcntl.F_RDLCK, os.SEEK_SET, byte, 1, 0))
    return bool(_FLOCK.unpack(answer)[0] != fcntl.F_UNLCK)
