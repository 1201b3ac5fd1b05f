"""Logs each request that changes something or was refused, as a JSON line: who, what, from where, and the outcome."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from connect.api.errors import ConfigError
from connect.rest.access.audit_topic import AuditTopic
from connect.runtime.settings.worker_access_keys import AUDIT_FILE
from connect.runtime.settings.worker_config import WorkerConfig

REFUSED: Final = frozenset({401, 403, 429})
READS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Asked:
    """Describes a request as it is logged.

    `changes` has the changes of each connector's configuration, without secrets. `states` has those of states, offsets,
    letters and levels, by connector or logger. `status` is None if the request was broken off. With `by_leader` the
    leader has carried it out, and logs it, too.
    """

    method: str
    path: str
    who: str | None
    origin: str
    connectors: Sequence[str]
    status: int | None
    changes: Mapping[str, Any] = field(default_factory=dict)
    by_leader: bool = False
    states: Mapping[str, Any] = field(default_factory=dict)

    def as_line(self) -> bytes:
        """Return the request as a line of JSON without a line end."""
        line = {
            "time": datetime.now(UTC).isoformat(timespec="milliseconds"), "who": self.who, "from": self.origin,
            "method": self.method, "path": self.path, "connectors": list(dict.fromkeys(self.connectors)),
            "outcome": _outcome(self.status), "status": self.status,
            **({"changes": self.changes} if self.changes else {}),
            **({"states": self.states} if self.states else {}),
        }  # fmt: skip
        # The line is ASCII alone: so it can hold lone surrogates, and no name can control a reader's terminal.
        return json.dumps(line, separators=(",", ":")).encode("ascii")


class Audit:
    """Holds the audit file and the audit topic that the worker's file names."""

    def __init__(self, worker: WorkerConfig) -> None:
        """Open the file and the topic that are named. ConfigError: the file cannot be written."""
        file, topic = worker.rest_audit_log_file, worker.rest_audit_topic
        self._file = AuditFile(Path(file)) if file else None
        self._topic = AuditTopic(worker, topic) if topic else None

    @property
    def is_kept(self) -> bool:
        """Return True if requests are logged."""
        return self._file is not None or self._topic is not None

    def note(self, asked: Asked) -> Future[None] | None:
        """Log a request if it changes something or was refused.

        It returns the future of the line in the topic, or None if no line goes there.
        """
        if asked.method in READS and asked.status not in REFUSED:
            return None
        line = asked.as_line()
        if self._file is not None:
            self._file.append(line)
        if self._topic is None or asked.by_leader:
            return None
        return self._topic.put(line, list(asked.connectors))

    def close(self) -> None:
        """Wait a moment until Kafka has taken the queued lines."""
        if self._topic is not None:
            self._topic.close()


class AuditFile:
    """Appends to a file. It is opened for each line, so that it may be moved away at any time."""

    def __init__(self, path: Path) -> None:
        """Create the file if it does not exist. ConfigError: it cannot be written."""
        self._path = path
        self._is_torn = self._ends_in_a_line()
        """True if the disk was full in the midst of the last line, which must not take the next one with it."""
        try:
            self._append(b"")
        except OSError as error:
            raise ConfigError(
                f"File {path} of {AUDIT_FILE} cannot be written: {error.strerror}.",
                key=AUDIT_FILE,
                fix="Name a file in a folder that the worker's user may write to.",
            ) from None

    def append(self, line: bytes) -> None:
        """Append a line to the file. If that fails, log the line and go on."""
        try:
            self._append(line + b"\n")
        except OSError:
            log.exception("A line is not in the audit log %s: %s", self._path, line.decode("ascii"))

    def _append(self, line: bytes) -> None:
        descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            if line and self._is_torn:
                line = b"\n" + line
            while line:
                line = line[os.write(descriptor, line) :]
                self._is_torn = bool(line)
        finally:
            os.close(descriptor)

    def _ends_in_a_line(self) -> bool:
        """Return True if the file ends in the midst of a line; False if it does not, or cannot be read."""
        if not self._path.is_file():
            return False  # To open a named pipe for reading would wait for who writes it.
        try:
            with self._path.open("rb") as file:
                return file.seek(0, os.SEEK_END) > 0 and file.seek(-1, os.SEEK_END) >= 0 and file.read() != b"\n"
        except OSError:
            return False


def _outcome(status: int | None) -> str:
    if status is None:
        return "broken off"
    if status in REFUSED:
        return "refused"
    return "done" if status < 400 else "failed"
