"""The leader asks once a minute how Kafka fares, for all workers and all scrapes. Other workers ask nothing."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Mapping
from typing import Final, NoReturn

from aiohttp import web

from connect.cluster.model.operations import WorkerState
from connect.cluster.model.request_errors import RequestError
from connect.cluster.model.topic_layout import internal_topics
from connect.kafka.admin.cluster_state import cluster_state
from connect.kafka.client.settings import admin_settings
from connect.lib.deadline import Deadline
from connect.rest.figures.kafka_health import kafka_figures
from connect.rest.server.context import CONTEXT
from connect.rest.server.waiting import apart
from connect.runtime.settings.worker_config import WorkerConfig

_LOOK_S: Final = 60.0
_LEADS_S: Final = 5.0
"""How often a worker looks if it leads; one that has just begun asks nothing yet."""
_ANSWER_S: Final = 20.0
_log = logging.getLogger(__name__)


class KafkaWatch:
    """Keeps what Kafka said last. Owned by the event loop of the REST server, whose threads ask."""

    def __init__(self, config: WorkerConfig, worker: WorkerState) -> None:
        self._config = config
        self._worker = worker
        self.figures: Mapping[str, float] = {}
        """By the figures of KAFKA_METRICS; empty on a worker that does not lead."""

    async def run(self) -> NoReturn:
        """Look until cancelled. No error ends it."""
        due_s = 0.0
        while True:
            await asyncio.sleep(_LEADS_S)
            try:
                self._worker.require_leader()
            except RequestError:
                self.figures, due_s = {}, 0.0
                continue
            if time.monotonic() < due_s:
                continue
            due_s = time.monotonic() + _LOOK_S
            try:
                self.figures = await asyncio.wrap_future(apart(self._ask))
            except Exception:  # noqa: BLE001 - whatever it was, the next look is made
                _log.exception("How Kafka fares cannot be seen now.")
                self.figures = {}

    def _ask(self) -> Mapping[str, float]:
        own = [topic.spec.name for topic in internal_topics(self._config)]
        settings = admin_settings(self._config.originals, {}, f"{self._config.client_prefix}-health").properties
        return kafka_figures(cluster_state(settings, own, (), Deadline.after(_ANSWER_S)), own)


KAFKA_WATCH: Final = web.AppKey("kafka_watch", KafkaWatch)


async def watched_kafka(app: web.Application) -> AsyncIterator[None]:
    """Ask Kafka from time to time while this worker leads."""
    context = app[CONTEXT]
    watch = app[KAFKA_WATCH] = KafkaWatch(context.worker, context.operations.worker)
    running = asyncio.create_task(watch.run())
    yield
    running.cancel()
    await asyncio.wait([running])
