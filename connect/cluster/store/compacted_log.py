"""What the stores need of an internal topic: a compacted log that every worker reads whole."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Protocol

from connect.api.errors import ConnectError
from connect.lib.deadline import Deadline

OnRecord = Callable[[bytes | None, bytes | None, int, int, int], None]
"""It takes key, value, partition, offset and timestamp in ms, in a partition's order, on the log's own thread."""


class RecordLog(Protocol):
    """Stands for one internal topic. `connect.kafka.log.kv_log.KeyValueLog` is the real one."""

    def start(self, deadline: Deadline) -> None:
        """Read the topic from its beginning to its end, then go on reading."""

    def put(self, key: bytes, value: bytes | None) -> Future[None]:
        """Write a record; done when every in-sync replica has it."""

    def put_all(self, records: Sequence[tuple[bytes, bytes | None]], transactional: bool = False) -> Future[None]:
        """Write records in order; `transactional`: all or nothing, after `claim`. FencedError: claimed by another."""

    def claim(self, deadline: Deadline) -> None:
        """Become the only one that may write in transactions here."""

    def read_to_end(self, deadline: Deadline) -> None:
        """Return when every record that was in the topic before the call was given to the callback."""

    def read_back(self, deadline: Deadline) -> None:
        """Return when what was written here, but for transactions, and all before it was given to the callback."""

    def close(self) -> None:
        """Write out what is queued and let go of the clients."""


MakeLog = Callable[[OnRecord], RecordLog]
"""Builds the log of one topic around the callback that gets its records."""


class OpenedLog:
    """The log of one topic, which may be opened again. `topic`: what it holds, as messages say it."""

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
        """Write out what is queued and let go of the log."""
        opened, self._opened = self._opened, None
        if opened is not None:
            opened.close()
