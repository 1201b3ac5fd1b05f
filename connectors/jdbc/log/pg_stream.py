"""One replication connection to PostgreSQL, over libpq's own functions: commands, the log's messages, and answers.

Owned by the reading thread. Source: PostgreSQL's documentation, "Streaming Replication Protocol".
"""

from __future__ import annotations

import select
import struct
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import pq

from connect.api.errors import ConnectError, RetriableError
from connectors.jdbc.errors import Border
from connectors.jdbc.log.cells import BYTES_AT_MOST

_POSTGRES_EPOCH_S = 946_684_800
_DATA, _KEEPALIVE = ord("w"), ord("k")
_SLICE_S = 0.1


@dataclass(frozen=True, slots=True)
class Exported:
    """A slot just made: where its log starts, and the name of the snapshot of exactly that place."""

    lsn_text: str
    snapshot: str


class ReplicationStream:
    """Speaks the streaming replication protocol."""

    def __init__(self, arguments: Mapping[str, Any], border: Border, stopping: threading.Event) -> None:
        """`arguments`: libpq's. `stopping` ends every wait, with RetriableError."""
        self._arguments = arguments
        self._border = border
        self._stopping = stopping
        self._connection: psycopg.Connection[Any] | None = None
        self._confirmed = 0
        self._seen = 0
        self._answer_at_s = 0.0
        self.server_end = 0
        """How far the server has read its log for us, whether it held anything for us or not."""

    @property
    def _pgconn(self) -> Any:
        if self._connection is None:
            with self._border.translated("connecting for replication", _CONNECT_FIX):
                self._connection = psycopg.Connection.connect(
                    **{**self._arguments, "replication": "database"}, autocommit=True
                )
        return self._connection.pgconn

    def create_slot(self, name: str) -> Exported:
        """Make a slot whose snapshot may be used until the next command here."""
        # The name has none but letters, digits and underscores.
        rows = self._command(
            f'CREATE_REPLICATION_SLOT "{name}" LOGICAL pgoutput EXPORT_SNAPSHOT', f"making slot {name}"
        )
        return Exported(rows[0][1], rows[0][2])

    def start(self, slot: str, lsn_text: str, publication: str) -> None:
        """Ask for the log from here on."""
        # What a connection before this one had seen may lie behind changes that come again.
        self.server_end = self._seen = 0
        quoted = publication.replace('"', '""').replace("'", "''")
        self._command(
            f'START_REPLICATION SLOT "{slot}" LOGICAL {lsn_text} '
            f"(proto_version '1', publication_names '\"{quoted}\"')",
            f"reading slot {slot}",
        )

    def read(self, limit: int, wait_s: float, collect_s: float = 0.0) -> list[memoryview]:
        """The log's messages that are there, at most `limit`; waits for a first one up to `wait_s`.

        Once there is one, others get `collect_s` to come: the server sends them one by one.
        """
        connection, size = self._pgconn, 0
        messages: list[memoryview] = []
        fetch = connection.get_copy_data
        waits_s = [collect_s, wait_s]
        with self._border.translated("reading the log", _READ_FIX):
            while len(messages) < limit and size < BYTES_AT_MOST:
                length, message = fetch(1)
                if length > 0:
                    kind = message[0]
                    if kind == _DATA:
                        messages.append(message)
                        size += length
                    elif kind == _KEEPALIVE:
                        self._keepalive(message)
                elif length == 0:
                    if messages and waits_s:
                        # Not woken by each of them.
                        self._stopping.wait(waits_s[0])
                        waits_s = []
                    if not self._more(waits_s.pop() if len(waits_s) == 2 else 0.0):
                        break
                else:
                    self._ended()
        if messages:
            self._seen = max(self._seen, struct.unpack_from(">Q", messages[-1], 1)[0])
        return messages

    def _more(self, wait_s: float) -> bool:
        """Take what the network has; False when nothing came."""
        connection = self._pgconn
        if not select.select([connection.socket], [], [], wait_s)[0]:
            return False
        connection.consume_input()
        return True

    def _keepalive(self, message: memoryview) -> None:
        end, _, wants_answer = struct.unpack_from(">QQB", message, 1)
        self.server_end = max(self.server_end, end)
        if wants_answer:
            self._answer_at_s = 0.0

    def confirm(self, lsn: int, every_s: float) -> None:
        """Tell the server that all before `lsn` may go, when that is news or it is time to."""
        now_s = time.monotonic()
        if lsn <= self._confirmed and now_s < self._answer_at_s:
            return
        self._confirmed = max(self._confirmed, lsn)
        self._answer_at_s = now_s + every_s
        seen = max(self._seen, self._confirmed)
        clock = int((time.time() - _POSTGRES_EPOCH_S) * 1_000_000)
        with self._border.translated("answering the server"):
            self._pgconn.put_copy_data(
                struct.pack(">BQQQQB", ord("r"), seen, self._confirmed, self._confirmed, clock, 0)
            )
            self._pgconn.flush()

    def _ended(self) -> None:
        result = self._pgconn.get_result()
        if result is not None and result.status == pq.ExecStatus.FATAL_ERROR:
            raise _error(result)
        raise RetriableError(self._border.failed("reading the log", psycopg.OperationalError("the server ended it")))

    def _command(self, command: str, doing: str) -> Sequence[Sequence[str]]:
        connection = self._pgconn
        with self._border.translated(doing):
            connection.send_query(command.encode())
            result = None
            while True:
                while connection.is_busy():
                    if self._stopping.is_set():
                        raise RetriableError(f"{doing.capitalize()} was broken off: the task stops.")
                    self._more(_SLICE_S)
                found = connection.get_result()
                if found is None:
                    break
                result = found
                if found.status == pq.ExecStatus.FATAL_ERROR:
                    raise _error(found)
                if found.status == pq.ExecStatus.COPY_BOTH:
                    return ()
        assert result is not None
        texts = [[result.get_value(r, c) or b"" for c in range(result.nfields)] for r in range(result.ntuples)]
        return [[text.decode() for text in row] for row in texts]

    def close(self) -> None:
        """Leave; what is already gone does not matter."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


_NOT_IN_STATE = "55000"
_SLOT_FIX = (
    "Set wal_level=logical and restart the server; drop a slot that is lost, and reset the connector's "
    "offsets, so that it reads the tables anew."
)
_READ_FIX = "See that publication.name exists, and that the user may read the published tables."
_CONNECT_FIX = (
    "Grant the user the right to replicate (ALTER ROLE … REPLICATION; on Amazon RDS: GRANT rds_replication), and allow "
    "it in pg_hba.conf."
)


def _error(result: Any) -> Exception:
    state = (result.error_field(pq.DiagnosticField.SQLSTATE) or b"").decode()
    message = (result.error_field(pq.DiagnosticField.MESSAGE_PRIMARY) or result.error_message).decode()
    if state == _NOT_IN_STATE:
        return ConnectError(f"PostgreSQL refuses the slot: {message}.", key="slot.name", fix=_SLOT_FIX)
    try:
        return psycopg.errors.lookup(state)(message)
    except KeyError:
        return psycopg.OperationalError(message)
