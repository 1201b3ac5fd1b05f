"""Decides with which settings and times a worker is a member of the group of workers. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from connect.cluster.hosts.supervisor import KILL_GRACE_S
from connect.kafka.client.settings import consumer_settings
from connect.runtime.settings.worker_config import WorkerConfig

_RECONNECT_MS: Final = "100"
_HEARTBEAT_MS: Final = 300
"""How soon a worker hears that another one leaves or joins, where heartbeat.interval.ms is not given."""
_RESUME_HEARTBEATS: Final = 3
"""A worker that nobody heard for too long starts tasks after so many heartbeats: they are told when it is out."""


def member_settings(config: WorkerConfig, worker_id: str) -> dict[str, str | int | float | bool]:
    """Return the settings of the consumer by which this worker is in the group."""
    # It is the only member in this process, so it may try its brokers more often than a sink does.
    soon: Mapping[str, str] = {"consumer.reconnect.backoff.ms": _RECONNECT_MS}
    name = config.client_id or f"connect-{worker_id}"
    given = consumer_settings({**soon, **config.originals}, {}, client_id=name, group_id=config.group_id).properties
    return {
        **{key: value for key, value in given.items() if key != "consumer.path"},
        "session.timeout.ms": config.session_timeout_ms,
        "heartbeat.interval.ms": _heartbeat_ms(config),
        "max.poll.interval.ms": max(config.rebalance_timeout_ms, config.session_timeout_ms),
    }


def resume_s(config: WorkerConfig) -> float:
    """Return how long a worker that was not heard waits before it starts tasks."""
    return _RESUME_HEARTBEATS * _heartbeat_ms(config) / 1000


def release_s(config: WorkerConfig) -> float:
    """Return how long giving up slots may take: until tasks have stopped, or their hosts were killed a little later."""
    return config.task_shutdown_graceful_timeout_ms / 1000 + 2 * KILL_GRACE_S


def _heartbeat_ms(config: WorkerConfig) -> int:
    given_ms = config.heartbeat_interval_ms
    return given_ms if "heartbeat.interval.ms" in config.originals else min(_HEARTBEAT_MS, given_ms)
