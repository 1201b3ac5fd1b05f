"""Keeps errors that occur outside of a consumer's calls until the next call raises them."""

from __future__ import annotations

from confluent_kafka import KafkaError

from connect.kafka.client.errors import translate
from connect.kafka.client.rights import Needs


class Failures:
    """Keeps librdkafka's fatal error, and the first error that a callback or a read raised since the last call.

    It is a separate object, so that the consumer is in no reference cycle.
    """

    def __init__(self, needs: Needs) -> None:
        """Take the rights that the consumer needs, without its topics, for the texts of errors."""
        self._needs = needs
        self._fatal: KafkaError | None = None
        self._first: Exception | None = None

    @property
    def is_pending(self) -> bool:
        """Return True if the next call raises an error of a callback or a read."""
        return self._first is not None

    def on_error(self, error: KafkaError) -> None:
        """Keep an error that librdkafka reports apart from records, if it is fatal."""
        if error.fatal() and self._fatal is None:
            self._fatal = error

    def keep(self, error: Exception) -> None:
        """Keep an error for the next call, unless another one came first."""
        self._first = self._first or error

    def raise_first(self) -> None:
        """Raise the kept error, if any. A fatal error is raised at every call, another one only once."""
        if self._fatal is not None:
            raise translate(self._fatal, "polling", self._needs)
        first, self._first = self._first, None
        if first is not None:
            raise first
