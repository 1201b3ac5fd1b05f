"""Writes down who changed something or was refused, one JSON line each: who, what, from where, and what came of it."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from connect.api.errors import ConfigError
from connect.runtime.settings.worker_access_keys import AUDIT_FILE

REFUSED: Final = frozenset({401, 403, 429})
_READS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
log = logging.getLogger(__name__)


class AuditLog:
    """Appends to a file. It is opened for each line, so that it may be moved away at any time."""

    def __init__(self, path: Path) -> None:
        """Make the file where there is none. ConfigError: it cannot be written."""
        self._path = path
        try:
            self._append(b"")
        except OSError as error:
            raise ConfigError(
                f"File {path} of {AUDIT_FILE} cannot be written: {error.strerror}.",
                key=AUDIT_FILE,
                fix="Name a file in a folder that the worker's user may write to.",
            ) from None

    def note(
        self, method: str, path: str, *, who: str | None, origin: str, connectors: Sequence[str], status: int | None
    ) -> None:
        """Write down a request that changes something, or was refused. `status` None: it was broken off."""
        if method in _READS and status not in REFUSED:
            return
        line = {
            "time": datetime.now(UTC).isoformat(timespec="milliseconds"), "who": who, "from": origin,
            "method": method, "path": path, "connectors": list(dict.fromkeys(connectors)),
            "outcome": _outcome(status), "status": status,
        }  # fmt: skip
        try:
            # ASCII alone: it has a place for half a character, and a name steers the terminal of no reader.
            self._append(json.dumps(line, separators=(",", ":")).encode("ascii") + b"\n")
        except OSError:
            log.exception("%s %s is not in the audit log %s.", method, path, self._path)

    def _append(self, line: bytes) -> None:
        descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(descriptor, line)
        finally:
            os.close(descriptor)


def _outcome(status: int | None) -> str:
    if status is None:
        return "broken off"
    if status in REFUSED:
        return "refused"
    return "done" if status < 400 else "failed"
