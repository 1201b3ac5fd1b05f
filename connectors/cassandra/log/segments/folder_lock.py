"""Keeps two agents from reading, and deleting, the segments of one folder. The lock ends with the process."""

from __future__ import annotations

import errno
import fcntl
import logging
import os
from pathlib import Path
from typing import Final

from connect.api.errors import RetriableError

log = logging.getLogger(__name__)

_WITHOUT_LOCKS: Final = {errno.ENOLCK, errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS}
"""A filesystem that has no locks answers with one of these errors."""


class FolderLock:
    """The lock of a folder, which is held from its making until `release`."""

    def __init__(self, folder: Path) -> None:
        """Take the lock. RetriableError: another process has it. OSError: there is no such folder."""
        self._descriptor: int | None = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self.release()
            raise RetriableError(
                f"Another agent reads {folder}: two would send each change twice, and delete each other's segments.",
                fix="Run one agent beside each node: end the other one.",
            ) from error
        except OSError as error:
            if error.errno not in _WITHOUT_LOCKS:
                self.release()
                raise
            log.warning("The filesystem of %s has no locks: run no other agent on this folder. %s", folder, error)

    def release(self) -> None:
        """Let others have it. May be called twice."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)
