"""How a connector's overrides become the settings of a task's Kafka client."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from connect.kafka.client.settings import ClientSettings
from connect.runtime.task.task_id import TaskId

log = logging.getLogger(__name__)


def overrides(config: Mapping[str, str], prefix: str) -> dict[str, str]:
    """Return a connector's keys under a prefix, without it."""
    return {k.removeprefix(prefix): v for k, v in config.items() if k.startswith(prefix)}


def known(settings: ClientSettings, task: TaskId) -> Mapping[str, str | int | float | bool]:
    """Return the properties of settings, and log which of the given ones have no meaning here."""
    if settings.unknown:
        log.info("%s: these client settings have no meaning here: %s", task, ", ".join(sorted(settings.unknown)))
    return settings.properties
