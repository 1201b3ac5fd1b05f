"""Lets the leader ask the brokers from time to time for the state of Kafka."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Final

from aiohttp import web

from connect.cluster.model.cluster_topics import internal_topics
from connect.kafka.admin.cluster_state import cluster_state
from connect.kafka.client.settings import admin_settings
from connect.lib.deadline import Deadline
from connect.rest.figures.kafka_health import kafka_figures
from connect.rest.figures.leader_watch import LeaderWatch
from connect.rest.server.context import CONTEXT
from connect.runtime.settings.worker_config import WorkerConfig

_ANSWER_S: Final = 20.0
Figures = Mapping[str, float]
KAFKA_WATCH: Final = web.AppKey("kafka_watch", LeaderWatch[Figures])
"""It keeps the last figures of Kafka, those of KAFKA_METRICS. They are empty on a worker that does not lead."""


async def watched_kafka(app: web.Application) -> AsyncIterator[None]:
    """Ask Kafka from time to time while this worker leads."""
    context = app[CONTEXT]
    watch = app[KAFKA_WATCH] = LeaderWatch[Figures](
        context.operations.worker,
        lambda: _ask(context.worker),
        nothing={},
        trouble="How Kafka fares cannot be seen now.",
    )
    running = asyncio.create_task(watch.run())
    yield
    running.cancel()
    await asyncio.wait([running])


def _ask(config: WorkerConfig) -> Figures:
    own = [topic.spec.name for topic in internal_topics(config)]
    settings = admin_settings(config.originals, {}, f"{config.client_prefix}-health").properties
    return kafka_figures(cluster_state(settings, own, (), Deadline.after(_ANSWER_S)), own)
