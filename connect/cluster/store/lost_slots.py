"""Notices that somebody has deleted the slots topic, and makes it anew.

Nothing else would tell: members keep what they have, but nobody gets the slots of a worker that is gone, and its tasks
seem to run. Kafka gives out slots when a worker joins or leaves; if their topic was not there at that moment, they stay
without owner until the next time. So whoever makes the topic joins anew.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Final, Protocol

from connect.api.errors import ConnectError, RetriableError
from connect.cluster.model.cluster_claim import ClusterClaim
from connect.cluster.model.cluster_topics import internal_topics
from connect.cluster.store.claiming import SeenClaim
from connect.kafka.admin.topic_specs import InternalTopic
from connect.kafka.admin.topics import TopicAdmin
from connect.lib.deadline import Deadline
from connect.runtime.settings.internal_topics import slots_topic
from connect.runtime.settings.worker_config import WorkerConfig

LOOK_S: Final = 10.0
"""A broker is asked for the topic once in this many seconds."""
ANSWER_S: Final = 30.0
_logger = logging.getLogger(__name__)


class WritesClaims(Protocol):
    """Writes the claim of the cluster, as `connect.cluster.store.kafka_claims.KafkaClaims` does."""

    def write(self, claim: ClusterClaim | None) -> SeenClaim:
        """Write a claim into the slots topic of this worker's cluster."""


class LostSlots:
    """Looks for the slots topic on a thread of its own, from `start` until `stopping` is set."""

    def __init__(
        self,
        config: WorkerConfig,
        make_admin: Callable[[], TopicAdmin],
        claims: Callable[[TopicAdmin, Deadline], WritesClaims],
        join_anew: Callable[[], None],
        stopping: threading.Event,
    ) -> None:
        self._config = config
        self._make_admin = make_admin
        self._claims = claims
        self._join_anew = join_anew
        self._stopping = stopping
        self._name = slots_topic(config)
        self._most = 0
        """It is the largest number of slots that was seen, to which somebody may have raised it."""
        self._told = ""

    def start(self) -> None:
        """Begin to look."""
        threading.Thread(target=self._run, name="lost-slots", daemon=True).start()

    def look(self, admin: TopicAdmin) -> None:
        """Ask for the topic once, and make it if it is gone. ConnectError: it is gone and cannot be made."""
        deadline = Deadline.after(ANSWER_S, self._stopping)
        count = admin.partition_counts([self._name], deadline).get(self._name, 0)
        self._most = max(self._most, count)
        if count:
            return
        make = self._config.internal_topics_automatic_creation_enable
        if admin.ensure_internal([self._topic()], deadline, make=make):
            told = {"topic": self._name, "key": "group.id"}
            _logger.warning("internal_topic_made_again", extra=told)
            # Others see by it that this group.id is in use, and older versions whether they may read the topics.
            try:
                self._claims(admin, deadline).write(ClusterClaim.of(self._config))
            finally:
                # The next look finds the topic, so that nobody would join anew.
                self._join_anew()

    def _topic(self) -> InternalTopic:
        (topic,) = (found for found in internal_topics(self._config) if found.spec.name == self._name)
        return replace(topic, spec=replace(topic.spec, partitions=self._most or topic.spec.partitions))

    def _run(self) -> None:
        admin = self._make_admin()
        while not self._stopping.wait(LOOK_S):
            try:
                self.look(admin)
                self._told = ""
            except RetriableError as error:
                _logger.debug("slots_not_looked_for", extra={"error": str(error)})
            except ConnectError as error:
                if str(error) != self._told:
                    self._told = str(error)
                    _logger.error("internal_topic_gone", extra={"topic": self._name, "error": str(error)})  # noqa: TRY400 - it is told why
