"""Declares the log of an internal topic, as the stores use it: compacted, and read whole by every worker."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Protocol

from connect.api.errors import ConnectError
from connect.lib.deadline import Deadline

OnRecord = Callable[[bytes | None, bytes | None, int, int, int], None]
"""Takes key, value, partition, offset and timestamp (ms) of each record, in order, on the log's own thread."""


class RecordLog(Protocol):
    """Stands for the log of one internal topic, as `connect.kafka.log.kv_log.KeyValueLog` is."""

    def start(self, deadline: Deadline) -> None:
        """Read the topic from its beginning to its end, then go on reading."""

    def put(self, key: bytes, value: bytes | None) -> Future[None]:
        """Write a record; the future is done when every in-sync replica has it."""

    def put_all(self, records: Sequence[tuple[bytes, bytes | None]], transactional: bool = False) -> Future[None]:
        """Write records in order, all or none if `transactional` (after `claim`). FencedError: another has claimed."""

    def give_up(self, reason: str) -> None:
        """Fail all records of `put` that are not acknowledged yet, so that none of them is written later."""

    def claim(self, deadline: Deadline) -> None:
        """Shut out all others that write to this topic in transactions."""

    def read_to_end(self, deadline: Deadline) -> None:
        """Return when every record that was in the topic before the call was given to the callback."""

    def read_back(self, deadline: Deadline) -> None:
        """Return when the callback has got the records written here without a transaction, and all before them."""

    def close(self) -> None:
        """Write the queued records and close the clients."""


MakeLog = Callable[[OnRecord], RecordLog]
"""Builds the log of one topic around the callback that gets its records."""


class OpenedLog:
    """Keeps the log of one topic, which may be opened again. `topic` says in messages what the topic holds."""

    def __init__(self, topic: str, make_log: MakeLog, on_record: OnRecord) -> None:
        self._topic = topic
        self._make_log = make_log
        self._on_record = on_record
        self._opened: RecordLog | None = None

    @property
    def log(self) -> RecordLog:
        """Return the open log. ConnectError: it is not open."""
        if self._opened is None:
            raise ConnectError(f"The {self._topic} topic is not open.")
        return self._opened

    def start(self, deadline: Deadline) -> None:
        """Read the topic to its end. The log's errors, after which it may be started again."""
        self._opened = self._make_log(self._on_record)
        self._opened.start(deadline)

    def close(self) -> None:
        """Write the queued records and close the log."""
        opened, self._opened = self._opened, None
        if opened is not None:
            opened.close()
