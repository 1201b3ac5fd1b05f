"""Decides with which settings and times a worker is a member of the group of workers. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from connect.cluster.hosts.supervisor import KILL_GRACE_S
from connect.kafka.client.settings import consumer_settings
from connect.runtime.settings.worker_config import WorkerConfig

_RECONNECT_MS: Final = "100"
_HEARTBEAT_MS: Final = 300
"""A worker hears of others that leave or join within this time, if heartbeat.interval.ms is not given."""
_RESUME_HEARTBEATS: Final = 3
"""A worker that Kafka did not hear for too long waits this many heartbeats for news that it is out of the group."""


def member_settings(config: WorkerConfig, worker_id: str) -> dict[str, str | int | float | bool]:
    """Return the settings of the consumer by which this worker is in the group."""
    # A process has only one such member, so the member may try its brokers more often than a sink does.
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
    """Return how many seconds a worker that Kafka did not hear waits before it starts tasks."""
    return _RESUME_HEARTBEATS * _heartbeat_ms(config) / 1000


def release_s(config: WorkerConfig) -> float:
    """Return how many seconds it may take to give up slots: tasks stop, or their hosts are killed a little later."""
    return config.task_shutdown_graceful_timeout_ms / 1000 + 2 * KILL_GRACE_S


def _heartbeat_ms(config: WorkerConfig) -> int:
    given_ms = config.heartbeat_interval_ms
    return given_ms if "heartbeat.interval.ms" in config.originals else min(_HEARTBEAT_MS, given_ms)
