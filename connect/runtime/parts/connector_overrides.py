"""Makes settings of a task's Kafka client from the keys by which a connector overrides the worker's."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from connect.kafka.client.settings import ClientSettings
from connect.runtime.task.task_id import TaskId

log = logging.getLogger(__name__)


def overrides(config: Mapping[str, str], prefix: str) -> dict[str, str]:
    """Return the keys of a connector that begin with a prefix, without the prefix."""
    return {k.removeprefix(prefix): v for k, v in config.items() if k.startswith(prefix)}


def known(settings: ClientSettings, task: TaskId) -> Mapping[str, str | int | float | bool]:
    """Return the properties that settings come to, and log those given ones that our client does not know."""
    if settings.unknown:
        log.info("%s: these client settings have no meaning here: %s", task, ", ".join(sorted(settings.unknown)))
    return settings.properties
