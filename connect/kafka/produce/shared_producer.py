"""Sends single records of many owners by one librdkafka client, and tells each owner of their delivery."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from connect.kafka.client.client_log import client_logger
from connect.kafka.client.inner_client import client_of
from connect.kafka.client.librdkafka import meet_brokers
from connect.kafka.client.rights import Needs
from connect.kafka.produce.added_partitions import AddedPartitions, may_be_there
from connect.kafka.raw import TIME_OF_SENDING

Settings = Mapping[str, str | int | float | bool]
OnDelivery = Callable[[KafkaError | None, Message], None]
"""Is called once for each record, on the producer's thread, and must return at once."""

_LOG = logging.getLogger("connect.kafka.produce.shared_producer")
_POLL_S: Final = 0.2
"""A poll wakes its thread this often in any case, as confluent_kafka looks for signals."""
_IDLE_S: Final = 1.0
"""A client that has nothing on its way is asked this often what else it has to tell, such as an error."""
_DROP_S: Final = 5.0
_LINGER_MS: Final = 1
ANY_PARTITION: Final = -1


class SharedProducer:
    """Sends records for any thread. A thread of its own serves the delivery reports.

    It survives fatal errors: records on the way fail, and later records go through a new client.
    """

    def __init__(self, settings: Settings) -> None:
        self.needs = Needs.of(settings, "Write")
        """Holds the rights that the client needs, without the topics."""
        self._settings = {
            **{key: value for key, value in settings.items() if key != "producer.path"},
            "linger.ms": _LINGER_MS,  # single records wait for no company
            "delivery.report.only.error": False,
            "error_cb": self._on_error,
        }
        self._lock = threading.Lock()  # records come from any thread, and a dead client must be replaced only once
        self._fatal: KafkaError | None = None
        self._client = self._made()
        self._added = AddedPartitions()
        self._stop = threading.Event()
        self._awaits_reports = threading.Event()
        """It is set when a record is on its way, so that its report is served at once."""
        self._thread = threading.Thread(target=self._serve, name="shared-producer", daemon=True)
        self._thread.start()

    def produce(
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None,
        on_delivery: OnDelivery,
        *,
        partition: int = ANY_PARTITION,
        timestamp_ms: int = TIME_OF_SENDING,
        headers: Sequence[tuple[str, bytes | None]] = (),
    ) -> None:
        """Queue a record. For `timestamp_ms` see `sent_time`.

        Raise KafkaException if it is refused, BufferError if the queue is full; then `on_delivery` is not called.
        """
        with self._lock:  # a client that is replaced meanwhile would forget the record and tell nobody
            self._live().produce(
                topic, value, key, partition,
                on_delivery=on_delivery, timestamp=timestamp_ms, headers=list(headers) or None,
            )  # fmt: skip
        if not self._awaits_reports.is_set():
            self._awaits_reports.set()

    def learns_of(self, topic: str, partition: int) -> bool:
        """Ask the brokers for a topic that may have more partitions by now. See `AddedPartitions.may_come`."""
        is_told = may_be_there(self._client, topic, partition)
        return self._added.may_come(topic, partition, may_be_there=is_told)

    def give_up(self, reason: str) -> None:
        """Fail all records on the way, of all owners, as those that an owner gives up must not be sent later."""
        with self._lock:
            self._replace(reason)

    def close(self, timeout_s: float) -> None:
        """Wait at most `timeout_s` seconds for acknowledgements, then fail the records that are left."""
        self._client.flush(timeout_s)
        self._drop(self._client)
        self._stop.set()
        self._awaits_reports.set()
        self._thread.join(timeout_s + 1.0)

    def _live(self) -> Producer:
        if self._fatal is not None:
            self._replace(self._fatal.str())
        return self._client

    def _replace(self, reason: str) -> None:
        _LOG.warning("Making a new producer: %s", reason)
        self._drop(self._client)
        self._client, self._fatal = self._made(), None

    @staticmethod
    def _drop(client: Producer) -> None:
        client.purge()
        if client.flush(_DROP_S):  # serves the reports of what was purged, at once
            _LOG.error("%d records of a producer that was given up were not told of to their owners.", len(client))

    def _made(self) -> Producer:
        return Producer(self._settings, logger=client_logger("shared_producer"))

    def _on_error(self, error: KafkaError) -> None:
        if error.fatal():
            self._fatal = error

    def _serve(self) -> None:
        first = self._client  # kept: it may be replaced meanwhile
        if (inner := client_of(first)) is not None:
            meet_brokers(inner)  # the first record must not wait half a second for the producer's id
        del first
        while not self._stop.is_set():
            if not len(self._client):
                self._awaits_reports.wait(_IDLE_S)
                self._awaits_reports.clear()  # before the client is asked, or a record that comes now would wait
            try:
                self._client.poll(_POLL_S if len(self._client) else 0)
            except KafkaException as error:  # how a fatal error is told
                self._on_error(error.args[0])
