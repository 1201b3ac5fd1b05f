"""Decides when a failed connector or task is restarted by itself. Pure: the caller brings the clock."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from connect.lib.backoff import delay_s
from connect.runtime.settings.worker_config import WorkerConfig


@dataclass(frozen=True, slots=True)
class RestartPolicy:
    """Holds the keys `auto.restart.*`. A `limit` of -1 means that there is no limit."""

    enabled: bool
    initial_s: float
    max_s: float
    limit: int
    reset_after_s: float

    @classmethod
    def of(cls, worker: WorkerConfig) -> RestartPolicy:
        """Return the policy of a worker's settings."""
        return cls(
            enabled=worker.auto_restart_enabled,
            initial_s=worker.auto_restart_backoff_initial_ms / 1000,
            max_s=worker.auto_restart_backoff_max_ms / 1000,
            limit=worker.auto_restart_limit,
            reset_after_s=worker.auto_restart_reset_after_ms / 1000,
        )

    def allows(self, connector_config: Mapping[str, str]) -> bool:
        """Return True if a connector restarts by itself: as its own configuration says, else as the worker's does."""
        own = connector_config.get("auto.restart.enabled", "").strip().lower()
        return own == "true" if own in {"true", "false"} else self.enabled


@dataclass(frozen=True, slots=True)
class RestartHistory:
    """Counts restarts in a row, and says since when the present run works (None: it has not worked yet)."""

    restarts: int = 0
    good_since_s: float | None = None


@dataclass(frozen=True, slots=True)
class NextRestart:
    """Says how long to wait before the restart, and the history to go on with."""

    delay_s: float
    history: RestartHistory


def next_restart(policy: RestartPolicy, history: RestartHistory, now_s: float) -> NextRestart | None:
    """Return the restart that follows a failure now; None if the state stays FAILED until somebody restarts it."""
    good = history.good_since_s is not None and now_s - history.good_since_s >= policy.reset_after_s
    restarts = 0 if good else history.restarts
    if 0 <= policy.limit <= restarts:
        return None
    wait_s = delay_s(restarts, initial_s=policy.initial_s, max_s=policy.max_s)
    return NextRestart(wait_s, RestartHistory(restarts + 1))
