"""Makes memory that a worker shares with its task hosts through a descriptor that they inherit."""

from __future__ import annotations

import os
import tempfile

from connect.api.errors import ConnectError


def shared_memory(purpose: str, size_bytes: int) -> int:
    """Return a descriptor of `size_bytes` of zeroed memory; the caller closes it. ConnectError: there is no room."""
    empty = bytes(size_bytes)
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create(purpose)
        os.write(descriptor, empty)
        return descriptor
    try:
        with tempfile.TemporaryFile(buffering=0) as file:
            # The zeros are written: on a full disk, a file that is only made longer would end the process later.
            file.write(empty)
            return os.dup(file.fileno())
    except OSError as error:
        raise ConnectError(
            "A worker shares memory with its task hosts in a temporary file, but none can be written: "
            f"{error.strerror}.",
            fix="Free space in the folder for temporary files, or name one that can be written to in TMPDIR.",
        ) from error
