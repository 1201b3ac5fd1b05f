"""Reads and changes the offsets of source connectors.

The worker's offsets topic is read here. A connector with an offsets topic or with transactions of its own also has its
own client settings. So a task host, which knows their secrets, reads and writes for it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, Final

from connect.api.records import SourcePosition
from connect.cluster.loop.connector_calls import Positions
from connect.cluster.model.request_errors import FailedRequestError
from connect.cluster.store.record_log import MakeLog, RecordLog
from connect.cluster.store.skipped_records import SkippedRecords
from connect.lib.deadline import Deadline
from connect.runtime.source.offset_records import OffsetTable
from connect.runtime.task.messages import CallResult, Method

CALL_S: Final = 40.0
_OWN_TOPIC: Final = "offsets.storage.topic"
_OWN_BROKERS: Final = "producer.override.bootstrap.servers"

Ask = Callable[[Method, Mapping[str, str], float, Positions], Future[CallResult]]
"""Calls a method in a task host for a connector's configuration; the third argument is the time-out in seconds."""
Fence = Callable[[str, Mapping[str, str]], Future[None]]
"""Shuts out the zombies of a connector with this name and configuration."""


class StoredSourceOffsets:
    """Reads and changes offsets in Kafka. Any thread may ask. The topic is opened when needed and then followed."""

    def __init__(
        self, make_log: MakeLog, ask: Ask, in_transactions: Callable[[Mapping[str, str]], bool], fence: Fence
    ) -> None:
        self._make_log = make_log
        self._ask = ask
        self._in_transactions = in_transactions
        self._fence = fence
        self._table = OffsetTable()
        self._skipped = SkippedRecords("offset")
        self._opened: RecordLog | None = None
        self._lock = threading.Lock()  # two first requests must not open the topic twice

    def read(self, name: str, config: Mapping[str, str], deadline: Deadline) -> list[SourcePosition]:
        """Return all stored positions of a connector. FailedRequestError: its own topic cannot be read."""
        if config.get(_OWN_TOPIC) or (self._in_transactions(config) and config.get(_OWN_BROKERS)):
            found = self._call("read_offsets", name, config, (), deadline)
            return [SourcePosition(partition, offset) for partition, offset in found]
        self._read_topic(deadline)
        return self._table.of_connector(name)

    def shut_out(self, name: str, config: Mapping[str, str], deadline: Deadline) -> None:
        """Shut out former exactly-once tasks, so that they write no more offsets after this.

        FailedRequestError: they cannot be shut out.
        """
        if self._in_transactions(config):
            self._fence(name, config).result(deadline.remaining_s)

    def write(
        self, name: str, config: Mapping[str, str], positions: Sequence[SourcePosition], deadline: Deadline
    ) -> None:
        """Set offsets; None deletes one. FailedRequestError: they could not be written."""
        if config.get(_OWN_TOPIC) or self._in_transactions(config):
            self._call("write_offsets", name, config, [(p.partition, p.offset) for p in positions], deadline)
            return
        log = self._read_topic(deadline)
        writing = [log.put(*self._table.record(name, position)) for position in positions]
        try:
            for written in writing:
                written.result(deadline.remaining_s)
        except TimeoutError as error:
            # Left in the queue they would be written later, over those of tasks that run again by then.
            log.give_up(f"offsets that were set for connector {name} were not acknowledged in time")
            raise FailedRequestError(
                f"Failed to write offsets of connector {name}: the brokers did not acknowledge them in time. Some of "
                "them may be written. Send the request again."
            ) from error
        log.read_to_end(deadline)

    def close(self) -> None:
        """Close the offsets topic."""
        opened, self._opened = self._opened, None
        if opened is not None:
            opened.close()

    def _call(
        self, method: Method, name: str, config: Mapping[str, str], positions: Positions, deadline: Deadline
    ) -> Any:
        asked = self._ask(method, {**config, "name": name}, min(CALL_S, deadline.remaining_s), positions)
        said = asked.result(deadline.remaining_s)
        if said.error is not None:
            raise FailedRequestError(said.error)
        return said.value

    def _read_topic(self, deadline: Deadline) -> RecordLog:
        with self._lock:
            if self._opened is None:
                opened = self._make_log(self._take)
                opened.start(deadline)
                self._opened = opened
            log = self._opened
        log.read_to_end(deadline)
        return log

    def _take(self, key: bytes | None, value: bytes | None, partition: int, offset: int, timestamp_ms: int) -> None:
        if key is None or not self._table.apply(key, value, partition=partition, timestamp_ms=timestamp_ms):
            self._skipped.add(key, partition, offset, "no offset of a source")
