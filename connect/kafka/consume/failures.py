"""What goes wrong aside of the calls of a consumer is kept, until a call raises it."""

from __future__ import annotations

from confluent_kafka import KafkaError

from connect.kafka.client.errors import translate
from connect.kafka.client.rights import Needs


class Failures:
    """Keeps librdkafka's fatal error, and the first thing that a callback or a read raised since the last call.

    It is apart from the consumer so that no reference cycle is made.
    """

    def __init__(self, needs: Needs) -> None:
        """`needs`: what the consumer does, without its topics."""
        self._needs = needs
        self._fatal: KafkaError | None = None
        self._first: Exception | None = None

    @property
    def is_pending(self) -> bool:
        """Return True when the next call raises what a callback or a read raised."""
        return self._first is not None

    def on_error(self, error: KafkaError) -> None:
        """Keep what librdkafka reports aside of records, where it is fatal."""
        if error.fatal() and self._fatal is None:
            self._fatal = error

    def keep(self, error: Exception) -> None:
        """Raise this at the next call, unless something else came first."""
        self._first = self._first or error

    def raise_first(self) -> None:
        """Raise the error that is kept, if any. A fatal error is raised at every call, another one only once."""
        if self._fatal is not None:
            raise translate(self._fatal, "polling", self._needs)
        first, self._first = self._first, None
        if first is not None:
            raise first
