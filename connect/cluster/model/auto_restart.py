"""When a failed connector or task starts again by itself. Pure: the caller brings the clock."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from connect.lib.backoff import delay_s
from connect.runtime.settings.worker_config import WorkerConfig


@dataclass(frozen=True, slots=True)
class RestartPolicy:
    """Holds the keys `auto.restart.*`. `limit` -1: restart for ever."""

    enabled: bool
    initial_s: float
    max_s: float
    limit: int
    reset_after_s: float

    @classmethod
    def of(cls, worker: WorkerConfig) -> RestartPolicy:
        """Return the worker's policy."""
        return cls(
            enabled=worker.auto_restart_enabled,
            initial_s=worker.auto_restart_backoff_initial_ms / 1000,
            max_s=worker.auto_restart_backoff_max_ms / 1000,
            limit=worker.auto_restart_limit,
            reset_after_s=worker.auto_restart_reset_after_ms / 1000,
        )

    def allows(self, connector_config: Mapping[str, str]) -> bool:
        """Return what the connector itself says, else what the worker says."""
        own = connector_config.get("auto.restart.enabled", "").strip().lower()
        return own == "true" if own in {"true", "false"} else self.enabled


@dataclass(frozen=True, slots=True)
class RestartHistory:
    """Restarts in a row, and since when the present run is good (None: it never got that far)."""

    restarts: int = 0
    good_since_s: float | None = None


@dataclass(frozen=True, slots=True)
class NextRestart:
    """Restart after this wait, with this history."""

    delay_s: float
    history: RestartHistory


def next_restart(policy: RestartPolicy, history: RestartHistory, now_s: float) -> NextRestart | None:
    """Return what follows a failure now; None: it stays FAILED until somebody restarts it."""
    good = history.good_since_s is not None and now_s - history.good_since_s >= policy.reset_after_s
    restarts = 0 if good else history.restarts
    if 0 <= policy.limit <= restarts:
        return None
    wait_s = delay_s(restarts, initial_s=policy.initial_s, max_s=policy.max_s)
    return NextRestart(wait_s, RestartHistory(restarts + 1))
