"""Works out how often a task flushes and how long its steps may take, from the worker's and connector's settings."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from connect.runtime.settings.connector_config import CommonConnectorConfig, SourceConnectorConfig
from connect.runtime.settings.worker_config import WorkerConfig

MAX_POLL_RECORDS: Final = 50_000
MAX_POLL_INTERVAL_MS: Final = 300_000
TRANSACTION_FLUSH_TIMEOUT_S: Final = 55.0
"""This is below the brokers' default transaction.timeout.ms of 60 s: a commit that takes longer is aborted anyway."""
RETRY_DELAY_MAX_S: Final = 10.0
"""A put or poll that is refused is tried again at least this often, so that a healed system is noticed soon."""

POLL_SHARE: Final = 0.6
"""A poll may take this part of task.shutdown.graceful.timeout.ms. The rest is for the last flush and for `close`."""
POLL_LEAST_S: Final = 0.1
"""A poll may take this long in any case, as polls of an idle task cost CPU time."""


@dataclass(frozen=True, slots=True)
class LoopLimits:
    """Holds in seconds the time between two flushes, the limit of a flush, and the longest wait between two tries.

    `poll_max_s` bounds each poll of a source. A plug-in that waits without heed to a stop ends in time by it.
    """

    flush_interval_s: float
    flush_timeout_s: float
    retry_delay_max_s: float
    poll_max_s: float = field(default=math.inf, kw_only=True)


@dataclass(frozen=True, slots=True)
class SinkLimits(LoopLimits):
    """Adds the number of rows that a sink reads at once, and the seconds that a put may take."""

    max_records: int
    put_timeout_s: float


def source_limits(worker: WorkerConfig, config: SourceConnectorConfig, *, exactly_once: bool) -> LoopLimits:
    """Return the limits of a source task. If it writes exactly once, the interval is that of its transactions."""
    interval_ms = _flush_interval_ms(worker, config)
    if exactly_once:
        interval_ms = config.transaction_boundary_interval_ms or interval_ms
    timeout_s = TRANSACTION_FLUSH_TIMEOUT_S if exactly_once else flush_timeout_s(worker)
    poll_max_s = max(POLL_LEAST_S, POLL_SHARE * worker.task_shutdown_graceful_timeout_ms / 1000.0)
    return LoopLimits(interval_ms / 1000.0, timeout_s, _retry_delay_max_s(config), poll_max_s=poll_max_s)


def sink_limits(worker: WorkerConfig, config: CommonConnectorConfig, resolved: Mapping[str, str]) -> SinkLimits:
    """Return the limits of a sink task; `resolved` is its configuration with the consumer's overrides."""
    return SinkLimits(
        _flush_interval_ms(worker, config) / 1000.0,
        flush_timeout_s(worker),
        _retry_delay_max_s(config),
        max_records=_max_poll_records(worker, resolved),
        put_timeout_s=_put_timeout_s(worker, resolved),
    )


def flush_timeout_s(worker: WorkerConfig) -> float:
    """Return the seconds that a flush outside of transactions may take."""
    return worker.offset_flush_timeout_ms / 1000.0


def _flush_interval_ms(worker: WorkerConfig, config: CommonConnectorConfig) -> int:
    return config.offset_flush_interval_ms or worker.offset_flush_interval_ms


def _retry_delay_max_s(config: CommonConnectorConfig) -> float:
    return min(RETRY_DELAY_MAX_S, config.errors_retry_delay_max_ms / 1000.0)


def _max_poll_records(worker: WorkerConfig, resolved: Mapping[str, str]) -> int:
    """Return `max.poll.records` where it is given, else our own default, which suits columns."""
    given = resolved.get("consumer.override.max.poll.records", worker.originals.get("consumer.max.poll.records"))
    return int(given) if given else MAX_POLL_RECORDS


def _put_timeout_s(worker: WorkerConfig, resolved: Mapping[str, str]) -> float:
    """Return half of max.poll.interval.ms: a put that takes longer would cost the task its place in the group."""
    given = resolved.get("consumer.override.max.poll.interval.ms")
    given = given or worker.originals.get("consumer.max.poll.interval.ms") or str(MAX_POLL_INTERVAL_MS)
    return int(given) / 2000.0
