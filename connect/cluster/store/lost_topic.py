"""Creates an internal topic again that was deleted while workers run, and writes this worker's records to it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Final

from connect.api.errors import ConnectError
from connect.kafka.admin.topic_specs import InternalTopic
from connect.kafka.admin.topics import TopicAdmin
from connect.kafka.client.errors import MissingTopicError
from connect.lib.deadline import Deadline

MAKE_TIMEOUT_S: Final = 30.0
_logger = logging.getLogger(__name__)


class LostTopic:
    """Creates an internal topic again when its log reports that the topic is missing."""

    def __init__(
        self,
        topic: InternalTopic,
        make_admin: Callable[[], TopicAdmin],
        write_again: Callable[[], None],
        *,
        may_make: bool,
    ) -> None:
        self._topic = topic
        self._make_admin = make_admin
        self._write_again = write_again
        self._may_make = may_make
        self._mending: threading.Thread | None = None

    def heard(self, error: ConnectError) -> None:
        """Log an error; if the topic is gone, begin to create it. Called on the log's thread, which goes on reading."""
        if not isinstance(error, MissingTopicError):
            _logger.error("%s", error)
        elif self._mending is None or not self._mending.is_alive():
            # What an error of a topic of rows advises is not for this topic, and nobody has to do anything.
            told = {"topic": self._topic.spec.name, "key": self._topic.key, "error": error.message}
            _logger.error("internal_topic_missing", extra=told)
            self._mending = threading.Thread(target=self._mend, name="lost-topic", daemon=True)
            self._mending.start()

    def _mend(self) -> None:
        told = {"topic": self._topic.spec.name, "key": self._topic.key}
        try:
            made = self._make_admin().ensure_internal(
                [self._topic], Deadline.after(MAKE_TIMEOUT_S), make=self._may_make
            )
        except ConnectError as error:
            _logger.error("internal_topic_gone", extra={**told, "error": str(error)})  # noqa: TRY400 - it is told why
            return
        if made:
            _logger.warning("internal_topic_made_again", extra=told)
            self._write_again()
