"""Reaches Kafka when a worker starts: checks and claims its internal topics, and reads them."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from connect.api.errors import RetriableError
from connect.cluster.model.cluster_claim import ClusterClaim
from connect.cluster.model.cluster_topics import internal_topics
from connect.cluster.store.claiming import Claiming
from connect.cluster.store.kafka_claims import KafkaClaims
from connect.kafka.admin.topics import TopicAdmin
from connect.lib.deadline import Deadline
from connect.runtime.settings.internal_topics import slots_topic
from connect.runtime.settings.worker_config import WorkerConfig

_ATTEMPT_S: Final = 15.0
_CONTACT_S: Final = 3.0
"""librdkafka cannot be interrupted while it waits for a first broker; this bounds how long a stop waits for it."""
_PAUSE_S: Final = 1.0
_logger = logging.getLogger(__name__)


class StartError(Exception):
    """The worker cannot start; the text says why and what to do."""


class FirstContact:
    """Tries to reach Kafka; the caller decides when each try begins."""

    def __init__(
        self,
        config: WorkerConfig,
        make_admin: Callable[[], TopicAdmin],
        read: Callable[[Deadline], None],
        stopping: threading.Event,
    ) -> None:
        """Take `read`, which reads the internal topics to their ends."""
        self._config = config
        self._make_admin = make_admin
        self._read = read
        self._stopping = stopping
        self._has_answered = False

    def reach(self) -> str:
        """Check, claim and read the internal topics; return the id of the Kafka cluster."""
        deadline = Deadline.after(min(_ATTEMPT_S, self._config.start_timeout_ms / 1000), self._stopping)
        admin = self._make_admin()
        cluster_id = admin.cluster_id(deadline.sooner(_CONTACT_S))
        self._has_answered = True
        admin.call_coordinator(self._config.group_id)
        make = self._config.internal_topics_automatic_creation_enable
        new = admin.ensure_internal(internal_topics(self._config), deadline, make=make)
        own = slots_topic(self._config)
        claims = KafkaClaims(self._config, admin, deadline, is_new=own in new)
        with ThreadPoolExecutor(1, thread_name_prefix="internal-topics") as beside:
            # Reading changes nothing, so it need not wait until it is known that this cluster may go on.
            reading = beside.submit(self._read, deadline)
            Claiming(ClusterClaim.of(self._config), own, claims).run(deadline)
            reading.result()
        return cluster_id

    def wait(self, error: RetriableError, waited_s: float) -> None:
        """Wait a little before the next try. StartError: no broker ever answered within `start.timeout.ms`."""
        brokers = ",".join(self._config.bootstrap_servers)
        limit_s = self._config.start_timeout_ms / 1000
        if not self._has_answered and waited_s >= limit_s:
            raise StartError(
                f"No broker of {brokers} answered within {limit_s:g} s: {error} Check bootstrap.servers, the "
                "network and security.protocol."
            )
        _logger.warning(
            "waiting_for_kafka", extra={"brokers": brokers, "waited_s": round(waited_s), "error": str(error)}
        )
        self._stopping.wait(_PAUSE_S)
