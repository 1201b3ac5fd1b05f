"""Keeps one replication connection to PostgreSQL: it sends commands and answers, and reads the log's messages.

Owned by the reading thread. Source: PostgreSQL's documentation, "Streaming Replication Protocol".
"""

from __future__ import annotations

import struct
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg

from connect.api.errors import ConnectError, RetriableError
from connectors.jdbc.connection.errors import ErrorTranslator
from connectors.jdbc.connection.unchecked_text import AS_STORED, is_unchecked
from connectors.jdbc.log.postgres.copy import CopyStream, NotPlainError, copy_stream, run_command
from connectors.jdbc.log.postgres.pgoutput import Messages

_POSTGRES_EPOCH_S = 946_684_800


@dataclass(frozen=True, slots=True)
class Exported:
    """Describes a slot that was just made: where its log starts, and the name of the snapshot of exactly that place."""

    lsn_text: str
    snapshot: str


class ReplicationStream:
    """Speaks the streaming replication protocol."""

    def __init__(self, arguments: Mapping[str, Any], errors: ErrorTranslator, stopping: threading.Event) -> None:
        """Connect later, with libpq's `arguments`; `stopping` ends every wait, with RetriableError."""
        self._arguments = arguments
        self._errors = errors
        self._stopping = stopping
        self._connection: psycopg.Connection[Any] | None = None
        self._copy: CopyStream | None = None
        self._raw = True
        self._confirmed = 0
        self._seen = 0
        self._answer_at_s = 0.0
        self.server_end = 0
        """This is the LSN up to which the server has read its log for us, even where the log held nothing for us."""

    @property
    def _pgconn(self) -> Any:
        if self._connection is None:
            with self._errors.translated("connecting for replication", _CONNECT_FIX):
                self._connection = psycopg.Connection.connect(
                    **{**self._arguments, "replication": "database"}, autocommit=True
                )
                if is_unchecked(self._connection):
                    self._connection.pgconn.exec_(AS_STORED.encode())
        return self._connection.pgconn

    def create_slot(self, name: str, *, failover: bool) -> Exported:
        """Make a slot whose snapshot may be used until the next command here. `failover` needs PostgreSQL 17 or
        later.
        """
        # The name has only letters, digits and underscores, so that it needs no quotes.
        options = "(SNAPSHOT 'export', FAILOVER true)" if failover else "EXPORT_SNAPSHOT"
        rows = self._command(f'CREATE_REPLICATION_SLOT "{name}" LOGICAL pgoutput {options}', f"making slot {name}")
        return Exported(rows[0][1], rows[0][2])

    def timeline(self) -> int:
        """Return the timeline of the server's log."""
        rows = self._command("IDENTIFY_SYSTEM", "asking for the timeline of the log")
        return int(rows[0][1])

    def timeline_history(self, timeline: int) -> str:
        """Return the server's history of a timeline, or an empty text if it has none: the first one has none."""
        if timeline <= 1:
            return ""
        try:
            rows = run_command(self._pgconn, f"TIMELINE_HISTORY {timeline}", lambda: self._check("asking for history"))
        except (psycopg.errors.UndefinedFile, psycopg.errors.FeatureNotSupported):
            return ""
        except psycopg.Error as error:
            raise RetriableError(self._errors.failed("asking for the history of the log's timeline", error)) from None
        return rows[0][1]

    def start(self, slot: str, lsn_text: str, publication: str, *, notes: bool = False) -> None:
        """Ask for the log from an LSN on. With `notes` the server tells those of pg_logical_emit_message, too."""
        # The changes from this LSN on come again, so the later places that an earlier connection saw do not count.
        self.server_end = self._seen = self._confirmed = 0
        quoted = publication.replace('"', '""').replace("'", "''")
        wanted = ", messages 'true'" if notes else ""
        command = (
            f'START_REPLICATION SLOT "{slot}" LOGICAL {lsn_text} '
            f"(proto_version '1', publication_names '\"{quoted}\"'{wanted})"
        )
        doing = f"reading slot {slot}"
        with self._translated(doing):
            self._copy = copy_stream(self._pgconn, raw=self._raw)
            try:
                self._copy.begin(command, lambda: self._check(doing))
            except NotPlainError:
                self._raw = False
                raise psycopg.OperationalError("it is encrypted, and is begun again") from None

    def read(self, limit: int, wait_s: float, collect_s: float = 0.0) -> Messages:
        """Return the messages that are there, at most `limit`; wait for the first one up to `wait_s` seconds.

        Once there is one, further ones have `collect_s` seconds to come, as the server sends them one by one.
        """
        copy, slept = self._copy, False
        assert copy is not None
        with self._translated("reading the log", _READ_FIX):
            while not copy.scan(limit, self._keepalive):
                if copy.is_empty():
                    found, wait_s = copy.more(wait_s), 0.0
                elif slept or copy.backlog:
                    found = copy.more(0.0)
                else:
                    # The server sends messages one by one, and the thread need not wake up for each.
                    self._stopping.wait(collect_s)
                    found, slept = copy.more(0.0), True
                if not found:
                    break
        messages = copy.taken()
        if len(messages):
            self._seen = max(self._seen, messages.last_lsn)
        return messages

    def _keepalive(self, message: bytes) -> None:
        end, _, wants_answer = struct.unpack_from(">QQB", message, 1)
        self.server_end = max(self.server_end, end)
        if wants_answer:
            self._answer_at_s = 0.0

    def confirm(self, lsn: int, every_s: float) -> None:
        """Tell the server that it may drop the log before `lsn`.

        Nothing is sent if `lsn` was told before and the last answer is less than `every_s` seconds old.
        """
        now_s = time.monotonic()
        if lsn <= self._confirmed and now_s < self._answer_at_s:
            return
        self._confirmed = max(self._confirmed, lsn)
        self._answer_at_s = now_s + every_s
        seen = max(self._seen, self._confirmed)
        clock = int((time.time() - _POSTGRES_EPOCH_S) * 1_000_000)
        if self._copy is None:
            return
        with self._translated("answering the server"):
            self._copy.send(struct.pack(">BQQQQB", ord("r"), seen, self._confirmed, self._confirmed, clock, 0))

    def _check(self, doing: str) -> None:
        if self._stopping.is_set():
            raise RetriableError(f"{doing.capitalize()} was broken off: the task stops.")

    @contextmanager
    def _translated(self, doing: str, fix: str = "See the server's log.") -> Iterator[None]:
        with self._errors.translated(doing, fix):
            try:
                yield
            except psycopg.errors.ObjectNotInPrerequisiteState as error:
                raise ConnectError(f"PostgreSQL refuses the slot: {error}", key="slot.name", fix=_SLOT_FIX) from None

    def _command(self, command: str, doing: str) -> Sequence[Sequence[str]]:
        with self._translated(doing):
            return run_command(self._pgconn, command, lambda: self._check(doing))

    def close(self) -> None:
        """Close the stream. A connection that is already gone does not matter."""
        copy, self._copy = self._copy, None
        if copy is not None:
            copy.close()
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


_SLOT_FIX = (
    "Set wal_level=logical and restart the server; drop a slot that is lost, and reset the connector's "
    "offsets, so that it reads the tables anew."
)
_READ_FIX = "See that publication.name exists, and that the user may read the published tables."
_CONNECT_FIX = (
    "Grant the user the right to replicate (ALTER ROLE … REPLICATION; on Amazon RDS: GRANT rds_replication), and allow "
    "it in pg_hba.conf."
)
